#!/bin/sh
# What `cargo xtask kernel-bench` runs in each guest, which counts instructions: bench.sh CALLS.
# A line `bench WAY ...` for each size, as rawbinder and ipcbase write it.
echo "kernel: $(uname -r)"
cp /host/bin/* /bin
cp -r /host/libraries/. /
# What boots is to be over.
sleep 3

bench() {
  way=$1
  shift
  "$@" -n "$CALLS" -p same | sed "s/^/bench $way /"
}

CALLS=$1
ping='rawbinder ping -s 64,4096'
bench futex ipcbase futex
bench kernel $ping -d /dev/binder
bench lane anybinder run -- $ping
bench ring env ANYBINDER_LANES=0 anybinder run -- $ping
bench fuse anybinder run --no-ring -- $ping
