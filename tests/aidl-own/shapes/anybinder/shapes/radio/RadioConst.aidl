package anybinder.shapes.radio;
@JavaDerive(toString=true)
parcelable RadioConst {
    const int MAX_RILDS = 3;
    const int UNKNOWN = -(MAX_RILDS - 2);
    const int VALUE_UNAVAILABLE = 0x7FFFFFFF;
    const byte VALUE_UNAVAILABLE_BYTE = 0xFFu8;
    const long VALUE_UNAVAILABLE_LONG = 0x7FFFFFFFFFFFFFFF;
    const int ALL_ONES = 0xFFFFFFFF;
    const int SIGN = 1 << 31;
    const long LOWEST = 0x8000000000000000;
    const int P2CONSTANT_NO_P2 = -1;
    const double PI = 3.141592653589793;
    const float EPSILON = 1.1920929e-7f;
    const char SLASH = '/';
    const boolean BOTH = MAX_RILDS > 2 && !(UNKNOWN == 0) || false;
    const String NAME = "radio" + "." + "const";
    const int MIXED = (5 + 3 * 2 - 4 / 2 % 3) ^ (0x0f & ~3 | 1 << 6 >> 1);
}
