//! A service whose every method shows one thing, and how to start and to call it.

use std::any::Any;
use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) use binder_testkit::{HANG_TIMEOUT, wait_until};

use crate::binder_impl::IBinderInternal;
use crate::transport::rpc::{RpcServer, RpcSession};
use crate::transport::{BorrowedParcel, LocalObject, Parcel, TransactionCode};
use crate::{SpIBinder, Stability, StatusCode, ThreadState};

pub(super) const ECHO: TransactionCode = 1;
/// Calls `ECHO` of the binder that it gets.
pub(super) const CALL_BACK: TransactionCode = 2;
/// Keeps the binder that it gets.
pub(super) const KEEP: TransactionCode = 3;
pub(super) const FORGET: TransactionCode = 4;
/// Takes a number down.
pub(super) const NOTE: TransactionCode = 5;
/// Gives a new object.
pub(super) const CHILD: TransactionCode = 6;
/// Gives the file that it gets.
pub(super) const FILE: TransactionCode = 7;
/// Answers with its caller.
pub(super) const CALLER: TransactionCode = 8;
/// Waits until the test calls `Service::open`.
pub(super) const WAIT: TransactionCode = 9;
/// Calls the binder that it kept, with a one-way.
pub(super) const NOTIFY: TransactionCode = 10;
/// Calls `CALL_BACK` of the binder that it gets, with itself, until a number is down to zero.
pub(super) const PING_PONG: TransactionCode = 11;
/// Calls `WAIT` of the binder that it gets.
pub(super) const CALL_BACK_TO_WAIT: TransactionCode = 12;
/// Gives the binder that it gets.
pub(super) const RETURN: TransactionCode = 13;

/// Tells in milliseconds how long its caller waits still, or -1.
pub(super) const REMAINING: TransactionCode = 14;
/// Calls `WAIT` of the binder that it gets, for a moment, and notes the status.
pub(super) const CALL_BACK_IN_TIME: TransactionCode = 15;

/// Tells the request that its caller says.
pub(super) const TRACED: TransactionCode = 16;
/// Calls `TRACED` of the binder that it gets.
pub(super) const CALL_BACK_TRACED: TransactionCode = 17;

pub(super) const DESCRIPTOR: &str = "test.Service";

pub(super) struct Service {
    pub(super) kept: Mutex<Vec<SpIBinder>>,
    noted: Mutex<Sender<i32>>,
    gate: Mutex<Receiver<()>>,
    /// Every object that this service has given out and that is not dropped.
    children: Arc<AtomicU32>,
}

/// What a test sees of a service.
pub(super) struct View {
    pub(super) binder: SpIBinder,
    pub(super) service: Arc<Service>,
    pub(super) noted: Receiver<i32>,
    pub(super) gate: Sender<()>,
}

impl View {
    pub(super) fn children(&self) -> u32 {
        self.service.children.load(Ordering::SeqCst)
    }

    /// Waits until a call of `WAIT` waits.
    pub(super) fn wait_until_waiting(&self) {
        wait_until(|| self.service.gate.try_lock().is_err());
    }

    /// Waits until none does.
    pub(super) fn wait_until_done(&self) {
        wait_until(|| self.service.gate.try_lock().is_ok());
    }

    /// Waits until the peer has lost all objects that it was given.
    pub(super) fn wait_until_childless(&self) {
        wait_until(|| self.children() == 0);
    }
}

pub(super) fn service() -> View {
    let (note, noted) = channel();
    let (gate, wait) = channel();
    let service = Arc::new(Service {
        kept: Mutex::default(),
        noted: Mutex::new(note),
        gate: Mutex::new(wait),
        children: Arc::default(),
    });
    let binder = SpIBinder::from_local(Arc::<Service>::clone(&service));
    View { binder, service, noted, gate }
}

/// Starts a server on a socket that has no name on disk.
pub(super) fn start(set_up: impl FnOnce(&RpcServer)) -> (View, RpcServer, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("\0libbinder-rpc-{}-{number}", std::process::id());
    let view = service();
    let server = RpcServer::new_unix(view.binder.clone(), &name).expect("a free name");
    set_up(&server);
    server.start().expect("a thread");
    (view, server, name)
}

pub(super) fn connect(name: &str, set_up: impl FnOnce(&RpcSession)) -> (RpcSession, SpIBinder) {
    let session = RpcSession::new();
    set_up(&session);
    let root = session.connect_unix(name).expect("a server");
    (session, root)
}

/// Calls a method.
pub(super) fn call(
    binder: &SpIBinder,
    code: TransactionCode,
    flags: u32,
    write: impl FnOnce(&mut Parcel) -> Result<(), StatusCode>,
) -> Result<Parcel, StatusCode> {
    let mut data = match binder.as_remote() {
        Some(remote) => Parcel::for_codec(remote.codec()),
        None => Parcel::new(),
    };
    data.write_interface_token(DESCRIPTOR)?;
    write(&mut data)?;
    let reply = binder.submit_transact(code, data, flags)?;
    reply.set_data_position(0)?;
    Ok(reply)
}

pub(super) fn write_number(parcel: &mut BorrowedParcel<'_>, number: i32) -> Result<(), StatusCode> {
    parcel.write_with(|writer| writer.i32(number));
    Ok(())
}

pub(super) fn read_number(parcel: &BorrowedParcel<'_>) -> Result<i32, StatusCode> {
    parcel.read_with(parcel::Reader::i32)
}

