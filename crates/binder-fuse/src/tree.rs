//! The names and inodes of binderfs: `binder-control`, `features/`, and the devices.
//!
//! Every open of a device has an inode of its own. By it /proc/PID/maps tells where a client mapped
//! this very file, and the kernel keeps one receive buffer per inode. So a look-up hands out an
//! inode that is not open yet, and the thread that looked it up opens it, once.
//!
//! An inode that is opened by another thread is the target of a bind mount, which spares all processes that open
//! it the look-up. They share it, and must get their data by another route.

mod logs;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use binder_core::Errno;
use fuse_wire::{Attr, Entry, FUSE_ROOT_ID};
use slab::Slab;

use crate::logs::{LOGS_NAME, LogFile, Logs};
use crate::mapping::BUFFER_BYTES;
use crate::options::{DEVICES_MAX, NAME_MAX_BYTES};

const CONTROL: u64 = 2;
const FEATURES: u64 = 3;
const FIRST_FEATURE: u64 = 4;
const FIRST_DEVICE_INODE: u64 = 1 << 16;

const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const PERMISSION_BITS: u32 = 0o7777;

/// How long the kernel may keep what it was told of an inode. Names of devices are asked for at
/// every open; their inodes are new ones then, and so are their attributes.
const ATTR_VALID: Duration = Duration::from_secs(60);
/// An open follows its look-up within this time. Later the same thread number may be another's.
const LOOKUP_TO_OPEN: Duration = Duration::from_secs(1);
/// Names and attributes that never change.
const FOREVER: Duration = Duration::from_secs(86_400);

/// What the driver can do beyond the basics: file names under `features/`, and what each tells.
///
/// Reports of transactions go by netlink, where only a kernel may speak to all.
const FEATURES_TOLD: [(&str, &[u8]); 4] = [
    ("extended_error", b"1\n"),
    ("freeze_notification", b"1\n"),
    ("oneway_spam_detection", b"1\n"),
    ("transaction_report", b"0\n"),
];

/// The flags of renameat2(2).
const RENAME_NOREPLACE: u32 = 1;
const RENAME_EXCHANGE: u32 = 2;

/// Names a device of the mount, also after it was unlinked.
pub(crate) type DeviceId = usize;

/// The owner and mode of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Permissions {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

#[derive(Debug)]
struct DeviceNode {
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
    /// No other thread will.
    Exclusive,
    /// Any thread may.
    Shared,
}

