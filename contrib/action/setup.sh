#!/usr/bin/env bash
# Installs anybinder on a runner, lets ordinary users have worlds, and says what the machine allows.
#   PROGRAM  a build of it; without one it is built from the sources that this file is among
#   MOUNT    where the machine is to have a binder, if anywhere
#   DESTDIR  what is in front of all places that are written to
set -euo pipefail
sources=$(cd "$(dirname "$0")/../.." && pwd)
as_root=sudo
[ "$(id -u)" != 0 ] || as_root=

if [ -z "${PROGRAM:-}" ]; then
    cargo build --release --locked --package anybinder --manifest-path "$sources/Cargo.toml"
    PROGRAM=${CARGO_TARGET_DIR:-$sources/target}/release/anybinder
fi
$as_root install -D -m 755 "$PROGRAM" "${DESTDIR:-}/usr/local/bin/anybinder"

# Ubuntu from 23.10 on: a user namespace is of use to programs with a profile alone.
restricted=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
if [ "$(cat "$restricted" 2>/dev/null || echo 0)" = 1 ]; then
    $as_root install -D -m 644 "$sources/contrib/apparmor/anybinder" "${DESTDIR:-}/etc/apparmor.d/anybinder"
    $as_root apparmor_parser --replace "${DESTDIR:-}/etc/apparmor.d/anybinder"
fi
# FUSE may be a module, and its device root's.
[ -e /dev/fuse ] || $as_root modprobe fuse
[ -w /dev/fuse ] || $as_root chmod 666 /dev/fuse

if [ -n "${MOUNT:-}" ]; then
    $as_root mkdir -p "$MOUNT"
    $as_root "${DESTDIR:-}/usr/local/bin/anybinder" mount "$MOUNT" --mode 0666 --stats
fi
"${DESTDIR:-}/usr/local/bin/anybinder" doctor
