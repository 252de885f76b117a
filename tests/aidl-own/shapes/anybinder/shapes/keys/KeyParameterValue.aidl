package anybinder.shapes.keys;

@VintfStability
@RustDerive(Clone=true, Eq=true, Hash=true, Ord=true, PartialEq=true, PartialOrd=true)
union KeyParameterValue {
    /* Represents an invalid value type. */
    int invalid;
    Algorithm algorithm;
    boolean boolValue;
    int integer;
    long longInteger;
    long dateTime;
    byte[] blob;

    @VintfStability @Backing(type="int") enum Algorithm { RSA = 1, EC = 3, AES = 32, HMAC = 128 }
}
