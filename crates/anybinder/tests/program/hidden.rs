//! Clients that not everybody may look at, and a /proc that shows nobody more than he may look at.

use std::process::Command;

use crate::caller::{Outcome, PROGRAM, finish, is_root};

/// Runs a script as an ordinary user in a world, in a pid namespace whose /proc hides what the user may not
/// trace. With $OWN and $ROOTS it has the program as files that nobody may read, which makes processes
/// undumpable: one of the user's own, one of root's.
fn in_hiding_proc(arguments: &[&str]) -> Option<Outcome> {
    if !is_root() {
        binder_testkit::skip("mounting /proc needs root");
        return None;
    }
    let script = "
        mount -t tmpfs -o mode=0755 tmpfs /mnt
        mknod -m 0666 /mnt/fuse c 10 229; mount --bind /mnt/fuse /dev/fuse
        for owner in 0 1000; do cp $1 /mnt/of-$owner; chown $owner:$owner /mnt/of-$owner; chmod 0111 /mnt/of-$owner; done
        export OWN=/mnt/of-1000 ROOTS=/mnt/of-0
        mount -t proc -o hidepid=2 proc /proc
        exec setpriv --reuid 1000 --regid 1000 --clear-groups -- \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "sh", "-ec", script, "sh", PROGRAM]);
    Some(finish(command.args(arguments)))
}

const CALL: &str = "demo-cast director 5";

#[test]
fn doctor_says_that_run_works_where_proc_hides_processes() {
    let Some(outcome) = in_hiding_proc(&["doctor"]) else { return };
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    let verdict = outcome.stdout.lines().find(|line| line.starts_with("run "));
    assert!(verdict.is_some_and(|line| line.contains(" yes ")), "{outcome:?}");
}

#[test]
fn an_undumpable_client_is_served_where_proc_hides_it() {
    let script = format!("$OWN {CALL}");
    let Some(outcome) = in_hiding_proc(&["run", "--", "sh", "-c", &script]) else { return };
    assert_eq!(outcome.code(), 0, "{outcome:?}");
}

#[test]
fn a_client_whose_memory_is_out_of_reach_is_refused_and_the_log_says_why() {
    let script = format!("! $ROOTS {CALL} && {PROGRAM} {CALL}");
    let Some(outcome) = in_hiding_proc(&["run", "--", "sh", "-c", &script]) else { return };
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert!(outcome.stderr.contains("Operation not permitted"), "{outcome:?}");
    assert!(
        outcome.stderr.contains("a process is refused: its memory is out of reach"),
        "{outcome:?}"
    );
}
