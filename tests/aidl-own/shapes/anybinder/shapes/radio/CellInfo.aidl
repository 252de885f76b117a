package anybinder.shapes.radio;
import anybinder.shapes.radio.RadioConst;
parcelable CellInfo {
    boolean registered;
    CellConnectionStatus connectionStatus;
    CellInfoRatSpecificInfo ratSpecificInfo;
    @Backing(type="int") enum CellConnectionStatus { NONE, PRIMARY_SERVING, SECONDARY_SERVING }
    @JavaDerive(toString=true)
    union CellInfoRatSpecificInfo { Gsm gsm; Lte lte; @nullable Lte[] history; boolean[RadioConst.MAX_RILDS] slots; }
    parcelable Gsm { String mcc; String mnc; int lac; byte bsic = RadioConst.VALUE_UNAVAILABLE_BYTE; }
    parcelable Lte { String[] additionalPlmns; @nullable Csg csgInfo; int[] bands; Gsm fallback; int type = 0; String self_; }
    parcelable Csg { boolean csgIndication; String homeNodebName; int csgIdentity = RadioConst.VALUE_UNAVAILABLE; }
}
