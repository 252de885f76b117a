//! Calls of 64 bytes and their replies through the front end of a device, with an executor that does nothing but copy.
//!
//! A client and a server of one thread each make three ioctls for a call, as libbinder does; with `deferred`, two. With
//! `traced`, the events of a trace are taken after each ioctl.
//! Instructions for a call are the difference of two runs under callgrind, divided by 1000:
//!
//! ```sh
//! cargo bench -p binder-frontend --bench call --no-run
//! valgrind --tool=callgrind target/release/deps/call-HASH 1000 [deferred] [traced]
//! valgrind --tool=callgrind target/release/deps/call-HASH 2000 [deferred] [traced]
//! ```

use std::ops::Range;
use std::time::Instant;

use binder_core::{
    CallerMemory, CapturedFile, ClaimedAddr, Context, CopyFault, Errno, Inheritance, KernelProcess,
    MappingArea, NamespaceId, Opener, PidTable, ProcessKey, ReceiveBuffers, TraceEvent, UidMap,
};
use binder_frontend::{
    AccessEnd, Action, Answer, Call, CallingThread, Event, FreeLists, Frontend, IoctlData,
    MemoryAccess, RequestContext,
};
use binder_uapi::{
    ANYBINDER_DEFER_COMPLETIONS, BC_ENTER_LOOPER, BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION,
    BINDER_SET_CONTEXT_MGR, BINDER_VERSION, BINDER_WRITE_READ, BinderTransactionData,
    BinderWriteRead,
};
use zerocopy::{FromZeros, Immutable, IntoBytes};

const DATA_BYTES: usize = 64;
const BASE: u64 = 1 << 32;
/// Where a client has its commands, the data that it sends, and its read buffer.
const COMMANDS: usize = 0x1000;
const DATA: usize = 0x2000;
const RETURNS: usize = 0x3000;
const RETURNS_BYTES: usize = 256;

/// Receive buffers of both, each up to the same offset.
struct BenchBuffers(Vec<u8>);

impl ReceiveBuffers for BenchBuffers {
    fn store(&mut self, _: ProcessKey, offset: u32, bytes: &[u8]) -> Result<(), CopyFault> {
        let place = self.0.get_mut(offset as usize..).and_then(|it| it.get_mut(..bytes.len()));
        place.ok_or(CopyFault)?.copy_from_slice(bytes);
        Ok(())
    }

    fn publish(&mut self, _: ProcessKey, _: u32, _: u32) -> Result<(), CopyFault> {
        Ok(())
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

/// A client's memory: addresses are places in it.
struct BenchMemory(Vec<u8>);

impl CallerMemory for BenchMemory {
    fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
        let start = usize::try_from(address.0).map_err(|_| CopyFault)?;
        let bytes = self.0.get(start..).and_then(|it| it.get(..into.len()));
        into.copy_from_slice(bytes.ok_or(CopyFault)?);
        Ok(())
    }
}

struct BenchClient {
    process: ProcessKey,
    tid: u32,
    memory: BenchMemory,
    commands_len: usize,
    /// The buffer that came last, to be freed.
    received: Option<u64>,
}

impl BenchClient {
    fn put(&mut self, command: u32, payload: &(impl IntoBytes + Immutable)) {
        for bytes in [command.as_bytes(), payload.as_bytes()] {
            let start = COMMANDS + self.commands_len;
            self.memory.0[start..start + bytes.len()].copy_from_slice(bytes);
            self.commands_len += bytes.len();
        }
    }

    fn send(&mut self, command: u32) {
        if let Some(buffer) = self.received.take() {
            self.put(BC_FREE_BUFFER, &buffer);
        }
        let mut data = BinderTransactionData::new_zeroed();
        (data.buffer, data.data_size) = (DATA as u64, DATA_BYTES as u64);
        self.put(command, &data);
    }

    /// Writes the returns of a read, the last of which has brought a buffer if there is one.
    fn take_returns(&mut self, bytes: &[u8]) {
        self.memory.0[RETURNS..RETURNS + bytes.len()].copy_from_slice(bytes);
        // Behind the code, the cookie, and all else that is before the buffer.
        let at = bytes.len().checked_sub(16).filter(|_| bytes.len() >= 68);
        let buffer = at.and_then(|at| bytes[at..].first_chunk());
        self.received = buffer.map(|buffer| u64::from_ne_bytes(*buffer)).or(self.received);
    }
}

/// A device with a client and a server, in this order.
struct BenchWorld {
    frontend: Frontend<usize>,
    buffers: BenchBuffers,
    clients: Vec<BenchClient>,
    actions: Vec<Action<usize>>,
    events: Vec<TraceEvent>,
    free_lists: FreeLists,
    last_unique: u64,
    answers: usize,
}

impl BenchWorld {
    fn new() -> Self {
        let mut frontend = Frontend::new(Context::new(), Inheritance::Nothing, false);
        let mut pids = PidTable::new(NamespaceId(0));
        let open = |client: usize| {
            let pid = 7 + u32::try_from(client).expect("one of two");
            let levels = vec![(Some(NamespaceId(0)), pid)];
            let found = KernelProcess { pid, levels, started_at: 0 };
            let pid_entry = pids.adopt(found, None).expect("a free number");
            let opener = Opener {
                pid: pid_entry,
                uid: 0,
                uids: UidMap::identity(),
                security_label: Box::default(),
            };
            let process = frontend.open(opener, client, false, None).expect("one of two");
            let memory = BenchMemory(vec![1; 0x4000]);
            BenchClient { process, tid: pid, memory, commands_len: 0, received: None }
        };
        Self {
            clients: (0..2).map(open).collect(),
            frontend,
            buffers: BenchBuffers(vec![0; 1 << 20]),
            actions: Vec::new(),
            events: Vec::new(),
            free_lists: FreeLists::default(),
            last_unique: 0,
            answers: 0,
        }
    }

