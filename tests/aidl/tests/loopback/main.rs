//! Generated code over a transport that is nothing but the seam: two sides in one process that name
//! objects to each other as the driver or as RPC Binder would, and count what they give away.
//! Alone in its process, whose descriptors it counts.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod side;

use std::fs;

use aidl_tests::aidl::anybinder::test::ITest::ITest;
use aidl_tests::service::{new_callback, new_test_service};
use aidl_tests::suite::{self, Without};
use binder::binder_impl::IBinderInternal;
use binder::transport::{BuilderWord, RpcVersion, WireFormat};
use binder::{FromIBinder, StatusCode, Strong};
use side::{Side, pair};

const FORMATS: [WireFormat; 5] = [
    WireFormat::Driver(BuilderWord::System),
    WireFormat::Driver(BuilderWord::Unknown),
    WireFormat::Rpc(RpcVersion::V0),
    WireFormat::Rpc(RpcVersion::V1),
    WireFormat::Rpc(RpcVersion::V2),
];

/// How many files this process has open.
fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn connect(format: WireFormat) -> (std::sync::Arc<Side>, std::sync::Arc<Side>, Strong<dyn ITest>) {
    let (client, server) = pair(format);
    let root = client.import_root(&server, &new_test_service().as_binder());
    let test = <dyn ITest as FromIBinder>::try_from(root).unwrap();
    assert!(test.as_binder().is_remote());
    (client, server, test)
}

// One test, so that nobody else opens files meanwhile.
#[test]
fn every_type_travels_and_every_count_comes_back() {
    for format in FORMATS {
        let files = open_files();
        let (client, server, test) = connect(format);
        suite::run(&test, Without::default());
        assert_eq!(server.given(), 1, "{format:?}: the root alone");
        assert_eq!(client.given(), 0, "{format:?}");
        drop(test);
        assert_eq!(server.given(), 0, "{format:?}");
        assert_eq!(open_files(), files, "{format:?}");
    }

    // What was named and not sent is taken back; files of it are closed.
    for format in FORMATS {
        let (client, server, test) = connect(format);
        let files = open_files();
        let (callback, _notices) = new_callback(1);
        let mut parcel = test.as_binder().prepare_transact().unwrap();
        parcel.write(&callback).unwrap();
        parcel.write(&[callback.as_binder(), test.as_binder()][..]).unwrap();
        assert_eq!(client.given(), 1, "one object, named twice");
        drop(parcel);
        assert_eq!((client.given(), server.given()), (0, 1));
        assert_eq!(open_files(), files);
    }

    // A proxy of one transport means nothing to another.
    let (_, _, test) = connect(FORMATS[0]);
    let (client, _, other) = connect(FORMATS[3]);
    let status = other.repeatBinder(&test.as_binder()).unwrap_err();
    assert_eq!(status.transaction_error(), StatusCode::INVALID_OPERATION);
    assert_eq!(client.given(), 0);
}
