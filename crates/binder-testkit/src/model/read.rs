//! Reading.

use super::{Code, DeathId, Model, ModelReturn, News, NodeId, Object, Pid, Place, Verdict, Work};

impl Model {
    /// Reads as often as one ioctl does; `None` if there is nothing to read.
    pub fn read(&mut self, pid: Pid) -> Option<Vec<ModelReturn>> {
        let mut seen = Vec::new();
        while seen.is_empty() {
            let process = &self.processes[pid];
            let takes_process_work = process.stack.is_none() && process.thread_todo.is_empty();
            let has_process_work = takes_process_work && !process.todo.is_empty();
            if !process.thread_returns && !has_process_work {
                return None;
            }
            while let Some(work) = self.next_work(pid, takes_process_work) {
                if self.deliver(pid, work, &mut seen) {
                    return Some(seen);
                }
            }
        }
        Some(seen)
    }

    fn next_work(&mut self, pid: Pid, takes_process_work: bool) -> Option<Work> {
        let process = self.process(pid);
        let own = process.thread_todo.pop_front();
        if process.thread_todo.is_empty() {
            process.thread_returns = false;
        }
        own.or_else(|| if takes_process_work { process.todo.pop_front() } else { None })
    }

    /// Delivers one item; whether it ends the read.
    fn deliver(&mut self, pid: Pid, work: Work, seen: &mut Vec<ModelReturn>) -> bool {
        match work {
            Work::Call(code) if self.has_no_room_for(pid, code) => {
                self.drop_undelivered(pid, code);
                false
            }
            Work::Reply(code) if self.has_no_room_for(pid, code) => {
                self.discard_buffer(pid, code);
                seen.push(ModelReturn::Failed);
                true
            }
            Work::Call(code) => {
                seen.push(self.deliver_call(pid, code));
                true
            }
            Work::Reply(code) => {
                let objects = self.processes[pid].buffers[&code].objects.clone();
                seen.push(ModelReturn::Reply { code, objects });
                true
            }
            Work::Complete => {
                seen.push(ModelReturn::Complete);
                false
            }
            Work::PendingFrozen => {
                seen.push(ModelReturn::PendingFrozen);
                false
            }
            Work::ReturnError(verdict) => {
                self.process(pid).has_return_error = false;
                seen.push(told(verdict));
                false
            }
            Work::ReplyError(verdict) => {
                self.process(pid).has_reply_error = false;
                seen.push(told(verdict));
                false
            }
            Work::Node(node) => {
                self.deliver_node(node, seen);
                false
            }
            Work::Death(death) => self.deliver_death(pid, death, seen),
            Work::Freeze(link) => self.deliver_freeze(pid, link, seen),
        }
    }

    /// Whether the process cannot take the descriptors in a buffer of its own.
    fn has_no_room_for(&self, pid: Pid, code: Code) -> bool {
        let process = &self.processes[pid];
        process.is_full && process.buffers[&code].objects.contains(&Object::Descriptor)
    }

    fn drop_undelivered(&mut self, pid: Pid, code: Code) {
        if self.calls[&code].is_oneway {
            self.calls.remove(&code);
        } else {
            self.fail(code, Verdict::Failed);
        }
        self.discard_buffer(pid, code);
    }

    fn deliver_call(&mut self, pid: Pid, code: Code) -> ModelReturn {
        let stack = self.processes[pid].stack;
        let objects = self.processes[pid].buffers[&code].objects.clone();
        let call = self.calls.get_mut(&code).expect("a call that is delivered");
        let (node, sender) = (call.target, call.from);
        if call.is_oneway {
            self.calls.remove(&code);
        } else {
            (call.is_served, call.to_parent) = (true, stack);
            self.process(pid).stack = Some(code);
        }
        ModelReturn::Call { code, target: self.nodes[&node].ptr, sender, objects }
    }

    fn deliver_node(&mut self, id: NodeId, seen: &mut Vec<ModelReturn>) {
        let (is_strong, is_weak) = self.strength(id);
        let node = self.node(id);
        let ptr = node.ptr;
        if is_weak && !node.has_weak {
            (node.has_weak, node.pending_weak) = (true, true);
            seen.push(ModelReturn::Increfs(ptr));
        }
        if is_strong && !node.has_strong {
            (node.has_strong, node.pending_strong) = (true, true);
            seen.push(ModelReturn::Acquire(ptr));
        }
        if !is_strong && node.has_strong {
            node.has_strong = false;
            seen.push(ModelReturn::Release(ptr));
        }
        if !is_weak && node.has_weak {
            node.has_weak = false;
            seen.push(ModelReturn::Decrefs(ptr));
        }
        self.attend();
    }

    fn deliver_death(&mut self, pid: Pid, id: DeathId, seen: &mut Vec<ModelReturn>) -> bool {
        let death = self.deaths.get_mut(&id).expect("a death that is told");
        match death.news {
            News::Dead => {
                death.place = Place::Delivered;
                seen.push(ModelReturn::DeadBinder(death.cookie));
                self.process(pid).delivered_deaths.push(id);
                true
            }
            News::Clear => {
                seen.push(ModelReturn::ClearDone(death.cookie));
                self.deaths.remove(&id);
                false
            }
        }
    }
}

fn told(verdict: Verdict) -> ModelReturn {
    match verdict {
        Verdict::Complete => ModelReturn::Complete,
        Verdict::Failed => ModelReturn::Failed,
        Verdict::Dead => ModelReturn::Dead,
        Verdict::Frozen => ModelReturn::FrozenReply,
    }
}
