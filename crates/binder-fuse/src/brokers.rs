//! How files get to where a receiver may take them.
//!
//! From the driver itself, if the receiver may do all that the driver may; else from a broker, a
//! process of the receiver's own user.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use binder_os::{Broker, Surroundings, ThreadStatus, UserAndGroup};

use crate::files::HeldFile;

/// As many brokers as run at the same time: users that receive files.
const MAX_BROKERS: usize = 16;
/// A user who ends his broker waits for so long until he gets another.
const RESTART_INTERVAL: Duration = Duration::from_secs(1);

/// The brokers of a session.
pub(crate) struct Brokers {
    /// Starts one; without it there are none.
    command: Option<Vec<OsString>>,
    /// What we may do; `None` if that is unknown.
    own: Option<(ThreadStatus, Surroundings)>,
    by_user: Mutex<HashMap<Users, Entry>>,
}

/// Whom a broker serves.
type Users = (UserAndGroup, Surroundings);

struct Entry {
    broker: Option<Arc<Mutex<Broker>>>,
    started: Instant,
}

/// Files where the receiver may take them, for as long as this lives.
pub(crate) struct Loan {
    /// The process, as the receiver knows it.
    pub(crate) pid: u32,
    /// The descriptors there.
    pub(crate) numbers: Vec<RawFd>,
    broker: Option<Arc<Mutex<Broker>>>,
}

impl Brokers {
    pub(crate) fn new(command: Option<Vec<OsString>>) -> Self {
        let own =
            ThreadStatus::own().and_then(|own| Ok((own, Surroundings::of(std::process::id())?)));
        Self { command, own: own.ok(), by_user: Mutex::default() }
    }

    /// Puts `files` where thread `tid`, whose status is `receiver`, may take them.
    pub(crate) fn lend(
        &self,
        tid: u32,
        receiver: &ThreadStatus,
        files: &[HeldFile],
    ) -> io::Result<Loan> {
        let place = Surroundings::of(tid)?;
        if self.own.is_some_and(|(own, ours)| ours == place && receiver.may_trace(&own)) {
            let numbers = files.iter().map(HeldFile::number).collect();
            return Ok(Loan { pid: std::process::id(), numbers, broker: None });
        }
        let users = (receiver.user, place);
        let files: Vec<_> = files.iter().filter_map(HeldFile::fd).collect();
        // One that somebody has ended, or holds up, is replaced.
        self.give(tid, users, &files).or_else(|_| self.give(tid, users, &files))
    }

    fn give(&self, tid: u32, users: Users, files: &[BorrowedFd<'_>]) -> io::Result<Loan> {
        let shared = self.broker(tid, users)?;
        let broker = lock(&shared);
        let given = broker.give(files);
        let pid = broker.pid();
        drop(broker);
        match given {
            Ok(numbers) => Ok(Loan { pid, numbers, broker: Some(shared) }),
            Err(error) => {
                if let Some(entry) = lock(&self.by_user).get_mut(&users) {
                    entry.broker = None;
                }
                Err(error)
            }
        }
    }

    fn broker(&self, tid: u32, users: Users) -> io::Result<Arc<Mutex<Broker>>> {
        let Some(command) = &self.command else {
            return Err(io::Error::other("the driver was not told how to start a broker"));
        };
        let mut by_user = lock(&self.by_user);
        if let Some(Entry { broker, started }) = by_user.get(&users) {
            if let Some(broker) = broker {
                return Ok(broker.clone());
            }
            if started.elapsed() < RESTART_INTERVAL {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        if by_user.len() >= MAX_BROKERS
            && let Some(oldest) = by_user.iter().min_by_key(|(_, entry)| entry.started)
        {
            let oldest = *oldest.0;
            by_user.remove(&oldest);
        }
        let started = Instant::now();
        by_user.insert(users, Entry { broker: None, started });
        let (user, place) = users;
        let is_elsewhere = self.own.is_none_or(|(_, ours)| ours != place);
        let beside = is_elsewhere.then_some(tid);
        let broker = Arc::new(Mutex::new(Broker::start(command, user, beside)?));
        tracing::info!(uid = user.uid, gid = user.gid, "a broker for files was started");
        by_user.insert(users, Entry { broker: Some(broker.clone()), started });
        Ok(broker)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(broker) = &self.broker
            && let Err(error) = lock(broker).take_back(&self.numbers)
        {
            tracing::debug!(%error, "a broker is gone");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
