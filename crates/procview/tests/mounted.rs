//! Views as programs meet them: mounted, read by the kernel, and changed meanwhile.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use binder_os::{ProcDir, namespaces};
use pidns::PidNamespace;
use procview::{Facts, Machine, Members, Membership, Session, State, Table, TableError, Task};

const DIR: &str = "/mnt";

/// Runs `act` in a mount namespace that ends with it, where that is allowed.
fn in_private_mounts(act: impl FnOnce() + Send + 'static) {
    let body = move || match namespaces::enter_mount_namespace() {
        Ok(_) => act(),
        Err(error) => eprintln!("skipped: {error}"),
    };
    thread::spawn(body).join().unwrap();
}

fn table() -> Arc<Table> {
    let proc = ProcDir::open().unwrap();
    let table = Table::new(Machine::like_this_one(&proc, Duration::from_secs(1000)).unwrap());
    table.spawn(table.root(), named("init", None)).unwrap();
    table
}

fn named(comm: &str, parent: Option<u32>) -> Facts {
    let argv = vec![comm.as_bytes().to_vec()];
    Facts { comm: comm.into(), argv, parent, ..Facts::default() }
}

/// A view at [`DIR`], until it is closed.
struct Mounted(JoinHandle<()>);

impl Mounted {
    fn of(table: &Arc<Table>, namespace: &Arc<PidNamespace<Task>>) -> Self {
        let proc = ProcDir::open().unwrap();
        Self::serve(Session::of_table(table.clone(), namespace.clone(), proc).unwrap())
    }

    fn of_kernel(members: Members) -> Self {
        let proc = ProcDir::open().unwrap();
        let machine = Machine::like_this_one(&proc, Duration::ZERO).unwrap();
        Self::serve(Session::of_kernel(Table::new(machine), members, proc).unwrap())
    }

    fn serve((session, mount): (Session, binder_os::DetachedMount)) -> Self {
        let server = thread::spawn(move || session.serve().unwrap());
        mount.attach(Path::new(DIR)).unwrap();
        Self(server)
    }

    /// Ends it, and with it the thread that serves: as soon as no file of it is open.
    fn close(self) {
        namespaces::unmount(Path::new(DIR)).unwrap();
        self.0.join().unwrap();
    }
}

fn path(name: impl AsRef<Path>) -> PathBuf {
    Path::new(DIR).join(name)
}

fn read(name: impl AsRef<Path>) -> String {
    fs::read_to_string(path(name)).unwrap()
}

fn numbers() -> Vec<u32> {
    let names = fs::read_dir(DIR).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

const ENOENT: i32 = 2;
const ESRCH: i32 = 3;
const EROFS: i32 = 30;

/// All that is told of process `pid`, as somebody finds it who comes by its name.
fn told(pid: u32) -> Option<(String, String, String, String)> {
    let read = |name: &str| fs::read_to_string(path(format!("{pid}/{name}"))).ok();
    Some((read("comm")?, read("cmdline")?, read("stat")?, read("status")?))
}

#[test]
fn what_was_changed_is_never_told_as_it_was() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        let is_over = Arc::new(AtomicBool::new(false));
        // Readers that have the kernel ask for everything at any moment.
        let reader = || {
            let is_over = is_over.clone();
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    for pid in numbers() {
                        let _ = told(pid);
                        let _ = fs::read_dir(path(format!("{pid}/task"))).map(Iterator::count);
                        let _ = fs::read_link(path(format!("{pid}/exe")));
                    }
                    let _ = fs::read(path("loadavg"));
                }
            })
        };
        let readers = [reader(), reader()];
        for round in 0..300_u32 {
            let child = table.spawn(table.root(), named("new", Some(1))).unwrap().global_nr();
            assert!(numbers().contains(&child), "round {round}");
            assert_eq!(told(child).unwrap().0, "new\n");

            let long = "x".repeat(round as usize + 1);
            let argv = vec![long.clone().into_bytes()];
            table.exec(child, format!("/bin/p{round}").as_bytes(), argv, Vec::new()).unwrap();
            let (comm, cmdline, stat, _) = told(child).unwrap();
            assert_eq!((comm, cmdline), (format!("p{round}\n"), format!("{long}\0")));
            assert!(stat.contains(&format!("(p{round}) S")), "{stat}");
            let exe = fs::read_link(path(format!("{child}/exe"))).unwrap();
            assert_eq!(exe, Path::new(&format!("/bin/p{round}")));

            table.rename(child, b"other").unwrap();
            table.set_state(child, State::Stopped).unwrap();
            let (comm, _, stat, status) = told(child).unwrap();
            assert_eq!(comm, "other\n");
            assert!(stat.contains("(other) T 1 ") && status.contains("T (stopped)"), "{stat}");

            let thread = table.spawn_thread(child, b"thread").unwrap().global_nr();
            assert_eq!(read(format!("{child}/task/{thread}/comm")), "thread\n");
            assert_eq!(fs::read_dir(path(format!("{child}/task"))).unwrap().count(), 2);
            assert!(!numbers().contains(&thread));

            table.set_owner(child, 1000 + round, 7).unwrap();
            let link = fs::symlink_metadata(path(format!("{child}/cwd"))).unwrap();
            assert_eq!(link.uid(), 1000 + round);
            let owner = fs::metadata(path(format!("{child}/environ"))).unwrap();
            assert_eq!((owner.uid(), owner.gid()), (1000 + round, 7));
            assert_eq!(fs::metadata(path(child.to_string())).unwrap().uid(), 1000 + round);

            let forks = read("stat");
            assert!(forks.contains(&format!("processes {}\n", table.forks())), "{forks}");
            if round % 2 == 0 {
                table.exit(child).unwrap();
                assert!(!numbers().contains(&child));
                assert_eq!(errno(fs::metadata(path(child.to_string()))), ENOENT);
                assert_eq!(told(child), None);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
        view.close();
    });
}

