//! What a command finds that is run in a world.

use std::io::Write;
use std::process::{Command, Stdio};

use super::home::Home;
use crate::caller::{Caller, PROGRAM, Running, finish, in_mounts, is_root, state, wait_until};

#[test]
fn the_exit_status_is_that_of_the_command_that_joins() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        for (script, status) in
            [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)]
        {
            assert_eq!(finish(&mut home.exec("dev", script)).code(), status, "{script}");
        }
        let missing = home.world(&["exec", "dev", "--", "/nowhere/to/be/found"]);
        assert_eq!(missing.code(), 127);
        assert!(missing.stderr.contains("/nowhere/to/be/found"), "{missing:?}");
        assert_eq!(home.world(&["exec", "dev", "--", "/etc/passwd"]).code(), 126);
    }
}

#[test]
fn a_command_that_joins_has_what_its_caller_has() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        // What the creator has does not count.
        let mut create = home.command(&["create", "dev"]);
        assert_eq!(finish(create.env("WHOSE", "creator").current_dir("/usr")).code(), 0);
        let script =
            "cat; pwd; echo \"$WHOSE $0 $1\" >&2; umask; grep -c NoNewPrivs:.0 /proc/self/status";
        let mut command = home.exec("dev", script);
        command.args(["--flag", "two words"]).current_dir("/etc").env("WHOSE", "caller");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.starts_with("hello\n/etc\n0") && stdout.ends_with("\n1\n"), "{stdout}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "caller --flag two words\n");
    }
}

#[test]
fn a_command_whose_callers_directory_was_removed_starts_in_the_root() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let script = "cd \"$(mktemp -d)\"; rmdir \"$PWD\"; exec \"$0\" world exec dev -- pwd";
        let mut command = caller.wrap("sh", &["-c", script, PROGRAM]);
        let outcome = finish(command.env("XDG_RUNTIME_DIR", home.dir()));
        assert_eq!((outcome.code(), &*outcome.stdout), (0, "/\n"), "{outcome:?}");
        assert!(outcome.stderr.ends_with("in / instead\n"), "{outcome:?}");
    }
}

#[test]
fn who_may_gain_no_rights_gains_none_by_joining() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let words = ["--no-new-privs", PROGRAM, "world", "exec", "dev", "--"];
        let mut command = caller
            .wrap("setpriv", &[&words[..], &["grep", "NoNewPrivs", "/proc/self/status"]].concat());
        let outcome = finish(command.env("XDG_RUNTIME_DIR", home.dir()));
        assert_eq!(outcome.stdout, "NoNewPrivs:\t1\n", "{outcome:?}");
    }
}

#[test]
fn a_second_terminal_calls_the_service_of_the_first() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let words = ["exec", "dev", "--", PROGRAM, "demo-cast", "service"];
        let mut service = Running::start(&mut home.command(&words));
        assert!(service.line().starts_with("The service is process "));
        let seen = home.fine(&["exec", "dev", "--", PROGRAM, "ps"]);
        assert!(seen.contains(" binder "), "{seen}");
        // A second context manager is refused, so the driver is the same.
        let second = home.world(&["exec", "dev", "--", PROGRAM, "demo-cast", "service"]);
        assert!(second.code() == 1 && second.stderr.contains("context manager"), "{second:?}");
        service.signal("TERM");
        assert_eq!(service.finish().code(), 143);
        // Once it is gone there is room for another, with its own caller.
        let cast = home.fine(&["exec", "dev", "--", PROGRAM, "demo-cast", "director", "5"]);
        assert!(cast.contains("5 calls answered"), "{cast}");
    }
}

#[test]
fn who_joins_has_the_supervisor_of_the_first() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        home.fine(&["create", "plain", "--no-seccomp"]);
        let filters = |world| {
            home.fine(&[
                "exec",
                world,
                "--",
                "sed",
                "-n",
                "s/^Seccomp_filters:.//p",
                "/proc/self/status",
            ])
        };
        let (with, without) = (filters("dev"), filters("plain"));
        let number = |text: &str| text.trim_end().parse::<u32>().unwrap();
        assert_eq!(number(&with), number(&without) + 1);
        if *caller == Caller::Root {
            let script = "unshare --mount sh -ec 'mount -t binder binder /mnt; ls /mnt'";
            let outcome = finish(&mut home.exec("dev", script));
            assert_eq!(
                outcome.stdout, "binder\nbinder-control\nfeatures\nhwbinder\nvndbinder\n",
                "{outcome:?}"
            );
        }
    }
}

