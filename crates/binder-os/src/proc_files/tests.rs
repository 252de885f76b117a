//! Against this very process and its children.

use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};

use super::*;
use crate::mapped_memory::MappedMemory;

const PAGE: usize = 4096;

fn own_pid() -> u32 {
    process::id()
}

fn id_of(fd: impl AsFd) -> FileId {
    let stat = rustix::fs::fstat(fd).unwrap();
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    FileId { device: DeviceNumber { major, minor }, inode: stat.st_ino }
}

fn new_file(len_bytes: usize) -> File {
    let file = rustix::fs::memfd_create(c"mapped", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, len_bytes as u64).unwrap();
    file.into()
}

#[test]
fn threads_belong_to_their_process() {
    let own_tid = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
    assert_ne!(own_tid, own_pid(), "tests run in threads");
    assert_eq!(tgid_of(own_tid).unwrap(), own_pid());
    assert!(tgid_of(u32::MAX).is_err());
}

#[test]
fn a_process_of_our_namespace_has_our_number_for_it() {
    assert_eq!(pid_numbers(own_pid()).unwrap().first(), Some(&own_pid()));
    let own_tid = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
    assert_eq!(pid_numbers(own_tid).unwrap(), pid_numbers(own_pid()).unwrap());
    assert_eq!(thread_numbers(own_tid).unwrap().first(), Some(&own_tid));
    assert_eq!(pid_namespaces(own_pid()).unwrap(), [own_pid_namespace().unwrap()]);
}

#[test]
fn a_process_started_no_earlier_than_its_parent() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let own = start_time(own_pid()).unwrap();
    let childs = start_time(child.id()).unwrap();
    assert!(own > 0 && childs >= own, "{own} {childs}");
    assert_eq!(start_time(child.id()).unwrap(), childs);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(start_time(u32::MAX).is_err());
}

#[test]
fn a_process_below_has_a_number_and_a_namespace_for_every_level() {
    let script = "echo; sleep 1000";
    let mut command = Command::new("unshare");
    command.args(["--user", "--pid", "--fork", "--kill-child", "sh", "-c", script]);
    let mut unshare = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = [0];
    if unshare.stdout.take().unwrap().read_exact(&mut line).is_err() {
        binder_testkit::skip("this machine allows no user and pid namespaces");
        unshare.wait().unwrap();
        return;
    }
    let children = format!("/proc/{0}/task/{0}/children", unshare.id());
    let child: u32 = fs::read_to_string(children).unwrap().trim().parse().unwrap();
    assert_eq!(pid_numbers(child).unwrap(), [child, 1]);
    assert_eq!(thread_numbers(child).unwrap(), [child, 1]);
    let chain = pid_namespaces(child).unwrap();
    assert_eq!(chain.len(), 2);
    assert_eq!(chain[0], pid_namespaces(own_pid()).unwrap()[0]);
    unshare.kill().unwrap();
    unshare.wait().unwrap();
}

#[test]
fn names_and_labels_are_those_of_the_process() {
    let words = ["sh", "-c", "echo; read line", ""];
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = command.spawn().unwrap();
    shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let pid = shell.id();
    assert_eq!(comm(pid).unwrap(), "sh");
    assert_ne!(security_label(pid).as_deref(), Some(&b""[..]));
    shell.wait().unwrap();
    assert!(comm(pid).is_err());
    assert_eq!(security_label(pid), None);
}

#[test]
fn the_user_numbers_include_our_own() {
    let ranges = uid_map(own_pid()).unwrap();
    let uid = rustix::process::getuid().as_raw();
    assert!(ranges.iter().any(|range| range.inside <= uid && uid - range.inside < range.count));
}

#[test]
fn a_mapping_is_found_while_it_exists() {
    let mapping = MappedMemory::shared(4 * PAGE).unwrap();
    let file = mapping.as_fd().unwrap().try_clone_to_owned().unwrap();
    let id = id_of(&file);
    let (start, len) = find_mapping(own_pid(), own_pid(), id).unwrap().unwrap();
    assert_eq!(len, 4 * PAGE as u64);
    assert_eq!(start, mapping.with_range(0, 0, |start| start as u64).unwrap());
    let elsewhere = DeviceNumber { major: id.device.major, minor: id.device.minor + 1 };
    let other = FileId { device: elsewhere, inode: id.inode };
    assert_eq!(find_mapping(own_pid(), own_pid(), other).unwrap(), None);
    assert_eq!(find_private_mapping(own_pid(), own_pid(), id).unwrap(), None, "it is shared");
    drop(mapping);
    assert_eq!(find_mapping(own_pid(), own_pid(), id).unwrap(), None);
}

