//! `procview`, and `run --proc`: what ps, pstree and their like find there.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::caller::{Caller, PROGRAM, finish, in_mounts};

fn output_of(caller: Caller, arguments: &[&str]) -> String {
    let outcome = finish(&mut caller.command(arguments));
    assert_eq!(outcome.code(), 0, "{caller:?}: {outcome:?}");
    outcome.stdout
}

/// A script that sees a scenario of 100 processes at /proc.
fn in_scenario(caller: Caller, options: &[&str], script: &str) -> String {
    let all = [&["procview", "run", "--scenario=100"], options, &["--", "sh", "-c", script]];
    output_of(caller, &all.concat())
}

#[test]
fn plain_programs_find_the_processes_of_a_scenario() {
    for caller in Caller::all() {
        let told = in_scenario(
            *caller,
            &[],
            "ps -e -o pid= | wc -l
             ps aux | grep -c /usr/bin/nginx
             pgrep -c nginx
             pstree -p | grep -o '([0-9]*)' | wc -l
             pstree -p 1 | head -c 8; echo
             top -b -n 1 | grep -c surfaceflinger
             ps -o comm= -p 1; ps -o pid= -p $$ | wc -w
             pidof init",
        );
        let counts: Vec<&str> = told.split_whitespace().collect();
        let nginx = counts[2];
        assert!(nginx.parse::<u32>().unwrap() > 5, "{told}");
        let flingers = counts[5];
        // The reader finds itself, and no other process that is not of the scenario.
        let expected = ["100", nginx, nginx, "100", "init(1)-", flingers, "init", "0", "1"];
        assert_eq!(counts, expected, "{caller:?}");
    }
}

#[test]
fn programs_that_look_for_open_files_have_nothing_to_complain_of() {
    for caller in Caller::all() {
        let script = "
            ! command -v fuser >/dev/null || fuser /bin/sh 2>&1 | grep /proc
            ! command -v lsof >/dev/null || lsof -w -p 1 2>&1 | grep -v '^COMMAND\\|^init '; true";
        assert_eq!(in_scenario(*caller, &[], script), "", "{caller:?}");
        // The kernel refuses a user the files of who made the world, and has more rights, as in its own /proc.
        let script = "! command -v fuser >/dev/null || fuser /dev/null 2>&1 >/dev/null |
            grep /proc | grep -v 'Permission denied'; true";
        let told = output_of(*caller, &["run", "--proc", "--", "sh", "-c", script]);
        assert_eq!(told, "", "{caller:?}");
    }
}

#[test]
fn programs_find_what_they_ask_of_the_machine() {
    for caller in Caller::all() {
        let script = "set -e; for one in 'free' 'uptime' 'vmstat' 'vmstat -s' 'w'; do
            $one >/dev/null || echo \"$one fails\"; done";
        assert_eq!(in_scenario(*caller, &[], script), "", "{caller:?}");
    }
}

#[test]
fn who_names_what_cannot_be_a_view_learns_why() {
    let this = std::env::current_exe().unwrap();
    let on_a_file = ["procview", "mount", "--all", this.to_str().unwrap()];
    let outcome = finish(Command::new(PROGRAM).args(on_a_file));
    assert_eq!(outcome.code(), 1, "{outcome:?}");
    assert!(outcome.stderr.contains("it is not a directory"), "{outcome:?}");
    // What is advised is something that the program knows.
    let nowhere = ["procview", "run", "--binderfs", "/nowhere", "true"];
    let outcome = finish(Command::new(PROGRAM).args(nowhere));
    assert!(outcome.stderr.contains("name the directory with --dir"), "{outcome:?}");
    let nowhere = ["procview", "run", "--dir", "/nowhere", "true"];
    assert_eq!(finish(Command::new(PROGRAM).args(nowhere)).stderr, outcome.stderr);
}

#[test]
fn the_innermost_namespace_sees_its_own() {
    for caller in Caller::all() {
        let script = "ps -o ppid=,comm= -p 1; ps -e -o pid= | wc -l";
        let told = in_scenario(*caller, &["--levels", "4", "--innermost"], script);
        let (first, count) = told.trim().rsplit_once('\n').unwrap();
        assert_eq!(first.split_whitespace().collect::<Vec<_>>(), ["0", "containerd-init"]);
        assert!((2..30).contains(&count.trim().parse::<u32>().unwrap()), "{told}");
    }
}

#[test]
fn a_view_ends_with_those_who_see_it() {
    for caller in Caller::all() {
        // Whose the processes are; the number of this one may occur in other pid namespaces as well.
        let namespace = std::fs::metadata("/proc/self/ns/pid").unwrap().ino();
        let mark = format!("of {namespace}-{}", std::process::id());
        let script = format!("exit 7 # {mark}");
        let arguments = ["procview", "run", "--scenario=9", "--", "sh", "-c", &*script];
        assert_eq!(finish(&mut caller.command(&arguments)).code(), 7);
        let none = ["procview", "run", "--scenario=9", "--", "/no/such/program", &*mark];
        assert_eq!(finish(&mut caller.command(&none)).code(), 127);
        crate::caller::wait_until(|| {
            let pattern = format!("procview run .* {mark}$");
            let found = Command::new("pgrep").args(["-f", &pattern]).output().unwrap();
            found.stdout.is_empty()
        });
    }
}

