//! The identity of a process: its numbers, its users, its security label, as itself and its peers see them.
//!
//! Its numbers are those of a table that front ends keep (`pidns`). Threads have a plain number, that
//! of the driver's namespace: Binder tells no client of the threads of others, only logs do.

use alloc::boxed::Box;
use alloc::vec::Vec;

use pidns::HeldPid;

/// The number that stands for an id which the reader's namespace does not know (all ones).
pub(crate) const UNMAPPED_UID: u32 = u32::MAX;

/// One line of a user namespace's map: `len` ids from `inside` stand for those from `outside`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UidRange {
    /// First id as the namespace's processes see it.
    pub inside: u32,
    /// First id as the driver sees it.
    pub outside: u32,
    /// How many ids.
    pub len: u32,
}

/// The uids that a process's user namespace knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UidMap(Box<[UidRange]>);

impl UidMap {
    /// Takes the ranges of a namespace.
    pub fn new(ranges: Vec<UidRange>) -> Self {
        Self(ranges.into_boxed_slice())
    }

    /// The map of a process in the driver's own user namespace.
    pub fn identity() -> Self {
        Self(Box::new([UidRange { inside: 0, outside: 0, len: u32::MAX }]))
    }

    /// Turns an id of the driver's namespace into one of this namespace; all ones if it has none.
    pub fn to_inside(&self, uid: u32) -> u32 {
        self.0
            .iter()
            .find_map(|range| {
                let distance = uid.checked_sub(range.outside)?;
                (distance < range.len).then(|| range.inside.wrapping_add(distance))
            })
            .unwrap_or(UNMAPPED_UID)
    }
}

/// The process that opens a device, as the front end found it.
#[derive(Clone, Debug)]
pub struct Opener {
    /// Its place in the table of processes, and so its number in each pid namespace. Files that the
    /// same process opens share it.
    pub pid: HeldPid,
    /// The user that it has opened the device as, as the driver sees him: he is charged.
    pub uid: u32,
    /// The uids its user namespace knows.
    pub uids: UidMap,
    /// Its security label, without a final NUL; never empty.
    pub security_label: Box<[u8]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_outside_the_readers_map_is_all_ones() {
        let map = UidMap::new(alloc::vec![UidRange { inside: 0, outside: 1000, len: 1 }]);
        assert_eq!(map.to_inside(1000), 0);
        assert_eq!(map.to_inside(1001), u32::MAX);
        assert_eq!(map.to_inside(0), u32::MAX);
        assert_eq!(UidMap::identity().to_inside(1000), 1000);
    }
}