pub(super) fn echo(binder: &SpIBinder, bytes: &[u8]) -> Result<Vec<u8>, StatusCode> {
    let length = i32::try_from(bytes.len()).expect("short");
    let reply = call(binder, ECHO, 0, |data| {
        write_number(data, length)?;
        data.write_with(|writer| writer.raw(bytes));
        Ok(())
    })?;
    let length = usize::try_from(read_number(&reply)?).expect("a length");
    reply.read_with(|reader| reader.raw(length).map(<[u8]>::to_vec))
}

pub(super) fn note(binder: &SpIBinder, number: i32) -> Result<(), StatusCode> {
    let flags = crate::interface::FLAG_ONEWAY;
    call(binder, NOTE, flags, |data| write_number(data, number)).map(drop)
}

pub(super) fn child(binder: &SpIBinder) -> Result<SpIBinder, StatusCode> {
    call(binder, CHILD, 0, |_| Ok(()))?.read_binder()?.ok_or(StatusCode::UNEXPECTED_NULL)
}

/// An object that says when it is dropped.
struct Child(Arc<AtomicU32>);

impl Drop for Child {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

macro_rules! plain_object {
    () => {
        fn descriptor(&self) -> &str {
            DESCRIPTOR
        }

        fn dump(&self, _: &mut dyn io::Write, _: &[&CStr]) -> Result<(), StatusCode> {
            Ok(())
        }

        fn extension(&self) -> Option<SpIBinder> {
            None
        }

        fn stability(&self) -> Stability {
            Stability::default()
        }

        fn is_requesting_sid(&self) -> bool {
            false
        }

        fn set_requesting_sid(&self, _: bool) {}

        fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
            self
        }
    };
}

impl LocalObject for Child {
    plain_object!();

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match code {
            ECHO => write_number(reply, read_number(data)?),
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }
}

impl LocalObject for Service {
    plain_object!();

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        let binder = || data.read_binder()?.ok_or(StatusCode::UNEXPECTED_NULL);
        match code {
            ECHO => {
                let length = read_number(data)?;
                let bytes = data.read_with(|reader| {
                    reader.raw(usize::try_from(length).unwrap_or(usize::MAX)).map(<[u8]>::to_vec)
                })?;
                write_number(reply, length)?;
                reply.write_with(|writer| writer.raw(&bytes));
                Ok(())
            }
            CALL_BACK => {
                let bytes = echo(&binder()?, b"back")?;
                write_number(reply, i32::try_from(bytes.len()).expect("short"))
            }
            CALL_BACK_TO_WAIT => call(&binder()?, WAIT, 0, |_| Ok(())).map(drop),
            REMAINING => {
                let left = ThreadState::remaining().map(|left| left.as_millis());
                let left = left.map_or(-1, |left| i32::try_from(left).expect("a short time"));
                write_number(reply, left)
            }
            TRACED => {
                let id = ThreadState::trace_id().map_or(0, crate::TraceId::get);
                write_number(reply, id.cast_signed())
            }
            CALL_BACK_TRACED => {
                let told = call(&binder()?, TRACED, 0, |_| Ok(()))?;
                write_number(reply, read_number(&told)?)
            }
            CALL_BACK_IN_TIME => {
                let other = binder()?.with_timeout(Duration::from_millis(20));
                let status = call(&other, WAIT, 0, |_| Ok(())).err().unwrap_or(StatusCode::OK);
                let _ = self.noted.lock().expect("no panic").send(status.code());
                Ok(())
            }
            RETURN => reply.write_binder(Some(&binder()?)),
            KEEP => {
                let binder = binder()?;
                self.kept.lock().expect("no panic").push(binder);
                Ok(())
            }
            FORGET => {
                let kept = std::mem::take(&mut *self.kept.lock().expect("no panic"));
                drop(kept);
                Ok(())
            }
            NOTE => {
                let number = read_number(data)?;
                // A test that has ended does not listen.
                let _ = self.noted.lock().expect("no panic").send(number);
                Ok(())
            }
            CHILD => {
                self.children.fetch_add(1, Ordering::SeqCst);
                let child = SpIBinder::from_local(Arc::new(Child(Arc::clone(&self.children))));
                reply.write_binder(Some(&child))
            }
            FILE => reply.write_file(data.read_file()?.as_fd()),
            CALLER => {
                write_number(reply, ThreadState::get_calling_pid())?;
                write_number(reply, ThreadState::get_calling_uid().cast_signed())
            }
            WAIT => {
                let gate = self.gate.lock().expect("no panic");
                gate.recv_timeout(HANG_TIMEOUT).map_err(|_| StatusCode::TIMED_OUT)
            }
            NOTIFY => {
                let number = read_number(data)?;
                let kept = self.kept.lock().expect("no panic").last().cloned();
                note(&kept.ok_or(StatusCode::NAME_NOT_FOUND)?, number)
            }
            PING_PONG => {
                let left = read_number(data)?;
                let other = binder()?;
                if left > 0 {
                    let own = self.kept.lock().expect("no panic").first().cloned();
                    let own = own.ok_or(StatusCode::NAME_NOT_FOUND)?;
                    call(&other, PING_PONG, 0, |data| {
                        write_number(data, left - 1)?;
                        data.write_binder(Some(&own))
                    })?;
                }
                write_number(reply, left)
            }
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }
}