#[test]
fn only_adjacent_lines_join() {
    let file = FileId { device: DeviceNumber { major: 0, minor: 0x2b }, inode: 77 };
    let found = |maps: &str| {
        let mut search = MappingSearch { file, must_be_private: false, found: None };
        let _ = maps.lines().any(|line| search.take_line(line.as_bytes()).is_done());
        search.found
    };
    let line = |range: &str| format!("{range} r--p 00000000 00:2b 77    /dev/a name (deleted)\n");
    let (a, b, c) = (line("1000-3000"), line("3000-4000"), line("5000-6000"));
    assert_eq!(found(&format!("{a}{b}{c}")), Some((0x1000, 0x3000)));
    assert_eq!(found(&format!("{c}{a}")), Some((0x5000, 0x1000)));
    assert_eq!(found(&format!("{a}2000-3000 rw-p 00000000 00:00 0\n{b}")), Some((0x1000, 0x2000)));
    for bad in
        ["", "1000-3000", "1000 r--p 0 00:2b 77", "3000-1000 r--p 0 00:2b 77", "x-y r 0 00:2b 77"]
    {
        assert_eq!(found(bad), None);
    }
}

#[test]
fn flags_are_those_of_the_moment() {
    let file = new_file(PAGE);
    let id = id_of(&file);
    let is_nonblocking = || {
        let flags = open_files(own_pid(), [id]).unwrap()[&id].flags;
        OFlags::from_bits_retain(flags).contains(OFlags::NONBLOCK)
    };
    assert!(!is_nonblocking());
    rustix::fs::fcntl_setfl(&file, OFlags::NONBLOCK).unwrap();
    assert!(is_nonblocking());
    rustix::fs::fcntl_setfl(&file, OFlags::empty()).unwrap();
    assert!(!is_nonblocking());
    drop(file);
    assert!(open_files(own_pid(), [id]).unwrap().is_empty());
}

#[test]
fn the_flags_of_many_files_are_found_together() {
    let files: Vec<File> = (0..20).map(|_| new_file(PAGE)).collect();
    let ids: Vec<FileId> = files.iter().map(id_of).collect();
    rustix::fs::fcntl_setfl(&files[7], OFlags::NONBLOCK).unwrap();
    let found = open_files(own_pid(), ids.iter().copied()).unwrap();
    let nonblocking: Vec<bool> = ids
        .iter()
        .map(|id| OFlags::from_bits_retain(found[id].flags).contains(OFlags::NONBLOCK))
        .collect();
    let wanted: Vec<bool> = (0..20).map(|number| number == 7).collect();
    assert_eq!(nonblocking, wanted);
}

#[test]
fn a_descriptor_is_looked_at_alone() {
    let file = new_file(PAGE);
    let id = id_of(&file);
    let number = u32::try_from(file.as_raw_fd()).unwrap();
    let look = |number| open_file(own_pid(), number, id);
    let found = look(number).unwrap().unwrap();
    assert_eq!(Some(&found), open_files(own_pid(), [id]).unwrap().get(&id));
    let other = new_file(PAGE);
    assert_eq!(look(u32::try_from(other.as_raw_fd()).unwrap()).unwrap(), None);
    drop(file);
    // Looked at once: another test may come to the number at any time.
    let after = look(number);
    assert!(!matches!(after, Ok(Some(_))), "{after:?}");
}

#[test]
fn the_device_of_a_file_is_its_file_systems() {
    let stat = rustix::fs::stat("/proc").unwrap();
    let proc = File::open("/proc").unwrap();
    let device = super::id_of(proc.as_fd()).unwrap().device;
    assert_eq!((device.major, device.minor), (0, rustix::fs::minor(stat.st_dev)));
}
