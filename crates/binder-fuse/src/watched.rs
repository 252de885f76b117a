//! Names for the threads and processes whose ends the kernel tells: what a number of 64 bits holds.

use crate::tree::DeviceId;

/// A thread that called through an open file: where the driver finds it, if it is there still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadName {
    pub(crate) device: DeviceId,
    /// The slot of the process.
    pub(crate) slot: usize,
    pub(crate) tid: u32,
}

/// Whose end is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Watched {
    Thread(ThreadName),
    /// A process with open files, by its number.
    Process(u32),
}

impl Watched {
    /// Puts it into a number; `None` if a part is too large for that.
    pub(crate) fn to_u64(self) -> Option<u64> {
        match self {
            Self::Thread(name) => name.to_u64(),
            Self::Process(pid) => ThreadName { device: PROCESSES, slot: 0, tid: pid }.packed(),
        }
    }

    /// Takes it out again.
    pub(crate) fn from_u64(packed: u64) -> Self {
        match ThreadName::from_u64(packed) {
            ThreadName { device: PROCESSES, tid, .. } => Self::Process(tid),
            name => Self::Thread(name),
        }
    }
}

/// In the place of a device, for processes.
const PROCESSES: DeviceId = (1 << PART_BITS) - 1;

/// The kernel's threads have numbers of 22 bits at most, as the parts of a name do here.
const PART_BITS: u32 = 21;
const TID_BITS: u32 = 22;

impl ThreadName {
    fn to_u64(self) -> Option<u64> {
        if self.device == PROCESSES { None } else { self.packed() }
    }

    fn packed(self) -> Option<u64> {
        let fits = |part: usize| u64::try_from(part).ok().filter(|part| part >> PART_BITS == 0);
        let tid = u64::from(self.tid);
        let packed =
            fits(self.device)? << (PART_BITS + TID_BITS) | fits(self.slot)? << TID_BITS | tid;
        // The last number of all has a meaning of its own.
        (tid >> TID_BITS == 0 && packed != u64::MAX).then_some(packed)
    }

    fn from_u64(packed: u64) -> Self {
        let part = |shift: u32, bits: u32| (packed >> shift) & ((1 << bits) - 1);
        let index = |part| usize::try_from(part).unwrap_or(usize::MAX);
        Self {
            device: index(part(PART_BITS + TID_BITS, PART_BITS)),
            slot: index(part(TID_BITS, PART_BITS)),
            tid: u32::try_from(part(0, TID_BITS)).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_as_a_number() {
        let most = (1 << 21) - 1;
        let thread = |(device, slot, tid)| Watched::Thread(ThreadName { device, slot, tid });
        let names = [(0, 0, 1), (3, 70_000, 4_194_303), (most - 1, 5, 7), (most - 1, most, 1)];
        for name in names.map(thread).into_iter().chain([1, 4_194_303].map(Watched::Process)) {
            assert_eq!(name.to_u64().map(Watched::from_u64), Some(name));
        }
        let names = [(most, 0, 1), (0, most + 1, 1), (0, 0, 1 << 22)];
        for name in names.map(thread).into_iter().chain([Watched::Process(1 << 22)]) {
            assert_eq!(name.to_u64(), None);
        }
    }
}
