//! What a call costs the daemon of system calls for memory.

use std::process::{Command, Stdio};

use crate::caller::{PROGRAM, finish};

/// Calls of the long run beyond those of the short one, there and back.
const MORE_CALLS: u32 = 1600;
/// What may differ between two runs: pages that have been idle go back by the clock, and a busy machine takes its time.
const MAX_MORE: u32 = MORE_CALLS / 4;

#[test]
fn a_call_into_warm_pages_costs_no_system_call_for_memory() {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        return binder_testkit::skip("strace(1) is not installed");
    }
    for delivery in ["auto", "store"] {
        // The bench makes a round of calls that are not counted, and as many that are.
        let (few, many) = (200, 200 + MORE_CALLS / 2);
        let counts = [few, many].map(|calls| memory_calls(delivery, calls));
        let [Some(short), Some(long)] = counts else {
            return binder_testkit::skip("strace(1) may not look at the daemon");
        };
        assert!(
            long < short + MAX_MORE,
            "{delivery}: {short}, then {long} system calls for memory"
        );
    }
}

/// How many system calls for memory the daemon makes while the bench makes `calls` calls; `None` if
/// nobody may look.
fn memory_calls(delivery: &str, calls: u32) -> Option<u32> {
    let script = r#"
counts=$(mktemp)
strace -qq -f -c -U calls -e trace=mmap,munmap,mremap,brk,madvise,fallocate -o "$counts" \
    -p "$ANYBINDER_DAEMON_PID" &
tracer=$!
until grep -q "TracerPid:.[1-9]" "/proc/$ANYBINDER_DAEMON_PID/status"; do
    kill -0 $tracer || { echo "not permitted"; exit; }
    sleep 0.05
done
ANYBINDER_NO_RING=1 "$0" bench ping --pin none --rounds 1 --calls "$1" --sizes 65536 > /dev/null || exit 1
kill -INT $tracer
wait $tracer
awk '$1 ~ /^[0-9]+$/ && $2 != "total" { calls += $1 } END { print calls + 0 }' "$counts"
rm "$counts"
"#;
    let calls = calls.to_string();
    let arguments = ["run", "--delivery", delivery, "--", "sh", "-c", script, PROGRAM, &calls];
    let outcome = finish(Command::new(PROGRAM).args(arguments));
    match outcome.stdout.trim() {
        "not permitted" => None,
        count => Some(count.parse().unwrap_or_else(|_| panic!("{outcome:?}"))),
    }
}
