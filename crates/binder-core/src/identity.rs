//! Who a process is, in its own words and in those of its peers.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// The number that stands for an id which the reader's namespace does not know (all ones).
const UNMAPPED_UID: u32 = u32::MAX;

/// A process's number in each pid namespace that can see it, outermost namespace first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PidNumbers(Vec<(NamespaceId, u32)>);

/// A pid namespace, by any number that is unique on the machine (its inode).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamespaceId(pub u64);

impl PidNumbers {
    /// Takes the numbers, outermost namespace first; the last is the process's own namespace.
    pub fn new(outermost_first: Vec<(NamespaceId, u32)>) -> Self {
        Self(outermost_first)
    }

    /// A process of a world with one namespace.
    pub fn single(pid: u32) -> Self {
        Self(alloc::vec![(NamespaceId(0), pid)])
    }

    /// The number of this process as `reader` sees it: 0 if it does not.
    pub fn seen_by(&self, reader: &Self) -> u32 {
        let Some((namespace, _)) = reader.0.last() else { return 0 };
        self.0.iter().find(|(level, _)| level == namespace).map_or(0, |(_, number)| *number)
    }
}

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
    /// Its thread-group id, in the driver's own pid namespace.
    pub pid: u32,
    /// Its numbers in each namespace.
    pub numbers: PidNumbers,
    /// The uids its user namespace knows.
    pub uids: UidMap,
    /// Its security label, without a final NUL; never empty.
    pub security_label: Box<[u8]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_is_the_number_in_the_readers_namespace_or_zero() {
        let (root, child, sibling) = (NamespaceId(1), NamespaceId(2), NamespaceId(3));
        let outer = PidNumbers::new(alloc::vec![(root, 10)]);
        let inner = PidNumbers::new(alloc::vec![(root, 20), (child, 1)]);
        let other = PidNumbers::new(alloc::vec![(root, 30), (sibling, 1)]);
        assert_eq!(inner.seen_by(&outer), 20);
        assert_eq!(inner.seen_by(&inner), 1);
        assert_eq!(outer.seen_by(&inner), 0);
        assert_eq!(other.seen_by(&inner), 0);
    }

    #[test]
    fn a_uid_outside_the_readers_map_is_all_ones() {
        let map = UidMap::new(alloc::vec![UidRange { inside: 0, outside: 1000, len: 1 }]);
        assert_eq!(map.to_inside(1000), 0);
        assert_eq!(map.to_inside(1001), u32::MAX);
        assert_eq!(map.to_inside(0), u32::MAX);
        assert_eq!(UidMap::identity().to_inside(1000), 1000);
    }
}
