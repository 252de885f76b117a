//! The library that a world's programs preload is not noticed by them.

use std::path::Path;
use std::process::Command;

use binder_testkit::skip;
use foreign::stage::{Stage, User, is_root_to};
use rustix::thread::{self, CpuSet};

/// What `unusual_calls` plays. The last needs root.
const SCENES: [&str; 7] =
    ["pointers", "numbers", "processes", "threads", "signals", "modes", "users"];

/// What `usual_calls` plays.
const USUAL_SCENES: [&str; 9] =
    ["rooms", "polls", "epolls", "wrappers", "sigwait", "exec", "closing", "rights", "stacks"];

/// The world in which programs preload it: any.
const PRELOADED: &[&str] = &[];

const PROGRAM: &str = "unusual_calls";

fn stage() -> Stage {
    stage_of(PROGRAM)
}

fn stage_of(program: &str) -> Stage {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), program)
}

/// Plays scenes by the ring and by ioctls.
fn compare(stage: &Stage, user: User, program: &str, scenes: &[&str]) {
    for scene in scenes {
        let plain = stage.run_in(user, &["--no-ring"], program, &[scene]);
        let by_ring = stage.run_in(user, PRELOADED, program, &[scene]);
        assert_eq!(by_ring, plain, "{scene} as {user:?}");
    }
}

/// Plays all scenes of `unusual_calls`, once it is known that it has a ring.
fn play_all(stage: &Stage, program: &str) {
    for &user in User::all() {
        assert_eq!(stage.run_in(user, &["--no-ring"], program, &["way"]), "by ioctls\n");
        assert_eq!(stage.run_in(user, PRELOADED, program, &["way"]), "by a ring\n");
        let is_root = matches!(user, User::Myself) && rustix::process::geteuid().is_root();
        let scenes = if is_root { &SCENES[..] } else { &SCENES[..SCENES.len() - 1] };
        compare(stage, user, program, scenes);
    }
}

#[test]
fn usual_programs_see_no_difference() {
    let stage = stage_of("usual_calls");
    for &user in User::all() {
        compare(&stage, user, "usual_calls", &USUAL_SCENES);
    }
}

#[test]
fn unusual_programs_see_no_difference() {
    play_all(&stage(), PROGRAM);
}

/// While one makes the ring, the others make ioctls.
#[test]
fn threads_that_begin_at_once_have_a_ring() {
    let stage = stage();
    for &user in User::all() {
        let said = stage.run_in(user, PRELOADED, PROGRAM, &["ways"]);
        assert_eq!(said, "400 of 400 by a ring\n", "as {user:?}");
    }
}