#[test]
fn the_view_of_processes_is_that_of_the_world() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev", "--proc"]);
        home.fine(&["exec", "dev", "--detach", "--", "sleep", "1000"]);
        // A process that executes a program has its name a moment after that has begun.
        wait_until(|| {
            let names = home.fine(&["exec", "dev", "--", "ps", "-A", "-o", "comm="]);
            let names: Vec<_> = names.lines().collect();
            assert!(names.len() <= 5, "only the world is seen: {names:?}");
            names.contains(&"sleep") && names.contains(&"ps")
        });
        home.fine(&["stop", "dev"]);
    }
}

#[test]
fn a_world_in_a_world_says_what_does_not_work_there() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        // The outer supervisor mounts, which takes the right to.
        let mounts = match caller {
            Caller::Root => {
                "unshare --mount sh -ec 'mount -t binder binder /mnt; test -e /mnt/binder'"
            }
            Caller::Ordinary => "true",
        };
        let inner = format!("{PROGRAM} world exec inner --");
        let script = format!(
            "{PROGRAM} world create inner && {inner} {mounts} && {inner} ls -L /dev/binder"
        );
        let outcome = finish(&mut home.program(&["run", "--", "sh", "-c", &script]));
        assert_eq!((outcome.code(), &*outcome.stdout), (0, "/dev/binder\n"), "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
        assert!(outcome.stderr.contains("ioctls without an argument fail here"), "{outcome:?}");
        assert_eq!(home.state("inner").as_deref(), Some("dead"), "it ended with the outer one");
        home.fine(&["rm", "inner"]);
    }
}

#[test]
fn who_joins_is_told_of_the_ring_as_the_first_is() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "with"]);
        home.fine(&["create", "without", "--no-ring"]);
        let script = "echo ${LD_PRELOAD-none} ${ANYBINDER_NO_RING-none}";
        // The linker says of the library that there is none such.
        let hear = |mut command: Command| finish(command.env("LD_PRELOAD", "/of/caller.so")).stdout;
        let told = |world: &str| hear(home.exec(world, script));
        // Which depends on the kernel.
        let first = hear(home.program(&["run", "--", "sh", "-c", script]));
        assert_eq!(told("with"), first);
        assert_eq!(told("without"), "/of/caller.so 1\n");
    }
}

#[test]
fn a_world_is_joined_from_within_itself_and_from_another() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "one"]);
        home.fine(&["create", "two"]);
        let show = format!(
            "echo $ANYBINDER_WORLD; {PROGRAM} world exec two -- sh -c 'echo $ANYBINDER_WORLD'"
        );
        for (world, said) in [("one", "one\ntwo\n"), ("two", "two\ntwo\n")] {
            let outcome = finish(&mut home.exec(world, &show));
            assert_eq!((&*outcome.stdout, &*outcome.stderr), (said, ""), "{outcome:?}");
        }
    }
}

#[test]
fn other_users_exist_where_they_are_granted() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        if *caller == Caller::Root {
            home.fine(&["create", "dev", "--map-users"]);
            assert_eq!(
                home.fine(&["exec", "dev", "--user", "12:34", "--", "sh", "-c", "id -u; id -g"]),
                "12\n34\n"
            );
            continue;
        }
        home.fine(&["create", "alone"]);
        let missing = home.world(&["exec", "alone", "--user", "12", "--", "true"]);
        assert!(missing.code() == 1 && missing.stderr.contains("--map-users"), "{missing:?}");
        if !is_root() || Command::new("newuidmap").output().is_err() {
            binder_testkit::skip("newuidmap(1) is not installed, or only root can grant users");
            continue;
        }
        let as_granted = |granted: &str, words: &str| {
            let script = format!(
                "mount -t tmpfs tmpfs /mnt; mknod -m 0666 /mnt/fuse c 10 229; mount --bind /mnt/fuse /dev/fuse
                 printf '{granted}' > /mnt/ids; chmod 644 /mnt/ids; mount --bind /mnt/ids /etc/subuid; mount --bind /mnt/ids /etc/subgid
                 export XDG_RUNTIME_DIR={}
                 umount -l /mnt; exec setpriv --reuid 1000 --regid 1000 --clear-groups -- \"$0\" {words}",
                home.dir().display()
            );
            let mut command = Command::new("unshare");
            finish(command.args(["--mount", "sh", "-ec", &script, PROGRAM]))
        };
        let none = as_granted("joe:5:5\\n", "world create dev --map-users");
        assert!(none.code() == 1 && none.stderr.contains("usermod --add-subuids"), "{none:?}");
        let made = as_granted("1000:100000:65536\\n", "world create dev --map-users");
        assert_eq!((made.code(), &*made.stderr), (0, ""), "{made:?}");
        let ids = "cat /proc/self/uid_map | tr -s ' '; id -u; id -g";
        let outcome = home.world(&["exec", "dev", "--user", "10001", "--", "sh", "-c", ids]);
        assert_eq!(
            outcome.stdout, " 0 100000 1000\n 1000 1000 1\n 1001 101000 64536\n10001\n10001\n",
            "{outcome:?}"
        );
        // The driver tells a service who calls, and serves other users as well.
        let words = ["exec", "dev", "--user", "0", "--", PROGRAM, "demo-cast", "director", "5"];
        let cast = home.world(&words);
        assert!(cast.stdout.contains("of user 0, says the driver"), "{cast:?}");
    }
}

