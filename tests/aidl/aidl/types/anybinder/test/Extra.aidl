package anybinder.test;
@RustDerive(Clone=true, PartialEq=true)
parcelable Extra { int number; @utf8InCpp String text; @nullable IBinder binder; }
