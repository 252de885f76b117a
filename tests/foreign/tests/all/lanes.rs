//! Calls that pass our driver by.

use std::fs;
use std::iter;
use std::path::Path;

use binder_os::ThreadStatus;
use foreign::stage::{Stage, User, is_root_to};
use rustix::thread::{self, CapabilitySet};

/// Runs all checks of lanes, as every user.
#[test]
fn calls_that_pass_the_driver_by_are_calls() {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let checks = Path::new(env!("CARGO_BIN_EXE_lane_checks"));
    let stage = Stage::new(target_dir, &[checks, Path::new("/bin/sh")]);
    let script = r#"
here=$(dirname "$0")
"$here/lane_checks"
"$here/anybinder" state --json"#;
    for &user in User::all() {
        let said = stage.run_script(user, &[], script);
        println!("as {user:?}:\n{said}");
        let left = said.lines().filter(|line| line.starts_with('{'));
        assert_eq!(left.count(), 0, "as {user:?}: {said}");
    }
}

/// Runs the checks of the library with a lane after each call, so that most things happen to one.
#[test]
fn the_checks_of_the_library_pass_with_lanes() {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let checks = Path::new(env!("CARGO_BIN_EXE_library_checks"));
    let stage = Stage::new(target_dir, &[checks, Path::new("/bin/sh")]);
    let script = r#"
here=$(dirname "$0")
ANYBINDER_LANES=1 "$here/library_checks" --color never
"$here/anybinder" state --json"#;
    let said = stage.run_script(User::Myself, &[], script);
    let (checked, left) = said.split_once("test result:").unwrap_or_else(|| panic!("{said}"));
    assert!(!checked.contains("FAILED"), "{said}");
    let processes = left.lines().filter(|line| line.starts_with('{'));
    assert_eq!(processes.count(), 0, "{left}");
}

/// The programs of the checks, and these of `tests/raw`.
fn stage_with(sources: &[&str]) -> Stage {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let checks = Path::new(env!("CARGO_BIN_EXE_lane_checks"));
    let stage = Stage::new(target_dir, &[checks, Path::new("/bin/sh")]);
    for source in sources {
        stage.compile(&["gcc", "-pthread"], source, source);
    }
    stage
}

/// What a program prints that knows nothing of lanes.
fn run_program(stage: &Stage, user: User, variables: &str, command: &str) -> String {
    let script = format!("here=$(dirname \"$0\"); {variables} \"$here\"/{command}");
    stage.run_script(user, &[], &script)
}

#[test]
fn a_program_that_knows_nothing_of_lanes_calls_by_them() {
    let stage = stage_with(&["lane_client"]);
    for &user in User::all() {
        let said = run_program(&stage, user, "ANYBINDER_LANES=4", "lane_client $here/lane_checks");
        let scenes = "sizes long keeps refusals pointers signals files modes threads ends";
        assert_eq!(said.split_whitespace().collect::<Vec<_>>().join(" "), scenes, "as {user:?}");
        let ways = [
            ("", "by a lane\n"),
            ("ANYBINDER_LANES=", "by the driver\n"),
            ("ANYBINDER_LANES=0", "by the driver\n"),
            ("ANYBINDER_LANES=4x", "by the driver\n"),
        ];
        for (variables, expected) in ways {
            let way = run_program(&stage, user, variables, "lane_client $here/lane_checks way");
            assert_eq!(way, expected, "as {user:?}, with {variables:?}");
        }
    }
}

#[test]
fn a_program_that_knows_nothing_of_lanes_serves_them() {
    let stage = stage_with(&["lane_server", "lane_client"]);
    let once = "signals identities nesting relays leaves killed by itself files arrays taken arrays \
                crowds confined ends filtered";
    for &user in User::all() {
        let said = run_program(&stage, user, "ANYBINDER_LANES=4", "lane_server");
        let scenes = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(scenes, format!("{once} {once}"), "as {user:?}");
        let said = run_program(&stage, user, "ANYBINDER_LANES=4", "lane_client $here/lane_server");
        assert_eq!(said.lines().last(), Some("ends"), "as {user:?}: {said}");
    }
}

/// A driver that may have no more files open has pidfds of a few threads of a process alone.
const FEW_FILES: [&str; 2] = ["prlimit", "--nofile=128"];

