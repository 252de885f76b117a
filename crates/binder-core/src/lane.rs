//! What a front end asks that lets clients exchange calls without the driver (`binder-lane`).

use core::ops::Range;

use binder_uapi::BinderPtrCookie;

use crate::context::Context;
use crate::counters::Counters;
use crate::error::Errno;
use crate::identity::{UNMAPPED_UID, UidMap};
use crate::looper::Looper;
use crate::node::{NodeKey, Strength};
use crate::priority::Inheritance;
use crate::process::ProcessKey;

/// The object to which a lane leads. A lane [holds](Context::hold_lane) it as a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneTarget {
    pub(crate) node: NodeKey,
    /// Whose it is.
    pub server: ProcessKey,
    /// How that names it.
    pub name: BinderPtrCookie,
    /// The caller's number, as the server sees it.
    pub sender_pid: u32,
    /// The user as whom the server has opened the device, as the caller sees him.
    pub server_euid: u32,
}

/// Where a thread stands between two calls of its.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// It waits for no reply and serves no call, and nothing waits for it alone.
    pub is_in_no_call: bool,
    /// It serves its process, and may take whatever comes.
    pub is_looper: bool,
}

impl Context {
    /// The object behind a handle, if calls to it may pass the driver by.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is none; `EPERM` if it asks who calls it by a label, or threads inherit priorities: only the driver sees to
    /// these; `EAGAIN` while a freeze concerns either process.
    pub fn lane_target(&self, caller: ProcessKey, handle: u32) -> Result<LaneTarget, Errno> {
        let target = self.direct_target(caller, handle)?;
        let (node, owner) = (&self.nodes[target.node], &self.processes[target.server]);
        if node.wants_security_context || self.inheritance != Inheritance::Nothing {
            return Err(Errno::EPERM);
        }
        if self.processes[caller].freezer.is_concerned() || owner.freezer.is_concerned() {
            return Err(Errno::EAGAIN);
        }
        Ok(target)
    }

    /// The user who calls by a lane as its server sees him, where all users that the server's namespace does not know are `overflow_uid`.
    ///
    /// # Errors
    ///
    /// `EPERM` if the server could take him for another: its namespace does not know him, or he is called as all those are.
    pub fn user_seen_by(
        &self,
        server: ProcessKey,
        uid: u32,
        overflow_uid: u32,
    ) -> Result<u32, Errno> {
        let state = self.processes.get(server).ok_or(Errno::EINVAL)?;
        let uids = &state.opener.uids;
        let seen = uids.to_inside(uid);
        let is_ambiguous = *uids != UidMap::identity() && seen == overflow_uid;
        if seen == UNMAPPED_UID || is_ambiguous { Err(Errno::EPERM) } else { Ok(seen) }
    }

    /// The number of a caller's thread as the server of its lane sees it, of the `numbers` that the thread has from the driver's namespace to
    /// its own.
    ///
    /// # Errors
    ///
    /// `EPERM` if the server does not see the thread, and so could not ask who it is.
    pub fn thread_seen_by(
        &self,
        caller: ProcessKey,
        numbers: &[u32],
        server: ProcessKey,
    ) -> Result<u32, Errno> {
        let pid_of = |key| self.processes.get(key).map(|state| &state.opener.pid);
        let both = pid_of(caller).zip(pid_of(server));
        let number = both.map_or(0, |(caller, server)| caller.thread_seen_by(numbers, server));
        if number == 0 { Err(Errno::EPERM) } else { Ok(number) }
    }

    /// The object behind a handle, whether or not new calls to it may pass the driver by.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is none.
    pub fn direct_target(&self, caller: ProcessKey, handle: u32) -> Result<LaneTarget, Errno> {
        let sender = self.processes.get(caller).filter(|state| state.is_open());
        let sender = sender.ok_or(Errno::EINVAL)?;
        let target = self.resolve_target(caller, handle).map_err(|_| Errno::EINVAL)?;
        let (node, server) = (&self.nodes[target.node], target.owner);
        let owner = &self.processes[server];
        Ok(LaneTarget {
            node: target.node,
            server,
            name: BinderPtrCookie { ptr: node.ptr, cookie: node.cookie },
            sender_pid: sender.opener.pid.seen_by(&owner.opener.pid),
            server_euid: sender.opener.uids.to_inside(owner.opener.uid),
        })
    }

