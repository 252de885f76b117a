//! What open files and their users may make the driver keep, and what it does about more.
//!
//! Every table that a client can make longer is charged to the open file that does it, and to the user
//! that opened it (`user`). Threads, nodes and handles have tables of their own there, whose length is
//! the charge. What lies elsewhere is counted here: links, and transactions, which lie with their
//! receivers; files on their way count themselves (`descriptors`). The bytes of a
//! receive buffer need no limit besides its size, of which one-ways share half (`buffer`), and what all
//! those of a user have.
//!
//! A limit is met where the client asks for more, before anything has happened, by the error that
//! the specification has for "no memory".

use core::fmt;
use core::ops::{Index, IndexMut};

use crate::context::{Caller, Context};
use crate::error::Errno;
use crate::process::{Process, ProcessKey};
use crate::thread::ThreadKey;
use crate::transaction::{Transaction, TransactionKind};

/// A resource that is counted and limited.
///
/// `Differs from Linux:` there little of it is, but for what holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// Processes of a user that have the device open. Beyond: `EMFILE` from [`Context::open`].
    Processes,
    /// Open files of a user. Beyond: the same.
    Opens,
    /// Threads that have called and not ended. Beyond: `ENOMEM` from [`Context::admit`].
    Threads,
    /// Own objects that others know. Beyond: the transaction that carries one fails (`ENOMEM`).
    Nodes,
    /// References to objects of others. Beyond: the transaction that brings one fails (`ENOMEM`).
    Handles,
    /// Death links, also those that were cleared until that has been read. Beyond: `BR_ERROR`.
    Deaths,
    /// Freeze links, counted in the same way. Beyond: `ENOMEM` from the ioctl.
    Freezes,
    /// Own calls without a reply, over all threads: what calls that call back can nest to. Beyond:
    /// the call fails (`ENOMEM`).
    Calls,
    /// Own one-ways that their receivers have not read. Beyond: the one-way fails (`ENOMEM`).
    Oneways,
    /// Completions that a thread, or those of a user, leave unread. Beyond: what is sent fails
    /// (`ENOMEM`).
    Unread,
    /// Files on their way for which it pays (`descriptors`): each is a descriptor of the front end's, of
    /// which all clients share a limited number. Beyond: the transaction with another fails (`ENOMEM`).
    Descriptors,
    /// Bytes of the pages of a user's receive buffers that have memory, also of those that are idle.
    /// Beyond: the transaction that needs another page fails (`ENOMEM`).
    Bytes,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Processes,
        Self::Opens,
        Self::Threads,
        Self::Nodes,
        Self::Handles,
        Self::Deaths,
        Self::Freezes,
        Self::Calls,
        Self::Oneways,
        Self::Unread,
        Self::Descriptors,
        Self::Bytes,
    ];

    /// Its name in limits and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Opens => "opens",
            Self::Threads => "threads",
            Self::Nodes => "nodes",
            Self::Handles => "handles",
            Self::Deaths => "deaths",
            Self::Freezes => "freezes",
            Self::Calls => "calls",
            Self::Oneways => "oneways",
            Self::Unread => "unread",
            Self::Descriptors => "descriptors",
            Self::Bytes => "bytes",
        }
    }

    /// Whether an open file has a limit of its own besides its user's.
    pub fn is_limited_per_file(self) -> bool {
        PER_FILE[self] != usize::MAX
    }
}

/// An amount of each resource: what a process or a user has, or may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amounts([usize; Resource::ALL.len()]);

impl Amounts {
    /// The same of each.
    #[must_use]
    pub const fn of_each(amount: usize) -> Self {
        Self([amount; Resource::ALL.len()])
    }

    /// These, but for one.
    #[must_use]
    pub const fn with(mut self, resource: Resource, amount: usize) -> Self {
        self.0[resource as usize] = amount;
        self
    }

    /// All together.
    pub(crate) fn total(&self) -> usize {
        self.0.iter().sum()
    }
}

impl Index<Resource> for Amounts {
    type Output = usize;

    fn index(&self, resource: Resource) -> &usize {
        &self.0[resource as usize]
    }
}

impl IndexMut<Resource> for Amounts {
    fn index_mut(&mut self, resource: Resource) -> &mut usize {
        &mut self.0[resource as usize]
    }
}

/// How much open files and users may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// One open file; a thread of it, where that is said.
    pub per_file: Amounts,
    /// All open files of a user together.
    pub per_user: Amounts,
    /// Bytes that the pages of the receive buffers of all users may have together, on all devices that
    /// share a [budget](crate::MemoryBudget).
    pub all_bytes: usize,
}

/// Far more than a program needs that works: a million objects, each way.
const PER_FILE: Amounts = Amounts::of_each(usize::MAX)
    .with(Resource::Threads, 1 << 14)
    .with(Resource::Nodes, 1 << 20)
    .with(Resource::Handles, 1 << 20)
    .with(Resource::Deaths, 1 << 20)
    .with(Resource::Freezes, 1 << 16)
    .with(Resource::Calls, 1 << 14)
    // What the share of one-ways of one receive buffer holds.
    .with(Resource::Oneways, 1 << 18)
    .with(Resource::Unread, 1 << 16)
    .with(Resource::Descriptors, 1 << 10);

impl Default for Limits {
    fn default() -> Self {
        // The objects of four open files that have all they can.
        let per_user = Amounts(PER_FILE.0.map(|most| most.saturating_mul(4)));
        Self {
            per_file: PER_FILE,
            per_user: per_user
                .with(Resource::Processes, 1 << 13)
                .with(Resource::Opens, 1 << 14)
                // The bytes of 256 receive buffers that are full to the brim.
                .with(Resource::Bytes, 1 << 30),
            all_bytes: usize::MAX,
        }
    }
}

