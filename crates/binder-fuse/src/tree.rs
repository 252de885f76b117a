//! The names and inodes of binderfs: `binder-control`, `features/`, and the devices.
//!
//! Every open of a device has an inode of its own. By it /proc/PID/maps tells where a client mapped
//! this very file, and the kernel keeps one receive buffer per inode. So a look-up hands out an
//! inode that nobody has opened yet, and the thread that looked it up opens it, once.
//!
//! An inode that is opened by anybody else is the target of a bind mount, which spares all who open
//! it the look-up. They share it, and must get their data in another way.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use fuse_wire::{Attr, Entry, FUSE_ROOT_ID};
use slab::Slab;

use crate::driver::DeviceId;
use crate::logs::{LOGS_NAME, LogFile, LogPlace, Logs};
use crate::mapping::BUFFER_BYTES;
use crate::options::DEVICES_MAX;

const CONTROL: u64 = 2;
const FEATURES: u64 = 3;
const FIRST_FEATURE: u64 = 4;
const FIRST_DEVICE_INODE: u64 = 1 << 16;

const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const PERMISSION_BITS: u32 = 0o7777;

const NAME_MAX_BYTES: usize = 255;

/// How long the kernel may keep what it was told of an inode. Names of devices are asked for at
/// every open; their inodes are new ones then, and so are their attributes.
const ATTR_VALID: Duration = Duration::from_secs(60);
/// An open follows its look-up within this time. Later the same thread number may be another's.
const LOOKUP_TO_OPEN: Duration = Duration::from_secs(1);
/// Names and attributes that never change.
const FOREVER: Duration = Duration::from_secs(86_400);

/// What the driver can do beyond the basics: file names under `features/`, and what each tells.
///
/// Reports of transactions go by netlink, where nobody but a kernel may speak to all.
const FEATURES_TOLD: [(&str, &[u8]); 4] = [
    ("extended_error", b"1\n"),
    ("freeze_notification", b"1\n"),
    ("oneway_spam_detection", b"1\n"),
    ("transaction_report", b"0\n"),
];

/// The flags of renameat2(2).
const RENAME_NOREPLACE: u32 = 1;
const RENAME_EXCHANGE: u32 = 2;

/// What a file system call on a name or inode gets as errno.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
#[expect(clippy::upper_case_acronyms, reason = "errno names")]
pub(crate) enum Refused {
    EPERM = 1,
    ENOENT = 2,
    EACCES = 13,
    EEXIST = 17,
    ENOTDIR = 20,
    EINVAL = 22,
    ENOSPC = 28,
    ENAMETOOLONG = 36,
    ESTALE = 116,
}

/// Who may open a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Permissions {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

#[derive(Debug)]
struct Device {
    is_removed: bool,
    permissions: Permissions,
    /// The inode that was looked up last, if it is not open yet, and the thread that asked.
    unopened: Option<(u32, u64)>,
    /// How many inodes the kernel knows.
    inodes: usize,
    /// How many files are open.
    opens: usize,
}

#[derive(Debug)]
struct DeviceInode {
    device: DeviceId,
    permissions: Permissions,
    lookups: u64,
    /// The thread that looked it up last, and when.
    finder: u32,
    found_at: Instant,
    /// How it was opened, if it was.
    opened: Option<Sharing>,
}

/// Whether others open the same inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// Nobody else will.
    Exclusive,
    /// Anybody may.
    Shared,
}

/// What an inode stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Root,
    Control,
    Features,
    Feature,
    /// A directory of logs.
    Logs,
    Log(LogFile),
    Device(DeviceId),
}

/// All names and inodes of one mount.
#[derive(Debug)]
pub(crate) struct Tree {
    owner: (u32, u32),
    names: BTreeMap<Vec<u8>, DeviceId>,
    /// Those that have a name, and those that somebody may still come by.
    devices: Slab<Device>,
    devices_max: u32,
    inodes: HashMap<u64, DeviceInode>,
    next_inode: u64,
    /// `binder_logs/`, if there is one.
    logs: Option<Logs>,
}

impl Tree {
    /// A tree without devices, owned by `uid` and `gid`.
    pub(crate) fn new(uid: u32, gid: u32) -> Self {
        Self {
            owner: (uid, gid),
            names: BTreeMap::new(),
            devices: Slab::new(),
            devices_max: DEVICES_MAX,
            inodes: HashMap::new(),
            next_inode: FIRST_DEVICE_INODE,
            logs: None,
        }
    }

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

