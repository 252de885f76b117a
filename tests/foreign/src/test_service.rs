//! `ITest`, served through rsbinder.

use std::sync::{Mutex, MutexGuard};

use rsbinder::{
    BinderResult, ExceptionCode, Interface, ParcelFileDescriptor, ParcelableHolder, SIBinder,
    Status, StatusCode, Strong,
};

use crate::types::anybinder::test::{
    ByteEnum::ByteEnum,
    Everything::{Everything, Inner::Inner},
    Extra::Extra,
    ICallback::{BnCallback, ICallback},
    ITest::ISecret::{BnSecret, ISecret},
    ITest::{BnTest, ITest},
    IntEnum::IntEnum,
    LongEnum::LongEnum,
    Node::Node,
    Pair::Pair,
    Point::Point,
    Shape::Shape,
    Tree::Tree,
};

/// A new object that answers with what it is given.
#[must_use]
pub fn new_test_service() -> Strong<dyn ITest> {
    BnTest::new_binder(TestService::default())
}

#[derive(Default)]
struct TestService {
    added: Mutex<Vec<i32>>,
}

impl TestService {
    fn added(&self) -> MutexGuard<'_, Vec<i32>> {
        self.added.lock().expect("no holder of the lock panics")
    }
}

struct Adder(i32);

impl Interface for Adder {}

impl ICallback for Adder {
    fn ask(&self, question: i32) -> BinderResult<i32> {
        Ok(question + self.0)
    }

    fn notice(&self, _: i32) -> BinderResult<()> {
        Ok(())
    }
}

struct Secret;

impl Interface for Secret {}

impl ISecret for Secret {
    fn whisper(&self, word: &str) -> BinderResult<String> {
        Ok(word.to_lowercase())
    }

    fn forget(&self) -> BinderResult<()> {
        Ok(())
    }
}

fn file_of(file: &ParcelFileDescriptor) -> BinderResult<ParcelFileDescriptor> {
    Ok(ParcelFileDescriptor::new(file.as_ref().try_clone()?))
}

fn copy_of(value: &Everything) -> BinderResult<Everything> {
    let mut extra = ParcelableHolder::default();
    if let Some(held) = value.extra.get_parcelable::<Extra>()? {
        extra.set_parcelable(held)?;
    }
    let Inner { depth, kind } = value.inner;
    let Pair { which, name, .. } = &value.pair;
    Ok(Everything {
        text: value.text.clone(),
        maybeText: value.maybeText.clone(),
        utf8: value.utf8.clone(),
        flags: value.flags.clone(),
        bytes: value.bytes.clone(),
        letters: value.letters.clone(),
        numbers: value.numbers.clone(),
        larges: value.larges.clone(),
        singles: value.singles.clone(),
        precises: value.precises.clone(),
        texts: value.texts.clone(),
        maybeNumbers: value.maybeNumbers.clone(),
        maybeTexts: value.maybeTexts.clone(),
        intEnums: value.intEnums.clone(),
        points: value.points.clone(),
        list: value.list.clone(),
        pair: Pair { which: *which, name: name.clone(), ..Pair::default() },
        shape: value.shape.clone(),
        lines: value.lines.clone(),
        file: value.file.as_ref().map(file_of).transpose()?,
        binder: value.binder.clone(),
        callback: value.callback.clone(),
        callbacks: value.callbacks.clone(),
        extra,
        inner: Inner { depth, kind },
        ..*value
    })
}

/// Methods that answer with their argument.
macro_rules! repeat {
    ($($name:ident: $from:ty => $to:ty, $value:ident => $answer:expr;)*) => {$(
        fn $name(&self, $value: $from) -> BinderResult<$to> {
            Ok($answer)
        }
    )*};
}

/// Methods that answer with their argument backwards, and fill a copy.
macro_rules! reverse {
    ($($name:ident: $type:ty;)*) => {$(
        fn $name(&self, value: &[$type], copy: &mut Vec<$type>) -> BinderResult<Vec<$type>> {
            *copy = value.to_vec();
            Ok(value.iter().rev().cloned().collect())
        }
    )*};
}

