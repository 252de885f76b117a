use std::sync::Arc;
use std::time::Duration;

use binder_os::ProcDir;
use pidns::{Pid, PidNamespace};
use procfs_core::process::{Stat, StatM, Status};
use procfs_core::{FromBufRead, FromRead};

use super::*;
use crate::machine::{Machine, MachineFile};

fn table() -> Arc<ProcessTable> {
    let proc = ProcDir::open().unwrap();
    let table =
        ProcessTable::new(Machine::like_this_one(&proc, Duration::from_secs(1000)).unwrap());
    table.spawn(table.root(), named("init", None)).unwrap();
    table
}

fn named(comm: &str, parent: Option<u32>) -> Facts {
    Facts { comm: comm.into(), parent, ..Facts::default() }
}

fn text(
    table: &ProcessTable,
    namespace: &PidNamespace<Task>,
    task: &Pid<Task>,
    text: Text,
) -> Vec<u8> {
    TaskView { table, namespace, task }.text(text).unwrap()
}

fn stat(table: &ProcessTable, namespace: &PidNamespace<Task>, task: &Pid<Task>) -> Stat {
    Stat::from_read(&*text(table, namespace, task, Text::Stat)).unwrap()
}

fn status(table: &ProcessTable, namespace: &PidNamespace<Task>, task: &Pid<Task>) -> Status {
    Status::from_buf_read(&*text(table, namespace, task, Text::Status)).unwrap()
}

#[test]
fn a_foreign_reader_finds_each_field_of_stat() {
    let table = table();
    let facts = Facts {
        state: State::Waiting,
        session: Some(1),
        tty: 34816,
        nice: 5,
        user_ticks: 11,
        system_ticks: 12,
        start_ticks: 13,
        virtual_bytes: 1 << 33,
        resident_pages: 77,
        ..named("a b", Some(1))
    };
    let task = table.spawn(table.root(), facts).unwrap();
    table.spawn_thread(2, b"helper").unwrap();
    let stat = stat(&table, table.root(), &task);
    assert_eq!((stat.pid, &*stat.comm, stat.state, stat.ppid), (2, "a b", 'D', 1));
    assert_eq!((stat.pgrp, stat.session, stat.tty_nr, stat.tpgid), (2, 1, 34816, 2));
    assert_eq!((stat.utime, stat.stime, stat.priority, stat.nice), (11, 12, 25, 5));
    assert_eq!((stat.num_threads, stat.starttime), (2, 13));
    assert_eq!((stat.vsize, stat.rss, stat.exit_signal), (1 << 33, 77, Some(17)));
    assert_eq!(stat.exit_code, Some(0), "the last of 52");
}

#[test]
fn a_foreign_reader_finds_each_field_of_status() {
    let table = table();
    let facts = Facts { uids: 1000.into(), groups: vec![4, 24], ..named("tail", Some(1)) };
    let task = table.spawn(table.root(), facts).unwrap();
    let status = status(&table, table.root(), &task);
    assert_eq!((&*status.name, status.pid, status.tgid, status.ppid), ("tail", 2, 2, 1));
    assert_eq!((status.ruid, status.euid, status.suid, status.fuid), (1000, 1000, 1000, 1000));
    assert_eq!((status.groups, status.threads), (vec![4, 24], 1));
    assert_eq!((status.vmsize, status.vmrss), (Some(4096), Some(256 * page_bytes() / 1024)));
    assert_eq!((status.nspid, status.nstgid), (Some(vec![2]), Some(vec![2])));
    assert_eq!((status.capeff, status.nonewprivs), (0, Some(0)));
}

#[test]
fn the_kernels_own_lines_have_the_same_shape() {
    let table = table();
    let task = table.process(1).unwrap();
    let ours = text(&table, table.root(), &task, Text::Stat);
    let kernels = std::fs::read("/proc/self/stat").unwrap();
    let fields =
        |line: &[u8]| line.rsplit(|it| *it == b')').next().unwrap().split(|it| *it == b' ').count();
    assert_eq!(fields(&ours), fields(&kernels));
    // Each line of ours is one of the kernel's, in the same order.
    let names = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter_map(|line| line.split_once(':')).map(|it| it.0.to_owned()).collect()
    };
    let kernels = names(&std::fs::read("/proc/self/status").unwrap());
    let mut kernels = kernels.iter();
    for name in names(&text(&table, table.root(), &task, Text::Status)) {
        // This one is younger than some kernels.
        assert!(name == "Kthread" || kernels.any(|it| *it == name), "{name}");
    }
}