    /// Limits how many devices there may be; those that there are stay.
    pub(crate) fn limit_devices(&mut self, devices_max: u32) {
        self.devices_max = devices_max;
    }

    /// Adds a device and gives it the smallest number that is free.
    ///
    /// # Errors
    ///
    /// `ENOSPC` beyond the limit, `EACCES` for a name that is none, `EEXIST` for one that is taken.
    pub(crate) fn add_device(&mut self, name: &[u8], mode: u32) -> Result<DeviceId, Refused> {
        if self.is_full() {
            return Err(Refused::ENOSPC);
        }
        if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
            return Err(Refused::EACCES);
        }
        if name.len() > NAME_MAX_BYTES {
            return Err(Refused::ENAMETOOLONG);
        }
        if is_fixed(name) || self.names.contains_key(name) {
            return Err(Refused::EEXIST);
        }
        let (uid, gid) = self.owner;
        let permissions = Permissions { mode: mode & PERMISSION_BITS, uid, gid };
        let device = Device { is_removed: false, permissions, unopened: None, inodes: 0, opens: 0 };
        let id = self.devices.insert(device);
        self.names.insert(name.to_vec(), id);
        Ok(id)
    }

    /// Whether there are as many devices as there may be. One without a name counts while it is open.
    fn is_full(&self) -> bool {
        let devices_max = self.devices_max as usize;
        let counts = |(_, device): &(usize, &Device)| !device.is_removed || device.opens > 0;
        self.devices.len() >= devices_max
            && self.devices.iter().filter(counts).count() >= devices_max
    }

    /// Removes a device's name. Those who have it open go on.
    pub(crate) fn unlink(&mut self, parent: u64, name: &[u8]) -> Result<(), Refused> {
        if parent != FUSE_ROOT_ID || is_fixed(name) {
            return Err(Refused::EPERM);
        }
        let id = self.names.remove(name).ok_or(Refused::ENOENT)?;
        self.devices[id].is_removed = true;
        self.discard_if_gone(id);
        Ok(())
    }

    /// Gives a device another name, in the same directory; one that has that name already is removed.
    pub(crate) fn rename(
        &mut self,
        from: (u64, &[u8]),
        to: (u64, &[u8]),
        flags: u32,
    ) -> Result<(), Refused> {
        let ((parent, name), (new_parent, new_name)) = (from, to);
        let are_devices = !is_fixed(name) && !is_fixed(new_name);
        if !are_devices || parent != FUSE_ROOT_ID || new_parent != FUSE_ROOT_ID {
            return Err(Refused::EPERM);
        }
        if new_name.len() > NAME_MAX_BYTES {
            return Err(Refused::ENAMETOOLONG);
        }
        let id = *self.names.get(name).ok_or(Refused::ENOENT)?;
        let replaced = self.names.get(new_name).copied();
        match (flags, replaced) {
            (0, Some(replaced)) if replaced != id => self.unlink(new_parent, new_name)?,
            (RENAME_NOREPLACE, Some(_)) => return Err(Refused::EEXIST),
            (0 | RENAME_NOREPLACE, _) => {}
            (RENAME_EXCHANGE, Some(other)) => {
                self.names.insert(name.to_vec(), other);
                self.names.insert(new_name.to_vec(), id);
                return Ok(());
            }
            (RENAME_EXCHANGE, None) => return Err(Refused::ENOENT),
            _ => return Err(Refused::EINVAL),
        }
        self.names.remove(name);
        self.names.insert(new_name.to_vec(), id);
        Ok(())
    }

    /// Frees the number of a device that nobody can come by any more.
    fn discard_if_gone(&mut self, id: DeviceId) {
        let is_gone =
            |device: &Device| device.is_removed && device.inodes == 0 && device.opens == 0;
        if self.devices.get(id).is_some_and(is_gone) {
            self.devices.remove(id);
        }
    }

    /// Finds a name for thread `tid`, and hands out an inode for it.
    ///
    /// A thread that looks and then opens finds the same inode twice, which spares the kernel a second
    /// lookup. Two threads never do: one of them would find it opened, and the kernel looks a name up
    /// again only once.
    pub(crate) fn lookup(&mut self, parent: u64, name: &[u8], tid: u32) -> Result<Entry, Refused> {
        if let Some(entry) = self.lookup_log(parent, name) {
            return entry;
        }
        let fixed = match (parent, name) {
            (FUSE_ROOT_ID, b"binder-control") => Some(CONTROL),
            (FUSE_ROOT_ID, b"features") => Some(FEATURES),
            (FUSE_ROOT_ID, _) => None,
            (FEATURES, name) => Some(feature_inode(name).ok_or(Refused::ENOENT)?),
            _ => return Err(Refused::ENOTDIR),
        };
        if let Some(node) = fixed {
            let attr = self.attr(node)?;
            let (entry_valid, attr_valid) = (FOREVER, FOREVER);
            return Ok(Entry { node, generation: 0, entry_valid, attr_valid, attr });
        }
        let id = *self.names.get(name).ok_or(Refused::ENOENT)?;
        let device = self.devices.get_mut(id).ok_or(Refused::ENOENT)?;
        let (_, node) = device.unopened.filter(|&(finder, _)| finder == tid).unwrap_or_else(|| {
            self.next_inode += 1;
            (tid, self.next_inode - 1)
        });
        device.unopened = Some((tid, node));
        let inode = self.inodes.entry(node).or_insert_with(|| {
            device.inodes += 1;
            DeviceInode {
                device: id,
                permissions: device.permissions,
                lookups: 0,
                finder: tid,
                found_at: Instant::now(),
                opened: None,
            }
        });
        inode.lookups += 1;
        inode.found_at = Instant::now();
        let attr = self.attr(node)?;
        // The name is looked up anew each time; the inode's attributes are its own.
        let entry_valid = Duration::ZERO;
        Ok(Entry { node, generation: 0, entry_valid, attr_valid: ATTR_VALID, attr })
    }

    /// The same for logs; `None` where there are none.
    fn lookup_log(&self, parent: u64, name: &[u8]) -> Option<Result<Entry, Refused>> {
        let logs = self.logs.as_ref()?;
        let Some(node) = logs.lookup(parent, name) else {
            // A name in a directory of logs stands for a log or for nothing.
            let is_inside = logs.place(parent) == Some(LogPlace::Directory);
            return is_inside.then_some(Err(Refused::ENOENT));
        };
        let valid = if Logs::is_fixed(node) { FOREVER } else { Duration::ZERO };
        let (entry_valid, attr_valid) = (valid, valid);
        let attr = self.attr(node);
        Some(attr.map(|attr| Entry { node, generation: 0, entry_valid, attr_valid, attr }))
    }

    /// The kernel has let go of `lookups` look-ups of an inode.
    pub(crate) fn forget(&mut self, node: u64, lookups: u64) {
        let Some(inode) = self.inodes.get_mut(&node) else { return };
        inode.lookups = inode.lookups.saturating_sub(lookups);
        if inode.lookups == 0
            && let Some(inode) = self.inodes.remove(&node)
            && let Some(device) = self.devices.get_mut(inode.device)
        {
            device.unopened = device.unopened.filter(|&(_, unopened)| unopened != node);
            device.inodes -= 1;
            self.discard_if_gone(inode.device);
        }
    }

    /// A file of device `id` was closed that process `pid` had opened.
    pub(crate) fn close(&mut self, id: DeviceId, pid: u32) {
        if let Some(logs) = &mut self.logs {
            logs.leave(pid);
        }
        self.abandon_open(id);
    }

    /// A file of device `id` was closed, or could not be opened after all.
    pub(crate) fn abandon_open(&mut self, id: DeviceId) {
        if let Some(device) = self.devices.get_mut(id) {
            device.opens = device.opens.saturating_sub(1);
            self.discard_if_gone(id);
        }
    }

    /// What an inode stands for.
    pub(crate) fn place(&self, node: u64) -> Result<Place, Refused> {
        match self.logs.as_ref().and_then(|logs| logs.place(node)) {
            Some(LogPlace::Directory) => return Ok(Place::Logs),
            Some(LogPlace::File(log)) => return Ok(Place::Log(log)),
            None => {}
        }
        Ok(match node {
            FUSE_ROOT_ID => Place::Root,
            CONTROL => Place::Control,
            FEATURES => Place::Features,
            _ if feature_text(node).is_some() => Place::Feature,
            _ => Place::Device(self.inodes.get(&node).ok_or(Refused::ENOENT)?.device),
        })
    }

    /// Takes a device's inode for thread `tid`, which is about to open it, until it is
    /// [closed](Self::close).
    ///
    /// # Errors
    ///
    /// `ESTALE` when somebody has it for itself: the kernel then looks the name up again.
    pub(crate) fn take_for_open(&mut self, node: u64, tid: u32) -> Result<Sharing, Refused> {
        let inode = self.inodes.get_mut(&node).ok_or(Refused::ENOENT)?;
        let sharing = match inode.opened {
            None if inode.finder == tid && inode.found_at.elapsed() < LOOKUP_TO_OPEN => {
                Sharing::Exclusive
            }
            None | Some(Sharing::Shared) => Sharing::Shared,
            Some(Sharing::Exclusive) => return Err(Refused::ESTALE),
        };
        inode.opened = Some(sharing);
        if let Some(device) = self.devices.get_mut(inode.device) {
            device.opens += 1;
            device.unopened = device.unopened.filter(|&(_, unopened)| unopened != node);
        }
        Ok(sharing)
    }

    /// Attributes of an inode.
    pub(crate) fn attr(&self, node: u64) -> Result<Attr, Refused> {
        let (uid, gid) = self.owner;
        let (mode, size) = match self.place(node)? {
            Place::Root | Place::Features | Place::Logs => (S_IFDIR | 0o755, 0),
            Place::Control => (S_IFREG | 0o600, 0),
            Place::Feature => (S_IFREG | 0o444, self.feature_text(node).len()),
            Place::Log(_) => (S_IFREG | 0o444, 0),
            Place::Device(_) => (S_IFREG, BUFFER_BYTES),
        };
        let mut attr = Attr {
            ino: node,
            size: size as u64,
            mode,
            nlink: 1,
            uid,
            gid,
            blksize: 4096,
            ..Attr::default()
        };
        if let Some(DeviceInode { permissions, .. }) = self.inodes.get(&node) {
            attr.mode |= permissions.mode;
            attr.uid = permissions.uid;
            attr.gid = permissions.gid;
        }
        Ok(attr)
    }

    /// Changes who may open a device: this inode's and all later ones'.
    pub(crate) fn set_permissions(
        &mut self,
        node: u64,
        change: impl FnOnce(&mut Permissions),
    ) -> Result<(), Refused> {
        let inode = self.inodes.get_mut(&node).ok_or(Refused::EPERM)?;
        let device = self.devices.get(inode.device);
        if device.is_some_and(|device| device.permissions != inode.permissions) {
            // The kernel has checked the caller against what this inode once was.
            return Err(Refused::ESTALE);
        }
        change(&mut inode.permissions);
        inode.permissions.mode &= PERMISSION_BITS;
        if let Some(device) = self.devices.get_mut(inode.device) {
            device.permissions = inode.permissions;
            // An inode that others have looked up shows the old ones.
            device.unopened = device.unopened.filter(|&(_, unopened)| unopened == node);
        }
        Ok(())
    }

    /// The entries of a directory: inode, mode, name.
    pub(crate) fn list(&self, node: u64) -> Result<Vec<(u64, u32, Vec<u8>)>, Refused> {
        let mut entries =
            vec![(node, S_IFDIR, b".".to_vec()), (FUSE_ROOT_ID, S_IFDIR, b"..".to_vec())];
        match self.place(node)? {
            Place::Root => {
                entries.push((CONTROL, S_IFREG, b"binder-control".to_vec()));
                entries.push((FEATURES, S_IFDIR, b"features".to_vec()));
                // The number is one that no look-up hands out: each of those has a fresh inode.
                let number = |id: DeviceId| u64::MAX - id as u64;
                let devices = self.names.iter();
                entries.extend(devices.map(|(name, id)| (number(*id), S_IFREG, name.clone())));
            }
            Place::Features => {
                entries.extend(
                    (FIRST_FEATURE..)
                        .zip(FEATURES_TOLD)
                        .map(|(node, (name, _))| (node, S_IFREG, name.as_bytes().to_vec())),
                );
            }
            Place::Logs => entries[1].0 = Logs::parent(node),
            Place::Control | Place::Feature | Place::Log(_) | Place::Device(_) => {
                return Err(Refused::ENOTDIR);
            }
        }
        for (node, name, is_directory) in self.logs.iter().flat_map(|logs| logs.list(node)) {
            let mode = if is_directory { S_IFDIR } else { S_IFREG };
            entries.push((node, mode, name.into_bytes()));
        }
        Ok(entries)
    }

    /// The text of a file under `features/`.
    pub(crate) fn feature_text(&self, node: u64) -> &'static [u8] {
        feature_text(node).unwrap_or_default()
    }
}

