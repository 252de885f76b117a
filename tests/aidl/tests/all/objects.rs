//! What objects are and do beside their interfaces.

use std::collections::HashSet;
use std::ffi::CString;
use std::io::{Read, Write, pipe};
use std::sync::Arc;

use aidl_tests::aidl::anybinder::platform::IBundles::{BnBundles, BpBundles, IBundles};
use aidl_tests::aidl::anybinder::test::{
    ICallback::{BnCallback, BpCallback, ICallback},
    ITest::{BpTest, ITest},
    Node::Node,
    Point::Point,
};
use aidl_tests::aidl::anybinder::versioned::{
    Growing::Growing,
    IVersioned::{BnVersioned, BpVersioned, HASH, IVersioned, VERSION},
};
use aidl_tests::aidl::anybinder::vintf::{
    Held::Held,
    IStable::{BnStable, BpStable, IStable},
    StableExtra::StableExtra,
};
use aidl_tests::service::{new_callback, new_test_service};
use binder::binder_impl::{
    Binder, FIRST_CALL_TRANSACTION, FLAG_CLEAR_BUF, IBinderInternal, Parcel, Proxy, Stability,
};
use binder::transport::{CallerIdentity, with_caller};
use binder::{
    BinderFeatures, DeathRecipient, ExceptionCode, FromIBinder, IBinder, Interface,
    ParcelFileDescriptor, ParcelableHolder, PersistableBundle, SpIBinder, Status, StatusCode,
    Strong, ThreadState, ValueType,
};

#[test]
fn references_to_one_object_are_equal_and_keep_it() {
    let service = new_test_service();
    let binder = service.as_binder();
    assert!(!binder.is_remote());
    assert_eq!(binder, service.clone().as_binder());
    assert_ne!(binder, new_test_service().as_binder());
    let weak = Strong::downgrade(&service);
    let weak_binder = binder.downgrade();
    assert_eq!(weak.upgrade().unwrap(), service);
    assert_eq!(weak_binder.promote().unwrap(), binder);
    drop((service, binder));
    assert_eq!(weak.upgrade().unwrap_err(), StatusCode::DEAD_OBJECT);
    assert!(weak_binder.promote().is_none());
}

#[test]
fn an_object_is_what_it_says_it_is() {
    let binder = new_test_service().as_binder();
    assert_eq!(binder.interface_descriptor().unwrap(), "anybinder.test.ITest");
    binder.clone().into_interface::<dyn ITest>().unwrap();
    let wrong = binder.clone().into_interface::<dyn ICallback>();
    assert_eq!(wrong.unwrap_err(), StatusCode::BAD_TYPE);
    // A call that means another interface is refused as well.
    let code = FIRST_CALL_TRANSACTION;
    let mut data = Parcel::new();
    data.write_interface_token("anybinder.test.ICallback").unwrap();
    assert_eq!(binder.submit_transact(code, data, 0).unwrap_err(), StatusCode::BAD_TYPE);
    let mut data = Parcel::new();
    data.write(&7_i32).unwrap();
    assert_eq!(binder.submit_transact(code, data, 0).unwrap_err(), StatusCode::BAD_TYPE);
}

#[test]
fn codes_that_nobody_knows_are_answered_so() {
    let binder = new_test_service().as_binder();
    for code in [FIRST_CALL_TRANSACTION + 1000, 0x5f41_4243] {
        let data = binder.prepare_transact().unwrap();
        let answer = binder.submit_transact(code, data, FLAG_CLEAR_BUF);
        assert_eq!(answer.unwrap_err(), StatusCode::UNKNOWN_TRANSACTION);
    }
}

#[test]
fn objects_of_this_process_do_not_die() {
    let binder = new_test_service().as_binder();
    binder.ping_binder().unwrap();
    assert!(binder.is_binder_alive());
    let recipient = DeathRecipient::new(|| panic!("nobody died"));
    assert_eq!(binder.link_to_death(&recipient).unwrap_err(), StatusCode::INVALID_OPERATION);
    assert_eq!(binder.unlink_to_death(&recipient).unwrap_err(), StatusCode::INVALID_OPERATION);
}

