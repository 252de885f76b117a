package anybinder.shapes.audio;

@RustDerive(Clone=true, PartialEq=true)
@JavaDerive(equals=true, toString=true)
@SuppressWarnings(value={"redundant-name"})
union AudioChannelLayout {
    int none = 0 /* must be 0 */;
    int invalid = 0;
    int indexMask;
    int layoutMask;
    int voiceMask;

    const int INDEX_MASK_1 = (1 << 1) - 1;
    const int INDEX_MASK_24 = (1 << 24) - 1;
    const int LAYOUT_MONO = CHANNEL_FRONT_LEFT;
    const int LAYOUT_STEREO = CHANNEL_FRONT_LEFT | CHANNEL_FRONT_RIGHT;
    const int LAYOUT_QUAD = LAYOUT_STEREO | CHANNEL_BACK_LEFT | CHANNEL_BACK_RIGHT;
    const int LAYOUT_5POINT1 = LAYOUT_QUAD
            | CHANNEL_FRONT_CENTER
            | CHANNEL_LOW_FREQUENCY;
    const int CHANNEL_FRONT_LEFT = 1 << 0;
    const int CHANNEL_FRONT_RIGHT = 1 << 1;
    const int CHANNEL_FRONT_CENTER = 1 << 2;
    const int CHANNEL_LOW_FREQUENCY = 1 << 3;
    const int CHANNEL_BACK_LEFT = 1 << 4;
    const int CHANNEL_BACK_RIGHT = 1 << 5;
    const int HAPTIC_B = 1 << 29;
    const int INTERLEAVE_LEFT = 0;
    const int VOICE_CALL_MONO = 0x4000 | 0x8000;
}
