//! Attributes, entries and figures, as replies carry them.

use core::time::Duration;

use crate::abi;

/// A moment, as seconds since 1970 and a part of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Whole seconds, negative before 1970.
    pub seconds: i64,
    /// Nanoseconds after them.
    pub nanoseconds: u32,
}

/// The attributes of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attr {
    /// The inode number that `stat` shows.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// When it was last read.
    pub atime: Timestamp,
    /// When its data last changed.
    pub mtime: Timestamp,
    /// When its attributes last changed.
    pub ctime: Timestamp,
    /// Kind and permissions.
    pub mode: u32,
    /// How many names it has.
    pub nlink: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// What device it is, for device nodes.
    pub rdev: u32,
    /// The block size to read and write in.
    pub blksize: u32,
}

/// A name and the node behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The node; 0 says that there is none, to be believed for `entry_valid`.
    pub node: u64,
    /// Tells apart nodes that had the same number.
    pub generation: u64,
    /// How long the name may be cached.
    pub entry_valid: Duration,
    /// How long the attributes may be cached.
    pub attr_valid: Duration,
    /// The node's attributes.
    pub attr: Attr,
}

/// An open file or directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenedFile {
    /// The handle that further requests carry.
    pub fh: u64,
    /// `FOPEN_*`.
    pub flags: u32,
    /// With [`FOPEN_PASSTHROUGH`](crate::flags::FOPEN_PASSTHROUGH), the backing file as the device
    /// numbered it.
    pub backing_id: i32,
}

/// The figures of the filesystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatFs {
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks free.
    pub blocks_free: u64,
    /// Blocks free to everyone.
    pub blocks_available: u64,
    /// Nodes in all.
    pub files: u64,
    /// Nodes free.
    pub files_free: u64,
    /// The block size to read and write in.
    pub block_size: u32,
    /// The longest name.
    pub name_max: u32,
    /// The size that blocks are counted in.
    pub fragment_size: u32,
}

impl From<&Attr> for abi::Attr {
    fn from(attr: &Attr) -> Self {
        Self {
            ino: attr.ino,
            size: attr.size,
            blocks: attr.blocks,
            atime: attr.atime.seconds,
            mtime: attr.mtime.seconds,
            ctime: attr.ctime.seconds,
            atimensec: attr.atime.nanoseconds,
            mtimensec: attr.mtime.nanoseconds,
            ctimensec: attr.ctime.nanoseconds,
            mode: attr.mode,
            nlink: attr.nlink,
            uid: attr.uid,
            gid: attr.gid,
            rdev: attr.rdev,
            blksize: attr.blksize,
            flags: 0,
        }
    }
}

impl From<&Entry> for abi::EntryOut {
    fn from(entry: &Entry) -> Self {
        Self {
            nodeid: entry.node,
            generation: entry.generation,
            entry_valid: entry.entry_valid.as_secs(),
            attr_valid: entry.attr_valid.as_secs(),
            entry_valid_nsec: entry.entry_valid.subsec_nanos(),
            attr_valid_nsec: entry.attr_valid.subsec_nanos(),
            attr: (&entry.attr).into(),
        }
    }
}

impl From<&OpenedFile> for abi::OpenOut {
    fn from(opened: &OpenedFile) -> Self {
        Self { fh: opened.fh, open_flags: opened.flags, backing_id: opened.backing_id }
    }
}

impl From<&StatFs> for abi::Kstatfs {
    fn from(figures: &StatFs) -> Self {
        Self {
            blocks: figures.blocks,
            bfree: figures.blocks_free,
            bavail: figures.blocks_available,
            files: figures.files,
            ffree: figures.files_free,
            bsize: figures.block_size,
            namelen: figures.name_max,
            frsize: figures.fragment_size,
            padding: 0,
            spare: [0; 6],
        }
    }
}
