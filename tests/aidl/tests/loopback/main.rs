//! Generated code over a transport that is nothing but the seam: two sides in one process that name
//! objects to each other as the driver or as RPC Binder would, and count what they give away.
//! Alone in its process, whose descriptors it counts.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod side;

use std::fs;
use std::sync::Arc;

use aidl_tests::aidl::anybinder::test::Everything::Everything;
use aidl_tests::aidl::anybinder::test::ITest::ITest;
use aidl_tests::service::{new_callback, new_test_service};
use aidl_tests::suite::{self, Without};
use binder::binder_impl::IBinderInternal;
use binder::transport::{BuilderWord, ObjectCodec, RpcVersion, WireFormat};
use binder::{FromIBinder, ParcelFileDescriptor, StatusCode, Strong};
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

fn connect(format: WireFormat) -> (Arc<Side>, Arc<Side>, Strong<dyn ITest>) {
    let (client, server) = pair(format);
    let root = client.import_root(&server, &new_test_service().as_binder());
    let test = <dyn ITest as FromIBinder>::try_from(root).unwrap();
    assert!(test.as_binder().is_remote());
    (client, server, test)
}

// One test, so that no other opens files meanwhile.
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

    objects_are_forwarded_from_one_transport_to_another();
}

/// An object of a server, by way of a gateway that knows nothing of its interface.
struct Gateway {
    client: Arc<Side>,
    /// The gateway's sides: that to the client and that to the server.
    near: Arc<Side>,
    far: Arc<Side>,
    server: Arc<Side>,
    test: Strong<dyn ITest>,
}

fn gateway(near: WireFormat, far: WireFormat) -> Result<Gateway, StatusCode> {
    let (far, server) = pair(far);
    let root = far.import_root(&server, &new_test_service().as_binder());
    let (client, near) = pair(near);
    let test = near.send(&client, &root)?.into_interface()?;
    Ok(Gateway { client, near, far, server, test })
}

impl Gateway {
    /// How many objects each side has given away.
    fn given(&self) -> [usize; 4] {
        [&self.client, &self.near, &self.far, &self.server].map(|side| side.given())
    }
}

fn objects_are_forwarded_from_one_transport_to_another() {
    let listing = [FORMATS[0], FORMATS[1], FORMATS[4]];
    let is_rpc = |format| matches!(format, WireFormat::Rpc(_));
    for (near, far) in listing.iter().flat_map(|near| listing.iter().map(move |far| (*near, *far)))
    {
        let files = open_files();
        let gateway = gateway(near, far).unwrap();
        let test = &gateway.test;
        assert_eq!(gateway.given(), [0, 1, 0, 1], "{near:?} {far:?}");
        assert_eq!(test.repeatString("as it was").unwrap(), "as it was");
        // An exception is an answer like others.
        assert_eq!(test.failSpecific(7, "why").unwrap_err().service_specific_error(), 7);
        let file = ParcelFileDescriptor::new(fs::File::open("/dev/null").unwrap());
        drop(test.repeatFile(&file).unwrap());
        drop(file);

        // An object of the client goes to the server and comes home, and one of the server likewise.
        let (callback, _notices) = new_callback(1);
        assert_eq!(test.repeatBinder(&callback.as_binder()).unwrap(), callback.as_binder());
        assert_eq!(test.repeatBinder(&test.as_binder()).unwrap(), test.as_binder());
        assert_eq!(gateway.given(), [0, 1, 0, 1], "{near:?} {far:?}");
        // The gateway has the original.
        let home = gateway.client.send(&gateway.near, &test.as_binder()).unwrap();
        let far_root = home.as_remote().unwrap();
        assert!(Arc::ptr_eq(&far_root.codec(), &(gateway.far.clone() as Arc<dyn ObjectCodec>)));
        drop(home);

        if is_rpc(near) == is_rpc(far) {
            suite::run(test, Without::default());
        }
        assert_eq!(gateway.given(), [0, 1, 0, 1], "{near:?} {far:?}");
        let sides = [gateway.client, gateway.near, gateway.far, gateway.server];
        drop(gateway.test);
        assert_eq!(sides.map(|side| side.given()), [0; 4], "{near:?} {far:?}");
        assert_eq!(open_files(), files, "{near:?} {far:?}");
    }

    // Who does not say where objects are neither forwards nor is forwarded to.
    for (near, far) in [(FORMATS[4], FORMATS[2]), (FORMATS[3], FORMATS[0])] {
        assert_eq!(gateway(near, far).err(), Some(StatusCode::INVALID_OPERATION));
    }

    // A parcelable with an object in it would be of another length.
    for (near, far) in [(FORMATS[0], FORMATS[4]), (FORMATS[4], FORMATS[0])] {
        let gateway = gateway(near, far).unwrap();
        let (callback, _notices) = new_callback(1);
        let everything = Everything { r#binder: Some(callback.as_binder()), ..Default::default() };
        let refused = gateway.test.repeatEverything(&everything).unwrap_err();
        assert_eq!(refused.transaction_error(), StatusCode::BAD_TYPE);
        assert_eq!(gateway.test.repeatInt(7).unwrap(), 7, "{near:?} {far:?}");
    }
}
