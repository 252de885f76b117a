//! A driver that is killed, and the one that takes its place.

use std::path::Path;

use foreign::stage::{Stage, User, is_root_to};

#[test]
fn clients_of_a_driver_that_is_killed_get_errors_at_once_and_the_next_serves_new_ones() {
    if !is_root_to("mount a binderfs") {
        return;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let stage =
        Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), "left_alone");
    // In a world of its own, so that nothing of this can stay behind.
    let script = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'umount --lazy --quiet $dir || true; rmdir $dir' EXIT
for delivery in auto store; do
    "$here/anybinder" mount $dir --delivery $delivery
    driver=$(pgrep -f "^$here/anybinder mount $dir ")
    "$here/left_alone" $dir/binder > $dir.told &
    until grep -q waiting $dir.told; do sleep 0.01; done
    sleep 0.2
    kill -9 $driver
    wait $!
    cat $dir.told; rm $dir.told
    ls $dir 2>/dev/null && exit 1
    "$here/anybinder" mount $dir --devices again 2>/dev/null
    test -e $dir/again
    grep -c " $dir " /proc/self/mounts
    umount $dir
    ls $dir
done"#;
    let told = stage.run_script(User::Myself, &[], script);
    let once = "waiting\npoll: error\nwait: Software caused connection abort\n\
                again: Transport endpoint is not connected\n1\n";
    assert_eq!(told, once.repeat(2));
}

/// At any moment the driver has one of them open, to take it or to pass it on.
#[test]
fn a_world_ends_though_its_clients_send_files_of_its_own() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let stage = Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), "own_files");
    let script = r#"
said=$(mktemp -u)
mkfifo $said
"$(dirname "$0")/own_files" flood /dev/binder >$said &
read flooding <$said
rm $said
echo $flooding"#;
    for &user in User::all() {
        for world in [&[][..], &["--no-seccomp"]] {
            for _ in 0..10 {
                assert_eq!(stage.run_script(user, world, script), "flooding\n", "as {user:?}");
            }
        }
    }
}

#[test]
fn a_driver_ends_though_clients_have_sent_files_of_its_own() {
    if !is_root_to("mount a binderfs") {
        return;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let stage = Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), "own_files");
    // One that does not end would keep even this world from its end, unless the connection is aborted.
    let script = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'umount --force --quiet $dir || true; rmdir $dir' EXIT
soon() {
    for i in $(seq 1000); do
        if "$@" 2>/dev/null; then return; fi
        sleep 0.01
    done
    echo "in vain: $@"
    umount --force --quiet $dir || true
}
has_ended() { ! test -e /proc/$driver; }
for delivery in auto store; do
    "$here/anybinder" mount $dir --delivery $delivery --stats
    driver=$(pgrep -f "^$here/anybinder mount $dir ")
    "$here/own_files" unread $dir/binder $dir/binder_logs/state $dir/binder-control $0 > $dir.told &
    until grep -q waiting $dir.told; do sleep 0.01; done
    kill -9 $driver
    soon grep -q answer $dir.told
    soon has_ended
    wait
    cat $dir.told; rm $dir.told
    ls $dir 2>/dev/null && exit 1
    umount $dir
done"#;
    let told = stage.run_script(User::Myself, &[], script);
    let once = "the device: taken\nstate: taken\nbinder-control: taken\nsh: taken\nwaiting\n\
                answer: Software caused connection abort\n";
    assert_eq!(told, once.repeat(2));
}
