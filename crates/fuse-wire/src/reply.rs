//! Replies: each names the request it answers by its `unique`.

use core::time::Duration;

use crate::abi;
use crate::init::InitTerms;
use crate::message::Message;
use crate::stat::{Attr, Entry, OpenedFile, StatFs};

/// Refuses with an errno, given as the positive number.
///
/// ENOSYS makes the kernel stop sending most kinds of request, and answers them for us.
#[must_use]
pub fn error(unique: u64, errno: i32) -> Message<'static> {
    Message::new(unique, -errno.saturating_abs(), &(), &[])
}

/// Succeeds with nothing to tell.
#[must_use]
pub fn empty(unique: u64) -> Message<'static> {
    Message::new(unique, 0, &(), &[])
}

/// Succeeds with bytes: what was read from a file, directory, link or extended attribute.
#[must_use]
pub fn data(unique: u64, data: &[u8]) -> Message<'_> {
    Message::new(unique, 0, &(), data)
}

/// Ends an ioctl: `result` is what the call returns, a negative errno or not; `data` goes to the
/// caller's argument and may not exceed the request's `out_size`.
#[must_use]
pub fn ioctl(unique: u64, result: i32, data: &[u8]) -> Message<'_> {
    Message::new(unique, 0, &abi::IoctlOut { result, flags: 0, in_iovs: 0, out_iovs: 0 }, data)
}

/// Accepts the conversation on the terms of [`InitOffer::agree`](crate::InitOffer::agree).
#[must_use]
pub fn init(unique: u64, agreed: &InitTerms) -> Message<'static> {
    Message::new(unique, 0, &abi::InitOut::from(agreed), &[])
}

/// Answers a lookup, or names what was made.
#[must_use]
pub fn entry(unique: u64, entry: &Entry) -> Message<'static> {
    Message::new(unique, 0, &abi::EntryOut::from(entry), &[])
}

/// Tells attributes, to be believed for `valid`.
#[must_use]
pub fn attr(unique: u64, attr: &Attr, valid: Duration) -> Message<'static> {
    let body = abi::AttrOut {
        attr_valid: valid.as_secs(),
        attr_valid_nsec: valid.subsec_nanos(),
        dummy: 0,
        attr: attr.into(),
    };
    Message::new(unique, 0, &body, &[])
}

/// Hands an open file or directory out.
#[must_use]
pub fn open(unique: u64, opened: &OpenedFile) -> Message<'static> {
    Message::new(unique, 0, &abi::OpenOut::from(opened), &[])
}

/// Hands a new file out, open.
#[must_use]
pub fn create(unique: u64, entry: &Entry, opened: &OpenedFile) -> Message<'static> {
    let body = abi::CreateOut { entry: entry.into(), open: opened.into() };
    Message::new(unique, 0, &body, &[])
}

/// Tells how many bytes were written.
#[must_use]
pub fn write(unique: u64, size: u32) -> Message<'static> {
    Message::new(unique, 0, &abi::WriteOut { size, padding: 0 }, &[])
}

/// Tells where a seek led.
#[must_use]
pub fn lseek(unique: u64, offset: u64) -> Message<'static> {
    Message::new(unique, 0, &abi::LseekOut { offset }, &[])
}

/// Tells the length of an extended attribute or of their list.
#[must_use]
pub fn xattr_size(unique: u64, size: u32) -> Message<'static> {
    Message::new(unique, 0, &abi::GetxattrOut { size, padding: 0 }, &[])
}

/// Tells the figures of the filesystem.
#[must_use]
pub fn statfs(unique: u64, figures: &StatFs) -> Message<'static> {
    Message::new(unique, 0, &abi::Kstatfs::from(figures), &[])
}

/// Tells which events are ready.
#[must_use]
pub fn poll(unique: u64, events: u32) -> Message<'static> {
    Message::new(unique, 0, &abi::PollOut { revents: events, padding: 0 }, &[])
}
