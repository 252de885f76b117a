package anybinder.shapes.keys;

import anybinder.shapes.keys.IKeyMintOperation;
import anybinder.shapes.keys.KeyParameter;

@VintfStability
@SensitiveData
interface IKeyMintDevice {
    const int AUTH_TOKEN_MAC_LENGTH = 32;
    const int RKP_TEST = -1;

    @RustDerive(Clone=true, PartialEq=true) @VintfStability
    parcelable HardwareAuthToken {
        long challenge;
        long userId;
        int authenticatorType = 1;
        byte[AUTH_TOKEN_MAC_LENGTH] seal;
        byte[] mac;
    }

    @VintfStability
    parcelable BeginResult {
        long challenge;
        KeyParameter[] params;
        IKeyMintOperation operation;
        @nullable IKeyMintOperation other;
    }

    void addRngEntropy(in byte[] data);
    byte[] generateKey(in KeyParameter[] keyParams, in @nullable HardwareAuthToken attestationKey);
    byte[] upgradeKey(in byte[] keyBlobToUpgrade, in KeyParameter[] upgradeParams);
    void deleteKey(in byte[] keyBlob);
    BeginResult begin(in int purpose, in byte[] keyBlob, in KeyParameter[] params,
            in @nullable HardwareAuthToken authToken);
    /** @deprecated Method has never been used */
    void deviceLocked(in boolean passwordOnly, in @nullable HardwareAuthToken timestampToken);
    byte[AUTH_TOKEN_MAC_LENGTH] getRootOfTrustChallenge();
}
