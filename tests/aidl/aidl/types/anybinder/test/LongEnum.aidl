package anybinder.test;
@Backing(type="long")
enum LongEnum { FOO = 100000000000, BAR = -200000000000 }
