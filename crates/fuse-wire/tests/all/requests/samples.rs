//! One request of each kind, and what it must be read as.

use fuse_wire::abi::*;
use fuse_wire::flags::*;
use fuse_wire::opcode::*;
use fuse_wire::{ForgetOne, InitOffer, Operation, Read, ReleaseFile, SetAttr, SetTime, Timestamp};
use zerocopy::{FromZeros, Immutable, IntoBytes};

/// The bytes of a request and its meaning.
pub(crate) struct Sample {
    pub(crate) opcode: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) operation: Operation<'static>,
}

/// Puts a header before a body.
pub(crate) fn request(opcode: u32, body: &[u8]) -> Vec<u8> {
    let header = InHeader {
        len: u32::try_from(size_of::<InHeader>() + body.len()).expect("a short body"),
        opcode,
        unique: 0x1111_2222_3333_4444,
        nodeid: 0x5555,
        uid: 1000,
        gid: 1001,
        pid: 4711,
        total_extlen: 0,
        padding: 0,
    };
    [header.as_bytes(), body].concat()
}

fn sample<T>(opcode: u32, body: &T, rest: &[u8], operation: Operation<'static>) -> Sample
where
    T: IntoBytes + Immutable,
{
    let bytes = request(opcode, &[body.as_bytes(), rest].concat());
    Sample { opcode, bytes, operation }
}

pub(crate) fn samples() -> Vec<Sample> {
    let mut samples = session();
    samples.extend(names());
    samples.extend(files());
    samples.extend(devices());
    samples
}

fn session() -> Vec<Sample> {
    let offer = InitOffer {
        major: 7,
        minor: 31,
        max_readahead: 0x2_0000,
        features: FUSE_ASYNC_READ | FUSE_MAX_PAGES,
    };
    let flags = 1 | 1 << 22;
    let init = InitIn { major: 7, minor: 31, max_readahead: 0x2_0000, flags };
    const FORGOTTEN: &[ForgetOne] =
        &[ForgetOne { node: 2, lookups: 3 }, ForgetOne { node: 4, lookups: 5 }];
    vec![
        sample(FUSE_INIT, &init, b"", Operation::Init(offer)),
        sample(FUSE_DESTROY, &(), b"", Operation::Destroy),
        sample(FUSE_FORGET, &ForgetIn { nlookup: 6 }, b"", Operation::Forget { lookups: 6 }),
        sample(
            FUSE_BATCH_FORGET,
            &BatchForgetIn { count: 2, dummy: 0 },
            FORGOTTEN.as_bytes(),
            Operation::BatchForget(FORGOTTEN),
        ),
        sample(FUSE_INTERRUPT, &InterruptIn { unique: 7 }, b"", Operation::Interrupt { unique: 7 }),
        sample(FUSE_STATFS, &(), b"", Operation::StatFs),
        sample(FUSE_SETLK, &(), b"not read", Operation::Other(FUSE_SETLK)),
    ]
}

fn names() -> Vec<Sample> {
    let rename = Operation::Rename { name: b"old", new_parent: 9, new_name: b"new", flags: 0 };
    let exchange = Operation::Rename { name: b"old", new_parent: 9, new_name: b"new", flags: 2 };
    vec![
        sample(FUSE_LOOKUP, &(), b"binder\0", Operation::Lookup { name: b"binder" }),
        sample(FUSE_UNLINK, &(), b"x\0", Operation::Unlink { name: b"x" }),
        sample(FUSE_RMDIR, &(), b"d\0", Operation::Rmdir { name: b"d" }),
        sample(FUSE_READLINK, &(), b"", Operation::ReadLink),
        sample(
            FUSE_SYMLINK,
            &(),
            b"link\0a/b\0",
            Operation::Symlink { name: b"link", target: b"a/b" },
        ),
        sample(
            FUSE_MKNOD,
            &MknodIn { mode: 0o100_644, rdev: 3, umask: 0o22, padding: 0 },
            b"node\0",
            Operation::Mknod { name: b"node", mode: 0o100_644, device: 3, umask: 0o22 },
        ),
        sample(
            FUSE_MKDIR,
            &MkdirIn { mode: 0o755, umask: 0o22 },
            b"dir\0",
            Operation::Mkdir { name: b"dir", mode: 0o755, umask: 0o22 },
        ),
        sample(
            FUSE_LINK,
            &LinkIn { oldnodeid: 8 },
            b"again\0",
            Operation::Link { target: 8, name: b"again" },
        ),
        sample(FUSE_RENAME, &RenameIn { newdir: 9 }, b"old\0new\0", rename),
        sample(
            FUSE_RENAME2,
            &Rename2In { newdir: 9, flags: 2, padding: 0 },
            b"old\0new\0",
            exchange,
        ),
        sample(
            FUSE_CREATE,
            &CreateIn { flags: 0o102, mode: 0o644, umask: 0o22, open_flags: 0 },
            b"file\0",
            Operation::Create { name: b"file", mode: 0o644, umask: 0o22, flags: 0o102 },
        ),
        sample(
            FUSE_GETXATTR,
            &GetxattrIn { size: 64, padding: 0 },
            b"user.x\0",
            Operation::GetXattr { name: b"user.x", size: 64 },
        ),
        sample(
            FUSE_LISTXATTR,
            &GetxattrIn { size: 65, padding: 0 },
            b"",
            Operation::ListXattr { size: 65 },
        ),
        sample(FUSE_ACCESS, &AccessIn { mask: 4, padding: 0 }, b"", Operation::Access { mask: 4 }),
    ]
}

fn files() -> Vec<Sample> {
    let open = OpenIn { flags: 0o2_000_002, open_flags: 0 };
    let flags = 0o2_000_002;
    let release_in = ReleaseIn { fh: 21, flags, release_flags: FUSE_RELEASE_FLUSH, lock_owner: 22 };
    let release = ReleaseFile { fh: 21, flags, release_flags: FUSE_RELEASE_FLUSH, lock_owner: 22 };
    let fsync = FsyncIn { fh: 23, fsync_flags: FUSE_FSYNC_FDATASYNC, padding: 0 };
    let read_in = ReadIn { fh: 24, offset: 4096, size: 512, flags, ..ReadIn::new_zeroed() };
    let read = Read { fh: 24, offset: 4096, size: 512, flags };
    let write = WriteIn { fh: 25, offset: 9, size: 4, write_flags: 1, ..WriteIn::new_zeroed() };
    let set_in = SetattrIn {
        valid: FATTR_MODE | FATTR_SIZE | FATTR_ATIME | FATTR_ATIME_NOW | FATTR_MTIME | FATTR_FH,
        fh: 26,
        size: 27,
        mtime: -28,
        mtimensec: 29,
        mode: 0o600,
        uid: 30,
        ..SetattrIn::new_zeroed()
    };
    let set = SetAttr {
        fh: Some(26),
        mode: Some(0o600),
        uid: None,
        gid: None,
        size: Some(27),
        atime: Some(SetTime::Now),
        mtime: Some(SetTime::At(Timestamp { seconds: -28, nanoseconds: 29 })),
        ctime: None,
    };
    vec![
        sample(
            FUSE_GETATTR,
            &GetattrIn { getattr_flags: FUSE_GETATTR_FH, dummy: 0, fh: 20 },
            b"",
            Operation::GetAttr { fh: Some(20) },
        ),
        sample(FUSE_SETATTR, &set_in, b"", Operation::SetAttr(set)),
        sample(FUSE_OPEN, &open, b"", Operation::Open { flags }),
        sample(FUSE_OPENDIR, &open, b"", Operation::OpenDir { flags }),
        sample(FUSE_RELEASE, &release_in, b"", Operation::Release(release)),
        sample(FUSE_RELEASEDIR, &release_in, b"", Operation::ReleaseDir(release)),
        sample(
            FUSE_FLUSH,
            &FlushIn { fh: 31, unused: 0, padding: 0, lock_owner: 32 },
            b"",
            Operation::Flush { fh: 31, lock_owner: 32 },
        ),
        sample(FUSE_FSYNC, &fsync, b"", Operation::Fsync { fh: 23, is_data_only: true }),
        sample(FUSE_FSYNCDIR, &fsync, b"", Operation::FsyncDir { fh: 23, is_data_only: true }),
        sample(FUSE_READ, &read_in, b"", Operation::Read(read)),
        sample(FUSE_READDIR, &read_in, b"", Operation::ReadDir(read)),
        sample(FUSE_READDIRPLUS, &read_in, b"", Operation::ReadDirPlus(read)),
        sample(
            FUSE_WRITE,
            &write,
            b"data",
            Operation::Write { fh: 25, offset: 9, data: b"data", write_flags: 1, flags: 0 },
        ),
        sample(
            FUSE_LSEEK,
            &LseekIn { fh: 33, offset: 34, whence: 3, padding: 0 },
            b"",
            Operation::Lseek { fh: 33, offset: 34, whence: 3 },
        ),
        sample(
            FUSE_FALLOCATE,
            &FallocateIn { fh: 35, offset: 36, length: 37, mode: 3, padding: 0 },
            b"",
            Operation::Fallocate { fh: 35, offset: 36, length: 37, mode: 3 },
        ),
    ]
}

fn devices() -> Vec<Sample> {
    const WRITE_READ: u32 = 0xc030_6201;
    let ioctl = IoctlIn {
        fh: 40,
        flags: FUSE_IOCTL_COMPAT | FUSE_IOCTL_32BIT,
        cmd: WRITE_READ,
        arg: 0x7fff_0000_1000,
        in_size: 48,
        out_size: 48,
    };
    vec![
        sample(
            FUSE_IOCTL,
            &ioctl,
            &[0x5a; 48],
            Operation::Ioctl {
                fh: 40,
                flags: 9,
                cmd: WRITE_READ,
                arg: 0x7fff_0000_1000,
                data: &[0x5a; 48],
                out_size: 48,
            },
        ),
        sample(
            FUSE_POLL,
            &PollIn { fh: 41, kh: 42, flags: FUSE_POLL_SCHEDULE_NOTIFY, events: 1 },
            b"",
            Operation::Poll { fh: 41, kh: 42, flags: 1, events: 1 },
        ),
    ]
}