#[test]
fn whoever_has_ended_has_nothing_but_numbers_and_a_name() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        let facts = Facts {
            environ: vec![b"A=1".to_vec()],
            descriptors: [(3, b"/x".to_vec())].into(),
            ..named("child", Some(1))
        };
        table.spawn(table.root(), facts).unwrap();
        let free = || read("meminfo").lines().nth(1).unwrap().to_owned();
        let (_, arguments, ..) = told(2).unwrap();
        assert_eq!((arguments, read("2/environ")), ("child\0".into(), "A=1\0".into()));
        assert_eq!(fs::read_link(path("2/cwd")).unwrap(), Path::new("/"));
        let (memory, free_before) = (read("2/statm"), free());
        table.set_state(2, State::Zombie).unwrap();
        let (comm, arguments, stat, status) = told(2).unwrap();
        assert_eq!((comm, arguments, read("2/environ")), ("child\n".into(), "".into(), "".into()));
        assert!(stat.contains("(child) Z 1 ") && !status.contains("VmSize"), "{stat}{status}");
        assert_ne!(memory, read("2/statm"));
        assert_ne!(free_before, free());
        for link in ["exe", "cwd", "root", "fd/3"] {
            assert_eq!(errno(fs::read_link(path(format!("2/{link}")))), ENOENT, "{link}");
        }
        table.exit(2).unwrap();
        view.close();
    });
}

#[test]
fn threads_are_those_of_one_process() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        table.spawn(table.root(), named("child", Some(1))).unwrap();
        let field = |file: &str, nth: usize| {
            let stat = read(file);
            stat.rsplit(") ").next().unwrap().split(' ').nth(nth - 3).unwrap().to_owned()
        };
        let (parent, threads) = (4, 20);
        assert_eq!(table.spawn_thread(2, b"first").unwrap().global_nr(), 3);
        let listed = |dir: &str| {
            let names = fs::read_dir(path(dir)).unwrap().map(|it| it.unwrap().file_name());
            names.map(|it| it.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        for file in ["2/stat", "3/stat", "2/task/3/stat", "3/task/2/stat"] {
            assert_eq!(field(file, threads), "2", "{file}");
        }
        // Whom a thread starts or is named by belongs to its process.
        assert_eq!(table.spawn_thread(3, b"second").unwrap().global_nr(), 4);
        let child = table.spawn(table.root(), named("grandchild", Some(4))).unwrap();
        assert_eq!(child.process().facts().parent, Some(2));
        for file in ["2/stat", "3/stat", "2/task/3/stat", "4/task/2/stat"] {
            assert_eq!(field(file, threads), "3", "{file}");
        }
        assert_eq!((listed("2/task"), listed("3/task")), ("2 3 4".into(), "2 3 4".into()));
        table.exit(4).unwrap();
        assert_eq!((field("3/stat", threads), listed("3/task")), ("2".into(), "2 3".into()));
        assert_eq!(errno(fs::metadata(path("3/task/4"))), ENOENT);
        // Other threads end when one executes a program, and the process is the same.
        table.exec(3, b"/bin/other", Vec::new(), Vec::new()).unwrap();
        assert_eq!((field("2/stat", threads), listed("2/task")), ("1".into(), "2".into()));
        assert_eq!((told(3), read("2/comm")), (None, "other\n".into()));
        // Threads are handed over with their process.
        let thread = table.spawn_thread(5, b"orphan").unwrap().global_nr();
        let file = format!("5/task/{thread}/stat");
        assert_eq!(field(&file, parent), "2");
        table.exit(2).unwrap();
        assert_eq!(field(&file, parent), "1");
        view.close();
    });
}

