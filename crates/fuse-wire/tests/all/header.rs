//! Compares this crate with the C header of the machine, where it has one and a compiler.

use crate::c_facts::{Fact, assert_c_agrees, constants, layout};
use fuse_wire::abi::*;
use fuse_wire::flags::*;
use fuse_wire::notify::*;
use fuse_wire::opcode::*;
use fuse_wire::{FUSE_KERNEL_VERSION, FUSE_MIN_READ_BUFFER, FUSE_ROOT_ID, ForgetOne};

#[test]
fn the_c_header_agrees() {
    let mut facts = constant_facts();
    facts.extend(layout_facts());
    assert_c_agrees(&["linux/fuse.h"], facts);
}

fn constant_facts() -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.extend(constants! {
        FUSE_LOOKUP FUSE_FORGET FUSE_GETATTR FUSE_SETATTR FUSE_READLINK FUSE_SYMLINK FUSE_MKNOD
        FUSE_MKDIR FUSE_UNLINK FUSE_RMDIR FUSE_RENAME FUSE_LINK FUSE_OPEN FUSE_READ FUSE_WRITE
        FUSE_STATFS FUSE_RELEASE FUSE_FSYNC FUSE_SETXATTR FUSE_GETXATTR FUSE_LISTXATTR
        FUSE_REMOVEXATTR FUSE_FLUSH FUSE_INIT FUSE_OPENDIR FUSE_READDIR FUSE_RELEASEDIR
        FUSE_FSYNCDIR FUSE_GETLK FUSE_SETLK FUSE_SETLKW FUSE_ACCESS FUSE_CREATE FUSE_INTERRUPT
        FUSE_BMAP FUSE_DESTROY FUSE_IOCTL FUSE_POLL FUSE_NOTIFY_REPLY FUSE_BATCH_FORGET
        FUSE_FALLOCATE FUSE_READDIRPLUS FUSE_RENAME2 FUSE_LSEEK FUSE_COPY_FILE_RANGE
        FUSE_SETUPMAPPING FUSE_REMOVEMAPPING FUSE_SYNCFS FUSE_TMPFILE FUSE_STATX
    });
    facts.extend(constants! {
        FUSE_ASYNC_READ FUSE_POSIX_LOCKS FUSE_ATOMIC_O_TRUNC FUSE_EXPORT_SUPPORT FUSE_BIG_WRITES
        FUSE_DONT_MASK FUSE_SPLICE_WRITE FUSE_SPLICE_MOVE FUSE_SPLICE_READ FUSE_FLOCK_LOCKS
        FUSE_HAS_IOCTL_DIR FUSE_AUTO_INVAL_DATA FUSE_DO_READDIRPLUS FUSE_READDIRPLUS_AUTO
        FUSE_ASYNC_DIO FUSE_WRITEBACK_CACHE FUSE_NO_OPEN_SUPPORT FUSE_PARALLEL_DIROPS
        FUSE_HANDLE_KILLPRIV FUSE_POSIX_ACL FUSE_ABORT_ERROR FUSE_MAX_PAGES FUSE_CACHE_SYMLINKS
        FUSE_NO_OPENDIR_SUPPORT FUSE_EXPLICIT_INVAL_DATA FUSE_MAP_ALIGNMENT FUSE_SUBMOUNTS
        FUSE_HANDLE_KILLPRIV_V2 FUSE_SETXATTR_EXT FUSE_INIT_EXT FUSE_SECURITY_CTX
        FUSE_HAS_INODE_DAX FUSE_CREATE_SUPP_GROUP FUSE_HAS_EXPIRE_ONLY FUSE_DIRECT_IO_ALLOW_MMAP
        FUSE_PASSTHROUGH FUSE_NO_EXPORT_SUPPORT FUSE_HAS_RESEND
    });
    facts.extend(constants! {
        FOPEN_DIRECT_IO FOPEN_KEEP_CACHE FOPEN_NONSEEKABLE FOPEN_CACHE_DIR FOPEN_STREAM
        FOPEN_NOFLUSH FOPEN_PARALLEL_DIRECT_WRITES FOPEN_PASSTHROUGH FATTR_MODE FATTR_UID
        FATTR_GID FATTR_SIZE FATTR_ATIME FATTR_MTIME FATTR_FH FATTR_ATIME_NOW FATTR_MTIME_NOW
        FATTR_LOCKOWNER FATTR_CTIME FATTR_KILL_SUIDGID FUSE_GETATTR_FH FUSE_RELEASE_FLUSH
        FUSE_RELEASE_FLOCK_UNLOCK FUSE_WRITE_CACHE FUSE_WRITE_LOCKOWNER FUSE_WRITE_KILL_SUIDGID
        FUSE_FSYNC_FDATASYNC FUSE_IOCTL_COMPAT FUSE_IOCTL_UNRESTRICTED FUSE_IOCTL_RETRY
        FUSE_IOCTL_32BIT FUSE_IOCTL_DIR FUSE_IOCTL_COMPAT_X32 FUSE_POLL_SCHEDULE_NOTIFY
        FUSE_EXPIRE_ONLY
    });
    facts.extend(constants! {
        FUSE_NOTIFY_POLL FUSE_NOTIFY_INVAL_INODE FUSE_NOTIFY_INVAL_ENTRY FUSE_NOTIFY_STORE
        FUSE_KERNEL_VERSION FUSE_MIN_READ_BUFFER FUSE_ROOT_ID
    });
    facts
}

