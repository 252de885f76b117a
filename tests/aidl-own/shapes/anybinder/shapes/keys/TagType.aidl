package anybinder.shapes.keys;

/** The upper four bits of a tag. */
@VintfStability
@Backing(type="int")
enum TagType {
    INVALID = 0 << 28,
    ENUM = 1 << 28,
    ENUM_REP = 2 << 28,
    UINT = 3 << 28,
    ULONG = 5 << 28,
    BOOL = 7 << 28,
    BIGNUM = 8 << 28,
    BYTES = 9 << 28,
    ULONG_REP = 10 << 28,
}
