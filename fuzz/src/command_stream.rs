//! Bytes as what several processes do to one device.
//!
//! The input is a list of steps, and at the same time the memory of every process: a step names a
//! write buffer within the input, whose commands may point to data anywhere within it.

use std::collections::HashMap;
use std::ops::Range;

use binder_core::{
    Caller, CallerMemory, CapturedFile, ClaimedAddr, Commands, Context, CopyFault, Effect, Errno,
    LiveObjects, MappingArea, NamespaceId, NotInstalled, Opener, Outcome, PidTable, ProcessKey,
    ReceiveBuffers, ReleaseProgress, ThreadKey, UidMap, Waits,
};
use binder_uapi::{BinderTransactionDataSg, BinderWriteRead, FlatBinderObject};

const PROCESSES: usize = 4;
const THREADS: u32 = 2;
/// Objects that a call deals with before it lets others have their turn.
const SLICE_OBJECTS: usize = 2;
const STEP_BYTES: usize = 6;
const AREA_BYTES: u32 = 16 << 10;
/// Addresses at which reads may write and receive buffers are mapped; the input lies below them.
const READ_BUFFERS: u64 = 1 << 32;
const AREAS: u64 = 1 << 40;

/// The descriptors that every process has; an odd number of them cannot be installed at once.
const DESCRIPTORS: u32 = 64;

/// A thread that sleeps in a read.
struct Sleeper {
    caller: Caller,
    request: BinderWriteRead,
}

struct Memory<'a> {
    input: &'a [u8],
    areas: HashMap<ProcessKey, Vec<u8>>,
}

impl Memory<'_> {
    fn area(&mut self, process: ProcessKey, offset: u32, len: u32) -> &mut [u8] {
        let area = self.areas.entry(process).or_insert_with(|| vec![0; AREA_BYTES as usize]);
        &mut area[offset as usize..(offset + len) as usize]
    }
}

/// The input, as the memory of the caller.
struct Input<'a>(&'a [u8]);

impl CallerMemory for Input<'_> {
    fn read(
        &mut self,
        ClaimedAddr(address): ClaimedAddr,
        into: &mut [u8],
    ) -> Result<(), CopyFault> {
        let start = usize::try_from(address).map_err(|_| CopyFault)?;
        let end = start.checked_add(into.len()).ok_or(CopyFault)?;
        into.copy_from_slice(self.0.get(start..end).ok_or(CopyFault)?);
        Ok(())
    }
}

/// Where a process mapped its receive buffer: the last one never does.
fn mapping_of(process: ProcessKey) -> Option<MappingArea> {
    let base = AREAS + process.slot() as u64 * u64::from(AREA_BYTES);
    let len_bytes = u64::from(AREA_BYTES);
    (process.slot() + 1 != PROCESSES).then_some(MappingArea { base, len_bytes })
}

impl ReceiveBuffers for Memory<'_> {
    fn store(&mut self, to: ProcessKey, offset: u32, bytes: &[u8]) -> Result<(), CopyFault> {
        let len = u32::try_from(bytes.len()).map_err(|_| CopyFault)?;
        self.area(to, offset, len).copy_from_slice(bytes);
        Ok(())
    }

    fn publish(&mut self, to: ProcessKey, offset: u32, len: u32) -> Result<(), CopyFault> {
        self.area(to, offset, len);
        Ok(())
    }

    fn capture_file(
        &mut self,
        _: ProcessKey,
        fd: u32,
        _: ProcessKey,
    ) -> Result<CapturedFile, Errno> {
        if fd < DESCRIPTORS { Ok(CapturedFile::new(fd)) } else { Err(Errno::EBADF) }
    }

    fn release(&mut self, of: ProcessKey, bytes: Range<u32>) {
        self.clear(of, bytes.start, bytes.end - bytes.start);
    }

    fn clear(&mut self, to: ProcessKey, offset: u32, len: u32) {
        self.area(to, offset, len).fill(0);
    }
}

