//! What a request asks for.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::abi;
use crate::body::{Body, BodyFault};
use crate::flags::{
    FATTR_ATIME, FATTR_ATIME_NOW, FATTR_CTIME, FATTR_FH, FATTR_GID, FATTR_MODE, FATTR_MTIME,
    FATTR_MTIME_NOW, FATTR_SIZE, FATTR_UID, FUSE_FSYNC_FDATASYNC, FUSE_GETATTR_FH,
};
use crate::init::InitOffer;
use crate::opcode::*;
use crate::stat::Timestamp;

/// A request, by what it asks for. Its node is in the [`Header`](crate::Header).
///
/// Handles (`fh`) are what the server chose at open; `flags` of files are `O_*` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in the manual pages of the calls they serve")]
pub enum Operation<'a> {
    /// Opens the conversation.
    Init(InitOffer),
    /// Ends the conversation.
    Destroy,
    /// Finds a name in a directory.
    Lookup { name: &'a [u8] },
    /// Gives lookups back; no reply.
    Forget { lookups: u64 },
    /// Gives lookups of many nodes back; no reply.
    BatchForget(&'a [ForgetOne]),
    /// Reads attributes, of an open file if there is a handle.
    GetAttr { fh: Option<u64> },
    /// Changes attributes.
    SetAttr(SetAttr),
    /// Checks permissions.
    Access { mask: u32 },
    /// Reads the figures of the filesystem.
    StatFs,
    /// Reads a symbolic link.
    ReadLink,
    /// Makes a symbolic link.
    Symlink { name: &'a [u8], target: &'a [u8] },
    /// Makes a file that is not a directory.
    Mknod { name: &'a [u8], mode: u32, device: u32, umask: u32 },
    /// Makes a directory.
    Mkdir { name: &'a [u8], mode: u32, umask: u32 },
    /// Removes a file.
    Unlink { name: &'a [u8] },
    /// Removes a directory.
    Rmdir { name: &'a [u8] },
    /// Renames; `flags` are `RENAME_*`, 0 in the older form of the request.
    Rename { name: &'a [u8], new_parent: u64, new_name: &'a [u8], flags: u32 },
    /// Makes a further name for the node `target`.
    Link { target: u64, name: &'a [u8] },
    /// Opens a file.
    Open { flags: u32 },
    /// Makes and opens a file.
    Create { name: &'a [u8], mode: u32, umask: u32, flags: u32 },
    /// Closes one descriptor of a file.
    Flush { fh: u64, lock_owner: u64 },
    /// Closes a file for the last time.
    Release(ReleaseFile),
    /// Makes a file durable.
    Fsync { fh: u64, is_data_only: bool },
    /// Reads from a file.
    Read(Read),
    /// Writes to a file; `write_flags` are `FUSE_WRITE_*`.
    Write { fh: u64, offset: u64, data: &'a [u8], write_flags: u32, flags: u32 },
    /// Finds data or a hole.
    Lseek { fh: u64, offset: u64, whence: u32 },
    /// Reserves or frees a range.
    Fallocate { fh: u64, offset: u64, length: u64, mode: u32 },
    /// Opens a directory.
    OpenDir { flags: u32 },
    /// Reads a directory.
    ReadDir(Read),
    /// Reads a directory and looks its names up.
    ReadDirPlus(Read),
    /// Closes a directory for the last time.
    ReleaseDir(ReleaseFile),
    /// Makes a directory durable.
    FsyncDir { fh: u64, is_data_only: bool },
    /// Reads an extended attribute; a size of 0 asks for its length.
    GetXattr { name: &'a [u8], size: u32 },
    /// Lists extended attributes; a size of 0 asks for the length of the list.
    ListXattr { size: u32 },
    /// Passes an ioctl on: `data` is what the code says the caller passes in, `out_size` what it
    /// may get back; `flags` are `FUSE_IOCTL_*`.
    Ioctl { fh: u64, flags: u32, cmd: u32, arg: u64, data: &'a [u8], out_size: u32 },
    /// Asks for readiness; `kh` is what a later notification names, `flags` are `FUSE_POLL_*`.
    Poll { fh: u64, kh: u64, flags: u32, events: u32 },
    /// Asks that the request `unique` end soon; no reply of its own.
    Interrupt { unique: u64 },
    /// A request that this crate names ([`name_of`]) and does not read further.
    Other(u32),
}

/// Lookups of one node that are given back.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C, packed)]
pub struct ForgetOne {
    /// The node.
    pub node: u64,
    /// How many lookups.
    pub lookups: u64,
}

const _: () = assert!(size_of::<ForgetOne>() == 16);

/// The end of an open file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseFile {
    /// Its handle.
    pub fh: u64,
    /// The `O_*` bits it was opened with.
    pub flags: u32,
    /// `FUSE_RELEASE_*`.
    pub release_flags: u32,
    /// The owner of its locks.
    pub lock_owner: u64,
}

/// A range to read from a file, or entries from a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The handle.
    pub fh: u64,
    /// Where to start; in a directory, the offset that came with the entry before.
    pub offset: u64,
    /// The most bytes to reply with.
    pub size: u32,
    /// The file's `O_*` bits.
    pub flags: u32,
}

/// The attributes to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAttr {
    /// The open file to change.
    pub fh: Option<u64>,
    /// Its new mode.
    pub mode: Option<u32>,
    /// Its new owner.
    pub uid: Option<u32>,
    /// Its new group.
    pub gid: Option<u32>,
    /// Its new size.
    pub size: Option<u64>,
    /// Its new time of access.
    pub atime: Option<SetTime>,
    /// Its new time of modification.
    pub mtime: Option<SetTime>,
    /// Its new time of change.
    pub ctime: Option<Timestamp>,
}

/// A new time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// The server's present time.
    Now,
    /// A given time.
    At(Timestamp),
}

impl<'a> Operation<'a> {
    /// Reads the body of a request, to its end.
    pub(crate) fn parse(opcode: u32, mut body: Body<'a>) -> Result<Self, BodyFault> {
        let operation = match opcode {
            FUSE_INIT => Self::Init(InitOffer::parse(&mut body)?),
            FUSE_DESTROY => Self::Destroy,
            FUSE_LOOKUP => Self::Lookup { name: body.name()? },
            FUSE_FORGET => Self::Forget { lookups: body.take::<abi::ForgetIn>()?.nlookup },
            FUSE_BATCH_FORGET => {
                let count = body.take::<abi::BatchForgetIn>()?.count;
                Self::BatchForget(body.records(count)?)
            }
            FUSE_GETATTR => {
                let get: abi::GetattrIn = body.take()?;
                Self::GetAttr { fh: (get.getattr_flags & FUSE_GETATTR_FH != 0).then_some(get.fh) }
            }
            FUSE_SETATTR => Self::SetAttr(SetAttr::from(body.take::<abi::SetattrIn>()?)),
            FUSE_ACCESS => Self::Access { mask: body.take::<abi::AccessIn>()?.mask },
            FUSE_STATFS => Self::StatFs,
            FUSE_READLINK => Self::ReadLink,
            FUSE_SYMLINK => Self::Symlink { name: body.name()?, target: body.name()? },
            FUSE_MKNOD => {
                let abi::MknodIn { mode, rdev, umask, .. } = body.take()?;
                Self::Mknod { name: body.name()?, mode, device: rdev, umask }
            }
            FUSE_MKDIR => {
                let abi::MkdirIn { mode, umask } = body.take()?;
                Self::Mkdir { name: body.name()?, mode, umask }
            }
            FUSE_UNLINK => Self::Unlink { name: body.name()? },
            FUSE_RMDIR => Self::Rmdir { name: body.name()? },
            FUSE_RENAME => {
                let abi::RenameIn { newdir } = body.take()?;
                let (name, new_name) = (body.name()?, body.name()?);
                Self::Rename { name, new_parent: newdir, new_name, flags: 0 }
            }
            FUSE_RENAME2 => {
                let abi::Rename2In { newdir, flags, .. } = body.take()?;
                let (name, new_name) = (body.name()?, body.name()?);
                Self::Rename { name, new_parent: newdir, new_name, flags }
            }
            FUSE_LINK => {
                let abi::LinkIn { oldnodeid } = body.take()?;
                Self::Link { target: oldnodeid, name: body.name()? }
            }
            FUSE_OPEN => Self::Open { flags: body.take::<abi::OpenIn>()?.flags },
            FUSE_OPENDIR => Self::OpenDir { flags: body.take::<abi::OpenIn>()?.flags },
            FUSE_CREATE => {
                let abi::CreateIn { flags, mode, umask, .. } = body.take()?;
                Self::Create { name: body.name()?, mode, umask, flags }
            }
            FUSE_FLUSH => {
                let abi::FlushIn { fh, lock_owner, .. } = body.take()?;
                Self::Flush { fh, lock_owner }
            }
            FUSE_RELEASE => Self::Release(ReleaseFile::from(body.take::<abi::ReleaseIn>()?)),
            FUSE_RELEASEDIR => Self::ReleaseDir(ReleaseFile::from(body.take::<abi::ReleaseIn>()?)),
            FUSE_FSYNC => {
                let abi::FsyncIn { fh, fsync_flags, .. } = body.take()?;
                Self::Fsync { fh, is_data_only: fsync_flags & FUSE_FSYNC_FDATASYNC != 0 }
            }
            FUSE_FSYNCDIR => {
                let abi::FsyncIn { fh, fsync_flags, .. } = body.take()?;
                Self::FsyncDir { fh, is_data_only: fsync_flags & FUSE_FSYNC_FDATASYNC != 0 }
            }
            FUSE_READ => Self::Read(Read::from(body.take::<abi::ReadIn>()?)),
            FUSE_READDIR => Self::ReadDir(Read::from(body.take::<abi::ReadIn>()?)),
            FUSE_READDIRPLUS => Self::ReadDirPlus(Read::from(body.take::<abi::ReadIn>()?)),
            FUSE_WRITE => {
                let abi::WriteIn { fh, offset, size, write_flags, flags, .. } = body.take()?;
                Self::Write { fh, offset, data: body.bytes(size)?, write_flags, flags }
            }
            FUSE_LSEEK => {
                let abi::LseekIn { fh, offset, whence, .. } = body.take()?;
                Self::Lseek { fh, offset, whence }
            }
            FUSE_FALLOCATE => {
                let abi::FallocateIn { fh, offset, length, mode, .. } = body.take()?;
                Self::Fallocate { fh, offset, length, mode }
            }
            FUSE_GETXATTR => {
                let abi::GetxattrIn { size, .. } = body.take()?;
                Self::GetXattr { name: body.name()?, size }
            }
            FUSE_LISTXATTR => Self::ListXattr { size: body.take::<abi::GetxattrIn>()?.size },
            FUSE_IOCTL => {
                let abi::IoctlIn { fh, flags, cmd, arg, in_size, out_size } = body.take()?;
                Self::Ioctl { fh, flags, cmd, arg, data: body.bytes(in_size)?, out_size }
            }
            FUSE_POLL => {
                let abi::PollIn { fh, kh, flags, events } = body.take()?;
                Self::Poll { fh, kh, flags, events }
            }
            FUSE_INTERRUPT => Self::Interrupt { unique: body.take::<abi::InterruptIn>()?.unique },
            other => return Ok(Self::Other(other)),
        };
        body.end()?;
        Ok(operation)
    }
}

impl From<abi::ReleaseIn> for ReleaseFile {
    fn from(release: abi::ReleaseIn) -> Self {
        let abi::ReleaseIn { fh, flags, release_flags, lock_owner } = release;
        Self { fh, flags, release_flags, lock_owner }
    }
}

impl From<abi::ReadIn> for Read {
    fn from(read: abi::ReadIn) -> Self {
        let abi::ReadIn { fh, offset, size, flags, .. } = read;
        Self { fh, offset, size, flags }
    }
}

impl From<abi::SetattrIn> for SetAttr {
    fn from(set: abi::SetattrIn) -> Self {
        let has = |bit| set.valid & bit != 0;
        let time = |given, now, seconds, nanoseconds| {
            let at = SetTime::At(Timestamp { seconds, nanoseconds });
            has(given).then_some(if has(now) { SetTime::Now } else { at })
        };
        Self {
            fh: has(FATTR_FH).then_some(set.fh),
            mode: has(FATTR_MODE).then_some(set.mode),
            uid: has(FATTR_UID).then_some(set.uid),
            gid: has(FATTR_GID).then_some(set.gid),
            size: has(FATTR_SIZE).then_some(set.size),
            atime: time(FATTR_ATIME, FATTR_ATIME_NOW, set.atime, set.atimensec),
            mtime: time(FATTR_MTIME, FATTR_MTIME_NOW, set.mtime, set.mtimensec),
            ctime: has(FATTR_CTIME)
                .then_some(Timestamp { seconds: set.ctime, nanoseconds: set.ctimensec }),
        }
    }
}
