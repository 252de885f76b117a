# What the init of redroid's images does about binder, from its published behaviour: it mounts a binderfs, links to its
# devices, adds those that are not there, and opens all to everybody. A step that fails is a line of its log, no more.
# Prints those lines, and what libbinder finds of the driver's features.
try() { "$@" || echo "init: $1 failed"; }
try mkdir /dev/binderfs
try mount -t binder -o stats=global binder /dev/binderfs
try chmod 0755 /dev/binderfs
for name in binder hwbinder vndbinder; do
    # As symlink(2), which replaces nothing.
    [ -e /dev/$name ] || try ln -s /dev/binderfs/$name /dev/$name
    try chmod 0666 /dev/binderfs/$name
done
cat /dev/binderfs/features/oneway_spam_detection || echo "libbinder: no features"
