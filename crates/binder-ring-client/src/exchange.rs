//! One `BINDER_WRITE_READ` through a slot.

use core::sync::atomic::Ordering;

use binder_ring::layout::DATA_BYTES;
use binder_ring::{
    MemoryWindow, MemoryWindows, PATIENCE_MS, Ring, RingAnswer, RingRequest, SlotIndex,
};
use binder_uapi::{BinderWriteRead, Errno, RING_INTERRUPT};

use crate::caller::{CallerMemory, RingSystem, SleepEnd};
use crate::ring::ClientRing;

/// What became of a call.
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

/// As many bytes of commands are looked at for what they point to. Longer ones are mostly references and buffers that are
/// given back; the driver reads by itself what those behind point to.
const PARSED_BYTES: usize = 512;

impl ClientRing {
    /// Has the driver run a call of the thread that has claimed `slot`, and waits until it has.
    ///
    /// Of the call the two counts of what was consumed change, as by the ioctl.
    pub fn exchange(
        &self,
        slot: SlotIndex,
        call: &mut BinderWriteRead,
        system: &impl RingSystem,
        memory: &impl CallerMemory,
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
        self.segment.write_request(slot, &RingRequest { call: *call, windows });
        let cpu = system.cpu();
        head.client_cpu.store(cpu, Ordering::Relaxed);
        head.word.post();
        if let Err(outcome) = self.await_answer(slot, cpu, system) {
            return outcome;
        }
        let outcome = self.take_answer(slot, call, memory);
        head.word.reset();
        outcome
    }

    /// Ends the call of this thread that a signal handler, which makes a call of its own, has interrupted or left. The
    /// answer stays for it.
    #[cold]
    fn end_call_below(&self, slot: SlotIndex, system: &impl RingSystem) {
        let word = &self.segment.slot(slot).word;
        while word.is_posted() && system.ring_wait(slot, RING_INTERRUPT).is_ok() {}
    }

    /// Copies the commands, and what they point to, into the slot.
    fn copy_commands(
        &self,
        slot: SlotIndex,
        call: &BinderWriteRead,
        memory: &impl CallerMemory,
    ) -> MemoryWindows {
        let address = call.write_buffer.wrapping_add(call.write_consumed);
        let len = call.write_size.saturating_sub(call.write_consumed);
        let commands = MemoryWindow { address, len };
        let room = DATA_BYTES as u64;
        if len == 0 || len > room || !memory.copy_in(&self.segment, slot, 0, commands) {
            return MemoryWindows::default();
        }
        // Looked at is the copy: the commands themselves may be anywhere.
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

    /// Tells the driver of a call that was posted, and waits for its answer. If there will be none, says what becomes of
    /// the call.
    fn await_answer(
        &self,
        slot: SlotIndex,
        cpu: u32,
        system: &impl RingSystem,
    ) -> Result<(), RingOutcome> {
        let head = self.segment.slot(slot);
        let header = self.segment.header();
        let is_first = self.bind(slot);
        let told = if is_first { Ring::Unwatched } else { header.bell.ring(slot.number()) };
        match told {
            Ring::Heard => {}
            Ring::Wake => system.wake(header.bell.word()),
            Ring::Unwatched => self.wait_in_driver(slot, is_first, 0, system)?,
        }
        let driver_cpu = header.driver_cpu.load(Ordering::Relaxed);
        if self.spins(slot).spin(cpu, driver_cpu, || head.word.is_answered()) {
            return Ok(());
        }
        while let Some(value) = head.word.prepare_to_sleep() {
            match system.sleep(head.word.word(), value, PATIENCE_MS) {
                SleepEnd::Woken => {}
                SleepEnd::TimedOut => self.wait_in_driver(slot, false, 0, system)?,
                SleepEnd::Interrupted => {
                    self.wait_in_driver(slot, false, RING_INTERRUPT, system)?;
                }
            }
        }
        Ok(())
    }

    /// Waits by ioctl.
    fn wait_in_driver(
        &self,
        slot: SlotIndex,
        is_first: bool,
        flags: u32,
        system: &impl RingSystem,
    ) -> Result<(), RingOutcome> {
        let word = &self.segment.slot(slot).word;
        let mut flags = flags;
        while !word.is_answered() {
            match system.ring_wait(slot, flags) {
                Ok(()) => return Ok(()),
                Err(Errno::EINTR) => flags = RING_INTERRUPT,
                // It may have been answered before.
                Err(_) if word.is_answered() => {}
                Err(error) => return Err(self.give_up(slot, is_first, error)),
            }
        }
        Ok(())
    }

    /// Says what becomes of a call that was posted, if the driver answers the ioctl by an error.
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
            // The driver takes nothing from a slot before it knows whose that is.
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

    /// Copies an answer out of the slot.
    fn take_answer(
        &self,
        slot: SlotIndex,
        call: &mut BinderWriteRead,
        memory: &impl CallerMemory,
    ) -> RingOutcome {
        let answer = self.segment.read_answer(slot);
        // All else of the struct is the caller's: the driver has no say in where its memory is.
        call.write_consumed = answer.call.write_consumed;
        let room = call.read_size.saturating_sub(call.read_consumed);
        let len = usize::try_from(room).unwrap_or(usize::MAX).min(answer.returns_len);
        if len > 0 {
            let address = call.read_buffer.wrapping_add(call.read_consumed);
            if let Err(error) = memory.copy_returns(&self.segment, slot, address, len) {
                return RingOutcome::Done(Err(error));
            }
        }
        call.read_consumed = answer.call.read_consumed;
        match answer.result {
            RingAnswer::DECLINED => RingOutcome::Ioctl,
            result => {
                RingOutcome::Done(Errno::from_number(result.wrapping_neg()).map_or(Ok(()), Err))
            }
        }
    }
}

/// A window of nothing.
const NONE: MemoryWindow = MemoryWindow { address: 0, len: 0 };

#[cfg(test)]
mod tests;
