//! Processes that are frozen, and the links that tell of it.

use super::{Code, Model, ModelReturn, NodeId, Pid, Place, Taken, Work};

pub(super) type LinkId = usize;

/// A process that is told of the freezes of a node's owner.
pub(super) struct FreezeLink {
    pub(super) process: Pid,
    cookie: u64,
    owner: Option<Pid>,
    is_frozen: bool,
    /// What was told last.
    was_frozen: bool,
    is_cleared: bool,
    place: Place,
}

impl Model {
    /// `BINDER_FREEZE` that does not wait; whether it succeeded.
    pub fn freeze(&mut self, pid: Pid) -> bool {
        let process = self.process(pid);
        (process.is_frozen, process.has_refused, process.has_received) = (false, false, false);
        if self.has_pending(pid) {
            return false;
        }
        self.process(pid).is_frozen = true;
        self.announce(pid);
        true
    }

    /// `BINDER_FREEZE` that thaws.
    pub fn thaw(&mut self, pid: Pid) {
        let process = self.process(pid);
        (process.is_frozen, process.has_refused, process.has_received) = (false, false, false);
        self.announce(pid);
    }

    /// `BINDER_GET_FROZEN_INFO`: calls (and what is pending), oneways.
    #[must_use]
    pub fn frozen_info(&self, pid: Pid) -> (u32, u32) {
        let process = &self.processes[pid];
        let pending = u32::from(self.has_pending(pid)) << 1;
        (u32::from(process.has_refused) | pending, process.has_received.into())
    }

    /// Whether anything that was sent to the process has not come to its end, or its thread is busy.
    fn has_pending(&self, pid: Pid) -> bool {
        let process = &self.processes[pid];
        let mut todo = process.todo.iter().chain(&process.thread_todo);
        process.stack.is_some()
            || todo.any(|work| matches!(work, Work::Call(_) | Work::Reply(_)))
            || self.nodes.values().any(|it| it.owner == Some(pid) && !it.oneways.is_empty())
            || self.calls.values().any(|call| call.to == pid && call.is_served)
    }

    fn announce(&mut self, pid: Pid) {
        let is_frozen = self.processes[pid].is_frozen;
        let watches = |link: &FreezeLink| link.owner == Some(pid) && !link.is_cleared;
        let watchers: Vec<_> =
            self.links.iter().filter(|(_, link)| watches(link)).map(|(id, _)| *id).collect();
        for id in watchers {
            let link = self.link(id);
            link.is_frozen = is_frozen;
            if link.place == Place::Idle {
                self.tell_of_freeze(id);
            }
        }
    }

    fn link(&mut self, id: LinkId) -> &mut FreezeLink {
        self.links.get_mut(&id).expect("a link that lives")
    }

    fn tell_of_freeze(&mut self, id: LinkId) {
        let link = self.link(id);
        link.place = Place::Queued;
        let pid = link.process;
        self.process(pid).todo.push_back(Work::Freeze(id));
    }

    /// `BC_REQUEST_FREEZE_NOTIFICATION`.
    pub fn request_freeze(&mut self, pid: Pid, handle: u32, cookie: u64) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let Some(reference) = self.processes[pid].references.get(&handle) else {
            return Taken::Invalid;
        };
        if reference.freeze.is_some() {
            return Taken::Invalid;
        }
        let owner = self.nodes[&reference.node].owner;
        let is_frozen = owner.is_some_and(|owner| self.processes[owner].is_frozen);
        let id = self.fresh_id();
        let (was_frozen, is_cleared, place) = (false, false, Place::Idle);
        let process = pid;
        let link = FreezeLink { process, cookie, owner, is_frozen, was_frozen, is_cleared, place };
        self.links.insert(id, link);
        self.process(pid).references.get_mut(&handle).expect("just found").freeze = Some(id);
        if owner.is_some() {
            self.tell_of_freeze(id);
        }
        Taken::Yes
    }

    /// `BC_CLEAR_FREEZE_NOTIFICATION`.
    pub fn clear_freeze(&mut self, pid: Pid, handle: u32, cookie: u64) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let reference = self.process(pid).references.get_mut(&handle);
        let Some(id) = reference.and_then(|it| it.freeze) else { return Taken::Invalid };
        if self.links[&id].cookie != cookie {
            return Taken::Invalid;
        }
        self.process(pid).references.get_mut(&handle).expect("just found").freeze = None;
        let link = self.link(id);
        link.is_cleared = true;
        if link.place == Place::Idle {
            self.tell_of_freeze(id);
        }
        Taken::Yes
    }

    /// `BC_FREEZE_NOTIFICATION_DONE`.
    pub fn freeze_done(&mut self, pid: Pid, cookie: u64) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let delivered = self.processes[pid].delivered_freezes.iter();
        let Some(at) = delivered.map(|id| &self.links[id]).position(|it| it.cookie == cookie)
        else {
            return Taken::Invalid;
        };
        let id = self.process(pid).delivered_freezes.remove(at);
        let link = self.link(id);
        link.place = Place::Idle;
        if link.is_cleared || link.is_frozen != link.was_frozen {
            self.tell_of_freeze(id);
        }
        Taken::Yes
    }

    pub(super) fn deliver_freeze(
        &mut self,
        pid: Pid,
        id: LinkId,
        seen: &mut Vec<ModelReturn>,
    ) -> bool {
        let link = self.link(id);
        if link.is_cleared {
            seen.push(ModelReturn::FreezeClearDone(link.cookie));
            self.links.remove(&id);
            return false;
        }
        link.place = Place::Delivered;
        link.was_frozen = link.is_frozen;
        seen.push(ModelReturn::Frozen(link.cookie, link.is_frozen));
        self.process(pid).delivered_freezes.push(id);
        true
    }

    /// The reference goes, and its link with it.
    pub(super) fn drop_link(&mut self, pid: Pid, id: LinkId) {
        self.unqueue(pid, Work::Freeze(id));
        self.process(pid).delivered_freezes.retain(|it| *it != id);
        self.links.remove(&id);
    }

    /// Drops the oldest oneway in the node's line of which `code` is an update.
    pub(super) fn supersede(&mut self, node: NodeId, sender: Pid) {
        let line = &self.nodes[&node].oneways;
        let older = line.iter().position(|it| self.calls[it].updates == Some(sender));
        let Some(at) = older else { return };
        let node = self.node(node);
        let owner = node.owner.expect("a target that lives");
        let older: Code = node.oneways.remove(at).expect("just found");
        self.calls.remove(&older);
        // It had no turn that could end.
        let buffer = self.process(owner).buffers.get_mut(&older).expect("its buffer");
        buffer.is_oneway = false;
        self.discard_buffer(owner, older);
    }
}
