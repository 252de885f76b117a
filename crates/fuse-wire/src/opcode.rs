//! The numbers of requests.

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        $($(#[$doc])* pub const $name: u32 = $number;)*

        /// The C name of a request, or `"unknown"`.
        #[must_use]
        pub const fn name_of(opcode: u32) -> &'static str {
            match opcode {
                $($name => stringify!($name),)*
                _ => "unknown",
            }
        }
    };
}

opcodes! {
    /// Finds a name in a directory.
    FUSE_LOOKUP = 1;
    /// Gives lookups of a node back; no reply.
    FUSE_FORGET = 2;
    /// Reads attributes.
    FUSE_GETATTR = 3;
    /// Changes attributes.
    FUSE_SETATTR = 4;
    /// Reads a symbolic link.
    FUSE_READLINK = 5;
    /// Makes a symbolic link.
    FUSE_SYMLINK = 6;
    /// Makes a file that is not a directory.
    FUSE_MKNOD = 8;
    /// Makes a directory.
    FUSE_MKDIR = 9;
    /// Removes a file.
    FUSE_UNLINK = 10;
    /// Removes a directory.
    FUSE_RMDIR = 11;
    /// Renames, without flags.
    FUSE_RENAME = 12;
    /// Makes a further name for a node.
    FUSE_LINK = 13;
    /// Opens a file.
    FUSE_OPEN = 14;
    /// Reads from a file.
    FUSE_READ = 15;
    /// Writes to a file.
    FUSE_WRITE = 16;
    /// Reads the figures of the filesystem.
    FUSE_STATFS = 17;
    /// Closes a file for the last time.
    FUSE_RELEASE = 18;
    /// Makes a file durable.
    FUSE_FSYNC = 20;
    /// Sets an extended attribute.
    FUSE_SETXATTR = 21;
    /// Reads an extended attribute.
    FUSE_GETXATTR = 22;
    /// Lists extended attributes.
    FUSE_LISTXATTR = 23;
    /// Removes an extended attribute.
    FUSE_REMOVEXATTR = 24;
    /// Closes one descriptor of a file.
    FUSE_FLUSH = 25;
    /// Opens the conversation.
    FUSE_INIT = 26;
    /// Opens a directory.
    FUSE_OPENDIR = 27;
    /// Reads a directory.
    FUSE_READDIR = 28;
    /// Closes a directory for the last time.
    FUSE_RELEASEDIR = 29;
    /// Makes a directory durable.
    FUSE_FSYNCDIR = 30;
    /// Tests for a lock.
    FUSE_GETLK = 31;
    /// Takes or drops a lock.
    FUSE_SETLK = 32;
    /// Takes a lock and waits for it.
    FUSE_SETLKW = 33;
    /// Checks permissions.
    FUSE_ACCESS = 34;
    /// Makes and opens a file.
    FUSE_CREATE = 35;
    /// Asks that an earlier request end soon; no reply of its own.
    FUSE_INTERRUPT = 36;
    /// Maps a block of a file to one of the device.
    FUSE_BMAP = 37;
    /// Ends the conversation.
    FUSE_DESTROY = 38;
    /// Passes an ioctl on.
    FUSE_IOCTL = 39;
    /// Asks for readiness.
    FUSE_POLL = 40;
    /// Answers a notification that asked for data.
    FUSE_NOTIFY_REPLY = 41;
    /// Gives lookups of many nodes back; no reply.
    FUSE_BATCH_FORGET = 42;
    /// Reserves or frees a range of a file.
    FUSE_FALLOCATE = 43;
    /// Reads a directory and looks its names up.
    FUSE_READDIRPLUS = 44;
    /// Renames, with flags.
    FUSE_RENAME2 = 45;
    /// Finds data or a hole.
    FUSE_LSEEK = 46;
    /// Copies between files.
    FUSE_COPY_FILE_RANGE = 47;
    /// Maps a range of a file for direct access.
    FUSE_SETUPMAPPING = 48;
    /// Unmaps ranges for direct access.
    FUSE_REMOVEMAPPING = 49;
    /// Makes the filesystem durable.
    FUSE_SYNCFS = 50;
    /// Makes a file without a name.
    FUSE_TMPFILE = 51;
    /// Reads attributes, extended.
    FUSE_STATX = 52;
}
