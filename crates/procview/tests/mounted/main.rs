//! Views as programs meet them: mounted, read by the kernel, and changed meanwhile.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changes;
mod kernels;
mod linked;

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use binder_os::{ProcDir, mounts, namespaces};
use pidns::PidNamespace;
use procview::{Facts, KernelFiles, Machine, Members, ProcessTable, Task, ViewSession};

const DIR: &str = "/mnt";

/// Runs `act` in a mount namespace that ends with it, where that is allowed.
fn in_private_mounts(act: impl FnOnce() + Send + 'static) {
    let body = move || match namespaces::enter_mount_namespace() {
        Ok(_) => act(),
        Err(error) => binder_testkit::skip(format_args!("{error}")),
    };
    thread::spawn(body).join().unwrap();
}

fn table() -> Arc<ProcessTable> {
    let proc = ProcDir::open().unwrap();
    let table =
        ProcessTable::new(Machine::like_this_one(&proc, Duration::from_secs(1000)).unwrap());
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
    fn of(table: &Arc<ProcessTable>, namespace: &Arc<PidNamespace<Task>>) -> Self {
        let proc = ProcDir::open().unwrap();
        Self::serve(ViewSession::of_table(table.clone(), namespace.clone(), proc).unwrap())
    }

    fn of_kernel(members: Members) -> Self {
        let proc = ProcDir::open().unwrap();
        let machine = Machine::like_this_one(&proc, Duration::ZERO).unwrap();
        let table = ProcessTable::new(machine);
        Self::serve(ViewSession::of_kernel(table, members, KernelFiles::Served, proc).unwrap())
    }

    fn serve((session, mount): (ViewSession, mounts::DetachedMount)) -> Self {
        let server = thread::spawn(move || session.serve().unwrap());
        mount.attach(Path::new(DIR)).unwrap();
        Self(server)
    }

    /// Ends it, and with it the thread that serves: as soon as no file of it is open.
    fn close(self) {
        mounts::unmount(Path::new(DIR)).unwrap();
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
        // The absence of a process is not remembered.
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
        for entry in fs::read_dir(path("net")).unwrap() {
            let name = entry.unwrap().file_name();
            let kernels = fs::read_to_string(Path::new("/proc/net").join(&name)).unwrap();
            let headers = match name.to_str().unwrap() {
                "if_inet6" => 0,
                "dev" => 2,
                _ => 1,
            };
            let headers: String = kernels.split_inclusive('\n').take(headers).collect();
            assert_eq!(read(Path::new("net").join(&name)), headers, "{name:?}");
        }
        assert!(fs::metadata(path("net/tcp")).is_ok() && fs::metadata(path("net/route")).is_ok());
        assert_eq!(read("thread-self/comm"), fs::read_to_string("/proc/thread-self/comm").unwrap());
        let namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
        assert_eq!(fs::metadata(path("self/ns/pid")).unwrap().ino(), namespace);
        assert_eq!(numbers(), [1]);
        // And each finds itself.
        let output = Command::new("readlink").arg(path("self")).output().unwrap();
        let other = String::from_utf8(output.stdout).unwrap();
        assert_ne!(other.trim(), this.to_string());
        // No reader finds another that is not in the table.
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
        // However often others list and look into its directory, that stays its own.
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
