//! The kernel's processes by links to its own files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use binder_os::ProcDir;
use binder_os::mounts::{self, DetachedMount};
use procview::{KERNEL_DIR, KernelFiles, Machine, Members, ProcessTable, ViewSession};

use crate::{DIR, ENOENT, Mounted, errno, in_private_mounts, numbers, path, read};

/// A view of the processes below this one, with the kernel's /proc in it.
struct Linked(Mounted);

impl Linked {
    fn believed_for(age: Duration) -> Self {
        let proc = ProcDir::open().unwrap();
        let machine = Machine::like_this_one(&proc, Duration::ZERO).unwrap();
        let (table, members) = (ProcessTable::new(machine), Members::Below(std::process::id()));
        let files = KernelFiles::Linked { age };
        let view = ViewSession::of_kernel(table, members, files, proc).unwrap();
        let kernels = DetachedMount::copy_of(Path::new("/proc")).unwrap();
        let view = Mounted::serve(view);
        kernels.attach(&path(KERNEL_DIR)).unwrap();
        Self(view)
    }

    fn close(self) {
        self.unmount_kernels();
        self.0.close();
    }

    fn unmount_kernels(&self) {
        mounts::unmount(&path(KERNEL_DIR)).unwrap();
    }
}

/// A process that sleeps: it is awaited to, so that what is told of it changes no more.
fn sleeper() -> Child {
    let child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
    let stat = PathBuf::from(format!("/proc/{}/stat", child.id()));
    while !fs::read_to_string(&stat).unwrap().contains(" (sleep) S ") {
        thread::yield_now();
    }
    child
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The exit status of a shell's command of another user.
fn as_other_user(script: &str) -> bool {
    let arguments = ["--reuid", "1000", "--regid", "1000", "--clear-groups", "sh", "-c", script];
    let mut command = Command::new("setpriv");
    command.args(arguments).current_dir(DIR);
    command.output().unwrap().status.success()
}

#[test]
fn files_of_a_process_are_the_kernels_own_and_all_that_it_has() {
    in_private_mounts(|| {
        let view = Linked::believed_for(Duration::from_millis(100));
        let child = sleeper();
        let dir = child.id().to_string();
        let kernels = Path::new("/proc").join(&dir);
        let names = |dir: &Path| {
            let names = fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        assert_eq!(names(&path(&dir)), names(&kernels));
        for name in ["", "stat", "status", "sched", "net", "fd", "fdinfo", "maps", "task", "ns"] {
            let told = |root: PathBuf| {
                let it = fs::metadata(root.join(name)).unwrap();
                (it.ino(), it.mode(), it.uid(), it.len())
            };
            assert_eq!(told(path(&dir)), told(kernels.clone()), "{name}");
        }
        for name in ["stat", "cmdline", "environ", "limits", "mountinfo", "net/dev", "task/../comm"]
        {
            let kernels = fs::read(kernels.join(name)).unwrap();
            assert_eq!(fs::read(path(&dir).join(name)).unwrap(), kernels, "{name}");
        }
        for link in ["exe", "cwd", "root", "fd/1", "ns/pid"] {
            let kernels = fs::read_link(kernels.join(link)).unwrap();
            assert_eq!(fs::read_link(path(&dir).join(link)).unwrap(), kernels, "{link}");
        }
        for name in ["meminfo", "sys/kernel/ostype", "mounts", "net/route", "self/comm"] {
            assert!(!read(name).is_empty(), "{name}");
        }
        end(child);
        view.close();
    });
}

#[test]
fn who_is_not_below_is_not_there_and_the_first_has_no_parent() {
    in_private_mounts(|| {
        let view = Linked::believed_for(Duration::ZERO);
        let (this, child) = (std::process::id(), sleeper());
        for _ in 0..2 {
            let listed = numbers();
            assert!(listed.contains(&this) && listed.contains(&child.id()));
            assert!(!listed.contains(&1));
        }
        assert_eq!(errno(fs::metadata(path("1"))), ENOENT);
        assert_eq!(errno(fs::metadata(path("none"))), ENOENT);
        assert_eq!(errno(fs::symlink_metadata(path(format!("{this}/none")))), ENOENT);
        let parent =
            |stat: String| stat.rsplit(')').next().unwrap().split(' ').nth(2).unwrap().to_owned();
        assert_eq!(parent(read(format!("{this}/stat"))), "1");
        assert_eq!(parent(read(format!("{this}/task/{this}/stat"))), "1");
        assert!(read(format!("{this}/status")).contains("\nPPid:\t1\n"));
        assert_eq!(parent(read(format!("{}/stat", child.id()))), this.to_string());
        view.close();
        end(child);
    });
}

#[test]
fn of_who_has_ended_no_file_is_there_and_no_name_for_longer_than_it_may_be_believed() {
    in_private_mounts(|| {
        for age in [Duration::ZERO, Duration::from_millis(100)] {
            let view = Linked::believed_for(age);
            let child = sleeper();
            let pid = child.id();
            assert_eq!(read(format!("{pid}/comm")), "sleep\n");
            assert!(numbers().contains(&pid));
            end(child);
            assert_eq!(errno(fs::read(path(format!("{pid}/comm")))), ENOENT);
            if age.is_zero() {
                assert_eq!(errno(fs::metadata(path(pid.to_string()))), ENOENT);
                assert!(!numbers().contains(&pid));
            }
            // It may be believed from when it was found, which was before.
            let since = std::time::Instant::now();
            while fs::metadata(path(pid.to_string())).is_ok() {
                assert!(since.elapsed() < age + Duration::from_secs(5));
                thread::yield_now();
            }
            // However short ago it was listed.
            let child = sleeper();
            assert!(numbers().contains(&child.id()));
            end(child);
            view.close();
        }
    });
}

#[test]
fn the_kernel_refuses_whom_it_refuses_and_so_do_links_that_others_have_read() {
    in_private_mounts(|| {
        let view = Linked::believed_for(Duration::from_millis(100));
        let child = sleeper();
        let pid = child.id();
        for file in ["environ", "maps", "fd/0", "exe", "cwd", "io", "auxv", "ns/net"] {
            let look = match file {
                "exe" | "cwd" | "fd/0" | "ns/net" => format!("readlink {pid}/{file}"),
                _ => format!("cat {pid}/{file}"),
            };
            let kernels = as_other_user(&format!("cd /proc; {look}"));
            for _ in 0..2 {
                let status = Command::new("sh").args(["-c", &look]).current_dir(DIR).output();
                assert!(status.unwrap().status.success(), "{file}");
                assert_eq!(as_other_user(&look), kernels, "{file}");
            }
            assert!(!kernels, "{file}");
        }
        assert!(as_other_user(&format!("cat {pid}/stat {pid}/cmdline; ls {pid}")));
        end(child);
        view.close();
    });
}

#[test]
fn processes_have_their_links_in_common_and_each_has_its_own_way_to_the_kernels_files() {
    in_private_mounts(|| {
        let view = Linked::believed_for(Duration::from_millis(100));
        let children = [sleeper(), sleeper()];
        let pids = children.each_ref().map(Child::id);
        let inodes = |name: &str| {
            pids.map(|pid| fs::symlink_metadata(path(format!("{pid}/{name}"))).unwrap().ino())
        };
        let [one, other] = inodes("stat");
        assert_eq!(one, other);
        let [one, other] = inodes(KERNEL_DIR);
        assert_ne!(one, other);
        for pid in pids {
            assert!(read(format!("{pid}/stat")).starts_with(&format!("{pid} ")));
        }
        children.into_iter().for_each(end);
        view.close();
    });
}

#[test]
fn links_of_a_process_lead_where_they_lead_now() {
    in_private_mounts(|| {
        let view = Linked::believed_for(Duration::from_millis(100));
        let mut command = Command::new("sh");
        command.args(["-c", "while read -r dir; do cd \"$dir\"; echo; done"]).current_dir("/");
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let link = path(format!("{}/cwd", shell.id()));
        let mut told = shell.stdout.take().unwrap();
        for dir in ["/usr", "/dev", "/usr", "/"] {
            use std::io::{Read, Write};
            writeln!(shell.stdin.as_mut().unwrap(), "{dir}").unwrap();
            told.read_exact(&mut [0]).unwrap();
            for _ in 0..2 {
                assert_eq!(fs::read_link(&link).unwrap(), Path::new(dir));
                assert_eq!(fs::metadata(&link).unwrap().ino(), fs::metadata(dir).unwrap().ino());
            }
        }
        end(shell);
        view.close();
    });
}

#[test]
fn where_the_kernels_files_are_not_mounted_they_are_served() {
    in_private_mounts(|| {
        let view = Linked::believed_for(Duration::from_millis(100));
        let child = sleeper();
        let dir = child.id().to_string();
        let whole = read(format!("{dir}/limits"));
        view.unmount_kernels();
        assert_eq!(read(format!("{dir}/limits")), whole);
        assert_eq!(read(format!("{dir}/comm")), "sleep\n");
        assert!(!read("uptime").is_empty());
        assert_eq!(errno(fs::metadata(path(KERNEL_DIR).join("1"))), ENOENT);
        assert!(as_other_user(&format!("! cat {dir}/environ && cat {dir}/stat")));
        end(child);
        view.0.close();
    });
}
