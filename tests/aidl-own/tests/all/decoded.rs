//! What a trace tells of the calls of the suite: all their arguments and results, by the sources alone.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::sync::{Arc, Mutex};

use aidl_tests::aidl::anybinder::test::ITest::{BpTest, ITest};
use aidl_tests::service::new_test_service;
use aidl_tests::suite::{self, Without};
use binder::binder_impl::{
    Binder, BorrowedParcel, IBinderInternal as _, Proxy as _, Remotable, TransactionCode,
};
use binder::{Interface as _, SpIBinder, StatusCode, Strong};
use binder_trace::{
    CallTracker, DecodedEnd, DecodedReply, MethodNames, SendKind, SendStatus, SentRecord,
    TraceItem, TraceRecord, decoded_reply, decoded_request,
};

const DESCRIPTOR: &str = "anybinder.test.ITest";

/// A call and its reply, as bytes.
struct Heard {
    code: u32,
    request: Vec<u8>,
    reply: Vec<u8>,
}

/// Stands before a service, and keeps the bytes of what passes.
struct Tap {
    service: SpIBinder,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Remotable for Tap {
    fn get_descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        let mut passed = self.service.prepare_transact()?;
        let start = data.get_data_position();
        let size = data.get_data_size() - start;
        passed.append_from(data, start, size)?;
        let answer = self.service.submit_transact(code, passed, 0)?;
        reply.append_all_from(&answer)?;
        let (request, reply) = (data.bytes().to_vec(), answer.bytes().to_vec());
        self.heard.lock().unwrap().push(Heard { code, request, reply });
        Ok(())
    }
}

/// The calls that the suite makes.
fn suite_heard() -> Vec<Heard> {
    let heard = Arc::<Mutex<Vec<Heard>>>::default();
    let tap = Tap { service: new_test_service().as_binder(), heard: heard.clone() };
    let object = Binder::new(tap).as_binder();
    let test: Strong<dyn ITest> = Strong::new(Box::new(BpTest::from_binder(object).unwrap()));
    suite::run(&test, Without::default());
    std::mem::take(&mut heard.lock().unwrap())
}

fn methods() -> MethodNames {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../aidl/aidl/types/anybinder/test");
    let sources = fs::read_dir(dir).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.display().to_string(), fs::read_to_string(&path).unwrap())
    });
    let (methods, mistakes) = MethodNames::of_aidl(sources);
    assert_eq!(mistakes, Vec::<String>::new());
    methods
}

/// What is told of a call: its method, its arguments, and what came of it.
fn told(heard: Heard, methods: &MethodNames) -> (String, String, String) {
    let Heard { code, request, reply } = heard;
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
        code,
        flags: 0,
        data_bytes: data.len() as u64,
        offsets_bytes: 0,
        within,
        status: SendStatus::Accepted,
        interface: Some(DESCRIPTOR.into()),
        data,
    };
    let (mut tracker, mut ended) = (CallTracker::default(), None);
    for record in [
        TraceRecord::Sent(sent(SendKind::Call, 1, 0, request)),
        TraceRecord::Sent(sent(SendKind::Reply, 2, 1, reply)),
        TraceRecord::Received { at_ns: 2, id: 2, pid: 1, tid: 1 },
    ] {
        tracker.take(record, |_, item| {
            if let TraceItem::Ended(call) = item {
                ended = Some(call);
            }
        });
    }
    let call = ended.unwrap();
    let name = methods.naming(&call.sent).method_words().into_owned();
    let request = decoded_request(&call, methods, usize::MAX).unwrap();
    assert_eq!(request.end, DecodedEnd::Whole, "{name}{request}");
    let reply = decoded_reply(&call, methods, usize::MAX);
    if let Some(DecodedReply::Results(results)) = &reply {
        assert_eq!(results.end, DecodedEnd::Whole, "{name} -> {results}");
    }
    let reply = reply.map(|reply| reply.to_string()).unwrap_or_default();
    (name, request.to_string(), reply)
}

#[test]
fn all_calls_of_the_suite_are_decoded_to_their_ends() {
    let methods = methods();
    let calls: Vec<_> = suite_heard().into_iter().map(|heard| told(heard, &methods)).collect();
    assert!(calls.len() > 100, "{calls:#?}");
    let of = |name: &str| calls.iter().filter(|call| call.0 == name).collect::<Vec<_>>();
    for (name, request, reply) in [
        ("repeatBoolean", "(value: true)", "(true)"),
        ("maybeString", "(value: null)", "(null)"),
        ("fail", "", "exception "),
        ("repeatEverything", "(value: Everything{flag: ", "(Everything{flag: "),
    ] {
        let is_it = |call: &&(String, String, String)| {
            call.1.starts_with(request) && call.2.starts_with(reply)
        };
        assert!(of(name).iter().any(is_it), "{name}: {:#?}", of(name));
    }
}