#[test]
fn a_group_and_a_session_keep_their_number_when_their_leader_has_ended() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        table.spawn(table.root(), named("leader", Some(1))).unwrap();
        let led = |leader| Facts {
            process_group: Some(leader),
            session: Some(leader),
            ..named("led", Some(1))
        };
        table.spawn(table.root(), led(2)).unwrap();
        let told = || (read("3/stat"), read("3/status"));
        let before = told();
        assert!(before.0.contains(" S 1 2 2 ") && before.1.contains("\nNSsid:\t2\n"));
        table.exit(2).unwrap();
        assert_eq!(told(), before);
        // As it is written anew.
        table.set_state(3, State::Stopped).unwrap();
        assert!(told().0.contains(" T 1 2 2 ") && told().1.contains("\nNSsid:\t2\n"));
        let refused = table.spawn(table.root(), led(2)).unwrap_err();
        assert_eq!(refused, TableError::Nobody(2));
        view.close();
    });
}

#[test]
fn whoever_holds_a_file_open_reads_what_is_true_now() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        table.spawn(table.root(), named("a", Some(1))).unwrap();
        let (mut comm, dir) = (File::open(path("2/comm")).unwrap(), File::open(path("2")).unwrap());
        let mut text = String::new();
        comm.read_to_string(&mut text).unwrap();
        table.rename(2, b"longer").unwrap();
        comm.seek(SeekFrom::Start(0)).unwrap();
        comm.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\nlonger\n");
        table.exit(2).unwrap();
        comm.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(errno(comm.read(&mut [0; 8])), ESRCH);
        let open =
            rustix::fs::openat(&dir, "stat", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
        assert!(matches!(open.unwrap_err().raw_os_error(), ENOENT | ESRCH));
        drop((comm, dir));
        view.close();
    });
}

#[test]
fn a_number_that_comes_back_is_another_process() {
    in_private_mounts(|| {
        let table = table();
        let spawn =
            |comm: &str| table.spawn(table.root(), named(comm, Some(1))).unwrap().global_nr();
        // So few numbers that they soon come round, to where those begin that are not reserved.
        table.root().set_pid_max(pidns::PID_MAX_MIN + 9).unwrap();
        while spawn("early") < pidns::RESERVED_PIDS {}
        let view = Mounted::of(&table, table.root());
        let first = spawn("first");
        let of = |name: &str| path(format!("{first}/{name}"));
        assert_eq!(told(first).unwrap().0, "first\n");
        let before = fs::metadata(of("stat")).unwrap().ino();
        let (mut open, dir) = (File::open(of("comm")).unwrap(), File::open(of("")).unwrap());
        table.exit(first).unwrap();
        let comes_back = (0..20).any(|_| {
            assert_eq!(told(first), None);
            let number = spawn("second");
            let is_back = number == first;
            if !is_back {
                table.exit(number).unwrap();
            }
            is_back
        });
        assert!(comes_back);
        assert_eq!(told(first).unwrap().0, "second\n");
        assert!(numbers().contains(&first));
        assert_ne!(fs::metadata(of("stat")).unwrap().ino(), before);
        // What was opened stays with the one who is gone.
        open.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(errno(open.read(&mut [0; 8])), ESRCH);
        let flags = rustix::fs::OFlags::RDONLY;
        let again = rustix::fs::openat(&dir, "comm", flags, rustix::fs::Mode::empty());
        assert!(matches!(again.unwrap_err().raw_os_error(), ENOENT | ESRCH));
        drop((open, dir));
        view.close();
    });
}