#[test]
fn an_object_tells_people_about_itself() {
    let binder = new_test_service().as_binder();
    let (mut reader, writer) = pipe().unwrap();
    IBinderInternal::dump(&binder, &writer, &["-a", "all"]).unwrap();
    drop(writer);
    let mut told = String::new();
    reader.read_to_string(&mut told).unwrap();
    assert_eq!(told, "TestService [\"-a\", \"all\"]\n");
}

#[test]
fn an_object_may_have_another_that_extends_it() {
    let (callback, _notices) = new_callback(5);
    let service = new_test_service().as_binder();
    assert_eq!(service.get_extension().unwrap(), None);
    let (extended, _notices) = new_callback(0);
    let mut binder = Binder::<BnCallback>::from_binder(&extended.as_binder()).unwrap();
    binder.set_extension(&callback.as_binder()).unwrap();
    let extension = extended.as_binder().get_extension().unwrap().unwrap();
    assert_eq!(extension.into_interface::<dyn ICallback>().unwrap().ask(1).unwrap(), 6);
}

struct Versioned;

impl Interface for Versioned {}

impl IVersioned for Versioned {
    fn first(&self, value: i32) -> binder::Result<i32> {
        Ok(value)
    }

    fn second(&self, value: &Growing) -> binder::Result<Growing> {
        Ok(value.clone())
    }
}

#[test]
fn a_version_is_asked_for_once() {
    let service = BnVersioned::new_binder(Versioned, BinderFeatures::default());
    let proxy = BpVersioned::from_binder(service.as_binder()).unwrap();
    for _ in 0..2 {
        assert_eq!(proxy.getInterfaceVersion().unwrap(), VERSION);
        assert_eq!(proxy.getInterfaceHash().unwrap(), HASH);
    }
    assert_eq!(proxy.first(3).unwrap(), 3);
    let growing = Growing { old: 2, added: "added".into() };
    assert_eq!(proxy.second(&growing).unwrap(), growing);
}

#[test]
fn fields_that_a_version_does_not_know_are_stepped_over() {
    // From a peer with a field less, and from one with a field more.
    for (words, expected) in [
        (vec![1, 8, 5], Growing { old: 5, ..Growing::default() }),
        (vec![1, 20, 6, 0, 0, 77], Growing { old: 6, added: String::new() }),
    ] {
        let mut parcel = Parcel::new();
        words.iter().for_each(|word: &i32| parcel.write(word).unwrap());
        parcel.write(&99_i32).unwrap();
        parcel.set_data_position(0).unwrap();
        assert_eq!(parcel.read::<Growing>().unwrap(), expected);
        assert_eq!(parcel.read::<i32>().unwrap(), 99);
    }
}

struct Stable;

impl Interface for Stable {}

impl IStable for Stable {
    fn repeat(&self, value: &Held) -> binder::Result<Held> {
        // Unread, as it came.
        Ok(aidl_tests::service::copy_of(value)?)
    }
}

#[test]
fn stable_objects_hold_stable_things() {
    let service = BnStable::new_binder(Stable, BinderFeatures::default());
    assert_eq!(service.as_binder().stability(), Stability::Vintf);
    assert_eq!(new_test_service().as_binder().stability(), Stability::Local);
    let proxy = BpStable::from_binder(service.as_binder()).unwrap();
    let mut held = Held::default();
    assert_eq!(held.inside.get_stability(), Stability::Vintf);
    let wrong = held.inside.set_parcelable(Arc::new(Growing::default()));
    assert_eq!(wrong.unwrap_err(), StatusCode::BAD_VALUE);
    held.inside.set_parcelable(Arc::new(StableExtra { number: 4 })).unwrap();
    let back = proxy.repeat(&held).unwrap();
    assert!(back.inside.get_parcelable::<Growing>().unwrap().is_none());
    let extra = back.inside.get_parcelable::<StableExtra>().unwrap().unwrap();
    assert_eq!(extra.number, 4);
    // The same value again, not read a second time.
    assert!(Arc::ptr_eq(&extra, &back.inside.get_parcelable().unwrap().unwrap()));
    held.inside.reset();
    assert!(proxy.repeat(&held).unwrap().inside.get_parcelable::<StableExtra>().unwrap().is_none());

    // A holder is as stable as what was read into it says; nothing else is any stability.
    let mut parcel = Parcel::new();
    parcel.write(&ParcelableHolder::new(Stability::Vintf)).unwrap();
    [1, 2, 0].iter().for_each(|word: &i32| parcel.write(word).unwrap());
    parcel.set_data_position(0).unwrap();
    assert_eq!(parcel.read::<ParcelableHolder>().unwrap().get_stability(), Stability::Vintf);
    assert_eq!(parcel.read::<ParcelableHolder>().unwrap_err(), StatusCode::BAD_VALUE);
}