/// Threads of which the driver has no pidfd, as on older kernels: each is known by its directory in /proc, and nothing tells of its end.
#[test]
fn threads_without_a_descriptor_have_lanes() {
    let stage = stage_with(&["lane_server", "lane_client"]);
    let run = |command: &str| {
        let script = format!("here=$(dirname \"$0\"); export ANYBINDER_LANES=4; {command}");
        stage.run_script_by(&FEW_FILES, User::Myself, &[], &script)
    };
    let said = run("\"$here/lane_server\"");
    assert_eq!(said.lines().last(), Some("filtered"), "{said}");
    // In a container with a /proc of its own they have other numbers than for the driver.
    let container = is_root_to("mount another /proc").then_some("unshare -pf --mount-proc");
    for container in iter::once("").chain(container) {
        for server in ["lane_server", "lane_checks"] {
            let way = run(&format!("{container} \"$here/lane_client\" \"$here/{server}\" way"));
            assert_eq!(way, "by a lane\n", "to {server}, in {container:?}");
        }
    }
}

/// Makes a user namespace whose users are those from 100000 on, and which ends with the script, however that does. `$inside` runs a
/// command there.
const IN_USER_NAMESPACE: &str = r#"
unshare --user sleep 1000 & sleeper=$!
trap 'kill "$sleeper"' EXIT
while [ "$(readlink /proc/$sleeper/ns/user)" = "$(readlink /proc/self/ns/user)" ]; do sleep 0.1; done
echo 0 100000 65536 >/proc/$sleeper/uid_map
echo 0 100000 65536 >/proc/$sleeper/gid_map
inside="nsenter --user --target $sleeper"
"#;

/// Who calls a server in a container is told as the container knows users and processes.
#[test]
fn containers_have_lanes() {
    if !is_root_to("map users, and mount another /proc") {
        return;
    }
    let stage = stage_with(&["lane_server", "lane_client", "who_calls"]);
    let run = |command: &str| {
        let script = format!(
            "here=$(dirname \"$0\"); export ANYBINDER_LANES=4; {IN_USER_NAMESPACE}\n\
             {command}"
        );
        stage.run_script(User::Myself, &[], &script)
    };
    for container in ["$inside", "unshare -pf --mount-proc", "$inside unshare -pf --mount-proc"] {
        for server in ["lane_server", "lane_checks"] {
            let way = run(&format!("{container} \"$here/lane_client\" \"$here/{server}\" way"));
            assert_eq!(way, "by a lane\n", "to {server}, by {container}");
        }
    }
    let said = run("$inside \"$here/lane_server\"");
    assert_eq!(said.lines().last(), Some("filtered"), "{said}");
    let callers = [("100007", "7"), ("100000", "0"), ("165534", "65534"), ("1000", "-1")];
    for (caller, seen) in callers {
        let said = run(&format!(
            "heard=$(mktemp -u); mkfifo \"$heard\"; \
             $inside \"$here/who_calls\" serve 200 >\"$heard\" & exec 3<\"$heard\"; read serving <&3; \
             setpriv --reuid {caller} --clear-groups \"$here/who_calls\" call 200; cat <&3; rm \"$heard\""
        ));
        let heard: Vec<_> = said.lines().filter_map(|it| it.strip_prefix("heard ")).collect();
        let uid = |line: &&str| line.split_once(' ').map(|(_, uid)| uid == seen);
        assert_eq!(heard.len(), 200, "{said}");
        assert!(heard.iter().all(|line| uid(line) == Some(true)), "of {caller}: {said}");
    }
}

/// Whether a driver that this process starts may read the filters of others, which the kernel allows those alone who may do everything,
/// everywhere.
fn may_read_filters() -> bool {
    let capabilities = thread::capabilities(None).expect("each process has some or none");
    let users = fs::read_to_string("/proc/self/uid_map").expect("there is /proc");
    let may = capabilities.effective.contains(CapabilitySet::SYS_ADMIN)
        && ThreadStatus::own().is_ok_and(|status| status.filters == 0)
        && users.split_whitespace().eq(["0", "0", "4294967295"]);
    if !may {
        binder_testkit::skip("only root, outside of any container, may read filters");
    }
    may
}

