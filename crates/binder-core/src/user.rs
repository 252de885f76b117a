//! What all open files of one user make the driver keep, together.
//!
//! A program may open a device as often as it has descriptors, so what limits an open file does not
//! limit its user. What grows is counted for users as well, where it comes and where it goes; a user
//! is who opened the file, whoever uses it then.

#[cfg(doc)]
use crate::account::Limits;
use crate::account::{PER_FILE, PerFile};
use crate::context::Context;
use crate::error::Errno;
use crate::process::ProcessKey;
use crate::snapshot::{ProcessView, Snapshot};

/// How much there is of what is counted for users.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Holdings {
    /// Open files.
    pub files: usize,
    /// Their threads.
    pub threads: usize,
    /// Their nodes.
    pub nodes: usize,
    /// Their handles.
    pub handles: usize,
    /// One-ways that they have sent and nobody has read.
    pub oneways: usize,
    /// Bytes of the pages of their receive buffers that have memory, also of those that are idle.
    pub bytes: usize,
}

/// How much of it all open files of one user may have together.
///
/// How many files he may have open is for the front end to say, whom each costs descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserLimits {
    /// Threads, as [`Limits::threads`].
    pub threads: usize,
    /// Nodes, as [`Limits::nodes`].
    pub nodes: usize,
    /// Handles, as [`Limits::handles`].
    pub handles: usize,
    /// One-ways, as [`Limits::oneways`].
    pub oneways: usize,
    /// Bytes of receive buffers with memory. Beyond: the transaction that needs another page fails
    /// (`ENOMEM`).
    ///
    /// `Differs from Linux:` there each mapping may fill up, however many a user has.
    pub bytes: usize,
}

/// As much as 256 receive buffers that are full to the brim.
const BYTES: usize = 1 << 30;

impl Default for UserLimits {
    /// As many objects as four open files may have that have all they can.
    fn default() -> Self {
        let PerFile { threads, nodes, handles, oneways } = PER_FILE;
        Self {
            threads: 4 * threads,
            nodes: 4 * nodes,
            handles: 4 * handles,
            oneways: 4 * oneways,
            bytes: BYTES,
        }
    }
}

/// What a user has on a device, and the memory of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserView {
    /// Who, as the driver sees him.
    pub uid: u32,
    /// What is counted and limited.
    pub holdings: Holdings,
    /// Bytes in his receive buffers that are in use.
    pub buffer_bytes: u64,
}

impl Context {
    /// What the user has who opened the file.
    pub(crate) fn holdings_of(&mut self, process: ProcessKey) -> &mut Holdings {
        self.users.entry(self.processes[process].opener.uid).or_default()
    }

    /// Forgets the user of a file that is about to be gone, if it was the last.
    pub(crate) fn close_for_user(&mut self, process: ProcessKey) {
        let account = self.processes[process].account;
        let holdings = self.holdings_of(process);
        holdings.files -= 1;
        // Those under way will find nobody to refund.
        holdings.oneways -= account.oneways();
        if holdings.files == 0 {
            debug_assert_eq!(*holdings, Holdings::default(), "{process:?}");
            self.users.remove(&self.processes[process].opener.uid);
        }
    }

    /// Whether the user of an open file may have more of something.
    pub(crate) fn afford_for_user(
        &self,
        process: ProcessKey,
        of: fn(&Holdings) -> usize,
        limit: usize,
    ) -> Result<(), Errno> {
        let held = self.users.get(&self.processes[process].opener.uid).map_or(0, of);
        if held < limit { Ok(()) } else { Err(Errno::ENOMEM) }
    }
}

impl Snapshot {
    /// What each user has, by number.
    pub fn users(&self) -> impl Iterator<Item = UserView> {
        let of_process = |uid: u32| {
            let of_user = move |process: &&ProcessView| process.uid == uid;
            self.processes.iter().filter(of_user)
        };
        self.users.iter().map(move |&(uid, holdings)| UserView {
            uid,
            holdings,
            buffer_bytes: of_process(uid)
                .flat_map(|process| &process.buffers)
                .map(|buffer| u64::from(buffer.slot_len))
                .sum(),
        })
    }
}
