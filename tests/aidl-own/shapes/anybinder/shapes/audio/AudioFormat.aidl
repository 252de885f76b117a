package anybinder.shapes.audio;

@Backing(type="byte")
enum AudioFormat { DEFAULT = 0, SYS_RESERVED_INVALID = 0xffu8, PCM = 1, NON_PCM = ~(1 << 6) & 0x3f }
