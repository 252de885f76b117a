//! This side's objects, as the peer knows them.

use alloc::collections::BTreeMap;

use crate::{Address, Ending, PendingRelease, RpcTransaction, SessionLimits, SessionSide};

/// What the peer has of one object of ours.
#[derive(Debug)]
struct Export<L, F> {
    id: u64,
    object: L,
    /// How often we sent the object, less what came back.
    sent: u64,
    /// Calls that run or wait, and one-ways that ran and are not given back.
    received: u64,
    /// One-ways that ran and are not given back.
    owed: u64,
    /// The number of the one-way call that runs, or is to run next.
    due: u64,
    is_running: bool,
    early: BTreeMap<u64, RpcTransaction<F>>,
}

/// What became of a one-way call that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnewayArrival {
    /// How many wait at the object.
    pub waiting: usize,
    /// Whether that is a number to warn of, said once for each time it is reached.
    pub is_many: bool,
}

/// What becomes of a one-way call.
#[derive(Debug)]
pub enum Oneway<L, F> {
    /// Run it and say [`oneway_ran`](crate::SessionObjects::oneway_ran), which may give another.
    Run(L, RpcTransaction<F>),
    /// Nothing: an earlier one is not done, and the thread that runs that takes this one too.
    Wait(OnewayArrival),
}

/// What follows from references that came back, or from a call that is done.
#[derive(Debug)]
#[must_use = "what follows must be sent, and an object is dropped outside of the session's lock"]
pub struct Released<L> {
    /// To be sent.
    pub release: Option<PendingRelease>,
    /// The object, if the peer has lost it.
    pub object: Option<L>,
    /// Whether neither side holds an object of the other any more: the session is over.
    pub is_last: bool,
}

/// The bytes that a waiting one-way call is charged with.
fn charge<F>(transaction: &RpcTransaction<F>) -> usize {
    const OVERHEAD: usize = 128;
    transaction.body.buffer.len() + OVERHEAD
}

/// Our objects.
#[derive(Debug)]
pub(crate) struct Exports<L, F> {
    role: SessionSide,
    by_number: BTreeMap<u32, Export<L, F>>,
    by_id: BTreeMap<u64, u32>,
    next: u32,
    queued_bytes: usize,
    queued_files: usize,
}

