package anybinder.shapes.neural;
import anybinder.shapes.neural.Model.Operand.LifeTime;
parcelable Model {
    Subgraph main;
    Subgraph[] referenced;
    byte[] operandValues;
    Memory[] pools;
    boolean relaxComputationFloat32toFloat16;
    ExtensionNameAndPrefix[] extensionNameToPrefix;
    parcelable ExtensionNameAndPrefix { String name; char prefix; }
    parcelable Subgraph { Operand[] operands; Operation[] operations; int[] inputIndexes; int[] outputIndexes; }
    parcelable Operation { int type; int[] inputs; int[] outputs; }
    parcelable Operand {
        int[] dimensions;
        float scale;
        LifeTime lifetime = LifeTime.TEMPORARY_VARIABLE;
        DataLocation location;
        @nullable OperandExtraParams extraParams;
        @Backing(type="int") enum LifeTime { TEMPORARY_VARIABLE, SUBGRAPH_INPUT, CONSTANT_COPY, POINTER = 6 }
    }
    parcelable DataLocation { long pointer = 0; int poolIndex; long offset; long length; long padding; }
    union OperandExtraParams { Quant channelQuant; byte[] extension; LifeTime[] lifetimes; }
    parcelable Quant { float[] scales; int channelDim; }
    union Memory {
        Ashmem ashmem;
        MappableFile mappableFile;
        ParcelFileDescriptor[] files;
        parcelable Ashmem { ParcelFileDescriptor fd; long size; }
        parcelable MappableFile { long length; int prot; ParcelFileDescriptor fd; long offset; }
    }
}
