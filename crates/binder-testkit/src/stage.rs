//! The stage on which a check plays: a rig, and the parties that act on it.

use binder_uapi::{BINDER_SET_CONTEXT_MGR, BINDER_SET_CONTEXT_MGR_EXT, FlatBinderObject};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::{Area, Caller, Device, Driver, Host, Mode, Party, Process, Protection, Rig};

/// How large the receive area of a party is unless a check says otherwise.
pub const AREA_LEN_BYTES: usize = 1 << 20;

/// How a party comes in.
#[derive(Clone, Copy, Debug)]
pub struct Entrance {
    /// The host to live in; a fresh one if there is none.
    pub host: Option<Host>,
    /// The device to open.
    pub device: Device,
    /// How to open it.
    pub mode: Mode,
    /// The size of the receive area; `None` maps none.
    pub area_len: Option<usize>,
}

impl Default for Entrance {
    fn default() -> Self {
        Self {
            host: None,
            device: Device::First,
            mode: Mode::Blocking,
            area_len: Some(AREA_LEN_BYTES),
        }
    }
}

/// Why a check could not be made; what [`Stage::skip`] unwinds with.
#[derive(Clone, Copy, Debug)]
pub struct Skipped(pub &'static str);

/// A rig, as checks see it.
pub struct Stage {
    rig: Box<dyn Rig>,
}

impl Stage {
    /// A stage on `rig`.
    #[must_use]
    pub fn new(rig: Box<dyn Rig>) -> Self {
        Self { rig }
    }

    /// The rig below.
    #[must_use]
    pub fn rig(&self) -> &dyn Rig {
        &*self.rig
    }

    /// Which driver answers.
    #[must_use]
    pub fn driver(&self) -> Driver {
        self.rig.driver()
    }

    /// A party of its own host, with an open file, a receive area and a thread.
    #[must_use]
    pub fn party(&self) -> Party<'_> {
        self.enter(Entrance::default())
    }

    /// A party that comes in as `entrance` says.
    #[must_use]
    pub fn enter(&self, entrance: Entrance) -> Party<'_> {
        let host = entrance.host.unwrap_or_else(|| self.rig.start_host());
        let process = self.rig.open(host, entrance.device, entrance.mode).expect("open");
        let area = entrance.area_len.map(|len| {
            let base = self.rig.map(process, len, Protection::ReadOnly).expect("mmap");
            Area { base, len }
        });
        let party = self.join(host, process, area.unwrap_or_default());
        party.write(crate::commands());
        party
    }

    /// A party in a host of its own, with a receive area of `len` bytes.
    #[must_use]
    pub fn party_with_area(&self, len: usize) -> Party<'_> {
        self.enter(Entrance { area_len: Some(len), ..Entrance::default() })
    }

    /// A fresh thread on an open file of `host`.
    pub(crate) fn join(&self, host: Host, process: Process, area: Area) -> Party<'_> {
        let thread = self.rig.start_thread(host);
        Party::new(self, host, Caller { process, thread }, area)
    }

    /// A party that is the context manager.
    #[must_use]
    pub fn manager(&self) -> Party<'_> {
        let party = self.party();
        self.appoint(&party);
        party
    }

    /// A party that is the context manager, named by `object`.
    #[must_use]
    pub fn manager_named(&self, object: FlatBinderObject) -> Party<'_> {
        let party = self.party();
        self.appoint_named(&party, object);
        party
    }

    /// Makes `party` the context manager, named by `object`.
    pub fn appoint_named(&self, party: &Party<'_>, object: FlatBinderObject) {
        let argument = party.place(object.as_bytes());
        self.retry_while_busy(|| party.ioctl_at(BINDER_SET_CONTEXT_MGR_EXT, argument));
    }

    /// Makes `party` the context manager.
    pub fn appoint(&self, party: &Party<'_>) {
        let argument = party.place(&[0; 8]);
        self.retry_while_busy(|| party.ioctl_at(BINDER_SET_CONTEXT_MGR, argument));
    }

    /// An earlier manager's file may still be on its way out: closing happens behind the scenes.
    fn retry_while_busy(&self, mut appoint: impl FnMut() -> Result<(), Errno>) {
        let mut attempts = 0;
        loop {
            match appoint() {
                Err(Errno::BUSY) if self.driver() != Driver::Core && attempts < 10_000 => {
                    attempts += 1;
                    std::thread::yield_now();
                }
                other => return other.expect("becomes the context manager"),
            }
        }
    }

    /// Ends the check: it cannot be made here.
    pub fn skip(&self, reason: &'static str) -> ! {
        std::panic::resume_unwind(Box::new(Skipped(reason)))
    }

    /// Ends all parties and checks that nothing is left.
    pub fn tear_down(&self) {
        self.rig.tear_down();
    }
}
