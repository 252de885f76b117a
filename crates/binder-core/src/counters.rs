//! How often each command and each return went by.

use binder_uapi::{
    BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION, BR_NOOP, BR_REPLY, BR_TRANSACTION,
    BR_TRANSACTION_COMPLETE, payload_len,
};

/// `BC_` codes are numbered from 0; this many are known.
const COMMANDS: usize = 22;
/// The same of `BR_` codes.
const RETURNS: usize = 23;

const COMMAND_FAMILY: u32 = b'c' as u32;
const RETURN_FAMILY: u32 = b'r' as u32;
const CODE_BYTES: usize = 4;

/// The commands of a process and the returns it read, by the number within their codes.
///
/// Counts wrap at 2^32, as they do in Linux.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    commands: [u32; COMMANDS],
    returns: [u32; RETURNS],
}

impl Default for Counters {
    fn default() -> Self {
        Self { commands: [0; COMMANDS], returns: [0; RETURNS] }
    }
}

impl Counters {
    /// Commands by number: entry 0 counts `BC_TRANSACTION`.
    pub fn commands(&self) -> &[u32] {
        &self.commands
    }

    /// Returns by number. `BR_TRANSACTION` and `BR_TRANSACTION_SEC_CTX` share one.
    pub fn returns(&self) -> &[u32] {
        &self.returns
    }

    pub(crate) fn count_command(&mut self, code: u32) {
        self.add_commands(code, 1);
    }

    /// Counts what a read was given. `BR_NOOP` is left out, as in Linux: it only fills the place
    /// where `BR_SPAWN_LOOPER` may stand.
    pub(crate) fn count_returns(&mut self, bytes: &[u8]) {
        self.change_returns(bytes, u32::wrapping_add);
    }

    /// Takes back what was [counted](Self::count_returns).
    pub(crate) fn uncount_returns(&mut self, bytes: &[u8]) {
        self.change_returns(bytes, u32::wrapping_sub);
    }

    fn change_returns(&mut self, mut bytes: &[u8], change: impl Fn(u32, u32) -> u32) {
        while let Some((word, rest)) = bytes.split_first_chunk::<CODE_BYTES>() {
            let code = u32::from_ne_bytes(*word);
            if code != BR_NOOP
                && let Some(count) = count_of(&mut self.returns, RETURN_FAMILY, code)
            {
                *count = change(*count, 1);
            }
            bytes = rest.get(payload_len(code)..).unwrap_or_default();
        }
    }

    /// Counts a return that was not given to a read.
    pub(crate) fn count_return(&mut self, code: u32) {
        self.add_returns(code, 1);
    }

    /// Counts calls that were made and answered without the driver, on the caller's side.
    pub(crate) fn count_direct_calls(&mut self, calls: u32) {
        self.add_commands(BC_TRANSACTION, calls);
        self.add_returns(BR_TRANSACTION_COMPLETE, calls);
        self.add_returns(BR_REPLY, calls);
        self.add_commands(BC_FREE_BUFFER, calls);
    }

    /// The same on the side of the server.
    pub(crate) fn count_direct_replies(&mut self, replies: u32) {
        self.add_returns(BR_TRANSACTION, replies);
        self.add_commands(BC_FREE_BUFFER, replies);
        self.add_commands(BC_REPLY, replies);
        self.add_returns(BR_TRANSACTION_COMPLETE, replies);
    }

    fn add_commands(&mut self, code: u32, more: u32) {
        if let Some(count) = count_of(&mut self.commands, COMMAND_FAMILY, code) {
            *count = count.wrapping_add(more);
        }
    }

    fn add_returns(&mut self, code: u32, more: u32) {
        if let Some(count) = count_of(&mut self.returns, RETURN_FAMILY, code) {
            *count = count.wrapping_add(more);
        }
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: &Self) {
        let sums = self.commands.iter_mut().chain(&mut self.returns);
        for (sum, more) in sums.zip(other.commands.iter().chain(&other.returns)) {
            *sum = sum.wrapping_add(*more);
        }
    }
}

/// The counter of a code; `None` for one of another family, or that is not known.
fn count_of(counts: &mut [u32], family: u32, code: u32) -> Option<&mut u32> {
    let number = (code & 0xff) as usize;
    if (code >> 8) & 0xff == family { counts.get_mut(number) } else { None }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use binder_uapi::BR_SPAWN_LOOPER;

    use super::*;

    #[test]
    fn returns_are_found_behind_the_payloads_of_others() {
        let mut bytes = Vec::new();
        bytes.extend(BR_SPAWN_LOOPER.to_ne_bytes());
        bytes.extend(BR_REPLY.to_ne_bytes());
        bytes.extend([0xff; 64]);
        bytes.extend(BR_TRANSACTION_COMPLETE.to_ne_bytes());
        let mut counters = Counters::default();
        counters.count_returns(&bytes);
        counters.count_returns(&BR_NOOP.to_ne_bytes());
        let seen: Vec<_> = (0..).zip(counters.returns()).filter(|(_, count)| **count > 0).collect();
        assert_eq!(seen, [(3, &1), (6, &1), (13, &1)]);
        counters.uncount_returns(&bytes);
        assert_eq!(counters, Counters::default());
    }

    #[test]
    fn what_is_no_command_is_not_counted() {
        let mut counters = Counters::default();
        for code in [BC_REPLY, BR_REPLY, BC_REPLY | 0x80, u32::MAX, 1] {
            counters.count_command(code);
        }
        assert_eq!(counters.commands().iter().sum::<u32>(), 1);
        let mut sum = counters.clone();
        sum.add(&counters);
        assert_eq!(sum.commands()[1], 2);
    }
}