#[test]
fn long_listings_have_everybody_once_whether_looked_at_or_not() {
    in_private_mounts(|| {
        let table = table();
        for _ in 0..3000 {
            table.spawn(table.root(), named("many", Some(1))).unwrap();
        }
        let thread = table.spawn_thread(7, b"thread").unwrap().global_nr();
        let view = Mounted::of(&table, table.root());
        let all: Vec<u32> = (1..=3001).collect();
        assert_eq!(numbers(), all);
        // A listing that is kept, and whose entries are looked at on the way.
        for entry in fs::read_dir(DIR).unwrap().map(Result::unwrap) {
            // But for `self`, which is another each time that it is looked up.
            if !entry.file_name().to_string_lossy().ends_with("self") {
                assert_eq!(entry.metadata().unwrap().ino(), entry.ino(), "{entry:?}");
            }
        }
        table.exit(1500).unwrap();
        let mut looked_at: Vec<u32> = Vec::new();
        for entry in fs::read_dir(DIR).unwrap().map(Result::unwrap) {
            if let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
                assert!(fs::metadata(entry.path().join("stat")).unwrap().is_file());
                looked_at.push(pid);
            }
        }
        assert!(looked_at.iter().eq(all.iter().filter(|pid| **pid != 1500)));
        let threads = fs::read_dir(path("7/task")).unwrap().map(|it| it.unwrap().file_name());
        let threads: Vec<String> = threads.map(|name| name.into_string().unwrap()).collect();
        assert_eq!(threads, ["7".to_owned(), thread.to_string()]);
        assert_eq!(read(format!("7/task/{thread}/comm")), "thread\n");
        table.exit(thread).unwrap();
        assert_eq!(errno(fs::metadata(path(format!("7/task/{thread}")))), ENOENT);
        view.close();
    });
}

#[test]
fn names_that_are_nobodys_lead_nowhere_and_nothing_can_be_written() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        for name in
            ["2", "3", "0", "01", "+1", "-1", "1x", "4294967297", "none", "sys/none", "1/none"]
        {
            assert_eq!(errno(fs::metadata(path(name))), ENOENT, "{name}");
        }
        // One beyond 2^24 would be told for another.
        let descriptors = [(3, b"/".to_vec()), ((1 << 24) + 3, b"/x".to_vec())].into();
        table.spawn(table.root(), Facts { descriptors, ..named("one", Some(1)) }).unwrap();
        assert_eq!(fs::read_dir(path("2/fd")).unwrap().count(), 1);
        assert!(fs::symlink_metadata(path("2/fd/3")).unwrap().is_symlink());
        for name in ["2/fd/+3", "2/fd/03", "2/fd/ 3", "self/fd/00", "self/fd/+0"] {
            assert_eq!(errno(fs::symlink_metadata(path(name))), ENOENT, "{name}");
        }
        table.exit(2).unwrap();
        for name in ["1/task/2", "1/task/x", "1/fd/0", "1/fd/-1", "1/ns/none", "1/ns/pid:[1]"] {
            assert_eq!(errno(fs::metadata(path(name))), ENOENT, "{name}");
        }
        assert_eq!(fs::read_dir(path("1/stat")).unwrap_err().kind(), ErrorKind::NotADirectory);
        // That nobody was there is not remembered.
        table.spawn(table.root(), named("three", Some(1))).unwrap();
        assert_eq!(read("3/comm"), "three\n");
        for name in ["1/comm", "uptime", "sys/kernel/pid_max"] {
            assert_eq!(errno(File::options().write(true).open(path(name))), EROFS);
        }
        assert_eq!(errno(fs::create_dir(path("4"))), EROFS);
        assert_eq!(errno(fs::remove_file(path("1/comm"))), EROFS);
        assert_eq!(errno(fs::remove_dir(path("1"))), EROFS);
        view.close();
    });
}

