package anybinder.shapes.camera;
import anybinder.shapes.camera.BufferStatus;
import anybinder.shapes.camera.NotifyMsg;
@Descriptor(value="android.shapes.camera.ICameraDeviceCallback")
interface ICameraDeviceCallback {
    oneway void notify(in NotifyMsg[] msgs);
    NotifyMsg.Shutter requestStreamBuffers(in BufferRequest[] bufReqs, out @nullable NotifyMsg.Shutter[] bufs);
    parcelable BufferRequest { int streamId; int numBuffersRequested = 1; @nullable IBinder owner; @nullable(heap=true) BufferRequest next; }
    void async(in @nullable List<BufferRequest> list, inout @nullable @utf8InCpp List<String> names);
    void fn(in int type, in int impl, in int match, in boolean crate_, in int loop, in int move, in int where);
    int dyn(); int async_(); int box(); int try(); int yield();
}
