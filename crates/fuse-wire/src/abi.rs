//! The structures of the protocol as they lie in memory. Fields keep their C names.
//!
//! Public for the test that compares them with the C header; the typed values of the other
//! modules are what a server uses.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

macro_rules! layouts {
    ($($name:ident[$size:literal] { $($field:ident: $ty:ty,)* })*) => {$(
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub struct $name {
            $(pub $field: $ty,)*
        }

        const _: () = assert!(size_of::<$name>() == $size);
    )*};
}

layouts! {
    InHeader[40] {
        len: u32,
        opcode: u32,
        unique: u64,
        nodeid: u64,
        uid: u32,
        gid: u32,
        pid: u32,
        total_extlen: u16,
        padding: u16,
    }
    OutHeader[16] { len: u32, error: i32, unique: u64, }

    // The four words that every kernel sends; since 7.36 `InitInRest` follows.
    InitIn[16] { major: u32, minor: u32, max_readahead: u32, flags: u32, }
    InitInRest[48] { flags2: u32, unused: [u32; 11], }
    InitOut[64] {
        major: u32,
        minor: u32,
        max_readahead: u32,
        flags: u32,
        max_background: u16,
        congestion_threshold: u16,
        max_write: u32,
        time_gran: u32,
        max_pages: u16,
        map_alignment: u16,
        flags2: u32,
        max_stack_depth: u32,
        unused: [u32; 6],
    }

    Attr[88] {
        ino: u64,
        size: u64,
        blocks: u64,
        atime: i64,
        mtime: i64,
        ctime: i64,
        atimensec: u32,
        mtimensec: u32,
        ctimensec: u32,
        mode: u32,
        nlink: u32,
        uid: u32,
        gid: u32,
        rdev: u32,
        blksize: u32,
        flags: u32,
    }
    EntryOut[128] {
        nodeid: u64,
        generation: u64,
        entry_valid: u64,
        attr_valid: u64,
        entry_valid_nsec: u32,
        attr_valid_nsec: u32,
        attr: Attr,
    }
    AttrOut[104] { attr_valid: u64, attr_valid_nsec: u32, dummy: u32, attr: Attr, }
    Kstatfs[80] {
        blocks: u64,
        bfree: u64,
        bavail: u64,
        files: u64,
        ffree: u64,
        bsize: u32,
        namelen: u32,
        frsize: u32,
        padding: u32,
        spare: [u32; 6],
    }

    ForgetIn[8] { nlookup: u64, }
    BatchForgetIn[8] { count: u32, dummy: u32, }
    GetattrIn[16] { getattr_flags: u32, dummy: u32, fh: u64, }
    SetattrIn[88] {
        valid: u32,
        padding: u32,
        fh: u64,
        size: u64,
        lock_owner: u64,
        atime: i64,
        mtime: i64,
        ctime: i64,
        atimensec: u32,
        mtimensec: u32,
        ctimensec: u32,
        mode: u32,
        unused4: u32,
        uid: u32,
        gid: u32,
        unused5: u32,
    }
    AccessIn[8] { mask: u32, padding: u32, }
    MknodIn[16] { mode: u32, rdev: u32, umask: u32, padding: u32, }
    MkdirIn[8] { mode: u32, umask: u32, }
    LinkIn[8] { oldnodeid: u64, }
    RenameIn[8] { newdir: u64, }
    Rename2In[16] { newdir: u64, flags: u32, padding: u32, }
    OpenIn[8] { flags: u32, open_flags: u32, }
    CreateIn[16] { flags: u32, mode: u32, umask: u32, open_flags: u32, }
    OpenOut[16] { fh: u64, open_flags: u32, backing_id: i32, }
    CreateOut[144] { entry: EntryOut, open: OpenOut, }
    ReleaseIn[24] { fh: u64, flags: u32, release_flags: u32, lock_owner: u64, }
    FlushIn[24] { fh: u64, unused: u32, padding: u32, lock_owner: u64, }
    FsyncIn[16] { fh: u64, fsync_flags: u32, padding: u32, }
    ReadIn[40] {
        fh: u64,
        offset: u64,
        size: u32,
        read_flags: u32,
        lock_owner: u64,
        flags: u32,
        padding: u32,
    }
    WriteIn[40] {
        fh: u64,
        offset: u64,
        size: u32,
        write_flags: u32,
        lock_owner: u64,
        flags: u32,
        padding: u32,
    }
    WriteOut[8] { size: u32, padding: u32, }
    LseekIn[24] { fh: u64, offset: u64, whence: u32, padding: u32, }
    LseekOut[8] { offset: u64, }
    FallocateIn[32] { fh: u64, offset: u64, length: u64, mode: u32, padding: u32, }
    GetxattrIn[8] { size: u32, padding: u32, }
    GetxattrOut[8] { size: u32, padding: u32, }

    IoctlIn[32] { fh: u64, flags: u32, cmd: u32, arg: u64, in_size: u32, out_size: u32, }
    IoctlOut[16] { result: i32, flags: u32, in_iovs: u32, out_iovs: u32, }
    PollIn[24] { fh: u64, kh: u64, flags: u32, events: u32, }
    PollOut[8] { revents: u32, padding: u32, }
    InterruptIn[8] { unique: u64, }

    Dirent[24] { ino: u64, off: u64, namelen: u32, r#type: u32, }

    NotifyPollWakeupOut[8] { kh: u64, }
    NotifyStoreOut[24] { nodeid: u64, offset: u64, size: u32, padding: u32, }
    NotifyInvalInodeOut[24] { ino: u64, off: i64, len: i64, }
    NotifyInvalEntryOut[16] { parent: u64, namelen: u32, flags: u32, }
}