#[test]
fn long_and_odd_texts_are_read_in_pieces() {
    in_private_mounts(|| {
        let table = table();
        let words: Vec<Vec<u8>> = (0..60_000).map(|nth| format!("{nth}\n\u{ff}").into()).collect();
        let facts = Facts { argv: words.clone(), ..named("a) (b", Some(1)) };
        table.spawn(table.root(), Facts { comm: b"x)\n\xff(".to_vec(), ..facts }).unwrap();
        let view = Mounted::of(&table, table.root());
        let whole: Vec<u8> = words.iter().flat_map(|word| [&word[..], b"\0"].concat()).collect();
        assert_eq!(fs::read(path("2/cmdline")).unwrap(), whole);
        let mut file = File::open(path("2/cmdline")).unwrap();
        for offset in [0, 4095, 4096, 131_071, whole.len() - 3, whole.len(), whole.len() + 9] {
            let mut piece = Vec::new();
            file.seek(SeekFrom::Start(offset as u64)).unwrap();
            (&mut file).take(5000).read_to_end(&mut piece).unwrap();
            let start = offset.min(whole.len());
            assert_eq!(piece, whole[start..(start + 5000).min(whole.len())], "{offset}");
        }
        drop(file);
        assert!(fs::read(path("2/stat")).unwrap().starts_with(b"2 (x)\n\xff() S 1 "));
        assert!(fs::read(path("2/status")).unwrap().starts_with(b"Name:\tx)\\n\xff(\nUmask:"));
        view.close();
    });
}

#[test]
fn readers_find_themselves_though_they_are_not_listed() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        let this = std::process::id();
        assert_eq!(fs::read_link(path("self")).unwrap(), Path::new(&this.to_string()));
        assert!(read("self/stat").starts_with(&format!("{this} (")));
        assert!(read(format!("{this}/status")).contains(&format!("\nPid:\t{this}\n")));
        assert!(fs::read_dir(path("self/task")).unwrap().count() >= 2);
        let kernels = fs::read_to_string("/proc/self/mounts").unwrap();
        assert_eq!((read("mounts"), read("self/mounts")), (kernels.clone(), kernels));
        assert!(fs::read_dir(DIR).unwrap().any(|entry| entry.unwrap().file_name() == "mounts"));
        assert_eq!(read("net/unix").lines().count(), 1);
        assert_eq!(read("thread-self/comm"), fs::read_to_string("/proc/thread-self/comm").unwrap());
        let namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
        assert_eq!(fs::metadata(path("self/ns/pid")).unwrap().ino(), namespace);
        assert_eq!(numbers(), [1]);
        // And each finds itself.
        let output = Command::new("readlink").arg(path("self")).output().unwrap();
        let other = String::from_utf8(output.stdout).unwrap();
        assert_ne!(other.trim(), this.to_string());
        // Nobody finds others that are not in the table.
        let parent = std::os::unix::process::parent_id();
        assert_eq!(errno(fs::metadata(path(parent.to_string()))), ENOENT);
        view.close();
    });
}

#[test]
fn readers_find_themselves_as_they_are_now() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        let has = |fd: &OwnedFd| {
            let mut names =
                fs::read_dir(path("self/fd")).unwrap().map(|it| it.unwrap().file_name());
            names.any(|name| *name == *fd.as_raw_fd().to_string())
        };
        let leads_to = |fd: &OwnedFd| {
            let target = fs::read_link(path(format!("self/fd/{}", fd.as_raw_fd())));
            target.unwrap().into_os_string().into_string().unwrap()
        };
        let open = |path: &str| OwnedFd::from(File::open(path).unwrap());
        let first = open("/dev/null");
        assert!(has(&first));
        let mut second = open("/dev/null");
        assert!(has(&second));
        assert_eq!(leads_to(&second), "/dev/null");
        rustix::io::dup2(open("/dev/zero"), &mut second).unwrap();
        assert_eq!(leads_to(&second), "/dev/zero");
        // However often somebody lists and looks at what is in its directory, that stays its own.
        let held = File::open(path("self")).unwrap();
        for _ in 0..3 {
            for entry in rustix::fs::Dir::read_from(&held).unwrap() {
                let name = entry.unwrap().file_name().to_owned();
                let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
                rustix::fs::statat(&held, &name, flags).map_err(|error| (name, error)).unwrap();
            }
        }
        drop(held);
        view.close();
    });
}