    fn ioctl(&mut self, client: usize, command: u32, bytes: &[u8]) {
        self.last_unique += 2;
        let BenchClient { process, tid, .. } = self.clients[client];
        let unique = self.last_unique;
        let request =
            RequestContext { unique, process, tid, uid: 0, argument: 0, is_compat: false };
        let data = IoctlData::new(bytes).expect("a struct of the driver's");
        let mut call: Box<Call> = self.free_lists.call(request, data);
        if let Ok(wanted) = zerocopy::FromBytes::read_from_bytes(bytes)
            && let Some(mut access) = self.free_lists.fetch(request, &wanted)
        {
            if let MemoryAccess::Commands(call, commands) = &mut access.access {
                commands.fetch_next(call, &mut self.clients[client].memory);
            }
            call.set_fetched(access);
        }
        self.handle(Event::Ioctl { call, thread: CallingThread::default(), command });
    }

    /// Writes the commands of a client and has it read.
    fn exchange(&mut self, client: usize) {
        let state = &mut self.clients[client];
        let write_size = std::mem::take(&mut state.commands_len) as u64;
        let request = BinderWriteRead {
            write_size,
            write_buffer: COMMANDS as u64,
            read_size: RETURNS_BYTES as u64,
            read_buffer: RETURNS as u64,
            ..BinderWriteRead::default()
        };
        self.ioctl(client, BINDER_WRITE_READ, request.as_bytes());
    }

    fn handle(&mut self, event: Event) {
        self.frontend.handle(event, &mut self.buffers);
        if self.frontend.context().has_trace() {
            self.frontend.context_mut().take_trace(&mut self.events);
            self.events.clear();
        }
        self.frontend.take_actions(&mut self.actions);
        self.frontend.balance_free_lists(&mut self.free_lists);
        let mut actions = std::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            self.act(action);
        }
        if self.actions.is_empty() {
            self.actions = actions;
        }
    }

    fn act(&mut self, action: Action<usize>) {
        match action {
            Action::Answer { call, answer } => {
                assert_eq!(answer, Answer::Done);
                self.answers += 1;
                self.free_lists.keep_call(call);
            }
            Action::Access { file, mut access } => {
                match &mut access.access {
                    MemoryAccess::Commands(call, commands) => {
                        commands.fetch_next(call, &mut self.clients[file].memory);
                    }
                    MemoryAccess::CopyOut(copy_out) => {
                        assert_eq!(copy_out.address.0, RETURNS as u64);
                        self.clients[file].take_returns(&copy_out.bytes);
                    }
                    MemoryAccess::Turn(..) | MemoryAccess::Nothing => {}
                }
                access.end = AccessEnd::Done;
                match access.take_ended_call() {
                    Some(call) => {
                        self.answers += 1;
                        self.free_lists.keep_call(call);
                        self.free_lists.keep_access(access);
                    }
                    None => self.handle(Event::Accessed(access)),
                }
            }
            Action::Locate { receiver, request, commands, .. } => {
                let area = MappingArea { base: BASE, len_bytes: 1 << 20 };
                let memory = &mut self.buffers;
                self.frontend.located(*request, commands, receiver, Some(area), memory);
                let mut actions = Vec::new();
                self.frontend.take_actions(&mut actions);
                actions.into_iter().for_each(|action| self.act(action));
            }
            other => panic!("nothing else is to be done: {other:?}"),
        }
    }

    fn call(&mut self, is_deferred: bool) {
        let answers = self.answers;
        let [client, server] = [0, 1];
        self.clients[client].send(BC_TRANSACTION);
        self.exchange(client);
        self.clients[server].send(BC_REPLY);
        self.exchange(server);
        if !is_deferred {
            self.exchange(server);
        }
        assert_eq!(self.answers - answers, if is_deferred { 2 } else { 3 });
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let calls = arguments.iter().find_map(|it| it.parse().ok()).unwrap_or(1_000_000);
    let is_deferred = arguments.iter().any(|it| it == "deferred");
    let mut world = BenchWorld::new();
    if arguments.iter().any(|it| it == "traced") {
        world.frontend.context_mut().begin_trace();
    }
    let [client, server] = [0, 1];
    // A thread returns from its first read at once, unless it called before.
    world.ioctl(client, BINDER_VERSION, &[0; 4]);
    world.ioctl(server, BINDER_SET_CONTEXT_MGR, &0_u32.to_ne_bytes());
    world.ioctl(server, ANYBINDER_DEFER_COMPLETIONS, &u32::from(is_deferred).to_ne_bytes());
    world.clients[server].put(BC_ENTER_LOOPER, &());
    world.exchange(server);
    // They find out once where to read and where their buffers are.
    (0..10).for_each(|_| world.call(is_deferred));
    let start = Instant::now();
    (0..calls).for_each(|_| world.call(is_deferred));
    println!("{} ns a call", start.elapsed().as_nanos() / u128::from(calls.max(1_u64)));
}
