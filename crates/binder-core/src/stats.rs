//! Numbers for people: debug ids, and how many objects of each kind live.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::context::Context;
use crate::early_reservation::EarlyReservationKey;

/// What is counted through all devices of a mount: clones count on together.
#[derive(Clone, Debug, Default)]
pub struct Sequences(Arc<CommandCounts>);

#[derive(Debug, Default)]
struct CommandCounts {
    debug_ids: AtomicU32,
    reservations: AtomicU64,
    processes: AtomicU64,
}

impl Sequences {
    /// The number that was given last to a node, a reference or a transaction.
    pub fn latest_debug_id(&self) -> u32 {
        self.0.debug_ids.load(Ordering::Relaxed)
    }

    /// A number by which logs and extended errors name a node, a reference or a transaction.
    pub(crate) fn next_debug_id(&self) -> u32 {
        self.0.debug_ids.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    pub(crate) fn next_reservation(&self) -> EarlyReservationKey {
        EarlyReservationKey(self.0.reservations.fetch_add(1, Ordering::Relaxed))
    }

    /// How many processes there were before.
    pub(crate) fn next_process(&self) -> u64 {
        self.0.processes.fetch_add(1, Ordering::Relaxed)
    }
}

/// Live objects of a context, by kind. All zero when every process is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveObjects {
    /// Open files.
    pub processes: usize,
    /// Caller threads.
    pub threads: usize,
    /// Objects on offer, also those whose owner is gone.
    pub nodes: usize,
    /// References to objects of others.
    pub references: usize,
    /// Calls, one-ways and replies that have not come to their end.
    pub transactions: usize,
    /// Transactions that their receivers count, until they read, answer or outlive them.
    pub outstanding: usize,
    /// Death links.
    pub deaths: usize,
    /// Freeze links.
    pub freezes: usize,
    /// Buffers in receive mappings.
    pub buffers: usize,
    /// The bytes that these take.
    pub buffer_bytes: u64,
    /// Pages that a live buffer touches.
    pub pages_in_use: u64,
    /// Captured files in them.
    pub files: usize,
    /// Calls that wait for descriptor work.
    pub suspended_calls: usize,
    /// Commands that go on in a later slice, and buffers of which not all is let go of.
    pub unfinished: usize,
    /// Rooms for sends that are being fetched.
    pub early_reservations: usize,
    /// Links, transactions and completions that living processes are charged with.
    pub charged: usize,
    /// Users of whom something is kept.
    pub users: usize,
    /// Items that wait in queues of threads and processes.
    pub queued: usize,
}

impl Context {
    /// Counts the live objects.
    pub fn live_objects(&self) -> LiveObjects {
        let mut live_objects = LiveObjects {
            processes: self.processes.len(),
            threads: self.threads.len(),
            nodes: self.nodes.len(),
            references: self.references.len(),
            transactions: self.transactions.len(),
            deaths: self.deaths.len(),
            suspended_calls: self.suspended_calls.len(),
            unfinished: self.ending_buffers.len(),
            early_reservations: self.early_reservations.len(),
            freezes: self.freezes.len(),
            users: self.users.values().filter(|user| user.has_anything()).count(),
            ..LiveObjects::default()
        };
        for process in self.processes.values() {
            live_objects.queued += process.todo.len();
            live_objects.outstanding += process.freezer.outstanding;
            live_objects.charged += process.account.total();
            if let Some(mapping) = &process.mapping {
                let (buffers, bytes) = mapping.usage();
                live_objects.buffers += buffers;
                live_objects.buffer_bytes += bytes;
                live_objects.files += mapping.files();
                live_objects.pages_in_use += u64::from(mapping.page_counts().in_use);
            }
        }
        let counted = self.transactions.values().filter(|it| it.to_process.is_some());
        debug_assert_eq!(
            live_objects.outstanding,
            counted.count(),
            "every transaction is counted once"
        );
        live_objects.unfinished +=
            self.threads.values().filter(|it| it.unfinished.is_some()).count();
        live_objects.queued += self.threads.values().map(|thread| thread.todo.len()).sum::<usize>();
        live_objects
    }
}
