//! Sending, answering, freeing.

use super::{
    Buffer, Call, Code, Model, ModelReturn, NodeId, Object, Pid, Process, Taken, Verdict, Work,
    takes_descriptors, takes_them_in_reply,
};

impl Model {
    /// `BC_TRANSACTION` with a oneway that takes the place of an older one.
    pub fn update(&mut self, pid: Pid, handle: u32, code: Code, objects: &[Object]) -> Taken {
        self.transact(pid, handle, true, Some(pid), code, objects)
    }

    /// `BC_TRANSACTION`.
    pub fn send(
        &mut self,
        pid: Pid,
        handle: u32,
        is_oneway: bool,
        code: Code,
        objects: &[Object],
    ) -> Taken {
        self.transact(pid, handle, is_oneway, None, code, objects)
    }

    /// A call that its server serves already: as if it had been sent and read, and its buffer freed. `None` if no such call
    /// can be under way.
    pub fn adopt(&mut self, pid: Pid, handle: u32, code: Code) -> Option<Pid> {
        let target = self.target_of(pid, handle).ok()?;
        let server = self.nodes[&target].owner?;
        if !self.is_idle(pid) || !self.is_idle(server) || self.processes[server].is_frozen {
            return None;
        }
        assert_eq!(self.send(pid, handle, false, code, &[]), Taken::Yes);
        let read = self.read(server).unwrap_or_default();
        assert!(matches!(read[..], [ModelReturn::Call { .. }]), "{read:?}");
        assert_eq!(self.free(server, code), Taken::Yes);
        Some(server)
    }

    /// Whether the process is in no call, and has nothing to read.
    fn is_idle(&self, pid: Pid) -> bool {
        let Process { stack, thread_todo, todo, has_return_error, .. } = &self.processes[pid];
        stack.is_none() && thread_todo.is_empty() && todo.is_empty() && !has_return_error
    }

