package anybinder.test;
@Backing(type="byte")
enum ByteEnum { FOO = 1, BAR = 2, BAZ }