/// What waits for processes of one other user is at most one part in this many of what a process or
/// a user may have.
pub(crate) const SHARE: usize = 4;

/// A limit that was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Excess {
    /// Of what there would have been one too many.
    pub resource: Resource,
    /// The holder of all the others: this process or user, or all users together.
    pub holder: LimitHolder,
    /// How many those are.
    pub limit: usize,
    /// The other user, if the limit is the quarter that one other user may cause.
    pub caused_by: Option<u32>,
}

/// A process or user that has met a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitHolder {
    /// A process, by the limit for an open file.
    Process(u32),
    /// A user, by the limit for all open files of his.
    User(u32),
    /// All users together.
    All,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.holder {
            LimitHolder::Process(pid) => write!(f, "process {pid} is at ").map(|()| "")?,
            LimitHolder::User(uid) => write!(f, "user {uid} is at ").map(|()| "user-")?,
            LimitHolder::All => write!(f, "all users are at ").map(|()| "all-")?,
        };
        if self.caused_by.is_some() {
            write!(f, "1/{SHARE} of ")?;
        }
        write!(f, "the limit {prefix}{}={}", self.resource.name(), self.limit)?;
        match self.caused_by {
            Some(uid) => write!(f, ": no more may wait for user {uid}"),
            None => Ok(()),
        }
    }
}

impl Context {
    /// Finds or makes the calling thread; comes before every other call of it.
    ///
    /// # Errors
    ///
    /// `ENOMEM` when the process has as many threads as it may. Threads that have ended without a
    /// word are among them, until [`exit_thread`](Self::exit_thread) is called in their place.
    pub fn admit(&mut self, caller: &Caller) -> Result<(), Errno> {
        let Process { threads, latest_caller, .. } = &self.processes[caller.process];
        let has_called_last = latest_caller.is_some_and(|(tid, _)| tid == caller.tid);
        if !has_called_last && !threads.contains_key(&caller.tid) {
            self.check_quota(caller.process, Resource::Threads, threads.len())?;
        }
        self.enter(caller);
        Ok(())
    }

    /// Whether the process may have another node.
    pub(crate) fn check_node_quota(&mut self, owner: ProcessKey) -> Result<(), Errno> {
        self.check_quota(owner, Resource::Nodes, self.processes[owner].nodes.len())
    }

    /// Whether the process may have another handle.
    pub(crate) fn check_handle_quota(&mut self, process: ProcessKey) -> Result<(), Errno> {
        self.check_quota(process, Resource::Handles, self.processes[process].handles.len())
    }

    /// Whether the process may have one more of a resource that is counted here.
    pub(crate) fn check_counted_quota(
        &mut self,
        process: ProcessKey,
        resource: Resource,
    ) -> Result<(), Errno> {
        self.check_quota(process, resource, self.processes[process].account[resource])
    }

    /// Whether the thread may send what adds a return to its queue.
    pub(crate) fn check_completion_quota(&mut self, thread: ThreadKey) -> Result<(), Errno> {
        let state = &self.threads[thread];
        self.check_quota(state.process, Resource::Unread, state.todo.len())
    }

    /// Whether the process may have another transaction of this kind under way.
    pub(crate) fn check_transaction_quota(
        &mut self,
        sender: ProcessKey,
        kind: TransactionKind,
    ) -> Result<(), Errno> {
        charge_for(kind).map_or(Ok(()), |resource| self.check_counted_quota(sender, resource))
    }

    /// Whether an open file that has that much, and its user, may have more.
    fn check_quota(
        &mut self,
        process: ProcessKey,
        resource: Resource,
        held: usize,
    ) -> Result<(), Errno> {
        let limit = self.limits.per_file[resource];
        if held >= limit {
            let holder = LimitHolder::Process(self.processes[process].opener.pid.number());
            return Err(self.exceed(Excess { resource, holder, limit, caused_by: None }));
        }
        self.check_quota_of_user_of(process, resource)
    }

    /// Counts one more for an open file and its user.
    pub(crate) fn count(&mut self, process: ProcessKey, resource: Resource) {
        self.processes[process].account[resource] += 1;
        self.holdings_of(process)[resource] += 1;
    }

    /// Takes back what [`count`](Self::count) counted.
    pub(crate) fn uncount(&mut self, process: ProcessKey, resource: Resource) {
        self.processes[process].account[resource] -= 1;
        self.holdings_of(process)[resource] -= 1;
    }

    /// Makes the sender of a transaction pay for it.
    pub(crate) fn charge(&mut self, begun: &Transaction) {
        if let Some(resource) = charge_for(begun.kind) {
            self.count(begun.sender, resource);
        }
    }

    /// Takes back what [`charge`](Self::charge) took; the sender may be gone.
    pub(crate) fn refund(&mut self, ended: &Transaction) {
        if let Some(resource) = charge_for(ended.kind)
            && self.processes.get(ended.sender).is_some()
        {
            self.uncount(ended.sender, resource);
        }
    }

    /// Notes that a limit was met, for the log and the reports.
    pub(crate) fn exceed(&mut self, excess: Excess) -> Errno {
        self.journal.exceed(excess);
        Errno::ENOMEM
    }

    /// Takes the limit that was met last in the calls so far.
    pub fn take_excess(&mut self) -> Option<Excess> {
        self.journal.take_excess()
    }
}

/// What a transaction is counted as.
fn charge_for(kind: TransactionKind) -> Option<Resource> {
    match kind {
        TransactionKind::Call => Some(Resource::Calls),
        TransactionKind::Oneway => Some(Resource::Oneways),
        // It takes the place of its call, and room in the buffer of the caller that waits for it.
        TransactionKind::Reply => None,
    }
}
