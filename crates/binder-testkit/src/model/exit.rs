//! Threads and processes that leave.

use std::collections::VecDeque;

use super::{Code, Model, Pid, Verdict, Work};

impl Model {
    /// The last close.
    pub fn close(&mut self, pid: Pid) {
        self.process(pid).is_open = false;
        if self.manager.is_some_and(|node| self.nodes[&node].owner == Some(pid)) {
            self.manager = None;
        }
        self.end_thread(pid);
        self.end_nodes(pid);
        for handle in self.handles(pid) {
            self.drop_reference(pid, handle);
            self.attend();
        }
        let todo = std::mem::take(&mut self.process(pid).todo);
        self.drop_work(todo);
        self.process(pid).delivered_deaths.clear();
        self.process(pid).delivered_freezes.clear();
        self.links.retain(|_, link| link.process != pid);
        self.deaths.retain(|_, death| death.process != pid);
        self.process(pid).buffers.clear();
        self.attend();
    }

    /// `BINDER_THREAD_EXIT`.
    pub fn exit_thread(&mut self, pid: Pid) {
        self.end_stack(pid);
        for work in self.take_thread_work(pid) {
            match work {
                Work::Call(code) => {
                    self.drop_call(code);
                    self.discard_buffer(pid, code);
                }
                Work::Reply(code) => self.discard_buffer(pid, code),
                // What the owner must know another thread can tell it.
                Work::Node(_) => self.process(pid).todo.push_back(work),
                Work::Complete
                | Work::PendingFrozen
                | Work::ReturnError(_)
                | Work::ReplyError(_)
                | Work::Death(_)
                | Work::Freeze(_) => {}
            }
        }
    }

    fn end_thread(&mut self, pid: Pid) {
        self.end_stack(pid);
        let todo = self.take_thread_work(pid);
        self.drop_work(todo);
    }

    fn take_thread_work(&mut self, pid: Pid) -> VecDeque<Work> {
        let process = self.process(pid);
        process.thread_returns = false;
        process.has_return_error = false;
        process.has_reply_error = false;
        std::mem::take(&mut process.thread_todo)
    }

    fn end_stack(&mut self, pid: Pid) {
        let top = self.process(pid).stack.take();
        let is_serving = top.is_some_and(|top| self.is_incoming(pid, top));
        let mut next = top;
        while let Some(code) = next {
            let is_incoming = self.is_incoming(pid, code);
            let call = self.calls.get_mut(&code).expect("a call on the stack");
            if is_incoming {
                call.is_served = false;
                next = call.to_parent;
            } else {
                call.from = None;
                next = call.from_parent;
            }
        }
        if let Some(top) = top.filter(|_| is_serving) {
            self.fail(top, Verdict::Dead);
        }
    }

    fn drop_work(&mut self, todo: impl IntoIterator<Item = Work>) {
        for work in todo {
            if let Work::Call(code) = work {
                self.drop_call(code);
            }
        }
    }

    fn drop_call(&mut self, code: Code) {
        if self.calls[&code].is_oneway {
            self.calls.remove(&code);
        } else {
            self.fail(code, Verdict::Dead);
        }
    }

    /// Its objects die: processes that registered are told.
    fn end_nodes(&mut self, pid: Pid) {
        let mut own: Vec<_> =
            self.nodes.iter().filter(|(_, node)| node.owner == Some(pid)).collect();
        own.sort_by_key(|(_, node)| node.ptr);
        for id in own.into_iter().map(|(id, _)| *id).collect::<Vec<_>>() {
            let node = self.node(id);
            node.owner = None;
            (node.pending_strong, node.pending_weak) = (false, false);
            for code in std::mem::take(&mut node.oneways) {
                self.calls.remove(&code);
            }
            let all = self.processes.iter().flat_map(|process| process.references.values());
            let deaths: Vec<_> = all.filter(|it| it.node == id).filter_map(|it| it.death).collect();
            for death in deaths {
                self.tell_of(death);
            }
        }
    }
}
