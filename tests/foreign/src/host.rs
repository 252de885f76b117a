//! An [`IHost`] written for rsbinder.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use rsbinder::{
    BinderResult, DeathRecipient, ExceptionCode, Interface, ParcelFileDescriptor, SIBinder, Status,
    Strong, WIBinder,
};

use crate::IHost::{BnHost, IHost};
use crate::ISession::{BnSession, ISession};
use crate::IVisitor::IVisitor;

/// Returns a new host.
#[must_use]
pub fn new_host() -> Strong<dyn IHost> {
    BnHost::new_binder(Host::default())
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
    sessions: Mutex<Vec<(String, WIBinder)>>,
    guests: Arc<Watched<Vec<Guest>>>,
}

/// A visitor that was admitted, and what hears of its death.
struct Guest {
    name: String,
    visitor: Strong<dyn IVisitor>,
    has_departed: bool,
    /// Held, because a death link refers to its recipient weakly.
    _obituary: Arc<Obituary>,
}

/// Notes the death of a guest.
struct Obituary {
    name: String,
    guests: Arc<Watched<Vec<Guest>>>,
}

impl DeathRecipient for Obituary {
    fn binder_died(&self, _who: &WIBinder) {
        self.guests.update(|guests| {
            for guest in guests.iter_mut().filter(|guest| guest.name == self.name) {
                guest.has_departed = true;
            }
        });
    }
}

impl Interface for Host {
    fn dump(&self, writer: &mut dyn io::Write, _args: &[String]) -> rsbinder::Result<()> {
        Ok(writeln!(writer, "{} guests", self.guests.lock().len())?)
    }
}

impl IHost for Host {
    fn greet(&self, name: &str) -> BinderResult<String> {
        Ok(format!("Hello, {name}!"))
    }

    fn mirror(&self, bytes: &[u8]) -> BinderResult<Vec<u8>> {
        Ok(bytes.to_vec())
    }

    fn reverse(&self, numbers: &[i32]) -> BinderResult<Vec<i32>> {
        Ok(numbers.iter().rev().copied().collect())
    }

    fn shout(&self, words: &[String]) -> BinderResult<Vec<String>> {
        Ok(words.iter().map(|word| word.to_uppercase()).collect())
    }

    fn callerPid(&self) -> BinderResult<i32> {
        Ok(rsbinder::get_calling_pid())
    }

    fn callerUid(&self) -> BinderResult<i32> {
        i32::try_from(rsbinder::get_calling_uid()).map_err(|_| ExceptionCode::IllegalState.into())
    }

    fn openSession(&self, name: &str) -> BinderResult<Strong<dyn ISession>> {
        let session =
            BnSession::new_binder(Session { name: name.to_owned(), posted: Watched::default() });
        self.sessions
            .lock()
            .expect("no holder of the lock panics")
            .push((name.to_owned(), SIBinder::downgrade(&session.as_binder())));
        Ok(session)
    }

    fn recognise(&self, session: &Strong<dyn ISession>) -> BinderResult<Option<String>> {
        let object = session.as_binder();
        let sessions = self.sessions.lock().expect("no holder of the lock panics");
        Ok(sessions.iter().find(|(_, known)| *known == object).map(|(name, _)| name.clone()))
    }

    fn giveBack(&self, object: &SIBinder) -> BinderResult<SIBinder> {
        Ok(object.clone())
    }

    fn nest(
        &self,
        host: &Strong<dyn IHost>,
        visitor: &Strong<dyn IVisitor>,
        depth: i32,
    ) -> BinderResult<i32> {
        if host.as_binder().is_remote() {
            return Err((ExceptionCode::IllegalArgument, "the host is not myself").into());
        }
        match depth {
            ..=0 => Ok(0),
            _ => Ok(1 + visitor.nest(host, visitor, depth - 1)?),
        }
    }

    fn tell(&self, visitor: &Strong<dyn IVisitor>, count: i32) -> BinderResult<()> {
        (0..count).try_for_each(|number| visitor.tell(number))
    }

    fn admit(&self, name: &str, visitor: &Strong<dyn IVisitor>) -> BinderResult<()> {
        let obituary =
            Arc::new(Obituary { name: name.to_owned(), guests: Arc::clone(&self.guests) });
        visitor.as_binder().link_to_death_arc(&obituary)?;
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

    fn find(&self, name: &str) -> BinderResult<Option<Strong<dyn IVisitor>>> {
        let guests = self.guests.lock();
        let guest = guests.iter().find(|guest| guest.name == name);
        Ok(guest.map(|guest| guest.visitor.clone()))
    }

    fn awaitDeparture(&self, name: &str) -> BinderResult<()> {
        let departed = |guest: &Guest| guest.name == name && guest.has_departed;
        drop(self.guests.wait_until(|guests| guests.iter().any(departed)));
        Ok(())
    }

    fn refuse(&self, code: i32, reason: &str) -> BinderResult<()> {
        Err(Status::new_service_specific_error(code, Some(reason.to_owned())))
    }

    fn reject(&self, reason: &str) -> BinderResult<()> {
        Err((ExceptionCode::IllegalArgument, reason).into())
    }

    fn lend(&self, text: &str) -> BinderResult<ParcelFileDescriptor> {
        let (reader, mut writer) = io::pipe()?;
        writer.write_all(text.as_bytes())?;
        Ok(ParcelFileDescriptor::new(OwnedFd::from(reader)))
    }

    fn fill(&self, file: &ParcelFileDescriptor, text: &str) -> BinderResult<()> {
        let mut file = File::from(OwnedFd::from(file.try_clone()?));
        file.write_all(text.as_bytes())?;
        Ok(())
    }
}

/// An object that the host hands out.
struct Session {
    name: String,
    posted: Watched<Vec<i32>>,
}

impl Interface for Session {}

impl ISession for Session {
    fn name(&self) -> BinderResult<String> {
        Ok(self.name.clone())
    }

    fn post(&self, number: i32) -> BinderResult<()> {
        self.posted.update(|posted| posted.push(number));
        Ok(())
    }

    fn awaitPosted(&self, count: i32) -> BinderResult<Vec<i32>> {
        let count = usize::try_from(count).map_err(|_| ExceptionCode::IllegalArgument)?;
        let posted = self.posted.wait_until(|posted| posted.len() >= count);
        Ok(posted.clone())
    }
}
