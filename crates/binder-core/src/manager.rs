//! The context manager: the process whose node handle 0 means, and what only it may ask.

use binder_uapi::{BinderNodeInfoForRef, FlatBinderObject};

use crate::context::{Caller, Context};
use crate::error::Errno;
use crate::node::{OwnerView, Strength};
use crate::process::ProcessKey;

impl Context {
    /// Handles `BINDER_SET_CONTEXT_MGR` (with an object of zeros) and `BINDER_SET_CONTEXT_MGR_EXT`.
    ///
    /// # Errors
    ///
    /// `EBUSY` while there is a manager; `EPERM` when the device had one of another uid; `ENOMEM`
    /// when the process has as many nodes as it may.
    pub fn become_context_manager(
        &mut self,
        caller: &Caller,
        object: &FlatBinderObject,
    ) -> Result<(), Errno> {
        let thread = self.enter(caller);
        let result = self.install_manager(caller, object);
        self.leave(thread);
        result
    }

    fn install_manager(&mut self, caller: &Caller, object: &FlatBinderObject) -> Result<(), Errno> {
        if self.manager.is_some() {
            return Err(Errno::EBUSY);
        }
        if *self.manager_uid.get_or_insert(caller.euid) != caller.euid {
            return Err(Errno::EPERM);
        }
        let node = match self.processes[caller.process].nodes.get(&object.binder) {
            Some(node) => *node,
            None => self.new_node(caller.process, object)?,
        };
        self.hold_locally(node, Strength::Strong);
        self.hold_locally(node, Strength::Weak);
        // The manager knows itself: it is not told when others refer to it.
        self.nodes[node].strong_view = OwnerView::Acquired;
        self.nodes[node].weak_view = OwnerView::Acquired;
        self.manager = Some(node);
        Ok(())
    }

    /// Handles `BINDER_GET_NODE_INFO_FOR_REF`.
    ///
    /// # Errors
    ///
    /// `EINVAL` when a field other than the handle is set or the handle is not a strong one of the
    /// caller; `EPERM` when the caller is not the context manager.
    pub fn node_info_for_ref(
        &mut self,
        caller: &Caller,
        request: &BinderNodeInfoForRef,
    ) -> Result<BinderNodeInfoForRef, Errno> {
        let thread = self.enter(caller);
        let answer = self.counts_for_manager(caller.process, request);
        self.leave(thread);
        answer
    }

    fn counts_for_manager(
        &self,
        process: ProcessKey,
        request: &BinderNodeInfoForRef,
    ) -> Result<BinderNodeInfoForRef, Errno> {
        let handle = request.handle;
        let blank = BinderNodeInfoForRef { handle, ..BinderNodeInfoForRef::default() };
        if *request != blank {
            return Err(Errno::EINVAL);
        }
        if self.manager.and_then(|node| self.nodes[node].owner) != Some(process) {
            return Err(Errno::EPERM);
        }
        let reference = self.strong_reference(process, handle).ok_or(Errno::EINVAL)?;
        let node = &self.nodes[self.references[reference].node];
        Ok(BinderNodeInfoForRef {
            strong_count: node.total_strong(),
            weak_count: node.total_local_weak(),
            ..blank
        })
    }
}