/// Whether a name in the root stands for something else than a device.
fn is_fixed(name: &[u8]) -> bool {
    [&b"binder-control"[..], b"features", LOGS_NAME].contains(&name)
}

fn feature_inode(name: &[u8]) -> Option<u64> {
    let mut told = (FIRST_FEATURE..).zip(FEATURES_TOLD);
    told.find(|(_, (known, _))| known.as_bytes() == name).map(|(node, _)| node)
}

fn feature_text(node: u64) -> Option<&'static [u8]> {
    let index = usize::try_from(node.checked_sub(FIRST_FEATURE)?).ok()?;
    FEATURES_TOLD.get(index).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_with_binder() -> Tree {
        let mut tree = Tree::new(0, 0);
        assert_eq!(tree.add_device(b"binder", 0o600), Ok(0));
        tree
    }

    #[test]
    fn an_inode_is_opened_once_and_the_next_lookup_finds_another() {
        let mut tree = tree_with_binder();
        let first = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
        assert_eq!(tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node, first);
        assert_eq!(tree.take_for_open(first, 7), Ok(Sharing::Exclusive));
        assert_eq!(tree.take_for_open(first, 7), Err(Refused::ESTALE));
        let second = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
        assert_ne!(second, first);
        assert_eq!(tree.place(second), Ok(Place::Device(0)));
    }

    #[test]
    fn threads_that_look_at_the_same_time_find_inodes_of_their_own() {
        let mut tree = tree_with_binder();
        let found =
            [7, 8, 7, 9].map(|tid| (tid, tree.lookup(FUSE_ROOT_ID, b"binder", tid).unwrap().node));
        for (tid, node) in found {
            assert_eq!(tree.take_for_open(node, tid), Ok(Sharing::Exclusive), "{found:?}");
        }
    }

    #[test]
    fn those_who_open_without_a_lookup_share_the_inode() {
        let mut tree = tree_with_binder();
        let mounted = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
        assert_eq!(tree.take_for_open(mounted, 8), Ok(Sharing::Shared));
        assert_eq!(tree.take_for_open(mounted, 7), Ok(Sharing::Shared));
        assert_ne!(tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node, mounted);
    }

    // C230, C231
    #[test]
    fn names_that_are_none_are_refused_and_255_bytes_are_a_name() {
        let mut tree = tree_with_binder();
        for name in [&b""[..], b".", b"..", b"a/b"] {
            assert_eq!(tree.add_device(name, 0o600), Err(Refused::EACCES), "{name:?}");
        }
        assert_eq!(tree.add_device(b"binder", 0o600), Err(Refused::EEXIST));
        assert_eq!(tree.add_device(&[b'x'; 255], 0o600), Ok(1));
    }

    // C235
    #[test]
    fn a_removed_device_keeps_its_open_inodes() {
        let mut tree = tree_with_binder();
        let node = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
        tree.take_for_open(node, 7).unwrap();
        assert_eq!(tree.unlink(FUSE_ROOT_ID, b"binder"), Ok(()));
        assert_eq!(tree.unlink(FUSE_ROOT_ID, b"binder"), Err(Refused::ENOENT));
        assert_eq!(tree.unlink(FUSE_ROOT_ID, b"binder-control"), Err(Refused::EPERM));
        assert_eq!(tree.place(node), Ok(Place::Device(0)));
        tree.forget(node, 1);
        assert_eq!(tree.place(node), Err(Refused::ENOENT));
    }

    // C233
    #[test]
    fn a_limit_counts_devices_that_have_a_name_or_are_open() {
        let mut tree = tree_with_binder();
        tree.limit_devices(2);
        assert_eq!(tree.add_device(b"second", 0o600), Ok(1));
        assert_eq!(tree.add_device(b"third", 0o600), Err(Refused::ENOSPC));
        assert_eq!(tree.add_device(b"binder", 0o600), Err(Refused::ENOSPC), "before the name");
        let node = tree.lookup(FUSE_ROOT_ID, b"second", 7).unwrap().node;
        tree.take_for_open(node, 7).unwrap();
        tree.unlink(FUSE_ROOT_ID, b"second").unwrap();
        assert_eq!(tree.add_device(b"third", 0o600), Err(Refused::ENOSPC));
        tree.close(1, 0);
        assert_eq!(tree.add_device(b"third", 0o600), Ok(2), "number 1 has an inode still");
        tree.forget(node, 1);
        tree.limit_devices(3);
        assert_eq!(tree.add_device(b"fourth", 0o600), Ok(1));
    }

    #[test]
    fn a_device_keeps_what_it_is_under_another_name() {
        let mut tree = tree_with_binder();
        tree.add_device(b"other", 0o600).unwrap();
        fn root(name: &str) -> (u64, &[u8]) {
            (FUSE_ROOT_ID, name.as_bytes())
        }
        let node = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
        tree.take_for_open(node, 7).unwrap();
        assert_eq!(tree.rename(root("binder"), root("new"), RENAME_NOREPLACE), Ok(()));
        tree.set_permissions(node, |permissions| permissions.mode = 0o640).unwrap();
        let found = tree.lookup(FUSE_ROOT_ID, b"new", 7).unwrap();
        assert_eq!(found.attr.mode, S_IFREG | 0o640);
        assert_eq!(tree.place(found.node), Ok(Place::Device(0)));
        assert!(tree.lookup(FUSE_ROOT_ID, b"binder", 7).is_err());

        let refused = tree.rename(root("new"), root("other"), RENAME_NOREPLACE);
        assert_eq!(refused, Err(Refused::EEXIST));
        tree.rename(root("new"), root("other"), RENAME_EXCHANGE).unwrap();
        let found = tree.lookup(FUSE_ROOT_ID, b"new", 7).unwrap().node;
        assert_eq!(tree.place(found), Ok(Place::Device(1)));
        tree.rename(root("new"), root("other"), 0).unwrap();
        let found = tree.lookup(FUSE_ROOT_ID, b"other", 7).unwrap().node;
        assert_eq!(tree.place(found), Ok(Place::Device(1)));
        assert_eq!(tree.place(node), Ok(Place::Device(0)), "overwritten, and open");
    }

    #[test]
    fn what_is_no_device_stays_where_it_is() {
        let mut tree = tree_with_binder();
        let cases = [
            ((FUSE_ROOT_ID, &b"binder-control"[..]), (FUSE_ROOT_ID, &b"x"[..]), Refused::EPERM),
            ((FUSE_ROOT_ID, b"binder"), (FUSE_ROOT_ID, b"binder-control"), Refused::EPERM),
            ((FUSE_ROOT_ID, b"features"), (FUSE_ROOT_ID, b"x"), Refused::EPERM),
            ((FUSE_ROOT_ID, b"binder"), (FEATURES, b"binder"), Refused::EPERM),
            ((FEATURES, b"extended_error"), (FEATURES, b"x"), Refused::EPERM),
            ((FUSE_ROOT_ID, b"absent"), (FUSE_ROOT_ID, b"x"), Refused::ENOENT),
        ];
        for (from, to, refused) in cases {
            assert_eq!(tree.rename(from, to, 0), Err(refused), "{from:?}");
        }
        assert_eq!(tree.rename(cases[1].0, (FUSE_ROOT_ID, b"x"), 8), Err(Refused::EINVAL));
    }

    #[test]
    fn an_inode_from_before_a_change_of_owner_changes_nothing() {
        let mut tree = tree_with_binder();
        let own = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
        tree.take_for_open(own, 7).unwrap();
        let roots = tree.lookup(FUSE_ROOT_ID, b"binder", 8).unwrap().node;
        tree.set_permissions(roots, |permissions| permissions.uid = 1000).unwrap();
        let taken_back = tree.set_permissions(own, |permissions| permissions.mode = 0o666);
        assert_eq!(taken_back, Err(Refused::ESTALE));
    }

    #[test]
    fn a_change_of_mode_lasts() {
        let mut tree = tree_with_binder();
        let node = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
        tree.set_permissions(node, |permissions| permissions.mode = 0o666).unwrap();
        tree.take_for_open(node, 7).unwrap();
        let next = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap();
        assert_eq!(next.attr.mode, S_IFREG | 0o666);
    }
}
