//! C programs that know only `<linux/android/binder.h>` run on our driver.

use std::path::Path;
use std::process::{Command, Stdio};

use binder_testkit::skip;
use foreign::stage::{Stage, User, is_root_to};

fn stage_with(program: &str) -> Stage {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), program)
}

/// Runs `rawbinder`, which checks every echo itself, and returns the column `n` of each row it printed.
fn transactions(stage: &Stage, user: User, args: &[&str]) -> Vec<u64> {
    let table = stage.run(user, "rawbinder", args);
    let n = |row: &str| row.split('\t').nth(7)?.parse().ok();
    table.lines().map(|row| n(row).unwrap_or_else(|| panic!("no count in {row:?}"))).collect()
}

#[test]
fn a_program_that_has_never_heard_of_us_says_hello() {
    let stage = stage_with("hello_binder");
    for &user in User::all() {
        for world in [&[][..], &["--no-ring"]] {
            let said = stage.run_in(user, world, "hello_binder", &[]);
            assert_eq!(said, "hello, world; you are my parent\n", "as {user:?}, in {world:?}");
        }
    }
}

#[test]
fn files_go_with_calls_and_replies() {
    let stage = stage_with("send_files");
    for &user in User::all() {
        for world in [&[][..], &["--delivery", "store"], &["--no-seccomp"], &["--no-ring"]] {
            let said = stage.run_in(user, world, "send_files", &[]);
            assert_eq!(said, "there through a pipe, back in a file\n", "as {user:?}");
        }
    }
}

/// They enter the kernel by other instructions, and know its calls by other numbers.
#[test]
fn files_go_with_calls_of_32_bit_programs() {
    let Some(compiler) = compiler_of_32_bit_programs() else {
        return skip("this processor, or its compiler, has no 32-bit programs");
    };
    let stage = stage_with("hello_binder");
    let compiler: Vec<_> = compiler.iter().map(String::as_str).collect();
    stage.compile(&compiler, "send_files_32", "send_files_32");
    // Without a device it fails, and in its own words.
    if Command::new(stage.path_of("send_files_32")).stderr(Stdio::null()).status().is_err() {
        return skip("this kernel runs no 32-bit programs");
    }
    for &user in User::all() {
        for world in [&[][..], &["--delivery", "store"], &["--no-seccomp"]] {
            let said = stage.run_in(user, world, "send_files_32", &[]);
            assert_eq!(said, "there and back, by both ways\n", "as {user:?}, in {world:?}");
        }
    }
}

/// The compiler's command for programs without a library: there is none of 32 bits on most machines.
fn compiler_of_32_bit_programs() -> Option<Vec<String>> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let output = Command::new("gcc").arg("-print-multiarch").output().ok()?;
    let headers = format!("/usr/include/{}", String::from_utf8(output.stdout).ok()?.trim());
    let words = "gcc -m32 -ffreestanding -fno-stack-protector -fno-pie -no-pie -nostdlib -static";
    let words = words.split(' ').chain(["-idirafter", &headers]);
    Some(words.map(str::to_owned).collect())
}

/// As any other file. Calls by the device are for its opener alone.
#[test]
fn files_of_the_driver_itself_go_with_calls() {
    let stage = stage_with("own_files");
    for &user in User::all() {
        for world in [&[][..], &["--delivery", "store"], &["--no-seccomp"], &["--no-ring"]] {
            let state = "/dev/binderfs/binder_logs/state";
            let args = ["read", "/dev/binder", state, "/dev/binderfs/binder-control", "/bin/sh"];
            let said = stage.run_in(user, world, "own_files", &args);
            let mut lines: Vec<_> = said.lines().collect();
            lines.sort_unstable();
            let expected = [
                "binder-control: taken",
                "sh: taken",
                "state: taken",
                "the device: taken",
                "the same, does not serve it",
                "the same, does not serve it",
                "the same, does not serve it",
                "the same, does not serve it",
            ];
            assert_eq!(lines, expected, "as {user:?}, in {world:?}");
        }
    }
}

