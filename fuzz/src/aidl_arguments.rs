//! Bytes as the data of a call and of its reply, decoded by the types of methods.

use std::sync::LazyLock;

use binder_trace::{
    CallTracker, DecodedEnd, MethodNames, SendKind, SendStatus, SentRecord, TraceItem, TraceRecord,
    TracedCall, decoded_reply, decoded_request, to_json,
};

/// A method of each kind of type, and one that takes all of them.
const SOURCE: &str = "
interface I {
    Tree tree(in Tree tree, out int[] filled, inout Choice[] choices);
    void plain(boolean a, byte b, char c, int d, long e, float f, double g, String h, Color i) ;
    String[] arrays(in boolean[] a, in byte[] b, in char[] c, in long[] d, in Color[] e, in int[2][3] f);
    IBinder objects(IBinder a, in ParcelFileDescriptor b, in ParcelableHolder c, in I[] d);
    Map<String, Tree> maps(in Map<String, Map<String, byte[]>> a, in Strange b, int behind);
    oneway void tell(in List<String> words);
}
parcelable Tree { int value; @nullable Tree[] more; Around around; String[2] words; }
parcelable Around { Strange strange; ParcelableHolder holder; }
union Choice { Tree tree; byte[4] bytes; @nullable(heap=true) Choice inner; }
@Backing(type=\"byte\") enum Color { RED, GREEN = 100 }
";

/// The token of a call of `I`.
const TOKEN: [u8; 20] = *b"\0\0\0\x80\xff\xff\xff\xffTSYS\x01\0\0\0I\0\0\0";

static METHODS: LazyLock<MethodNames> = LazyLock::new(|| {
    let (methods, mistakes) = MethodNames::of_aidl([("I.aidl".into(), SOURCE.into())]);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    methods
});

/// Decodes the bytes behind the first, which says by which method and how many are known.
///
/// # Panics
///
/// Panics if the decoder does, if it takes more values from bytes than there are, or forgets that it was cut short.
pub fn check(bytes: &[u8]) {
    let Some((choice, data)) = bytes.split_first() else { return };
    let methods = &*METHODS;
    let is_cut = choice & 0x80 != 0;
    let sent = |kind, id, within, data: Vec<u8>| SentRecord {
        at_ns: 1,
        device: "binder".into(),
        id,
        kind,
        from_pid: 1,
        from_tid: 1,
        to_pid: 2,
        to_tid: 2,
        node: 1,
        handle: 1,
        code: 1 + u32::from(choice & 7),
        flags: u32::from(choice & 8),
        data_bytes: data.len() as u64 + u64::from(is_cut) * 1000,
        offsets_bytes: 0,
        within,
        status: SendStatus::Accepted,
        interface: Some("I".into()),
        data,
    };
    let request = sent(SendKind::Call, 1, 0, [&TOKEN[..], data].concat());
    let reply = sent(SendKind::Reply, 2, 1, data.to_vec());
    let mut tracker = CallTracker::default();
    let mut ended: Option<Box<TracedCall>> = None;
    for record in [
        TraceRecord::Sent(request),
        TraceRecord::Sent(reply),
        TraceRecord::Received { at_ns: 2, id: 2, pid: 1, tid: 1 },
    ] {
        tracker.take(record, |_, item| {
            if let TraceItem::Ended(call) = item {
                ended = Some(call);
            }
        });
    }
    let call = ended.expect("its reply was received");
    let request = decoded_request(&call, methods, 4096);
    let reply = decoded_reply(&call, methods, 4096);
    let results = reply.as_ref().and_then(|reply| reply.results());
    for parcel in request.iter().chain(results) {
        assert!(!is_cut || parcel.end != DecodedEnd::Whole, "{parcel}");
        // The longest that a word can become is the name of a type or field with its value.
        assert!(parcel.to_string().len() < 256 + 64 * data.len(), "{parcel}");
    }
    assert!(!to_json(&call, &tracker, methods, 4096).is_empty());
}
