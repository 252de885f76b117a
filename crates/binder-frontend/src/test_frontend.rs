//! A front end whose executor is a test.

use core::ops::Range;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use binder_core::{
    CapturedFile, Context, CopyFault, Errno, Inheritance, KernelProcess, Limits, NamespaceId,
    Opener, PidTable, ProcessKey, ReceiveBuffers, UidMap,
};
use binder_uapi::{BINDER_VERSION, BINDER_WRITE_READ, BinderWriteRead};
use zerocopy::IntoBytes;

use crate::access::{AccessEnd, AccessRequest};
use crate::action::{Action, Answer};
use crate::calls::Call;
use crate::event::Event;
use crate::frontend::Frontend;
use crate::ioctl::IoctlData;
use crate::request::{CallingThread, RequestContext};

/// The memory of clients that have none.
pub(crate) struct NoMemory;

impl ReceiveBuffers for NoMemory {
    fn store(&mut self, _: ProcessKey, _: u32, _: &[u8]) -> Result<(), CopyFault> {
        Err(CopyFault)
    }

    fn publish(&mut self, _: ProcessKey, _: u32, _: u32) -> Result<(), CopyFault> {
        Err(CopyFault)
    }

    fn clear(&mut self, _: ProcessKey, _: u32, _: u32) {}

    fn release(&mut self, _: ProcessKey, _: Range<u32>) {}

    fn capture_file(
        &mut self,
        _: ProcessKey,
        _: u32,
        _: ProcessKey,
    ) -> Result<CapturedFile, Errno> {
        Err(Errno::EBADF)
    }
}

/// The opener of a device: process 7.
pub(crate) fn opener() -> Opener {
    let levels = vec![(Some(NamespaceId(0)), 7)];
    let found = KernelProcess { pid: 7, levels, started_at: 0 };
    let pid = PidTable::new(NamespaceId(0)).adopt(found, None).expect("a free number");
    Opener { pid, uid: 0, uids: UidMap::identity(), security_label: Box::default() }
}

/// A front end, and an open file of its device.
pub(crate) struct TestFrontend {
    pub(crate) frontend: Frontend<u32>,
    pub(crate) process: ProcessKey,
}

impl TestFrontend {
    pub(crate) fn new(is_nonblocking: bool) -> Self {
        Self::with_limits(Limits::default(), is_nonblocking)
    }

    pub(crate) fn with_limits(limits: Limits, is_nonblocking: bool) -> Self {
        let context = Context::with_limits(limits);
        let mut frontend = Frontend::new(context, Inheritance::Nothing, false);
        let opened = frontend.open(opener(), 70, is_nonblocking, None);
        Self { frontend, process: opened.expect("the first") }
    }

    pub(crate) fn request(&self, unique: u64, tid: u32) -> RequestContext {
        let process = self.process;
        RequestContext { unique, process, tid, uid: 0, argument: 0, is_compat: false }
    }

    /// Has an event happen. Returns the actions that follow.
    pub(crate) fn handle(&mut self, event: Event) -> Vec<Action<u32>> {
        self.frontend.handle(event, &mut NoMemory);
        self.actions()
    }

    pub(crate) fn actions(&mut self) -> Vec<Action<u32>> {
        let mut actions = Vec::new();
        self.frontend.take_actions(&mut actions);
        actions
    }

    /// A thread makes an ioctl.
    pub(crate) fn ioctl(
        &mut self,
        unique: u64,
        tid: u32,
        command: u32,
        bytes: &[u8],
    ) -> Vec<Action<u32>> {
        self.prepared_ioctl(self.request(unique, tid), command, bytes, |_| {})
    }

    /// The same, by a door that has prepared the call.
    pub(crate) fn prepared_ioctl(
        &mut self,
        request: RequestContext,
        command: u32,
        bytes: &[u8],
        prepare: impl FnOnce(&mut Call),
    ) -> Vec<Action<u32>> {
        let data = IoctlData::new(bytes).expect("a struct of the driver's");
        let mut call = Call::new(request, data);
        prepare(&mut call);
        let (call, thread) = (call.into(), CallingThread::default());
        self.handle(Event::Ioctl { call, thread, command })
    }

    /// A thread makes a call that is answered at once.
    pub(crate) fn call(&mut self, unique: u64, tid: u32) -> Vec<Action<u32>> {
        self.ioctl(unique, tid, BINDER_VERSION, &[0; 4])
    }

    /// A thread writes that many bytes of commands.
    pub(crate) fn write(&mut self, unique: u64, tid: u32, len: u64) -> Box<AccessRequest> {
        let write = BinderWriteRead { write_size: len, ..BinderWriteRead::default() };
        access(self.ioctl(unique, tid, BINDER_WRITE_READ, write.as_bytes()))
    }

    /// A thread reads for which there is nothing: what it reads into begins with a return that tells nothing.
    pub(crate) fn begin_read(&mut self, unique: u64, tid: u32) -> Box<AccessRequest> {
        // A thread returns from its first read at once, unless it called before.
        assert_eq!(answers(&self.call(unique + 1, tid)), [(unique + 1, Answer::Done)]);
        let read = BinderWriteRead { read_size: 256, ..BinderWriteRead::default() };
        access(self.ioctl(unique, tid, BINDER_WRITE_READ, read.as_bytes()))
    }

    /// The same, until that is written. Returns the actions that follow.
    pub(crate) fn read(&mut self, unique: u64, tid: u32) -> Vec<Action<u32>> {
        let access = self.begin_read(unique, tid);
        self.accessed(access, AccessEnd::Done)
    }

    pub(crate) fn accessed(
        &mut self,
        mut access: Box<AccessRequest>,
        end: AccessEnd,
    ) -> Vec<Action<u32>> {
        access.end = end;
        self.handle(Event::Accessed(access))
    }

    /// A signal wants to end a call.
    pub(crate) fn interrupt(&mut self, unique: u64) -> Vec<Action<u32>> {
        assert!(self.frontend.interrupt(unique), "it is not over");
        self.actions()
    }

    /// `O_NONBLOCK` is seen.
    pub(crate) fn see_mode(
        &mut self,
        unique: u64,
        is_nonblocking: Option<bool>,
    ) -> Vec<Action<u32>> {
        self.handle(Event::ModeSeen { unique, is_nonblocking })
    }

    /// The file ends.
    pub(crate) fn end_file(&mut self) -> Vec<Action<u32>> {
        assert_eq!(self.frontend.end_file(self.process, &[], &mut NoMemory), Some(70));
        self.actions()
    }
}

/// The one access that is to be made.
pub(crate) fn access(mut actions: Vec<Action<u32>>) -> Box<AccessRequest> {
    match actions.pop() {
        Some(Action::Access { file: 70, access }) if actions.is_empty() => access,
        other => panic!("no access: {other:?}, {actions:?}"),
    }
}

/// The ioctls that are answered, and how; nothing else is to be done.
pub(crate) fn answers(actions: &[Action<u32>]) -> Vec<(u64, Answer)> {
    let answer = |action: &Action<u32>| match action {
        Action::Answer { call, answer } => (call.unique(), *answer),
        other => panic!("no answer: {other:?}"),
    };
    actions.iter().map(answer).collect()
}
