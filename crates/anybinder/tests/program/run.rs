//! What `run` gives to its command, and what is left afterwards.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::caller::{
    Caller, PROGRAM, Running, children, finish, is_root, signal, state, wait_until, without_fuse,
};

fn output_of(caller: Caller, script: &str) -> String {
    let outcome = finish(&mut caller.run_script(script));
    assert!(outcome.status.success(), "{caller:?}: {script}: {outcome:?}");
    outcome.stdout
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    for caller in Caller::all() {
        for (script, status) in [
            ("exit 0", 0),
            ("exit 7", 7),
            ("exit 255", 255),
            ("kill -TERM $$", 143),
            ("kill -KILL $$", 137),
            ("kill -SEGV $$", 139),
        ] {
            assert_eq!(finish(&mut caller.run_script(script)).code(), status, "{script}");
        }
        let missing = finish(&mut caller.command(&["run", "/nowhere/to/be/found"]));
        assert_eq!(missing.code(), 127);
        assert!(missing.stderr.contains("/nowhere/to/be/found"), "{}", missing.stderr);
        assert_eq!(finish(&mut caller.command(&["run", "/etc/passwd"])).code(), 126);
        assert_eq!(finish(&mut caller.command(&["run"])).code(), 2);
        let device = finish(&mut caller.command(&["run", "--device", "a/b", "true"]));
        assert_eq!(device.code(), 2);
        let twice = ["run", "--device", "x", "--device", "y", "--device", "x", "--", "true"];
        let twice = finish(&mut caller.command(&twice));
        assert!(twice.code() == 2 && twice.stderr.contains("'x' is named twice"), "{twice:?}");
    }
}

#[test]
fn the_command_is_the_user_who_called() {
    for caller in Caller::all() {
        assert_eq!(output_of(*caller, "id -u"), caller.uid());
        // What the world needed privilege for is over when the command starts.
        let privileges = output_of(*caller, "grep CapEff /proc/self/status");
        let has_none = privileges.trim_end().ends_with("0000000000000000");
        assert_eq!(has_none, *caller == Caller::Ordinary && caller.uid() != "0\n");
    }
}

#[test]
fn scripts_that_look_for_the_file_system_find_it_where_that_is_wanted() {
    let listed = |caller: &Caller, options: &[&str]| {
        let look =
            ["--", "sh", "-c", "grep -c binder /proc/filesystems; ls -A /dev/.filesystems 2>&1"];
        let outcome = finish(caller.command(&["run"]).args(options).args(look));
        assert!(outcome.stdout.contains("No such file"), "{outcome:?}");
        outcome.stdout.lines().next().unwrap().to_owned()
    };
    let is_the_kernels = std::fs::read_to_string("/proc/filesystems").unwrap().contains("binder");
    for caller in Caller::all() {
        assert_eq!(listed(caller, &["--list-binder"]), "1", "{caller:?}");
        assert_eq!(listed(caller, &[]), if is_the_kernels { "1" } else { "0" }, "{caller:?}");
    }
}

#[test]
fn arguments_streams_and_the_working_directory_pass_through() {
    for caller in Caller::all() {
        let mut command = caller.command(&["run", "sh", "-c", "cat; pwd; echo \"$0 $1\" >&2"]);
        command.args(["--flag", "two words"]).current_dir("/usr");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "hello\n/usr\n");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "--flag two words\n");
    }
}

/// Whether `doctor` says that programs use the ring.
pub(crate) fn has_ring(caller: Caller) -> bool {
    let report = finish(&mut caller.command(&["doctor"])).stdout;
    report.lines().any(|line| line.starts_with("ring ") && line.contains(" yes "))
}

#[test]
fn programs_find_a_library_where_doctor_says_so_unless_it_is_not_wanted() {
    for caller in Caller::all() {
        let found = |options: &[&str]| {
            let script = "echo \"$LD_PRELOAD\"";
            let command = [&["run"], options, &["sh", "-c", script]].concat();
            finish(&mut caller.command(&command)).stdout
        };
        let library = "/dev/.ring/libanybinder_ring.so\n";
        assert_eq!(found(&[]), if has_ring(*caller) { library } else { "\n" });
        for without in ["--no-ring", "--no-seccomp"] {
            assert_eq!(found(&[without]), "\n", "{without}");
        }
    }
}

