package anybinder.test;
@FixedSize
@RustDerive(Copy=true, Clone=true, PartialEq=true, Eq=true, Hash=true, PartialOrd=true, Ord=true)
parcelable Point { int x = 3; int y; }
