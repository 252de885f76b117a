package anybinder.shapes.camera;
@Backing(type="long") enum BufferStatus { OK, ERROR = -1, FAR = 1L << 62, Self_ = 9, type = 12, }
