//! What /proc tells of a client: names, numbers, mappings and open files.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process;
use std::str::FromStr;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::namespaces;

/// A file, as the kernel tells it apart from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device of its file system.
    pub device: DeviceNumber,
    /// Its inode number there.
    pub inode: u64,
}

/// The number of a mounted file system, as major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceNumber {
    /// The major number; 0 for a file system without a block device.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// A run of user numbers of a user namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcUidRange {
    /// The first number inside.
    pub inside: u32,
    /// The number outside, as the reader's namespace sees it, that `inside` stands for.
    pub outside: u32,
    /// How many numbers follow one another.
    pub count: u32,
}

/// Returns the process of thread `tid`.
///
/// # Errors
///
/// `NotFound` if the thread has ended.
pub fn tgid_of(tid: u32) -> io::Result<u32> {
    let status = fs::read(format!("/proc/{tid}/status"))?;
    number(field(&status, b"Tgid:")?)
}

/// Returns the numbers of the process of thread `tid`, from the namespace of /proc, for which it is
/// the same as [`tgid_of`], to the process's own.
///
/// # Errors
///
/// `NotFound` if the thread has ended.
pub fn pid_numbers(tid: u32) -> io::Result<Vec<u32>> {
    numbers(tid, b"NStgid:")
}

/// Returns the numbers of thread `tid`, from the namespace of /proc to the thread's own.
///
/// # Errors
///
/// `NotFound` if the thread has ended.
pub fn thread_numbers(tid: u32) -> io::Result<Vec<u32>> {
    numbers(tid, b"NSpid:")
}

fn numbers(tid: u32, name: &[u8]) -> io::Result<Vec<u32>> {
    let status = fs::read(format!("/proc/{tid}/status"))?;
    words(field(&status, name)?).map(number).collect()
}

/// Whether /proc shows this process by the number that it has for itself: not that of another namespace of
/// processes, nor one that shows none of ours.
#[must_use]
pub fn are_own_numbers() -> bool {
    let own = process::id();
    let shown = fs::read_link("/proc/self").is_ok_and(|shown| shown == Path::new(&own.to_string()));
    // The same number may be another process's in an outer namespace.
    shown && pid_numbers(own).is_ok_and(|numbers| numbers == [own])
}

/// Divides a `stat` behind the name, which is in parentheses and may hold anything, parentheses too;
/// `None` if there is none.
#[must_use]
pub fn split_stat(stat: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let (before, after) = stat.split_at(end);
    Some((before, after.strip_prefix(b" ")?))
}

/// Returns when process `tgid` started, in clock ticks since the machine did. An execve(2) changes
/// nothing about that.
///
/// # Errors
///
/// `NotFound` if the process has ended.
pub fn start_time(tgid: u32) -> io::Result<u64> {
    // Of the first thread alone: that of the process adds up what all its threads have used.
    let stat = fs::read(format!("/proc/{tgid}/task/{tgid}/stat"))?;
    let (_, behind_name) = split_stat(&stat).ok_or_else(malformed)?;
    number(words(behind_name).nth(19).ok_or_else(malformed)?)
}

/// Returns the pid namespaces of process `tgid`, from ours to its own, as inode numbers.
///
/// For a process that is not below our namespace the chain ends as far up as we may look.
///
/// # Errors
///
/// `NotFound` if the process has ended, `PermissionDenied` if we may not inspect it.
pub fn pid_namespaces(tgid: u32) -> io::Result<Vec<u64>> {
    namespaces::ancestry(Path::new(&format!("/proc/{tgid}/ns/pid")))
}

/// Returns our own pid namespace, as its inode number.
///
/// # Errors
///
/// As stat(2) of a file of /proc.
pub fn own_pid_namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

/// Whether process `tgid` is in our own user namespace, whose numbers need no translation.
///
/// # Errors
///
/// `NotFound` if the process has ended, `PermissionDenied` if we may not inspect it.
pub fn shares_user_namespace(tgid: u32) -> io::Result<bool> {
    let its = fs::read_link(format!("/proc/{tgid}/ns/user"))?;
    Ok(its == fs::read_link("/proc/self/ns/user")?)
}

/// Returns user and group 0 of the user namespace of process `tgid`, as our namespace numbers them;
/// `None` if it has none.
///
/// # Errors
///
/// `NotFound` if the process has ended.
pub fn root_of_user_namespace(tgid: u32) -> io::Result<Option<(u32, u32)>> {
    let zero = |kind: &str| {
        let ranges = id_map(tgid, kind)?;
        let range = ranges.iter().find(|range| range.inside == 0 && range.count > 0);
        Ok::<_, io::Error>(range.map(|range| range.outside))
    };
    Ok(zero("uid_map")?.zip(zero("gid_map")?))
}

/// Returns the user numbers that exist in the user namespace of process `tgid`.
///
/// # Errors
///
/// `NotFound` if the process has ended.
pub fn uid_map(tgid: u32) -> io::Result<Vec<ProcUidRange>> {
    id_map(tgid, "uid_map")
}

