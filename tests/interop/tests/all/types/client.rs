//! Our server with their client.

use std::sync::Arc;

use aidl_tests::service;
use binder::transport::rpc::RpcServer;
use binder_testkit::HANG_TIMEOUT;
use rsbinder::rpc as theirs;
use rsbinder::{ExceptionCode, FromIBinder, StatusCode};

use foreign::types::anybinder::test::{
    ByteEnum::ByteEnum,
    Everything::Everything,
    Extra::Extra,
    ICallback::{BnCallback, ICallback},
    ITest::ITest,
    IntEnum::IntEnum,
    LongEnum::LongEnum,
    Node::Node,
    Point::Point,
    Shape::Shape,
    Tree::Tree,
};

/// What they send comes back.
macro_rules! assert_repeats {
    ($test:ident.$method:ident($value:expr)) => {
        assert_eq!($test.$method($value).unwrap(), $value, stringify!($method))
    };
    // A copy comes out beside the result.
    ($test:ident.$method:ident($value:expr, out $blank:expr)) => {{
        let (value, mut copy) = ($value, $blank);
        assert_eq!($test.$method(&value, &mut copy).unwrap(), value, stringify!($method));
        assert_eq!(copy, value, stringify!($method));
    }};
}

/// An array comes back the other way round, and a copy of it beside that.
macro_rules! assert_reverses {
    ($test:ident.$method:ident($value:expr)) => {{
        let value = $value.to_vec();
        let mut copy = Vec::new();
        copy.resize_with(value.len(), Default::default);
        let reversed: Vec<_> = value.iter().rev().cloned().collect();
        assert_eq!($test.$method(&value, &mut copy).unwrap(), reversed, stringify!($method));
        assert_eq!(copy, value, stringify!($method));
    }};
}

/// Calls our server, in each version of the protocol.
fn with_their_client(check: impl Fn(&dyn ITest)) {
    for version in 0..=2 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let server = RpcServer::new_unix(service::new_test_service().as_binder(), &path).unwrap();
        server.start().unwrap();
        let config = theirs::RpcClientConfig::unix(&path, version).incoming_connections(1);
        let config = config.timeout(HANG_TIMEOUT);
        let session = theirs::RpcSession::setup_client_android13plus_with_config(config).unwrap();
        let test = <dyn ITest as FromIBinder>::try_from(session.get_root().unwrap()).unwrap();
        check(&*test);
        drop(test);
        session.close_session();
        server.shutdown().unwrap();
    }
}

#[test]
fn numbers_texts_and_enums() {
    with_their_client(|test| {
        assert_repeats!(test.repeatBoolean(true));
        assert_repeats!(test.repeatByte(-3));
        assert_repeats!(test.repeatChar(u16::MAX));
        assert_repeats!(test.repeatInt(i32::MIN));
        assert_repeats!(test.repeatLong(i64::MIN));
        assert_repeats!(test.repeatFloat(1.5));
        assert_repeats!(test.repeatDouble(1e300));
        assert_repeats!(test.repeatString("sch\u{f6}n \u{1F30D}"));
        assert_repeats!(test.repeatString(&*"long ".repeat(5000)));
        assert_repeats!(test.repeatUtf8("sch\u{f6}n \u{1F30D}"));
        assert_repeats!(test.repeatByteEnum(ByteEnum::BAZ));
        assert_repeats!(test.repeatIntEnum(IntEnum::BAR));
        assert_repeats!(test.repeatLongEnum(LongEnum::BAR));
    });
}

#[test]
fn arrays_and_lists() {
    with_their_client(|test| {
        assert_reverses!(test.reverseBoolean([true, false, false]));
        assert_reverses!(test.reverseByte([1, 2, 255, 4, 5]));
        assert_reverses!(test.reverseChar([1, u16::MAX, 3]));
        assert_reverses!(test.reverseInt([1, -1]));
        assert_reverses!(test.reverseLong([1, i64::MIN]));
        assert_reverses!(test.reverseFloat([1.0, -2.5]));
        assert_reverses!(test.reverseDouble([1.0, 2.5]));
        assert_reverses!(test.reverseString(["a".to_owned(), String::new()]));
        assert_reverses!(test.reverseByteEnum([ByteEnum::FOO, ByteEnum::BAR, ByteEnum::BAZ]));
        assert_reverses!(test.reverseIntEnum([IntEnum::FOO, IntEnum::BAR]));
        assert_reverses!(test.reverseLongEnum([LongEnum::FOO, LongEnum::BAR]));
        assert_reverses!(test.reverseList(["x".to_owned(), "yy".to_owned()]));
        assert_repeats!(test.repeatFixed([1, 2, 3], out [0; 3]));
        assert_repeats!(test.repeatMatrix([[1, 2, 3], [4, 5, 6]], out [[0; 3]; 2]));
    });
}

