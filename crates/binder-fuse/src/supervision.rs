//! What the session of a mount knows of its clients' supervisor.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use binder_os::ThreadStatus;

use crate::slow::SlowClients;
use crate::supervisor::Attendant;

pub(crate) struct SupervisorLink {
    /// The seccomp filters that every client has, and that let our calls pass.
    client_filters: AtomicU32,
    /// The supervisor can give files to those who have its filter.
    can_divert: AtomicBool,
    /// Who is told of them, as soon as somebody is.
    attendant: OnceLock<Weak<Attendant>>,
    /// Clients that did not come to the supervisor when they were expected.
    pub(crate) tardy: SlowClients,
}

impl SupervisorLink {
    /// None as yet: clients have the filters that we have ourselves.
    pub(crate) fn none() -> Self {
        Self {
            client_filters: ThreadStatus::own().map_or(0, |status| status.filters).into(),
            can_divert: AtomicBool::new(false),
            attendant: OnceLock::new(),
            tardy: SlowClients::default(),
        }
    }

    pub(crate) fn expect_another_filter(&self, can_divert: bool) {
        self.client_filters.fetch_add(1, Ordering::Relaxed);
        self.can_divert.store(can_divert, Ordering::Relaxed);
    }

    pub(crate) fn client_filters(&self) -> u32 {
        self.client_filters.load(Ordering::Relaxed)
    }

    pub(crate) fn can_divert(&self) -> bool {
        self.can_divert.load(Ordering::Relaxed)
    }

    pub(crate) fn be_attended(&self, attendant: Weak<Attendant>) {
        let _ = self.attendant.set(attendant);
    }

    pub(crate) fn attendant(&self) -> Option<Arc<Attendant>> {
        self.attendant.get()?.upgrade()
    }
}
