package anybinder.shapes.sensors;

import anybinder.shapes.sensors.SensorType;

@VintfStability
@FixedSize
@RustDerive(Clone=true, Copy=true, PartialEq=true)
parcelable Event {
    long timestamp;
    int sensorHandle;
    SensorType sensorType = SensorType.META_DATA;
    EventPayload payload;

    @VintfStability
    @FixedSize
    @RustDerive(Clone=true, Copy=true, PartialEq=true)
    union EventPayload {
        Vec3 vec3;
        Vec4 vec4;
        float scalar;
        long stepCount;
        Data data;
        AdditionalInfo additional;

        @VintfStability
        @FixedSize
        @RustDerive(Clone=true, Copy=true, PartialEq=true)
        parcelable Vec3 {
            float x;
            float y;
            float z;
            SensorStatus status = SensorStatus.UNRELIABLE;
        }

        @VintfStability
        @FixedSize
        @RustDerive(Clone=true, Copy=true, PartialEq=true)
        parcelable Vec4 { float x; float y; float z; float w; }

        @VintfStability
        @FixedSize
        @RustDerive(Clone=true, Copy=true, PartialEq=true)
        parcelable Data { float[16] values; }

        @VintfStability
        @FixedSize
        @RustDerive(Clone=true, Copy=true, PartialEq=true)
        parcelable AdditionalInfo {
            AdditionalInfoType type;
            int serial;
            AdditionalInfoPayload payload;

            @VintfStability
            @FixedSize
            @RustDerive(Clone=true, Copy=true, PartialEq=true)
            union AdditionalInfoPayload {
                Int32Values dataInt32;
                FloatValues dataFloat;

                @VintfStability @FixedSize @RustDerive(Clone=true, Copy=true, PartialEq=true)
                parcelable Int32Values { int[14] values; }
                @VintfStability @FixedSize @RustDerive(Clone=true, Copy=true, PartialEq=true)
                parcelable FloatValues { float[14] values; }
            }

            @VintfStability
            @Backing(type="int")
            enum AdditionalInfoType {
                AINFO_BEGIN = 0,
                AINFO_END = 1,
                AINFO_UNTRACKED_DELAY = 65536,
                AINFO_INTERNAL_TEMPERATURE,
                AINFO_CUSTOM_START = 0x10000000,
            }
        }
    }

    @VintfStability
    @Backing(type="byte")
    enum SensorStatus { NO_CONTACT = -1, UNRELIABLE = 0, LOW = 1, HIGH = 3 }
}
