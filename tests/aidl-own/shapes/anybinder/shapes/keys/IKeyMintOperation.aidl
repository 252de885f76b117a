package anybinder.shapes.keys;
@VintfStability @SensitiveData
interface IKeyMintOperation {
    void updateAad(in byte[] input);
    byte[] update(in byte[] input);
    byte[] finish(in @nullable byte[] input, in @nullable byte[] signature, in @nullable byte[] confirmationToken);
    void abort();
}