impl<L: Clone, F> Exports<L, F> {
    pub(crate) fn new(role: SessionSide) -> Self {
        let (by_number, by_id) = (BTreeMap::new(), BTreeMap::new());
        Self { role, by_number, by_id, next: 0, queued_bytes: 0, queued_files: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(crate) fn queued(&self) -> (usize, usize) {
        (self.queued_bytes, self.queued_files)
    }

    pub(crate) fn knows(&self, id: u64) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Counts one sending of an object; `None` if the numbers are used up.
    pub(crate) fn send(&mut self, id: u64, object: impl FnOnce() -> L) -> Option<Address> {
        let number = match self.by_id.get(&id) {
            Some(&number) => number,
            None => {
                let number = self.next;
                self.next = number.checked_add(1)?;
                let export = Export {
                    id,
                    object: object(),
                    sent: 0,
                    received: 0,
                    owed: 0,
                    due: 0,
                    is_running: false,
                    early: BTreeMap::new(),
                };
                self.by_number.insert(number, export);
                self.by_id.insert(id, number);
                number
            }
        };
        self.by_number.get_mut(&number)?.sent += 1;
        Some(Address { owner: self.role, number })
    }

    pub(crate) fn object(&self, number: u32) -> Option<L> {
        Some(self.by_number.get(&number)?.object.clone())
    }

    /// Counts a call that arrived.
    pub(crate) fn receive(&mut self, number: u32) -> Option<L> {
        let export = self.by_number.get_mut(&number)?;
        export.received += 1;
        Some(export.object.clone())
    }

    /// Decides about a one-way call: it runs, and comes back, or waits.
    pub(crate) fn receive_oneway(
        &mut self,
        address: Address,
        mut transaction: RpcTransaction<F>,
        limits: &SessionLimits,
    ) -> Result<Oneway<L, F>, Ending> {
        let Some(export) = self.by_number.get_mut(&address.number) else {
            return Err(Ending::UnknownAddress(address));
        };
        let (number, expected) = (transaction.async_number, export.due);
        if number == expected && !export.is_running {
            export.is_running = true;
            export.received += 1;
            return Ok(Oneway::Run(export.object.clone(), transaction));
        }
        // A peer that gave the object back while it was on its way to it again counts from 0 anew.
        // All that it had sent before has run then.
        if number == 0 && !export.is_running && !export.early.contains_key(&0) {
            export.due = 0;
            export.is_running = true;
            export.received += 1;
            return Ok(Oneway::Run(export.object.clone(), transaction));
        }
        if number == expected || export.early.contains_key(&number) {
            return Err(Ending::RepeatedOneway { address, number, expected });
        }
        let queued = export.early.len() + 1;
        if queued > limits.max_queued_oneways {
            return Err(Ending::OnewayFlood { address, queued });
        }
        transaction.body.compact();
        let bytes = self.queued_bytes + charge(&transaction);
        if bytes > limits.max_queued_bytes {
            return Err(Ending::OnewayBytes { bytes, limit: limits.max_queued_bytes });
        }
        let files = self.queued_files + transaction.body.files();
        if files > limits.max_queued_files {
            return Err(Ending::OnewayFiles { files, limit: limits.max_queued_files });
        }
        (self.queued_bytes, self.queued_files) = (bytes, files);
        export.received += 1;
        export.early.insert(number, transaction);
        let is_many = queued % limits.warn_queued_oneways.max(1) == 0;
        Ok(Oneway::Wait(OnewayArrival { waiting: queued, is_many }))
    }

    /// A one-way call has run: returns the next if it is there, else what the peer gets back.
    pub(crate) fn oneway_ran(&mut self, address: Address) -> Ran<L, F> {
        let Some(export) = self.by_number.get_mut(&address.number) else {
            return Ran::Idle(Released { release: None, object: None, is_last: false });
        };
        export.due += 1;
        export.owed += 1;
        if let Some(next) = export.early.remove(&export.due) {
            self.queued_bytes -= charge(&next);
            self.queued_files -= next.body.files();
            return Ran::Next(export.object.clone(), next);
        }
        export.is_running = false;
        let amount = core::mem::take(&mut export.owed);
        Ran::Idle(self.give_back(address, amount))
    }

    /// Takes down that `amount` calls are done, which gives their references back.
    pub(crate) fn give_back(&mut self, address: Address, amount: u64) -> Released<L> {
        let mut release = None;
        let released = self.lessen(address.number, |export| {
            export.received -= amount;
            release = Some(PendingRelease { address, amount });
        });
        Released { release, ..released }
    }

    /// The peer has given `amount` references back; more than it has are taken for all.
    pub(crate) fn returned(&mut self, number: u32, amount: u64) -> Released<L> {
        self.lessen(number, |export| export.sent = export.sent.saturating_sub(amount))
    }

    /// Takes something off the counts of an object, and lets go of it if nothing is left.
    fn lessen(&mut self, number: u32, change: impl FnOnce(&mut Export<L, F>)) -> Released<L> {
        let is_unused = self.by_number.get_mut(&number).is_some_and(|export| {
            change(export);
            export.sent == 0 && export.received == 0
        });
        let mut object = None;
        if is_unused && let Some(export) = self.by_number.remove(&number) {
            self.by_id.remove(&export.id);
            object = Some(export.object);
        }
        Released { release: None, object, is_last: false }
    }

    pub(crate) fn take_objects(&mut self) -> impl Iterator<Item = L> + use<L, F> {
        self.by_id.clear();
        (self.queued_bytes, self.queued_files) = (0, 0);
        core::mem::take(&mut self.by_number).into_values().map(|export| export.object)
    }
}

/// What follows a one-way call.
pub(crate) enum Ran<L, F> {
    Next(L, RpcTransaction<F>),
    Idle(Released<L>),
}