    fn transact(
        &mut self,
        pid: Pid,
        handle: u32,
        is_oneway: bool,
        updates: Option<Pid>,
        code: Code,
        objects: &[Object],
    ) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let target = match self.target_of(pid, handle) {
            Ok(target) => target,
            Err(verdict) => return self.refuse(pid, verdict),
        };
        let stack = self.processes[pid].stack;
        if !is_oneway && !self.may_call(pid) {
            return self.refuse(pid, Verdict::Failed);
        }
        let owner = self.nodes[&target].owner.expect("a target that lives");
        let takes_descriptors = takes_descriptors(self.nodes[&target].ptr);
        let Some(objects) = self.translate(pid, owner, objects, takes_descriptors) else {
            return self.refuse(pid, Verdict::Failed);
        };
        let buffer = Buffer { target: Some(target), is_oneway, objects };
        self.process(owner).buffers.insert(code, buffer);
        let is_frozen = self.processes[owner].is_frozen;
        if is_frozen && !is_oneway {
            self.process(owner).has_refused = true;
            self.discard_buffer(owner, code);
            return self.refuse(pid, Verdict::Frozen);
        }
        let call = Call {
            from: (!is_oneway).then_some(pid),
            from_parent: stack.filter(|_| !is_oneway),
            to: owner,
            is_served: false,
            to_parent: None,
            target,
            is_oneway,
            updates,
        };
        self.calls.insert(code, call);
        if is_oneway {
            self.process(owner).has_received |= is_frozen;
            if is_frozen && updates.is_some() {
                self.supersede(target, pid);
            }
            self.tell(pid, if is_frozen { Work::PendingFrozen } else { Work::Complete });
            self.queue_oneway(target, code);
        } else {
            // It rides along with whatever makes the read return.
            self.process(pid).thread_todo.push_back(Work::Complete);
            self.process(pid).stack = Some(code);
            match self.is_awaited_in(owner, stack) {
                true => self.tell(owner, Work::Call(code)),
                false => self.process(owner).todo.push_back(Work::Call(code)),
            }
        }
        Taken::Yes
    }

    fn target_of(&self, pid: Pid, handle: u32) -> Result<NodeId, Verdict> {
        let node = if handle == 0 {
            self.manager.ok_or(Verdict::Dead)?
        } else {
            let reference = self.processes[pid].references.get(&handle);
            reference.filter(|it| it.strong > 0).ok_or(Verdict::Failed)?.node
        };
        match self.nodes[&node].owner {
            None => Err(Verdict::Dead),
            Some(owner) if owner == pid => Err(Verdict::Failed),
            Some(_) => Ok(node),
        }
    }

    /// A thread may call unless it waits for a reply, or has a call to read.
    fn may_call(&self, pid: Pid) -> bool {
        let process = &self.processes[pid];
        let has_work = matches!(process.thread_todo.front(), Some(Work::Call(_) | Work::Reply(_)));
        !has_work && process.stack.is_none_or(|top| self.is_incoming(pid, top))
    }

    pub(super) fn is_incoming(&self, pid: Pid, code: Code) -> bool {
        let call = &self.calls[&code];
        call.to == pid && call.is_served
    }

    /// Whether the thread of `pid` waits for one of the calls that led to this one.
    fn is_awaited_in(&self, pid: Pid, mut stack: Option<Code>) -> bool {
        while let Some(code) = stack {
            let call = &self.calls[&code];
            if call.from == Some(pid) {
                return true;
            }
            stack = call.from_parent;
        }
        false
    }

    fn queue_oneway(&mut self, target: NodeId, code: Code) {
        let node = self.node(target);
        if node.has_oneway {
            node.oneways.push_back(code);
            return;
        }
        node.has_oneway = true;
        let owner = node.owner.expect("a target that lives");
        self.process(owner).todo.push_back(Work::Call(code));
    }

    /// `BC_REPLY`.
    pub fn reply(&mut self, pid: Pid, code: Code, objects: &[Object]) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        let Some(top) = self.processes[pid].stack.filter(|top| self.is_incoming(pid, *top)) else {
            return self.refuse(pid, Verdict::Failed);
        };
        self.process(pid).stack = self.calls[&top].to_parent;
        let Some(caller) = self.calls[&top].from else {
            self.refuse(pid, Verdict::Complete);
            self.fail(top, Verdict::Dead);
            return Taken::Yes;
        };
        let takes_descriptors = takes_them_in_reply(top);
        let Some(objects) = self.translate(pid, caller, objects, takes_descriptors) else {
            self.refuse(pid, Verdict::Complete);
            self.fail(top, Verdict::Failed);
            return Taken::Yes;
        };
        let buffer = Buffer { target: None, is_oneway: false, objects };
        self.process(caller).buffers.insert(code, buffer);
        self.tell(pid, Work::Complete);
        let call = self.calls.remove(&top).expect("a call that is answered");
        self.process(caller).stack = call.from_parent;
        self.tell(caller, Work::Reply(code));
        Taken::Yes
    }

    /// Ends a call without a reply: the nearest caller that lives is told.
    pub(super) fn fail(&mut self, code: Code, verdict: Verdict) {
        let mut next = Some(code);
        while let Some(code) = next {
            let call = self.calls.remove(&code).expect("a call that fails");
            if let Some(caller) = call.from {
                self.process(caller).stack = call.from_parent;
                if !self.processes[caller].has_reply_error {
                    self.process(caller).has_reply_error = true;
                    self.tell(caller, Work::ReplyError(verdict));
                }
                return;
            }
            next = call.from_parent;
        }
    }

    /// Turns objects of `from` into those of `to`, or undoes all that it did.
    fn translate(
        &mut self,
        from: Pid,
        to: Pid,
        objects: &[Object],
        takes_descriptors: bool,
    ) -> Option<Vec<Object>> {
        let mut translated = Vec::new();
        for object in objects {
            let one = match object {
                Object::Descriptor => takes_descriptors.then_some(Object::Descriptor),
                _ => self.translate_one(from, to, *object),
            };
            match one {
                Some(object) => translated.push(object),
                None => {
                    for object in translated {
                        self.let_go(to, object);
                    }
                    return None;
                }
            }
        }
        Some(translated)
    }

    fn translate_one(&mut self, from: Pid, to: Pid, object: Object) -> Option<Object> {
        let is_strong = matches!(object, Object::Binder(_) | Object::Handle(_));
        let (node, sender) = match object {
            Object::Binder(ptr) | Object::WeakBinder(ptr) => (self.node_of(from, ptr), Some(from)),
            Object::Handle(handle) | Object::WeakHandle(handle) => {
                let reference = self.processes[from].references.get(&handle)?;
                if is_strong && reference.strong == 0 {
                    return None;
                }
                (reference.node, None)
            }
            Object::Descriptor => return None,
        };
        let known = self.node(node);
        if known.owner == Some(to) {
            let ptr = known.ptr;
            known.was_known |= !is_strong;
            return Some(if is_strong { Object::Binder(ptr) } else { Object::WeakBinder(ptr) });
        }
        let handle = self.give(to, node, is_strong, sender);
        Some(if is_strong { Object::Handle(handle) } else { Object::WeakHandle(handle) })
    }

    /// What a buffer holds besides its own node.
    fn let_go(&mut self, pid: Pid, object: Object) {
        match object {
            Object::Handle(handle) => self.take(pid, handle, true),
            Object::WeakHandle(handle) => self.take(pid, handle, false),
            // These are held by being in a buffer.
            Object::Binder(_) | Object::WeakBinder(_) | Object::Descriptor => self.attend(),
        }
    }

    /// `BC_FREE_BUFFER`.
    pub fn free(&mut self, pid: Pid, code: Code) -> Taken {
        if self.processes[pid].has_return_error {
            return Taken::NotYet;
        }
        self.discard_buffer(pid, code);
        Taken::Yes
    }

    pub(super) fn discard_buffer(&mut self, pid: Pid, code: Code) {
        let Some(mut buffer) = self.process(pid).buffers.remove(&code) else { return };
        if buffer.is_oneway
            && let Some(target) = buffer.target
        {
            let node = self.node(target);
            match node.oneways.pop_front() {
                Some(next) => self.process(pid).todo.push_back(Work::Call(next)),
                None => node.has_oneway = false,
            }
        }
        // One after the other: first the node that it was addressed to.
        buffer.target = None;
        let objects = std::mem::take(&mut buffer.objects);
        for kept in (0..=objects.len()).rev() {
            let rest = objects[objects.len() - kept..].to_vec();
            let gone = objects.get((objects.len() - kept).wrapping_sub(1)).copied();
            let held = Buffer { objects: rest, ..buffer };
            self.process(pid).buffers.insert(code, held);
            match gone {
                Some(object) => self.let_go(pid, object),
                None => self.attend(),
            }
        }
        self.process(pid).buffers.remove(&code);
    }
}
