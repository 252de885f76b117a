//! A party of a check: one thread, calling through one open file.

use binder_uapi::{
    BINDER_GET_EXTENDED_ERROR, BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT, BINDER_WRITE_READ,
    BinderExtendedError, BinderTransactionData, BinderWriteRead, FlatBinderObject,
};
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

use crate::command::{Commands, Placement};
use crate::{
    Caller, Entrance, Host, Message, Mode, Progress, Return, Rig, Stage, Waiter, expect,
    parse_returns,
};

const READ_LEN_BYTES: usize = 4096;

/// One thread of one open file, with buffers of its own.
#[derive(Clone, Copy)]
pub struct Party<'s> {
    stage: &'s Stage,
    host: Host,
    caller: Caller,
    area: Area,
    argument: u64,
    read_buffer: u64,
}

/// Where a receive area is; empty if there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Area {
    /// First address.
    pub base: u64,
    /// Length in bytes.
    pub len: usize,
}

/// What a `BINDER_WRITE_READ` came to.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The return value.
    pub result: Result<(), Errno>,
    /// The argument afterwards.
    pub argument: BinderWriteRead,
    /// What the read brought, from the start of the read buffer.
    pub returns: Vec<Return>,
}

impl<'s> Party<'s> {
    pub(crate) fn new(stage: &'s Stage, host: Host, caller: Caller, area: Area) -> Self {
        let rig = stage.rig();
        let argument = rig.allocate(host, size_of::<BinderWriteRead>());
        let read_buffer = rig.allocate(host, READ_LEN_BYTES);
        Self { stage, host, caller, area, argument, read_buffer }
    }

    // --- who it is ---

    /// The host it lives in.
    #[must_use]
    pub fn host(&self) -> Host {
        self.host
    }

    /// The thread and the open file.
    #[must_use]
    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// Where it receives.
    #[must_use]
    pub fn area(&self) -> Area {
        self.area
    }

