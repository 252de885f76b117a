//! A snapshot in slices: where each of them begins.
//!
//! Tables are gone through in the order of their keys, and a slice begins after the last key of the one before.
//! So what comes and goes between two slices is told or not; nothing that stays is missed, and nothing told
//! twice.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};

use super::{SnapshotItem, SnapshotTotals};
use crate::context::Context;
use crate::process::{Process, ProcessKey};
use crate::thread::Thread;
use crate::transaction::TransactionKey;

/// To tell one object takes a part of what it takes to translate or to end one.
const STEPS_PER_OBJECT: usize = 2;

/// Slots of a table that are looked at in one step, for one in use.
const SLOTS_OF_STEP: usize = 16;

/// How far a snapshot has come that is taken in slices.
#[derive(Clone, Debug, Default)]
pub struct SnapshotCursor {
    place: SnapshotPlace,
}

/// The item that is told next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum SnapshotPlace {
    #[default]
    Totals,
    /// The users after this one.
    Users(Option<u32>),
    /// Nodes without owners, from this slot on.
    DeadNodes(usize),
    /// The process in this slot or in one behind.
    Process(usize),
    Part(ProcessKey, SnapshotPart),
    End,
}

/// The part of a process that is told next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SnapshotPart {
    /// The thread after this one.
    Thread(Option<u32>),
    /// This transaction of the thread's stack.
    Stack(u32, TransactionKey),
    /// The item of the thread's queue after this ticket.
    ThreadWork(u32, Option<i64>),
    /// The node after the one with this pointer.
    Node(Option<u64>),
    /// The one-way in line at the node, after this one.
    Oneway(u64, Option<TransactionKey>),
    /// The reference with this handle or a higher one.
    Reference(usize),
    /// The next buffer after that at this offset.
    Buffer(Option<u32>),
    /// The item of the process's queue after this ticket.
    Work(Option<i64>),
}

impl SnapshotCursor {
    /// Whether nothing is told yet.
    pub fn is_at_start(&self) -> bool {
        self.place == SnapshotPlace::Totals
    }

    /// Whether all is told.
    pub fn is_at_end(&self) -> bool {
        self.place == SnapshotPlace::End
    }
}

/// The next key of an ordered table.
fn after<K>(last: Option<K>) -> (core::ops::Bound<K>, core::ops::Bound<K>) {
    (last.map_or(Unbounded, Excluded), Unbounded)
}

impl Context {
    /// Takes down the next slice of all tables, and moves the cursor behind it.
    ///
    /// A process that the rest of a slice has no room for is left to the next.
    pub fn snapshot_slice(&self, cursor: &mut SnapshotCursor) -> Vec<SnapshotItem> {
        let room = STEPS_PER_OBJECT * self.slice.objects();
        let mut items = Vec::with_capacity(room);
        let mut process_start = None;
        for step in 0..room {
            let before = cursor.place;
            cursor.place = self.tell(before, &mut items);
            match (before, cursor.place) {
                (_, SnapshotPlace::End) => return items,
                (SnapshotPlace::Process(_), SnapshotPlace::Part(..)) => {
                    process_start = Some((step, before, items.len() - 1));
                }
                _ => {}
            }
        }
        if let (SnapshotPlace::Part(..), Some((1.., start, told))) = (cursor.place, process_start) {
            cursor.place = start;
            items.truncate(told);
        }
        items
    }

    /// Tells one thing at most, and says what comes next.
    fn tell(&self, place: SnapshotPlace, items: &mut Vec<SnapshotItem>) -> SnapshotPlace {
        match place {
            SnapshotPlace::Totals => {
                items.push(SnapshotItem::Totals(Box::new(SnapshotTotals {
                    user_limits: self.limits.per_user,
                    retired: self.retired.clone(),
                    objects: self.count_objects(),
                })));
                SnapshotPlace::Users(None)
            }
            SnapshotPlace::Users(last) => match self.user_keys.range(after(last)).next() {
                Some((&uid, user)) => {
                    let user = &self.users[*user];
                    if user.has_anything() {
                        items.push(SnapshotItem::User { uid, held: user.holdings() });
                    }
                    SnapshotPlace::Users(Some(uid))
                }
                None => SnapshotPlace::DeadNodes(0),
            },
            SnapshotPlace::DeadNodes(slot) if slot >= self.nodes.slots() => {
                SnapshotPlace::Process(0)
            }
            SnapshotPlace::DeadNodes(first) => {
                let mut slots = first..first + SLOTS_OF_STEP;
                let dead = slots
                    .find_map(|slot| self.nodes.at(slot).filter(|(_, node)| node.owner.is_none()));
                items.extend(dead.map(|(_, node)| SnapshotItem::DeadNode(self.view_node(node))));
                SnapshotPlace::DeadNodes(slots.start)
            }
            SnapshotPlace::Process(slot) if slot >= self.processes.slots() => SnapshotPlace::End,
            SnapshotPlace::Process(slot) => match self.processes.at(slot) {
                Some((key, process)) => {
                    let view = Box::new(self.view_process(key, process));
                    items.push(SnapshotItem::Process(view));
                    SnapshotPlace::Part(key, SnapshotPart::Thread(None))
                }
                None => SnapshotPlace::Process(slot + 1),
            },
            SnapshotPlace::Part(key, part) => {
                let process = self.processes.get(key);
                let next = process.and_then(|process| self.tell_part(process, part, items));
                next.map_or(SnapshotPlace::Process(key.slot() + 1), |part| {
                    SnapshotPlace::Part(key, part)
                })
            }
            SnapshotPlace::End => SnapshotPlace::End,
        }
    }