#[test]
fn a_holder_of_bad_bytes_says_so() {
    let mut parcel = Parcel::new();
    // There, local, 16 bytes: no name of anything.
    for word in [1, 0, 16, 3, 0, 0, 0] {
        parcel.write(&word).unwrap();
    }
    parcel.set_data_position(0).unwrap();
    let holder: ParcelableHolder = parcel.read().unwrap();
    assert!(
        holder.get_parcelable::<Point>().is_err()
            || holder.get_parcelable::<Point>().unwrap().is_none()
    );
    // Longer than the parcel.
    let mut parcel = Parcel::new();
    for word in [1, 0, 1000, 3] {
        parcel.write(&word).unwrap();
    }
    parcel.set_data_position(0).unwrap();
    assert_eq!(parcel.read::<ParcelableHolder>().unwrap_err(), StatusCode::NOT_ENOUGH_DATA);
}

/// A service that breaks.
struct Broken;

impl Interface for Broken {}

impl ICallback for Broken {
    fn ask(&self, question: i32) -> binder::Result<i32> {
        assert_ne!(question, 0, "a question that breaks the service");
        Ok(ThreadState::get_calling_pid())
    }

    fn notice(&self, _number: i32) -> binder::Result<()> {
        Ok(())
    }
}

#[test]
fn a_service_that_panics_answers_all_the_same() {
    let service = BnCallback::new_binder(Broken, BinderFeatures::default());
    let proxy = BpCallback::from_binder(service.as_binder()).unwrap();
    let status = proxy.ask(0).unwrap_err();
    assert_eq!(status.transaction_error(), StatusCode::UNKNOWN_ERROR);
    assert_eq!(proxy.ask(1).unwrap(), std::process::id().cast_signed());
}

#[test]
fn the_caller_is_this_process_unless_a_transport_says_otherwise() {
    let proxy = BpTest::from_binder(new_test_service().as_binder()).unwrap();
    let identity = || {
        let mut identity = Vec::new();
        proxy.callingIdentity(&mut identity).unwrap();
        identity
    };
    let own = identity();
    assert_eq!(own[0], std::process::id().cast_signed());
    assert!(!binder::is_handling_transaction());
    let sid = CString::new("u:r:test:s0").unwrap();
    let outer =
        CallerIdentity { pid: 10, uid: 11, sid: Some(sid.clone()), ..CallerIdentity::default() };
    let inner = CallerIdentity { pid: 20, uid: 21, ..CallerIdentity::default() };
    with_caller(outer, || {
        assert!(ThreadState::is_handling_transaction());
        assert_eq!(identity(), [10, 11]);
        ThreadState::with_calling_sid(|found| assert_eq!(found, Some(&*sid)));
        with_caller(inner, || {
            assert_eq!(identity(), [20, 21]);
            ThreadState::with_calling_sid(|found| assert_eq!(found, None));
        });
        // Also when the inner call ends badly.
        let panicked =
            std::panic::catch_unwind(|| with_caller(CallerIdentity::default(), || panic!("!")));
        assert!(panicked.is_err());
        assert_eq!(identity(), [10, 11]);
    });
    assert_eq!(identity(), own);
}

