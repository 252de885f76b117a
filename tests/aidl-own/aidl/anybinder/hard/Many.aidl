package anybinder.hard;
@RustDerive(PartialEq=true)
parcelable Many {
    int[Limits.LENGTH] numbers;
    IBinder binder;
    ParcelFileDescriptor file;
    IHard[] services;
    IBinder[2] pair;
    IBinder[1][2] square;
    @nullable IHard[2] maybe;
    @nullable String[] words = {"a", "b" + "c"};
    @nullable @utf8InCpp String word = "word";
    @nullable int[2] two = {1, 0x7fffffff};
    byte[] bytes = {-1, 0xffu8, 127};
    byte[2] few = {-1, 1};
    char letter;
    boolean[] flags = {IHard.YES, 1 == 2};
    IHard.Color color = IHard.Color.type;
    IHard.Color[] colors = {IHard.Color.RED, anybinder.hard.IHard.Color.GREEN,};
    double tiny = -1e-12;
    double[] doubles = {1, 2.5, .125f};
    @nullable(heap=true) Many inner;
    Part part;
    Part[] parts;
    @nullable Part[3] maybeParts;
    Twice twice;
    /** @deprecated is 0 */
    int old;
    @RustDerive(Clone=true, PartialEq=true)
    parcelable Part { int depth = Deep.ONE; @FixedSize @RustDerive(Clone=true, PartialEq=true)
        union Deep { byte a = 1; int[2] b; const int ONE = 1; } Deep deep; }
}
