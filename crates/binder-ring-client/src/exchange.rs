//! One `BINDER_WRITE_READ` through a slot.

use core::sync::atomic::Ordering;

use binder_ring::layout::DATA_BYTES;
use binder_ring::{
    MemoryWindow, MemoryWindows, RequestKind, Ring, RingAnswer, RingRequest, SlotIndex, SlotWord,
};
use binder_uapi::{BinderWriteRead, Errno, RING_INTERRUPT};

use crate::caller::{CallMemory, RingSystem, SleepEnd};
use crate::ring::ClientRing;
use crate::spin::SpinHistory;

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the ioctl may be due"]
pub enum RingOutcome {
    /// It is over, and ended as the ioctl would have.
    Done(Result<(), Errno>),
    /// The ioctl is to be made, with the struct as it is: the driver may have done some of the call.
    Ioctl,
    /// The same, and this thread will never have a slot of this ring.
    Refused,
}

/// Whether a read waits for something to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadWait {
    /// It waits, unless the device is non-blocking.
    UntilReady,
    /// Without, it ends with `EAGAIN`.
    Never,
}

/// The most bytes of commands that are searched for sends. Longer ones are mostly references and buffers that are given
/// back; the driver reads the data of sends behind them from the client itself.
const PARSED_BYTES: usize = 512;

impl ClientRing {
    /// Has the driver run a call of the thread that has claimed `slot`, and waits until it has.
    ///
    /// Changes `write_consumed` and `read_consumed` of the call, as the ioctl does.
    pub fn exchange(
        &self,
        slot: SlotIndex,
        call: &mut BinderWriteRead,
        system: &impl RingSystem,
        memory: &impl CallMemory,
    ) -> RingOutcome {
        self.exchange_waiting(ReadWait::UntilReady, slot, call, system, memory)
    }

