//! Processes and namespaces, from a process that has one thread.
//!
//! Every case runs in a forked child, so that what it enters and mounts ends with it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use binder_os::broker::{self, Broker, BrokerStep, GivenFile, StartError};
use binder_os::client_files::{self, TakeError};
use binder_os::descendants;
use binder_os::fork_count;
use binder_os::mounts;
use binder_os::namespaces::{self, PrivateNamespaces};
use binder_os::private_dev::{self, BINDERFS_DIR};
use binder_os::processes::{self, Change, Child, Fork, Signal};
use binder_os::seccomp::{LibraryCalls, SeccompFilter};
use binder_os::{ClientMemory, FileInFlight, UserAndGroup};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;

const CASES: [(&str, fn()); 17] = [
    ("a_user_takes_files_from_a_broker", a_user_takes_files_from_a_broker),
    ("fork_is_refused_among_threads", fork_is_refused_among_threads),
    ("forks_are_counted_from_where_it_was_asked", forks_are_counted_from_where_it_was_asked),
    ("the_end_of_a_child_is_told", the_end_of_a_child_is_told),
    ("children_are_collected_as_they_change", children_are_collected_as_they_change),
    ("orphans_come_to_the_one_who_adopts_them", orphans_come_to_the_one_who_adopts_them),
    ("a_child_dies_with_its_parent", a_child_dies_with_its_parent),
    ("silenced_streams_lead_nowhere", silenced_streams_lead_nowhere),
    ("the_open_file_limit_rises", the_open_file_limit_rises),
    ("the_members_of_a_mount_namespace_end", || members_end(NamespaceKind::Mount)),
    ("the_members_of_a_user_namespace_end", || members_end(NamespaceKind::User)),
    ("descendants_end_and_nobody_else", descendants_end),
    ("descendants_are_signalled_but_for_the_spared", descendants_are_signalled),
    ("a_trapped_call_is_answered", a_trapped_call_is_answered),
    ("root_gets_a_private_dev", || a_new_dev(NamespaceKind::Mount)),
    ("root_gets_a_private_dev_in_a_user_namespace", || a_new_dev(NamespaceKind::User)),
    ("a_user_gets_a_private_dev", || a_new_dev(NamespaceKind::OrdinaryUser)),
];

