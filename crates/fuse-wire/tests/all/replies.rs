//! Writing replies and notifications, byte by byte.

use std::time::Duration;

use fuse_wire::abi::{AttrOut, CreateOut, EntryOut, InitOut, IoctlOut, OutHeader};
use fuse_wire::flags::*;
use fuse_wire::{
    Attr, DirentBuffer, Entry, InitOffer, InitTerms, Message, NoRoom, OpenedFile, Timestamp,
    UnsupportedVersion, notify, reply,
};
use zerocopy::FromBytes;

/// The bytes of a message, whose header must declare as many.
fn bytes_of(message: &Message<'_>) -> Vec<u8> {
    let bytes = message.slices().concat();
    assert_eq!(bytes.len(), message.len());
    assert_eq!(header_of(&bytes).len as usize, bytes.len());
    bytes
}

fn header_of(bytes: &[u8]) -> OutHeader {
    OutHeader::read_from_prefix(bytes).expect("a header").0
}

fn body_of<T: FromBytes>(message: &Message<'_>) -> T {
    T::read_from_bytes(&bytes_of(message)[size_of::<OutHeader>()..]).expect("nothing but a body")
}

fn entry() -> Entry {
    let time = Timestamp { seconds: -1, nanoseconds: 2 };
    Entry {
        node: 3,
        generation: 4,
        entry_valid: Duration::new(5, 6),
        attr_valid: Duration::new(7, 8),
        attr: Attr { ino: 9, size: 10, mtime: time, mode: 0o100_666, ..Attr::default() },
    }
}

