//! References, what owners are told of them, and deaths.

use super::{
    Death, DeathId, Model, News, Node, NodeId, Object, Pid, Place, Reference, Taken, Work,
};

impl Model {
    // --- what holds an object ---

    fn references_to(&self, node: NodeId) -> impl Iterator<Item = &Reference> {
        let all = self.processes.iter().flat_map(|process| process.references.values());
        all.filter(move |reference| reference.node == node)
    }

    /// Whether the object is held strongly, and whether it is held at all.
    pub(super) fn strength(&self, id: NodeId) -> (bool, bool) {
        (self.is_strong(id), self.is_weak(id))
    }

    fn is_strong(&self, id: NodeId) -> bool {
        let node = &self.nodes[&id];
        node.pending_strong
            || (self.manager == Some(id) && node.owner.is_some())
            || self.references_to(id).any(|reference| reference.strong > 0)
            || self.is_in_a_buffer(id, Object::Binder(node.ptr))
    }

    fn is_weak(&self, id: NodeId) -> bool {
        self.is_strong(id) || self.is_known(id)
    }

    /// Whether the object is held other than by strong counts.
    fn is_known(&self, id: NodeId) -> bool {
        let node = &self.nodes[&id];
        node.pending_weak
            || self.references_to(id).next().is_some()
            || self.is_in_a_buffer(id, Object::WeakBinder(node.ptr))
    }

    /// Whether a buffer of the owner's is addressed to the node (which holds it strongly) or
    /// brings it back as `object`.
    fn is_in_a_buffer(&self, id: NodeId, object: Object) -> bool {
        let Some(owner) = self.nodes[&id].owner else { return false };
        let is_strong = matches!(object, Object::Binder(_));
        self.processes[owner].buffers.values().any(|buffer| {
            (is_strong && buffer.target == Some(id)) || buffer.objects.contains(&object)
        })
    }

    pub(super) fn node_of(&mut self, owner: Pid, ptr: u64) -> NodeId {
        let known = self.nodes.iter().find(|(_, it)| it.owner == Some(owner) && it.ptr == ptr);
        if let Some((id, _)) = known {
            return *id;
        }
        let id = self.fresh_id();
        let node = Node {
            owner: Some(owner),
            ptr,
            has_strong: false,
            has_weak: false,
            pending_strong: false,
            pending_weak: false,
            was_known: false,
            has_oneway: false,
            oneways: [].into(),
        };
        self.nodes.insert(id, node);
        id
    }

    // --- what the owner is told ---

    /// Tells owners of what they no longer need to hold, and forgets objects that no process knows.
    /// To be called after every single thing that was let go.
    ///
    /// That only a buffer holds an object any more is looked into when the owner reads, which comes to nothing, but is
    /// what the owner is told of before all that happens from here on.
    pub(super) fn attend(&mut self) {
        for id in self.nodes.keys().copied().collect::<Vec<_>>() {
            let (is_strong, is_weak) = self.strength(id);
            let is_known = self.is_known(id);
            let node = self.node(id);
            let is_lost = std::mem::replace(&mut node.was_known, is_known) && !is_known;
            let is_told = node.has_strong || node.has_weak;
            let is_less = (node.has_strong && !is_strong) || (node.has_weak && !is_weak);
            let is_news = is_less || (is_lost && is_told);
            let owner = node.owner;
            let is_kept = is_weak || (is_told && owner.is_some());
            match owner {
                _ if !is_kept => self.forget(id),
                Some(owner) if is_news && !self.is_queued(owner, Work::Node(id)) => {
                    self.process(owner).todo.push_back(Work::Node(id));
                }
                _ => {}
            }
        }
    }

    fn forget(&mut self, id: NodeId) {
        if let Some(owner) = self.nodes[&id].owner {
            self.unqueue(owner, Work::Node(id));
        }
        self.nodes.remove(&id);
    }

    fn is_queued(&self, pid: Pid, work: Work) -> bool {
        let process = &self.processes[pid];
        process.todo.contains(&work) || process.thread_todo.contains(&work)
    }

    pub(super) fn unqueue(&mut self, pid: Pid, work: Work) {
        let process = self.process(pid);
        process.todo.retain(|it| *it != work);
        process.thread_todo.retain(|it| *it != work);
    }

    /// The owner itself has sent its object to a new process: the sending thread shall be told of it.
    fn note_sent(&mut self, owner: Pid, id: NodeId, is_strong: bool) {
        let work = Work::Node(id);
        let node = &self.nodes[&id];
        let is_news = if is_strong {
            !node.has_strong
        } else {
            !node.has_weak && !self.is_queued(owner, work)
        };
        if is_news {
            self.unqueue(owner, work);
            self.process(owner).thread_todo.push_back(work);
        }
    }

    /// Acknowledges `BR_ACQUIRE`.
    pub fn acquire_done(&mut self, pid: Pid, ptr: u64) -> Taken {
        self.acknowledge(pid, ptr, |node| &mut node.pending_strong)
    }

    /// Acknowledges `BR_INCREFS`.
    pub fn increfs_done(&mut self, pid: Pid, ptr: u64) -> Taken {
        self.acknowledge(pid, ptr, |node| &mut node.pending_weak)
    }

