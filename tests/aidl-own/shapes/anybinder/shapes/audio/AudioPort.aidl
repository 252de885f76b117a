package anybinder.shapes.audio;

import anybinder.shapes.audio.AudioChannelLayout;
import anybinder.shapes.audio.AudioFormat;

@JavaDerive(equals=true, toString=true)
@RustDerive(Clone=true, PartialEq=true)
parcelable AudioPort {
    /** Unique within a module. */
    int id;
    @utf8InCpp String name;
    Profile[] profiles;
    Ext ext;
    @nullable Config activeConfig;
    Gain[] gains = {};

    @RustDerive(Clone=true, PartialEq=true)
    parcelable Profile {
        @utf8InCpp String name = "";
        AudioFormat format = AudioFormat.DEFAULT;
        AudioChannelLayout[] channelMasks;
        int[] sampleRates = {8000, 44100, 48000};
        EncapsulationType encapsulationType = EncapsulationType.NONE;
        @Backing(type="int") enum EncapsulationType { NONE = 0, IEC61937, PCM = IEC61937 + 1 }
    }
    @RustDerive(Clone=true, PartialEq=true)
    parcelable Gain { int mode; AudioChannelLayout channelMask; int minValue; int stepValue = 1; boolean useForVolume; }
    @RustDerive(Clone=true, PartialEq=true)
    parcelable Config { int id; float[] values = {1.0f, -.5f, 2e3f}; @nullable AudioFormat[] formats; }
    @RustDerive(Clone=true, PartialEq=true)
    union Ext {
        boolean unspecified;
        Device device;
        int mix;
        @RustDerive(Clone=true, PartialEq=true)
        parcelable Device { Address address; int flags; @utf8InCpp String[] encodedFormats; }
        @RustDerive(Clone=true, PartialEq=true)
        union Address { @utf8InCpp String id; byte[] mac; byte[] ipv4; int[] ipv6; int[] alsa; }
    }
}
