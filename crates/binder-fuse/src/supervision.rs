//! What the session of a mount knows of its clients' supervisor.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use binder_os::ThreadStatus;

use crate::filter_verdict::InstalledFilters;
use crate::notify_listener::NotifyListener;
use crate::slow::SlowClients;
use crate::trapped_call::UnansweredCall;

/// The supervisor, as readers know it that have sent a thread there.
pub(crate) trait TrapAnswerer: Send + Sync {
    /// Where calls are trapped.
    fn listener(&self) -> &NotifyListener;

    /// Answers a call, or sees to it that it is answered.
    fn answer(&self, unanswered: UnansweredCall);

    /// The filters that processes were seen to install.
    fn installed_filters(&self) -> &InstalledFilters;
}

/// What a session knows of the supervisor.
pub(crate) struct SupervisorLink {
    /// The seccomp filters that every client has, and that let our calls pass.
    client_filters: AtomicU32,
    /// The supervisor can give files to processes that have its filter.
    can_add_fds: AtomicBool,
    /// Answers trapped calls; absent until the supervisor runs.
    trap_handler: OnceLock<Weak<dyn TrapAnswerer>>,
    /// Clients that did not come to the supervisor when they were expected.
    pub(crate) tardy: SlowClients,
}

impl SupervisorLink {
    /// None as yet: clients have the filters that we have ourselves.
    pub(crate) fn none() -> Self {
        Self {
            client_filters: ThreadStatus::own().map_or(0, |status| status.filters).into(),
            can_add_fds: AtomicBool::new(false),
            trap_handler: OnceLock::new(),
            tardy: SlowClients::default(),
        }
    }

    pub(crate) fn expect_another_filter(&self, can_add_fds: bool) {
        self.client_filters.fetch_add(1, Ordering::Relaxed);
        self.can_add_fds.store(can_add_fds, Ordering::Relaxed);
    }

    pub(crate) fn client_filters(&self) -> u32 {
        self.client_filters.load(Ordering::Relaxed)
    }

    pub(crate) fn can_add_fds(&self) -> bool {
        self.can_add_fds.load(Ordering::Relaxed)
    }

    pub(crate) fn set_trap_handler(&self, trap_handler: Weak<dyn TrapAnswerer>) {
        let _ = self.trap_handler.set(trap_handler);
    }

    pub(crate) fn trap_handler(&self) -> Option<Arc<dyn TrapAnswerer>> {
        self.trap_handler.get()?.upgrade()
    }
}
