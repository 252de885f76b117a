package anybinder.versioned;
@RustDerive(Clone=true, PartialEq=true)
parcelable Growing { int old = 1; String added = "since version 2"; }