    /// Sets that many bytes of a process's receive buffer aside, in whole pages, for what comes to it past the driver: nothing else will
    /// ever lie there. Returns the addresses, in the process.
    ///
    /// # Errors
    ///
    /// `ESRCH` if it is not known where that is mapped; `ENOSPC` if there is not so much, if too much was set aside already, or if more than
    /// 16 KiB would take more than half of what may be.
    pub fn set_aside(&mut self, process: ProcessKey, bytes: u32) -> Result<Range<u64>, Errno> {
        self.mapping_of(process)?.set_aside(bytes)
    }

    /// Has a lane hold its object.
    pub fn hold_lane(&mut self, target: &LaneTarget) {
        self.hold_locally(target.node, Strength::Strong);
    }

    /// Has a lane hold its object no longer: its owner may hear that no one does.
    pub fn release_lane(&mut self, target: &LaneTarget) {
        self.unhold_locally(target.node, Strength::Strong);
    }

    /// Counts calls by a lane, of which the parties alone knew: so many as the caller says, and replies as the server does.
    pub fn count_lane(&mut self, caller: ProcessKey, calls: u32, server: ProcessKey, replies: u32) {
        self.counters_of(caller).count_direct_calls(calls);
        self.counters_of(server).count_direct_replies(replies);
    }

    /// Those of a process, or of all that have ended.
    fn counters_of(&mut self, process: ProcessKey) -> &mut Counters {
        match self.processes.get_mut(process) {
            Some(state) => &mut state.counters,
            None => &mut self.retired,
        }
    }

    /// Whether an idle thread of the process is to come to the driver: there is work, or there would be no idle thread left of
    /// which the driver knows, and a further one is to be asked for.
    pub fn wants_idle_thread(&self, process: ProcessKey) -> bool {
        let Some(state) = self.processes.get(process).filter(|state| state.is_open()) else {
            return true;
        };
        let wants_another = !state.has_requested_thread
            && state.waiting.is_empty()
            && state.started_threads < state.max_threads;
        wants_another || !state.todo.is_empty()
    }

    /// The line of a process's work: the number of the first item, and that which the next gets. They begin anew after 2^32.
    pub fn line_of_work(&self, process: ProcessKey) -> [u32; 2] {
        let state = self.processes.get(process);
        let tickets = state.map_or([0; 2], |state| state.todo.tickets());
        tickets.map(|ticket| u32::try_from(ticket & 0xffff_ffff).unwrap_or_default())
    }

    /// How many threads of a process wait for its work.
    pub fn idle_threads(&self, process: ProcessKey) -> usize {
        self.processes.get(process).map_or(0, |state| state.waiting.len())
    }

