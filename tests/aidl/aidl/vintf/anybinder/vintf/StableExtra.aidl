package anybinder.vintf;
@VintfStability
@RustDerive(Clone=true, PartialEq=true)
parcelable StableExtra { int number; }
