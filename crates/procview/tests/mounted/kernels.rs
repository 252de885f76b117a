//! The processes of the kernel.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use procview::{Members, Membership};

use crate::{DIR, ENOENT, ESRCH, Mounted, errno, in_private_mounts, numbers, path, read};

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
        let kernels = fs::read_to_string(Path::new("/proc").join(&dir).join("status")).unwrap();
        let session =
            |status: &str| status.lines().find(|it| it.starts_with("NSsid:")).map(str::to_owned);
        assert_eq!(session(&status), session(&kernels), "seen or not, as getsid(2) says");
        for name in ["smaps", "smaps_rollup"] {
            assert!(read(format!("{dir}/{name}")).contains("\nPss:"), "{name}");
            let mode = fs::metadata(path(format!("{dir}/{name}"))).unwrap().mode();
            assert_eq!(mode & 0o777, 0o400, "a reader that may not trace it is refused: {name}");
        }
        // Without a module that knows labels the kernel refuses to tell one.
        let label =
            |root: &Path| fs::read(root.join(&dir).join("attr/current")).map_err(|it| it.kind());
        assert_eq!(label(Path::new(DIR)), label(Path::new("/proc")));
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
fn the_network_is_the_readers_own() {
    in_private_mounts(|| {
        let view = Mounted::of_kernel(Members::Below(std::process::id()));
        let names = || fs::read_dir(path("net")).unwrap().map(|it| it.unwrap().file_name());
        assert!(names().count() >= 13);
        for name in names() {
            // Others come and go: only what these have for all, and how it is laid out.
            let kernels = fs::read_to_string(Path::new("/proc/net").join(&name)).unwrap();
            let told = read(Path::new("net").join(&name));
            assert_eq!(told.lines().next(), kernels.lines().next(), "{name:?}");
        }
        assert!(read("net/dev").contains(" lo:"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = format!("0100007F:{:04X}", listener.local_addr().unwrap().port());
        let line = |text: &str| {
            let line = text.lines().find(|line| line.contains(&port))?;
            Some(line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let told = line(&read("net/tcp")).unwrap();
        let mut kernels = line(&fs::read_to_string("/proc/thread-self/net/tcp").unwrap()).unwrap();
        kernels[11] = "0".repeat(16);
        // But for its place among all.
        assert_eq!(told[1..], kernels[1..]);
        let mut elsewhere = Command::new("unshare");
        let elsewhere = elsewhere.args(["--net", "cat"]).arg(path("net/tcp")).output().unwrap();
        if elsewhere.status.success() {
            assert_eq!(String::from_utf8(elsewhere.stdout).unwrap().lines().count(), 1);
        } else {
            binder_testkit::skip("no network namespace can be made");
        }
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
        // A process that reads of itself waits for the answer, and runs when it has it.
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

/// Members that are told by name, and a count of the questions.
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

    fn list(&self) -> std::io::Result<Vec<u32>> {
        self.for_all.fetch_add(1, Ordering::Relaxed);
        Ok(self.members.clone())
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
