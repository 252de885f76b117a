//! A process's numbers for nodes of others, and what it counts on them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use idr::IdPool;

use crate::account::Resource;
use crate::context::Context;
use crate::death::DeathKey;
use crate::error::Errno;
use crate::freeze_links::FreezeKey;
use crate::node::{NodeKey, Strength};
use crate::process::ProcessKey;
use crate::table::Key;
use crate::thread::ThreadKey;

/// Names a reference.
pub(crate) type ReferenceKey = Key<Reference>;

/// A process's reference to a node of another: one per process and node.
#[derive(Debug)]
pub(crate) struct Reference {
    /// Its number in logs.
    pub(crate) debug_id: u32,
    pub(crate) process: ProcessKey,
    pub(crate) node: NodeKey,
    pub(crate) handle: u32,
    pub(crate) strong: u32,
    pub(crate) weak: u32,
    pub(crate) death: Option<DeathKey>,
    pub(crate) freeze: Option<FreezeKey>,
}

/// The references of one process, by handle and by node.
#[derive(Debug)]
pub(crate) struct ReferenceTable {
    ids: IdPool,
    /// Reaches to the highest handle in use; ids are dense, so this wastes little.
    by_handle: Vec<Option<ReferenceKey>>,
    by_node: BTreeMap<NodeKey, ReferenceKey>,
}

impl ReferenceTable {
    pub(crate) fn new() -> Self {
        Self { ids: IdPool::new(), by_handle: Vec::new(), by_node: BTreeMap::new() }
    }

    fn get(&self, handle: u32) -> Option<ReferenceKey> {
        self.at(usize::try_from(handle).ok()?)
    }

    fn insert(&mut self, handle: u32, node: NodeKey, reference: ReferenceKey) {
        let at = handle as usize;
        if at >= self.by_handle.len() {
            self.by_handle.resize(at + 1, None);
        }
        self.by_handle[at] = Some(reference);
        self.by_node.insert(node, reference);
    }

    fn remove(&mut self, handle: u32, node: NodeKey) {
        self.by_node.remove(&node);
        self.by_handle[handle as usize] = None;
        while let Some(None) = self.by_handle.last() {
            self.by_handle.pop();
        }
        if self.by_handle.len() < self.by_handle.capacity() / 4 {
            self.by_handle.shrink_to(self.by_handle.capacity() / 2);
        }
        let released = self.ids.release_id(handle);
        debug_assert_eq!(released, Ok(()));
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.by_node.len()
    }

    /// Takes the first reference at or after `next`, and moves `next` past it: for a process that
    /// ends, whose handles will not be used.
    pub(crate) fn take_next(&mut self, next: &mut usize) -> Option<ReferenceKey> {
        loop {
            let reference = self.by_handle.get_mut(*next)?.take();
            *next += 1;
            if reference.is_some() {
                return reference;
            }
        }
    }

    /// The node of a reference that [`take_next`](Self::take_next) took.
    pub(crate) fn forget_node(&mut self, node: NodeKey) {
        self.by_node.remove(&node);
    }

    /// One more than the highest handle.
    pub(crate) fn slots(&self) -> usize {
        self.by_handle.len()
    }

    /// The reference with the handle of this number.
    pub(crate) fn at(&self, handle: usize) -> Option<ReferenceKey> {
        *self.by_handle.get(handle)?
    }
}

impl Context {
    /// `BC_INCREFS` and `BC_ACQUIRE`. Handle 0 means the context manager of now, known or not.
    pub(crate) fn add_count(
        &mut self,
        process: ProcessKey,
        handle: u32,
        strength: Strength,
    ) -> Result<(), Errno> {
        if handle == 0
            && let Some(manager) = self.manager
        {
            if self.nodes[manager].owner == Some(process) {
                return Err(Errno::EINVAL);
            }
            if self.refer(process, manager, strength, None).is_ok() {
                return Ok(());
            }
        }
        let reference = match strength {
            Strength::Strong => self.strong_reference(process, handle),
            Strength::Weak => self.reference(process, handle),
        };
        if let Some(reference) = reference {
            // A reference that counts already cannot be the first of its strength.
            let counted = self.count_on(reference, strength, None);
            debug_assert!(counted.is_ok(), "{counted:?}");
        }
        Ok(())
    }