/// The system calls by which a program of the checks starts and calls the driver, with the C libraries of Debian and Ubuntu.
const OWN_CALLS: &str = "access,alarm,arch_prctl,brk,clock_nanosleep,clone,clone3,close,dup2,dup3,execve,exit,exit_group,\
    faccessat,fcntl,fstat,futex,getrandom,ioctl,lseek,madvise,mmap,mprotect,munmap,newfstatat,openat,pause,pipe2,ppoll,\
    prctl,pread64,prlimit64,read,rseq,rt_sigaction,rt_sigprocmask,set_robust_list,set_tid_address,setitimer,write";
/// Those that it does not make by itself, but with a ring, and with lanes.
const CALLS_OF_RINGS: &str = "gettid,getcpu,memfd_create,ftruncate,fstatfs,socketpair,recvmsg";
const CALLS_OF_LANES: &str =
    "getpid,sigaltstack,futex_waitv,clock_gettime,mremap,readlinkat,statfs,statx";

/// In how many rounds of calls a program is expected to come to call by lanes, and in how many it would make one.
const MANY_ROUNDS: u32 = 1_000;
const FEW_ROUNDS: u32 = 4;

/// Containers and services have filters.
#[test]
fn programs_have_lanes_under_filters_that_let_all_they_take_pass() {
    let stage = stage_with(&["under_filter", "lane_server", "lane_client"]);
    let way = |user, rounds: u32, variables: &str, filters: &str| {
        let client = "\"$here/lane_client\" \"$here/lane_server\" way";
        let script = format!(
            "here=$(dirname \"$0\"); PATH=$here:$PATH; export ANYBINDER_LANES=4 {variables}; {filters} {client} {rounds}"
        );
        stage.run_script(user, &[], &script)
    };
    let harmless =
        ["under_filter refuse reboot", "under_filter end reboot under_filter refuse kill"];
    // All of them have been seen by the world's supervisor.
    for &user in User::all() {
        for filters in harmless {
            assert_eq!(
                way(user, MANY_ROUNDS, "", filters),
                "by a lane\n",
                "as {user:?}, under {filters}"
            );
        }
        for harmful in ["statx", "memfd_create"] {
            let filters = format!("under_filter end {harmful} {}", harmless[0]);
            assert_eq!(
                way(user, FEW_ROUNDS, "", &filters),
                "by the driver\n",
                "as {user:?}, under {filters}"
            );
        }
    }
    let other = "; under_filter end statx true";
    for &user in User::all().iter().filter(|user| matches!(user, User::Ordinary)) {
        let said = way(user, FEW_ROUNDS, other, harmless[0]);
        assert_eq!(said, "by the driver\n", "who has which of them is not known");
    }
    if !may_read_filters() {
        return;
    }
    let way =
        |rounds, variables: &str, filters: &str| way(User::Myself, rounds, variables, filters);
    assert_eq!(way(MANY_ROUNDS, other, harmless[0]), "by a lane\n", "its own are read");
    // A program is ended for none of the calls that are not its own.
    let open = cfg!(target_arch = "x86_64").then_some("open");
    for call in CALLS_OF_RINGS.split(',').chain(CALLS_OF_LANES.split(',')).chain(open) {
        let filters = format!("under_filter refuse reboot under_filter end {call}");
        assert_eq!(way(FEW_ROUNDS, "", &filters), "by the driver\n", "under {filters}");
    }
    // And there are no others.
    let own = format!("under_filter only {OWN_CALLS}");
    assert_eq!(
        way(FEW_ROUNDS, "ANYBINDER_NO_RING=1", &own),
        "by the driver\n",
        "the C library makes others"
    );
    let all = format!("{own},{CALLS_OF_RINGS},{CALLS_OF_LANES},open");
    assert_eq!(way(MANY_ROUNDS, "", &all), "by a lane\n");
    let said = stage.run_script(
        User::Myself,
        &[],
        "here=$(dirname \"$0\"); export ANYBINDER_LANES=4; \"$here/under_filter\" refuse reboot \"$here/lane_server\"",
    );
    assert_eq!(said.lines().last(), Some("filtered"), "{said}");
}

/// Signals, jumps, threads that end, forks, closes and stops, all at once.
#[test]
fn disturbed_programs_get_their_own_answers_by_lanes() {
    let stage = stage_with(&["disturbed", "lane_server"]);
    for &user in User::all() {
        for server in ["lane_checks", "lane_server"] {
            let command = format!("disturbed 2 $here/{server}");
            let said = run_program(&stage, user, "ANYBINDER_LANES=2", &command);
            assert_eq!(said, "all echoes were right\n", "as {user:?}, served by {server}");
        }
    }
}
