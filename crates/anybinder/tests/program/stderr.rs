//! A driver goes on whatever becomes of its standard error.

use crate::mount::in_private_mounts;

/// Mounts with descriptor 7 as stderr, has an ordinary user open until refused, more often than there is
/// room for lines, and makes calls.
const FLOOD_AND_CALL: &str = r#"
    $PROGRAM -vv mount $DIR --foreground --mode 0666 --limit user-opens=6 2>&7 7>&- 9>&- &
    driver=$!
    until grep -q " $DIR fuse" /proc/self/mounts; do test -e /proc/$driver; sleep 0.01; done
    setpriv --reuid 1000 --regid 1000 --clear-groups bash -c '
        for i in {1..4000}; do exec {fd}<>$1/binder || refused=$((refused + 1)); done 2>/dev/null
        echo $refused refused' sh $DIR
    timeout 120 $PROGRAM bench ping --device $DIR/binder --pin none --rounds 1 --calls 5 --sizes 0 \
        >/dev/null && echo answered
    "#;

const REFUSED_AND_ANSWERED: &str = "3994 refused\nanswered\n";

/// Mounts with descriptor 7 as stderr, and makes calls beside floods, each of which meets a limit as often as it can.
const MEET_LIMITS_AND_CALL: &str = r#"
    $PROGRAM -vv mount $DIR --foreground --limit nodes=2000 --limit deaths=50 --limit descriptors=4 \
        --limit threads=6 --limit user-opens=20 2>&7 7>&- 9>&- &
    driver=$!
    until grep -q " $DIR fuse" /proc/self/mounts; do test -e /proc/$driver; sleep 0.01; done
    timeout 240 $PROGRAM bench flood --device $DIR/binder --calls 20 \
        --floods thousands,deaths,descriptors,threads,opens >/dev/null && echo answered
    "#;

/// What that driver warns of.
const LIMITS: [&str; 5] = ["deaths", "descriptors", "nodes", "threads", "user-opens"];

/// Has this done to a driver whose stderr `open` has opened, and ended by a signal; expects that to succeed.
fn goes_on_and_ends(open: &str) {
    let end = "kill -s TERM $driver; wait $driver; echo status $?";
    let told = in_private_mounts(&format!("{open}\n{FLOOD_AND_CALL}\n{end}"));
    let expected = format!("{REFUSED_AND_ANSWERED}status 0\n");
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}

/// Opens a pipe that is full, and that 9 could be read from.
const FULL_PIPE: &str = "
    mkfifo /mnt/pipe; exec 9<>/mnt/pipe 7>/mnt/pipe
    dd if=/dev/zero of=/mnt/pipe oflag=nonblock bs=4096 count=100000 2>/dev/null || true";

#[test]
fn a_driver_whose_stderr_is_on_a_full_disk_goes_on() {
    goes_on_and_ends("exec 7>/dev/full");
}

#[test]
fn a_driver_whose_stderr_is_a_pipe_without_a_reader_goes_on() {
    goes_on_and_ends("mkfifo /mnt/pipe; exec 9<>/mnt/pipe 7>/mnt/pipe; exec 9>&-");
}

#[test]
fn a_driver_whose_stderr_is_a_full_pipe_goes_on_and_ends() {
    goes_on_and_ends(FULL_PIPE);
}

#[test]
fn each_flood_has_a_warning() {
    let told = in_private_mounts(&format!(
        "exec 7>/mnt/lines\n{MEET_LIMITS_AND_CALL}
         umount $DIR; wait $driver
         grep --text --only-matching 'at the limit [a-z-]*' /mnt/lines | sort --unique"
    ));
    let expected = LIMITS.map(|name| format!("at the limit {name}\n")).concat();
    assert!(told.as_ref().is_none_or(|told| *told == format!("answered\n{expected}")), "{told:?}");
}

#[test]
fn calls_are_answered_while_every_limit_is_met_and_no_warning_can_be_written() {
    let nowhere = [
        "exec 7>/dev/full",
        "mkfifo /mnt/pipe; exec 9<>/mnt/pipe 7>/mnt/pipe; exec 9>&-",
        FULL_PIPE,
    ];
    for open in nowhere {
        let end = "kill -s TERM $driver; wait $driver; echo status $?";
        let told = in_private_mounts(&format!("{open}\n{MEET_LIMITS_AND_CALL}\n{end}"));
        assert!(told.as_ref().is_none_or(|told| *told == "answered\nstatus 0\n"), "{told:?}");
    }
}

#[test]
fn what_a_full_pipe_had_no_room_for_is_counted_and_told() {
    let told = in_private_mounts(&format!(
        "{FULL_PIPE}\n{FLOOD_AND_CALL}
         grep --text --only-matching --max-count 1 'lines were lost' </mnt/pipe
         umount $DIR; wait $driver; echo status $?"
    ));
    let expected = format!("{REFUSED_AND_ANSWERED}lines were lost\nstatus 0\n");
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}
