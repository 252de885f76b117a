"""What Waydroid does about binder before it starts its container, from its published behaviour.

It looks for devices under the names of several drivers, and only for kinds that have none does it look at
/proc/filesystems, load a module, mount binderfs, add devices to that and link to them. Then it has the container's
configuration bind what it has found, and opens that to all.

Prints what it finds; the lines for the container's configuration go into the file that is named.
"""

import fcntl
import glob
import os
import struct
import subprocess
import sys

# The names of a kind's devices, the preferred one first.
KINDS = {
    kind: [f"anbox-{kind}", kind.replace("binder", "puddlejumper"), kind.replace("binder", "bonder"), kind]
    for kind in ("binder", "vndbinder", "hwbinder")
}
# Of <linux/android/binderfs.h>: _IOWR('b', 1, struct binderfs_device), of a name and two numbers.
BINDER_CTL_ADD = 0xC1086201


def found(kind):
    return next((name for name in KINDS[kind] if os.path.exists(f"/dev/{name}")), None)


def is_listed():
    with open("/proc/filesystems") as listed:
        return any(line.split()[-1] == "binder" for line in listed)


def add(name):
    with open("/dev/binderfs/binder-control", "rb") as control:
        device = struct.pack("256sII", name.encode(), 0, 0)
        try:
            fcntl.ioctl(control.fileno(), BINDER_CTL_ADD, device)
        except FileExistsError:
            pass


def make(names):
    if not is_listed():
        subprocess.run(["modprobe", "binder_linux", f"devices={','.join(names)}"])
    if not is_listed():
        sys.exit("no binder")
    os.makedirs("/dev/binderfs", exist_ok=True)
    subprocess.run(["mount", "-t", "binder", "binder", "/dev/binderfs"], check=True)
    for name in names:
        add(name)
    # Some of them are there.
    subprocess.run(["ln", "-s", *glob.glob("/dev/binderfs/*"), "/dev/"], stderr=subprocess.DEVNULL)


missing = [names[0] for kind, names in KINDS.items() if not found(kind)]
if missing:
    make(missing)
with open(sys.argv[1], "w") as config:
    for kind in KINDS:
        device = f"/dev/{found(kind)}"
        subprocess.run(["chmod", "666", "-R", device], check=True)
        print(f"{kind}: {device}")
        config.write(f"lxc.mount.entry = {device} dev/{kind} none bind,create=file,optional 0 0\n")
