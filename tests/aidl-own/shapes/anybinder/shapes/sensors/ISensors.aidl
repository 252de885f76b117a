package anybinder.shapes.sensors;

import anybinder.shapes.sensors.Event;
import anybinder.shapes.sensors.SensorType;

@VintfStability
interface ISensors {
    const int ERROR_NO_MEMORY = -12;
    const int ERROR_BAD_VALUE = -22;
    const int EVENT_QUEUE_FLAG_BITS_READ_AND_PROCESS = 1 << 0;
    const int EVENT_QUEUE_FLAG_BITS_EVENTS_READ = 1 << 1;
    const byte DIRECT_REPORT_SENSOR_EVENT_TOTAL_LENGTH = 104;

    @Backing(type="int") @VintfStability
    enum OperationMode { NORMAL = 0, DATA_INJECTION = 1 }

    @VintfStability
    @Backing(type="int")
    enum RateLevel { STOP, NORMAL, FAST, VERY_FAST }

    @VintfStability
    parcelable SharedMemInfo {
        SharedMemType type = SharedMemType.ASHMEM;
        SharedMemFormat format = SharedMemFormat.SENSORS_EVENT;
        int size;
        ParcelFileDescriptor[] handles;
        @nullable ParcelFileDescriptor spare;

        @VintfStability @Backing(type="int") enum SharedMemFormat { SENSORS_EVENT = 1 }
        @VintfStability @Backing(type="int") enum SharedMemType { ASHMEM = 1, GRALLOC }
    }

    void activate(in int sensorHandle, in boolean enabled);
    void batch(in int sensorHandle, in long samplingPeriodNs, in long maxReportLatencyNs);
    int configDirectReport(in int sensorHandle, in int channelHandle, in RateLevel rate);
    void flush(in int sensorHandle);
    SensorType[] getSensorTypes();
    void injectSensorData(in Event event);
    int registerDirectChannel(in SharedMemInfo mem);
    void setOperationMode(in OperationMode mode);
    void unregisterDirectChannel(in int channelHandle);
}
