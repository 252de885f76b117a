//! What one open file may make the driver keep, and what it does.
//!
//! Every table that a client can make longer is charged to the open file that does it. Threads,
//! nodes and handles have tables of their own there, whose length is the charge. What lies elsewhere
//! is counted here: death links, and transactions, which lie with their receivers; files on their way
//! count themselves (`descriptors`). The bytes of a
//! receive buffer need no limit besides its size, of which one-ways share half (`buffer`), and what all
//! those of a user have (`user`).
//!
//! A limit is met where the client asks for more, before anything has happened, by the error that
//! the specification has for "no memory".

use crate::context::{Caller, Context};
use crate::error::Errno;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;
use crate::transaction::{Kind, Transaction};
use crate::user::UserLimits;

/// How many objects of each kind an open file may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Threads that have called and not ended. Beyond: `ENOMEM` from [`Context::admit`].
    pub threads: usize,
    /// Own objects that others know. Beyond: the transaction that carries one fails (`ENOMEM`).
    pub nodes: usize,
    /// References to objects of others. Beyond: the transaction that brings one fails (`ENOMEM`).
    pub handles: usize,
    /// Death links, also those that were cleared until that has been read. Beyond: `BR_ERROR`.
    pub deaths: usize,
    /// Own calls without a reply, over all threads: what calls that call back can nest to. Beyond:
    /// the call fails (`ENOMEM`).
    pub calls: usize,
    /// Own one-ways that their receivers have not read. Beyond: the one-way fails (`ENOMEM`).
    pub oneways: usize,
    /// Files that it has sent and nobody has received: each is a descriptor of the front end's, of
    /// which all clients share a limited number. Beyond: the transaction with another fails
    /// (`ENOMEM`).
    ///
    /// `Differs from Linux:` there such files are limited by what holds their transactions alone.
    pub files: usize,
    /// Returns that a thread leaves unread while it sends more. Beyond: what it sends fails
    /// (`ENOMEM`).
    pub unread: usize,
    /// What all open files of one user may have together. Beyond: as for the file.
    pub per_user: UserLimits,
}

/// What one open file may have, of what its user may have only so much of.
pub(crate) struct PerFile {
    pub(crate) threads: usize,
    pub(crate) nodes: usize,
    pub(crate) handles: usize,
    pub(crate) oneways: usize,
}

/// Far more than a program needs that works: a million objects, each way.
pub(crate) const PER_FILE: PerFile = PerFile {
    threads: 1 << 14,
    nodes: 1 << 20,
    handles: 1 << 20,
    // As many as the share of one-ways of one receive buffer holds.
    oneways: 1 << 18,
};

impl Default for Limits {
    fn default() -> Self {
        let PerFile { threads, nodes, handles, oneways } = PER_FILE;
        Self {
            threads,
            nodes,
            handles,
            deaths: 1 << 20,
            calls: 1 << 14,
            oneways,
            files: 1 << 10,
            unread: 1 << 16,
            per_user: UserLimits::default(),
        }
    }
}

/// What an open file is charged with that its own tables do not show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Account {
    pub(crate) deaths: usize,
    calls: usize,
    oneways: usize,
}

impl Account {
    /// All that is counted, for the census.
    pub(crate) fn total(&self) -> usize {
        self.deaths + self.calls + self.oneways
    }

    pub(crate) fn oneways(&self) -> usize {
        self.oneways
    }

    fn of(&mut self, kind: Kind) -> Option<&mut usize> {
        match kind {
            Kind::Call => Some(&mut self.calls),
            Kind::Oneway => Some(&mut self.oneways),
            // It takes the place of its call, and room in the buffer of whoever waits for it.
            Kind::Reply => None,
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
        let threads = &self.processes[caller.process].threads;
        if !threads.contains_key(&caller.tid) {
            self.afford(threads.len(), self.limits.threads)?;
            let limit = self.limits.per_user.threads;
            self.afford_for_user(caller.process, |user| user.threads, limit)?;
        }
        self.enter(caller);
        Ok(())
    }

    /// Whether the process may have another node.
    pub(crate) fn afford_node(&self, owner: ProcessKey) -> Result<(), Errno> {
        self.afford(self.processes[owner].nodes.len(), self.limits.nodes)?;
        self.afford_for_user(owner, |user| user.nodes, self.limits.per_user.nodes)
    }

    /// Whether the process may have another handle.
    pub(crate) fn afford_handle(&self, process: ProcessKey) -> Result<(), Errno> {
        self.afford(self.processes[process].handles.len(), self.limits.handles)?;
        self.afford_for_user(process, |user| user.handles, self.limits.per_user.handles)
    }

    /// Whether the process may have another death link.
    pub(crate) fn afford_death(&self, process: ProcessKey) -> Result<(), Errno> {
        self.afford(self.processes[process].account.deaths, self.limits.deaths)
    }

    /// Whether the thread may send what it would hear of in its queue.
    pub(crate) fn afford_completion(&self, thread: ThreadKey) -> Result<(), Errno> {
        self.afford(self.threads[thread].todo.len(), self.limits.unread)
    }

    /// Whether the process may have another transaction of this kind under way.
    pub(crate) fn afford_transaction(&self, sender: ProcessKey, kind: Kind) -> Result<(), Errno> {
        let account = &self.processes[sender].account;
        match kind {
            Kind::Call => self.afford(account.calls, self.limits.calls),
            Kind::Oneway => {
                self.afford(account.oneways, self.limits.oneways)?;
                let limit = self.limits.per_user.oneways;
                self.afford_for_user(sender, |user| user.oneways, limit)
            }
            Kind::Reply => Ok(()),
        }
    }

    fn afford(&self, held: usize, limit: usize) -> Result<(), Errno> {
        if held < limit { Ok(()) } else { Err(Errno::ENOMEM) }
    }

    /// Makes the sender of a transaction pay for it.
    pub(crate) fn charge(&mut self, begun: &Transaction) {
        if let Some(count) = self.processes[begun.sender].account.of(begun.kind) {
            *count += 1;
        }
        if begun.kind == Kind::Oneway {
            self.holdings_of(begun.sender).oneways += 1;
        }
    }

    /// Takes back what [`charge`](Self::charge) took; the sender may be gone.
    pub(crate) fn refund(&mut self, ended: &Transaction) {
        if let Some(sender) = self.processes.get_mut(ended.sender)
            && let Some(count) = sender.account.of(ended.kind)
        {
            *count -= 1;
            if ended.kind == Kind::Oneway {
                self.holdings_of(ended.sender).oneways -= 1;
            }
        }
    }
}