/// Two programs that wait for each other on one processor have the driver's thread there, or theirs, and no other thread of its; then it is
/// free again.
#[test]
fn the_driver_goes_to_a_processor_that_caller_and_server_share() {
    let script = r#"
own=$(grep Cpus_allowed_list /proc/self/status | cut -f 2)
bound() {
    for task in /proc/$ANYBINDER_DAEMON_PID/task/*; do
        allowed=$(grep Cpus_allowed_list $task/status 2>/dev/null | cut -f 2)
        case $allowed in "$own" | "") ;; *) echo "$(cat $task/comm) $allowed";; esac
    done | sort -u
}
first=${own%%[-,]*}
ANYBINDER_LANES=0 taskset --cpu-list $first "$(dirname "$0")/rawbinder" ping -n 20000 -s 64 -p none >/dev/null &
# A process that has ended and is not waited for has no program.
while [ "$(bound)" != "ring $first" ]; do readlink /proc/$!/exe >/dev/null; done
wait $!
while [ -n "$(bound)" ]; do sleep 0.01; done
echo bound and free"#;
    if std::thread::available_parallelism().is_ok_and(|it| it.get() == 1) {
        return skip("there is one processor alone");
    }
    let benchmark = stage_of("rawbinder");
    for &user in User::all() {
        assert_eq!(
            benchmark.run_script(user, PRELOADED, script),
            "bound and free\n",
            "as {user:?}"
        );
    }
}

/// Where a thread sleeps on one bell alone, each busy client takes one of the driver's. There are fewer than these clients of two users.
#[test]
fn more_clients_call_than_the_driver_has_threads() {
    let stage = stage_of("rawbinder");
    stage.compile(&["gcc"], "under_filter", "under_filter");
    let by = [&stage.path_of("under_filter"), "refuse", "futex_waitv"];
    let script = r#"
call() { device=$1; shift; "$@" multi -d $device -n 200 -w 20 -s 64 -C 24 -T 4 -p none | grep -c multi; }
[ $(id -u) != 0 ] || other="setpriv --reuid 65534 --clear-groups"
call /dev/hwbinder $other "$(dirname "$0")/rawbinder" &
call /dev/binder "$(dirname "$0")/rawbinder"
wait $!"#;
    for &user in User::all() {
        assert_eq!(stage.run_script_by(&by, user, PRELOADED, script), "1\n1\n", "as {user:?}");
    }
}

/// Signals, jumps, threads that end, forks, closes and stops, all at once.
#[test]
fn disturbed_programs_get_their_own_answers() {
    let stage = stage_of("disturbed");
    for &user in User::all() {
        for world in [PRELOADED, &["--no-ring"]] {
            let said = stage.run_in(user, world, "disturbed", &["2"]);
            assert_eq!(said, "all echoes were right\n", "as {user:?}, in {world:?}");
        }
    }
}

#[test]
fn programs_of_another_c_library_see_no_difference() {
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        skip("musl-gcc is not installed");
        return;
    }
    let stage = stage();
    // musl has no headers of the kernel; those of this machine come after its own.
    let headers = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"];
    let compiler: Vec<_> = ["musl-gcc"].into_iter().chain(headers).collect();
    stage.compile(&compiler, PROGRAM, "unusual_musl");
    play_all(&stage, "unusual_musl");
}

#[test]
fn who_calls_is_asked_at_each_call() {
    if !is_root_to("change users inside a world") {
        return;
    }
    assert_eq!(stage().run_in(User::Myself, PRELOADED, PROGRAM, &["users"]), "0, 1000, 0, 1234\n");
}

/// Where all have one processor, the server may run before its caller sleeps; where they have several, before its
/// caller stops looking for the answer.
#[test]
fn a_call_that_is_answered_by_a_signal_ends() {
    let stage = stage_of("answered_by_signal");
    let all = thread::sched_getaffinity(None).expect("a thread may know where it runs");
    let mut first = CpuSet::new();
    first.set((0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).expect("it runs somewhere"));
    for &user in User::all() {
        for cpus in [first, all] {
            // Children have it from this thread.
            thread::sched_setaffinity(None, &cpus).expect("those that there are");
            let said = stage.run_in(user, PRELOADED, "answered_by_signal", &["4000"]);
            assert_eq!(said, "no flags: 4000 ended, 0 not\nSA_RESTART: 4000 ended, 0 not\n");
        }
    }
}

/// It would be in the way of programs whose C library is another, or that have none of it.
#[test]
fn the_library_needs_no_other() {
    let script = r#"
library=${LD_PRELOAD##*:}
nm --dynamic --undefined-only "$library" | while read -r kind name; do echo "$kind $name"; done
nm --dynamic --defined-only "$library" | while read -r address kind name; do echo "$kind $name"; done
readelf --dynamic "$library" | grep -c -E 'NEEDED|TEXTREL|RPATH|RUNPATH' || true
readelf --program-headers --wide "$library" | grep -c TLS || true
# Tables of zeros take no room in it.
[ "$(stat -c %s "$library")" -lt 100000 ] || stat -c "%s bytes" "$library"
"#;
    let said = stage().run_script(User::Myself, PRELOADED, script);
    let vfork = if cfg!(target_arch = "x86_64") { "T vfork\n" } else { "" };
    let needed = "w __errno\nw __errno_location\nw environ\nw sched_getcpu\n";
    assert_eq!(said, format!("{needed}T ioctl\n{vfork}0\n0\n"));
}

#[test]
fn calls_come_through_a_library_that_is_preloaded_before() {
    let stage = stage();
    stage.compile(&["gcc", "-shared", "-fPIC"], "other_ioctl", "other_ioctl.so");
    let script = r#"
here=$(dirname "$0")
LD_PRELOAD=$here/other_ioctl.so:$LD_PRELOAD "$here/unusual_calls" way
"#;
    for &user in User::all() {
        let said = stage.run_script(user, PRELOADED, script);
        assert_eq!(said, "by a ring\nall ioctls were passed on\n", "as {user:?}");
    }
}

/// An allocator whose threads and pages are its own, and a clock that is not the kernel's; the loader knows what `$LIB` is.
#[test]
fn programs_with_other_preloaded_libraries_see_no_difference() {
    let stage = stage_of("usual_calls");
    for library in ["libjemalloc.so.2", "/usr/$LIB/faketime/libfaketimeMT.so.1"] {
        let trial = Command::new("true").env("LD_PRELOAD", library).output();
        if !trial.expect("coreutils are installed").stderr.is_empty() {
            skip(format!("{library} is not installed"));
            continue;
        }
        for &user in User::all() {
            for scene in ["polls", "wrappers", "sigwait", "exec", "stacks"] {
                let script = format!(
                    r#"FAKETIME=-1d LD_PRELOAD='{library}':$LD_PRELOAD "$(dirname "$0")/usual_calls" {scene}"#
                );
                let plain = stage.run_script(user, &["--no-ring"], &script);
                let by_ring = stage.run_script(user, PRELOADED, &script);
                assert_eq!(by_ring, plain, "{scene} with {library} as {user:?}");
            }
        }
    }
}

/// A program that allows itself few system calls is told to leave the ring, before its first call or after some.
#[test]
fn programs_that_confine_themselves_go_on() {
    let stage = stage_of("confined");
    for &user in User::all() {
        for world in [PRELOADED, &["--no-ring"], &["--no-seccomp"]] {
            for calls in ["0", "2", "20"] {
                let said = stage.run_in(user, world, "confined", &[calls]);
                assert_eq!(said, "20 answered\n".repeat(2), "as {user:?}, in {world:?}");
            }
        }
    }
}

/// Its runtime wants to be the first library.
#[test]
fn programs_with_an_address_sanitizer_start() {
    let stage = stage();
    stage.compile(&["gcc", "-fsanitize=address"], "hello_binder", "hello_sanitized");
    let script = r#""$(dirname "$0")/hello_sanitized""#;
    for &user in User::all() {
        let said = stage.run_in(user, PRELOADED, "hello_sanitized", &[]);
        assert_eq!(said, "hello, world; you are my parent\n", "as {user:?}");
        let said = stage.run_script(user, PRELOADED, script);
        assert_eq!(said, "hello, world; you are my parent\n", "as {user:?}, from a shell");
    }
}