#[test]
fn only_its_user_looks_into_a_process() {
    in_private_mounts(|| {
        let table = table();
        let facts = Facts {
            environ: vec![b"SECRET=1".to_vec()],
            uids: 1000.into(),
            gids: 1000.into(),
            descriptors: [(3, b"/dev/binderfs/binder".to_vec())].into(),
            ..named("secret", Some(1))
        };
        table.spawn(table.root(), facts).unwrap();
        let view = Mounted::of(&table, table.root());
        assert_eq!(fs::read_link(path("2/fd/3")).unwrap(), Path::new("/dev/binderfs/binder"));
        for (user, may) in [("1000", true), ("1001", false)] {
            for file in ["cat 2/environ", "ls 2/fd/", "readlink 2/fd/3"] {
                let mut command = Command::new("setpriv");
                command.args([
                    "--reuid",
                    user,
                    "--regid",
                    user,
                    "--clear-groups",
                    "sh",
                    "-c",
                    file,
                ]);
                let status = command.current_dir(DIR).output().unwrap().status;
                assert_eq!(status.success(), may, "{user}: {file}");
            }
        }
        view.close();
    });
}

#[test]
fn time_passes_in_what_the_kernel_keeps() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        let uptime = || -> f64 { read("uptime").split(' ').next().unwrap().parse().unwrap() };
        for _ in 0..50 {
            let before = table.machine().uptime();
            let told = uptime();
            // A tick is told when it comes; how late a thread may wake is not ours to say.
            assert!(told + 0.5 >= before.as_secs_f64(), "{told} at {before:?}");
            assert!(told <= table.machine().uptime().as_secs_f64());
        }
        let (start, mut seen) = (uptime(), uptime());
        while seen <= start {
            seen = uptime();
        }
        view.close();
    });
}

#[test]
fn the_kernels_processes_are_told_of_as_they_are() {
    in_private_mounts(|| {
        let view = Mounted::of_kernel(Members::Below(std::process::id()));
        let this = std::process::id();
        let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        let mut listed = numbers();
        listed.retain(|pid| *pid == this || *pid == child.id());
        assert_eq!(listed.len(), 2);
        assert!(!numbers().contains(&1), "that one is not below us");
        let dir = child.id().to_string();
        while read(format!("{dir}/comm")) != "sleep\n" {
            thread::yield_now();
        }
        for name in [
            "cmdline", "environ", "cgroup", "limits", "statm", "maps", "auxv", "mounts", "fdinfo/0",
        ] {
            let kernels = fs::read(Path::new("/proc").join(&dir).join(name)).unwrap();
            assert_eq!(fs::read(path(&dir).join(name)).unwrap(), kernels, "{name}");
        }
        let status = read(format!("{dir}/status"));
        assert!(status.contains(&format!("\nPPid:\t{this}\n")), "{status}");
        assert!(status.contains("\nNSsid:\t0\n"), "{status}");
        for name in ["smaps", "smaps_rollup"] {
            assert!(read(format!("{dir}/{name}")).contains("\nPss:"), "{name}");
            let mode = fs::metadata(path(format!("{dir}/{name}"))).unwrap().mode();
            assert_eq!(mode & 0o777, 0o400, "whoever may not trace it is not told: {name}");
        }
        // Without a module that knows labels the kernel refuses to tell one.
        let label =
            |root: &Path| fs::read(root.join(&dir).join("attr/current")).map_err(|it| it.kind());
        assert_eq!(label(Path::new(DIR)), label(Path::new("/proc")));
        let kernels = fs::read_to_string("/proc/net/unix").unwrap();
        assert_eq!(read("net/unix").trim_end(), kernels.lines().next().unwrap());
        for link in ["exe", "cwd", "root", "fd/0", "ns/pid", "ns/user"] {
            let kernels = fs::read_link(Path::new("/proc").join(&dir).join(link)).unwrap();
            assert_eq!(fs::read_link(path(&dir).join(link)).unwrap(), kernels, "{link}");
        }
        for name in
            ["", "stat", "maps", "task", "fd", "fd/0", "fdinfo", "fdinfo/0", "exe", "ns", "ns/pid"]
        {
            let told = |root: &Path| {
                let it = fs::symlink_metadata(root.join(&dir).join(name)).unwrap();
                (it.ino(), it.nlink(), it.size(), it.uid(), it.blksize(), it.modified().unwrap())
            };
            assert_eq!(told(Path::new(DIR)), told(Path::new("/proc")), "{name}");
        }
        let entry = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            (entry.path().symlink_metadata().unwrap().ino() == entry.ino(), entry.file_name())
        };
        for name in ["", "fd", "fdinfo", "ns", "task"] {
            for (is_same, entry) in fs::read_dir(path(&dir).join(name)).unwrap().map(entry) {
                assert!(is_same, "{name}/{entry:?}");
            }
        }
        let namespace = |root: &Path| fs::metadata(root.join(&dir).join("ns/pid")).unwrap().ino();
        assert_eq!(namespace(Path::new(DIR)), namespace(Path::new("/proc")));
        assert_eq!(
            read("sys/kernel/pid_max"),
            fs::read_to_string("/proc/sys/kernel/pid_max").unwrap()
        );
        // Our own parent is none of those shown.
        let stat = read(format!("{this}/stat"));
        assert!(stat.rsplit(')').next().unwrap().split(' ').nth(2) == Some("1"), "{stat}");

        let mut open = File::open(path(format!("{dir}/stat"))).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!numbers().contains(&child.id()));
        assert_eq!(errno(fs::metadata(path(&dir))), ENOENT);
        assert_eq!(errno(open.read(&mut [0; 9])), ESRCH);
        drop(open);
        view.close();
    });
}

