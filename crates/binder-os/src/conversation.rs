//! What one thread writes to a binder device and reads from it.

use std::io;
use std::sync::Arc;

use binder_uapi::{BC_FREE_BUFFER, name_of, payload_len};
use zerocopy::{Immutable, IntoBytes};

use crate::binder_device::BinderDevice;
use crate::binder_returns::{Return, Returns};
use crate::delivery::Delivery;

/// A thread's conversation with a device.
///
/// Commands wait until they are written; returns that were read wait until they are taken. What lies
/// in the receive buffer comes out of here as a [`Delivery`] and is freed by giving it back.
#[derive(Debug)]
pub struct Conversation {
    device: Arc<BinderDevice>,
    commands: Vec<u8>,
    returns: Returns,
}

impl Conversation {
    /// Nothing said, nothing heard.
    #[must_use]
    pub fn new(device: Arc<BinderDevice>) -> Self {
        Self { device, commands: Vec::new(), returns: Returns::new() }
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
    pub fn push_free(&mut self, delivery: Delivery) {
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

    /// Writes the commands, as far as the driver takes them.
    ///
    /// # Errors
    ///
    /// As the device answers. A command that it refuses by an error is forgotten: it will never be
    /// taken, and the others may.
    pub fn write(&mut self) -> io::Result<()> {
        let exchange = self.device.write_read(&self.commands, &mut []);
        self.settle(exchange.written, exchange.outcome)
    }

    /// The same, then reads returns, and waits for them if need be. Returns that were not taken yet
    /// are lost.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_read(&mut self) -> io::Result<()> {
        let exchange = self.device.write_read(&self.commands, self.returns.room());
        self.returns.set_filled(exchange.read);
        self.settle(exchange.written, exchange.outcome)
    }

    fn settle(&mut self, written: usize, outcome: io::Result<()>) -> io::Result<()> {
        let is_refused = outcome.is_err() && written < self.commands.len();
        self.commands.drain(..written);
        if is_refused && let Some(code) = self.commands.first_chunk() {
            let code = u32::from_ne_bytes(*code);
            let len = size_of_val(&code) + payload_len(code);
            self.commands.drain(..len.min(self.commands.len()));
        }
        outcome
    }
}