#[test]
fn a_default_answers_for_services_that_do_not_know_a_call() {
    struct Fallback;
    impl aidl_tests::aidl::anybinder::test::ITest::ISecret::ISecretDefault for Fallback {
        fn whisper(&self, _word: &str) -> binder::Result<String> {
            Ok("fallback".into())
        }
    }
    use aidl_tests::aidl::anybinder::test::ITest::ISecret::{BpSecret, ISecret};

    // An object that says it serves ISecret and knows none of its calls.
    struct Ignorant;
    impl binder::binder_impl::Remotable for Ignorant {
        fn get_descriptor() -> &'static str {
            "anybinder.test.ITest.ISecret"
        }
        fn on_transact(
            &self,
            _code: u32,
            _data: &binder::binder_impl::BorrowedParcel<'_>,
            _reply: &mut binder::binder_impl::BorrowedParcel<'_>,
        ) -> Result<(), StatusCode> {
            Err(StatusCode::UNKNOWN_TRANSACTION)
        }
    }
    let binder = Binder::new(Ignorant).as_binder();
    let secret = <dyn ISecret as FromIBinder>::try_from(binder).unwrap();
    let status = secret.whisper("x").unwrap_err();
    assert_eq!(status.transaction_error(), StatusCode::UNKNOWN_TRANSACTION);
    <BpSecret as ISecret>::setDefaultImpl(Some(Arc::new(Fallback)));
    assert_eq!(secret.whisper("x").unwrap(), "fallback");
}

#[test]
fn statuses_tell_what_happened() {
    assert!(Status::ok().is_ok());
    assert!(Status::from(StatusCode::OK).is_ok());
    let status = Status::new_service_specific_error(7, Some(c"why"));
    assert_eq!((status.service_specific_error(), status.message()), (7, Some("why")));
    assert_eq!(StatusCode::from(Status::from(StatusCode::DEAD_OBJECT)), StatusCode::DEAD_OBJECT);
    assert_eq!(Status::from(ExceptionCode::SECURITY).exception_code(), ExceptionCode::SECURITY);
    assert!(Status::new_exception_str(ExceptionCode::NONE, Some("nothing")).is_ok());
}

#[test]
fn bundles_travel() {
    let mut inner = PersistableBundle::new();
    inner.insert_string("k", "v").unwrap();
    let mut bundle = PersistableBundle::new();
    assert!(bundle.is_empty());
    bundle.insert_bool("a", true).unwrap();
    bundle.insert_int("b", -1).unwrap();
    bundle.insert_long("c", 1 << 40).unwrap();
    bundle.insert_double("d", 0.5).unwrap();
    bundle.insert_string("e", "text").unwrap();
    bundle.insert_bool_vec("f", &[true, false]).unwrap();
    bundle.insert_byte_vec("g", &[1, 2, 3]).unwrap();
    bundle.insert_int_vec("h", &[4, 5]).unwrap();
    bundle.insert_long_vec("i", &[6]).unwrap();
    bundle.insert_double_vec("j", &[]).unwrap();
    bundle.insert_string_vec("k", &["x".into(), "y".into()]).unwrap();
    bundle.insert_persistable_bundle("l", &inner).unwrap();
    bundle.insert_persistable_bundle("m", &PersistableBundle::new()).unwrap();
    assert_eq!(bundle.size(), 13);
    let mut parcel = Parcel::new();
    parcel.write(&Some(bundle.clone())).unwrap();
    parcel.write(&7_i32).unwrap();
    parcel.set_data_position(0).unwrap();
    let back: PersistableBundle = parcel.read().unwrap();
    assert_eq!(parcel.read::<i32>().unwrap(), 7);
    assert_eq!(back, bundle);
    assert_eq!(back.get_string("e").unwrap().as_deref(), Some("text"));
    assert_eq!(back.get_int("e").unwrap(), None);
    assert_eq!(back.get_persistable_bundle("l").unwrap(), Some(inner));
    assert_eq!(back.persistable_bundle_keys().collect::<Vec<_>>(), ["l", "m"]);
    let kinds: HashSet<i32> = back.iter().map(|(_, kind): (_, ValueType)| kind as i32).collect();
    assert_eq!(kinds.len(), 12);
    assert!(bundle.insert_int("nul\0", 1).is_err());
    assert!(bundle.remove("a").unwrap());
    assert!(!bundle.remove("a").unwrap());
}

