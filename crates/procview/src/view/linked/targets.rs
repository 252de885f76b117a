//! Where links of processes led when they were looked up.

use std::collections::HashMap;

use fuse_wire::Attr;

use crate::errno::ViewErrno;

/// What a link says, or why its reader is not told.
type Target = Result<Vec<u8>, ViewErrno>;

/// Targets that the kernel knows of. It keeps what it has read of a node for good, so a link that leads
/// elsewhere by now, or tells another reader something else, is another node.
#[derive(Default)]
pub(in crate::view) struct Targets {
    entries: HashMap<u32, TargetEntry>,
    /// By the inode of the kernel's link.
    by_text: HashMap<(u64, Target), u32>,
    next: u32,
}

struct TargetEntry {
    attr: Attr,
    target: Target,
    lookups: u64,
}

impl Targets {
    /// The node of a target, of which the kernel learns once more.
    pub(in crate::view) fn learn(&mut self, attr: Attr, target: Target) -> u32 {
        let key = (attr.ino, target.clone());
        let nth = *self.by_text.entry(key).or_insert_with(|| {
            let nth = self.next;
            self.next = nth.wrapping_add(1);
            nth
        });
        let entry = self.entries.entry(nth).or_insert(TargetEntry { attr, target, lookups: 0 });
        entry.attr = attr;
        entry.lookups += 1;
        nth
    }

    /// The kernel has forgotten some.
    pub(in crate::view) fn forget(&mut self, nth: u32, lookups: u64) {
        let Some(entry) = self.entries.get_mut(&nth) else { return };
        entry.lookups = entry.lookups.saturating_sub(lookups);
        if entry.lookups == 0
            && let Some(entry) = self.entries.remove(&nth)
        {
            self.by_text.remove(&(entry.attr.ino, entry.target));
        }
    }

    pub(in crate::view) fn attr(&self, nth: u32) -> Option<Attr> {
        self.entries.get(&nth).map(|it| it.attr)
    }

    pub(in crate::view) fn read(&self, nth: u32) -> Option<Target> {
        self.entries.get(&nth).map(|it| it.target.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_its_node_for_as_long_as_the_kernel_knows_it() {
        let mut targets = Targets::default();
        let attr = |ino, uid| Attr { ino, uid, ..Attr::default() };
        let there = |text: &str| Ok(text.as_bytes().to_vec());
        let first = targets.learn(attr(1, 0), there("/a"));
        assert_eq!(targets.learn(attr(1, 5), there("/a")), first);
        assert_eq!(targets.attr(first).unwrap().uid, 5);
        let others = [
            targets.learn(attr(1, 0), there("/b")),
            targets.learn(attr(2, 0), there("/a")),
            targets.learn(attr(1, 0), Err(ViewErrno::Acces)),
        ];
        assert!(!others.contains(&first));
        assert_eq!(targets.read(others[2]), Some(Err(ViewErrno::Acces)));
        targets.forget(first, 1);
        assert_eq!(targets.read(first), Some(there("/a")));
        targets.forget(first, 1);
        assert_eq!(targets.read(first), None);
        assert_ne!(targets.learn(attr(1, 0), there("/a")), first);
    }
}
