package anybinder.test;
@RustDerive(Clone=true, PartialEq=true)
parcelable Node { int value; @nullable(heap=true) Node next; }
