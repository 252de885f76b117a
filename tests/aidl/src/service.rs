//! Services of the test interfaces.

use std::ffi::CStr;
use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use binder::binder_impl::{Deserialize, Parcel, Serialize};
use binder::{
    BinderFeatures, ExceptionCode, Interface, ParcelFileDescriptor, Result, SpIBinder, Status,
    StatusCode, Strong, ThreadState,
};

use crate::aidl::anybinder::test::{
    ByteEnum::ByteEnum,
    Everything::Everything,
    Extra::Extra,
    ICallback::{BnCallback, ICallback},
    ITest::ISecret::{BnSecret, ISecret},
    ITest::{BnTest, ITest},
    IntEnum::IntEnum,
    LongEnum::LongEnum,
    Node::Node,
    Point::Point,
    Shape::Shape,
    Tree::Tree,
};

/// Answers with what it was given.
#[derive(Debug, Default)]
pub struct TestService {
    added: Mutex<Vec<i32>>,
}

/// A new object that serves `ITest`.
#[must_use]
pub fn new_test_service() -> Strong<dyn ITest> {
    BnTest::new_binder(TestService::default(), BinderFeatures::default())
}

/// A callback that adds a number to each question, and keeps notices.
#[derive(Debug)]
pub struct Callback {
    offset: i32,
    notices: Sender<i32>,
}

/// A new callback, and where its notices arrive.
#[must_use]
pub fn new_callback(offset: i32) -> (Strong<dyn ICallback>, Receiver<i32>) {
    let (notices, received) = channel();
    let callback = Callback { offset, notices };
    (BnCallback::new_binder(callback, BinderFeatures::default()), received)
}

impl Interface for Callback {}

impl ICallback for Callback {
    fn ask(&self, question: i32) -> Result<i32> {
        Ok(question + self.offset)
    }

    fn notice(&self, number: i32) -> Result<()> {
        // The test need not listen.
        let _ = self.notices.send(number);
        Ok(())
    }
}

struct Secret;

impl Interface for Secret {}

impl ISecret for Secret {
    fn whisper(&self, word: &str) -> Result<String> {
        Ok(word.to_lowercase())
    }

    fn forget(&self) -> Result<()> {
        Ok(())
    }
}

/// A copy of a parcelable that cannot be cloned.
///
/// # Errors
///
/// Those of writing and reading it.
pub fn copy_of<T: Serialize + Deserialize>(value: &T) -> std::result::Result<T, StatusCode> {
    let mut parcel = Parcel::new();
    parcel.write(value)?;
    parcel.set_data_position(0)?;
    parcel.read()
}

fn reversed<T: Clone>(value: &[T], copy: &mut [T]) -> Result<Vec<T>> {
    if copy.len() != value.len() {
        return Err(ExceptionCode::ILLEGAL_ARGUMENT.into());
    }
    copy.clone_from_slice(value);
    Ok(value.iter().rev().cloned().collect())
}

fn file_of(file: &ParcelFileDescriptor) -> Result<ParcelFileDescriptor> {
    let file = file.as_ref().try_clone().map_err(|_| Status::from(StatusCode::NO_MEMORY))?;
    Ok(ParcelFileDescriptor::new(file))
}

impl Interface for TestService {
    fn dump(&self, out: &mut dyn io::Write, args: &[&CStr]) -> std::result::Result<(), StatusCode> {
        writeln!(out, "TestService {args:?}").map_err(|_| StatusCode::FAILED_TRANSACTION)
    }
}

/// Methods that answer with their argument.
macro_rules! repeat {
    ($($name:ident: $from:ty => $to:ty, $value:ident => $answer:expr;)*) => {$(
        fn $name(&self, $value: $from) -> Result<$to> {
            Ok($answer)
        }
    )*};
}

/// Methods that answer with their argument backwards, and fill a copy.
macro_rules! reverse {
    ($($name:ident: $type:ty;)*) => {$(
        fn $name(&self, value: &[$type], copy: &mut Vec<$type>) -> Result<Vec<$type>> {
            reversed(value, copy)
        }
    )*};
}

impl ITest for TestService {
    repeat! {
        repeatBoolean: bool => bool, value => value;
        repeatByte: i8 => i8, value => value;
        repeatChar: u16 => u16, value => value;
        repeatInt: i32 => i32, value => value;
        repeatLong: i64 => i64, value => value;
        repeatFloat: f32 => f32, value => value;
        repeatDouble: f64 => f64, value => value;
        repeatString: &str => String, value => value.to_owned();
        repeatUtf8: &str => String, value => value.to_owned();
        repeatByteEnum: ByteEnum => ByteEnum, value => value;
        repeatIntEnum: IntEnum => IntEnum, value => value;
        repeatLongEnum: LongEnum => LongEnum, value => value;
        maybeString: Option<&str> => Option<String>, value => value.map(str::to_owned);
        maybeList: Option<&[Option<String>]> => Option<Vec<Option<String>>>,
            value => value.map(<[_]>::to_vec);
        maybeInts: Option<&[i32]> => Option<Vec<i32>>, value => value.map(<[_]>::to_vec);
        maybeBytes: Option<&[u8]> => Option<Vec<u8>>, value => value.map(<[_]>::to_vec);
        maybeEnums: Option<&[IntEnum]> => Option<Vec<IntEnum>>, value => value.map(<[_]>::to_vec);
        maybeStrings: Option<&[Option<String>]> => Option<Vec<Option<String>>>,
            value => value.map(<[_]>::to_vec);
        maybePoint: Option<&Point> => Option<Point>, value => value.copied();
        maybePoints: Option<&[Option<Point>]> => Option<Vec<Option<Point>>>,
            value => value.map(<[_]>::to_vec);
        maybeShape: Option<&Shape> => Option<Shape>, value => value.cloned();
        maybeBinder: Option<&SpIBinder> => Option<SpIBinder>, value => value.cloned();
        maybeCallback: Option<&Strong<dyn ICallback>> => Option<Strong<dyn ICallback>>,
            value => value.cloned();
        maybeFile: Option<&ParcelFileDescriptor> => Option<ParcelFileDescriptor>,
            value => value.map(file_of).transpose()?;
        maybeNode: Option<&Node> => Option<Node>, value => value.cloned();
        repeatFixedBinders: Option<&[Option<SpIBinder>; 2]> => Option<[Option<SpIBinder>; 2]>,
            value => value.cloned();
        repeatShape: &Shape => Shape, value => value.clone();
        repeatTree: &Tree => Tree, value => value.clone();
        repeatBinder: &SpIBinder => SpIBinder, value => value.clone();
        repeatBinders: &[SpIBinder] => Vec<SpIBinder>, value => value.to_vec();
        repeatFile: &ParcelFileDescriptor => ParcelFileDescriptor, value => file_of(value)?;
        repeatCallback: &Strong<dyn ICallback> => Strong<dyn ICallback>, value => value.clone();
        repeatCallbacks: &[Strong<dyn ICallback>] => Vec<Strong<dyn ICallback>>,
            value => value.to_vec();
    }

