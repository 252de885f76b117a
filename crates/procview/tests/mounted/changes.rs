//! What readers find after a table has changed.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use procview::{Facts, State, TableError};

use crate::{ENOENT, ESRCH, Mounted, errno, in_private_mounts, named, numbers, path, read, table};

/// All that is told of process `pid`, as a reader finds it by its name.
fn told(pid: u32) -> Option<(String, String, String, String)> {
    let read = |name: &str| fs::read_to_string(path(format!("{pid}/{name}"))).ok();
    Some((read("comm")?, read("cmdline")?, read("stat")?, read("status")?))
}

/// Threads that read again and again until this is dropped. Also where a test fails: a process cannot end whose threads
/// wait for a file system that it serves itself.
struct Readers {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    fn start(count: usize, read: impl Fn() + Clone + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let reader = |_| {
            let (is_over, read) = (is_over.clone(), read.clone());
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    read();
                }
            })
        };
        let threads = (0..count).map(reader).collect();
        Self { is_over, threads }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking());
        }
    }
}

#[test]
fn what_was_changed_is_never_told_as_it_was() {
    in_private_mounts(|| {
        let table = table();
        let view = Mounted::of(&table, table.root());
        // They have the kernel ask for everything at any moment.
        let readers = Readers::start(2, || {
            for pid in numbers() {
                let _ = told(pid);
                let _ = fs::read_dir(path(format!("{pid}/task"))).map(Iterator::count);
                let _ = fs::read_link(path(format!("{pid}/exe")));
            }
            let _ = fs::read(path("loadavg"));
        });
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
                // A reader finds itself and its threads at their numbers, where the table has no other.
                if !Path::new(&format!("/proc/self/task/{child}")).exists() {
                    assert_eq!(errno(fs::metadata(path(child.to_string()))), ENOENT);
                    assert_eq!(told(child), None);
                }
            }
        }
        drop(readers);
        view.close();
    });
}

#[test]
fn an_ended_process_has_nothing_but_numbers_and_a_name() {
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
        assert_eq!(refused, TableError::NoProcess(2));
        view.close();
    });
}

#[test]
fn a_file_held_open_tells_the_present_state() {
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
        // An open file stays with the process that has ended.
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
