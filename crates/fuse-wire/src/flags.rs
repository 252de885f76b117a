//! The bits of requests and replies.

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $bit:literal;)*) => {
        $($(#[$doc])* pub const $name: $ty = 1 << $bit;)*
    };
}

// Features, offered and accepted by FUSE_INIT.
bits! {
    /// Reads may overlap.
    FUSE_ASYNC_READ: u64 = 0;
    /// The server keeps POSIX locks.
    FUSE_POSIX_LOCKS: u64 = 1;
    /// `open` with `O_TRUNC` arrives as one request.
    FUSE_ATOMIC_O_TRUNC: u64 = 3;
    /// The server finds `.` and `..` for exports.
    FUSE_EXPORT_SUPPORT: u64 = 4;
    /// Writes may exceed a page.
    FUSE_BIG_WRITES: u64 = 5;
    /// The server applies the umask.
    FUSE_DONT_MASK: u64 = 6;
    /// The device takes pages by `splice`.
    FUSE_SPLICE_WRITE: u64 = 7;
    /// The device moves pages by `splice`.
    FUSE_SPLICE_MOVE: u64 = 8;
    /// The device gives pages by `splice`.
    FUSE_SPLICE_READ: u64 = 9;
    /// The server keeps BSD locks.
    FUSE_FLOCK_LOCKS: u64 = 10;
    /// Directories take ioctls.
    FUSE_HAS_IOCTL_DIR: u64 = 11;
    /// Cached pages go when the attributes change.
    FUSE_AUTO_INVAL_DATA: u64 = 12;
    /// Directories are read with their entries.
    FUSE_DO_READDIRPLUS: u64 = 13;
    /// The kernel chooses between the two ways to read a directory.
    FUSE_READDIRPLUS_AUTO: u64 = 14;
    /// Direct reads and writes may overlap.
    FUSE_ASYNC_DIO: u64 = 15;
    /// The kernel keeps written pages.
    FUSE_WRITEBACK_CACHE: u64 = 16;
    /// The server may leave `open` to the kernel.
    FUSE_NO_OPEN_SUPPORT: u64 = 17;
    /// Lookups in one directory may overlap.
    FUSE_PARALLEL_DIROPS: u64 = 18;
    /// The server drops set-id bits.
    FUSE_HANDLE_KILLPRIV: u64 = 19;
    /// The server keeps POSIX access lists.
    FUSE_POSIX_ACL: u64 = 20;
    /// A read after an abort says so.
    FUSE_ABORT_ERROR: u64 = 21;
    /// The server limits the pages of a request.
    FUSE_MAX_PAGES: u64 = 22;
    /// Symbolic links are cached.
    FUSE_CACHE_SYMLINKS: u64 = 23;
    /// The server may leave `opendir` to the kernel.
    FUSE_NO_OPENDIR_SUPPORT: u64 = 24;
    /// Cached pages go only when the server says so.
    FUSE_EXPLICIT_INVAL_DATA: u64 = 25;
    /// The reply to INIT names an alignment for direct access.
    FUSE_MAP_ALIGNMENT: u64 = 26;
    /// Directories may be mounts of their own.
    FUSE_SUBMOUNTS: u64 = 27;
    /// The server drops set-id bits, as the caller's rights require.
    FUSE_HANDLE_KILLPRIV_V2: u64 = 28;
    /// Extended attributes are set with flags.
    FUSE_SETXATTR_EXT: u64 = 29;
    /// INIT carries 64 bits of features.
    FUSE_INIT_EXT: u64 = 30;
    /// New files come with security contexts.
    FUSE_SECURITY_CTX: u64 = 32;
    /// Nodes choose direct access each.
    FUSE_HAS_INODE_DAX: u64 = 33;
    /// New files come with a supplementary group.
    FUSE_CREATE_SUPP_GROUP: u64 = 34;
    /// Entries may be expired without being removed.
    FUSE_HAS_EXPIRE_ONLY: u64 = 35;
    /// Files opened with [`FOPEN_DIRECT_IO`] may be mapped shared.
    FUSE_DIRECT_IO_ALLOW_MMAP: u64 = 36;
    /// A backing file may serve reads, writes and mappings.
    FUSE_PASSTHROUGH: u64 = 37;
    /// The filesystem is not to be exported.
    FUSE_NO_EXPORT_SUPPORT: u64 = 38;
    /// The server may ask for unanswered requests again.
    FUSE_HAS_RESEND: u64 = 39;
}

// Replies to FUSE_OPEN.
bits! {
    /// Reads and writes bypass the page cache.
    FOPEN_DIRECT_IO: u32 = 0;
    /// Cached pages stay valid.
    FOPEN_KEEP_CACHE: u32 = 1;
    /// The file has no position.
    FOPEN_NONSEEKABLE: u32 = 2;
    /// The directory may be cached.
    FOPEN_CACHE_DIR: u32 = 3;
    /// The file is a stream.
    FOPEN_STREAM: u32 = 4;
    /// Closing sends no FLUSH.
    FOPEN_NOFLUSH: u32 = 5;
    /// Direct writes may overlap.
    FOPEN_PARALLEL_DIRECT_WRITES: u32 = 6;
    /// The backing file named serves reads, writes and mappings.
    FOPEN_PASSTHROUGH: u32 = 7;
}

// FUSE_SETATTR.
bits! {
    /// The mode is set.
    FATTR_MODE: u32 = 0;
    /// The owner is set.
    FATTR_UID: u32 = 1;
    /// The group is set.
    FATTR_GID: u32 = 2;
    /// The size is set.
    FATTR_SIZE: u32 = 3;
    /// The time of access is set.
    FATTR_ATIME: u32 = 4;
    /// The time of modification is set.
    FATTR_MTIME: u32 = 5;
    /// The file handle is valid.
    FATTR_FH: u32 = 6;
    /// The time of access is now.
    FATTR_ATIME_NOW: u32 = 7;
    /// The time of modification is now.
    FATTR_MTIME_NOW: u32 = 8;
    /// The lock owner is valid.
    FATTR_LOCKOWNER: u32 = 9;
    /// The time of change is set.
    FATTR_CTIME: u32 = 10;
    /// Set-id bits are to go.
    FATTR_KILL_SUIDGID: u32 = 11;
}

// Other requests and notifications.
bits! {
    /// GETATTR: the file handle is valid.
    FUSE_GETATTR_FH: u32 = 0;
    /// RELEASE: the file is to be flushed.
    FUSE_RELEASE_FLUSH: u32 = 0;
    /// RELEASE: its BSD lock is to be dropped.
    FUSE_RELEASE_FLOCK_UNLOCK: u32 = 1;
    /// WRITE: written back from the page cache, the file handle is a guess.
    FUSE_WRITE_CACHE: u32 = 0;
    /// WRITE: the lock owner is valid.
    FUSE_WRITE_LOCKOWNER: u32 = 1;
    /// WRITE: set-id bits are to go.
    FUSE_WRITE_KILL_SUIDGID: u32 = 2;
    /// FSYNC: the data only.
    FUSE_FSYNC_FDATASYNC: u32 = 0;
    /// IOCTL: from a 32-bit caller.
    FUSE_IOCTL_COMPAT: u32 = 0;
    /// IOCTL: the server may ask for memory that the code does not declare.
    FUSE_IOCTL_UNRESTRICTED: u32 = 1;
    /// IOCTL: a reply that asks for memory.
    FUSE_IOCTL_RETRY: u32 = 2;
    /// IOCTL: the caller's words have 32 bits.
    FUSE_IOCTL_32BIT: u32 = 3;
    /// IOCTL: on a directory.
    FUSE_IOCTL_DIR: u32 = 4;
    /// IOCTL: from an x32 caller.
    FUSE_IOCTL_COMPAT_X32: u32 = 5;
    /// POLL: notify when the file becomes ready.
    FUSE_POLL_SCHEDULE_NOTIFY: u32 = 0;
    /// Invalidating an entry: let it expire, keep its node.
    FUSE_EXPIRE_ONLY: u32 = 0;
}