fn id_map(tgid: u32, kind: &str) -> io::Result<Vec<ProcUidRange>> {
    let map = fs::read(format!("/proc/{tgid}/{kind}"))?;
    lines(&map)
        .map(|line| {
            let mut numbers = words(line).map(number);
            let mut next = || numbers.next().unwrap_or_else(|| Err(malformed()));
            Ok(ProcUidRange { inside: next()?, outside: next()?, count: next()? })
        })
        .collect()
}

/// Returns the security label of process `tgid`, if a security module gives it one.
#[must_use]
pub fn security_label(tgid: u32) -> Option<Vec<u8>> {
    let mut label = fs::read(format!("/proc/{tgid}/attr/current")).ok()?;
    while matches!(label.last(), Some(b'\n' | 0)) {
        label.pop();
    }
    (!label.is_empty()).then_some(label)
}

/// Returns the short name of thread or process `pid`.
///
/// # Errors
///
/// `NotFound` if it has ended.
pub fn comm(pid: u32) -> io::Result<OsString> {
    let mut name = fs::read(format!("/proc/{pid}/comm"))?;
    if name.last() == Some(&b'\n') {
        name.pop();
    }
    Ok(OsString::from_vec(name))
}

/// Returns which file a descriptor is of, without asking the file system.
///
/// So it may be called by the very process that serves it.
///
/// # Errors
///
/// As statx(2).
pub fn id_of(file: BorrowedFd<'_>) -> io::Result<FileId> {
    cached_id(file, c"")
}

/// Returns which file `path` is, without asking its file system.
///
/// # Errors
///
/// As statx(2).
pub fn id_at(path: &Path) -> io::Result<FileId> {
    cached_id(rustix::fs::CWD, path)
}

/// Returns which file descriptor `fd` of thread `tid` is of, without asking its file system.
///
/// # Errors
///
/// `NotFound` if there is none, `PermissionDenied` if we may not inspect the process.
pub fn id_of_descriptor(tid: u32, fd: u32) -> io::Result<FileId> {
    cached_id(rustix::fs::CWD, format!("/proc/{tid}/fd/{fd}"))
}

/// Returns where process `tgid` maps `file`: start and length in bytes, the lowest such range.
///
/// Its thread `tid` must live; once the first thread has ended, the process itself shows no memory.
///
/// Lines that follow one another without a gap, as after mprotect(2) of a part, count as one.
///
/// # Errors
///
/// `NotFound` or `ESRCH` if the thread has ended, `PermissionDenied` if we may not inspect it.
pub fn find_mapping(tgid: u32, tid: u32, file: FileId) -> io::Result<Option<(u64, u64)>> {
    search_mapping(tgid, tid, MappingSearch { file, must_be_private: false, found: None })
}

/// The same of mappings that are private, into which [`PinnedMemory`](crate::PinnedMemory) can write.
///
/// # Errors
///
/// As [`find_mapping`].
pub fn find_private_mapping(tgid: u32, tid: u32, file: FileId) -> io::Result<Option<(u64, u64)>> {
    search_mapping(tgid, tid, MappingSearch { file, must_be_private: true, found: None })
}

fn search_mapping(
    tgid: u32,
    tid: u32,
    mut search: MappingSearch,
) -> io::Result<Option<(u64, u64)>> {
    let mut maps = File::open(format!("/proc/{tgid}/task/{tid}/maps"))?;
    // The kernel returns whole lines, about a page at a time; a line longer than that is carried
    // over to the next read.
    let mut chunk = vec![0; 64 << 10];
    let (mut filled, mut has_memory) = (0, false);
    loop {
        let read = maps.read(&mut chunk[filled..])?;
        if read == 0 {
            return if has_memory { Ok(search.found) } else { Err(Errno::SRCH.into()) };
        }
        has_memory = true;
        filled += read;
        let mut consumed = 0;
        while let Some(len) = chunk[consumed..filled].iter().position(|&byte| byte == b'\n') {
            if search.take_line(&chunk[consumed..consumed + len]).is_done() {
                return Ok(search.found);
            }
            consumed += len + 1;
        }
        chunk.copy_within(consumed..filled, 0);
        filled -= consumed;
        if filled == chunk.len() {
            chunk.resize(2 * filled, 0);
        }
    }
}

/// A file that a process has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// The descriptor.
    pub number: u32,
    /// Its flags, O_NONBLOCK and so on.
    pub flags: u32,
}

/// Returns how process `tgid` has each of `files` open, by its first descriptor of that.
///
/// To find one file or many takes one walk through its descriptors, up to the last that is wanted.
///
/// # Errors
///
/// `NotFound` if the process has ended, `PermissionDenied` if we may not inspect it.
pub fn open_files(
    tgid: u32,
    files: impl IntoIterator<Item = FileId>,
) -> io::Result<HashMap<FileId, OpenFile>> {
    let mut wanted: HashSet<FileId> = files.into_iter().collect();
    let mut found = HashMap::with_capacity(wanted.len());
    let dir = open_dir(&format!("/proc/{tgid}/fd"))?;
    for entry in rustix::fs::Dir::read_from(&dir)? {
        if wanted.is_empty() {
            break;
        }
        let entry = entry?;
        // The dots are no links, and a descriptor may be closed while we look.
        let Ok(file) = cached_id(&dir, entry.file_name()) else { continue };
        if !wanted.contains(&file) {
            continue;
        }
        let number = number(entry.file_name().to_bytes())?;
        if let Some(open) = open_as(tgid, number)? {
            wanted.remove(&file);
            found.insert(file, open);
        }
    }
    Ok(found)
}