#[test]
fn files_that_a_killed_sender_has_left_count_until_nobody_can_receive_them() {
    let stage = stage_with("left_files");
    for &user in User::all() {
        for (limit, accepted) in
            [("user-descriptors=5", "5, 0, 5\n"), ("descriptors=3", "3, 3, 3\n")]
        {
            let said = stage.run_in(user, &["--limit", limit], "left_files", &[]);
            assert_eq!(said, accepted, "{limit} as {user:?}");
        }
    }
}

#[test]
fn a_driver_of_root_passes_files_of_others() {
    if !is_root_to("become another user") {
        return;
    }
    let stage = stage_with("send_files");
    let script = "setpriv --reuid 1000 --regid 1000 --clear-groups \"$0\"";
    let program = stage.path_of("send_files");
    let pids = "unshare --pid --fork --mount-proc \"$0\"";
    let users = "unshare --user --map-user 77 --map-group 77 --pid --fork \"$0\"";
    for script in [script, pids, users] {
        let said = stage.run(User::Myself, "sh", &["-ec", script, &program]);
        assert_eq!(said, "there through a pipe, back in a file\n", "{script}");
    }
}

#[test]
fn the_raw_benchmark_runs_in_all_its_modes() {
    let stage = stage_with("rawbinder");
    for &user in User::all() {
        let run = |args: &[&str]| transactions(&stage, user, args);
        assert_eq!(run(&["ping", "-n", "500", "-w", "10", "-s", "0,4,4096,100000"]), [500; 4]);
        assert_eq!(run(&["oneway", "-n", "2000", "-w", "10", "-s", "4,4096"]), [2000; 2]);
        assert_eq!(run(&["handles", "-n", "10000", "-b", "5000", "-w", "0"]), [5000; 2]);
        assert_eq!(
            run(&["multi", "-n", "200", "-w", "10", "-C", "1,8", "-T", "1,4"]),
            [200, 200, 1600, 1600]
        );
    }
}

/// Container managers bind-mount single nodes; an open through such a mount comes without a look-up.
#[test]
fn a_node_that_is_bind_mounted_serves_all_who_open_it() {
    if !is_root_to("bind-mount inside a world") {
        return;
    }
    let stage = stage_with("rawbinder");
    let script = r#"
node=$(mktemp)
mount --bind /dev/binderfs/binder "$node"
for mode in "ping -n 300 -w 10 -s 0,64,4096,100000" "multi -n 100 -w 10 -C 4 -T 3" "handles -n 300 -b 300" \
    "multi -n 300 -w 10 -s 6000 -C 8 -T 4"
do
    "$(dirname "$0")/rawbinder" $mode -d "$node"
done
umount "$node"
rm "$node"
"#;
    // By ioctls the thread that reads requests is the one that writes to pages which the kernel may ask it for.
    for world in [["--delivery", "auto"].as_slice(), &["--delivery", "store"], &["--no-ring"]] {
        let table = stage.run_script(User::Myself, world, script);
        assert_eq!(table.lines().count(), 7, "{table}");
    }
}

/// Runs a server by `serve` and then each of `calls`, all shell commands about `who_calls`, and returns what they
/// printed.
fn who_calls(stage: &Stage, user: User, serve: &str, calls: &[&str]) -> Vec<String> {
    let program = stage.path_of("who_calls");
    let fifo = "heard=$(mktemp -u); mkfifo \"$heard\"";
    let serve = serve.replace("WHO", &format!("{program} serve {}", calls.len()));
    let calls: String =
        calls.iter().map(|call| call.replace("WHO", &format!("{program} call")) + "\n").collect();
    let script = format!(
        "{fifo}\n({serve}) >\"$heard\" &\nexec 3<\"$heard\"\nread serving <&3\n{calls}cat <&3\nrm \"$heard\"\nwait\n"
    );
    let said = stage.run(user, "sh", &["-ec", &script]);
    said.lines().map(str::to_owned).collect()
}