#[test]
fn the_private_dev_has_everything_that_dev_has() {
    let names = |list: &str| list.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let outside = names(&finish(Command::new("ls").args(["-A", "/dev"])).stdout);
    let ours = [".outer", "binder", "binderfs", "hwbinder", "vndbinder"].map(String::from);
    for caller in Caller::all() {
        let inside = names(&output_of(*caller, "ls -A /dev"));
        // A library for programs, where there is a way for it.
        let library = inside.get(".ring").cloned();
        assert_eq!(library.is_some(), has_ring(*caller));
        let expected = outside.iter().cloned().chain(ours.clone()).chain(library).collect();
        assert_eq!(inside, expected);
        let script = "
            echo lost > /dev/null && test -z \"$(cat /dev/null)\" &&
            test \"$(head -c 4 /dev/zero | od -An -tx1)\" = ' 00 00 00 00' &&
            test -c /dev/urandom && test -d /dev/pts && exec 3<>/dev/ptmx &&
            test \"$(readlink /dev/fd)\" = /proc/self/fd && echo fine";
        assert_eq!(output_of(*caller, script), "fine\n");
    }
}

#[test]
fn the_devices_are_those_asked_for() {
    for caller in Caller::all() {
        let list = ["run", "--device", "binder", "--device", "extra-1", "--"];
        let show = "stat -L -c '%n %a' /dev/binder /dev/extra-1; ls /dev/hwbinder";
        let outcome = finish(caller.command(&list).args(["sh", "-c", show]));
        assert_eq!(outcome.stdout, "/dev/binder 666\n/dev/extra-1 666\n");
        assert_ne!(outcome.code(), 0, "no hwbinder was asked for");
    }
}

#[test]
fn the_driver_answers_and_knows_its_clients() {
    for caller in Caller::all() {
        for delivery in ["auto", "store"] {
            let cast = [PROGRAM, "demo-cast", "director", "20"];
            let mut command = caller.command(&["run", "--delivery", delivery]);
            let outcome = finish(command.args(cast));
            assert!(outcome.status.success(), "{outcome:?}");
            let user = format!("of user {}, says the driver", caller.uid().trim_end());
            assert!(outcome.stdout.contains(&user), "{outcome:?}");
        }
    }
}

#[test]
fn worlds_nest() {
    for caller in Caller::all() {
        let inner = format!("{PROGRAM} run -- sh -c 'ls -L /dev/binder; exec 3<>/dev/ptmx; id -u'");
        assert_eq!(output_of(*caller, &inner), format!("/dev/binder\n{}", caller.uid()));
    }
}

#[test]
fn a_world_within_a_world_says_what_does_not_work_there() {
    for caller in Caller::all() {
        let said = |options: &str| {
            let inner = format!("{PROGRAM} run {options} -- true");
            let outcome = finish(&mut caller.run_script(&inner));
            assert!(outcome.status.success(), "{outcome:?}");
            outcome.stderr
        };
        let line = said("");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.contains("ioctls without an argument fail here"), "{line}");
        assert_eq!(said("--no-seccomp"), "", "who asks for none knows");
        assert_eq!(finish(&mut caller.run_script("true")).stderr, "", "nothing is missing");
    }
}

#[test]
fn a_proc_of_other_processes_is_told_of() {
    for caller in Caller::all() {
        // Root in a user namespace of its own, too, where the processes have numbers of their own.
        let in_namespace =
            |mount| ["--user", "--map-root-user", "--mount", "--pid", "--fork", mount];
        let start = [PROGRAM, "run", "--", "test", "-e", "/dev/binder"];
        let outcome = |mount| {
            let words = in_namespace(mount).into_iter().filter(|word| !word.is_empty());
            finish(&mut caller.wrap("unshare", &words.chain(start).collect::<Vec<_>>()))
        };
        let failed = outcome("");
        assert_ne!(failed.code(), 0, "{failed:?}");
        assert!(failed.stderr.contains("looking for this process in /proc"), "{failed:?}");
        assert!(failed.stderr.contains("try: mount one that does"), "{failed:?}");
        let mounted = outcome("--mount-proc");
        assert_eq!(mounted.code(), 0, "{mounted:?}");
    }
}

#[test]
fn what_the_command_leaves_running_ends_with_it() {
    for caller in Caller::all() {
        let mut leavers = vec!["setsid sleep 1000", "sh -c 'sleep 1000 & wait'"];
        // A user namespace may be closed to further ones; root can always make a mount namespace.
        if *caller == Caller::Root {
            leavers.push("unshare --mount sleep 1000");
        }
        for leaver in leavers {
            let script = format!(
                "{leaver} >&- 2>&- & echo $!
                 until ps -o comm= --pid $! --ppid $! | grep -q sleep; do sleep 0.01; done; exit 5"
            );
            let outcome = finish(&mut caller.run_script(&script));
            assert_eq!(outcome.code(), 5);
            let left: u32 = outcome.stdout.trim_end().parse().unwrap();
            assert_eq!(state(left), None, "{caller:?}: {leaver}");
        }
    }
}