/// Lets the processes act as the input says, then end, and checks that nothing is left of them.
///
/// # Panics
///
/// Panics if the driver does, or if an object outlives its processes.
pub fn check(input: &[u8]) {
    // The input is short: with slices as they are, no call would yield.
    let mut context = Context::new().in_slices_of(SLICE_OBJECTS);
    let mut memory = Memory { input, areas: HashMap::new() };
    let mut parked: HashMap<ThreadKey, Sleeper> = HashMap::new();
    let mut processes = Vec::new();
    let mut pids = PidTable::new(NamespaceId(0));
    for _ in 0..PROCESSES {
        let opener = Opener {
            pid: pids.allocate(None).expect("few processes"),
            uid: 0,
            uids: UidMap::identity(),
            security_label: (*b"label").into(),
        };
        processes.push(context.open(opener).expect("few files"));
    }
    for step in input.chunks_exact(STEP_BYTES).take(64) {
        let process = processes[usize::from(step[0]) % PROCESSES];
        let tid = u32::from(step[0] >> 2) % THREADS + 1;
        let caller = Caller { process, tid, euid: 0, waits: Waits::UntilReady };
        let asleep = parked.iter().find(|(_, sleeper)| sleeper.caller == caller);
        if let Some(thread) = asleep.map(|(thread, _)| *thread) {
            // It sleeps in the driver: all that can happen to it is a signal.
            assert!(context.interrupt(thread), "a read that sleeps can be interrupted");
            parked.remove(&thread);
            continue;
        }
        let place = u64::from(u16::from_le_bytes([step[2], step[3]]));
        match step[1] % 16 {
            0 => {
                let flags = u32::from(step[4]) << 8;
                let object =
                    FlatBinderObject { binder: place, flags, ..FlatBinderObject::default() };
                let _ = context.become_context_manager(&caller, &object);
            }
            1 => context.set_max_threads(&caller, u32::from(step[2])),
            2 => context.exit_thread(&caller, &mut memory),
            3 => context.flush(process),
            4 => drop(context.poll(&caller)),
            5 => drop(context.node_debug_info(&caller, place)),
            6 => drop(context.reclaim_idle_pages(0, usize::MAX, &mut memory)),
            _ => {
                let mut request = BinderWriteRead {
                    write_size: u64::from(step[4]),
                    write_buffer: place,
                    read_size: u64::from(step[5]),
                    read_buffer: if step[1] & 0x80 == 0 { READ_BUFFERS } else { 0 },
                    ..BinderWriteRead::default()
                };
                let mut commands = Commands::fetch(&request, &mut Input(memory.input));
                let result = context.write_read(&caller, &mut request, &mut commands, &mut memory);
                // The thread may end before what it waits for is done.
                let is_killed = step[5] % 16 == 7;
                let sleeper = Sleeper { caller, request };
                let call = (sleeper, commands);
                go_on(&mut context, &mut parked, call, result, is_killed, &mut memory);
            }
        }
        settle(&mut context, &mut parked, &mut memory);
        while let ReleaseProgress::Unfinished = context.run_background_slice(&mut memory) {}
        settle(&mut context, &mut parked, &mut memory);
    }
    for process in processes {
        while let ReleaseProgress::Unfinished = context.release(process, &mut memory) {}
        settle(&mut context, &mut parked, &mut memory);
    }
    while let ReleaseProgress::Unfinished = context.run_background_slice(&mut memory) {}
    assert_eq!(context.live_objects(), LiveObjects::default());
}

/// Resumes those that were woken, until none is.
fn settle(
    context: &mut Context,
    parked: &mut HashMap<ThreadKey, Sleeper>,
    memory: &mut Memory<'_>,
) {
    while let Some(effect) = context.poll_effect() {
        let Effect::Wake(thread) = effect else { continue };
        let Some(sleeper) = parked.remove(&thread) else { continue };
        let result = context.resume(thread, &sleeper.request);
        let commands = Commands::none(&sleeper.request);
        go_on(context, parked, (sleeper, commands), result, false, memory);
    }
}

/// Does what a call asks for until it is over or sleeps.
fn go_on(
    context: &mut Context,
    parked: &mut HashMap<ThreadKey, Sleeper>,
    (mut sleeper, mut commands): (Sleeper, Commands),
    mut result: Result<Outcome, Errno>,
    is_killed: bool,
    memory: &mut Memory<'_>,
) {
    loop {
        let request = &mut sleeper.request;
        // The last command may end behind the write buffer.
        let longest = (4 + size_of::<BinderTransactionDataSg>()) as u64;
        assert!(request.write_consumed < request.write_size.max(1) + longest);
        let is_window =
            matches!(result, Ok(Outcome::CopyOut(_) | Outcome::FdWork(_) | Outcome::Yield(_)));
        if is_window && is_killed {
            context.exit_thread(&sleeper.caller, memory);
        }
        match result {
            Ok(Outcome::Park(thread)) => {
                parked.insert(thread, sleeper);
                return;
            }
            Ok(Outcome::Done) | Err(_) => return,
            Ok(Outcome::Fetch) => {
                commands.fetch_next(request, &mut Input(memory.input));
                result = context.write_read(&sleeper.caller, request, &mut commands, memory);
            }
            Ok(Outcome::Locate(receiver)) => {
                context.note_mapping(receiver, mapping_of(receiver));
                result = context.write_read(&sleeper.caller, request, &mut commands, memory);
            }
            Ok(Outcome::Yield(thread)) => {
                let caller = &sleeper.caller;
                result = context.go_on(caller, thread, request, &mut commands, memory);
                assert!(!is_killed || matches!(result, Err(Errno::EINVAL)));
            }
            Ok(Outcome::CopyOut(copy_out)) => {
                assert!(!copy_out.bytes.is_empty(), "a read that has nothing to tell ends so");
                let is_writable = copy_out.address.0 >= READ_BUFFERS;
                let written = if is_writable { Ok(()) } else { Err(CopyFault) };
                result = context.finish_copy_out(copy_out, written, request, memory);
                assert!(!is_killed || matches!(result, Err(Errno::EINVAL)));
            }
            Ok(Outcome::FdWork(fd_work)) => {
                let files = fd_work.install.into_iter().map(CapturedFile::into_inner::<u32>);
                let numbers: Option<Vec<u32>> = files.collect();
                let numbers = numbers.expect("a file comes back as it went");
                let installed = if numbers.len().is_multiple_of(2) {
                    Ok(numbers)
                } else {
                    Err(NotInstalled { errno: 24, reason: "no room" })
                };
                result = context.finish_fd_work(fd_work.key, installed, request, memory);
                assert!(!is_killed || matches!(result, Err(Errno::EINVAL)));
            }
        }
    }
}