/// The pid and uid of each line that begins with `word`.
fn identities(lines: &[String], word: &str) -> Vec<(i32, i32)> {
    let of = |line: &String| {
        let (pid, uid) = line.strip_prefix(word)?.trim().split_once(' ')?;
        Some((pid.parse().ok()?, uid.parse().ok()?))
    };
    lines.iter().filter_map(of).collect()
}

// C086, C088
#[test]
fn a_caller_is_told_by_its_own_pid_and_uid() {
    let stage = stage_with("who_calls");
    for &user in User::all() {
        let lines = who_calls(&stage, user, "WHO", &["WHO", "unshare -Ur WHO"]);
        let (callers, heard) = (identities(&lines, "am"), identities(&lines, "heard"));
        assert_eq!(callers.len(), 2, "{lines:?}");
        assert_eq!(heard[0], callers[0], "as {user:?}: {lines:?}");
        // Inside its namespace the second is root; the server's knows it by its real number.
        assert_eq!(heard[1], (callers[1].0, callers[0].1), "as {user:?}: {lines:?}");
    }
}

// C087, C088
#[test]
fn a_caller_that_the_server_cannot_see_has_no_number() {
    if !is_root_to("make pid namespaces and change users inside a world") {
        return;
    }
    let stage = stage_with("who_calls");
    let outside = who_calls(&stage, User::Myself, "WHO", &["unshare -pf WHO"]);
    assert_eq!(identities(&outside, "am"), [(1, 0)], "{outside:?}");
    let (pid, uid) = identities(&outside, "heard")[0];
    assert!(pid > 1 && uid == 0, "{outside:?}");

    let inside = who_calls(&stage, User::Myself, "unshare -pf WHO", &["WHO"]);
    assert_eq!(identities(&inside, "heard"), [(0, 0)], "{inside:?}");

    let mapped = "unshare -Ur WHO";
    let as_user = "setpriv --reuid 1000 --clear-groups WHO";
    let users = who_calls(&stage, User::Myself, mapped, &["WHO", as_user]);
    let uids: Vec<i32> = identities(&users, "heard").iter().map(|(_, uid)| *uid).collect();
    assert_eq!(uids, [0, -1], "{users:?}");
}

/// Run in a pid namespace of its own: a process opens the device and ends, its child keeps the file, and another
/// process comes to its number and calls.
const NUMBER_IN_OTHER_HANDS: &str = r#"
who=$(dirname "$0")/who_calls
heard=$(mktemp -u)
mkfifo "$heard"
"$who" serve 1 >"$heard" &
exec 3<"$heard"
rm "$heard"
read serving <&3
numbers=$(sh -c 'exec 4<>/dev/binder; sleep 1000 >/dev/null & echo $$ $!')
set -- $numbers
echo "former $1 0"
echo "$(($1 - 1))" >/proc/sys/kernel/ns_last_pid
"$who" call
kill "$2"
cat <&3
"#;

// C087
#[test]
fn a_caller_with_the_number_of_one_that_has_ended_is_known_by_it() {
    if !is_root_to("make a pid namespace and choose numbers in it") {
        return;
    }
    if !Path::new("/proc/sys/kernel/ns_last_pid").exists() {
        skip("this kernel lets nobody choose numbers");
        return;
    }
    let stage = stage_with("who_calls");
    let inside = r#"exec unshare --pid --fork --kill-child --mount-proc sh -ec "$1" "$0""#;
    let args = ["-ec", inside, &stage.path_of("sh"), NUMBER_IN_OTHER_HANDS];
    let said = stage.run(User::Myself, "sh", &args);
    let lines: Vec<String> = said.lines().map(str::to_owned).collect();
    let [former, caller, heard] = ["former", "am", "heard"].map(|word| identities(&lines, word));
    assert_eq!((caller.len(), &caller), (1, &former), "its number did not come again: {said}");
    assert_eq!(heard, former, "{said}");
}