#[test]
fn what_may_be_missing() {
    with_their_client(|test| {
        let texts = [Some("a".to_owned()), None];
        assert_eq!(test.maybeString(None).unwrap(), None);
        assert_eq!(test.maybeString(Some("q")).unwrap().as_deref(), Some("q"));
        assert_eq!(test.maybeList(Some(&texts)).unwrap(), Some(texts.to_vec()));
        assert_eq!(test.maybeStrings(Some(&texts)).unwrap(), Some(texts.to_vec()));
        assert_eq!(test.maybeInts(None).unwrap(), None);
        assert_eq!(test.maybeInts(Some(&[1])).unwrap(), Some(vec![1]));
        assert_eq!(test.maybeBytes(Some(&[1, 2, 3])).unwrap(), Some(vec![1, 2, 3]));
        assert_eq!(test.maybeEnums(Some(&[IntEnum::BAR])).unwrap(), Some(vec![IntEnum::BAR]));
        let mut copy = None;
        let flags = test.maybeBooleans(Some(&[true, false]), &mut copy).unwrap();
        assert_eq!((flags, copy), (Some(vec![true, false]), Some(vec![true, false])));
        let point = || Point { x: -1, y: 5 };
        assert_eq!(test.maybePoint(None).unwrap(), None);
        assert_eq!(test.maybePoint(Some(&point())).unwrap(), Some(point()));
        let node = || Node { value: 1, next: Some(Box::new(Node { value: 2, next: None })) };
        assert_eq!(test.maybeNode(None).unwrap(), None);
        assert_eq!(test.maybeNode(Some(&node())).unwrap(), Some(node()));
    });
}

#[test]
fn unions_and_parcelables() {
    with_their_client(|test| {
        let point = || Point { x: 1, y: 2 };
        for shape in [
            Shape::Number(3),
            Shape::Numbers(vec![1, 2]),
            Shape::Text("q".into()),
            Shape::Maybe(None),
            Shape::Maybe(Some("z".into())),
            Shape::Point(point()),
            Shape::Points(vec![point()]),
            Shape::Kind(ByteEnum::BAR),
        ] {
            assert_eq!(test.repeatShape(&shape).unwrap(), shape);
        }
        let left = Tree::Left(Some(Box::new(Tree::Leaf(2))));
        let tree = Tree::Branches(vec![Tree::Leaf(1), left]);
        assert_eq!(test.repeatTree(&tree).unwrap(), tree);

        let mut everything = Everything {
            text: "h\u{e9}llo".into(),
            letter: 0x20ac,
            flags: vec![true],
            bytes: vec![1; 5],
            fixed: [7, 8, 9],
            lines: vec!["l".into()],
            points: vec![point()],
            maybeNumbers: Some(vec![1, 2]),
            maybeTexts: Some(vec![None, Some("x".into())]),
            byteEnum: ByteEnum::FOO,
            shape: Shape::Text("s".into()),
            ..Everything::default()
        };
        let extra = Extra { number: 5, text: "held".into(), binder: None };
        everything.extra.set_parcelable(Arc::new(extra)).unwrap();
        let back = test.repeatEverything(&everything).unwrap();
        // Equal as far as they show themselves; one that was received holds bytes, one that was set an object.
        let held = back.extra.get_parcelable::<Extra>().unwrap().unwrap();
        assert_eq!((held.number, &*held.text), (5, "held"));
        everything.extra.get_parcelable::<Extra>().unwrap().unwrap();
        assert_eq!(format!("{back:?}"), format!("{everything:?}"));
    });
}

struct Adder;

impl rsbinder::Interface for Adder {}

impl ICallback for Adder {
    fn ask(&self, question: i32) -> rsbinder::BinderResult<i32> {
        Ok(question + 1)
    }

    fn notice(&self, _: i32) -> rsbinder::BinderResult<()> {
        Ok(())
    }
}

#[test]
fn callbacks_and_failures() {
    with_their_client(|test| {
        assert_eq!(test.askThrough(&BnCallback::new_binder(Adder), 4).unwrap(), 5);
        let failure = test.fail(ExceptionCode::IllegalArgument as i32, "why").unwrap_err();
        assert_eq!(failure.exception_code(), ExceptionCode::IllegalArgument);
        let failure = test.failSpecific(-77, "what").unwrap_err();
        assert_eq!(failure.service_specific_error(), -77);
        let failure = test.failStatus(StatusCode::UnknownTransaction.into()).unwrap_err();
        assert_eq!(failure.transaction_error(), StatusCode::UnknownTransaction);
    });
}