/// Answers with what it was given.
struct Bundles;

impl Interface for Bundles {}

impl IBundles for Bundles {
    fn repeat(
        &self,
        first: &PersistableBundle,
        second: Option<&PersistableBundle>,
    ) -> binder::Result<Vec<PersistableBundle>> {
        Ok([Some(first), second].into_iter().flatten().cloned().collect())
    }
}

#[test]
fn bundles_are_types_of_interfaces() {
    let service = BnBundles::new_binder(Bundles, BinderFeatures::default());
    let proxy = BpBundles::from_binder(service.as_binder()).unwrap();
    let mut bundle = PersistableBundle::new();
    bundle.insert_int("b", 5).unwrap();
    assert_eq!(proxy.repeat(&bundle, None).unwrap(), [bundle.clone()]);
    assert_eq!(proxy.repeat(&bundle, Some(&bundle)).unwrap(), [bundle.clone(), bundle]);
}

#[test]
fn a_bundle_has_the_bytes_of_androids() {
    let mut bundle = PersistableBundle::new();
    bundle.insert_int("b", 5).unwrap();
    bundle.insert_bool("c", true).unwrap();
    let mut parcel = Parcel::new();
    parcel.write(&bundle).unwrap();
    let words: Vec<u32> =
        parcel.bytes().chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let expected = [
        1, // it is there
        36,
        0x4c44_4e44, // bytes behind the magic word
        2,           // entries: booleans first
        1,
        0x63,
        9,
        1, // "c", boolean, true
        1,
        0x62,
        1,
        5, // "b", number, 5
        0, // no intent
    ];
    assert_eq!(words, expected);
}

#[test]
fn parcels_become_parts_of_others() {
    let binder = new_test_service().as_binder();
    let (mut reader, writer) = pipe().unwrap();
    let file = ParcelFileDescriptor::new(std::os::fd::OwnedFd::from(writer));
    let mut part = Parcel::new();
    part.write(&1_i32).unwrap();
    part.write(&binder).unwrap();
    part.write(&file).unwrap();
    drop(file);
    let mut whole = Parcel::new();
    whole.write("before").unwrap();
    whole.append_from(&part, 4, part.get_data_size() - 4).unwrap();
    whole.append_all_from(&part).unwrap();
    assert_eq!(whole.append_from(&part, 8, i32::MAX).unwrap_err(), StatusCode::BAD_VALUE);
    assert_eq!(whole.append_from(&part, -1, 4).unwrap_err(), StatusCode::BAD_VALUE);
    drop(part);
    whole.set_data_position(0).unwrap();
    assert_eq!(whole.read::<String>().unwrap(), "before");
    assert_eq!(whole.read::<SpIBinder>().unwrap(), binder);
    let file: ParcelFileDescriptor = whole.read().unwrap();
    std::fs::File::from(std::os::fd::OwnedFd::from(file)).write_all(b"one").unwrap();
    assert_eq!(whole.read::<i32>().unwrap(), 1);
    assert_eq!(whole.read::<SpIBinder>().unwrap(), binder);
    drop(whole);
    // With the parcel all of the pipe's ends are closed.
    let mut written = String::new();
    reader.read_to_string(&mut written).unwrap();
    assert_eq!(written, "one");
    // Bytes that were not written as an object are none.
    let mut forged = Parcel::new();
    [0x7362_2a85, 0, 1, 0, 0, 0, 12].iter().for_each(|word: &i32| forged.write(word).unwrap());
    forged.set_data_position(0).unwrap();
    assert_eq!(forged.read::<SpIBinder>().unwrap_err(), StatusCode::BAD_TYPE);
}

#[test]
fn references_and_statuses_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<SpIBinder>();
    shared::<Strong<dyn ITest>>();
    shared::<binder::WpIBinder>();
    shared::<Status>();
    shared::<Node>();
    shared::<DeathRecipient>();
    sent::<Parcel>();
}
