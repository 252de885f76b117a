//! The lines of docs/containers.md that are said to be tested, in a /dev of their own.

use std::process::Command;

use crate::caller::{Caller, PROGRAM, finish, in_mounts, raw_source};

const GUIDE: &str = include_str!("../../../../docs/containers.md");

/// The blocks of a language below a head line of the guide.
fn blocks_below(head: &str, language: &str) -> Vec<&'static str> {
    let section = GUIDE.split("\n## ").find(|section| section.starts_with(head)).unwrap();
    assert!(section.lines().next().unwrap().ends_with("(tested)"));
    let begin = format!("```{language}\n");
    let blocks = section.split(begin.as_str()).skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

/// A root file system at $ROOTFS, below mounts of the test's own: the machine's programs, and `hello_binder`, which is
/// in $PATH as well.
const PROLOGUE: &str = r#"
mount -t tmpfs tmpfs /mnt; mkdir -p /mnt/dev/pts /mnt/dev/shm /mnt/dev/binderfs /mnt/bin
for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 0666 /mnt/dev/${node%:*} c 1 ${node#*:}; done
mknod -m 0666 /mnt/dev/tty c 5 0; mknod -m 0666 /mnt/dev/fuse c 10 229
mount -t devpts -o ptmxmode=0666 devpts /mnt/dev/pts; ln -s pts/ptmx /mnt/dev/ptmx; ln -s /proc/self/fd /mnt/dev/fd
mount --rbind /mnt/dev /dev
trap 'umount --lazy --quiet /dev/binderfs || true' EXIT
ROOTFS=/mnt/root; BUNDLE=/mnt/bundle; BUNDLE_THAT_MOUNTS=/mnt/mounting; BUNDLE_WITHOUT_DEVICES=/mnt/without
mkdir -p $ROOTFS/dev $ROOTFS/proc $ROOTFS/tmp $ROOTFS/mnt $BUNDLE $BUNDLE_THAT_MOUNTS $BUNDLE_WITHOUT_DEVICES; touch $ROOTFS/dev/binder
for dir in bin lib lib64 usr; do
    [ -d /$dir ] && mkdir $ROOTFS/$dir && mount --rbind /$dir $ROOTFS/$dir
done
cc -o $ROOTFS/hello_binder "$2"; cp $ROOTFS/hello_binder /mnt/bin/; ln -s "$1" /mnt/bin/anybinder
export PATH=/mnt/bin:$PATH
"#;

/// Runs a script below the prologue; returns what it printed, or nothing where it cannot be.
pub(crate) fn in_containers(runtime: &str, script: &str) -> Option<String> {
    if !Caller::all().contains(&Caller::Root) {
        binder_testkit::skip("mounting needs root");
        return None;
    }
    if Command::new(runtime).arg("--version").output().is_err() {
        binder_testkit::skip(format_args!("{runtime} is not installed"));
        return None;
    }
    let mut command = in_mounts(&format!("{PROLOGUE}{script}"), PROGRAM, &[]);
    let outcome = finish(command.arg(raw_source("hello_binder.c")));
    // runc tries for 0.3 s only, and on a busy machine the container's last process may take longer to end.
    let kept = ["Failed to remove cgroup", "Failed to remove paths"];
    let mut lines = outcome.stderr.lines();
    let said = lines.find(|line| !kept.iter().any(|it| line.contains(it)));
    assert_eq!((outcome.code(), said), (0, None), "{outcome:?}");
    Some(outcome.stdout)
}

pub(crate) const HELLO: &str = "hello, world; you are my parent\n";

#[test]
fn bubblewrap_is_given_a_device() {
    let [lines] = blocks_below("bubblewrap", "sh")[..] else { panic!("{GUIDE}") };
    let told = in_containers("bwrap", lines);
    assert!(told.as_ref().is_none_or(|told| told == HELLO), "{told:?}");
}

#[test]
fn namespaces_by_hand_are_given_a_device() {
    let [lines] = blocks_below("chroot", "sh")[..] else { panic!("{GUIDE}") };
    let told = in_containers("unshare", lines);
    assert!(told.as_ref().is_none_or(|told| *told == HELLO.repeat(3)), "{told:?}");
}

#[test]
fn runc_is_given_a_device_and_lets_a_container_mount_its_own_in_a_world() {
    let [given, in_a_world, in_our_place] = blocks_below("runc", "sh")[..] else {
        panic!("{GUIDE}")
    };
    let [entry] = blocks_below("runc", "json")[..] else { panic!("{GUIDE}") };
    let bundles = bundles(&format!("spec['mounts'].append(json.loads('''{entry}'''))"));
    // Containers of the machine have names of their own.
    let lines = format!("{given}{in_a_world}{in_our_place}")
        .replace(" container\n", &format!(" test-{}\n", std::process::id()));
    let told = in_containers("runc", &format!("{bundles}{lines}"));
    let own = "/mnt/binder /mnt/binder-control /mnt/features /mnt/hwbinder /mnt/vndbinder\n";
    assert!(
        told.as_ref().is_none_or(|told| *told == format!("{HELLO}{HELLO}{own}{HELLO}{own}")),
        "{told:?}"
    );
}

#[test]
fn calls_in_a_container_are_traced_with_the_numbers_of_its_host() {
    let [entry] = blocks_below("runc", "json")[..] else { panic!("{GUIDE}") };
    let bundles = bundles(&format!("spec['mounts'].append(json.loads('''{entry}'''))"));
    // In the container they have the first numbers of a pid namespace.
    let script = r#"
anybinder trace -o /mnt/trace -- runc run --bundle $BUNDLE test-traced-$$
awk '$3 == "opened" { opened[$5] = 1; if ($5 > 99) print $3, $6 }
     $3 == "call" { split($4, from, ":"); print $3, $5, from[1] in opened, $7 in opened }' /mnt/trace
"#;
    let told = in_containers("runc", &format!("{bundles}{script}"));
    let opened = "opened hello_binder\n".repeat(2);
    assert!(
        told.as_ref().is_none_or(|it| *it == format!("{HELLO}{opened}call hello_binder 1 1\n")),
        "{told:?}"
    );
}

#[test]
fn programs_of_a_container_call_by_shared_memory() {
    let bundles = bundles(
        "spec['process']['args'] = ['sh', '-ec', '/unusual_calls way; /unusual_calls signals; /confined 20']",
    );
    let id = format!("test-ring-{}", std::process::id());
    let script = format!(
        r#"
for program in unusual_calls confined; do cc -O2 -pthread -o $ROOTFS/$program "$(dirname "$2")/$program.c"; done
anybinder oci run --bundle $BUNDLE {id}
# The same bundle once more.
anybinder oci --no-ring run --bundle $BUNDLE {id}
anybinder oci run --bundle $BUNDLE {id}
# What the loader of Android's containers may not load ends programs.
mkdir -p $ROOTFS/system/bin; touch $ROOTFS/system/bin/linker64
anybinder oci run --bundle $BUNDLE {id}
rm $ROOTFS/system/bin/linker64
sed 's|/unusual_calls way; /unusual_calls signals; /confined 20|sleep 1000|' $BUNDLE/config.json >$BUNDLE/new
mv $BUNDLE/new $BUNDLE/config.json
anybinder oci run --detach --bundle $BUNDLE {id} </dev/null >/dev/null 2>&1
anybinder oci exec {id} /unusual_calls way
anybinder oci exec --env ANYBINDER_NO_RING=0 {id} /unusual_calls way
anybinder oci delete --force {id}
"#
    );
    let Some(told) = in_containers("runc", &format!("{bundles}{script}")) else { return };
    let signals = "reads are interrupted, and handlers call\ncalls go on among signals\nreads are left by a jump\n";
    let played = |way: &str| format!("by {way}\n{signals}20 answered\n20 answered\n");
    let [by_ring, by_ioctls] = ["a ring", "ioctls"].map(played);
    assert_eq!(told, format!("{by_ring}{by_ioctls}{by_ring}{by_ioctls}by ioctls\nby a ring\n"));
}

/// Makes the bundles: of a container that runs `hello_binder`, and of one that mounts binderfs. `change` is what else
/// their `spec` is to have, in Python.
pub(crate) fn bundles(change: &str) -> String {
    format!(
        r#"
cd $BUNDLE; runc spec; cd - >/dev/null
python3 - <<'END'
import json
spec = json.load(open('/mnt/bundle/config.json'))
spec['process']['terminal'] = False
spec['root'] = {{'path': '/mnt/root', 'readonly': False}}
spec['linux'].pop('seccomp', None)
spec['process']['args'] = ['/hello_binder']
json.dump(spec, open('/mnt/without/config.json', 'w'))
{change}
json.dump(spec, open('/mnt/bundle/config.json', 'w'))
spec['process']['args'] = ['sh', '-ec', 'mount -t binder binder /mnt; echo /mnt/*']
for held in spec['process']['capabilities'].values():
    held.append('CAP_SYS_ADMIN')
json.dump(spec, open('/mnt/mounting/config.json', 'w'))
END
"#
    )
}

#[test]
fn lxc_gives_a_container_a_device() {
    let [entry] = blocks_below("LXC", "ini")[..] else { panic!("{GUIDE}") };
    let lines = format!(
        r#"
mkdir -p /mnt/lxc/phone /mnt/lxc-root
echo '/hello_binder >/tmp/said' >$ROOTFS/init.sh
cat >/mnt/lxc/phone/config <<END
lxc.rootfs.path = dir:$ROOTFS
lxc.rootfs.mount = /mnt/lxc-root
lxc.net.0.type = none
lxc.mount.auto = proc:rw
lxc.init.cmd = /bin/sh /init.sh
{entry}
END
anybinder mount /dev/binderfs --mode 0666
for start in first second; do
    lxc-start --foreground --lxcpath /mnt/lxc --name phone
    cat $ROOTFS/tmp/said
done
umount /dev/binderfs
"#
    );
    let told = in_containers("lxc-start", &lines);
    assert!(told.as_ref().is_none_or(|told| *told == HELLO.repeat(2)), "{told:?}");
}

#[test]
fn two_containers_talk_by_the_devices_of_a_machine_and_again_after_a_restart() {
    let told = in_containers(
        "bwrap",
        r#"
contain() {
    bwrap --ro-bind / / --dev /dev --dev-bind /dev/binderfs/binder /dev/binder --proc /proc --unshare-all \
        --die-with-parent "$@"
}
for driver in first second; do
    anybinder mount /dev/binderfs --mode 0666
    for service in first second; do
        mkfifo /mnt/said
        contain hello_binder serve >/mnt/said &
        read -r ready </mnt/said
        contain hello_binder call
        wait $!; rm /mnt/said
    done
    umount /dev/binderfs
done
"#,
    );
    // A caller without a number in the service's container is none of its kin.
    let hello = "hello, world; you are a stranger\n";
    assert!(told.as_ref().is_none_or(|told| *told == hello.repeat(4)), "{told:?}");
}

#[test]
fn a_runtime_that_we_stand_for_brings_the_supervisor_into_containers() {
    let id = format!("test-oci-{}", std::process::id());
    let lines = format!(
        r#"
PLACE=/run/anybinder/containers/{id}
gone() {{ while ls -d $PLACE.* >/dev/null 2>&1; do sleep 0.01; done; ! grep -q " $PLACE\." /proc/self/mounts; }}
anybinder oci run --bundle $BUNDLE {id}
gone
anybinder oci run --bundle $BUNDLE_THAT_MOUNTS {id}
gone
# What scripts look at before they mount.
sed -i 's|"/hello_binder"|"grep", "binder", "/proc/filesystems"|' $BUNDLE/config.json
anybinder oci run --bundle $BUNDLE {id}
gone
sed -i 's|"grep", *"binder", *"/proc/filesystems"|"/hello_binder"|' $BUNDLE/config.json
cc -O2 -pthread -o $ROOTFS/null_argument {null_argument}
sed -i 's|/hello_binder|/null_argument", "/dev/binder|' $BUNDLE/config.json
anybinder oci run --bundle $BUNDLE {id}
gone
# As Docker does, call by call.
sed -i 's|"/null_argument", *"/dev/binder"|"sh", "-c", "exec 3<>/dev/binder; echo opened; sleep 1000"|' $BUNDLE/config.json
anybinder oci --log /mnt/log create --bundle $BUNDLE --pid-file /mnt/pid {id} </dev/null >/mnt/out 2>&1
anybinder oci start {id}
# Its first process has the device open, and others may open it, too.
until grep -q opened /mnt/out; do sleep 0.01; done
grep Seccomp_filters /proc/$(cat /mnt/pid)/status
ls $PLACE.* | grep -v ring-library
anybinder oci exec {id} /hello_binder
anybinder oci kill {id} KILL
until anybinder oci state {id} | grep -q stopped; do sleep 0.01; done
anybinder oci delete {id}
gone; cat /mnt/out
# Of one whose driver was told to end, nothing stays; of one whose driver was killed, until the next is made.
sed -i 's|exec 3<>/dev/binder; echo opened; sleep 1000|true|' $BUNDLE/config.json
anybinder oci create --bundle $BUNDLE {id} </dev/null >/dev/null 2>&1
kill -s TERM $(pgrep --ns $$ --nslist mnt -x binder-driver)
gone; runc delete --force {id}
anybinder oci create --bundle $BUNDLE {id} </dev/null >/dev/null 2>&1
driver=$(pgrep --ns $$ --nslist mnt -x binder-driver); kill -s KILL $driver
while kill -s 0 $driver 2>/dev/null; do sleep 0.01; done
runc delete --force {id}
anybinder oci run --bundle $BUNDLE {id}-next
gone
# What cannot be made leaves nothing.
anybinder oci run --bundle /nowhere {id} 2>&1 | head -n 1
gone
anybinder oci run --bundle $BUNDLE_THAT_MOUNTS --no-such-option {id} >/dev/null 2>&1 || echo refused
gone; echo gone
"#,
        null_argument = raw_source("null_argument.c").display()
    );
    let told = in_containers("runc", &format!("{}{lines}", bundles("")));
    let own = "/mnt/binder /mnt/binder-control /mnt/features /mnt/hwbinder /mnt/vndbinder";
    let devices = "binder\nbinderfs\nhwbinder\nproc-filesystems\nvndbinder";
    let missing =
        "anybinder: adding devices to /nowhere/config.json: No such file or directory (os error 2)";
    let expected = format!(
        "{HELLO}{own}\nnodev\tbinder\nanswered\nSeccomp_filters:\t1\n{devices}\n{HELLO}opened\n{missing}\nrefused\ngone\n"
    );
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}

/// What makes podman work where there is no systemd, and where limits cannot be raised.
const PODMAN: &str = r#"
ln -s anybinder /mnt/bin/anybinder-oci
mkdir /mnt/podman
export CONTAINERS_CONF=/mnt/podman/containers.conf CONTAINERS_STORAGE_CONF=/mnt/podman/storage.conf
cat >$CONTAINERS_CONF <<END
[containers]
netns = "none"
default_ulimits = ["nofile=512", "nproc=512"]
[network]
network_config_dir = "/mnt/podman/networks"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
static_dir = "/mnt/podman/static"
tmp_dir = "/mnt/podman/tmp"
volume_path = "/mnt/podman/volumes"
END
cat >$CONTAINERS_STORAGE_CONF <<END
[storage]
driver = "vfs"
graphroot = "/mnt/podman/store"
runroot = "/mnt/podman/run"
END
"#;

/// Has containers with several filters ask the driver what it offers them. Without a log of events podman would wait for the end of each.
const FILTERED: &str = r#"
for refused in reboot futex_waitv memfd_create; do
    echo '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["'$refused'"], "action": "SCMP_ACT_ERRNO"}]}' >/mnt/podman/$refused
    podman --runtime "$(command -v anybinder-oci)" run --detach --name $refused --security-opt seccomp=/mnt/podman/$refused \
        --rootfs $ROOTFS sh -c '/offered >/tmp/told; mv /tmp/told /tmp/offered; exec sleep 1000' >/mnt/podman/id
    until [ -e $ROOTFS/tmp/offered ]; do sleep 0.01; done
    cat $ROOTFS/tmp/offered; rm $ROOTFS/tmp/offered
    podman rm --force --time 0 $refused >/mnt/podman/id
done
"#;
/// What that is.
const OFFERED: [&str; 3] = ["rings, lanes", "rings, no lanes", "no rings, no lanes"];

/// Puts the program that asks into the root file system.
fn with_question(script: &str) -> String {
    format!("cc -o $ROOTFS/offered {}\n{script}", raw_source("offered.c").display())
}

#[test]
fn podman_makes_containers_with_a_driver_of_their_own() {
    let [lines] = blocks_below("podman", "sh")[..] else { panic!("{GUIDE}") };
    let script = with_question(&format!("{PODMAN}{lines}{FILTERED}"));
    let told = in_containers("podman", &script);
    let Some(told) = told else { return };
    let [_id, hello, name, offered @ ..] = &told.lines().collect::<Vec<_>>()[..] else {
        panic!("{told:?}")
    };
    assert_eq!((*hello, *name), (HELLO.trim_end(), "phone"));
    assert_eq!(offered, OFFERED);
}

/// A user who has further ones, and what podman needs for that. The rest is that user's.
const ORDINARY_USER: &str = r#"
mkdir -p /mnt/etc /mnt/user/run
for file in passwd group subuid subgid; do cp /etc/$file /mnt/etc/; done
echo 'binder-tester:x:1500:1500::/mnt/user:/bin/sh' >>/mnt/etc/passwd
echo 'binder-tester:x:1500:' >>/mnt/etc/group
for file in subuid subgid; do echo 'binder-tester:2000000:65536' >>/mnt/etc/$file; done
for file in passwd group subuid subgid; do mount --bind /mnt/etc/$file /etc/$file; done
cp --dereference /mnt/bin/anybinder /mnt/user/anybinder-oci; rm /mnt/bin/anybinder-oci
mkdir $ROOTFS/run $ROOTFS/sys $ROOTFS/etc
chmod 1777 /dev/shm; chmod 0700 /mnt/user/run; chown --recursive 1500:1500 /mnt/user /mnt/podman
chown 1500:1500 $ROOTFS $ROOTFS/dev $ROOTFS/proc $ROOTFS/tmp $ROOTFS/mnt $ROOTFS/run $ROOTFS/sys $ROOTFS/etc
export ROOTFS HOME=/mnt/user XDG_RUNTIME_DIR=/mnt/user/run PATH=/mnt/user:$PATH
"#;

#[test]
fn podman_of_an_ordinary_user_makes_them_as_well() {
    if Command::new("newuidmap").output().is_err() {
        binder_testkit::skip("newuidmap is not installed");
        return;
    }
    let [lines] = blocks_below("podman", "sh")[..] else { panic!("{GUIDE}") };
    let as_user = "setpriv --reuid 1500 --regid 1500 --clear-groups sh -e";
    let script = format!(
        r#"
cd /
{as_user} <<'END' 2>/mnt/said || {{ cat /mnt/said; false; }}
{lines}
podman --runtime "$(command -v anybinder-oci)" run --detach --name apart --userns keep-id --rootfs $ROOTFS sleep 1000
podman exec apart /hello_binder
podman rm --force --time 0 apart
{FILTERED}
# Ends the process that keeps the user's namespaces.
podman system migrate
END
while [ -n "$(ls /mnt/user/run/anybinder/containers)" ]; do sleep 0.01; done
# Without a user namespace, nobody but root can mount.
mkdir /mnt/user/bundle; cd /mnt/user/bundle; runc spec
{as_user} -c 'anybinder-oci run --bundle . test' 2>&1 | sed -n 's/.*: //p'
ls /mnt/user/run/anybinder/containers
"#
    );
    let script = with_question(&format!("{PODMAN}{ORDINARY_USER}{script}"));
    let told = in_containers("podman", &script);
    let Some(told) = told else { return };
    let [_, hello, phone, _, other_hello, apart, offered @ .., refused, advice] =
        &told.lines().collect::<Vec<_>>()[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(
        [*hello, *phone, *other_hello, *apart],
        [HELLO.trim_end(), "phone", HELLO.trim_end(), "apart"]
    );
    assert_eq!(offered, OFFERED);
    assert_eq!(*refused, "Operation not permitted (os error 1)");
    assert!(advice.starts_with("mounting needs root"), "{advice}");
}
