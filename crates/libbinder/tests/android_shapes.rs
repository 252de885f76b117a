//! What programs for Android's crate do by hand, as they write it.

use binder::binder_impl::{
    Binder, BorrowedParcel, Deserialize, DeserializeArray, DeserializeOption, IBinderInternal,
    Parcel, Remotable, Serialize, TransactionCode,
};
use binder::{
    DeathRecipient, ExceptionCode, IBinder, Interface, ParcelFileDescriptor, PersistableBundle,
    SpIBinder, Status, StatusCode, ValueType,
};

/// Answers with what it is given.
struct Echo;

impl Interface for Echo {}

impl Remotable for Echo {
    fn get_descriptor() -> &'static str {
        "test.Echo"
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        reply.write(&data.read::<i32>()?)
    }
}

fn echo() -> SpIBinder {
    Binder::new(Echo).as_binder()
}

const CODE: TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION;

#[test]
fn a_parcel_prepared_for_one_object_is_not_submitted_to_another() {
    let (one, other) = (echo(), echo());
    let prepare = || {
        let mut data = one.prepare_transact().unwrap();
        data.write(&7).unwrap();
        data
    };
    let mixed_up = other.submit_transact(CODE, prepare(), 0);
    assert_eq!(mixed_up.err(), Some(StatusCode::BAD_VALUE));
    let reply = one.clone().submit_transact(CODE, prepare(), 0).unwrap();
    assert_eq!(reply.read::<i32>(), Ok(7));
    // One that was made by hand is for whomever it is given to.
    let mut data = Parcel::new();
    data.write_interface_token("test.Echo").unwrap();
    data.write(&8).unwrap();
    assert_eq!(other.submit_transact(CODE, data, 0).unwrap().read::<i32>(), Ok(8));
}

#[test]
fn a_service_that_was_not_found_can_be_asked_all_the_same() {
    let mut found = Some(echo());
    assert!(found.is_binder_alive());
    assert_eq!(found.ping_binder(), Ok(()));
    assert_eq!(found.get_extension(), Ok(None));
    let reply = found.transact(CODE, 0, |data| data.write(&9)).unwrap();
    assert_eq!(reply.read::<i32>(), Ok(9));
    found.set_requesting_sid(true);

    let mut none: Option<SpIBinder> = None;
    let missing = Some(StatusCode::UNEXPECTED_NULL);
    assert!(!none.is_binder_alive());
    none.set_requesting_sid(true);
    assert_eq!(none.ping_binder().err(), missing);
    assert_eq!(none.get_extension().err(), missing);
    assert_eq!(none.prepare_transact().err(), missing);
    assert_eq!(none.submit_transact(CODE, Parcel::new(), 0).err(), missing);
    assert_eq!(none.dump(&std::io::stderr(), &[]).err(), missing);
    let recipient = DeathRecipient::new(|| ());
    assert_eq!(none.link_to_death(&recipient).err(), missing);
    assert_eq!(none.unlink_to_death(&recipient).err(), missing);
}

#[derive(Debug, Default, PartialEq)]
struct Pair(i16, String);

impl Serialize for Pair {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.0.serialize(parcel.reborrow())?;
        parcel.write(&self.1)
    }
}

impl Deserialize for Pair {
    type UninitType = Self;
    fn uninit() -> Self::UninitType {
        Self::UninitType::default()
    }
    fn from_init(value: Self) -> Self::UninitType {
        value
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        Ok(Self(parcel.read()?, parcel.read()?))
    }
}

impl DeserializeArray for Pair {}

#[test]
fn a_value_is_written_and_read_by_hand() {
    let mut parcel = Parcel::new();
    parcel.write(&Pair(-2, "two".to_owned())).unwrap();
    // In Android's form a short number is a character: a word, without its sign.
    parcel.set_data_position(0).unwrap();
    assert_eq!(parcel.read::<i32>(), Ok(0xfffe));
    parcel.set_data_position(0).unwrap();
    assert_eq!(parcel.read::<Pair>(), Ok(Pair(-2, "two".to_owned())));
    assert_eq!(parcel.read::<Pair>().err(), Some(StatusCode::NOT_ENOUGH_DATA));
}

/// Makes room for a value and puts one there.
fn fill<T: Deserialize>(value: T) -> (T::UninitType, T::UninitType) {
    assert!(T::ASSERT_UNINIT_SIZE_AND_ALIGNMENT);
    (T::uninit(), T::from_init(value))
}

#[test]
fn what_has_no_default_is_missing_until_it_is_there() {
    assert_eq!(fill(5), (0, 5));
    assert_eq!(fill(Some(Pair(1, String::new()))).0, None);
    assert_eq!(fill(vec![1_u8]), (vec![], vec![1]));
    assert_eq!(fill(Pair::default()).1, Pair::default());
    let (none, some) = fill(echo());
    assert!(none.is_none() && some.is_some());
    assert_eq!(fill(Box::new(1)), (None, Some(Box::new(1))));
    let (none, some) = fill([echo(), echo()]);
    assert!(none.iter().all(Option::is_none) && some.iter().all(Option::is_some));
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(fill(ParcelFileDescriptor::new(file)).1.is_some());
    let status = Status::new_exception(ExceptionCode::SECURITY, None);
    assert_eq!(fill(status).1.unwrap().exception_code(), ExceptionCode::SECURITY);
}

impl DeserializeOption for Pair {}

#[test]
fn the_names_of_a_type_are_found_in_a_bundle() {
    let mut bundle = PersistableBundle::new();
    bundle.insert_int("two", 2).unwrap();
    bundle.insert_int("one", 1).unwrap();
    bundle.insert_string("three", "3").unwrap();
    assert_eq!(bundle.keys_for_type(ValueType::Integer), ["one", "two"]);
    assert_eq!(bundle.keys_for_type(ValueType::String), ["three"]);
    assert!(bundle.keys_for_type(ValueType::Double).is_empty());
}