    /// `BC_RELEASE` and `BC_DECREFS`. A count that is zero stays zero.
    pub(crate) fn drop_count(&mut self, process: ProcessKey, handle: u32, strength: Strength) {
        if let Some(reference) = self.reference(process, handle) {
            self.uncount_on(reference, strength);
        }
    }

    /// The process's reference with this handle.
    pub(crate) fn reference(&self, process: ProcessKey, handle: u32) -> Option<ReferenceKey> {
        self.processes[process].handles.get(handle)
    }

    /// The same, if it holds the node strongly.
    pub(crate) fn strong_reference(
        &self,
        process: ProcessKey,
        handle: u32,
    ) -> Option<ReferenceKey> {
        let reference = self.reference(process, handle)?;
        (self.references[reference].strong > 0).then_some(reference)
    }

    /// Counts once more on the node, for `process`; makes the reference if it is the first.
    ///
    /// # Errors
    ///
    /// As [`count_strong`](Self::count_strong); `ENOMEM` when no handle is left.
    pub(crate) fn refer(
        &mut self,
        process: ProcessKey,
        node: NodeKey,
        strength: Strength,
        by: Option<ThreadKey>,
    ) -> Result<ReferenceKey, Errno> {
        let known = self.processes[process].handles.by_node.get(&node).copied();
        let reference = match known {
            Some(reference) => reference,
            None => self.new_reference(process, node)?,
        };
        let counted = self.count_on(reference, strength, by);
        if counted.is_err() && known.is_none() {
            self.delete_reference(reference);
        }
        counted.map(|()| reference)
    }

    fn new_reference(&mut self, process: ProcessKey, node: NodeKey) -> Result<ReferenceKey, Errno> {
        let lowest = u32::from(self.manager != Some(node));
        self.check_handle_quota(process)?;
        let handles = &mut self.processes[process].handles;
        let handle = handles.ids.acquire_lowest(lowest).map_err(|_| Errno::ENOMEM)?;
        let debug_id = self.sequences.next_debug_id();
        let reference = self.references.insert(Reference {
            debug_id,
            process,
            node,
            handle,
            strong: 0,
            weak: 0,
            death: None,
            freeze: None,
        });
        handles.insert(handle, node, reference);
        self.holdings_of(process)[Resource::Handles] += 1;
        self.attach_reference(node);
        Ok(reference)
    }

    /// Adds to the counts of a reference that exists.
    pub(crate) fn count_on(
        &mut self,
        reference: ReferenceKey,
        strength: Strength,
        by: Option<ThreadKey>,
    ) -> Result<(), Errno> {
        let state = &self.references[reference];
        let node = state.node;
        match strength {
            Strength::Strong => {
                if state.strong == 0 {
                    self.count_strong(node, by)?;
                }
                // A client that counts to the end of the range keeps the reference until it leaves.
                let count = &mut self.references[reference].strong;
                *count = count.saturating_add(1);
            }
            Strength::Weak => {
                if state.weak == 0 {
                    self.announce_weak(node, by);
                }
                let count = &mut self.references[reference].weak;
                *count = count.saturating_add(1);
            }
        }
        Ok(())
    }