impl Interface for TestService {}

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
        maybeBinder: Option<&SIBinder> => Option<SIBinder>, value => value.cloned();
        maybeCallback: Option<&Strong<dyn ICallback>> => Option<Strong<dyn ICallback>>,
            value => value.cloned();
        maybeFile: Option<&ParcelFileDescriptor> => Option<ParcelFileDescriptor>,
            value => value.map(file_of).transpose()?;
        maybeNode: Option<&Node> => Option<Node>, value => value.cloned();
        repeatFixedBinders: Option<&[Option<SIBinder>; 2]> => Option<[Option<SIBinder>; 2]>,
            value => value.cloned();
        repeatEverything: &Everything => Everything, value => copy_of(value)?;
        repeatShape: &Shape => Shape, value => value.clone();
        repeatTree: &Tree => Tree, value => value.clone();
        repeatBinder: &SIBinder => SIBinder, value => value.clone();
        repeatBinders: &[SIBinder] => Vec<SIBinder>, value => value.to_vec();
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
        reverseList: String;
    }

    fn reversePoints(&self, value: &[Point], copy: &mut Vec<Point>) -> BinderResult<Vec<Point>> {
        copy.extend_from_slice(value);
        Ok(value.iter().rev().copied().collect())
    }

    fn maybeBooleans(
        &self,
        value: Option<&[bool]>,
        copy: &mut Option<Vec<bool>>,
    ) -> BinderResult<Option<Vec<bool>>> {
        *copy = value.map(<[_]>::to_vec);
        Ok(copy.clone())
    }

    fn repeatFixed(&self, value: &[i32; 3], copy: &mut [i32; 3]) -> BinderResult<[i32; 3]> {
        *copy = *value;
        Ok(*value)
    }

    fn repeatMatrix(
        &self,
        value: &[[i32; 3]; 2],
        copy: &mut [[i32; 3]; 2],
    ) -> BinderResult<[[i32; 3]; 2]> {
        *copy = *value;
        Ok(*value)
    }

    fn repeatFixedPoints(
        &self,
        value: &[Point; 2],
        copy: &mut [Point; 2],
    ) -> BinderResult<[Point; 2]> {
        copy.swap(0, 1);
        Ok(*value)
    }

    fn fillEverything(&self, value: &mut Everything) -> BinderResult<()> {
        value.text = "filled".into();
        Ok(())
    }

    fn changeEverything(&self, value: &mut Everything) -> BinderResult<()> {
        value.text.push('!');
        value.numbers.reverse();
        Ok(())
    }

    fn reverseFiles(
        &self,
        value: &[ParcelFileDescriptor],
        copy: &mut Vec<Option<ParcelFileDescriptor>>,
    ) -> BinderResult<Vec<ParcelFileDescriptor>> {
        *copy = value.iter().map(|file| file_of(file).map(Some)).collect::<BinderResult<_>>()?;
        value.iter().rev().map(file_of).collect()
    }

    fn askThrough(&self, callback: &Strong<dyn ICallback>, question: i32) -> BinderResult<i32> {
        callback.ask(question)
    }

    fn noticeThrough(&self, callback: &Strong<dyn ICallback>, number: i32) -> BinderResult<()> {
        callback.notice(number)
    }

    fn makeCallback(&self, offset: i32) -> BinderResult<Strong<dyn ICallback>> {
        Ok(BnCallback::new_binder(Adder(offset)))
    }

    fn secret(&self) -> BinderResult<Strong<dyn ISecret>> {
        Ok(BnSecret::new_binder(Secret))
    }

    fn fail(&self, exception: i32, message: &str) -> BinderResult<()> {
        let exceptions = [
            ExceptionCode::Security,
            ExceptionCode::BadParcelable,
            ExceptionCode::IllegalArgument,
            ExceptionCode::NullPointer,
            ExceptionCode::IllegalState,
            ExceptionCode::NetworkMainThread,
            ExceptionCode::UnsupportedOperation,
            ExceptionCode::ServiceSpecific,
            ExceptionCode::Parcelable,
        ];
        let exception = exceptions.into_iter().find(|it| *it as i32 == exception);
        Err((exception.ok_or(StatusCode::BadValue)?, message).into())
    }

    fn failSpecific(&self, error: i32, message: &str) -> BinderResult<()> {
        Err(Status::new_service_specific_error(error, Some(message.to_owned())))
    }

    fn failStatus(&self, status: i32) -> BinderResult<()> {
        Err(StatusCode::from(status).into())
    }

    fn callingIdentity(&self, pid_and_uid: &mut Vec<i32>) -> BinderResult<()> {
        let uid = rsbinder::get_calling_uid();
        *pid_and_uid = vec![rsbinder::get_calling_pid(), uid.cast_signed()];
        Ok(())
    }

    fn add(&self, number: i32) -> BinderResult<()> {
        self.added().push(number);
        Ok(())
    }

    fn added(&self) -> BinderResult<Vec<i32>> {
        Ok(self.added().clone())
    }
}