    fn acknowledge(
        &mut self,
        pid: Pid,
        ptr: u64,
        pending: impl Fn(&mut Node) -> &mut bool,
    ) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let mut nodes = self.nodes.values_mut();
        if let Some(node) = nodes.find(|it| it.owner == Some(pid) && it.ptr == ptr) {
            *pending(node) = false;
        }
        self.attend();
        Taken::Yes
    }

    // --- references ---

    /// Gives `pid` a count on a node, and a handle if it has none.
    pub(super) fn give(
        &mut self,
        pid: Pid,
        node: NodeId,
        is_strong: bool,
        sender: Option<Pid>,
    ) -> u32 {
        self.node(node).was_known = true;
        let lowest = u32::from(self.manager != Some(node));
        let references = &mut self.process(pid).references;
        let known = references.iter().find(|(_, it)| it.node == node).map(|(handle, _)| *handle);
        let handle = known.unwrap_or_else(|| {
            (lowest..).find(|handle| !references.contains_key(handle)).expect("a free handle")
        });
        let fresh = Reference { node, strong: 0, weak: 0, death: None, freeze: None };
        let reference = references.entry(handle).or_insert(fresh);
        let count = if is_strong { &mut reference.strong } else { &mut reference.weak };
        *count += 1;
        if *count == 1
            && let Some(sender) = sender
        {
            self.note_sent(sender, node, is_strong);
        }
        handle
    }

    /// Takes a count from a handle, if there is one to take.
    pub(super) fn take(&mut self, pid: Pid, handle: u32, is_strong: bool) {
        let Some(reference) = self.process(pid).references.get_mut(&handle) else { return };
        let count = if is_strong { &mut reference.strong } else { &mut reference.weak };
        *count = count.saturating_sub(1);
        if reference.strong == 0 && reference.weak == 0 {
            self.drop_reference(pid, handle);
        }
        self.attend();
    }

    pub(super) fn drop_reference(&mut self, pid: Pid, handle: u32) {
        let reference = self.process(pid).references.remove(&handle).expect("a known handle");
        if let Some(death) = reference.death {
            self.unqueue(pid, Work::Death(death));
            self.process(pid).delivered_deaths.retain(|it| *it != death);
            self.deaths.remove(&death);
        }
        if let Some(link) = reference.freeze {
            self.drop_link(pid, link);
        }
    }

    /// `BC_ACQUIRE` and `BC_INCREFS`.
    pub fn add(&mut self, pid: Pid, handle: u32, is_strong: bool) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        if handle == 0
            && let Some(manager) = self.manager
        {
            if self.nodes[&manager].owner == Some(pid) {
                return Taken::Invalid;
            }
            self.give(pid, manager, is_strong, None);
            return Taken::Yes;
        }
        if let Some(reference) = self.process(pid).references.get_mut(&handle) {
            match is_strong {
                true if reference.strong > 0 => reference.strong += 1,
                true => {}
                false => reference.weak += 1,
            }
        }
        Taken::Yes
    }

    /// `BC_RELEASE` and `BC_DECREFS`.
    pub fn remove(&mut self, pid: Pid, handle: u32, is_strong: bool) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        self.take(pid, handle, is_strong);
        Taken::Yes
    }

    // --- deaths ---

    /// `BC_REQUEST_DEATH_NOTIFICATION`.
    pub fn request_death(&mut self, pid: Pid, handle: u32, cookie: u64) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let id = self.fresh_id();
        let Some(reference) = self.process(pid).references.get_mut(&handle) else {
            return Taken::Yes;
        };
        if reference.death.is_some() {
            return Taken::Yes;
        }
        reference.death = Some(id);
        let node = reference.node;
        let (news, place) = (News::Dead, Place::Idle);
        self.deaths.insert(id, Death { process: pid, cookie, news, is_cleared: false, place });
        if self.nodes[&node].owner.is_none() {
            self.tell_of(id);
        }
        Taken::Yes
    }

    /// `BC_CLEAR_DEATH_NOTIFICATION`.
    pub fn clear_death(&mut self, pid: Pid, handle: u32, cookie: u64) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let death = self.process(pid).references.get(&handle).and_then(|it| it.death);
        let Some(id) = death.filter(|id| self.deaths[id].cookie == cookie) else {
            return Taken::Yes;
        };
        let reference = self.process(pid).references.get_mut(&handle).expect("just found");
        reference.death = None;
        let death = self.deaths.get_mut(&id).expect("registered");
        death.is_cleared = true;
        if death.place == Place::Idle {
            death.news = News::Clear;
            self.tell_of(id);
        }
        Taken::Yes
    }

    /// `BC_DEAD_BINDER_DONE`.
    pub fn dead_binder_done(&mut self, pid: Pid, cookie: u64) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let delivered = self.processes[pid].delivered_deaths.iter().copied();
        let Some(id) = delivered.into_iter().find(|id| self.deaths[id].cookie == cookie) else {
            return Taken::Yes;
        };
        self.process(pid).delivered_deaths.retain(|it| *it != id);
        let death = self.deaths.get_mut(&id).expect("delivered");
        death.place = Place::Idle;
        if death.is_cleared {
            death.news = News::Clear;
            self.tell_of(id);
        }
        Taken::Yes
    }

    pub(super) fn tell_of(&mut self, id: DeathId) {
        let death = self.deaths.get_mut(&id).expect("a death that lives");
        death.place = Place::Queued;
        let pid = death.process;
        self.process(pid).todo.push_back(Work::Death(id));
    }
}