    /// Takes one count back; the last one takes the reference with it. Ignores a reference that is gone.
    pub(crate) fn uncount_on(&mut self, reference: ReferenceKey, strength: Strength) {
        let Some(state) = self.references.get_mut(reference) else { return };
        let node = state.node;
        let count = match strength {
            Strength::Strong => &mut state.strong,
            Strength::Weak => &mut state.weak,
        };
        let Some(left) = count.checked_sub(1) else { return };
        *count = left;
        let is_last = state.strong == 0 && state.weak == 0;
        if left == 0 && strength == Strength::Strong {
            self.uncount_strong(node);
        }
        if is_last {
            self.delete_reference(reference);
        }
    }

    /// Removes a reference without counts, and with it its handle and its links.
    fn delete_reference(&mut self, reference: ReferenceKey) {
        let state = &self.references[reference];
        let (process, handle, node) = (state.process, state.handle, state.node);
        self.processes[process].handles.remove(handle, node);
        self.holdings_of(process)[Resource::Handles] -= 1;
        self.drop_reference(reference);
    }

    /// Takes back all that a reference counts on its node; its process has forgotten it already.
    pub(crate) fn drop_reference(&mut self, reference: ReferenceKey) {
        let Some(state) = self.references.remove(reference) else { return };
        if let Some(death) = state.death {
            self.nodes[state.node].watchers.remove(&reference);
            self.drop_death(death);
        }
        if let Some(link) = state.freeze {
            self.drop_freeze(link);
        }
        if state.strong > 0 {
            self.uncount_strong(state.node);
        }
        self.detach_reference(state.node);
    }
}

#[cfg(test)]
mod tests {
    use binder_uapi::{BINDER_TYPE_BINDER, FlatBinderObject};

    use super::*;
    use crate::buffer::BufferHold;
    use pidns::{KernelProcess, NamespaceId, PidTable};

    use crate::identity::{Opener, UidMap};
    use crate::release::ReleaseProgress;
    use crate::stats::LiveObjects;

    fn open(context: &mut Context, pid: u32) -> ProcessKey {
        let levels = alloc::vec![(Some(NamespaceId(0)), pid)];
        let found = KernelProcess { pid, levels, started_at: 0 };
        let opener = Opener {
            pid: PidTable::new(NamespaceId(0)).adopt(found, None).expect("a free number"),
            uid: 0,
            uids: UidMap::identity(),
            security_label: (*b"label").into(),
        };
        context.open(opener).expect("few files")
    }

    fn offer(context: &mut Context, owner: ProcessKey, ptr: u64) -> NodeKey {
        let object =
            FlatBinderObject { kind: BINDER_TYPE_BINDER, binder: ptr, ..Default::default() };
        context.new_node(owner, &object).unwrap()
    }

    #[test]
    fn a_count_ends_at_the_end_of_its_range_and_the_reference_with_its_process() {
        let mut context = Context::new();
        let (owner, holder) = (open(&mut context, 1), open(&mut context, 2));
        let by = context.thread_of(owner, 1);
        let node = offer(&mut context, owner, 8);
        let reference = context.refer(holder, node, Strength::Strong, Some(by)).unwrap();
        context.references[reference].strong = u32::MAX;
        context.count_on(reference, Strength::Strong, None).unwrap();
        assert_eq!(context.references[reference].strong, u32::MAX);
        for process in [owner, holder] {
            assert_eq!(context.release(process, &mut crate::env::Nowhere), ReleaseProgress::Done);
        }
        assert_eq!(context.live_objects(), LiveObjects::default());
    }

    #[test]
    fn a_buffer_lets_go_of_nothing_that_is_not_its_process_s() {
        let mut context = Context::new();
        let (owner, holder) = (open(&mut context, 1), open(&mut context, 2));
        let other = open(&mut context, 3);
        let by = context.thread_of(owner, 1);
        let node = offer(&mut context, owner, 8);
        let reference = context.refer(other, node, Strength::Strong, Some(by)).unwrap();
        // As if the holder's own reference had had this key, 2^32 references ago.
        context.let_go(holder, BufferHold::Reference(reference, Strength::Strong));
        assert_eq!(context.references[reference].strong, 1);
    }
}
