#!/bin/sh
# Prints what `anybinder top` shows of a known scenario, for docs/observing.md: processes that call each other on one
# device, and on another a service manager that is stopped while two programs wait for it. Needs tmux.
#
#   docs/pictures/top.sh [ANYBINDER]
set -eu

anybinder=$(realpath "${1:-target/debug/anybinder}")
if [ -z "${IN_WORLD-}" ]; then
    exec env IN_WORLD=1 "$anybinder" run --devices binder,hwbinder --manager -- "$0" "$anybinder"
fi

terminal() { tmux -L "top-picture-$$" "$@"; }
trap 'terminal kill-server; kill $soak; kill -CONT "$manager"' EXIT

"$anybinder" bench soak --device /dev/hwbinder --seconds 120 --clients 4 --kills-per-s 0 > /dev/null &
soak=$!
manager=$("$anybinder" service --json debug-info | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')

terminal new-session -d -x 118 -y 13 "'$anybinder' top --interval 0.5"
sleep 8
terminal capture-pane -p

terminal send-keys c
sleep 3
echo
terminal capture-pane -p | sed -e 's/[[:space:]]*$//' -e '/^$/d'

kill -STOP "$manager"
for _ in 1 2; do "$anybinder" service list > /dev/null & done
terminal send-keys w
sleep 3
echo
terminal capture-pane -p | sed -e 's/[[:space:]]*$//' -e '/^$/d'