#[test]
fn of_a_thread_is_told_what_it_did_itself() {
    in_private_mounts(|| {
        let view = Mounted::of_kernel(Members::Below(std::process::id()));
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            ended.recv().unwrap_err();
        });
        let tid = told.recv().unwrap();
        let file = format!("{}/task/{tid}/stat", std::process::id());
        let faults = |root: &Path| {
            let stat = fs::read_to_string(root.join(&file)).unwrap();
            stat.rsplit(')').next().unwrap().split(' ').nth(8).unwrap().to_owned()
        };
        assert_eq!(faults(Path::new(DIR)), faults(Path::new("/proc")));
        let dir = |root: &Path| {
            let it = fs::metadata(root.join(&file).parent().unwrap()).unwrap();
            (it.ino(), it.nlink())
        };
        assert_eq!(dir(Path::new(DIR)), dir(Path::new("/proc")));
        // Whoever reads of itself waits for the answer, and runs when it has it.
        assert!(read("thread-self/stat").contains(") R "));
        assert!(read("thread-self/status").contains("\nState:\tR (running)\n"));
        assert_eq!(read("thread-self/wchan"), "0");
        assert!(read(&file).contains(") S "));
        // That of another process is not here.
        let elsewhere = format!("{}/task/1", std::process::id());
        assert_eq!(errno(fs::metadata(path(elsewhere))), ENOENT);
        drop(end);
        thread.join().unwrap();
        view.close();
    });
}

/// Members that are told by name, and how often somebody has asked.
#[derive(Clone)]
struct Asked {
    members: Vec<u32>,
    for_one: Arc<AtomicUsize>,
    for_all: Arc<AtomicUsize>,
}

impl Membership for Asked {
    fn contains(&self, pid: u32) -> bool {
        self.for_one.fetch_add(1, Ordering::Relaxed);
        self.members.contains(&pid)
    }

    fn list(&self) -> Vec<u32> {
        self.for_all.fetch_add(1, Ordering::Relaxed);
        self.members.clone()
    }
}

#[test]
fn who_belongs_is_asked_once_for_each_who_is_named_and_for_all_only_by_a_listing() {
    in_private_mounts(|| {
        let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        let (for_one, for_all) = (Arc::default(), Arc::default());
        let asked = Asked { members: vec![child.id()], for_one, for_all };
        let view = Mounted::of_kernel(Members::Told(Box::new(asked.clone())));
        assert!(read(format!("{}/stat", child.id())).starts_with(&format!("{} (", child.id())));
        assert!(read(format!("{}/status", child.id())).contains("\nPPid:"));
        // By name twice; the group, the session and the terminal's group, and those of its status.
        let for_one = asked.for_one.swap(0, Ordering::Relaxed);
        assert!((2..=9).contains(&for_one), "{for_one}");
        assert_eq!(asked.for_all.load(Ordering::Relaxed), 0);
        assert!(numbers().contains(&child.id()));
        assert_eq!(asked.for_one.load(Ordering::Relaxed), 0);
        // A listing takes as many reads as it is long.
        assert!((1..=3).contains(&asked.for_all.load(Ordering::Relaxed)));
        child.kill().unwrap();
        child.wait().unwrap();
        view.close();
    });
}