// C236
#[test]
fn a_thousand_devices_outlive_their_mount() {
    if !is_root_to("mount another binderfs inside a world") {
        return;
    }
    let stage = stage_with("thousand_devices");
    let script = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
"$here/anybinder" mount "$dir"
"$here/thousand_devices" "$dir"
rmdir "$dir"
"#;
    let said = stage.run_script(User::Myself, &[], script);
    assert_eq!(said, "0 wrong answers\n");
}

#[test]
fn a_manager_that_asks_for_labels_gets_one_from_everybody() {
    let stage = stage_with("labelled");
    let own = std::fs::read_to_string("/proc/self/attr/current").unwrap_or_default();
    let own = own.trim_end_matches(['\0', '\n']);
    for &user in User::all() {
        for (world, text) in [
            (&[][..], "u:r:unlabeled:s0"),
            (&["--security-label", "u:r:tested:s0"], "u:r:tested:s0"),
        ] {
            let said = stage.run_in(user, world, "labelled", &[]);
            let label = if own.is_empty() { text } else { own };
            assert_eq!(said, format!("{label}\n"), "as {user:?}");
        }
    }
}

#[test]
fn a_server_is_as_nice_as_its_caller_if_that_is_wanted() {
    if !is_root_to("make a thread less nice") {
        return;
    }
    let stage = stage_with("nice");
    let run = |world: &[&str], args: &[&str]| stage.run_in(User::Myself, world, "nice", args);
    match run(&["--inherit-nice"], &[]).as_str() {
        "not allowed here\n" => skip("RLIMIT_NICE cannot be raised here"),
        said => assert_eq!(said, "serving: 7\nserved: 0\n"),
    }
    match run(&[], &["stays"]).as_str() {
        "not allowed here\n" => {}
        said => assert_eq!(said, "serving: 0\nserved: 0\n"),
    }
}

/// What `priority` prints of a scene in a world with these options, in order; the caller's lines apart. None where
/// no thread may be real-time.
fn play_priorities(
    stage: &Stage,
    world: &[&str],
    scene: &str,
) -> Option<(Vec<String>, Vec<String>)> {
    let args: Vec<_> = scene.split(' ').collect();
    let said = stage.run_in(User::Myself, world, "priority", &args);
    if said == "not allowed here\n" {
        println!("SKIPPED: no thread may be real-time here");
        return None;
    }
    let lines = said.lines().map(str::to_owned);
    Some(lines.partition(|line| !line.starts_with("caller")))
}

#[test]
fn a_thread_that_serves_has_the_priority_that_androids_kernels_give_it() {
    if !is_root_to("make a thread real-time") {
        return;
    }
    let stage = stage_with("priority");
    for (scene, serving, caller) in [
        // The node inherits real-time priorities.
        ("call 0x813 fifo 5", "fifo 5, not its children", "fifo 5"),
        ("call 0x813 rr 7", "rr 7, not its children", "rr 7"),
        ("call 0x813 nice 7", "normal 7", "normal 7"),
        // It does not.
        ("call 0x13 fifo 5", "normal 0", "fifo 5"),
        ("call 0x1f6 fifo 5", "normal -10", "fifo 5"),
        // It asks for SCHED_FIFO 3 at least.
        ("call 0x203 nice 0", "fifo 3, not its children", "normal 0"),
        ("call 0x203 fifo 5", "fifo 3, not its children", "fifo 5"),
        ("call 0xa03 fifo 5", "fifo 5, not its children", "fifo 5"),
        ("oneway 0xa03 fifo 50", "fifo 3, not its children", "fifo 50"),
        ("oneway 0x813 fifo 50", "normal 0", "fifo 50"),
        // The server is another user, and RLIMIT_RTPRIO allows it none.
        ("call 0xa03 fifo 5 limited", "normal 0", "fifo 5"),
    ] {
        let Some((said, callers)) = play_priorities(&stage, &["--inherit-priority"], scene) else {
            return;
        };
        assert_eq!(said, [format!("serving: {serving}"), "served: normal 0".into()], "{scene}");
        assert_eq!(callers, [format!("caller: {caller}")], "{scene}");
    }
}