    /// The same for a part of a process. `None` is the end of that.
    fn tell_part(
        &self,
        process: &Process,
        part: SnapshotPart,
        items: &mut Vec<SnapshotItem>,
    ) -> Option<SnapshotPart> {
        let thread_of = |tid| {
            let key = *process.threads.get(&tid)?;
            Some((key, self.threads.get(key)?))
        };
        Some(match part {
            SnapshotPart::Thread(last) => match process.threads.range(after(last)).next() {
                Some((&tid, &key)) => {
                    let thread = &self.threads[key];
                    items.push(SnapshotItem::Thread(self.view_thread(thread)));
                    match thread.stack {
                        Some(top) => SnapshotPart::Stack(tid, top),
                        None => SnapshotPart::ThreadWork(tid, None),
                    }
                }
                None => SnapshotPart::Node(None),
            },
            SnapshotPart::Stack(tid, transaction) => {
                let entry = thread_of(tid)
                    .and_then(|(thread, _)| self.view_stack_entry(thread, transaction));
                let next = entry.and_then(|(entry, next)| {
                    items.push(SnapshotItem::StackEntry(entry));
                    next
                });
                next.map_or(SnapshotPart::ThreadWork(tid, None), |next| {
                    SnapshotPart::Stack(tid, next)
                })
            }
            SnapshotPart::ThreadWork(tid, last) => {
                let next = thread_of(tid).and_then(|(_, thread)| {
                    let (ticket, work) = thread.todo.after(last)?;
                    let view = self.view_work(Some::<&Thread>(thread), work);
                    items.extend(view.map(SnapshotItem::ThreadWork));
                    Some(SnapshotPart::ThreadWork(tid, Some(ticket)))
                });
                next.unwrap_or(SnapshotPart::Thread(Some(tid)))
            }
            SnapshotPart::Node(last) => match process.nodes.range(after(last)).next() {
                Some((&ptr, &key)) => match self.nodes.get(key) {
                    Some(node) => {
                        items.push(SnapshotItem::Node(self.view_node(node)));
                        if node.async_todo.is_empty() {
                            SnapshotPart::Node(Some(ptr))
                        } else {
                            SnapshotPart::Oneway(ptr, None)
                        }
                    }
                    None => SnapshotPart::Node(Some(ptr)),
                },
                None => SnapshotPart::Reference(0),
            },
            SnapshotPart::Oneway(ptr, last) => {
                let node = process.nodes.get(&ptr).and_then(|key| self.nodes.get(*key));
                match node.and_then(|node| node.async_todo.after(last)) {
                    Some(oneway) => {
                        let view = self.view_transaction(oneway);
                        items.push(SnapshotItem::WaitingOneway(view));
                        SnapshotPart::Oneway(ptr, Some(oneway))
                    }
                    None => SnapshotPart::Node(Some(ptr)),
                }
            }
            SnapshotPart::Reference(first) if first >= process.handles.slots() => {
                SnapshotPart::Buffer(None)
            }
            SnapshotPart::Reference(first) => {
                let mut slots = first..first + SLOTS_OF_STEP;
                let view = slots.find_map(|slot| self.view_reference(process.handles.at(slot)?));
                items.extend(view.map(SnapshotItem::Reference));
                SnapshotPart::Reference(slots.start)
            }
            SnapshotPart::Buffer(last) => {
                match process.mapping.as_ref().and_then(|mapping| mapping.after(last)) {
                    Some(buffer) => {
                        items.push(SnapshotItem::Buffer(self.view_buffer(buffer)));
                        SnapshotPart::Buffer(Some(buffer.layout.start))
                    }
                    None => SnapshotPart::Work(None),
                }
            }
            SnapshotPart::Work(last) => {
                let (ticket, work) = process.todo.after(last)?;
                items.extend(self.view_work(None, work).map(SnapshotItem::Work));
                SnapshotPart::Work(Some(ticket))
            }
        })
    }
}
