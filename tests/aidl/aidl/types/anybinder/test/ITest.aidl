package anybinder.test;
import anybinder.test.ByteEnum;
import anybinder.test.Everything;
import anybinder.test.ICallback;
import anybinder.test.IntEnum;
import anybinder.test.LongEnum;
import anybinder.test.Node;
import anybinder.test.Point;
import anybinder.test.Shape;
import anybinder.test.Tree;
interface ITest {
    const int ANSWER = 42;
    const String NAME = "anybinder.test.ITest/default";
    const @utf8InCpp String UTF8_NAME = "utf8";
    const double HALF = 0.5;

    boolean repeatBoolean(boolean value);
    byte repeatByte(byte value);
    char repeatChar(char value);
    int repeatInt(int value);
    long repeatLong(long value);
    float repeatFloat(float value);
    double repeatDouble(double value);
    String repeatString(String value);
    @utf8InCpp String repeatUtf8(@utf8InCpp String value);
    ByteEnum repeatByteEnum(ByteEnum value);
    IntEnum repeatIntEnum(IntEnum value);
    LongEnum repeatLongEnum(LongEnum value);

    boolean[] reverseBoolean(in boolean[] value, out boolean[] copy);
    byte[] reverseByte(in byte[] value, out byte[] copy);
    char[] reverseChar(in char[] value, out char[] copy);
    int[] reverseInt(in int[] value, out int[] copy);
    long[] reverseLong(in long[] value, out long[] copy);
    float[] reverseFloat(in float[] value, out float[] copy);
    double[] reverseDouble(in double[] value, out double[] copy);
    String[] reverseString(in String[] value, out String[] copy);
    ByteEnum[] reverseByteEnum(in ByteEnum[] value, out ByteEnum[] copy);
    IntEnum[] reverseIntEnum(in IntEnum[] value, out IntEnum[] copy);
    LongEnum[] reverseLongEnum(in LongEnum[] value, out LongEnum[] copy);
    List<String> reverseList(in List<String> value, out List<String> copy);
    List<Point> reversePoints(in List<Point> value, inout List<Point> copy);

    @nullable String maybeString(@nullable String value);
    @nullable @utf8InCpp List<String> maybeList(in @nullable @utf8InCpp List<String> value);
    @nullable int[] maybeInts(in @nullable int[] value);
    @nullable byte[] maybeBytes(in @nullable byte[] value);
    @nullable boolean[] maybeBooleans(in @nullable boolean[] value, out @nullable boolean[] copy);
    @nullable IntEnum[] maybeEnums(in @nullable IntEnum[] value);
    @nullable String[] maybeStrings(in @nullable String[] value);
    @nullable Point maybePoint(in @nullable Point value);
    @nullable Point[] maybePoints(in @nullable Point[] value);
    @nullable Shape maybeShape(in @nullable Shape value);
    @nullable IBinder maybeBinder(@nullable IBinder value);
    @nullable ICallback maybeCallback(@nullable ICallback value);
    @nullable ParcelFileDescriptor maybeFile(in @nullable ParcelFileDescriptor value);
    @nullable Node maybeNode(in @nullable Node value);

    int[3] repeatFixed(in int[3] value, out int[3] copy);
    int[2][3] repeatMatrix(in int[2][3] value, out int[2][3] copy);
    Point[2] repeatFixedPoints(in Point[2] value, inout Point[2] copy);
    @nullable IBinder[2] repeatFixedBinders(in @nullable IBinder[2] value);

    Everything repeatEverything(in Everything value);
    void fillEverything(out Everything value);
    void changeEverything(inout Everything value);
    Shape repeatShape(in Shape value);
    Tree repeatTree(in Tree value);

    IBinder repeatBinder(IBinder value);
    IBinder[] repeatBinders(in IBinder[] value);
    ParcelFileDescriptor repeatFile(in ParcelFileDescriptor value);
    ParcelFileDescriptor[] reverseFiles(in ParcelFileDescriptor[] value, out ParcelFileDescriptor[] copy);
    ICallback repeatCallback(ICallback value);
    ICallback[] repeatCallbacks(in ICallback[] value);

    int askThrough(ICallback callback, int question);
    oneway void noticeThrough(ICallback callback, int number);
    ICallback makeCallback(int offset);
    @SensitiveData interface ISecret { String whisper(String word); oneway void forget(); }
    ISecret secret();

    void fail(int exception, String message);
    void failSpecific(int error, String message);
    void failStatus(int status);
    void callingIdentity(out int[] pidAndUid);
    oneway void add(int number);
    int[] added();
}
