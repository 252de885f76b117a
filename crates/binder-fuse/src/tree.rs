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

use crate::driver::DeviceId;
use crate::mapping::BUFFER_BYTES;

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

/// What the driver can do beyond the basics: file names under `features/`, each holding "1\n".
const FEATURE_NAMES: [&str; 3] = ["extended_error", "freeze_notification", "oneway_spam_detection"];
const FEATURE_TEXT: &[u8] = b"1\n";

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
    id: DeviceId,
    permissions: Permissions,
    /// The inode that was looked up last, if it is not open yet, and the thread that asked.
    unopened: Option<(u32, u64)>,
}

#[derive(Debug)]
struct DeviceInode {
    name: Vec<u8>,
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
    Device(DeviceId),
}

/// All names and inodes of one mount.
#[derive(Debug)]
pub(crate) struct Tree {
    owner: (u32, u32),
    devices: BTreeMap<Vec<u8>, Device>,
    inodes: HashMap<u64, DeviceInode>,
    next_inode: u64,
    next_device: DeviceId,
}

impl Tree {
    /// A tree without devices, owned by `uid` and `gid`.
    pub(crate) fn new(uid: u32, gid: u32) -> Self {
        Self {
            owner: (uid, gid),
            devices: BTreeMap::new(),
            inodes: HashMap::new(),
            next_inode: FIRST_DEVICE_INODE,
            next_device: 0,
        }
    }

    /// Adds a device and numbers it.
    ///
    /// # Errors
    ///
    /// `EACCES` for a name that is none, `EEXIST` for one that is taken.
    pub(crate) fn add_device(&mut self, name: &[u8], mode: u32) -> Result<DeviceId, Refused> {
        if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
            return Err(Refused::EACCES);
        }
        if name.len() > NAME_MAX_BYTES {
            return Err(Refused::ENAMETOOLONG);
        }
        if name == b"binder-control" || name == b"features" || self.devices.contains_key(name) {
            return Err(Refused::EEXIST);
        }
        let id = self.next_device;
        self.next_device += 1;
        let (uid, gid) = self.owner;
        let permissions = Permissions { mode: mode & PERMISSION_BITS, uid, gid };
        self.devices.insert(name.to_vec(), Device { id, permissions, unopened: None });
        Ok(id)
    }

    /// Removes a device's name. Those who have it open go on.
    pub(crate) fn unlink(&mut self, parent: u64, name: &[u8]) -> Result<(), Refused> {
        if parent != FUSE_ROOT_ID || name == b"binder-control" || name == b"features" {
            return Err(Refused::EPERM);
        }
        self.devices.remove(name).map(drop).ok_or(Refused::ENOENT)
    }

    /// Finds a name for thread `tid`, and hands out an inode for it.
    ///
    /// A thread that looks and then opens finds the same inode twice, which spares the kernel a second
    /// lookup. Two threads never do: one of them would find it opened, and the kernel looks a name up
    /// again only once.
    pub(crate) fn lookup(&mut self, parent: u64, name: &[u8], tid: u32) -> Result<Entry, Refused> {
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
        let device = self.devices.get_mut(name).ok_or(Refused::ENOENT)?;
        let (_, node) = device.unopened.filter(|&(finder, _)| finder == tid).unwrap_or_else(|| {
            self.next_inode += 1;
            (tid, self.next_inode - 1)
        });
        device.unopened = Some((tid, node));
        let inode = self.inodes.entry(node).or_insert_with(|| DeviceInode {
            name: name.to_vec(),
            device: device.id,
            permissions: device.permissions,
            lookups: 0,
            finder: tid,
            found_at: Instant::now(),
            opened: None,
        });
        inode.lookups += 1;
        inode.found_at = Instant::now();
        let attr = self.attr(node)?;
        // The name is looked up anew each time; the inode's attributes are its own.
        let entry_valid = Duration::ZERO;
        Ok(Entry { node, generation: 0, entry_valid, attr_valid: ATTR_VALID, attr })
    }

    /// The kernel has let go of `lookups` look-ups of an inode.
    pub(crate) fn forget(&mut self, node: u64, lookups: u64) {
        let Some(inode) = self.inodes.get_mut(&node) else { return };
        inode.lookups = inode.lookups.saturating_sub(lookups);
        if inode.lookups == 0
            && let Some(inode) = self.inodes.remove(&node)
            && let Some(device) = self.devices.get_mut(&inode.name)
        {
            device.unopened = device.unopened.filter(|&(_, unopened)| unopened != node);
        }
    }

    /// What an inode stands for.
    pub(crate) fn place(&self, node: u64) -> Result<Place, Refused> {
        Ok(match node {
            FUSE_ROOT_ID => Place::Root,
            CONTROL => Place::Control,
            FEATURES => Place::Features,
            _ if feature_name(node).is_some() => Place::Feature,
            _ => Place::Device(self.inodes.get(&node).ok_or(Refused::ENOENT)?.device),
        })
    }

    /// Takes a device's inode for thread `tid`, which is about to open it.
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
        if let Some(device) = self.devices.get_mut(&inode.name) {
            device.unopened = device.unopened.filter(|&(_, unopened)| unopened != node);
        }
        Ok(sharing)
    }

    /// Attributes of an inode.
    pub(crate) fn attr(&self, node: u64) -> Result<Attr, Refused> {
        let (uid, gid) = self.owner;
        let (mode, size) = match self.place(node)? {
            Place::Root | Place::Features => (S_IFDIR | 0o755, 0),
            Place::Control => (S_IFREG | 0o600, 0),
            Place::Feature => (S_IFREG | 0o444, FEATURE_TEXT.len()),
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
        let device = self.devices.get(&inode.name).filter(|device| device.id == inode.device);
        if device.is_some_and(|device| device.permissions != inode.permissions) {
            // The kernel has checked the caller against what this inode once was.
            return Err(Refused::ESTALE);
        }
        change(&mut inode.permissions);
        inode.permissions.mode &= PERMISSION_BITS;
        if let Some(device) = self.devices.get_mut(&inode.name)
            && device.id == inode.device
        {
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
                let devices = self.devices.iter();
                // The number is one that no look-up hands out: each of those has a fresh inode.
                entries
                    .extend(devices.map(|(name, device)| {
                        (u64::MAX - device.id as u64, S_IFREG, name.clone())
                    }));
            }
            Place::Features => {
                entries.extend(
                    (FIRST_FEATURE..)
                        .zip(FEATURE_NAMES)
                        .map(|(node, name)| (node, S_IFREG, name.as_bytes().to_vec())),
                );
            }
            Place::Control | Place::Feature | Place::Device(_) => return Err(Refused::ENOTDIR),
        }
        Ok(entries)
    }

    /// The text of a file under `features/`.
    pub(crate) fn feature_text(&self) -> &'static [u8] {
        FEATURE_TEXT
    }
}

fn feature_inode(name: &[u8]) -> Option<u64> {
    (FIRST_FEATURE..).zip(FEATURE_NAMES).find(|(_, known)| known.as_bytes() == name).map(|(n, _)| n)
}

fn feature_name(node: u64) -> Option<&'static str> {
    FEATURE_NAMES.get(usize::try_from(node.checked_sub(FIRST_FEATURE)?).ok()?).copied()
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
