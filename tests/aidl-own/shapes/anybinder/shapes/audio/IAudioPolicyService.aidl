package anybinder.shapes.audio;

import anybinder.shapes.audio.AudioChannelLayout;
import anybinder.shapes.audio.AudioFormat;
import anybinder.shapes.audio.AudioPort;

interface IAudioPolicyService {
    oneway void onNewAudioModulesAvailable();
    void setDeviceConnectionState(int state, in AudioPort port, AudioFormat encodedFormat);
    int /* audio_io_handle_t */ getOutput(int stream);
    int[] /* audio_unique_id_t[] */ getOutputs(in int[] /* streams */ streams, out @nullable int[] ids);
    AudioPort getAudioPort(int portId);
    int listAudioPorts(int role, int type, inout AudioPort.Profile[] /* count in, ports out */ ports, out AudioPort[] found);
    boolean[] getSupported(in AudioPort.Ext.Address[] addresses, in AudioFormat[] formats);
    @nullable @utf8InCpp String getMasterMono(in @nullable @utf8InCpp String[] names);
    long[] /* histogram */ latencies(in AudioChannelLayout layout);
    char letter(char c, in char[] cs);
    List<AudioPort> ports(in List<AudioPort.Gain> gains, inout List<String> names);
    @PropagateAllowBlocking IBinder opaque(IBinder token, in IBinder[] tokens);
    @EnforcePermission("android.permission.MODIFY_AUDIO_ROUTING") void a();
    @EnforcePermission(allOf={"A", "B"}) void b();
    @PermissionManuallyEnforced @RequiresNoPermission void c();
}