#[test]
fn names_may_hold_anything_and_lines_stay_lines() {
    let table = table();
    for comm in [&b"a) R 1 (b"[..], b"x\ny\\z", b"\xff\xfe ) ", b"()", b""] {
        let facts = Facts { comm: comm.to_vec(), ..named("", Some(1)) };
        let task = table.spawn(table.root(), facts).unwrap();
        let line = text(&table, table.root(), &task, Text::Stat);
        let (name, rest) = binder_os::proc_files::split_stat(&line).unwrap();
        let start = format!("{} (", task.nr()).into_bytes();
        assert_eq!(name, [&start[..], comm, b")"].concat());
        assert!(rest.starts_with(b"S 1 "));
        let status = text(&table, table.root(), &task, Text::Status);
        let second = status.split(|byte| *byte == b'\n').nth(1).unwrap();
        assert_eq!(second, b"Umask:\t0022", "{comm:?}");
    }
    let facts = Facts { comm: b"longer than the kernel keeps".to_vec(), ..named("", Some(1)) };
    let task = table.spawn(table.root(), facts).unwrap();
    assert_eq!(text(&table, table.root(), &task, Text::Comm), b"longer than the\n");
}

#[test]
fn each_namespace_sees_its_own_numbers() {
    let table = table();
    let inner = table.namespace(table.root()).unwrap();
    let init = table.spawn(&inner, named("inner", Some(1))).unwrap();
    let session = Some(init.global_nr());
    let facts = Facts { session, ..named("child", Some(init.global_nr())) };
    let child = table.spawn(&inner, facts).unwrap();
    let from_outside = status(&table, table.root(), &child);
    assert_eq!((from_outside.pid, from_outside.ppid), (3, 2));
    assert_eq!(from_outside.nspid, Some(vec![3, 2]));
    assert_eq!(from_outside.nssid, Some(vec![2, 1]));
    let from_inside = stat(&table, &inner, &child);
    assert_eq!((from_inside.pid, from_inside.ppid, from_inside.session), (2, 1, 1));
    assert_eq!(status(&table, &inner, &child).nspid, Some(vec![2]));
    // Whose parent is outside has none.
    assert_eq!(stat(&table, &inner, &init).ppid, 0);
}

#[test]
fn children_go_to_the_first_process_and_namespaces_end_with_theirs() {
    let table = table();
    let inner = table.namespace(table.root()).unwrap();
    let init = table.spawn(&inner, named("inner", Some(1))).unwrap().global_nr();
    let parent = table.spawn(&inner, named("parent", Some(init))).unwrap().global_nr();
    let child = table.spawn(&inner, named("child", Some(parent))).unwrap().global_nr();
    table.spawn_thread(parent, b"thread").unwrap();
    table.exit(parent).unwrap();
    assert_eq!(table.process(child).unwrap().process().facts().parent, Some(init));
    assert_eq!(table.root().processes(), 3, "the thread went with its process");
    table.exit(init).unwrap();
    assert!(table.process(child).is_err());
    assert_eq!((table.root().processes(), inner.processes()), (1, 0));
    assert!(table.spawn(&inner, named("late", None)).is_err());
    assert_eq!(table.exit(init), Err(crate::TableError::NoProcess(init)));
    assert_eq!(table.resident_pages(), 256, "only the first is left");
}

#[test]
fn the_machine_is_told_of_as_the_kernel_does() {
    let table = table();
    let file = |file| crate::machine::render(&table, file, Duration::from_millis(12_345), 400);
    let uptime = procfs_core::Uptime::from_read(&*file(MachineFile::Uptime)).unwrap();
    assert!((uptime.uptime - 12.34).abs() < 1e-9);
    let memory = procfs_core::Meminfo::from_read(&*file(MachineFile::Meminfo)).unwrap();
    assert_eq!(memory.mem_total - memory.mem_free, 256 * page_bytes());
    let load = procfs_core::LoadAverage::from_read(&*file(MachineFile::Loadavg)).unwrap();
    assert_eq!((load.max, load.latest_pid), (1, 1));
    assert_eq!(file(MachineFile::PidMax), b"400\n");
    let statm = text(&table, table.root(), &table.process(1).unwrap(), Text::Statm);
    assert_eq!(StatM::from_read(&*statm).unwrap().resident, 256);
}
