//! Notifications: what the server tells without having been asked.

use core::ffi::CStr;

use crate::abi;
use crate::message::Message;

/// The file may be ready: poll again.
pub const FUSE_NOTIFY_POLL: i32 = 1;
/// A node's cached data or attributes are stale.
pub const FUSE_NOTIFY_INVAL_INODE: i32 = 2;
/// A cached name is stale.
pub const FUSE_NOTIFY_INVAL_ENTRY: i32 = 3;
/// Data for the cache.
pub const FUSE_NOTIFY_STORE: i32 = 4;

/// Wakes those that poll the file of `kh`, as the POLL request named it.
#[must_use]
pub fn poll(kh: u64) -> Message<'static> {
    notification(FUSE_NOTIFY_POLL, &abi::NotifyPollWakeupOut { kh }, &[])
}

/// Puts `data` into the page cache of `node`, at `offset` bytes.
///
/// Data of 4 GiB or more is refused by the kernel.
#[must_use]
pub fn store(node: u64, offset: u64, data: &[u8]) -> Message<'_> {
    let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let body = abi::NotifyStoreOut { nodeid: node, offset, size, padding: 0 };
    notification(FUSE_NOTIFY_STORE, &body, data)
}

/// Drops the attributes of `node` and its cached pages from `offset` on, `len` bytes of them or,
/// with a `len` of 0 or below, all; a negative `offset` keeps the pages.
#[must_use]
pub fn inval_inode(node: u64, offset: i64, len: i64) -> Message<'static> {
    let body = abi::NotifyInvalInodeOut { ino: node, off: offset, len };
    notification(FUSE_NOTIFY_INVAL_INODE, &body, &[])
}

/// Drops `name` in the directory `parent` from the cache; `flags` are 0 or
/// [`FUSE_EXPIRE_ONLY`](crate::flags::FUSE_EXPIRE_ONLY).
///
/// Takes the directory's lock: not to be sent while answering a request in that directory.
#[must_use]
pub fn inval_entry(parent: u64, name: &CStr, flags: u32) -> Message<'_> {
    let namelen = u32::try_from(name.count_bytes()).unwrap_or(u32::MAX);
    let body = abi::NotifyInvalEntryOut { parent, namelen, flags };
    notification(FUSE_NOTIFY_INVAL_ENTRY, &body, name.to_bytes_with_nul())
}

fn notification<'a, T>(code: i32, body: &T, data: &'a [u8]) -> Message<'a>
where
    T: zerocopy::IntoBytes + zerocopy::Immutable,
{
    Message::new(0, code, body, data)
}
