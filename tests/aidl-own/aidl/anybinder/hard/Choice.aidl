package anybinder.hard;
union Choice {
    const String NAME = "choice";
    IBinder binder;
    @nullable ParcelFileDescriptor maybeFile;
    ParcelFileDescriptor file;
    /** @deprecated */ int[2] pair = {1, 2};
    @nullable(heap=true) Choice inner;
    IHard.Color color;
    Tag tag;
}
