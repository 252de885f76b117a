//! A party that makes the best of what comes.

use binder_testkit::Return::{Acquire, DeadBinder, Increfs, Reply, Transaction};
use binder_testkit::{
    Attempt, Commands, CoreRig, Message, Mode, Party, Return, Rig, Stage, commands,
};
use binder_uapi::{
    BinderWriteRead, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject, TF_ACCEPT_FDS, TF_ONE_WAY,
};
use rustix::io::Errno;

/// A party, and the commands that it still owes for the returns that it has read.
pub(super) struct Actor<'s> {
    pub(super) party: Party<'s>,
    core: &'s CoreRig,
    /// A call has begun whose end was not seen.
    is_calling: bool,
    to_say: Commands,
    /// How its calls ended.
    pub(super) results: Vec<Result<(), Errno>>,
    /// The replies it has read.
    pub(super) replies: usize,
}

/// The manager, whose object takes descriptors.
pub(super) fn manager(stage: &Stage) -> Party<'_> {
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    stage.manager_named(FlatBinderObject { flags, ..FlatBinderObject::default() })
}

/// The payload: an object, and a file.
pub(super) fn message() -> Message {
    Message::new(1).flags(TF_ACCEPT_FDS).bytes(b"some").binder(0x1000, 1).descriptor(0, 0)
}

impl<'s> Actor<'s> {
    pub(super) fn new(stage: &'s Stage, party: Party<'s>) -> Self {
        let core = stage.rig().core().expect("a rig on the core");
        let (is_calling, results, replies) = (false, Vec::new(), 0);
        Self { party, core, is_calling, to_say: commands(), results, replies }
    }

    /// Whether it is there, and is in no call.
    pub(super) fn is_free(&mut self) -> bool {
        self.take_result();
        !self.is_calling && self.core.is_open(self.party.caller().process)
    }

    /// Begins to write commands, and what was to be said before; and to read, if it `reads`.
    pub(super) fn begin(&mut self, commands: Commands, reads: bool) {
        if !self.is_free() {
            return;
        }
        let all = std::mem::take(&mut self.to_say).then(commands);
        let argument = self.party.writing(&all);
        let argument = if reads { self.party.reading(argument) } else { argument };
        self.is_calling = true;
        self.party.start(argument);
        self.take_result();
    }

    pub(super) fn set_mode(&self, mode: Mode) {
        if self.core.is_open(self.party.caller().process) {
            self.party.set_mode(mode);
        }
    }

    /// Sends it a signal.
    pub(super) fn interrupt(&mut self) {
        self.take_result();
        if self.is_calling {
            self.core.interrupt(self.party.caller().thread);
            self.take_result();
        }
    }

    /// Reads and acknowledges until nothing comes any more.
    pub(super) fn serve(&mut self) {
        self.set_mode(Mode::Nonblocking);
        // A fault may have it read, and say, once more.
        for _ in 0..20 {
            let before = self.results.len();
            self.begin(commands(), true);
            let is_idle = self.results.last() == Some(&Err(Errno::AGAIN));
            if self.is_calling || self.results.len() == before || is_idle {
                return;
            }
        }
    }

    /// Looks whether its call is over, and at what it brought.
    fn take_result(&mut self) {
        if !self.is_calling || self.party.is_parked() {
            return;
        }
        self.is_calling = false;
        // Nothing is interrupted: the call is over.
        let Attempt { result, returns, argument } = self.party.interrupted();
        assert!(argument.write_consumed <= argument.write_size && is_in_bounds(&argument));
        self.results.push(result);
        for returned in returns {
            self.note(returned);
        }
    }

    fn note(&mut self, returned: Return) {
        let say = std::mem::take(&mut self.to_say);
        self.to_say = match returned {
            Increfs(ptr, cookie) => say.increfs_done(ptr, cookie),
            Acquire(ptr, cookie) => say.acquire_done(ptr, cookie),
            Reply(reply) => {
                self.replies += 1;
                say.free(reply.buffer)
            }
            Transaction(oneway) if oneway.flags & TF_ONE_WAY != 0 => say.free(oneway.buffer),
            Transaction(call) => say.free(call.buffer).reply(Message::new(0).bytes(b"reply")),
            DeadBinder(cookie) => say.dead_binder_done(cookie),
            _ => say,
        };
    }
}

fn is_in_bounds(argument: &BinderWriteRead) -> bool {
    argument.read_consumed <= argument.read_size
}
