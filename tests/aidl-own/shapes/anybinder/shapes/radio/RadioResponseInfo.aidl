package anybinder.shapes.radio;
import anybinder.shapes.radio.RadioConst;
@JavaDerive(toString=true)
parcelable RadioResponseInfo {
    int type = RadioConst.UNKNOWN;
    long serial = RadioConst.VALUE_UNAVAILABLE_LONG;
    byte flags = RadioConst.VALUE_UNAVAILABLE_BYTE;
    Error error = Error.RADIO_NOT_AVAILABLE;
    Error[] errors = {Error.NONE, RadioResponseInfo.Error.SIM_ERR};
    @Backing(type="int") enum Error { NONE, RADIO_NOT_AVAILABLE, SIM_ERR = 80, OEM_ERROR_1 = 501, SAME = OEM_ERROR_1 }
}