#[test]
fn a_scenario_has_no_processes_for_another_view_and_that_is_told() {
    for caller in Caller::all() {
        // With few processes, and with so many that some have the numbers of ours.
        for (scenario, inner) in [
            ("--scenario=9", "procview run --all"),
            ("--scenario=9", "procview run --scenario=5"),
            ("--scenario=9", "run --proc"),
            ("--scenario=40000", "procview run --all"),
        ] {
            let script = format!("{PROGRAM} {inner} -- ps -e");
            let arguments = ["procview", "run", scenario, "--", "sh", "-c", &*script];
            let outcome = finish(&mut caller.command(&arguments));
            assert_eq!((outcome.code(), &*outcome.stdout), (1, ""), "{caller:?}: {outcome:?}");
            for part in ["/proc shows a scenario here", "try: start it outside of"] {
                assert!(outcome.stderr.contains(part), "{caller:?}, {inner}: {outcome:?}");
            }
        }
    }
    // Where the kernel's processes are shown there are some for another.
    if Caller::all().contains(&Caller::Root) {
        let script = format!("{PROGRAM} procview run --all -- ps -e -o comm=");
        let told = output_of(Caller::Root, &["run", "--proc", "--", "sh", "-c", &script]);
        assert!(told.contains("binder-driver"), "{told}");
    }
}

#[test]
fn there_may_be_more_processes_than_files_that_may_be_open() {
    for caller in Caller::all() {
        // Each is looked at and kept by the kernel, in the second round as in the first.
        let script = "for i in $(seq 100); do
                 sleep 1000 & all=\"$all $!\"; files=\"$files /proc/$!/task/$!/status\"
             done
             for round in 1 2; do
                 ps -e -o ppid= | grep -c \"^ *$$\\$\"; cat /proc/self/comm
                 cat $files | grep -c ^Pid:
             done; kill $all";
        let arguments = ["procview", "run", "--all", "--", "bash", "-c", script];
        let outcome = finish(&mut caller.command_with_files(32, &arguments));
        // The shell's other children are of the pipe.
        let told: Vec<&str> = outcome.stdout.split_whitespace().collect();
        assert_eq!(told.len(), 6, "{caller:?}: {outcome:?}");
        for round in told.chunks(3) {
            assert!(round[0].parse::<u32>().unwrap() >= 100, "{caller:?}: {outcome:?}");
            assert_eq!(round[1..], ["cat", "100"], "{caller:?}: {outcome:?}");
        }
        assert_eq!(outcome.stderr, "", "{caller:?}");
    }
}

#[test]
fn a_world_with_proc_shows_itself_and_nobody_else() {
    for caller in Caller::all() {
        let script = "ps -e -o comm= | sort | uniq | tr '\\n' ' '; echo
             cat /proc/$$/comm; test -e /proc/1/stat || echo no init
             echo through | cat /dev/stdin
             readlink /proc/self/exe; test -r /proc/meminfo && cat /proc/sys/kernel/ostype
             printf x > /proc/self/comm; cat /proc/$$/comm; touch /proc/x 2>&- || echo refused
             pstree -p $ANYBINDER_DAEMON_PID | head -c 14";
        let told = output_of(*caller, &["run", "--proc", "--", "sh", "-c", script]);
        let lines: Vec<&str> = told.lines().collect();
        for name in ["binder-driver", "ps", "sh"] {
            assert!(lines[0].split(' ').any(|it| it == name), "{told}");
        }
        assert_eq!(lines[1..4], ["sh", "no init", "through"], "{told}");
        assert!(lines[4].ends_with("/readlink") || lines[4].ends_with("coreutils"), "{told}");
        assert_eq!(lines[5..9], ["Linux", "x", "refused", "binder-driver("], "{told}");
    }
}

#[test]
fn the_kernels_own_files_are_behind_those_of_a_world() {
    for caller in Caller::all() {
        let script = "sleep 1000 & pid=$!
             cd /proc/$pid; ls net sched status >/dev/null && echo all; lsns -n -o TYPE -p $pid | grep -cx net
             kill $pid; wait $pid; test -e /proc/$pid || echo gone";
        let told = output_of(*caller, &["run", "--proc", "--fresh", "--", "sh", "-c", script]);
        assert_eq!(told, "all\n1\ngone\n", "{caller:?}");
    }
}

