package anybinder.test;
@Backing(type="int")
enum IntEnum { FOO = 1000, BAR = 2000, SAME_AS_FOO = FOO }