#[test]
fn a_thread_has_its_own_priority_again_however_the_call_ends() {
    if !is_root_to("make a thread real-time") {
        return;
    }
    let stage = stage_with("priority");
    let realtime = |when: &str| format!("{when}: fifo 5, not its children");
    let inner = [realtime("inner"), "inner served: normal 0".into(), realtime("inner")];
    let nested = [realtime("serving"), realtime("back"), realtime("back from the dead")];
    for (scene, server, caller) in [
        ("nested 0x813 fifo 5", &nested[..], "caller: fifo 5"),
        ("left 0x813 fifo 5", &nested[..1], "caller of a dead thread: fifo 5"),
        ("gone 0x813 fifo 5", &[realtime("serving"), realtime("alone")], ""),
    ] {
        let Some((said, callers)) = play_priorities(&stage, &["--inherit-priority"], scene) else {
            return;
        };
        let (inners, mut said): (Vec<_>, Vec<_>) =
            said.into_iter().partition(|line| line.starts_with("inner"));
        assert_eq!(said.pop().as_deref(), Some("served: normal 0"), "{scene}");
        assert_eq!(said, server, "{scene}");
        assert_eq!(inners, inner[..inners.len()], "{scene}");
        assert_eq!(inners.is_empty(), !scene.starts_with("nested"), "{scene}");
        assert_eq!(callers.concat(), caller, "{scene}");
    }
}

#[test]
fn no_priority_is_inherited_unless_that_is_wanted() {
    if !is_root_to("make a thread real-time") {
        return;
    }
    let stage = stage_with("priority");
    for (world, scene, serving) in [
        (&[][..], "call 0xa03 fifo 5", "normal 0"),
        (&["--inherit-nice"], "call 0xa03 fifo 5", "normal 0"),
        (&["--inherit-nice"], "call 0x813 nice 7", "normal 7"),
    ] {
        let Some((said, _)) = play_priorities(&stage, world, scene) else { return };
        let expected = [format!("serving: {serving}"), "served: normal 0".into()];
        assert_eq!(said, expected, "{world:?} {scene}");
    }
}

/// It is a driver of root without CAP_SYS_NICE, whose clients have that.
#[test]
fn a_driver_that_may_not_change_priorities_leaves_them_and_says_so_once() {
    if !is_root_to("make a thread real-time") {
        return;
    }
    let stage = stage_with("priority");
    let script = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
RUST_LOG=debug setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "$here/anybinder" \
    mount --foreground --inherit-priority --devices binder,hwbinder "$dir" 2> "$dir.log" &
driver=$!
until [ -e "$dir/hwbinder" ]; do sleep 0.01; done
ln -sf "$dir/binder" "$dir/hwbinder" /dev
"$here/priority" nested 0x813 fifo 5
kill $driver
wait $driver
grep -c "may not change a thread's priority" "$dir.log"
rm -r "$dir" "$dir.log"
"#;
    let said = stage.run_script(User::Myself, &[], script);
    let mut lines: Vec<_> = said.lines().collect();
    if lines.remove(0) == "not allowed here" {
        return println!("SKIPPED: no thread may be real-time here");
    }
    assert_eq!(lines.pop(), Some("1"), "{said}");
    for line in lines {
        let priority = if line.starts_with("caller") { "fifo 5" } else { "normal 0" };
        assert!(line.ends_with(&format!(": {priority}")), "{said}");
    }
}

/// The same on the kernel's driver: each kind of signal ends a read, and few end a freeze.
#[test]
fn signals_interrupt_reads_and_restart_freezes() {
    let stage = stage_with("interrupted");
    for &user in User::all() {
        let said = stage.run(user, "interrupted", &[]);
        let expected = "\
a call, SA_RESTART: interrupted 3 times
a call, no SA_RESTART: interrupted 3 times
a call, SIGSTOP and SIGCONT: interrupted 3 times
a freeze, SA_RESTART: interrupted 0 times
a freeze, no SA_RESTART: interrupted 3 times
a freeze, SIGSTOP and SIGCONT: interrupted 0 times
calls in a storm of signals: all answered
SIGKILL: killed
";
        assert_eq!(said, expected, "as {user:?}");
    }
}