#[test]
fn an_error_is_a_header_with_a_negative_errno() {
    for errno in [11, -11] {
        let bytes = bytes_of(&reply::error(77, errno));
        assert_eq!(bytes.len(), 16);
        assert_eq!((header_of(&bytes).error, header_of(&bytes).unique), (-11, 77));
    }
    assert_eq!(bytes_of(&reply::empty(77)), [16, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn an_ioctl_reply_is_a_header_a_result_and_data() {
    let message = reply::ioctl(1, -14, b"out");
    let bytes = bytes_of(&message);
    assert_eq!((bytes.len(), header_of(&bytes).error), (16 + 16 + 3, 0));
    let (out, data) = IoctlOut::read_from_prefix(&bytes[16..]).unwrap();
    assert_eq!((out.result, out.flags, data), (-14, 0, &b"out"[..]));
}

#[test]
fn data_follows_the_header_at_once() {
    assert_eq!(bytes_of(&reply::data(1, b"bytes"))[16..], *b"bytes");
}

#[test]
fn an_entry_carries_its_attributes_and_their_lifetimes() {
    let out: EntryOut = body_of(&reply::entry(1, &entry()));
    assert_eq!((out.nodeid, out.generation), (3, 4));
    assert_eq!((out.entry_valid, out.entry_valid_nsec), (5, 6));
    assert_eq!((out.attr_valid, out.attr_valid_nsec), (7, 8));
    assert_eq!((out.attr.ino, out.attr.size, out.attr.mode), (9, 10, 0o100_666));
    assert_eq!((out.attr.mtime, out.attr.mtimensec), (-1, 2));

    let out: AttrOut = body_of(&reply::attr(1, &entry().attr, Duration::from_millis(1500)));
    assert_eq!((out.attr_valid, out.attr_valid_nsec, out.attr.ino), (1, 500_000_000, 9));
}

#[test]
fn a_created_file_is_an_entry_and_an_open_file() {
    let opened = OpenedFile { fh: 11, flags: FOPEN_PASSTHROUGH, backing_id: 12 };
    let out: CreateOut = body_of(&reply::create(1, &entry(), &opened));
    assert_eq!(out.entry.nodeid, 3);
    assert_eq!((out.open.fh, out.open.open_flags, out.open.backing_id), (11, 0x80, 12));
    assert_eq!(
        bytes_of(&reply::open(1, &opened))[16..],
        [11, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 12, 0, 0, 0]
    );
}

#[test]
fn small_replies_are_one_number() {
    assert_eq!(bytes_of(&reply::write(1, 5))[16..], [5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes_of(&reply::poll(1, 4))[16..], [4, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes_of(&reply::xattr_size(1, 3))[16..], [3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes_of(&reply::lseek(1, 2))[16..], [2, 0, 0, 0, 0, 0, 0, 0]);
}

const TERMS: InitTerms = InitTerms {
    features: FUSE_MAX_PAGES | FUSE_PASSTHROUGH | FUSE_ATOMIC_O_TRUNC,
    max_readahead: 0,
    max_write: 4096,
    max_pages: 1,
    max_background: 16,
    congestion_threshold: 12,
    time_granularity_ns: 1,
    max_stack_depth: 1,
};

fn offer(minor: u32, features: u64) -> InitOffer {
    InitOffer { major: 7, minor, max_readahead: 0x2_0000, features }
}

#[test]
fn features_are_agreed_on_only_if_both_have_them() {
    let agreed = offer(40, FUSE_INIT_EXT | FUSE_PASSTHROUGH | FUSE_MAX_PAGES).agree(&TERMS);
    let out: InitOut = body_of(&reply::init(1, &agreed.unwrap()));
    assert_eq!((out.major, out.minor, out.max_write, out.time_gran), (7, 40, 4096, 1));
    assert_eq!((out.flags, out.flags2), (1 << 22 | 1 << 30, 1 << 5));
    assert_eq!((out.max_pages, out.max_stack_depth), (1, 1));
    assert_eq!((out.max_background, out.congestion_threshold, out.max_readahead), (16, 12, 0));
}

#[test]
fn what_depends_on_a_feature_goes_with_it() {
    let agreed = offer(31, FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC).agree(&TERMS).unwrap();
    assert_eq!(agreed.features, FUSE_ATOMIC_O_TRUNC);
    assert_eq!((agreed.max_pages, agreed.max_stack_depth), (0, 0));

    let flat = InitTerms { max_stack_depth: 0, ..TERMS };
    let agreed = offer(40, FUSE_INIT_EXT | FUSE_PASSTHROUGH).agree(&flat).unwrap();
    assert_eq!(agreed.features, 0);
}

#[test]
fn the_kernel_reads_ahead_no_further_than_both_like() {
    let greedy = InitTerms { max_readahead: u32::MAX, ..TERMS };
    assert_eq!(offer(40, 0).agree(&greedy).unwrap().max_readahead, 0x2_0000);
}

#[test]
fn versions_that_we_do_not_speak_are_refused() {
    for (major, minor) in [(6, 40), (8, 0), (7, 30)] {
        let offer = InitOffer { major, minor, ..offer(40, 0) };
        assert_eq!(offer.agree(&TERMS), Err(UnsupportedVersion { major, minor }));
    }
}

#[test]
fn notifications_have_no_number_but_a_code() {
    let bytes = bytes_of(&notify::poll(9));
    assert_eq!((header_of(&bytes).unique, header_of(&bytes).error), (0, 1));
    assert_eq!(bytes[16..], [9, 0, 0, 0, 0, 0, 0, 0]);

    let bytes = bytes_of(&notify::store(2, 4096, b"page"));
    assert_eq!((header_of(&bytes).error, bytes.len()), (4, 16 + 24 + 4));
    assert_eq!((bytes[16], bytes[25], bytes[32], &bytes[40..]), (2, 16, 4, &b"page"[..]));

    let bytes = bytes_of(&notify::inval_inode(2, -1, 0));
    assert_eq!((header_of(&bytes).error, &bytes[24..32]), (2, &[0xff; 8][..]));

    let bytes = bytes_of(&notify::inval_entry(1, c"name", FUSE_EXPIRE_ONLY));
    assert_eq!((header_of(&bytes).error, bytes[24], bytes[28]), (3, 4, 1));
    assert_eq!(bytes[32..], *b"name\0");
}

#[test]
fn directory_entries_are_padded_to_eight_bytes() {
    let mut buffer = [0xee; 80];
    let mut entries = DirentBuffer::new(&mut buffer);
    assert_eq!(entries.push(1, 1, 0o040_755, b"."), Ok(()));
    assert_eq!(entries.push(2, 2, 0o100_600, b"12345678"), Ok(()));
    assert_eq!(entries.push(3, 3, 0, b"x"), Err(NoRoom));
    let bytes = entries.into_bytes();
    assert_eq!(bytes.len(), 32 + 32);
    assert_eq!((bytes[0], bytes[8], bytes[16], bytes[20]), (1, 1, 1, 4));
    assert_eq!(bytes[24..32], *b".\0\0\0\0\0\0\0");
    assert_eq!((bytes[32], bytes[40], bytes[48], bytes[52]), (2, 2, 8, 8));
    assert_eq!(bytes[56..], *b"12345678");
}

#[test]
fn directory_entries_may_bring_their_attributes() {
    let mut buffer = [0xee; 160];
    let mut entries = DirentBuffer::new(&mut buffer);
    assert_eq!(entries.push_plus(&entry(), 1, b"binder"), Ok(()));
    assert_eq!(entries.push_plus(&entry(), 2, b"hwbinder"), Err(NoRoom));
    let bytes = entries.into_bytes();
    let (out, dirent) = EntryOut::read_from_prefix(bytes).unwrap();
    assert_eq!((out.nodeid, dirent[0], dirent[20]), (3, 9, 8));
    assert_eq!(dirent[24..], *b"binder\0\0");
}