    /// The same, with a read that waits, or does not.
    pub fn exchange_waiting(
        &self,
        waits: ReadWait,
        slot: SlotIndex,
        call: &mut BinderWriteRead,
        system: &impl RingSystem,
        memory: &impl CallMemory,
    ) -> RingOutcome {
        if self.is_lost() {
            return RingOutcome::Ioctl;
        }
        let head = self.segment.slot(slot);
        if !head.word.take() {
            self.end_call_below(slot, system);
            return RingOutcome::Ioctl;
        }
        let windows = self.copy_commands(slot, call, memory);
        let kind = match waits {
            ReadWait::UntilReady => RequestKind::Call,
            ReadWait::Never => RequestKind::CallAtOnce,
        };
        let request = RingRequest { kind, call: *call, windows };
        let taken = self.ask(slot, &request, system).and_then(|()| {
            let mut taken = self.take_answer(slot, call, memory);
            while taken == Ok(RingAnswer::FILES) {
                // A handler that leaves by a jump would leave sockets behind.
                let signals = system.block_signals();
                let fetched = self.fetch_files(slot, call, system, memory);
                system.restore_signals(signals);
                taken = fetched?;
            }
            Ok(taken)
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(NoAnswer { error, is_first }) => return self.give_up(slot, is_first, error),
        };
        head.word.reset();
        match taken {
            Err(error) => RingOutcome::Done(Err(error)),
            Ok(RingAnswer::DECLINED) => RingOutcome::Ioctl,
            Ok(RingAnswer::UNKNOWN_CALLER) => {
                self.unbind(slot);
                RingOutcome::Ioctl
            }
            Ok(result) => {
                RingOutcome::Done(Errno::from_number(result.wrapping_neg()).map_or(Ok(()), Err))
            }
        }
    }

    /// Posts a request in a slot that this thread has taken, and waits for the answer.
    pub(crate) fn ask(
        &self,
        slot: SlotIndex,
        request: &RingRequest,
        system: &impl RingSystem,
    ) -> Result<(), NoAnswer> {
        self.segment.write_request(slot, request);
        let cpu = system.cpu();
        self.segment.slot(slot).client_cpu.store(cpu, Ordering::Relaxed);
        self.post(slot, self.bind(slot), cpu, self.spins(slot), system)
    }

    /// Ends the call of this thread that a signal handler, which makes a call of its own, has interrupted or left. The
    /// answer stays for it.
    #[cold]
    fn end_call_below(&self, slot: SlotIndex, system: &impl RingSystem) {
        let word = &self.segment.slot(slot).word;
        while word.is_posted() && system.ring_wait(slot, RING_INTERRUPT).is_ok() {}
    }

    /// Copies the commands, and the data and offsets of their sends, into the slot.
    fn copy_commands(
        &self,
        slot: SlotIndex,
        call: &BinderWriteRead,
        memory: &impl CallMemory,
    ) -> MemoryWindows {
        let address = call.write_buffer.wrapping_add(call.write_consumed);
        let len = call.write_size.saturating_sub(call.write_consumed);
        let commands = MemoryWindow { address, len };
        let room = DATA_BYTES as u64;
        if len == 0 || len > room || !memory.copy_in(&self.segment, slot, 0, commands) {
            return MemoryWindows::default();
        }
        // The copy is parsed, since the commands themselves may change.
        let mut parsed = [0; PARSED_BYTES];
        let parsed = usize::try_from(len).ok().and_then(|len| parsed.get_mut(..len));
        let Some(parsed) = parsed else {
            return MemoryWindows::of_claims([commands, NONE, NONE, NONE]);
        };
        self.segment.read_data(slot, 0, parsed);
        let windows = MemoryWindows::of_commands(address, parsed, DATA_BYTES);
        let mut claims = windows.claims();
        for (number, (window, at)) in windows.iter().enumerate().skip(1) {
            if !memory.copy_in(&self.segment, slot, at, window) {
                claims[number..].fill(NONE);
                return MemoryWindows::of_claims(claims);
            }
        }
        windows
    }

    /// Hands a request to the driver, tells it so, and waits for its answer.
    ///
    /// A signal that the thread handles ends the call as far as it can end, whenever it comes: in a sleep, in an ioctl, or
    /// in between, where `system` may notice it, as long as no other function is called here.
    #[inline(never)]
    fn post(
        &self,
        slot: SlotIndex,
        is_first: bool,
        cpu: u32,
        spins: &SpinHistory,
        system: &impl RingSystem,
    ) -> Result<(), NoAnswer> {
        let header = self.segment.header();
        let word = &self.segment.slot(slot).word;
        system.watch_signals();
        word.post();
        let told = if is_first { Ring::Unwatched } else { header.bell.ring(slot.number()) };
        if told == Ring::Wake {
            system.wake(header.bell.word());
        }
        let in_driver = told == Ring::Unwatched;
        let is_heard = !in_driver;
        let mut state =
            WaitState { is_first, is_heard, is_interrupted: false, in_driver, without_file: 0 };
        if !in_driver {
            let driver_cpu = header.driver_cpu.load(Ordering::Relaxed);
            spins.spin(cpu, driver_cpu, || word.is_answered() || system.has_handled_signal());
        }
        while !word.is_answered() {
            state.wait(slot, word, system)?;
        }
        Ok(())
    }

    /// Ends a call that was posted, after the driver has answered the ioctl by an error.
    #[cold]
    fn give_up(&self, slot: SlotIndex, is_first: bool, error: Errno) -> RingOutcome {
        let word = &self.segment.slot(slot).word;
        match error {
            // The driver has ended. As for the ioctl, which would have been in there, too.
            Errno::ECONNABORTED | Errno::ENOTCONN | Errno::ENODEV
                if !is_first || error == Errno::ECONNABORTED =>
            {
                self.is_lost.store(true, Ordering::Relaxed);
                word.reset();
                RingOutcome::Done(Err(Errno::ECONNABORTED))
            }
            // The driver takes nothing from a slot before it knows its thread.
            _ if is_first => {
                word.reset();
                RingOutcome::Refused
            }
            // The call may have been taken, so it is not made again; and the slot is the driver's for good.
            _ => {
                self.is_lost.store(true, Ordering::Relaxed);
                RingOutcome::Done(Err(error))
            }
        }
    }

    /// Copies an answer out of the slot. Returns its result.
    pub(crate) fn take_answer(
        &self,
        slot: SlotIndex,
        call: &mut BinderWriteRead,
        memory: &impl CallMemory,
    ) -> Result<i32, Errno> {
        let answer = self.segment.read_answer(slot);
        // All else of the struct is the caller's: the driver has no say in where its memory is.
        call.write_consumed = answer.call.write_consumed;
        let room = call.read_size.saturating_sub(call.read_consumed);
        let len = usize::try_from(room).unwrap_or(usize::MAX).min(answer.returns_len);
        if len > 0 {
            let address = call.read_buffer.wrapping_add(call.read_consumed);
            memory.copy_returns(&self.segment, slot, address, len)?;
        }
        call.read_consumed = answer.call.read_consumed;
        Ok(answer.result)
    }
}

/// There will be no answer to a call, since the driver refuses the ioctl by which the thread would wait.
pub(crate) struct NoAnswer {
    error: Errno,
    /// Whether the driver knows nothing of the call.
    is_first: bool,
}

/// How a thread waits for its answer.
struct WaitState {
    /// Whether the driver does not know the thread of the slot yet.
    is_first: bool,
    /// Whether the driver has been told of the call.
    is_heard: bool,
    /// Whether a signal was handled.
    is_interrupted: bool,
    /// By the ioctl, not in the slot.
    in_driver: bool,
    /// How often the device's number was found to mean it no longer.
    without_file: u32,
}

/// How often a thread whose device has been closed sleeps on in its slot: for a second in all. A driver that lives answers
/// sooner.
const MAX_WITHOUT_FILE: u32 = 50;

impl WaitState {
    /// Waits once.
    #[inline(always)]
    fn wait(
        &mut self,
        slot: SlotIndex,
        word: &SlotWord,
        system: &impl RingSystem,
    ) -> Result<(), NoAnswer> {
        self.is_interrupted |= system.has_handled_signal();
        if !self.in_driver && !self.is_interrupted {
            let Some(value) = word.prepare_to_sleep() else { return Ok(()) };
            match system.sleep_long(word.word(), value) {
                SleepEnd::Woken => {}
                SleepEnd::TimedOut => self.in_driver = true,
                SleepEnd::Interrupted => self.is_interrupted = true,
            }
            return Ok(());
        }
        let flags = if self.is_interrupted { RING_INTERRUPT } else { 0 };
        match system.ring_wait(slot, flags) {
            Ok(()) => {
                (self.is_first, self.is_heard) = (false, true);
                (self.is_interrupted, self.in_driver) = (false, false);
                system.watch_signals();
            }
            // By now the driver knows of the call.
            Err(Errno::EINTR) => {
                (self.is_first, self.is_heard, self.is_interrupted) = (false, true, true);
            }
            // It may have been answered before.
            Err(_) if word.is_answered() => {}
            // Another thread closes the device, of which the driver hears after the number means nothing any more. That
            // ends the call, as it ends those that wait in an ioctl.
            Err(Errno::EBADF) if self.is_heard && self.without_file < MAX_WITHOUT_FILE => {
                self.without_file += 1;
                system.watch_signals();
                if let Some(value) = word.prepare_to_sleep() {
                    system.sleep_long(word.word(), value);
                }
            }
            Err(error) => return Err(NoAnswer { error, is_first: self.is_first }),
        }
        Ok(())
    }
}

/// A window of nothing.
const NONE: MemoryWindow = MemoryWindow { address: 0, len: 0 };

#[cfg(test)]
mod tests;
