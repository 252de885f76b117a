//! The object behind handle 0, which does all that the checks need, and how to ask it.

use std::ffi::CStr;
use std::io::{self, Read as _, Write as _};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use binder::binder_impl::{
    Binder, BorrowedParcel, Deserialize, FLAG_ONEWAY, IBinderInternal as _, Remotable, Serialize,
    TransactionCode,
};
use binder::transport::driver::DriverDevice;
use binder::{Interface as _, SpIBinder, StatusCode, ThreadState};
use foreign::READY;

use crate::Outcome;

/// Answers with the bytes that came.
pub(crate) const ECHO: TransactionCode = 1;
/// Answers with a new object.
pub(crate) const NEW: TransactionCode = 2;
/// Answers with the number of objects made by `NEW` that live.
pub(crate) const LIVING: TransactionCode = 3;
/// Keeps an object.
pub(crate) const KEEP: TransactionCode = 4;
/// Answers with the object that was kept last.
pub(crate) const LAST: TransactionCode = 5;
/// Keeps no object any more.
pub(crate) const FORGET: TransactionCode = 6;
/// Calls an object with a number and answers with its answer.
pub(crate) const CALL: TransactionCode = 7;
/// Sends an object numbers from 0 on, one-way.
pub(crate) const TELL: TransactionCode = 8;
/// Answers with the caller's pid, uid and security context.
pub(crate) const WHO: TransactionCode = 9;
/// Answers when this many calls are waiting here.
pub(crate) const MEET: TransactionCode = 10;
/// Panics.
pub(crate) const PANIC: TransactionCode = 11;
/// Answers with a status.
pub(crate) const STATUS: TransactionCode = 12;
/// Answers with how many handles and objects the manager's device has.
pub(crate) const COUNTS: TransactionCode = 13;
/// Answers with an object that serves `ITest`.
pub(crate) const TEST: TransactionCode = 14;

/// The argument of what needs none.
pub(crate) const NOTHING: i32 = 0;

/// Is the context manager until standard input ends.
pub(crate) fn serve() -> Outcome {
    let device = crate::device()?;
    let mut manager = Binder::new(Manager::new(device.clone()));
    manager.set_requesting_sid(true);
    device.become_context_manager(&manager.as_binder())?;
    println!("{READY}");
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Asks the manager.
pub(crate) fn ask<T: Deserialize>(
    manager: &SpIBinder,
    code: TransactionCode,
    argument: &impl Serialize,
) -> Result<T, StatusCode> {
    manager.transact(code, 0, |data| data.write(argument))?.read()
}

/// Tells the manager something and waits until it is done.
pub(crate) fn tell(
    manager: &SpIBinder,
    code: TransactionCode,
    argument: &impl Serialize,
) -> Result<(), StatusCode> {
    manager.transact(code, 0, |data| data.write(argument)).map(drop)
}

/// How many objects made by `NEW` live.
static THINGS: AtomicI32 = AtomicI32::new(0);

struct Manager {
    device: DriverDevice,
    kept: Mutex<Vec<SpIBinder>>,
    meeting: (Mutex<(i32, i32)>, Condvar),
}

impl Manager {
    fn new(device: DriverDevice) -> Self {
        Self { device, kept: Mutex::default(), meeting: (Mutex::default(), Condvar::new()) }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<SpIBinder>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `wanted` calls are here; then they all go on, and the next meeting begins.
    fn meet(&self, wanted: i32) {
        let mut state = self.meeting.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.1;
        state.0 += 1;
        if state.0 == wanted {
            *state = (0, round + 1);
            self.meeting.1.notify_all();
            return;
        }
        while state.1 == round {
            state = self.meeting.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Remotable for Manager {
    fn get_descriptor() -> &'static str {
        "checks.IManager"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match code {
            ECHO => reply.write(&data.read::<Vec<u8>>()?),
            NEW => reply.write(&new_object(Thing::answer())),
            LIVING => reply.write(&THINGS.load(Ordering::Relaxed)),
            KEEP => {
                self.kept().push(data.read()?);
                Ok(())
            }
            LAST => reply.write(&self.kept().last().cloned()),
            FORGET => {
                let forgotten = std::mem::take(&mut *self.kept());
                drop(forgotten);
                Ok(())
            }
            CALL => {
                let (object, number): (SpIBinder, i32) = (data.read()?, data.read()?);
                reply.write(&ask::<i32>(&object, 1, &number)?)
            }
            TELL => {
                let (object, count): (SpIBinder, i32) = (data.read()?, data.read()?);
                (0..count).try_for_each(|number| {
                    object.transact(1, FLAG_ONEWAY, |data| data.write(&number)).map(drop)
                })
            }
            WHO => {
                reply.write(&ThreadState::get_calling_pid())?;
                reply.write(&ThreadState::get_calling_uid().cast_signed())?;
                let sid = ThreadState::with_calling_sid(|sid| {
                    sid.map(|sid| sid.to_string_lossy().into_owned())
                });
                reply.write(&sid)
            }
            MEET => {
                self.meet(data.read()?);
                Ok(())
            }
            PANIC => panic!("as it was asked to"),
            STATUS => Err(StatusCode::from_code(data.read()?)),
            COUNTS => {
                let counts = [self.device.handle_count(), self.device.node_count()];
                reply.write(&counts.map(|count| i32::try_from(count).unwrap_or(i32::MAX)).to_vec())
            }
            TEST => reply.write(&aidl_tests::service::new_test_service()),
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }

    fn on_dump(&self, out: &mut dyn io::Write, _args: &[&CStr]) -> Result<(), StatusCode> {
        writeln!(out, "the manager").map_err(|_| StatusCode::UNKNOWN_ERROR)
    }
}

/// An object that is counted.
struct Thing;

impl Thing {
    fn answer() -> impl Fn(i32) -> Result<i32, StatusCode> + Send + Sync + 'static {
        THINGS.fetch_add(1, Ordering::Relaxed);
        let thing = Self;
        move |number| {
            let _counted = &thing;
            Ok(number)
        }
    }
}

impl Drop for Thing {
    fn drop(&mut self) {
        THINGS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An object that answers a number with a number.
pub(crate) fn new_object(
    answer: impl Fn(i32) -> Result<i32, StatusCode> + Send + Sync + 'static,
) -> SpIBinder {
    Binder::new(Answering(Box::new(answer))).as_binder()
}

type Answer = dyn Fn(i32) -> Result<i32, StatusCode> + Send + Sync;

struct Answering(Box<Answer>);

impl Remotable for Answering {
    fn get_descriptor() -> &'static str {
        "checks.IAnswering"
    }

    fn on_transact(
        &self,
        _code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        reply.write(&(self.0)(data.read()?)?)
    }
}
