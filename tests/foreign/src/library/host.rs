//! An `IHost` of our own library.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use aidl_tests::aidl::foreign::IHost::{BnHost, IHost};
use aidl_tests::aidl::foreign::ISession::{BnSession, ISession};
use aidl_tests::aidl::foreign::IVisitor::IVisitor;
use binder::{
    BinderFeatures, DeathRecipient, ExceptionCode, IBinder as _, Interface, ParcelFileDescriptor,
    Result, SpIBinder, Status, StatusCode, Strong, ThreadState, WpIBinder,
};

/// A new host.
#[must_use]
pub fn new_host() -> Strong<dyn IHost> {
    BnHost::new_binder(Host::default(), BinderFeatures::default())
}

/// A value that threads wait for to change.
#[derive(Default)]
struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Watched<T> {
    /// Applies `change` and wakes all who wait.
    fn update(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until `holds`.
    fn wait_until(&self, holds: impl Fn(&T) -> bool) -> MutexGuard<'_, T> {
        self.changed
            .wait_while(self.lock(), |value| !holds(value))
            .expect("no holder of the lock panics")
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().expect("no holder of the lock panics")
    }
}

/// The service's one object of interface [`IHost`].
#[derive(Default)]
struct Host {
    sessions: Mutex<Vec<(String, WpIBinder)>>,
    guests: Arc<Watched<Vec<Guest>>>,
}

/// A visitor that was admitted, and what hears of its death.
struct Guest {
    name: String,
    visitor: Strong<dyn IVisitor>,
    has_departed: bool,
    /// Held, because a death link ends with its recipient.
    _obituary: DeathRecipient,
}

impl Interface for Host {
    fn dump(
        &self,
        writer: &mut dyn io::Write,
        _args: &[&CStr],
    ) -> std::result::Result<(), StatusCode> {
        writeln!(writer, "{} guests", self.guests.lock().len())
            .map_err(|_| StatusCode::UNKNOWN_ERROR)
    }
}

fn failed(error: impl std::fmt::Display) -> Status {
    Status::new_exception_str(ExceptionCode::ILLEGAL_STATE, Some(error.to_string()))
}

impl IHost for Host {
    fn greet(&self, name: &str) -> Result<String> {
        Ok(format!("Hello, {name}!"))
    }

    fn mirror(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        Ok(bytes.to_vec())
    }

    fn reverse(&self, numbers: &[i32]) -> Result<Vec<i32>> {
        Ok(numbers.iter().rev().copied().collect())
    }

    fn shout(&self, words: &[String]) -> Result<Vec<String>> {
        Ok(words.iter().map(|word| word.to_uppercase()).collect())
    }

    fn callerPid(&self) -> Result<i32> {
        Ok(ThreadState::get_calling_pid())
    }

    fn callerUid(&self) -> Result<i32> {
        i32::try_from(ThreadState::get_calling_uid()).map_err(failed)
    }

    fn openSession(&self, name: &str) -> Result<Strong<dyn ISession>> {
        let session = Session { name: name.to_owned(), posted: Watched::default() };
        let session = BnSession::new_binder(session, BinderFeatures::default());
        let known = (name.to_owned(), session.as_binder().downgrade());
        let mut sessions = self.sessions.lock().expect("no holder of the lock panics");
        // Those of clients that have gone are gone.
        sessions.retain(|(_, session)| session.promote().is_some());
        sessions.push(known);
        Ok(session)
    }

    fn recognise(&self, session: &Strong<dyn ISession>) -> Result<Option<String>> {
        let object = session.as_binder().downgrade();
        let sessions = self.sessions.lock().expect("no holder of the lock panics");
        Ok(sessions.iter().find(|(_, known)| *known == object).map(|(name, _)| name.clone()))
    }

    fn giveBack(&self, object: &SpIBinder) -> Result<SpIBinder> {
        Ok(object.clone())
    }

    fn nest(
        &self,
        host: &Strong<dyn IHost>,
        visitor: &Strong<dyn IVisitor>,
        depth: i32,
    ) -> Result<i32> {
        if host.as_binder().is_remote() {
            return Err(failed("the host is not myself"));
        }
        match depth {
            ..=0 => Ok(0),
            _ => Ok(1 + visitor.nest(host, visitor, depth - 1)?),
        }
    }

    fn tell(&self, visitor: &Strong<dyn IVisitor>, count: i32) -> Result<()> {
        (0..count).try_for_each(|number| visitor.tell(number))
    }

    fn admit(&self, name: &str, visitor: &Strong<dyn IVisitor>) -> Result<()> {
        let (guests, departed) = (Arc::clone(&self.guests), name.to_owned());
        let obituary = DeathRecipient::new(move || {
            guests.update(|guests| {
                for guest in guests.iter_mut().filter(|guest| guest.name == departed) {
                    guest.has_departed = true;
                }
            });
        });
        visitor.as_binder().link_to_death(&obituary)?;
        self.guests.update(|guests| {
            guests.push(Guest {
                name: name.to_owned(),
                visitor: visitor.clone(),
                has_departed: false,
                _obituary: obituary,
            });
        });
        Ok(())
    }

    fn find(&self, name: &str) -> Result<Option<Strong<dyn IVisitor>>> {
        let guests = self.guests.lock();
        let guest = guests.iter().find(|guest| guest.name == name);
        Ok(guest.map(|guest| guest.visitor.clone()))
    }

    fn awaitDeparture(&self, name: &str) -> Result<()> {
        let departed = |guest: &Guest| guest.name == name && guest.has_departed;
        drop(self.guests.wait_until(|guests| guests.iter().any(departed)));
        Ok(())
    }

    fn refuse(&self, code: i32, reason: &str) -> Result<()> {
        Err(Status::new_service_specific_error_str(code, Some(reason)))
    }

    fn reject(&self, reason: &str) -> Result<()> {
        Err(Status::new_exception_str(ExceptionCode::ILLEGAL_ARGUMENT, Some(reason)))
    }

    fn lend(&self, text: &str) -> Result<ParcelFileDescriptor> {
        let (reader, mut writer) = io::pipe().map_err(failed)?;
        writer.write_all(text.as_bytes()).map_err(failed)?;
        Ok(ParcelFileDescriptor::new(OwnedFd::from(reader)))
    }

    fn fill(&self, file: &ParcelFileDescriptor, text: &str) -> Result<()> {
        let mut file = File::from(file.as_ref().try_clone().map_err(failed)?);
        file.write_all(text.as_bytes()).map_err(failed)
    }
}

/// An object that the host hands out.
struct Session {
    name: String,
    posted: Watched<Vec<i32>>,
}

impl Interface for Session {}

impl ISession for Session {
    fn name(&self) -> Result<String> {
        Ok(self.name.clone())
    }

    fn post(&self, number: i32) -> Result<()> {
        self.posted.update(|posted| posted.push(number));
        Ok(())
    }

    fn awaitPosted(&self, count: i32) -> Result<Vec<i32>> {
        let count = usize::try_from(count).map_err(failed)?;
        let posted = self.posted.wait_until(|posted| posted.len() >= count);
        Ok(posted.clone())
    }
}
