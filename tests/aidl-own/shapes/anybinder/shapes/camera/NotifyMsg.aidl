package anybinder.shapes.camera;
import anybinder.shapes.camera.BufferStatus;
@RustDerive(PartialEq=true)
union NotifyMsg {
    Error error;
    Shutter shutter;
    @RustDerive(PartialEq=true, Clone=true) parcelable Error { int frameNumber = 0; int errorStreamId = -1; BufferStatus code = BufferStatus.ERROR; }
    @RustDerive(PartialEq=true, Clone=true) parcelable Shutter { int frameNumber; long timestamp; long readoutTimestamp; @nullable BufferStatus[] all; }
}
