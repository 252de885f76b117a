// All that the other interfaces do not use. Nothing is imported: all types are of this package, or named in full.
package anybinder.hard;

/**
 * An interface with numbers of its own.
 *
 * @deprecated for the test
 *     of it
 */
@SuppressWarnings(value={"inout-parameter", "mixed-oneway",})
@Descriptor(value="anybinder.hard.IRenamed")
interface IHard {
    /** Values of each type. */
    const boolean YES = 1 < 2 && !(3 == 4);
    const byte BYTE = 0xffu8;
    const char LETTER = '\u20ac';
    const long FAR = -9223372036854775808;
    const float SINGLE = 1e-9f;
    const String TEXT = "a" + "b" /* c */ + "d";
    /** @deprecated is 3 */
    const int SIZE = Limits.LENGTH / 11;

    @Backing(type="long") enum Color { RED = 1L << 40, GREEN, /** @deprecated */ BLUE = -GREEN, type = 7 }

    Many repeat(in Many many) = 20;
    Choice choose(in Choice choice) = 3;
    Choice.Tag which(in Choice choice) = 0x4;
    @nullable Many.Part part(in @nullable Many.Part part, out Many.Part[] parts) = 5;
    int[SIZE][2] fixed(in int[SIZE][2] value, out int[40] filled, inout byte[SIZE] bytes) = 6;
    void objects(out IBinder[2] fixed, inout IBinder[] changed, out List<IBinder> listed) = 7;
    Twice twice(in Twice[] all, inout Twice one, out @nullable Twice none) = 8;
    Color[] colors(in List<Color> colors, inout @nullable Color[] more) = 9;
    ParcelFileDescriptor file(inout ParcelFileDescriptor file) = 10;
    ParcelableHolder held(in ParcelableHolder holder, inout ParcelableHolder changed) = 11;
    Pair<Color, Pair<String, Many.Part>> pairs(in Pair<int, Twice>[] pairs) = 12;
    /** @deprecated waits for nobody */
    oneway void notice(in @nullable @utf8InCpp List<String> words, IHard self_, int type) = 13;

    parcelable Pair<B, A> { int first = SIZE; @nullable String second; }
}
