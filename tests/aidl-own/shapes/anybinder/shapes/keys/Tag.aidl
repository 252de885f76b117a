package anybinder.shapes.keys;

import anybinder.shapes.keys.TagType;

@VintfStability
@Backing(type="int")
enum Tag {
    INVALID = 0,
    PURPOSE = TagType.ENUM_REP | 1,
    ALGORITHM = TagType.ENUM | 2,
    KEY_SIZE = TagType.UINT | 3,
    RSA_PUBLIC_EXPONENT = TagType.ULONG | 200,
    USER_SECURE_ID = TagType.ULONG_REP | 502,
    NO_AUTH_REQUIRED = (7 << 28) /* TagType:BOOL */ | 503,
    APPLICATION_ID = TagType.BYTES | 601,
    CERTIFICATE_SERIAL = TagType.BIGNUM | 1006,
    MAX = TagType.ULONG_REP | 0x0fffffff,
}