fn main() -> ExitCode {
    if let [_, role, uid, gid, beside @ ..] = &std::env::args().collect::<Vec<_>>()[..]
        && role == BROKER
    {
        let user = UserAndGroup { uid: uid.parse().unwrap(), gid: gid.parse().unwrap() };
        let served = broker::serve(user, beside.first().map(|tid| tid.parse().unwrap()));
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let filter = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let mut failures = 0;
    for (name, case) in CASES.iter().filter(|(name, _)| name.contains(&filter)) {
        let passed = in_child(case) == Change::Exited(0);
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failures += u32::from(!passed);
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs `act` in a child and tells how that ended.
fn in_child(act: impl FnOnce()) -> Change {
    fork(act).wait().unwrap()
}

fn fork(act: impl FnOnce()) -> Child {
    match processes::fork().unwrap() {
        Fork::Child => {
            let failed = std::panic::catch_unwind(AssertUnwindSafe(act)).is_err();
            std::process::exit(i32::from(failed));
        }
        Fork::Parent(child) => child,
    }
}

fn sleep_for_ever() {
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

fn wait_until(fact: impl Fn() -> bool) {
    while !fact() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn next_change() -> (u32, Change) {
    loop {
        if let Some(change) = processes::next_change().unwrap() {
            return change;
        }
    }
}

/// Makes this program a broker.
const BROKER: &str = "broker";

fn a_user_takes_files_from_a_broker() {
    let own = processes::user();
    let (uid, gid) = if own.0 == 0 { (1000, 1000) } else { own };
    let program = std::env::current_exe().unwrap();
    let command = [program.as_os_str(), OsStr::new(BROKER)];
    let broker = Broker::start(&command, UserAndGroup { uid, gid }, None).unwrap();
    let mut file = File::from(rustix::fs::memfd_create("lent", MemfdFlags::CLOEXEC).unwrap());
    file.write_all(b"lent").unwrap();
    let driver = std::process::id();
    let in_flight = {
        let driver = client_files::of_process(driver).unwrap();
        FileInFlight::take(driver.as_fd(), file.as_raw_fd()).unwrap()
    };
    let open = GivenFile::Open(file.as_fd());
    let mut files = [open; 300];
    files[299] = GivenFile::InFlight(&in_flight);
    let numbers = broker.give(&files).unwrap();
    assert_eq!(BTreeSet::from_iter(&numbers).len(), 300);
    // The thread that took the file must have gone: a process of several does not fork.
    wait_until(|| fs::read_dir("/proc/self/task").unwrap().count() == 1);
    let takes = |number| {
        in_child(|| {
            if own.0 == 0 {
                become_ordinary();
                let driver = client_files::of_process(driver).unwrap();
                let refused = client_files::take(driver, file.as_raw_fd()).unwrap_err();
                assert!(matches!(refused, TakeError::OutOfReach(_)), "{refused}");
            }
            let broker = client_files::of_process(broker.pid()).unwrap();
            let mut taken = File::from(client_files::take(broker, number).unwrap());
            let mut text = String::new();
            taken.rewind().unwrap();
            taken.read_to_string(&mut text).unwrap();
            assert_eq!(text, "lent");
        })
    };
    for number in [numbers[0], numbers[299]] {
        assert_eq!(takes(number), Change::Exited(0));
    }
    broker.take_back(&numbers).unwrap();
    // An answer to what follows tells that it is done.
    let again = broker.give(&[open]).unwrap();
    assert_eq!(again, numbers[..1]);
    let open = fs::read_dir(format!("/proc/{}/fd", broker.pid())).unwrap().count();
    assert_eq!(open, 4, "three streams, of which one is the socket, and the file");
    let pid = broker.pid();
    drop(broker);
    assert!(fs::metadata(format!("/proc/{pid}")).is_err());
    let nobody = UserAndGroup { uid, gid };
    let error = Broker::start(&["/nowhere/to/be/found"], nobody, None).unwrap_err();
    assert_eq!(error, StartError::NotExecuted { errno: Errno::NOENT });
    let error = Broker::start(&["/bin/true"], nobody, None).unwrap_err();
    assert_eq!(error, StartError::Ended, "it never says that it is ready");
    // The number of nobody: the largest that there can be is below it.
    let error = Broker::start(&command, nobody, Some(1 << 30)).unwrap_err();
    assert_eq!(error, StartError::Refused { step: BrokerStep::Find, errno: Errno::NOENT });
}

fn fork_is_refused_among_threads() {
    let (mut wait, end) = io::pipe().unwrap();
    let other = std::thread::spawn(move || wait.read(&mut [0]).unwrap());
    assert_eq!(processes::fork().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    drop(end);
    other.join().unwrap();
    wait_until(|| fs::read_dir("/proc/self/task").unwrap().count() == 1);
    assert_eq!(in_child(|| ()), Change::Exited(0));
}

fn forks_are_counted_from_where_it_was_asked() {
    fork_count::start().unwrap();
    fork_count::start().unwrap();
    let before = fork_count::forks();
    let forked = in_child(|| {
        assert_eq!(fork_count::forks(), before + 1);
        let again = in_child(|| assert_eq!(fork_count::forks(), before + 2));
        assert_eq!(again, Change::Exited(0));
    });
    assert_eq!(forked, Change::Exited(0));
    assert_eq!(fork_count::forks(), before);
}

fn the_end_of_a_child_is_told() {
    assert_eq!(in_child(|| std::process::exit(7)).exit_status(), Some(7));
    let child = fork(sleep_for_ever);
    child.signal(Signal::TERM).unwrap();
    let end = child.wait().unwrap();
    assert_eq!((end, end.exit_status()), (Change::Killed(15), Some(143)));
    child.signal(Signal::TERM).unwrap();
}

fn children_are_collected_as_they_change() {
    assert_eq!(processes::next_change().unwrap(), None);
    let child = fork(sleep_for_ever);
    assert_eq!(processes::next_change().unwrap(), None);
    child.signal(Signal::STOP).unwrap();
    assert_eq!(next_change(), (child.pid(), Change::Stopped(19)));
    assert_eq!(Change::Stopped(19).exit_status(), None);
    child.signal(Signal::KILL).unwrap();
    assert_eq!(next_change(), (child.pid(), Change::Killed(9)));
}

fn orphans_come_to_the_one_who_adopts_them() {
    processes::adopt_orphans().unwrap();
    let (mut told, mut teller) = io::pipe().unwrap();
    let middle = fork(|| {
        let middle = std::process::id();
        fork(|| {
            wait_until(|| processes::parent() != Some(middle));
            teller.write_all(&processes::parent().unwrap().to_ne_bytes()).unwrap();
        });
    });
    assert_eq!(middle.wait().unwrap(), Change::Exited(0));
    drop(teller);
    let mut parent = [0; 4];
    told.read_exact(&mut parent).unwrap();
    assert_eq!(u32::from_ne_bytes(parent), std::process::id());
}

fn a_child_dies_with_its_parent() {
    processes::adopt_orphans().unwrap();
    let middle = fork(|| {
        let (mut ready, mut teller) = io::pipe().unwrap();
        fork(|| {
            processes::die_with_parent(Signal::KILL).unwrap();
            teller.write_all(b"!").unwrap();
            sleep_for_ever();
        });
        ready.read_exact(&mut [0]).unwrap();
    });
    assert_eq!(middle.wait().unwrap(), Change::Exited(0));
    assert_eq!(next_change().1, Change::Killed(9));
}

fn a_trapped_call_is_answered() {
    use binder_os::seccomp::{self, NotifyFd, TrapAnswer, TrappedCall};
    use rustix::mount::{FsOpenFlags, MountFlags};

    if NamespaceKind::Mount.enter().or_else(|| NamespaceKind::User.enter()).is_none() {
        return;
    }
    let (ours, its) = UnixStream::pair().unwrap();
    let child = fork(|| {
        seccomp::install().unwrap().send(&its).unwrap();
        assert_eq!(seccomp::install().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        let mount = |kind| rustix::mount::mount("none", "/mnt", kind, MountFlags::empty(), None);
        assert_eq!(mount("binder"), Err(Errno::XDEV));
        assert_eq!(mount("binder"), Ok(()));
        assert_eq!(mount("no such thing"), Err(Errno::NODEV));
        let given = rustix::mount::fsopen("binder", FsOpenFlags::empty()).unwrap();
        assert_eq!(rustix::io::read(&given, &mut [0; 8]), Ok(5));
        rustix::mount::mount_bind("/usr", "/mnt").unwrap();
    });
    drop(its);
    let listener = NotifyFd::receive(&ours).unwrap().unwrap();
    let poll = listener.poll().unwrap();
    let next = || {
        while listener.wait(&poll).unwrap() {
            if let Some(trapped) = listener.take(Duration::ZERO).unwrap() {
                return Some(trapped);
            }
        }
        None
    };
    let filter = next().unwrap();
    // Before it is known that there is a listener.
    let TrappedCall::Filter { program: Some(program) } = filter.call else {
        panic!("{filter:?}");
    };
    let mut memory = ClientMemory::open(child.pid()).unwrap();
    let read = SeccompFilter::read(&mut memory, program).unwrap();
    let calls = [LibraryCalls::OfRings, LibraryCalls::OfLanes];
    assert_eq!(calls.map(|it| read.first_refused(it)), [None; 2]);
    listener.answer(&filter, TrapAnswer::Proceed).unwrap();
    for answer in
        [TrapAnswer::Refuse(Errno::XDEV.raw_os_error()), TrapAnswer::Done, TrapAnswer::Proceed]
    {
        let trapped = next().unwrap();
        assert!(
            matches!(trapped.call, TrappedCall::Mount { flags: 0, data: 0, .. }),
            "{trapped:?}"
        );
        assert_eq!(trapped.tid, child.pid());
        assert!(listener.is_pending(&trapped));
        listener.answer(&trapped, answer).unwrap();
        assert!(!listener.is_pending(&trapped));
    }
    let trapped = next().unwrap();
    assert!(matches!(trapped.call, TrappedCall::OpenContext { flags: 0, .. }), "{trapped:?}");
    let (file, mut writer) = io::pipe().unwrap();
    writer.write_all(b"hello").unwrap();
    listener.give(&trapped, file.as_fd(), true).unwrap();
    // A bind mount concerns no process, and after the child no process is left.
    assert_eq!(next(), None);
    assert_eq!(child.wait().unwrap(), Change::Exited(0));
    listener.answer(&trapped, TrapAnswer::Done).unwrap();
}

fn silenced_streams_lead_nowhere() {
    processes::silence(processes::Stream::Output).unwrap();
    processes::silence(processes::Stream::Input).unwrap();
    assert_eq!(fs::read_link("/proc/self/fd/0").unwrap(), Path::new("/dev/null"));
    assert_eq!(fs::read_link("/proc/self/fd/1").unwrap(), Path::new("/dev/null"));
    assert_eq!(io::stdin().read(&mut [0]).unwrap(), 0);
}

fn the_open_file_limit_rises() {
    processes::raise_open_file_limit().unwrap();
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut words = files.split_whitespace().skip(3);
    assert_eq!(words.next(), words.next());
}

/// A way into private namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamespaceKind {
    Mount,
    User,
    OrdinaryUser,
}

impl NamespaceKind {
    /// Enters; `None` where this machine does not let this user.
    fn enter(self) -> Option<PrivateNamespaces> {
        if self == Self::OrdinaryUser && processes::user().0 == 0 {
            become_ordinary();
        }
        let (uid, gid) = processes::user();
        let entered = match self {
            Self::Mount => namespaces::enter_mount_namespace(),
            Self::User | Self::OrdinaryUser => namespaces::enter_user_and_mount_namespace(uid, gid),
        };
        let entered = entered
            .map_err(|error| binder_testkit::skip(format_args!("for {self:?}: {error}")))
            .ok()?;
        assert_eq!(processes::user(), (uid, gid), "the numbers stay");
        Some(entered)
    }
}

fn become_ordinary() {
    use rustix::process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (uid, gid) = (Uid::from_raw(1000), Gid::from_raw(1000));
    set_thread_groups(&[]).unwrap();
    set_thread_res_gid(gid, gid, gid).unwrap();
    set_thread_res_uid(uid, uid, uid).unwrap();
    // The change of user gave our files in /proc to root; a user from the start has them.
    set_dumpable_behavior(DumpableBehavior::Dumpable).unwrap();
}

fn members_end(kind: NamespaceKind) {
    let Some(namespaces) = kind.enter() else { return };
    let this = std::process::id();
    assert_eq!(namespaces.kill_members(this).unwrap(), 0);

    let inside = fork(sleep_for_ever);
    let deeper = fork(|| {
        // Out of the mount namespace, though still in the user namespace and still our child.
        namespaces::enter_mount_namespace().unwrap();
        sleep_for_ever();
    });
    let mounts = |pid| fs::metadata(format!("/proc/{pid}/ns/mnt")).unwrap().ino();
    wait_until(|| mounts(deeper.pid()) != mounts(inside.pid()));
    // From a child, as the driver does it: its parent is spared.
    let expected = if kind == NamespaceKind::Mount { 1 } else { 2 };
    let driver = fork(|| {
        assert_eq!(namespaces.kill_members(this).unwrap(), expected);
        wait_until(|| namespaces.kill_members(this).unwrap() == 0);
    });
    assert_eq!(driver.wait().unwrap(), Change::Exited(0));
    assert_eq!(inside.wait().unwrap(), Change::Killed(9));
    if expected == 1 {
        deeper.signal(Signal::KILL).unwrap();
    }
    assert_eq!(deeper.wait().unwrap(), Change::Killed(9));
}

fn descendants_end() {
    processes::adopt_orphans().unwrap();
    let spared = fork(sleep_for_ever);
    let (mut watched, held) = io::pipe().unwrap();
    for _ in 0..3 {
        fork(|| {
            // One that forks further, in a session of its own, and one that has left its parent.
            fork(|| {
                processes::leave_session().unwrap();
                fork(sleep_for_ever);
                sleep_for_ever();
            });
            fork(|| {
                fork(sleep_for_ever);
            });
            sleep_for_ever();
        });
    }
    drop(held);
    processes::end_children(Some(spared.pid())).unwrap();
    assert_eq!(watched.read(&mut [0]).unwrap(), 0, "the other end is closed");
    spared.signal(Signal::STOP).unwrap();
    assert_eq!(next_change(), (spared.pid(), Change::Stopped(19)), "it lives");
    processes::end_children(None).unwrap();
    assert_eq!(processes::next_change().unwrap(), None);
}

fn descendants_are_signalled() {
    processes::adopt_orphans().unwrap();
    let (mut report, reporter) = io::pipe().unwrap();
    // Each with a child, in a session of its own, whose number it tells.
    let family = || {
        fork(|| {
            let child = fork(|| {
                processes::leave_session().unwrap();
                sleep_for_ever();
            });
            (&reporter).write_all(&child.pid().to_ne_bytes()).unwrap();
            sleep_for_ever();
        })
    };
    let mut told = || {
        let mut number = [0; 4];
        report.read_exact(&mut number).unwrap();
        u32::from_ne_bytes(number)
    };
    let (spared, below_spared) = (family(), told());
    let (ended, below_ended) = (family(), told());
    let own = std::process::id();
    assert_eq!(descendants::list(own, Some(spared.pid())), [ended.pid(), below_ended]);
    assert_eq!(descendants::list(spared.pid(), None), [below_spared]);

    assert_eq!(descendants::signal(&[Signal::TERM, Signal::CONT], Some(spared.pid())), 2);
    // The second comes to us when its parent has ended.
    let killed: BTreeSet<_> = [next_change(), next_change()].map(|(pid, _)| pid).into();
    assert_eq!(killed, BTreeSet::from([ended.pid(), below_ended]));
    assert_eq!(descendants::list(own, None), [spared.pid(), below_spared]);
    assert_eq!(processes::count_children(spared.pid()).unwrap(), 0);
    processes::end_children(None).unwrap();
}

fn a_new_dev(kind: NamespaceKind) {
    if kind.enter().is_none() {
        return;
    }
    let mut expected = dev_names();
    let skipped = private_dev::replace(&["binder", "null"]).unwrap();
    assert!(skipped.is_empty(), "{skipped:?}");
    expected.extend(["binder", "binderfs", ".outer"].map(Into::into));
    assert_eq!(dev_names(), expected);
    assert_eq!(fs::read_link("/dev/binder").unwrap(), Path::new("binderfs/binder"));
    assert_eq!(fs::read_link("/dev/null").unwrap(), Path::new("binderfs/null"), "ours replaces");
    assert_eq!(fs::read_dir(BINDERFS_DIR).unwrap().count(), 0);
    assert!(fs::metadata("/dev/zero").unwrap().file_type().is_char_device());
    let mut zeros = [1; 4];
    File::open("/dev/zero").unwrap().read_exact(&mut zeros).unwrap();
    assert_eq!(zeros, [0; 4]);
    open_pseudo_terminal();

    // A second one replaces the links of the first, also those that it has no device for.
    private_dev::replace(&["binder", "other"]).unwrap();
    expected.insert("other".into());
    expected.remove(&OsString::from("null"));
    assert_eq!(dev_names(), expected);
    open_pseudo_terminal();

    mounts::unmount(Path::new("/dev")).unwrap();
    assert!(!dev_names().contains(&OsString::from("other")));
    assert!(mounts::unmount(Path::new("/proc/self")).is_err());
}

fn dev_names() -> BTreeSet<OsString> {
    fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

fn open_pseudo_terminal() {
    File::options().read(true).write(true).open("/dev/ptmx").unwrap();
}
