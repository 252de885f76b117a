package anybinder.test;
import anybinder.test.ByteEnum;
import anybinder.test.Point;
@RustDerive(Clone=true, PartialEq=true)
union Shape {
    int[] numbers = {};
    int number;
    String text;
    @nullable @utf8InCpp String maybe;
    Point point;
    List<Point> points;
    ByteEnum kind;
}
