package anybinder.test;
@RustDerive(Clone=true, PartialEq=true)
parcelable Pair<A, B> { int which = 1; @nullable String name; }
