//! Services that are sent anything: they answer with a status, whatever it is.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::sync::Arc;

use aidl_tests::aidl::anybinder::test::{
    Everything::Everything, ITest::ITest, ITest::transactions, Node::Node, Shape::Shape, Tree::Tree,
};
use aidl_tests::service::{new_callback, new_test_service};
use aidl_tests::suite::everything;
use binder::binder_impl::{Deserialize, FIRST_CALL_TRANSACTION, IBinderInternal, Parcel};
use binder::transport::{
    BuilderWord, CallerIdentity, LocalObject, ObjectCodec, RpcVersion, WireFormat, WireName, serve,
};
use binder::{SpIBinder, StatusCode, Strong};
use proptest::collection::vec;
use proptest::prelude::*;

/// Names that mean nothing.
#[derive(Debug)]
struct Nobody(WireFormat);

impl ObjectCodec for Nobody {
    fn format(&self) -> WireFormat {
        self.0
    }

    fn name_binder(&self, _binder: &SpIBinder) -> Result<WireName, StatusCode> {
        Ok(match self.0 {
            WireFormat::Driver(_) => WireName::Handle(1),
            WireFormat::Rpc(_) => WireName::Address(1),
        })
    }

    fn find_binder(&self, _name: WireName) -> Result<SpIBinder, StatusCode> {
        Err(StatusCode::DEAD_OBJECT)
    }
}

const FORMATS: [WireFormat; 3] = [
    WireFormat::Driver(BuilderWord::System),
    WireFormat::Rpc(RpcVersion::V0),
    WireFormat::Rpc(RpcVersion::V2),
];

fn received(format: WireFormat, bytes: &[u8]) -> Parcel {
    Parcel::received(Arc::new(Nobody(format)), Box::new(bytes.to_vec()), Vec::new())
}

fn read<D: Deserialize>(format: WireFormat, bytes: &[u8]) -> Result<D, StatusCode> {
    received(format, bytes).read()
}

fn service() -> Arc<dyn LocalObject> {
    new_test_service().as_binder().as_local().unwrap().clone()
}

/// The bytes of a parcelable with everything in it.
fn valid(format: WireFormat) -> Vec<u8> {
    let service = new_test_service();
    let (callback, _notices) = new_callback(0);
    let mut parcel = Parcel::for_codec(Arc::new(Nobody(format)));
    parcel.write(&everything(&service.as_binder(), &callback)).unwrap();
    parcel.mark_sent();
    parcel.bytes().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_call_or_none(
        code in 0_u32..80,
        format in prop::sample::select(&FORMATS),
        has_token in any::<bool>(),
        words in vec(prop_oneof![0_i32..8, any::<i32>(), Just(-1)], 0..40),
    ) {
        let mut parcel = Parcel::for_codec(Arc::new(Nobody(format)));
        if has_token {
            parcel.write_interface_token("anybinder.test.ITest").unwrap();
        }
        for word in words {
            parcel.write(&word).unwrap();
        }
        let data = received(format, parcel.bytes());
        let reply = serve(&service(), CallerIdentity::default(), FIRST_CALL_TRANSACTION + code, data, 0);
        // Panics of services are answered too; this service has none. One method answers with the
        // status that it is given.
        if FIRST_CALL_TRANSACTION + code != transactions::failStatus {
            prop_assert_ne!(reply.err(), Some(StatusCode::UNKNOWN_ERROR));
        }
        if !has_token && code < 70 {
            let data = received(format, &[]);
            let reply =
                serve(&service(), CallerIdentity::default(), FIRST_CALL_TRANSACTION + code, data, 0);
            prop_assert_eq!(reply.err(), Some(StatusCode::BAD_TYPE));
        }
    }

    #[test]
    fn a_damaged_parcelable_is_read_or_refused(
        format in prop::sample::select(&FORMATS),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = valid(format);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(value) = read::<Everything>(format, &bytes) {
            // What came in a holder is looked at by type, and may be wrong as well.
            let _ = value.extra.get_parcelable::<Node>();
        }
        let _ = read::<Shape>(format, &bytes);
        let _ = read::<Vec<Everything>>(format, &bytes);
    }
}

/// Parcelables in each other, deeper than any interface means.
fn nested(levels: usize, level: &[i32], end: &[i32]) -> Vec<u8> {
    let words = (0..levels).flat_map(|_| level).chain(end);
    words.flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn depth_is_bounded() {
    let format = FORMATS[0];
    // Each node is there (1), longer than the parcel is allowed to say, with a value; null ends it.
    for (levels, is_read) in [(50, true), (100_000, false)] {
        let mut bytes = Vec::new();
        let mut length = i32::try_from(16 * levels).unwrap() + 12;
        for _ in 0..levels {
            for word in [1, length, 7] {
                bytes.extend(word.to_le_bytes());
            }
            length -= 12;
        }
        bytes.extend(0_i32.to_le_bytes());
        bytes.resize(bytes.len() + 8 * levels, 0);
        assert_eq!(read::<Node>(format, &bytes).is_ok(), is_read, "{levels} nodes");
        // Unions have no length: tag 1 is another tree.
        let bytes = nested(levels, &[1, 1], &[1, 0, 5]);
        assert_eq!(read::<Tree>(format, &bytes).is_ok(), is_read, "{levels} trees");
        // Tag 2 is an array of trees.
        let bytes = nested(levels, &[1, 2, 1], &[1, 0, 5]);
        assert_eq!(read::<Tree>(format, &bytes).is_ok(), is_read, "{levels} branches");
    }
}

#[test]
fn vectors_to_be_filled_have_a_limit() {
    let test: Strong<dyn ITest> = new_test_service();
    let call = |length: i32| {
        let code = transactions::reverseInt;
        test.as_binder().transact(code, 0, |parcel| {
            parcel.write(&[1_i32][..])?;
            parcel.write(&length)
        })
    };
    call(1).unwrap();
    assert_eq!(call(i32::MAX).unwrap_err(), StatusCode::NO_MEMORY);
    assert_eq!(call(-2).unwrap_err(), StatusCode::BAD_VALUE);
    // Null, where a vector must be: the exception of that name.
    let status: binder::Status = call(-1).unwrap().read().unwrap();
    assert_eq!(status.exception_code(), binder::ExceptionCode::NULL_POINTER);
}