/// What an inode stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InodeKind {
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
    /// Of the directory itself, and of `binder-control`: scripts that mount binderfs set them.
    root: Permissions,
    control: Permissions,
    names: BTreeMap<Vec<u8>, DeviceId>,
    /// Those that have a name, and those that a client may still open.
    devices: Slab<DeviceNode>,
    devices_max: u32,
    /// Names and permissions stay as they are. Devices are opened and added all the same: a kernel's are
    /// device nodes, which a file system that is read-only does not keep from being written to.
    is_read_only: bool,
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
            root: Permissions { mode: 0o755, uid, gid },
            control: Permissions { mode: 0o600, uid, gid },
            names: BTreeMap::new(),
            devices: Slab::new(),
            devices_max: DEVICES_MAX,
            is_read_only: false,
            inodes: HashMap::new(),
            next_inode: FIRST_DEVICE_INODE,
            logs: None,
        }
    }

    /// Limits how many devices there may be; those that there are stay.
    pub(crate) fn limit_devices(&mut self, devices_max: u32) {
        self.devices_max = devices_max;
    }

    /// Lets names and permissions be changed or not.
    pub(crate) fn set_read_only(&mut self, is_read_only: bool) {
        self.is_read_only = is_read_only;
    }

    fn check_writable(&self) -> Result<(), Errno> {
        if self.is_read_only { Err(Errno::EROFS) } else { Ok(()) }
    }

    /// Adds a device and gives it the smallest number that is free.
    ///
    /// # Errors
    ///
    /// `ENOSPC` beyond the limit, `EACCES` for a name that is none, `EEXIST` for one that is taken.
    pub(crate) fn add_device(&mut self, name: &[u8], mode: u32) -> Result<DeviceId, Errno> {
        if self.is_full() {
            return Err(Errno::ENOSPC);
        }
        if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
            return Err(Errno::EACCES);
        }
        if name.len() > NAME_MAX_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        if is_fixed(name) || self.names.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        let (uid, gid) = self.owner;
        let permissions = Permissions { mode: mode & PERMISSION_BITS, uid, gid };
        let device =
            DeviceNode { is_removed: false, permissions, unopened: None, inodes: 0, opens: 0 };
        let id = self.devices.insert(device);
        self.names.insert(name.to_vec(), id);
        Ok(id)
    }

    /// Gives a new device to a user or a group.
    pub(crate) fn give_away(&mut self, id: DeviceId, uid: Option<u32>, gid: Option<u32>) {
        if let Some(device) = self.devices.get_mut(id) {
            let Permissions { uid: own_uid, gid: own_gid, .. } = &mut device.permissions;
            (*own_uid, *own_gid) = (uid.unwrap_or(*own_uid), gid.unwrap_or(*own_gid));
        }
    }

    /// Whether there are as many devices as there may be. One without a name counts while it is open.
    fn is_full(&self) -> bool {
        let devices_max = self.devices_max as usize;
        let counts = |(_, device): &(usize, &DeviceNode)| !device.is_removed || device.opens > 0;
        self.devices.len() >= devices_max
            && self.devices.iter().filter(counts).count() >= devices_max
    }

    /// Removes a device's name. Processes that have it open go on.
    pub(crate) fn unlink(&mut self, parent: u64, name: &[u8]) -> Result<(), Errno> {
        self.check_writable()?;
        if parent != FUSE_ROOT_ID || is_fixed(name) {
            return Err(Errno::EPERM);
        }
        let id = self.names.remove(name).ok_or(Errno::ENOENT)?;
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
    ) -> Result<(), Errno> {
        self.check_writable()?;
        let ((parent, name), (new_parent, new_name)) = (from, to);
        let are_devices = !is_fixed(name) && !is_fixed(new_name);
        if !are_devices || parent != FUSE_ROOT_ID || new_parent != FUSE_ROOT_ID {
            return Err(Errno::EPERM);
        }
        if new_name.len() > NAME_MAX_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        let id = *self.names.get(name).ok_or(Errno::ENOENT)?;
        let replaced = self.names.get(new_name).copied();
        match (flags, replaced) {
            (0, Some(replaced)) if replaced != id => self.unlink(new_parent, new_name)?,
            (RENAME_NOREPLACE, Some(_)) => return Err(Errno::EEXIST),
            (0 | RENAME_NOREPLACE, _) => {}
            (RENAME_EXCHANGE, Some(other)) => {
                self.names.insert(name.to_vec(), other);
                self.names.insert(new_name.to_vec(), id);
                return Ok(());
            }
            (RENAME_EXCHANGE, None) => return Err(Errno::ENOENT),
            _ => return Err(Errno::EINVAL),
        }
        self.names.remove(name);
        self.names.insert(new_name.to_vec(), id);
        Ok(())
    }

    /// Frees the number of a device that no client can open any more.
    fn discard_if_gone(&mut self, id: DeviceId) {
        let is_gone =
            |device: &DeviceNode| device.is_removed && device.inodes == 0 && device.opens == 0;
        if self.devices.get(id).is_some_and(is_gone) {
            self.devices.remove(id);
        }
    }

    /// Finds a name for thread `tid`, and hands out an inode for it.
    ///
    /// A thread that looks and then opens finds the same inode twice, which spares the kernel a second
    /// lookup. Two threads never do: one of them would find it opened, and the kernel looks a name up
    /// again only once.
    pub(crate) fn lookup(&mut self, parent: u64, name: &[u8], tid: u32) -> Result<Entry, Errno> {
        if let Some(entry) = self.lookup_log(parent, name) {
            return entry;
        }
        let fixed = match (parent, name) {
            (FUSE_ROOT_ID, b"binder-control") => Some(CONTROL),
            (FUSE_ROOT_ID, b"features") => Some(FEATURES),
            (FUSE_ROOT_ID, _) => None,
            (FEATURES, name) => Some(feature_inode(name).ok_or(Errno::ENOENT)?),
            _ => return Err(Errno::ENOTDIR),
        };
        if let Some(node) = fixed {
            let attr = self.attr(node)?;
            let (entry_valid, attr_valid) = (FOREVER, FOREVER);
            return Ok(Entry { node, generation: 0, entry_valid, attr_valid, attr });
        }
        let id = *self.names.get(name).ok_or(Errno::ENOENT)?;
        let device = self.devices.get_mut(id).ok_or(Errno::ENOENT)?;
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

    /// Shrinks tables that have held many inodes.
    pub(crate) fn shrink(&mut self) {
        let (len, capacity) = (self.inodes.len(), self.inodes.capacity());
        if len < capacity / 4 {
            self.inodes.shrink_to(2 * len);
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
    pub(crate) fn place(&self, node: u64) -> Result<InodeKind, Errno> {
        if let Some(place) = self.place_log(node) {
            return Ok(place);
        }
        Ok(match node {
            FUSE_ROOT_ID => InodeKind::Root,
            CONTROL => InodeKind::Control,
            FEATURES => InodeKind::Features,
            _ if feature_text(node).is_some() => InodeKind::Feature,
            _ => InodeKind::Device(self.inodes.get(&node).ok_or(Errno::ENOENT)?.device),
        })
    }

    /// Takes a device's inode for thread `tid`, which is about to open it, until it is
    /// [closed](Self::close).
    ///
    /// # Errors
    ///
    /// `ESTALE` when another file has it for itself: the kernel then looks the name up again.
    pub(crate) fn take_for_open(&mut self, node: u64, tid: u32) -> Result<Sharing, Errno> {
        let inode = self.inodes.get_mut(&node).ok_or(Errno::ENOENT)?;
        let sharing = match inode.opened {
            None if inode.finder == tid && inode.found_at.elapsed() < LOOKUP_TO_OPEN => {
                Sharing::Exclusive
            }
            None | Some(Sharing::Shared) => Sharing::Shared,
            Some(Sharing::Exclusive) => return Err(Errno::ESTALE),
        };
        inode.opened = Some(sharing);
        if let Some(device) = self.devices.get_mut(inode.device) {
            device.opens += 1;
            device.unopened = device.unopened.filter(|&(_, unopened)| unopened != node);
        }
        Ok(sharing)
    }

    /// Attributes of an inode.
    pub(crate) fn attr(&self, node: u64) -> Result<Attr, Errno> {
        let (uid, gid) = self.owner;
        let (mode, size) = match self.place(node)? {
            InodeKind::Root => (S_IFDIR, 0),
            InodeKind::Features | InodeKind::Logs => (S_IFDIR | 0o755, 0),
            InodeKind::Control => (S_IFREG, 0),
            InodeKind::Feature => (S_IFREG | 0o444, self.feature_text(node).len()),
            InodeKind::Log(_) => (S_IFREG | 0o444, 0),
            InodeKind::Device(_) => (S_IFREG, BUFFER_BYTES),
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
        let changeable = match node {
            FUSE_ROOT_ID => Some(&self.root),
            CONTROL => Some(&self.control),
            _ => self.inodes.get(&node).map(|inode| &inode.permissions),
        };
        if let Some(permissions) = changeable {
            attr.mode |= permissions.mode;
            attr.uid = permissions.uid;
            attr.gid = permissions.gid;
        }
        Ok(attr)
    }

    /// Changes owner and mode of a file; of a device, by this inode and all later ones.
    pub(crate) fn set_permissions(
        &mut self,
        node: u64,
        change: impl FnOnce(&mut Permissions),
    ) -> Result<(), Errno> {
        self.check_writable()?;
        let change = |permissions: &mut Permissions| {
            change(permissions);
            permissions.mode &= PERMISSION_BITS;
        };
        let fixed = match node {
            FUSE_ROOT_ID => Some(&mut self.root),
            CONTROL => Some(&mut self.control),
            _ => None,
        };
        if let Some(permissions) = fixed {
            change(permissions);
            return Ok(());
        }
        let inode = self.inodes.get_mut(&node).ok_or(Errno::EPERM)?;
        let device = self.devices.get(inode.device);
        if device.is_some_and(|device| device.permissions != inode.permissions) {
            // The kernel has checked the caller against what this inode once was.
            return Err(Errno::ESTALE);
        }
        change(&mut inode.permissions);
        if let Some(device) = self.devices.get_mut(inode.device) {
            device.permissions = inode.permissions;
            // An inode that others have looked up shows the old ones.
            device.unopened = device.unopened.filter(|&(_, unopened)| unopened == node);
        }
        Ok(())
    }

    /// The entries of a directory: inode, mode, name.
    pub(crate) fn list(&self, node: u64) -> Result<Vec<(u64, u32, Vec<u8>)>, Errno> {
        let mut entries =
            vec![(node, S_IFDIR, b".".to_vec()), (FUSE_ROOT_ID, S_IFDIR, b"..".to_vec())];
        match self.place(node)? {
            InodeKind::Root => {
                entries.push((CONTROL, S_IFREG, b"binder-control".to_vec()));
                entries.push((FEATURES, S_IFDIR, b"features".to_vec()));
                // The number is one that no look-up hands out: each of those has a fresh inode.
                let number = |id: DeviceId| u64::MAX - id as u64;
                let devices = self.names.iter();
                entries.extend(devices.map(|(name, id)| (number(*id), S_IFREG, name.clone())));
            }
            InodeKind::Features => {
                entries.extend(
                    (FIRST_FEATURE..)
                        .zip(FEATURES_TOLD)
                        .map(|(node, (name, _))| (node, S_IFREG, name.as_bytes().to_vec())),
                );
            }
            InodeKind::Logs => entries[1].0 = Logs::parent(node),
            InodeKind::Control | InodeKind::Feature | InodeKind::Log(_) | InodeKind::Device(_) => {
                return Err(Errno::ENOTDIR);
            }
        }
        entries.extend(self.list_logs(node));
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
mod tests;
