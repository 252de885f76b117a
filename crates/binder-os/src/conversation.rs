//! What one thread writes to a binder device and reads from it.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use binder_uapi::{BC_FREE_BUFFER, BC_TRANSACTION, name_of, payload_len};
use zerocopy::{Immutable, IntoBytes};

use crate::binder_device::BinderDevice;
use crate::binder_returns::{Return, ReturnStream};
use crate::delivery::IncomingTransaction;

/// A thread's conversation with a device.
///
/// Commands wait until they are written; returns that were read wait until they are taken. What lies
/// in the receive buffer comes out of here as a [`IncomingTransaction`] and is freed by giving it back.
#[derive(Debug)]
pub struct Conversation {
    device: Arc<BinderDevice>,
    commands: Vec<u8>,
    returns: ReturnStream,
}

impl Conversation {
    /// A conversation without commands and returns.
    #[must_use]
    pub fn new(device: Arc<BinderDevice>) -> Self {
        Self { device, commands: Vec::new(), returns: ReturnStream::new() }
    }

    /// Adds a command to those that are to be written.
    ///
    /// # Panics
    ///
    /// For `BC_FREE_BUFFER`: see [`push_free`](Self::push_free).
    pub fn push(&mut self, command: u32, payload: &(impl IntoBytes + Immutable)) {
        assert_ne!(command, BC_FREE_BUFFER, "somebody may be reading there");
        self.add(command, payload);
    }

    /// Adds the command that frees a delivery's part of the receive buffer.
    ///
    /// # Panics
    ///
    /// If it came from another device.
    pub fn push_free(&mut self, delivery: IncomingTransaction) {
        assert!(Arc::ptr_eq(delivery.device(), &self.device), "every device frees its own");
        self.add(BC_FREE_BUFFER, &delivery.head().buffer);
        drop(delivery);
    }

    fn add(&mut self, command: u32, payload: &(impl IntoBytes + Immutable)) {
        debug_assert_eq!(payload_len(command), size_of_val(payload), "{}", name_of(command));
        self.commands.extend_from_slice(&command.to_ne_bytes());
        self.commands.extend_from_slice(payload.as_bytes());
    }

    /// Whether there are commands that were not written.
    #[must_use]
    pub fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Whether there are returns that were not taken.
    #[must_use]
    pub fn has_returns(&self) -> bool {
        !self.returns.is_empty()
    }

    /// Takes the next return of those that were read.
    pub fn take_next(&mut self) -> Option<Return> {
        self.returns.take_next(&self.device)
    }

    /// Writes the commands, as far as the driver takes them. What they point to should be in `payloads`; if it is not, the
    /// driver has to fetch it.
    ///
    /// # Errors
    ///
    /// As the device answers. A command that it refuses by an error is forgotten: it will never be
    /// taken, and the others may. So is a call that was not written, for what it points to lives no
    /// longer than that.
    pub fn write(&mut self, payloads: &[&[u8]]) -> io::Result<()> {
        let exchange = self.device.write_read(&self.commands, payloads, &mut []);
        self.settle(exchange.written, exchange.outcome)
    }

    /// The same, then reads returns, and waits for them if need be. Returns that were not taken yet
    /// are lost.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_read(&mut self, payloads: &[&[u8]]) -> io::Result<()> {
        let room = self.returns.room();
        let exchange = self.device.write_read(&self.commands, payloads, room);
        self.returns.set_filled(exchange.read);
        self.settle(exchange.written, exchange.outcome)
    }

    fn settle(&mut self, written: usize, outcome: io::Result<()>) -> io::Result<()> {
        self.commands.drain(..written);
        if let Err(error) = &outcome {
            // A device without memory has not looked at any.
            if error.kind() != io::ErrorKind::OutOfMemory
                && let Some((_, refused)) = self.command_at(0)
            {
                self.commands.drain(refused);
            }
            self.forget_calls();
        }
        outcome
    }

    fn forget_calls(&mut self) {
        let mut at = 0;
        while let Some((code, range)) = self.command_at(at) {
            if code == BC_TRANSACTION {
                self.commands.drain(range);
            } else {
                at = range.end;
            }
        }
    }

    /// The code of the command that starts at `at`, and where it stands.
    fn command_at(&self, at: usize) -> Option<(u32, Range<usize>)> {
        let code = u32::from_ne_bytes(*self.commands[at..].first_chunk()?);
        let end = at + size_of_val(&code) + payload_len(code);
        Some((code, at..end.min(self.commands.len())))
    }
}

#[cfg(test)]
mod tests {
    use binder_uapi::{BC_ACQUIRE, BC_INCREFS, BinderTransactionData};

    use super::*;
    use crate::binder_device::fake_device;

    fn codes(conversation: &Conversation) -> Vec<u32> {
        let mut at = 0;
        std::iter::from_fn(|| {
            let (code, range) = conversation.command_at(at)?;
            at = range.end;
            Some(code)
        })
        .collect()
    }

    fn conversation() -> Conversation {
        let mut conversation = Conversation::new(fake_device(4096));
        conversation.push(BC_INCREFS, &1_u32);
        conversation.push(BC_ACQUIRE, &1_u32);
        conversation.push(BC_TRANSACTION, &BinderTransactionData::default());
        conversation
    }

    #[test]
    fn what_is_refused_is_forgotten_and_so_is_a_call_behind_it() {
        let mut refused = conversation();
        assert!(refused.write(&[]).is_err(), "the file is no device");
        assert_eq!(codes(&refused), [BC_ACQUIRE]);
    }

    #[test]
    fn without_memory_nothing_is_refused() {
        let mut unwritten = conversation();
        let outcome = unwritten.settle(0, Err(io::ErrorKind::OutOfMemory.into()));
        assert!(outcome.is_err());
        assert_eq!(codes(&unwritten), [BC_INCREFS, BC_ACQUIRE]);
    }
}
