//! Threads that take calls.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use binder_uapi::{BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_REGISTER_LOOPER};

use super::device::{DeviceError, DeviceShared, DriverDevice};
use super::link::ThreadLink;

/// The threads of a device that take calls.
#[derive(Default)]
pub(super) struct ThreadPool {
    is_started: AtomicBool,
    /// Whether a thread was started, or has joined: a thread that merely polls does not start others.
    may_grow: AtomicBool,
    /// The driver has asked for a thread, and none was started: it will not ask again.
    is_asked: AtomicBool,
    /// How many threads were started, for their names.
    started: AtomicU32,
}

impl DriverDevice {
    /// Starts a thread that takes calls; the driver asks for more as they are needed. Once is enough.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Forked`], or [`DeviceError::Refused`] if there can be no more threads.
    pub fn start_thread_pool(&self) -> Result<(), DeviceError> {
        self.check_process()?;
        if self.shared().pool.is_started.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let started = self.shared().start_looper(BC_ENTER_LOOPER);
        started.map_err(|source| {
            self.shared().pool.is_started.store(false, Ordering::Release);
            self.refused("starting a thread")(source)
        })?;
        self.shared().let_pool_grow();
        Ok(())
    }

    /// Takes calls on this thread, until the device fails.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    pub fn join_thread_pool(&self) -> Result<Infallible, DeviceError> {
        self.check_process()?;
        self.shared().let_pool_grow();
        match self.shared().run_looper(BC_ENTER_LOOPER) {
            Err(error) => Err(self.refused("waiting for calls")(error)),
        }
    }

    /// Makes this thread one that takes calls when it is told that there are some, for programs that
    /// wait for several things at once.
    ///
    /// From then on poll(2) says when the device, by its descriptor, can be read; then
    /// [`handle_polled_commands`](Self::handle_polled_commands) is to be called, on this thread.
    ///
    /// No other thread is started because of the calls that come, and none should take calls of this device: what poll(2)
    /// has announced to both, one of them takes, and the other waits for the next.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    pub fn setup_polling(&self) -> Result<(), DeviceError> {
        self.check_process()?;
        let shared = self.shared();
        // To its link it is no pool thread: the next event may come at any time.
        let entered = shared.with_link(|link| {
            link.push(BC_ENTER_LOOPER, &());
            link.flush(shared)
        });
        entered.map_err(self.refused("becoming a looper"))
    }

    /// Does what poll(2) has announced.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    pub fn handle_polled_commands(&self) -> Result<(), DeviceError> {
        self.check_process()?;
        let shared = self.shared();
        let handled = shared.handle_all_read().and_then(|()| {
            // A reply is written with the next read, which may be much later.
            let outcome = shared.with_link(|link| link.flush(shared));
            shared.drop_retired();
            outcome
        });
        handled.map_err(self.refused("reading what poll has announced"))
    }

    fn check_process(&self) -> Result<(), DeviceError> {
        let forked = |_| DeviceError::Forked { path: self.path().into() };
        self.shared().check_process().map_err(forked)
    }
}

impl DeviceShared {
    /// Starts a thread because the driver has asked for one, now or once there is a pool.
    pub(super) fn spawn_looper(self: &Arc<Self>) {
        self.pool.is_asked.store(true, Ordering::SeqCst);
        if self.pool.may_grow.load(Ordering::SeqCst) {
            self.start_asked();
        }
    }

    /// Has as many threads be started as the driver asks for, from here on.
    fn let_pool_grow(self: &Arc<Self>) {
        // `spawn_looper` sets what this looks at, and looks at what this sets: one of them sees the other.
        self.pool.may_grow.store(true, Ordering::SeqCst);
        self.start_asked();
    }

    /// Starts the thread that the driver has asked for, if there is none yet.
    fn start_asked(self: &Arc<Self>) {
        if !self.pool.is_asked.swap(false, Ordering::SeqCst) {
            return;
        }
        if let Err(error) = self.start_looper(BC_REGISTER_LOOPER) {
            tracing::error!(%error, "the thread that the driver asks for cannot be started");
        }
    }

    fn start_looper(self: &Arc<Self>, command: u32) -> io::Result<()> {
        let number = self.pool.started.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("binder:{}_{number:X}", std::process::id());
        let shared = Arc::clone(self);
        let run = move || match shared.run_looper(command) {
            Err(error) => tracing::error!(%error, "a thread does not take calls any more"),
        };
        thread::Builder::new().name(name).spawn(run).map(drop)
    }

    /// Takes calls until the device fails.
    fn run_looper(self: &Arc<Self>, command: u32) -> io::Result<Infallible> {
        // A driver that cannot do this needs an ioctl more for each call, and that is all.
        let defers = self.os.defer_completions(true);
        tracing::trace!(?defers, "a thread takes calls");
        self.with_link(|link| {
            link.set_looper(true);
            link.push(command, &());
        });
        let failed = loop {
            self.drop_retired();
            if let Err(error) = self.handle_next() {
                break error;
            }
        };
        self.with_link(|link| {
            link.set_looper(false);
            link.push(BC_EXIT_LOOPER, &());
            // The device has failed.
            let _ = link.flush(self);
        });
        Err(failed)
    }

    /// Reads one return, waiting for it if need be, and does what it asks for.
    fn handle_next(self: &Arc<Self>) -> io::Result<()> {
        let next = self.with_link(|link| link.next_return(self, None))?;
        self.handle(next);
        Ok(())
    }

    /// Reads once, and does all that the returns ask for: poll(2) will not tell of them again.
    fn handle_all_read(self: &Arc<Self>) -> io::Result<()> {
        self.with_link(|link| link.read(self))?;
        while let Some(next) = self.with_link(ThreadLink::take_next) {
            self.handle(next);
        }
        Ok(())
    }

    /// Drops retired objects and proxies, between calls.
    pub(super) fn drop_retired(self: &Arc<Self>) {
        let retired = self.with_link(|link| {
            let retired = link.take_retired()?;
            // Dropped objects may call others, and a reply that waits goes before that call. If the
            // device fails, the next read says so.
            let _ = link.flush(self);
            Some(retired)
        });
        if let Some(retired) = retired {
            crate::death::tell(|| drop(retired));
        }
    }
}
