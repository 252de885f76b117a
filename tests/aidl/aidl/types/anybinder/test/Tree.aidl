package anybinder.test;
@RustDerive(Clone=true, PartialEq=true)
union Tree { int leaf; @nullable(heap=true) Tree left; Tree[] branches; }
