//! What Waydroid and redroid do about binder when they start, as they publish it: on devices of the machine's, in a
//! world, and in containers of `anybinder oci`.
//!
//! `android/waydroid.py` looks for devices as Waydroid's helper does, which then mounts binderfs only where there are
//! none; `android/redroid.sh` mounts it as the init of redroid's images does. What they have set up then serves
//! `hello_binder`.

use std::path::Path;

use crate::containers::{HELLO, bundles, in_containers};

/// Runs a script with $WAYDROID and $REDROID beside what [`in_containers`] gives, `modprobe` as it is where there is
/// no module, and `start_lxc`: a container with what Waydroid's configuration binds, and no more.
fn on_android_host(runtime: &str, script: &str) -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/android");
    let prologue = format!(
        r#"
WAYDROID={here}/waydroid.py REDROID={here}/redroid.sh
printf '#!/bin/sh\necho modprobe "$@"\nexit 1\n' >/mnt/bin/modprobe; chmod +x /mnt/bin/modprobe
cat >/mnt/bin/start_lxc <<'END'
#!/bin/sh -e
while read -r _ _ device place _; do
    touch "$1/$place"; mount --bind "$device" "$1/$place"
done
exec chroot "$1" /hello_binder
END
chmod +x /mnt/bin/start_lxc
"#,
        here = here.display()
    );
    in_containers(runtime, &format!("{prologue}{script}"))
}

#[test]
fn waydroid_finds_the_devices_of_a_machine_and_its_container_uses_them() {
    let told = on_android_host(
        "python3",
        r#"
anybinder mount /dev/binderfs --mode 0600 --links
python3 $WAYDROID /mnt/config
unshare --mount start_lxc $ROOTFS </mnt/config
stat -L -c %a /dev/binder /dev/hwbinder /dev/vndbinder
umount /dev/binderfs
# Started again, with its driver.
anybinder mount /dev/binderfs --links
python3 $WAYDROID /mnt/config
unshare --mount start_lxc $ROOTFS </mnt/config
umount /dev/binderfs
# And where there is none.
python3 $WAYDROID /mnt/config 2>&1 || true
"#,
    );
    let found = "binder: /dev/binder\nvndbinder: /dev/vndbinder\nhwbinder: /dev/hwbinder\n";
    let none =
        "modprobe binder_linux devices=anbox-binder,anbox-vndbinder,anbox-hwbinder\nno binder\n";
    let expected = format!("{found}{HELLO}666\n666\n666\n{found}{HELLO}{none}");
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}

const OWN: &str = "\
binder: /dev/anbox-binder\nvndbinder: /dev/anbox-vndbinder\nhwbinder: /dev/anbox-hwbinder\n";

#[test]
fn waydroid_mounts_a_binderfs_of_its_own_in_a_world_that_lists_it() {
    let told = on_android_host(
        "python3",
        r#"
anybinder run --list-binder --no-ring --devices unused -- \
    sh -ec "python3 $WAYDROID /mnt/config; unshare --mount start_lxc $ROOTFS </mnt/config"
"#,
    );
    let expected = format!("{OWN}{HELLO}");
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}

/// Has `words`, a shell's, run as the container of a bundle with the rights of `docker run --privileged`.
const RUN_PRIVILEGED: &str = r#"
# Containers of the machine have names of their own.
ID=test-android-$$
run_privileged() {
    words=$1; shift
    cp $WAYDROID $REDROID /mnt/bin/start_lxc $ROOTFS/
    WORDS=$words python3 - <<'END'
import json, os
spec = json.load(open('/mnt/mounting/config.json'))
spec['process']['args'] = ['sh', '-ec', os.environ['WORDS']]
for held in spec['process']['capabilities'].values():
    held += ['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_FOWNER', 'CAP_MKNOD', 'CAP_SYS_CHROOT']
for key in ('maskedPaths', 'readonlyPaths', 'resources'):
    spec['linux'].pop(key, None)
json.dump(spec, open('/mnt/mounting/config.json', 'w'))
END
    "$@" run --bundle $BUNDLE_THAT_MOUNTS $ID
}
"#;

fn in_privileged_containers(runtime: &str, script: &str) -> Option<String> {
    on_android_host(runtime, &format!("{}{RUN_PRIVILEGED}{script}", bundles("")))
}

#[test]
fn waydroid_finds_devices_or_makes_them_in_a_container() {
    let told = in_privileged_containers(
        "runc",
        r#"
run_privileged "python3 /waydroid.py /config; /hello_binder" anybinder oci
run_privileged "python3 /waydroid.py /config; unshare --mount sh -e /start_lxc / </config" anybinder oci --devices unused
"#,
    );
    let found = "binder: /dev/binder\nvndbinder: /dev/vndbinder\nhwbinder: /dev/hwbinder\n";
    let expected = format!("{found}{HELLO}{OWN}{HELLO}");
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}

/// crun refuses machines that have groups of processes of both versions: one is enough for it.
const ONE_CGROUP_VERSION: &str = "
umount --recursive --lazy --quiet /sys/fs/cgroup || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
";

#[test]
fn redroid_starts_as_it_is_in_a_container_of_either_runtime() {
    for (runtime, preparation) in [("runc", ""), ("crun", ONE_CGROUP_VERSION)] {
        let script = format!(
            "{preparation}
for devices in binder,hwbinder,vndbinder unused; do
    run_privileged 'sh /redroid.sh; stat -L -c %a /dev/binder; /hello_binder' \
        anybinder oci --runtime {runtime} --devices $devices
done"
        );
        let told = in_privileged_containers(runtime, &script);
        let expected = format!("1\n666\n{HELLO}").repeat(2);
        assert!(told.as_ref().is_none_or(|told| *told == expected), "{runtime}: {told:?}");
    }
}

#[test]
fn redroid_goes_on_without_a_binderfs_where_it_has_devices_of_the_machine() {
    let told = in_privileged_containers(
        "runc",
        r#"
anybinder mount /dev/binderfs --mode 0666 --no-links
for name in binder hwbinder vndbinder; do touch /dev/$name; mount --bind /dev/binderfs/$name /dev/$name; done
python3 - <<'END'
import json
spec = json.load(open('/mnt/mounting/config.json'))
for name in ('binder', 'hwbinder', 'vndbinder'):
    device = f'/dev/{name}'
    spec['mounts'].append({'destination': device, 'source': device, 'type': 'bind', 'options': ['bind', 'rw']})
json.dump(spec, open('/mnt/mounting/config.json', 'w'))
END
run_privileged 'sh /redroid.sh 2>/dev/null; /hello_binder' runc
umount /dev/binder /dev/hwbinder /dev/vndbinder /dev/binderfs
"#,
    );
    let told = told.as_ref();
    let not_mounted = "init: mount failed\n";
    let closed = "init: chmod failed\n".repeat(3);
    let expected = format!("{not_mounted}{closed}libbinder: no features\n{HELLO}");
    assert!(told.is_none_or(|told| *told == expected), "{told:?}");
}