#[test]
fn a_tree_is_drawn_from_where_programs_look_for_its_root() {
    for caller in Caller::all() {
        let world = output_of(*caller, &["run", "--proc", "--", "sh", "-c", "pstree -p; true"]);
        for name in ["---anybinder(", "-binder-driver(", "-sh(", "-pstree("] {
            assert_eq!(world.matches(name).count(), 1, "{caller:?}: {name} in {world}");
        }
        let script = format!("exec 9</dev/binder; {PROGRAM} procview run pstree -p; true");
        let users = output_of(*caller, &["run", "--", "sh", "-c", &script]);
        assert!(users.contains("---sh(") && users.contains(")---pstree("), "{caller:?}: {users}");
    }
}

#[test]
fn a_device_that_is_open_has_its_path_whoever_has_looked_it_up_since() {
    for caller in Caller::all() {
        let script = "exec 3</dev/binder; stat -L /dev/binder >/dev/null; readlink /proc/$$/fd/3
             exec 4<./$$; rm ./$$; readlink /proc/$$/fd/4";
        let script = format!("cd \"$(mktemp -d)\"; touch ./$$; {script}; rmdir \"$PWD\"");
        let told = output_of(*caller, &["run", "--proc", "--", "sh", "-c", &script]);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "/dev/binderfs/binder", "{caller:?}: {told}");
        assert!(lines[1].ends_with(" (deleted)"), "{caller:?}: {told}");
    }
}

#[test]
fn the_users_of_a_binderfs_are_shown() {
    for caller in Caller::all() {
        let script = format!(
            "exec 9</dev/binder
             {PROGRAM} procview run -- sh -c 'ls /proc | grep -c \"^[0-9]\"; cat /proc/$0/comm
             readlink /proc/$0/fd/9 || true' $$"
        );
        let told = output_of(*caller, &["run", "--", "sh", "-c", &script]);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "2", "the opener and the reader: {told}");
        assert_eq!(lines[1], "sh", "{told}");
        // Out of a user namespace of its own nobody looks into processes.
        let is_seen = lines.get(2).is_some_and(|link| link.ends_with("binderfs/binder"));
        assert_eq!(is_seen, *caller == Caller::Root, "{told}");
    }
}

#[test]
fn a_binderfs_is_named_from_where_one_is() {
    if !Caller::all().contains(&Caller::Root) {
        return binder_testkit::skip("mounting needs root");
    }
    let script = "mount -t tmpfs tmpfs /mnt; mkdir /mnt/b /mnt/v; cd /mnt
        $1 mount b --stats && $1 procview mount v --binderfs b && exec 9<b/binder
        cat v/$$/comm; exec 9<&-; umount v b";
    let outcome = finish(&mut in_mounts(script, PROGRAM, &[]));
    assert_eq!(outcome.stdout, "sh\n", "{outcome:?}");
}

#[test]
fn who_reads_again_asks_nobody() {
    if !Caller::all().contains(&Caller::Root) {
        return binder_testkit::skip("mounting needs root");
    }
    // As ps and pstree read; a server that is stopped does not answer.
    let script = "mount -t tmpfs tmpfs /mnt; mkdir /mnt/proc; cd /mnt
        server() { pgrep --ns $$ --nslist mnt -f \"^$1 procview mount\"; }
        $1 procview mount proc --scenario=50
        server=$(server $1)
        look() { timeout 120 sh -c '
            for pid in 1 7 50; do
                cat $1/$pid/stat $1/$pid/status $1/$pid/cmdline $1/$pid/environ
                cat $1/$pid/ctty 2>&1; ls -ldi $1/$pid; ls -ai $1/$pid/task
                stat -L -c %i $1/$pid/ns/pid $1/$pid/ns/net; readlink $1/$pid/exe
            done; ls -a $1; stat -c %s $1/1/stat' look proc; }
        look > first; look > again; kill -s STOP $server
        look > third; echo $?; kill -s CONT $server
        grep -c State: third; cmp first third && cmp again third && umount proc";
    let outcome = finish(&mut in_mounts(script, PROGRAM, &[]));
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(outcome.stdout, "0\n3\n");
}

#[test]
fn a_directory_shows_it_until_it_is_unmounted() {
    if !Caller::all().contains(&Caller::Root) {
        return binder_testkit::skip("mounting needs root");
    }
    let script = "mount -t tmpfs tmpfs /mnt; mkdir /mnt/proc; cd /mnt
        server() { pgrep --ns $$ --nslist mnt -f \"^$1 procview mount\"; }
        $1 procview mount proc --scenario=50
        ls proc | grep -c '^[0-9]'
        server=$(server $1)
        cat proc/1/comm; cat /proc/$server/comm
        umount proc
        while [ -e /proc/$server ]; do sleep 0.01; done
        $1 procview mount proc --all; server=$(server $1)
        test -e proc/1/stat && test -e proc/self/exe && echo all
        kill -s TERM $server
        while [ -e /proc/$server ]; do sleep 0.01; done; ls proc
        $1 procview mount nowhere --all || true";
    let outcome = finish(&mut in_mounts(script, PROGRAM, &[]));
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(outcome.stdout, "50\ninit\nprocview\nall\n");
    assert!(outcome.stderr.contains("try: mkdir -p nowhere"), "{outcome:?}");
}