    /// Where a thread stands.
    pub fn standing(&self, process: ProcessKey, tid: u32) -> Standing {
        let thread = self.processes.get(process).and_then(|state| state.threads.get(&tid));
        let Some(thread) = thread.map(|thread| &self.threads[*thread]) else {
            return Standing::default();
        };
        let is_free = thread.may_take_process_work()
            && thread.return_error.is_none()
            && thread.reply_error.is_none()
            && thread.suspended_call.is_none()
            && thread.unfinished.is_none();
        Standing {
            is_in_no_call: is_free && thread.todo.is_empty(),
            is_looper: is_free && thread.looper.intersects(Looper::ENTERED | Looper::REGISTERED),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use binder_uapi::{FLAT_BINDER_FLAG_TXN_SECURITY_CTX, FlatBinderObject};
    use pidns::{HeldPid, KernelProcess, NamespaceId, PidTable};

    use super::*;
    use crate::context::{Caller, Waits};
    use crate::env::{MappingArea, Nowhere};
    use crate::freeze::{IfOutstanding, Program};
    use crate::identity::{Opener, UidRange};
    use crate::memory_budget::MemoryBudget;
    use crate::release::ReleaseProgress;
    use crate::snapshot::Snapshot;

    struct Scene {
        context: Context,
        server_pid: HeldPid,
        server: ProcessKey,
        client: ProcessKey,
    }

    fn caller(process: ProcessKey) -> Caller {
        Caller { process, tid: 1, euid: 0, waits: Waits::Never }
    }

    /// A client, and a context manager with these flags and uids.
    fn scene(flags: u32, uids: UidMap) -> Scene {
        let root = NamespaceId(1);
        let mut table = PidTable::new(root);
        let mut adopt = |number| {
            let levels = vec![(Some(root), number)];
            let found = KernelProcess { pid: number, levels, started_at: 0 };
            table.adopt(found, None).expect("numbers that are free")
        };
        let (server_pid, client_pid) = (adopt(10), adopt(20));
        let mut context = Context::new();
        let mut open = |pid: &HeldPid, uid, uids| {
            let (pid, security_label) = (pid.clone(), (*b"label").into());
            context.open(Opener { pid, uid, uids, security_label }).expect("few files")
        };
        let server = open(&server_pid, 7, uids);
        let client = open(&client_pid, 0, UidMap::identity());
        let object = FlatBinderObject { flags, ..FlatBinderObject::default() };
        context.become_context_manager(&caller(server), &object).expect("the first");
        Scene { context, server_pid, server, client }
    }

    #[test]
    fn what_is_set_aside_lies_in_whole_pages_behind_the_first() {
        let base = 0x10000;
        let sizes: [(u32, u32); 4] =
            [(4096, 4 * 4096), (16 << 10, 4096), (16 << 10, 16 << 10), (64 << 10, 1)];
        for (page, bytes) in sizes {
            let budget = MemoryBudget::in_pages_of(page, usize::MAX);
            let Scene { context, client, .. } = scene(0, UidMap::identity());
            let mut context = context.paying_from(budget);
            assert_eq!(context.set_aside(client, 1), Err(Errno::ESRCH), "it has mapped nothing");
            let whole = u64::from(bytes.next_multiple_of(page));
            let len_bytes = 16 * whole;
            context.note_mapping(client, Some(MappingArea { base, len_bytes }));
            let mut rooms: Vec<Range<u64>> = Vec::new();
            while let Ok(room) = context.set_aside(client, bytes) {
                rooms.push(room);
            }
            assert_eq!(rooms.len(), 4, "a quarter of the buffer");
            rooms.sort_unstable_by_key(|room| room.start);
            let page = u64::from(page);
            assert!(rooms[0].start >= base + page && rooms[3].end <= base + len_bytes);
            assert!(rooms.iter().all(|room| room.start % page == 0), "{rooms:x?}");
            assert!(rooms.iter().all(|room| room.end - room.start == whole), "{rooms:x?}");
            assert!(rooms.is_sorted_by(|before, after| before.end <= after.start), "{rooms:x?}");
            for bytes in [0, 1, u32::MAX] {
                assert_eq!(context.set_aside(client, bytes), Err(Errno::ENOSPC), "{bytes}");
            }
        }
    }

    #[test]
    fn much_that_is_set_aside_leaves_as_much_for_others() {
        let Scene { mut context, client, .. } = scene(0, UidMap::identity());
        context.note_mapping(client, Some(MappingArea { base: 0x10000, len_bytes: 64 * 4096 }));
        let set_aside = [9, 8, 5, 4].map(|pages| context.set_aside(client, pages * 4096).map(drop));
        assert_eq!(set_aside, [Err(Errno::ENOSPC), Ok(()), Err(Errno::ENOSPC), Ok(())]);
    }

    #[test]
    fn a_lane_leads_to_an_object_that_asks_for_nothing_special() {
        let Scene { mut context, server_pid, server, client } = scene(0, UidMap::identity());
        let target = context.lane_target(client, 0).expect("the manager");
        assert_eq!((target.server, target.sender_pid, target.server_euid), (server, 20, 7));
        assert_eq!(context.thread_seen_by(client, &[21], server), Ok(21));
        assert_eq!(context.thread_seen_by(client, &[], server), Err(Errno::EPERM), "it has ended");
        assert_eq!(context.lane_target(client, 1), Err(Errno::EINVAL));
        assert_eq!(context.lane_target(server, 0), Err(Errno::EINVAL), "it is its own");
        let program = Program::find(&[&mut context], &server_pid, 10).expect("the manager");
        assert_eq!(
            program
                .clone()
                .freeze(IfOutstanding::Fail)
                .advance(&mut [&mut context], IfOutstanding::Fail),
            Some(Ok(()))
        );
        assert_eq!(context.lane_target(client, 0), Err(Errno::EAGAIN));
        program.thaw(&mut [&mut context]);
        assert_eq!(context.lane_target(client, 0), Ok(target));
        let inherits = context.inheriting(Inheritance::Nice);
        assert_eq!(inherits.lane_target(client, 0), Err(Errno::EPERM));
    }

    #[test]
    fn no_lane_leads_where_the_driver_says_who_calls() {
        let labels = scene(FLAT_BINDER_FLAG_TXN_SECURITY_CTX, UidMap::identity());
        assert_eq!(labels.context.lane_target(labels.client, 0), Err(Errno::EPERM));
    }

    #[test]
    fn a_server_in_another_user_namespace_knows_its_users_alone() {
        const NOBODY: u32 = 65534;
        let Scene { context, server, .. } = scene(0, UidMap::identity());
        let seen = [0, 7, NOBODY].map(|uid| context.user_seen_by(server, uid, NOBODY));
        assert_eq!(seen, [Ok(0), Ok(7), Ok(NOBODY)]);
        let uids = UidMap::new(vec![UidRange { inside: 0, outside: 7, len: 1 << 16 }]);
        let Scene { context, server, client, .. } = scene(0, uids);
        assert_eq!(context.lane_target(client, 0).map(|it| it.server), Ok(server));
        let seen = [7, 8, NOBODY, 6].map(|uid| context.user_seen_by(server, uid, NOBODY));
        assert_eq!(seen, [Ok(0), Ok(1), Ok(NOBODY - 7), Err(Errno::EPERM)]);
        let called_as_strangers_are = context.user_seen_by(server, NOBODY + 7, NOBODY);
        assert_eq!(called_as_strangers_are, Err(Errno::EPERM));
        assert_eq!(context.user_seen_by(server, NOBODY + 7, 9), Ok(NOBODY));
    }

    #[test]
    fn calls_by_a_lane_are_counted_of_those_who_live_and_of_those_who_have_ended() {
        let Scene { mut context, server, client, .. } = scene(0, UidMap::identity());
        context.count_lane(client, 3, server, 2);
        let Snapshot { processes, counters, .. } = context.snapshot();
        let of = |key| &processes.iter().find(|it| it.key == key).expect("a process").counters;
        assert_eq!((of(client).commands()[0], of(client).returns()[3]), (3, 3));
        assert_eq!((of(server).commands()[1], of(server).returns()[2]), (2, 2));
        assert_eq!((counters.commands()[3], counters.returns()[6]), (5, 5));
        assert_eq!(context.release(client, &mut Nowhere), ReleaseProgress::Done);
        context.count_lane(client, 1, server, 0);
        assert_eq!(context.snapshot().counters.commands()[0], 4);
    }

    #[test]
    fn a_threads_standing_and_what_its_process_wants_are_told() {
        let Scene { mut context, server, client, .. } = scene(0, UidMap::identity());
        assert_eq!((context.line_of_work(server), context.idle_threads(server)), ([0, 0], 0));
        assert!(!context.wants_idle_thread(server), "it has asked for no further threads");
        context.set_max_threads(&caller(server), 1);
        assert!(context.wants_idle_thread(server), "a further one is to be asked for");
        let free = Standing { is_in_no_call: true, is_looper: false };
        assert_eq!(context.standing(server, 1), free);
        assert_eq!(context.standing(server, 2), Standing::default(), "there is none");
        let thread = context.thread_of(server, 1);
        context.enter_looper(thread);
        assert_eq!(context.standing(server, 1), Standing { is_looper: true, ..free });
        context.note_call(&caller(client));
        assert_eq!(context.standing(client, 1), free);
    }
}
