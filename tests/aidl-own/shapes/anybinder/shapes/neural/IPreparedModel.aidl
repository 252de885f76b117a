package anybinder.shapes.neural;
import anybinder.shapes.neural.Model;
import anybinder.shapes.neural.Pair;
interface IPreparedModel {
    const long DEFAULT_LOOP_TIMEOUT_DURATION_NS = 2000000000;
    const int BYTE_SIZE_OF_CACHE_TOKEN = 32;
    ExecutionResult executeSynchronously(in Model request, in boolean measureTiming, in long deadlineNs);
    FencedExecutionResult executeFenced(in Model request, in ParcelFileDescriptor[] waitFor, in long[] times);
    void prepareModelFromCache(in ParcelFileDescriptor[] modelCache, in byte[BYTE_SIZE_OF_CACHE_TOKEN] token,
            in IPreparedModelCallback callback, in Pair<Model, Pair<String, Model.Memory>>[] hints, out Pair<int, String> hint);
    parcelable ExecutionResult { boolean outputSufficientSize; Shape[] outputShapes; Timing timing; }
    parcelable Shape { int[] dimensions; boolean isSufficient; }
    @FixedSize parcelable Timing { long timeOnDeviceNs = -1; long timeInDriverNs = -1; long[2][3] grid; }
    parcelable FencedExecutionResult { IFencedExecutionCallback callback; @nullable ParcelFileDescriptor syncFence; }
    interface IFencedExecutionCallback { Timing getExecutionInfo(out Timing timingFenced, out int[3] counts); }
    interface IPreparedModelCallback { void notify(in int status, in @nullable IPreparedModel preparedModel); }
}
