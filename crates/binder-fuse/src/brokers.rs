//! How files get to where a receiver may take them.
//!
//! From the driver itself, if the receiver may do all that the driver may; else from a broker, a
//! process of the receiver's own user.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use binder_core::Errno;
use binder_os::broker::{GivenFile, StartError};
use binder_os::{Broker, ThreadNamespaces, ThreadStatus, UserAndGroup};

use crate::files::HeldFile;
use crate::strings::errno;

/// How many brokers may run at the same time: one for each user that receives files.
const MAX_BROKERS: usize = 16;
/// How long users whose broker did not start twice in a row wait until it is tried again.
const RESTART_INTERVAL: Duration = Duration::from_secs(1);

/// The brokers of a session.
pub(crate) struct Brokers {
    /// Starts one; without it there are none.
    command: Option<Vec<OsString>>,
    /// What we may do; `None` if that is unknown.
    own: Option<(ThreadStatus, ThreadNamespaces)>,
    by_users: Mutex<HashMap<BrokerUsers, BrokerEntry>>,
}

/// Whom a broker serves. Namespaces that are gone leave their numbers to others, and a broker ends with
/// its pid namespace: so one that is found by these may have ended.
type BrokerUsers = (UserAndGroup, ThreadNamespaces);

struct BrokerEntry {
    state: Arc<Mutex<BrokerState>>,
    used: Instant,
}

/// The broker of some users. The thread that starts it holds the lock, so that no other thread starts another.
#[derive(Default)]
enum BrokerState {
    #[default]
    Nothing,
    Broker(SharedBroker),
    /// It did not start: how many times in succession, when last, and why.
    Failed(u32, Instant, StartError),
}

type SharedBroker = Arc<Mutex<Broker>>;

/// Why files were not put where the receiver may take them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LendError {
    #[error("the receiver has ended")]
    Gone,
    #[error("the receiver's namespaces are out of reach: {0}")]
    Namespaces(#[source] io::Error),
    #[error("the driver was not told how to start a broker")]
    NoCommand,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the broker ended, or is held up: {0}")]
    Lost(#[source] io::Error),
}

impl LendError {
    fn of_namespaces(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Gone,
            _ => Self::Namespaces(error),
        }
    }

    /// The cause, as a number of the system's and in constant words.
    pub(crate) fn cause(&self) -> (i32, &'static str) {
        let (errno, words) = match self {
            Self::Gone => (Errno::ESRCH, "the receiver has ended"),
            Self::Namespaces(error) => (errno(error), "the receiver's namespaces are out of reach"),
            Self::NoCommand => (Errno::ENOSYS, "the driver was not told how to start a broker"),
            Self::Start(error) => return error.cause(),
            Self::Lost(error) => (errno(error), "the broker ended, or is held up"),
        };
        (errno.number(), words)
    }
}

/// Files where the receiver may take them, for as long as this lives.
pub(crate) struct Loan {
    /// The process, as the receiver knows it.
    pub(crate) pid: u32,
    /// The descriptors there.
    pub(crate) numbers: Vec<RawFd>,
    broker: Option<SharedBroker>,
}

impl Brokers {
    pub(crate) fn new(command: Option<Vec<OsString>>) -> Self {
        let own = ThreadStatus::own()
            .and_then(|own| Ok((own, ThreadNamespaces::of(std::process::id())?)));
        Self { command, own: own.ok(), by_users: Mutex::default() }
    }

    /// Puts `files` where thread `tid`, whose status is `receiver`, may take them.
    pub(crate) fn lend(
        &self,
        tid: u32,
        receiver: &ThreadStatus,
        files: &[HeldFile],
    ) -> Result<Loan, LendError> {
        let place = ThreadNamespaces::of(tid).map_err(LendError::of_namespaces)?;
        if self.own.is_some_and(|(own, ours)| ours == place && receiver.may_trace(&own)) {
            // Unless there are some that we do not have open.
            if let Some(numbers) = files.iter().map(HeldFile::number).collect() {
                return Ok(Loan { pid: std::process::id(), numbers, broker: None });
            }
        }
        let users = (receiver.user, place);
        let files: Vec<_> = files.iter().filter_map(HeldFile::given).collect();
        let broker = self.broker(tid, users, None)?;
        // One that has ended, or that is held up, is replaced.
        give(broker, &files).or_else(|(_, lost)| {
            let another = self.broker(tid, users, Some(&lost))?;
            give(another, &files).map_err(|(error, _)| LendError::Lost(error))
        })
    }

    /// Returns the broker of `users`, of which thread `tid` is one; but not the broker that is `lost`.
    fn broker(
        &self,
        tid: u32,
        users: BrokerUsers,
        lost: Option<&SharedBroker>,
    ) -> Result<SharedBroker, LendError> {
        let command = self.command.as_ref().ok_or(LendError::NoCommand)?;
        let state = self.state(users);
        let mut state = lock(&state);
        let failures = match &*state {
            BrokerState::Broker(broker) if !lost.is_some_and(|lost| Arc::ptr_eq(lost, broker)) => {
                return Ok(broker.clone());
            }
            BrokerState::Failed(2.., at, why) if at.elapsed() < RESTART_INTERVAL => {
                return Err((*why).into());
            }
            BrokerState::Failed(failures, ..) => *failures,
            BrokerState::Nothing | BrokerState::Broker(_) => 0,
        };
        let (user, place) = users;
        let is_elsewhere = self.own.is_none_or(|(_, ours)| ours != place);
        let started = Broker::start(command, user, is_elsewhere.then_some(tid));
        let broker = started.map(|broker| Arc::new(Mutex::new(broker)));
        *state = match &broker {
            Ok(broker) => BrokerState::Broker(broker.clone()),
            Err(why) => BrokerState::Failed(failures.saturating_add(1), Instant::now(), *why),
        };
        if broker.is_ok() {
            tracing::info!(uid = user.uid, gid = user.gid, "a broker for files was started");
        }
        Ok(broker?)
    }

    /// Returns the place of `users`; the users that have not asked for longest lose theirs to others.
    fn state(&self, users: BrokerUsers) -> Arc<Mutex<BrokerState>> {
        let mut by_users = lock(&self.by_users);
        if by_users.len() >= MAX_BROKERS
            && !by_users.contains_key(&users)
            && let Some(idle) = by_users.iter().min_by_key(|(_, entry)| entry.used)
        {
            let idle = *idle.0;
            by_users.remove(&idle);
        }
        let used = Instant::now();
        let entry =
            by_users.entry(users).or_insert_with(|| BrokerEntry { state: Arc::default(), used });
        entry.used = used;
        entry.state.clone()
    }
}

/// Gives `files` to a broker, which is returned if that fails.
fn give(shared: SharedBroker, files: &[GivenFile<'_>]) -> Result<Loan, (io::Error, SharedBroker)> {
    let broker = lock(&shared);
    let (given, pid) = (broker.give(files), broker.pid());
    drop(broker);
    match given {
        Ok(numbers) => Ok(Loan { pid, numbers, broker: Some(shared) }),
        Err(error) => Err((error, shared)),
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