    reverse! {
        reverseBoolean: bool;
        reverseByte: u8;
        reverseChar: u16;
        reverseInt: i32;
        reverseLong: i64;
        reverseFloat: f32;
        reverseDouble: f64;
        reverseString: String;
        reverseByteEnum: ByteEnum;
        reverseIntEnum: IntEnum;
        reverseLongEnum: LongEnum;
    }

    fn reverseList(&self, value: &[String], copy: &mut Vec<String>) -> Result<Vec<String>> {
        *copy = value.to_vec();
        Ok(value.iter().rev().cloned().collect())
    }

    fn reversePoints(&self, value: &[Point], copy: &mut Vec<Point>) -> Result<Vec<Point>> {
        copy.extend_from_slice(value);
        Ok(value.iter().rev().copied().collect())
    }

    fn maybeBooleans(
        &self,
        value: Option<&[bool]>,
        copy: &mut Option<Vec<bool>>,
    ) -> Result<Option<Vec<bool>>> {
        *copy = value.map(<[_]>::to_vec);
        Ok(copy.clone())
    }

    fn repeatFixed(&self, value: &[i32; 3], copy: &mut [i32; 3]) -> Result<[i32; 3]> {
        *copy = *value;
        Ok(*value)
    }

    fn repeatMatrix(
        &self,
        value: &[[i32; 3]; 2],
        copy: &mut [[i32; 3]; 2],
    ) -> Result<[[i32; 3]; 2]> {
        *copy = *value;
        Ok(*value)
    }

    fn repeatFixedPoints(&self, value: &[Point; 2], copy: &mut [Point; 2]) -> Result<[Point; 2]> {
        copy.swap(0, 1);
        Ok(*value)
    }

    fn repeatEverything(&self, value: &Everything) -> Result<Everything> {
        // What a holder has not read yet is in the form of the transport that brought it, and cannot
        // go another way.
        value.extra.get_parcelable::<Extra>()?;
        let copy = copy_of(value)?;
        copy.extra.get_parcelable::<Extra>()?;
        Ok(copy)
    }

    fn fillEverything(&self, value: &mut Everything) -> Result<()> {
        *value = Everything { text: "filled".into(), ..Everything::default() };
        Ok(())
    }

    fn changeEverything(&self, value: &mut Everything) -> Result<()> {
        value.text.push('!');
        value.numbers.reverse();
        Ok(())
    }

    fn reverseFiles(
        &self,
        value: &[ParcelFileDescriptor],
        copy: &mut Vec<Option<ParcelFileDescriptor>>,
    ) -> Result<Vec<ParcelFileDescriptor>> {
        for (copy, file) in copy.iter_mut().zip(value) {
            *copy = Some(file_of(file)?);
        }
        value.iter().rev().map(file_of).collect()
    }

    fn askThrough(&self, callback: &Strong<dyn ICallback>, question: i32) -> Result<i32> {
        callback.ask(question)
    }

    fn noticeThrough(&self, callback: &Strong<dyn ICallback>, number: i32) -> Result<()> {
        callback.notice(number)
    }

    fn makeCallback(&self, offset: i32) -> Result<Strong<dyn ICallback>> {
        Ok(new_callback(offset).0)
    }

    fn secret(&self) -> Result<Strong<dyn ISecret>> {
        Ok(BnSecret::new_binder(Secret, BinderFeatures::default()))
    }

    fn fail(&self, exception: i32, message: &str) -> Result<()> {
        let exception = ExceptionCode::from_code(exception);
        Err(Status::new_exception_str(exception, Some(message)))
    }

    fn failSpecific(&self, error: i32, message: &str) -> Result<()> {
        Err(Status::new_service_specific_error_str(error, Some(message)))
    }

    fn failStatus(&self, status: i32) -> Result<()> {
        Err(StatusCode::from_code(status).into())
    }

    fn callingIdentity(&self, pid_and_uid: &mut Vec<i32>) -> Result<()> {
        *pid_and_uid =
            vec![ThreadState::get_calling_pid(), ThreadState::get_calling_uid().cast_signed()];
        Ok(())
    }

    fn add(&self, number: i32) -> Result<()> {
        self.added.lock().map_err(|_| Status::from(StatusCode::UNKNOWN_ERROR))?.push(number);
        Ok(())
    }

    fn added(&self) -> Result<Vec<i32>> {
        Ok(self.added.lock().map_err(|_| Status::from(StatusCode::UNKNOWN_ERROR))?.clone())
    }
}
