#!/bin/sh
# What `cargo xtask matrix` runs in each guest: root's and an ordinary user's worlds, a mount, programs in C, the checks.
# A line `step NAME ok` or `step NAME failed STATUS` for each, and what was said before the latter.
echo "kernel: $(uname -r)"
printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n' >/etc/passwd
# FUSE's device is everybody's where udev is; here is none.
chmod 666 /dev/fuse
chmod 1777 /tmp
cp /host/bin/* /bin
cd /tmp || exit 1

step() {
  name=$1
  shift
  if "$@" >/tmp/said 2>&1 </dev/null; then
    echo "step $name ok"
  else
    status=$?
    cat /tmp/said
    echo "step $name failed $status"
  fi
}

clients='for client in hello_binder "null_argument /dev/binder" "rawbinder ping -n 20 -w 2 -s 0,4096"; do
  anybinder run -- $client || exit
done'
# The first manager's user is the only one that may be manager of a device: so each has a mount.
mounted='mkdir -p /dev/binderfs; for user in root user; do
  anybinder mount /dev/binderfs --mode 0666 --links && su $user -c hello_binder && umount /dev/binderfs || exit
done
! ls /dev/binder'

anybinder doctor --json | sed 's/^/doctor: /'
step demo-root anybinder demo --calls 100
step demo-user su user -c 'anybinder demo --calls 100'
step clients-root sh -c "$clients"
step clients-user su user -c "$clients"
step files-root anybinder run -- send_files
step files-user su user -c 'anybinder run -- send_files'
[ ! -e /bin/send_files_32 ] || step files-32 anybinder run -- send_files_32
step mount-root sh -c "$mounted"
[ -z "$NO_CHECKS" ] || exit 0
# Clients that are killed at random are given a few milliseconds, in which an emulated one does not come far.
step checks-root env ANYBINDER_TEST_DEVICE=/dev/binder anybinder run -- \
  conformance --color never --test-threads 2 --skip c243_ device::
grep -E '^test result|FAILED' /tmp/said
# The same, whose clients call by shared memory: a program with libraries, where the kernel has all that this needs.
[ -d /host/libraries ] && anybinder doctor --json | grep -q '"check":"ring","found":true' || exit 0
cp -r /host/libraries/. /
step checks-memory env ANYBINDER_TEST_DEVICE=/dev/binder ANYBINDER_TEST_DOORS=lane,mixed,ring anybinder run -- \
  conformance_dynamic --color never --test-threads 2 --skip c243_ device::
grep -E 'FAILED' /tmp/said