fn layout_facts() -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.extend(layout! { InHeader = fuse_in_header {
        len opcode unique nodeid uid gid pid total_extlen padding
    } });
    facts.extend(layout! { OutHeader = fuse_out_header { len error unique } });
    facts.extend(layout! { InitOut = fuse_init_out {
        major minor max_readahead flags max_background congestion_threshold max_write time_gran
        max_pages map_alignment flags2 max_stack_depth
    } });
    facts.extend(layout! { Attr = fuse_attr {
        ino size blocks atime mtime ctime atimensec mtimensec ctimensec mode nlink uid gid rdev
        blksize flags
    } });
    facts.extend(layout! { EntryOut = fuse_entry_out {
        nodeid generation entry_valid attr_valid entry_valid_nsec attr_valid_nsec attr
    } });
    facts.extend(layout! { AttrOut = fuse_attr_out { attr_valid attr_valid_nsec attr } });
    facts.extend(layout! { Kstatfs = fuse_kstatfs {
        blocks bfree bavail files ffree bsize namelen frsize
    } });
    facts.extend(layout! { ForgetIn = fuse_forget_in { nlookup } });
    facts.extend(layout! { BatchForgetIn = fuse_batch_forget_in { count } });
    facts.extend(layout! { ForgetOne = fuse_forget_one { node = "nodeid" lookups = "nlookup" } });
    facts.extend(layout! { GetattrIn = fuse_getattr_in { getattr_flags fh } });
    facts.extend(layout! { SetattrIn = fuse_setattr_in {
        valid fh size lock_owner atime mtime ctime atimensec mtimensec ctimensec mode uid gid
    } });
    facts.extend(layout! { AccessIn = fuse_access_in { mask } });
    facts.extend(layout! { MknodIn = fuse_mknod_in { mode rdev umask } });
    facts.extend(layout! { MkdirIn = fuse_mkdir_in { mode umask } });
    facts.extend(layout! { LinkIn = fuse_link_in { oldnodeid } });
    facts.extend(layout! { RenameIn = fuse_rename_in { newdir } });
    facts.extend(layout! { Rename2In = fuse_rename2_in { newdir flags } });
    facts.extend(layout! { OpenIn = fuse_open_in { flags open_flags } });
    facts.extend(layout! { CreateIn = fuse_create_in { flags mode umask open_flags } });
    facts.extend(layout! { OpenOut = fuse_open_out { fh open_flags backing_id } });
    facts.extend(layout! { ReleaseIn = fuse_release_in { fh flags release_flags lock_owner } });
    facts.extend(layout! { FlushIn = fuse_flush_in { fh lock_owner } });
    facts.extend(layout! { FsyncIn = fuse_fsync_in { fh fsync_flags } });
    facts.extend(layout! { ReadIn = fuse_read_in { fh offset size read_flags lock_owner flags } });
    facts.extend(layout! { WriteIn = fuse_write_in {
        fh offset size write_flags lock_owner flags
    } });
    facts.extend(layout! { WriteOut = fuse_write_out { size } });
    facts.extend(layout! { LseekIn = fuse_lseek_in { fh offset whence } });
    facts.extend(layout! { LseekOut = fuse_lseek_out { offset } });
    facts.extend(layout! { FallocateIn = fuse_fallocate_in { fh offset length mode } });
    facts.extend(layout! { GetxattrIn = fuse_getxattr_in { size } });
    facts.extend(layout! { GetxattrOut = fuse_getxattr_out { size } });
    facts.extend(layout! { IoctlIn = fuse_ioctl_in { fh flags cmd arg in_size out_size } });
    facts.extend(layout! { IoctlOut = fuse_ioctl_out { result flags in_iovs out_iovs } });
    facts.extend(layout! { PollIn = fuse_poll_in { fh kh flags events } });
    facts.extend(layout! { PollOut = fuse_poll_out { revents } });
    facts.extend(layout! { InterruptIn = fuse_interrupt_in { unique } });
    facts.extend(layout! { Dirent = fuse_dirent { ino off namelen r#type = "type" } });
    facts.extend(layout! { NotifyPollWakeupOut = fuse_notify_poll_wakeup_out { kh } });
    facts.extend(layout! { NotifyStoreOut = fuse_notify_store_out { nodeid offset size } });
    facts.extend(layout! { NotifyInvalInodeOut = fuse_notify_inval_inode_out { ino off len } });
    facts.extend(layout! { NotifyInvalEntryOut = fuse_notify_inval_entry_out {
        parent namelen flags
    } });
    facts
}
