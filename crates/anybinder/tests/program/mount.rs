//! `mount`: for everybody, until unmounted.

use std::process::Command;

use crate::caller::{Caller, PROGRAM, finish, in_mounts};
use crate::run::has_ring;

/// Runs a script in a mount namespace of its own, with DIR and PROGRAM set, where root may mount.
pub(crate) fn in_private_mounts(script: &str) -> Option<String> {
    if !Caller::all().contains(&Caller::Root) {
        binder_testkit::skip("mounting needs root");
        return None;
    }
    // The driver is known by its mounts from that of any other test or user.
    let prologue = "DIR=/mnt/binderfs-$$; PROGRAM=$1; mount -t tmpfs tmpfs /mnt; mkdir $DIR
        trap 'umount --lazy --quiet $DIR || true' EXIT
        driver_of() { pgrep --ns $$ --nslist mnt -f \"^$PROGRAM mount $DIR\"; }
        is_mounted() { grep -q \" $DIR \" /proc/self/mounts; }
        wait_for_end() { while [ -e /proc/$1 ]; do sleep 0.01; done; }
        ";
    let outcome = finish(&mut in_mounts(&format!("{prologue}{script}"), PROGRAM, &[]));
    assert!(outcome.status.success(), "{outcome:?}");
    Some(outcome.stdout)
}

#[test]
fn it_answers_when_the_command_returns_and_ends_with_the_mount() {
    let told = in_private_mounts(
        "$PROGRAM mount $DIR --devices a,b --mode 0640
         cd $DIR; stat -c '%n %a' a b; cd /
         driver=$(driver_of)
         umount $DIR
         wait_for_end $driver
         ls $DIR",
    );
    assert!(told.is_none_or(|told| told == "a 640\nb 640\n"));
}

#[test]
fn the_driver_in_the_background_holds_nothing_of_its_caller() {
    let told = in_private_mounts(
        "cd /usr; $PROGRAM mount $DIR
         driver=$(driver_of)
         readlink /proc/$driver/cwd /proc/$driver/fd/0 /proc/$driver/fd/1 /proc/$driver/fd/2
         test $(ps -o sid= -p $driver) = $driver
         umount $DIR",
    );
    assert!(told.is_none_or(|told| told == "/\n/dev/null\n/dev/null\n/dev/null\n"));
}

#[test]
fn a_signal_unmounts() {
    let told = in_private_mounts(
        "for signal in TERM INT; do
             $PROGRAM mount $DIR
             driver=$(driver_of)
             kill -s $signal $driver
             wait_for_end $driver
             is_mounted || echo gone
         done",
    );
    assert!(told.is_none_or(|told| told == "gone\ngone\n"));
}

#[test]
fn in_the_foreground_it_stays() {
    let told = in_private_mounts(
        "$PROGRAM mount $DIR --foreground &
         until is_mounted; do sleep 0.01; done
         test -e $DIR/binder
         umount $DIR
         wait $!
         echo status $?",
    );
    assert!(told.is_none_or(|told| told == "status 0\n"));
}

#[test]
fn one_that_is_served_is_replaced_only_if_wished_and_those_who_use_it_keep_it() {
    let told = in_private_mounts(
        "$PROGRAM mount $DIR --devices old
         first=$(driver_of)
         exec 3<>$DIR/old
         $PROGRAM mount $DIR 2>&1 && exit 1
         $PROGRAM mount $DIR --devices new --replace 3>&-
         ls $DIR | grep -E 'old|new'
         test $(grep -c \" $DIR \" /proc/self/mounts) = 1
         test -e /proc/$first && kill -s TERM $first && wait_for_end $first
         ls $DIR | grep new
         second=$(driver_of)
         exec 3<>$DIR/new
         $PROGRAM mount $DIR --devices newest --replace 3>&-
         test -e /proc/$second
         exec 3>&-
         wait_for_end $second
         ls $DIR | grep newest
         umount $DIR",
    );
    let Some(told) = told else { return };
    assert!(told.contains("there is one already, and it is served"), "{told}");
    assert!(told.contains("--replace"), "{told}");
    assert!(told.ends_with("\nnew\nnew\nnewest\n"), "{told}");
}

#[test]
fn of_several_that_replace_one_at_once_one_stays() {
    let told = in_private_mounts(
        "for round in 1 2 3 4 5; do
             mounts=
             for nth in 1 2 3 4; do
                 $PROGRAM mount $DIR --devices of$nth --replace & mounts=\"$mounts $!\"
             done
             for mount in $mounts; do wait $mount; done
             shown=$(ls $DIR | grep -c of)
             until [ $(driver_of | wc -l) = 1 ]; do sleep 0.01; done
             echo $shown of $(grep -c \" $DIR \" /proc/self/mounts)
         done
         # Another user's lock is not waited for for ever.
         flock --no-fork /mnt sleep 60 & lock=$!
         until ! flock --nonblock /mnt true; do sleep 0.01; done
         $PROGRAM mount $DIR --replace 2>&1
         kill $lock
         umount $DIR",
    );
    let Some(told) = told else { return };
    assert!(told.starts_with(&"1 of 1\n".repeat(5)), "{told}");
    assert!(told.contains("not locked: others may mount at the same moment"), "{told}");
}

#[test]
fn one_whose_driver_is_gone_gives_way() {
    let told = in_private_mounts(
        "$PROGRAM mount $DIR
         driver=$(driver_of)
         kill -9 $driver
         wait_for_end $driver
         ls $DIR 2>&1 || true
         $PROGRAM mount $DIR --devices again 2>&1
         ls $DIR | grep again
         test $(grep -c \" $DIR \" /proc/self/mounts) = 1
         umount $DIR",
    );
    let Some(told) = told else { return };
    assert!(told.contains("Transport endpoint is not connected"), "{told}");
    assert!(told.ends_with("\nagain\n"), "{told}");
}

#[test]
fn there_are_as_many_devices_as_allowed() {
    let told = in_private_mounts(
        "$PROGRAM mount $DIR --devices a,b --max 2
         ls $DIR | wc -l; umount $DIR",
    );
    assert!(told.is_none_or(|told| told == "4\n"));
}

#[test]
fn what_cannot_be_mounted_is_told_with_a_remedy() {
    let missing = finish(Command::new(PROGRAM).args(["mount", "/nowhere/to/be/found"]));
    assert_eq!(missing.code(), 1);
    assert!(missing.stderr.contains("try: mkdir -p /nowhere/to/be/found"), "{}", missing.stderr);
    if Caller::all().contains(&Caller::Ordinary) {
        let refused = finish(&mut Caller::Ordinary.command(&["mount", "/usr"]));
        assert_eq!(refused.code(), 1);
        for part in ["mounting binderfs at /usr", "Operation not permitted", "try: "] {
            assert!(refused.stderr.contains(part), "{part} is missing: {}", refused.stderr);
        }
    }
}

#[test]
fn the_devices_belong_to_whom_it_is_said_and_the_rest_to_root() {
    let told = in_private_mounts(
        "$PROGRAM mount $DIR --devices a --uid 1000 --gid 44 --mode 0660
         stat -c '%n %u %g %a' $DIR/a $DIR/binder-control | sed s,$DIR/,,
         setpriv --reuid 1000 --regid 1000 --clear-groups sh -c \"exec 3<>$DIR/a && echo user\"
         setpriv --reuid 7 --regid 44 --clear-groups sh -c \"exec 3<>$DIR/a && echo group\"
         setpriv --reuid 7 --regid 7 --clear-groups sh -c \"exec 3<>$DIR/a\" 2>/dev/null || echo no other
         umount $DIR",
    );
    let expected = "a 1000 44 660\nbinder-control 0 0 600\nuser\ngroup\nno other\n";
    assert!(told.as_ref().is_none_or(|told| told == expected), "{told:?}");
}

#[test]
fn limits_are_read_again_when_it_is_told() {
    let told = in_private_mounts(
        "printf '# few\\nuser-opens=2\\n' > /mnt/limits
         three() { bash -c 'for open in 1 2 3; do exec {fd}<>$0/binder || exit 1; done' $DIR 2>/dev/null; }
         $PROGRAM mount $DIR --limits-file /mnt/limits --stats --foreground 2>/mnt/log & driver=$!
         until is_mounted; do sleep 0.01; done
         three || echo two
         echo user-opens=3 > /mnt/limits; kill -s HUP $driver
         until three; do sleep 0.01; done; echo three
         echo user-opens=many > /mnt/limits; kill -s HUP $driver
         until grep -q 'line 1' /mnt/log; do sleep 0.01; done
         three && echo three still
         echo user-opens=1 > /mnt/limits; kill -s HUP $driver
         while bash -c 'exec 3<>$0/binder 4<>$0/binder' $DIR 2>/dev/null; do sleep 0.01; done; echo one
         # Those of the command line come first.
         umount $DIR; wait $driver
         $PROGRAM mount $DIR --limits-file /mnt/limits --limit user-opens=3 && three && echo three
         driver=$(driver_of); kill -s HUP $driver; three && echo three; kill $driver; wait_for_end $driver
         is_mounted || echo gone",
    );
    let expected = "two\nthree\nthree still\none\nthree\nthree\ngone\n";
    assert!(told.as_ref().is_none_or(|told| told == expected), "{told:?}");
}

#[test]
fn programs_that_load_the_library_from_a_file_call_through_shared_memory() {
    if Caller::all().contains(&Caller::Root) && !has_ring(Caller::Root) {
        return binder_testkit::skip("no driver of this machine offers rings");
    }
    let raw = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/raw");
    let told = in_private_mounts(&format!(
        "for name in rawbinder null_argument; do cc -pthread -o /mnt/$name {raw}/$name.c; done
         $PROGRAM preload /mnt/library.so
         (umask 077; $PROGRAM preload /mnt/library.so)
         stat -c %a /mnt/library.so
         mkdir /mnt/noexec; mount -t tmpfs -o noexec tmpfs /mnt/noexec
         ! $PROGRAM preload /mnt/noexec/library.so 2>&1
         ! $PROGRAM preload /mnt/none/library.so 2>&1
         doors() {{ $PROGRAM ps --dir $DIR --json | sed 's/.*\"door\":\"//; s/\".*//' | sort -u; }}
         for library in '' /mnt/library.so; do
             $PROGRAM mount $DIR --stats
             driver=$(driver_of)
             LD_PRELOAD=$library /mnt/rawbinder ping -d $DIR/binder -n 100000000 -s 64 >/dev/null 2>&1 &
             for try in $(seq 200); do
                 door=$(doors)
                 test \"$door\" = lane && break
                 test -z \"$library\" && test $try -gt 5 -a -n \"$door\" && break
                 sleep 0.05
             done
             echo $door
             kill $driver
             wait $! || true
         done
         # What FUSE refuses is a matter of the library's, too.
         $PROGRAM mount $DIR
         LD_PRELOAD=/mnt/library.so /mnt/null_argument $DIR/binder by-library
         umount $DIR"
    ));
    let wanted = "644\n\
        anybinder: writing /mnt/noexec/library.so: no program could load it there, where the file system is mounted noexec\n  \
        try: name a file elsewhere, as below /usr/local/lib\n\
        anybinder: writing /mnt/none/library.so: No such file or directory (os error 2)\n\
        fuse\nlane\nanswered\n";
    assert!(told.as_ref().is_none_or(|told| told == wanted), "{told:?}");
}
