package anybinder.shapes.radio;

import anybinder.shapes.radio.RadioResponseInfo;
import anybinder.shapes.radio.CellInfo.Lte;
import anybinder.shapes.radio.CellInfo;

oneway interface IRadioNetwork {
    void getCellInfoList(in int serial);
    /** Two one-ways of a pair. */
    void responseAcknowledgement();
    void setResponseFunctions(in IRadioNetworkResponse response, in IRadioNetworkIndication indication);
    void sendAnother(in Lte cell, in CellInfo[] cells, in @nullable Lte maybe);
    interface IRadioNetworkResponse {
        oneway void getCellInfoListResponse(in RadioResponseInfo info, in CellInfo[] cellInfo);
        void acknowledgeRequest(in int serial);
        const int NONE = 0;
    }
    interface IRadioNetworkIndication { void changed(in RadioResponseInfo.Error error, IRadioNetworkResponse from); }
}