/// Where data is stored into the page cache, the driver itself serves the page that it is made to touch.
#[test]
fn a_client_that_points_into_its_own_buffer_is_answered() {
    let stage = stage_with("own_buffer");
    for &user in User::all() {
        for delivery in ["auto", "store"] {
            let said = stage.run_in(user, &["--delivery", delivery], "own_buffer", &[]);
            let expected = "commands from there: Invalid argument\n\
                            nothing to read: Resource temporarily unavailable\n";
            assert_eq!(said, expected, "as {user:?}, delivery {delivery}");
        }
    }
}

#[test]
fn a_client_that_sends_from_the_receivers_buffer_is_served() {
    let stage = stage_with("receivers_buffer");
    for &user in User::all() {
        for delivery in ["auto", "store"] {
            let said = stage.run_in(user, &["--delivery", delivery], "receivers_buffer", &[]);
            assert_eq!(said, "64 bytes, the first 0\n", "as {user:?}, delivery {delivery}");
        }
    }
}

/// The driver tells its callers why a file did not reach its receiver.
#[test]
fn the_log_says_why_a_file_was_not_delivered() {
    let stage = stage_with("undelivered");
    let script = r#"
here=$(dirname "$0")
for way in full traced; do "$here/undelivered" $way; done
"$here/anybinder" log | sed 's/.*code/code/'
told=$(mktemp)
"$here/anybinder" log --follow >$told &
until [ "$(wc -l <$told)" -ge 2 ]; do sleep 0.01; done
kill $!
wc -l <$told; rm $told
sed 's/.* size/size/' /dev/binderfs/binder_logs/failed_transaction_log
"#;
    let expected = "failed\nfailed\n\
        code 0  24 bytes  BR_FAILED_REPLY (the receiver has no room for more descriptors)\n\
        code 0  24 bytes  BR_FAILED_REPLY (the receiver is traced by another process)\n\
        2\n\
        size 24:8 ret 29201/-24 l=0\n\
        size 24:8 ret 29201/-1 l=0\n";
    for world in [&[][..], &["--no-seccomp"]] {
        let said = stage.run_script(User::Myself, world, script);
        assert_eq!(said, expected, "in {world:?}");
    }
}

/// A caller hears that the server is gone, even if another process still has the server's file open.
#[test]
fn a_server_that_is_out_of_reach_is_missed_at_once() {
    let stage = stage_with("gone_server");
    for world in [&[][..], &["--delivery", "store"], &["--no-seccomp"], &["--no-ring"]] {
        for (way, manager) in
            [("killed", "free"), ("circular", "free"), ("executes", "taken"), ("unmaps", "taken")]
        {
            let said = stage.run_in(User::Myself, world, "gone_server", &[way]);
            assert_eq!(said, format!("dead\ndead\n{manager}\n"), "{way}, in {world:?}");
        }
    }
}

/// Those who wait for a thread's reply hear of its end at once, and its process goes on.
#[test]
fn a_thread_that_ends_without_a_word_is_noticed() {
    let stage = stage_with("thread_death");
    for &user in User::all() {
        for world in [&[][..], &["--no-seccomp"]] {
            let said = stage.run_in(user, world, "thread_death", &[]);
            assert_eq!(said, "dead\ndead\nanswered\n", "as {user:?}, in {world:?}");
        }
    }
}

/// One who withholds pages of its own memory waits alone, and can be ended and interrupted. (A client of the ring waits
/// for them by itself, before the driver knows.)
#[test]
fn pages_that_never_come_are_missed_by_nobody_else() {
    let stage = stage_with("withheld_pages");
    for &user in User::all() {
        for world in [&[][..], &["--delivery", "store"]] {
            let said = stage.run_in(user, world, "withheld_pages", &[]);
            if let Some(reason) = said.strip_prefix("SKIPPED: ") {
                skip(reason.trim_end());
                continue;
            }
            let mut expected = String::new();
            let further = "further returns";
            for way in ["commands", "data", "large data", "objects", "returns", further] {
                expected += &format!("{way}: served, gone\n");
            }
            for way in ["commands", "data", "large data"] {
                expected += &format!("{way}: interrupted\n");
            }
            assert_eq!(said, expected, "as {user:?}, in {world:?}");
        }
    }
}

