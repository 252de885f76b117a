//! A driver that is killed, its successor, and a driver that must not be killed for want of memory.

use std::fs;
use std::path::{Path, PathBuf};

use foreign::stage::{Stage, User, is_root_to};

/// Has a script wait for its driver, of the process `$driver`, which is mounted at `$dir`.
///
/// A slow machine has a minute for what takes a moment. What keeps a driver for longer is told, before the end of
/// the script aborts its connection: it would keep even the world around it from its end.
const PATIENCE: &str = r#"
soon() {
    for i in $(seq 6000); do
        if "$@" 2>/dev/null; then return; fi
        sleep 0.01
    done
    echo "in vain: $*"
    for task in /proc/$driver/task/*; do
        echo "$task, $(cat $task/comm):"
        grep State: $task/status
        cat $task/wchan $task/syscall $task/stack
        ls -l $task/fd
    done 2>&1
    exit 1
}
has_ended() { ! test -e /proc/$driver; }
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'umount --force --quiet $dir || true; rmdir $dir' EXIT
"#;

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

/// So do those of our library, whether they wait in a call or make one after the other.
#[test]
fn threads_of_the_library_end_soon_after_their_driver() {
    if !is_root_to("mount a binderfs") {
        return;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let checks = Path::new(env!("CARGO_BIN_EXE_library_checks"));
    let stage = Stage::new(target, &[checks, Path::new("/bin/sh")]);
    let script = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'umount --lazy --quiet $dir || true; rm -r $dir' EXIT
"$here/anybinder" mount $dir
driver=$(pgrep -f "^$here/anybinder mount $dir")
export ANYBINDER_TEST_DEVICE=$dir/binder
mkfifo $dir.held $dir.killed
exec 3<> $dir.held 4<> $dir.killed
"$here/library_checks" manager < $dir.held > $dir.manager 3>&- 4>&- &
until grep -q . $dir.manager; do sleep 0.01; done
"$here/library_checks" outlive < $dir.killed > $dir.told 3>&- 4>&- &
until grep -q . $dir.told; do sleep 0.01; done
sleep 0.2
kill -9 $driver
echo >&4
wait $!
tail -n 1 $dir.told
rm $dir.told $dir.manager $dir.held $dir.killed"#;
    assert_eq!(stage.run_script(User::Myself, &[], script), "all ended\n");
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
    let script = r#"
for delivery in auto store; do
    "$here/anybinder" mount $dir --delivery $delivery --stats
    driver=$(pgrep -f "^$here/anybinder mount $dir ")
    "$here/own_files" unread $dir/binder $dir/binder_logs/state $dir/binder-control $0 > $dir.told &
    client=$!
    soon grep -q waiting $dir.told
    # It says so before it does.
    soon grep -q "^State:.S" /proc/$client/status
    kill -9 $driver
    soon grep -q answer $dir.told
    soon has_ended
    wait
    cat $dir.told; rm $dir.told
    ls $dir 2>/dev/null && exit 1
    umount $dir
done"#;
    let told = stage.run_script(User::Myself, &[], &[PATIENCE, script].concat());
    let once = "the device: taken\nstate: taken\nbinder-control: taken\nsh: taken\nwaiting\n\
                answer: Software caused connection abort\n";
    assert_eq!(told, once.repeat(2));
}

/// Some are being taken then, others passed on, and others closed.
#[test]
fn a_driver_ends_at_any_moment_though_clients_send_files_of_its_own() {
    if !is_root_to("mount a binderfs") {
        return;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let stage = Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), "own_files");
    let script = r#"
for round in $(seq 0 4); do
    for delivery in auto store; do
        "$here/anybinder" mount $dir --delivery $delivery
        driver=$(pgrep -f "^$here/anybinder mount $dir ")
        "$here/own_files" flood $dir/binder > $dir.told 2>/dev/null &
        soon grep -q flooding $dir.told
        sleep 0.00$round
        kill -9 $driver
        soon has_ended
        wait
        soon umount $dir
    done
done
rm $dir.told
echo ended"#;
    let script = [PATIENCE, script].concat();
    // Each run has its own limit of time.
    for _ in 0..5 {
        assert_eq!(stage.run_script(User::Myself, &[], &script), "ended\n");
    }
}

/// A memory cgroup of a test's own, which goes with this value.
struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes one that may have that many bytes, below our own; or says that none can be made.
    fn with_limit(bytes: u64) -> Option<Self> {
        let memberships = fs::read_to_string("/proc/self/cgroup").expect("every process has it");
        let path_of = |wanted: &str| {
            let mut groups = memberships.lines().map(|line| line.splitn(3, ':').skip(1));
            let found =
                groups.find_map(|mut group| (group.next()? == wanted).then(|| group.next())?);
            found.map(|path| path.trim_start_matches('/').to_owned())
        };
        for (top, controllers, limit) in [
            ("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "", "memory.max"),
        ] {
            let Some(path) = path_of(controllers) else { continue };
            let name = format!("anybinder-test-{}", std::process::id());
            let group = Self(Path::new(top).join(path).join(name));
            let is_made = fs::create_dir(&group.0).is_ok();
            if is_made && fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        binder_testkit::skip("no memory cgroup can be made here");
        None
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_driver_in_a_small_cgroup_serves_burst_after_burst() {
    if !is_root_to("mount a binderfs") {
        return;
    }
    let Some(group) = Cgroup::with_limit(96 << 20) else { return };
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let stage = Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), "burst");
    // 24 replies of 3.9 MB are 94 MB, as idle pages when the next comes: of one user, of several, and of several
    // devices.
    let script = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'umount --lazy --quiet $dir || true; rmdir $dir' EXIT
for delivery in auto store; do
    sh -c 'echo $$ > GROUP/cgroup.procs && exec "$@"' sh \
        "$here/anybinder" mount --foreground --stats --mode 0666 --delivery $delivery $dir &
    driver=$!
    until [ -e $dir/binder ]; do sleep 0.01; done
    "$here/burst" 24 0 $dir/binder || true
    "$here/burst" 24 5 $dir/binder || true
    "$here/burst" 24 5 $dir/binder $dir/hwbinder $dir/vndbinder || true
    "$here/anybinder" stats --dir $dir --json | grep -o '"limit_bytes":.*'
    kill -TERM $driver
    wait $driver || echo "the driver ended: $?"
done"#;
    let script = script.replace("GROUP", &group.0.display().to_string());
    let told = stage.run_script(User::Myself, &[], &script);
    let once = format!("{}\"limit_bytes\":{}}}\n", "24 of 24\n".repeat(3), 32 << 20);
    assert_eq!(told, once.repeat(2));
}
