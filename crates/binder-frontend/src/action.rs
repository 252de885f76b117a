//! What goes out: what the executor is to do, with no lock held.

use alloc::boxed::Box;

use binder_core::{
    Commands, Errno, Excess, FdWork, Priority, PriorityChange, ProcessKey, SendReport,
};
use binder_uapi::{BinderFreezeInfo, BinderFrozenStatusInfo, BinderWriteRead};

use crate::access::AccessRequest;
use crate::calls::Call;
use crate::event::Event;
use crate::request::RequestContext;

/// Something to do. `F` is what the executor wants to know an open file by.
///
/// Those of one event are to be done in their order, but that accesses and descriptor work may come last. As with
/// events, large parts are in boxes.
#[derive(Debug)]
pub enum Action<F> {
    /// Answers an ioctl.
    Answer {
        /// The call that is over, with what goes back to the caller's struct.
        call: Box<Call>,
        /// How it ended.
        answer: Answer,
    },
    /// Answers a poll: whether there is something to read.
    AnswerPoll {
        /// The request.
        unique: u64,
        /// Whether there is, or why not even that can be said.
        is_readable: Result<bool, Errno>,
    },
    /// Answers a flush.
    AnswerFlush {
        /// The request.
        unique: u64,
    },
    /// Accesses the memory of a client: [`Event::Accessed`] tells what came of it.
    Access {
        /// The open file.
        file: F,
        /// What to do.
        access: Box<AccessRequest>,
    },
    /// Looks where the receiver of a command has its receive buffer mapped:
    /// [`Frontend::located`](crate::Frontend::located) tells.
    Locate {
        /// The receiver's open file.
        file: F,
        /// The receiver.
        receiver: ProcessKey,
        /// The caller's open file.
        caller: F,
        /// The call that waits.
        request: Box<RequestContext>,
        /// Its commands.
        commands: Box<Commands>,
    },
    /// Changes the descriptors of a client: [`Frontend::finish_fd_work`](crate::Frontend::finish_fd_work)
    /// tells what came of it.
    FdWork {
        /// The open file.
        file: F,
        /// The call that waits.
        request: Box<RequestContext>,
        /// The caller's struct, with the progress so far.
        call: Box<BinderWriteRead>,
        /// What to do.
        work: Box<FdWork>,
        /// The returns that the call has [carried](crate::Call::carry_returns) so far.
        returns: Box<[u8]>,
    },
    /// Looks whether `O_NONBLOCK` is still set: [`Event::ModeSeen`] tells.
    LookAtMode {
        /// The open file.
        file: F,
        /// The process that has it open.
        process: ProcessKey,
        /// The request of the call that waits.
        unique: u64,
    },
    /// Gives up what a call waits for, if that can be: [`Event::Cancelled`] tells that it was.
    Cancel {
        /// The open file.
        file: F,
        /// The request of the call that waits.
        unique: u64,
        /// The number of its thread.
        tid: u32,
        /// What it waits for.
        what: Cancelled,
    },
    /// Looks for threads of a process that have ended without a word, has each ended, and has the event happen
    /// again: its caller meets a limit.
    Prune {
        /// The open file.
        file: F,
        /// The event.
        event: Event,
    },
    /// Forgets what is known of a thread: it has ended, or may not call.
    ForgetThread {
        /// The open file.
        file: F,
        /// Its number.
        tid: u32,
    },
    /// Freezes, or thaws, a program on all devices.
    Freeze {
        /// The call that waits.
        request: Box<RequestContext>,
        /// What it asks for.
        info: BinderFreezeInfo,
    },
    /// Tells whether a program is frozen, on all devices.
    FrozenInfo {
        /// The call that waits.
        request: Box<RequestContext>,
        /// What it asks for.
        info: BinderFrozenStatusInfo,
    },
    /// Ends the freeze that a call waits for: its thread has a signal to handle.
    CancelFreeze {
        /// The request of the call.
        unique: u64,
    },
    /// Goes on with the freeze that waits for a process: nothing is outstanding at it any more.
    Settled(ProcessKey),
    /// Tells the threads that poll(2) to look again.
    NotifyPoll {
        /// What they gave to be told by.
        handle: u64,
    },
    /// Gives a thread another priority.
    SetPriority {
        /// Its process.
        pid: u32,
        /// The number of the thread.
        tid: u32,
        /// Which.
        priority: Priority,
        /// Why.
        change: PriorityChange,
    },
    /// Tells people that a client has met a limit.
    Warn(Box<Excess>),
    /// Tells people that a send went wrong.
    Report(Box<SendReport>),
}

const _: () = assert!(size_of::<Action<Box<()>>>() <= 56);

/// How an ioctl ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It has done what it was to do.
    Done,
    /// It fails.
    Failed(Errno),
    /// Because of a signal, with its commands run in part or not at all: it is repeated, or fails with
    /// `EINTR`, as the signal's handler was set up.
    Interrupted,
    /// As a system call that a signal interrupts before it has done anything.
    Restart,
}

/// What a signal wants to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// An access that reads. It may be cut off as soon as it is made: one that is in line keeps its place
    /// there, for a client that is interrupted again and again would else take more and more.
    Fetch,
    /// An access that writes, or lets others go first, or a look for a mapping. What is on its way cannot be
    /// taken back: it ends only if its thread does.
    CopyOut,
    /// Descriptor work. It ends only if its thread does, and no thread has begun it.
    FdWork,
}
