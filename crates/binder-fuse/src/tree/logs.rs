//! The part of the tree below `binder_logs/`, if there is one.

use std::time::Duration;

use binder_core::Errno;
use fuse_wire::Entry;

use super::{FOREVER, InodeKind, S_IFDIR, S_IFREG, Tree};
use crate::logs::{LogPlace, Logs};

impl Tree {
    /// Adds the directory of logs.
    pub(crate) fn add_logs(&mut self) {
        self.logs = Some(Logs::default());
    }

    /// Process `pid` opens a device.
    pub(crate) fn arrive(&mut self, pid: u32) {
        if let Some(logs) = &mut self.logs {
            logs.arrive(pid);
        }
    }

    /// Finds a name among logs; `None` where there are none.
    pub(super) fn lookup_log(&self, parent: u64, name: &[u8]) -> Option<Result<Entry, Errno>> {
        let logs = self.logs.as_ref()?;
        let Some(node) = logs.lookup(parent, name) else {
            // A name in a directory of logs stands for a log or for nothing.
            let is_inside = logs.place(parent) == Some(LogPlace::Directory);
            return is_inside.then_some(Err(Errno::ENOENT));
        };
        let valid = if Logs::is_fixed(node) { FOREVER } else { Duration::ZERO };
        let (entry_valid, attr_valid) = (valid, valid);
        let attr = self.attr(node);
        Some(attr.map(|attr| Entry { node, generation: 0, entry_valid, attr_valid, attr }))
    }

    pub(super) fn place_log(&self, node: u64) -> Option<InodeKind> {
        self.logs.as_ref()?.place(node).map(|place| match place {
            LogPlace::Directory => InodeKind::Logs,
            LogPlace::File(log) => InodeKind::Log(log),
        })
    }

    /// The entries that logs add to a directory.
    pub(super) fn list_logs(&self, node: u64) -> impl Iterator<Item = (u64, u32, Vec<u8>)> {
        let listed = self.logs.iter().flat_map(move |logs| logs.list(node));
        listed.map(|(node, name, is_directory)| {
            (node, if is_directory { S_IFDIR } else { S_IFREG }, name.into_bytes())
        })
    }
}
