//! Filters of other programs, as the kernel has them or is about to have them.

use libc::sock_filter;

use super::evaluation::{FilteredCall, returned};
use crate::client_memory::{ClientMemory, Fault};

/// `BPF_MAXINSNS`: so many instructions a filter has at most.
pub(crate) const MAX_INSTRUCTIONS: usize = 4096;

/// A filter of system calls.
#[derive(Debug, Clone)]
pub struct SeccompFilter(Vec<sock_filter>);

impl SeccompFilter {
    pub(crate) fn new(instructions: Vec<sock_filter>) -> Self {
        Self(instructions)
    }

    /// Reads the filter that a process is about to install: the `sock_fprog` at an address.
    ///
    /// # Errors
    ///
    /// [`Fault`] if it cannot be read.
    pub fn read(memory: &mut ClientMemory, address: u64) -> Result<Self, Fault> {
        let mut program = [0; size_of::<libc::sock_fprog>()];
        memory.read(address, &mut program)?;
        let [low, high, _, _, _, _, _, _, place @ ..] = program;
        let len = usize::from(u16::from_le_bytes([low, high]));
        // The kernel takes no longer one, and one without an end lets nothing pass.
        let len = if len <= MAX_INSTRUCTIONS { len } else { 0 };
        let mut bytes = vec![0; len * size_of::<sock_filter>()];
        memory.read(u64::from_le_bytes(place), &mut bytes)?;
        let instructions = bytes.chunks_exact(size_of::<sock_filter>()).map(|it| sock_filter {
            code: u16::from_le_bytes([it[0], it[1]]),
            jt: it[2],
            jf: it[3],
            k: u32::from_le_bytes([it[4], it[5], it[6], it[7]]),
        });
        Ok(Self(instructions.collect()))
    }

    /// Whether a call passes, whatever the arguments are that are not known.
    pub(super) fn lets_pass(&self, call: &FilteredCall) -> bool {
        let action = returned(&self.0, call).map(|it| it & libc::SECCOMP_RET_ACTION_FULL);
        matches!(action, Some(libc::SECCOMP_RET_ALLOW | libc::SECCOMP_RET_LOG))
    }
}