/// Returns how process `tgid` has `file` open, if its descriptor `number` is that file.
///
/// However many descriptors the process has, this looks at one.
///
/// # Errors
///
/// As [`open_files`]; `NotFound` also if there is no such descriptor.
pub fn open_file(tgid: u32, number: u32, file: FileId) -> io::Result<Option<OpenFile>> {
    let found = cached_id(rustix::fs::CWD, format!("/proc/{tgid}/fd/{number}"))?;
    if found == file { open_as(tgid, number) } else { Ok(None) }
}

/// Returns what a descriptor is; `None` if it was closed, or only names a file, which is no open of it.
fn open_as(tgid: u32, number: u32) -> io::Result<Option<OpenFile>> {
    let Ok(info) = fs::read(format!("/proc/{tgid}/fdinfo/{number}")) else { return Ok(None) };
    let flags = str::from_utf8(field(&info, b"flags:")?.trim_ascii()).ok();
    let flags = flags.and_then(|octal| u32::from_str_radix(octal, 8).ok());
    let flags = flags.ok_or_else(malformed)?;
    Ok((flags & OFlags::PATH.bits() == 0).then_some(OpenFile { number, flags }))
}

/// The walk through the lines of /proc/PID/maps.
struct MappingSearch {
    file: FileId,
    must_be_private: bool,
    found: Option<(u64, u64)>,
}

enum ParseProgress {
    More,
    Done,
}

impl ParseProgress {
    fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}

impl MappingSearch {
    fn take_line(&mut self, line: &[u8]) -> ParseProgress {
        match (self.found, self.range_of_file(line)) {
            (None, None) => ParseProgress::More,
            (None, Some((start, end))) => {
                self.found = Some((start, end - start));
                ParseProgress::More
            }
            (Some((start, len)), Some((next, end))) if start + len == next => {
                self.found = Some((start, end - start));
                ParseProgress::More
            }
            (Some(_), _) => ParseProgress::Done,
        }
    }

    /// Returns start and end of a line `start-end perms offset major:minor inode path`.
    fn range_of_file(&self, line: &[u8]) -> Option<(u64, u64)> {
        let mut words = words(line);
        let range = words.next()?;
        let permissions = words.next()?;
        if self.must_be_private && !permissions.ends_with(b"p") {
            return None;
        }
        let device = words.nth(1)?;
        let inode: u64 = number(words.next()?).ok()?;
        if inode != self.file.inode {
            return None;
        }
        let (major, minor) = hex_pair(device, b':')?;
        let DeviceNumber { major: our_major, minor: our_minor } = self.file.device;
        if (major, minor) != (our_major.into(), our_minor.into()) {
            return None;
        }
        hex_pair(range, b'-').filter(|(start, end)| start < end)
    }
}

/// How many mappings the kernel allows a process.
///
/// # Errors
///
/// As open(2) and read(2); `InvalidData` when it is not a number.
pub fn max_mappings() -> io::Result<u64> {
    number(fs::read("/proc/sys/vm/max_map_count")?.trim_ascii())
}

/// Opens a directory for reading.
fn open_dir(path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Returns what the kernel remembers of a file's identity.
///
/// No mask and no sync: a FUSE file is not asked for, which would wait for ourselves.
fn cached_id<P: rustix::path::Arg>(dir: impl rustix::fd::AsFd, path: P) -> io::Result<FileId> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    let statx = rustix::fs::statx(dir, path, flags, StatxFlags::empty())?;
    let device = DeviceNumber { major: statx.stx_dev_major, minor: statx.stx_dev_minor };
    Ok(FileId { device, inode: statx.stx_ino })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns what follows `name` in its line of `text`.
pub(crate) fn field<'a>(text: &'a [u8], name: &[u8]) -> io::Result<&'a [u8]> {
    lines(text).find_map(|line| line.strip_prefix(name)).ok_or_else(malformed)
}

pub(crate) fn number<T: FromStr>(word: &[u8]) -> io::Result<T> {
    let text = str::from_utf8(word.trim_ascii()).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(malformed)
}

fn hex_pair(word: &[u8], separator: u8) -> Option<(u64, u64)> {
    let text = str::from_utf8(word).ok()?;
    let (left, right) = text.split_once(char::from(separator))?;
    Some((u64::from_str_radix(left, 16).ok()?, u64::from_str_radix(right, 16).ok()?))
}

pub(crate) fn malformed() -> io::Error {
    Errno::PROTO.into()
}

#[cfg(test)]
mod tests;