/// Runs commands as nobody: without a session, environment, terminal, directory of its own or rights to gain, with little of
/// each resource. Of the machine it may write to /tmp, and sees its own processes alone.
const AS_NOBODY: &str = r#"
mount -t tmpfs -o mode=0755 tmpfs /mnt; cp "$1" /mnt/anybinder
mknod -m 0666 /mnt/fuse c 10 229; mount --bind /mnt/fuse /dev/fuse
mount -t tmpfs tmpfs /tmp; mount -o remount,bind,ro /; cd /
exec unshare --pid --fork --kill-child --mount-proc sh -ec '
    mount -o remount,hidepid=2 /proc
    exec prlimit --nofile=128 --nproc=200 --memlock=0 --stack=1048576 --core=0         setsid -w setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all         env -i PATH=/mnt:/usr/bin:/bin sh -ec "$0"' "$2"
"#;

const WORLDS_OF_NOBODY: &str = r#"
anybinder world create dev
anybinder world exec dev -- sh -c 'id -u; ls /dev/binderfs/binder; echo $ANYBINDER_WORLD'
anybinder world exec dev -- anybinder demo-cast director 3 >/dev/null
anybinder world exec dev -d -- sleep 1000
anybinder world list; anybinder world stop dev; anybinder world rm dev
anybinder run --name brief -- echo in brief; anybinder world list
anybinder demo --calls 20 | grep -o '20 calls answered'
anybinder run --manager -- anybinder service list | head -n 1
anybinder run -- anybinder ps
anybinder run -- anybinder top --json --count 1 --interval 0.1
anybinder trace -- anybinder demo-cast director 3 2>/tmp/trace >/dev/null
grep -q 'reply' /tmp/trace && echo traced
"#;

#[test]
fn a_user_with_nothing_at_all_has_worlds() {
    if !is_root() || Caller::all().len() < 2 {
        return binder_testkit::skip("only root can become another user");
    }
    let outcome = finish(&mut in_mounts(AS_NOBODY, PROGRAM, &[WORLDS_OF_NOBODY]));
    assert_eq!((outcome.code(), &*outcome.stderr), (0, ""), "{outcome:?}");
    let mut lines: Vec<_> = outcome.stdout.lines().collect();
    let running = lines.remove(4);
    assert!(running.starts_with("dev   running"), "{outcome:?}");
    assert_eq!(
        lines,
        [
            "65534",
            "/dev/binderfs/binder",
            "dev",
            "NAME  STATE    PID  PROCESSES  AGE  DEVICES",
            "in brief",
            "NAME  STATE  PID  PROCESSES  AGE  DEVICES",
            "20 calls answered",
            "Found 1 services:",
            "No process has a device open.",
            "traced",
        ],
        "{outcome:?}"
    );
}

#[test]
fn what_a_command_leaves_running_goes_on_with_the_world() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let left = home.fine(&["exec", "dev", "--", "sh", "-c", "sleep 1000 >&- 2>&- & echo $!"]);
        let left: u32 = left.trim_end().parse().unwrap();
        assert!(state(left).is_some());
        assert_eq!(home.number("dev", "processes"), 1);
        home.fine(&["stop", "dev"]);
        wait_until(|| state(left).is_none());
    }
}