/// One who is held up while files are on their way to it waits alone, and none of them stays behind.
#[test]
fn receivers_that_are_held_up_keep_no_files_from_others() {
    let stage = stage_with("held_receivers");
    for &user in User::all() {
        for world in [&[][..], &["--delivery", "store"], &["--no-seccomp"], &["--no-ring"]] {
            let said = stage.run_in(user, world, "held_receivers", &[]);
            if let Some(reason) = said.strip_prefix("SKIPPED: ") {
                skip(reason.trim_end());
                continue;
            }
            let ways = ["returns", "request", "stopped"];
            let expected = ways.map(|way| format!("{way}: served, gone, its files as well\n"));
            assert_eq!(said, expected.concat(), "as {user:?}, in {world:?}");
        }
    }
}

#[test]
fn a_driver_that_is_killed_leaves_nobody_waiting() {
    if !is_root_to("mount another binderfs inside a world") {
        return;
    }
    let stage = stage_with("rawbinder");
    // The client says when its first calls are over, and then makes more than it ever could.
    let script = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
"$here/anybinder" mount --foreground --devices binder "$dir" &
driver=$!
until [ -e "$dir/binder" ]; do sleep 0.01; done
"$here/rawbinder" ping -n 100 -w 10 -s 4 -d "$dir/binder" >/dev/null
"$here/rawbinder" ping -n 1000000000 -w 10 -s 4 -d "$dir/binder" >/dev/null 2>&1 &
client=$!
sleep 0.2
kill -KILL $driver
if wait $client; then echo "still served"; else echo "failed with $?"; fi
ls "$dir" 2>/dev/null || echo "the mount answers nothing"
umount "$dir"
rmdir "$dir"
"#;
    let said = stage.run_script(User::Myself, &[], script);
    assert_eq!(said, "failed with 1\nthe mount answers nothing\n");
}

#[test]
fn a_client_that_has_replaced_its_receive_buffer_holds_nobody_up() {
    if !is_root_to("bind-mount inside a world") {
        return;
    }
    let stage = stage_with("replaced_buffer");
    let script = r#"
here=$(dirname "$0")
mount -t tmpfs tmpfs /mnt
cd /mnt; touch node; mkdir other
mount --bind /dev/binderfs/binder node
"$here/anybinder" mount --foreground --delivery store --devices binder other &
driver=$!
until [ -e other/binder ]; do sleep 0.01; done
"$here/replaced_buffer" node other/binder $driver || { kill -KILL $driver; exit 1; }
umount other
wait
"#;
    let said = stage.run_script(User::Myself, &["--no-ring"], script);
    assert_eq!(said, "others go on\nthe call came\n");
}

#[test]
fn what_others_write_to_the_ring_of_a_process_is_none_of_its_calls_once_it_is_another_user() {
    if !is_root_to("become a user and root again") {
        return;
    }
    let said = stage_with("posing").run(User::Myself, "posing", &[]);
    let next = "the next thread's call: left alone";
    let other = "the other's call: refused";
    assert_eq!(said, format!("a call of user 4000\n{next}\n{other}\na call of user 0\n"));
}

#[test]
fn clients_that_scribble_over_their_rings_harm_no_other() {
    let stage = stage_with("hostile_ring");
    for &user in User::all() {
        for seed in ["1", "9"] {
            let script = format!(
                r#"
here=$(dirname "$0")
"$here/hostile_ring" 2 {seed}
until [ "$("$here/anybinder" ps)" = "No process has a device open." ]; do sleep 0.05; done
"#
            );
            let said = stage.run_script(user, &[], &script);
            assert_eq!(said, "all answers were right\n", "as {user:?}, seed {seed}");
        }
    }
}
