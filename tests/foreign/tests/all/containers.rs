//! Files reach clients in containers: in namespaces other than the driver's, on threads of a pool.

use std::path::Path;

use foreign::stage::{Stage, User, is_root_to};

fn stage_with(program: &str) -> Stage {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), program)
}

/// Has `$container`, which is started again and again, call a service outside at `$device`, and be called at
/// `$other`: a manager of one user is followed by none of another.
const EXCHANGE: &str = r#"
pool=$(dirname "$0")/pool_files
heard=$(mktemp -u)
mkfifo "$heard"
for first in "" alone; do
    "$pool" serve "$device" 4 $first >"$heard" &
    read serving <"$heard"
    for time in 1 2 3 4; do $container "$pool" call "$device" $first; done
    wait
    for time in 1 2 3 4; do
        $container "$pool" serve "$other" 1 $first >"$heard" &
        read serving <"$heard"
        "$pool" call "$other"
        wait
    done
done
rm "$heard"
"#;

const EXCHANGED: &str = "there, back\n";

/// Ways into containers, for root and for ordinary users.
const OF_ROOT: [&str; 2] = ["unshare --pid --fork", "unshare --pid --fork --mount-proc"];
const OF_ALL: [&str; 2] =
    ["unshare --user --map-root-user", "unshare --user --map-root-user --pid --fork"];
const ORDINARY: &str = "setpriv --reuid 65534 --regid 65534 --clear-groups";

#[test]
fn files_reach_pool_threads_in_containers_of_a_world() {
    let stage = stage_with("pool_files");
    for &user in User::all() {
        let mut containers = Vec::from(OF_ALL);
        if matches!(user, User::Myself) && rustix::process::geteuid().is_root() {
            containers.extend(OF_ROOT);
        }
        for world in [&[][..], &["--no-seccomp"]] {
            for container in &containers {
                let script =
                    format!("device=/dev/binder other=$device container='{container}'\n{EXCHANGE}");
                let said = stage.run_script(user, world, &script);
                assert_eq!(said, EXCHANGED.repeat(16), "{container} as {user:?}, in {world:?}");
            }
        }
    }
}

#[test]
fn files_reach_pool_threads_in_containers_of_a_machine() {
    if !is_root_to("mount for all users") {
        return;
    }
    let stage = stage_with("pool_files");
    let as_ordinary = OF_ALL.map(|container| format!("{ORDINARY} {container}"));
    let of_root = OF_ROOT.iter().chain(&OF_ALL).map(|&container| container.to_owned());
    for container in of_root.chain(as_ordinary).chain([ORDINARY.to_owned()]) {
        let script = format!(
            r#"
dir=$(mktemp -d)
chmod 755 "$dir"
"$(dirname "$0")/anybinder" mount --mode 666 --devices binder,other "$dir"
device=$dir/binder other=$dir/other container='{container}'
{EXCHANGE}
umount "$dir"
rmdir "$dir""#
        );
        let said = stage.run_script(User::Myself, &["--no-seccomp"], &script);
        assert_eq!(said, EXCHANGED.repeat(16), "{container}");
    }
}

/// The reason is in the daemon's log and told by `anybinder log`, and no caller waited for it.
#[test]
fn a_broker_that_cannot_start_says_why() {
    if !is_root_to("mount for all users") {
        return;
    }
    let stage = stage_with("pool_files");
    // A driver that may not become another user.
    let script = format!(
        r#"
here=$(dirname "$0")
dir=$(mktemp -d)
chmod 755 "$dir"
setpriv --bounding-set=-setuid,-setgid --inh-caps=-setuid,-setgid \
    "$here/anybinder" mount --foreground --stats --mode 666 --devices binder "$dir" 2>"$here/told" &
driver=$!
until [ -e "$dir/binder" ]; do sleep 0.01; done
heard=$(mktemp -u)
mkfifo "$heard"
{ORDINARY} "$here/pool_files" serve "$dir/binder" 1 >"$heard" &
server=$!
exec 3<"$heard"
read serving <&3
for time in 1 2 3; do "$here/pool_files" call "$dir/binder" 2>&1 || true; done
kill "$server"
"$here/anybinder" log --dir "$dir" | sed 's/.*BR_/BR_/'
umount "$dir"
wait "$driver"
rm "$heard"
rmdir "$dir"
sed -n 's/.*lending the files: \([^:]*\):.*/\1/p' "$here/told" | head -n 1"#
    );
    let said = stage.run_script(User::Myself, &["--no-seccomp"], &script);
    let failed = "pool_files: the call failed: 0x7211\n";
    let reason = "the broker could not give up its groups";
    let logged = format!("BR_FAILED_REPLY ({reason})\n");
    assert_eq!(said, format!("{}{}{reason}\n", failed.repeat(3), logged.repeat(3)));
}
