//! `mount --links`: what it makes in /dev, and what it leaves alone.

use crate::mount::in_private_mounts;

/// Runs a script as [`in_private_mounts`] does, with a /dev of its own that has no device but FUSE's.
fn in_private_dev(script: &str) -> Option<String> {
    let prologue = "mkdir /mnt/dev; mknod -m 0666 /mnt/dev/null c 1 3; mknod /mnt/dev/fuse c 10 229
        mount --bind /mnt/dev /dev
        tell() { for link in /dev/*binder*; do echo $(basename $link) $(readlink $link); done; }
        wait_for_mount() { until grep -q \" $DIR \" /proc/self/mounts; do sleep 0.01; done; }
        ";
    let told = in_private_mounts(&format!("{prologue}{script}"))?;
    // The directory's name ends in a number that is another each time.
    let mut parts = told.split("/mnt/binderfs-");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.trim_start_matches(char::is_numeric));
    Some(std::iter::once(first).chain(rest).collect())
}

const ALL: &str = "binder /binder\nhwbinder /hwbinder\nvndbinder /vndbinder\n";
const NONE: &str = "*binder*\n";

#[test]
fn the_links_lead_to_the_devices_and_go_with_the_mount() {
    let told = in_private_dev(
        "$PROGRAM mount $DIR --links
         tell; test -e /dev/binder
         driver=$(driver_of); umount $DIR; wait_for_end $driver; tell
         for signal in TERM INT; do
             $PROGRAM mount $DIR --links --devices binder
             tell; driver=$(driver_of); kill -s $signal $driver; wait_for_end $driver; tell
         done",
    );
    let once = format!("binder /binder\n{NONE}");
    assert!(told.is_none_or(|told| told == format!("{ALL}{NONE}{once}{once}")));
}

#[test]
fn in_the_foreground_the_links_go_with_the_mount_too() {
    let told = in_private_dev(
        "for end in 'umount $DIR' 'kill -s TERM $driver'; do
             $PROGRAM mount $DIR --links --foreground &
             driver=$!; wait_for_mount; tell; eval $end; wait $driver; tell
         done",
    );
    assert!(told.is_none_or(|told| told == format!("{ALL}{NONE}{ALL}{NONE}")));
}

#[test]
fn what_is_in_the_place_of_a_link_stays_and_is_told() {
    let told = in_private_dev(
        "mknod /dev/binder c 1 3; ln -s elsewhere /dev/hwbinder
         $PROGRAM mount $DIR --links 2>&1 | grep -c 'something else is there'
         tell; driver=$(driver_of); umount $DIR; wait_for_end $driver
         tell; stat -c %t,%T /dev/binder",
    );
    let kept = "binder\nhwbinder elsewhere\n";
    let expected = format!("2\n{kept}vndbinder /vndbinder\n{kept}1,3\n");
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}

#[test]
fn a_link_that_leads_elsewhere_in_the_end_is_not_removed() {
    let told = in_private_dev(
        "$PROGRAM mount $DIR --links
         ln -sf elsewhere /dev/binder
         driver=$(driver_of); umount $DIR; wait_for_end $driver; tell",
    );
    assert!(told.is_none_or(|told| told == "binder elsewhere\n"));
}

#[test]
fn links_of_a_driver_that_was_killed_serve_the_next() {
    let told = in_private_dev(
        "$PROGRAM mount $DIR --links
         driver=$(driver_of); kill -9 $driver; wait_for_end $driver; tell
         $PROGRAM mount $DIR --links 2>/dev/null
         test -e /dev/binder
         driver=$(driver_of); umount $DIR; wait_for_end $driver; tell",
    );
    assert!(told.is_none_or(|told| told == format!("{ALL}{NONE}")));
}

#[test]
fn a_driver_that_ends_leaves_the_links_to_one_that_is_mounted_meanwhile() {
    let told = in_private_dev(
        "$PROGRAM mount $DIR --links --devices binder
         for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
             before=$(driver_of); umount $DIR; $PROGRAM mount $DIR --links --devices binder
             wait_for_end $before; test -e /dev/binder || echo missing
         done
         driver=$(driver_of); umount $DIR; wait_for_end $driver; tell",
    );
    assert!(told.is_none_or(|told| told == NONE));
}

#[test]
fn a_driver_that_is_replaced_leaves_the_links_to_the_next() {
    let told = in_private_dev(
        "$PROGRAM mount $DIR --links
         first=$(driver_of); exec 3<>$DIR/binder
         $PROGRAM mount $DIR --links --replace 3>&-
         exec 3>&-; wait_for_end $first; tell
         test -e /dev/binder
         driver=$(driver_of); umount $DIR; wait_for_end $driver; tell",
    );
    assert!(told.is_none_or(|told| told == format!("{ALL}{NONE}")));
}

#[test]
fn a_mount_that_fails_leaves_no_link() {
    let told = in_private_dev("rm /dev/fuse; $PROGRAM mount $DIR --links 2>/dev/null || tell");
    assert!(told.is_none_or(|told| told == NONE));
}

#[test]
fn below_dev_root_makes_them_unasked_where_no_name_is_taken() {
    let told = in_private_dev(
        "inside() { for link in /dev/*binder; do echo $(basename $link) $(readlink $link); done; }
         mkdir /dev/binderfs
         end() { driver=$(pgrep --ns $$ --nslist mnt -f \"^$PROGRAM mount /dev/binderfs\")
                 umount /dev/binderfs; wait_for_end $driver; inside; }
         $PROGRAM mount /dev/binderfs; inside; end
         $PROGRAM mount /dev/binderfs --no-links; inside; end
         touch /dev/vndbinder; $PROGRAM mount /dev/binderfs; inside; end",
    );
    let (all, none) = (
        "binder /dev/binderfs/binder\nhwbinder /dev/binderfs/hwbinder\nvndbinder /dev/binderfs/vndbinder\n",
        "*binder\n",
    );
    let expected = format!("{all}{none}{none}{none}vndbinder\nvndbinder\n");
    assert!(told.as_ref().is_none_or(|told| *told == expected), "{told:?}");
}