#[test]
fn a_binderfs_that_is_detached_while_it_is_open_leaves_nothing() {
    if !is_root() {
        return binder_testkit::skip("only root sees the descriptors of a driver");
    }
    let script = r#"
count() { ls -l /proc/$ANYBINDER_DAEMON_PID/fd | grep -c /dev/fuse; }
dir=$(mktemp -d); before=$(count)
for round in 1 2 3 4 5 6 7 8 9 10; do
    mount -t binder binder $dir
    exec 3<>$dir/binder
    umount --lazy $dir
    exec 3>&-
done
rmdir $dir
until test $(count) = $before; do sleep 0.01; done
echo nothing"#;
    let outcome = finish(Command::new(PROGRAM).args(["run", "--", "sh", "-ec", script]));
    assert_eq!(outcome.stdout, "nothing\n", "{outcome:?}");
}

#[test]
fn the_processes_of_the_machine_cost_a_world_nothing() {
    // The shell has collected the world, and what the world has collected, when it counts their reads.
    let script = "\"$0\" run -- true && sed -n 's/^syscr: //p' /proc/$$/io";
    let reads = |caller: Caller| {
        let outcome = finish(&mut caller.wrap("sh", &["-c", script, PROGRAM]));
        outcome.stdout.trim_end().parse::<i64>().unwrap_or_else(|_| panic!("{outcome:?}"))
    };
    for caller in Caller::all() {
        let alone = reads(*caller);
        let sleep = |_| Command::new("sleep").arg("1000").spawn().unwrap();
        let mut sleepers = (0..200).map(sleep).collect::<Vec<_>>();
        let among_many = reads(*caller);
        for sleeper in &mut sleepers {
            sleeper.kill().unwrap();
            sleeper.wait().unwrap();
        }
        assert!(among_many < alone + 100, "{caller:?}: {alone}, and {among_many} among 200 others");
    }
}

#[test]
fn nothing_survives_the_kill_signal() {
    for caller in Caller::all() {
        let script = "grep ' /dev/binderfs ' /proc/self/mountinfo | tail -n 1 | cut -d ' ' -f 3-5
            setsid sleep 1000 & echo $!; exec 3</dev/binder; echo open; wait";
        let mut running = Running::start(&mut caller.run_script(script));
        // The device number, the directory shown and its place: nobody else's mount has all three.
        let mount = running.line();
        assert!(mount.ends_with(" / /dev/binderfs"), "{mount}");
        let sleeper: u32 = running.line().parse().unwrap();
        assert_eq!(running.line(), "open");
        let mut inside = children(running.pid());
        assert_eq!(inside.len(), 2, "the driver and the command");
        inside.push(sleeper);
        running.signal("KILL");
        let outcome = running.finish();
        assert_eq!(outcome.code(), 137, "{outcome:?}");
        wait_until(|| inside.iter().all(|pid| state(*pid).is_none()));
        let left = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!left.contains(&format!(" {mount} ")), "{mount} is left: {left}");
    }
}

#[test]
fn the_end_of_the_driver_is_told_and_ends_the_command() {
    for caller in Caller::all() {
        let mut running = Running::start(&mut caller.run_script("echo $$; exec sleep 1000"));
        let command: u32 = running.line().parse().unwrap();
        let mut inside = children(running.pid());
        inside.retain(|pid| *pid != command);
        assert_eq!(inside.len(), 1);
        signal(inside[0], "KILL");
        let outcome = running.finish();
        assert_eq!(outcome.code(), 1);
        assert!(outcome.stderr.contains("ended unexpectedly"), "{}", outcome.stderr);
        assert_eq!(state(command), None);
    }
}

#[test]
fn without_fuse_the_reason_and_a_remedy_are_told() {
    let Some(mut command) = without_fuse(&["run", "echo", "never"]) else {
        assert!(!is_root());
        return binder_testkit::skip("only root can close /dev/fuse to somebody");
    };
    let outcome = finish(&mut command);
    assert_eq!((outcome.code(), &*outcome.stdout), (1, ""));
    for part in ["opening /dev/fuse", "Permission denied", "try: "] {
        assert!(outcome.stderr.contains(part), "{part} is missing: {}", outcome.stderr);
    }
}