    /// The number under which others see it.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.rig().pid(self.host)
    }

    fn rig(&self) -> &'s dyn Rig {
        self.stage.rig()
    }

    /// Another thread on the same open file.
    #[must_use]
    pub fn thread(&self) -> Party<'s> {
        let thread = self.cold_thread();
        // A fresh thread may be answered at once where another would wait ("need return"); any
        // ioctl ends that.
        thread.write(crate::commands());
        thread
    }

    /// Another thread on the same open file, which the driver has not seen yet.
    #[must_use]
    pub fn cold_thread(&self) -> Party<'s> {
        self.stage.join(self.host, self.caller.process, self.area)
    }

    /// Another open file, with a thread of its own, in the same host.
    #[must_use]
    pub fn second_open(&self) -> Party<'s> {
        self.stage.enter(Entrance { host: Some(self.host), ..Entrance::default() })
    }

    // --- writing and reading ---

    /// Writes commands, all of which must be taken.
    pub fn write(&self, commands: Commands) {
        let attempt = self.try_write(commands);
        attempt.result.expect("writes commands");
        let argument = attempt.argument;
        assert_eq!(argument.write_consumed, argument.write_size, "commands were left");
    }

    /// Writes commands.
    #[must_use]
    pub fn try_write(&self, commands: Commands) -> Attempt {
        self.attempt(self.writing(&commands))
    }

    /// Reads; there must be something to read. A leading `BR_NOOP` is left out.
    pub fn read(&self) -> Vec<Return> {
        self.exchange(crate::commands())
    }

    /// Reads, if there is anything to read or the file does not wait.
    #[must_use]
    pub fn try_read(&self) -> Attempt {
        self.attempt(self.reading(BinderWriteRead::default()))
    }

    /// Writes commands and reads in one ioctl, which must not wait.
    #[must_use]
    pub fn exchange(&self, commands: Commands) -> Vec<Return> {
        let attempt = self.attempt(self.reading(self.writing(&commands)));
        attempt.result.expect("writes and reads");
        without_noop(attempt.returns)
    }

    /// Starts to read; there must be nothing to read.
    pub fn park(&self) {
        self.park_with(crate::commands());
    }

    /// Writes commands and starts to read in one ioctl; there must be nothing to read.
    pub fn park_with(&self, commands: Commands) {
        let argument = self.reading(self.writing(&commands));
        match self.start(argument) {
            Progress::Parked => {}
            Progress::Done(result) => self.should_wait(result),
        }
    }

    fn should_wait(&self, result: Result<(), Errno>) -> ! {
        let attempt = self.ended(result);
        panic!("the read should wait, but ended: {attempt:#x?}");
    }

    /// Asserts that the read that was parked still is.
    pub fn assert_parked(&self) {
        if let Progress::Done(result) = self.rig().settle(self.caller.thread) {
            self.should_wait(result);
        }
    }

    /// What the parked read brought, once the driver has woken it. No leading `BR_NOOP`.
    #[must_use]
    pub fn woken(&self) -> Vec<Return> {
        let attempt = self.ended(self.rig().finish(self.caller.thread));
        attempt.result.expect("the parked read succeeds");
        without_noop(attempt.returns)
    }

    /// Whether the read that was parked still is.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.rig().settle(self.caller.thread) == Progress::Parked
    }

    /// Ends the parked read by a signal.
    #[must_use]
    pub fn interrupted(&self) -> Attempt {
        self.rig().interrupt(self.caller.thread);
        self.ended(self.rig().finish(self.caller.thread))
    }

    /// Asserts that there is nothing to read.
    pub fn assert_idle(&self) {
        self.park();
        assert_eq!(self.interrupted().result, Err(Errno::INTR));
    }

    // --- the same, by hand ---

    /// An argument that writes `commands` and reads nothing.
    #[must_use]
    pub fn writing(&self, commands: &Commands) -> BinderWriteRead {
        let bytes = commands.encode(|message| self.place_message(message));
        BinderWriteRead {
            write_size: bytes.len() as u64,
            write_buffer: self.place(&bytes),
            ..BinderWriteRead::default()
        }
    }

    /// `argument`, reading into this party's read buffer as well.
    #[must_use]
    pub fn reading(&self, argument: BinderWriteRead) -> BinderWriteRead {
        BinderWriteRead {
            read_size: READ_LEN_BYTES as u64,
            read_buffer: self.read_buffer,
            ..argument
        }
    }

    /// Starts a `BINDER_WRITE_READ`.
    pub fn start(&self, argument: BinderWriteRead) -> Progress {
        self.rig().poke(self.host, self.argument, argument.as_bytes());
        self.rig().ioctl(self.caller, BINDER_WRITE_READ, self.argument)
    }

    /// Makes a `BINDER_WRITE_READ`, which must not wait.
    #[must_use]
    pub fn attempt(&self, argument: BinderWriteRead) -> Attempt {
        self.start(argument);
        self.ended(self.rig().finish(self.caller.thread))
    }

    fn ended(&self, result: Result<(), Errno>) -> Attempt {
        let argument: BinderWriteRead = self.peek_value(self.argument);
        let returns = if result.is_ok() && argument.read_size > 0 {
            let filled = usize::try_from(argument.read_consumed).expect("a length");
            parse_returns(&self.peek(argument.read_buffer, filled))
        } else {
            Vec::new()
        };
        Attempt { result, argument, returns }
    }

    // --- transactions ---

    /// Reads one call or oneway, and nothing else.
    pub fn read_call(&self) -> BinderTransactionData {
        expect!(self.read() => [Return::Transaction(call)]);
        call
    }

    /// Waits for one call or oneway to wake the parked read.
    pub fn woken_by_call(&self) -> BinderTransactionData {
        expect!(self.woken() => [Return::Transaction(call)]);
        call
    }

    /// Reads the completion of a call and its reply.
    pub fn read_reply(&self) -> BinderTransactionData {
        expect!(self.read() => [Return::TransactionComplete, Return::Reply(reply)]);
        reply
    }

    /// Frees the call's buffer, replies and reads the completion.
    pub fn answer(&self, call: &BinderTransactionData, message: Message) {
        expect!(self.exchange(crate::commands().free(call.buffer).reply(message)) => [
            Return::TransactionComplete
        ]);
    }

    /// The data of a received transaction.
    #[must_use]
    pub fn data(&self, received: &BinderTransactionData) -> Vec<u8> {
        self.peek(received.buffer, usize::try_from(received.data_size).expect("a length"))
    }

    /// The offsets of a received transaction.
    #[must_use]
    pub fn offsets(&self, received: &BinderTransactionData) -> Vec<u64> {
        let len = usize::try_from(received.offsets_size).expect("a length");
        let bytes = self.peek(received.offsets, len);
        bytes.chunks(8).map(|chunk| u64::read_from_bytes(chunk).expect("eight bytes")).collect()
    }

    /// The objects of a received transaction, none of them longer than a flat object.
    #[must_use]
    pub fn objects(&self, received: &BinderTransactionData) -> Vec<FlatBinderObject> {
        let offsets = self.offsets(received);
        offsets.iter().map(|offset| self.peek_value(received.buffer + offset)).collect()
    }

    // --- other requests ---

    /// Makes a request with an argument that goes both ways.
    pub fn ioctl<T: IntoBytes + FromBytes + zerocopy::Immutable>(
        &self,
        request: u32,
        argument: &mut T,
    ) -> Result<(), Errno> {
        let address = self.place(argument.as_bytes());
        let result = self.ioctl_at(request, address);
        *argument = self.peek_value(address);
        result
    }

    /// Makes a request with an argument at `address`; it must not wait.
    pub fn ioctl_at(&self, request: u32, address: u64) -> Result<(), Errno> {
        self.rig().ioctl(self.caller, request, address);
        self.rig().finish(self.caller.thread)
    }

    /// Limits the pool of loopers that the driver may ask for.
    pub fn set_max_threads(&self, threads: u32) {
        let mut argument = threads;
        self.ioctl(BINDER_SET_MAX_THREADS, &mut argument).expect("sets the pool's limit");
    }

    /// Tells the driver that this thread ends.
    pub fn exit_thread(&self) {
        let mut argument = 0_u32;
        self.ioctl(BINDER_THREAD_EXIT, &mut argument).expect("a thread may always exit");
    }

    /// Fetches and resets the thread's last transaction error.
    #[must_use]
    pub fn extended_error(&self) -> BinderExtendedError {
        let mut error = BinderExtendedError::default();
        self.ioctl(BINDER_GET_EXTENDED_ERROR, &mut error).expect("the error can be fetched");
        error
    }

    /// Waits until another party's leaving, which takes its time, has reached this thread.
    pub fn await_readable(&self) {
        self.rig().wait_readable(self.caller, Waiter::Poll);
        self.rig().finish(self.caller.thread).expect("poll");
    }

    /// Switches `O_NONBLOCK`.
    pub fn set_mode(&self, mode: Mode) {
        self.rig().set_mode(self.caller.process, mode);
    }

    /// Closes the open file.
    pub fn close(&self) {
        self.rig().close(self.caller.process);
    }

    /// Kills the host.
    pub fn kill(&self) {
        self.rig().kill(self.host);
    }

    /// Closes a descriptor of the host.
    pub fn close_descriptor(&self, fd: u64) {
        self.rig().descriptors().close_descriptor(self.host, fd);
    }

    /// Asks for readiness as this thread.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.rig().poll(self.caller).is_readable
    }

    // --- memory ---

    /// Puts bytes into the host's memory.
    #[must_use]
    pub fn place(&self, bytes: &[u8]) -> u64 {
        let address = self.rig().allocate(self.host, bytes.len());
        self.rig().poke(self.host, address, bytes);
        address
    }

    /// Puts bytes where the host's memory ends: what follows them is not mapped.
    #[must_use]
    pub fn place_at_edge(&self, bytes: &[u8]) -> u64 {
        let address = self.rig().guard(self.host) - bytes.len() as u64;
        self.rig().poke(self.host, address, bytes);
        address
    }

    fn place_message(&self, message: &Message) -> Placement {
        let mut data = message.data.clone();
        for (address_at, bytes) in &message.buffers {
            let address = self.place(bytes);
            data[*address_at..][..size_of::<u64>()].copy_from_slice(address.as_bytes());
        }
        let buffer = self.place(&data);
        Placement { buffer, offsets: self.place(message.offsets.as_bytes()) }
    }

    /// Overwrites the host's memory.
    pub fn poke(&self, address: u64, bytes: &[u8]) {
        self.rig().poke(self.host, address, bytes);
    }

    /// Reads the host's memory, receive areas included.
    #[must_use]
    pub fn peek(&self, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.rig().peek(self.host, address, &mut bytes).expect("memory that the host can read");
        bytes
    }

    /// Reads a value from the host's memory.
    #[must_use]
    pub fn peek_value<T: FromBytes>(&self, address: u64) -> T {
        T::read_from_bytes(&self.peek(address, size_of::<T>())).expect("a value of its size")
    }
}

fn without_noop(mut returns: Vec<Return>) -> Vec<Return> {
    if returns.first() == Some(&Return::Noop) {
        returns.remove(0);
    }
    returns
}
