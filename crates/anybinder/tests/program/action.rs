//! What a job of a CI service gets from `contrib/action`.

use std::path::Path;

use crate::caller::{Caller, PROGRAM, finish, in_mounts};

#[test]
fn a_job_is_given_the_program_and_a_binder_for_its_machine() {
    if !Caller::all().contains(&Caller::Root) {
        return binder_testkit::skip("mounting needs root");
    }
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/action/setup.sh");
    let script = "
        mount -t tmpfs tmpfs /mnt; trap 'umount --lazy --quiet /mnt/binderfs || true' EXIT
        PROGRAM=$1 DESTDIR=/mnt/machine MOUNT=/mnt/binderfs bash \"$2\" | grep -E '^(run|mount) '
        /mnt/machine/usr/local/bin/anybinder run -- ls /dev/binder
        ls /mnt/binderfs/binder; umount /mnt/binderfs";
    let mut command = in_mounts(script, PROGRAM, &[]);
    let outcome = finish(command.arg(setup));
    assert_eq!((outcome.code(), &*outcome.stderr), (0, ""), "{outcome:?}");
    let told: Vec<_> = outcome.stdout.lines().collect();
    let [run, mount, world, machine] = told[..] else { panic!("{outcome:?}") };
    assert!(run.contains(" yes ") && mount.contains(" yes "), "{outcome:?}");
    assert_eq!((world, machine), ("/dev/binder", "/mnt/binderfs/binder"));
}
