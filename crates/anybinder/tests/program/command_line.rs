//! What a slip on the command line, or a machine that lacks something, is answered with.

use std::process::Command;

use crate::caller::{Caller, Outcome, PROGRAM, finish, in_mounts, is_root};

/// The program as it is called by hand; for what it refuses before it does anything.
fn call(arguments: &[&str]) -> Outcome {
    finish(Command::new(PROGRAM).args(arguments))
}

fn contains(outcome: &Outcome, parts: &[&str]) {
    for part in parts {
        assert!(outcome.stderr.contains(part), "{part} is missing: {outcome:?}");
    }
}

#[test]
fn an_option_that_is_not_known_is_no_command() {
    for line in [&["run", "--no-secomp", "--", "true"][..], &["run", "--no-secomp", "true"]] {
        let outcome = call(line);
        assert_eq!(outcome.code(), 2, "{outcome:?}");
        contains(&outcome, &["unexpected argument '--no-secomp'", "'--no-seccomp'"]);
    }
    let outcome = call(&["procview", "run", "--leels", "true"]);
    assert_eq!(outcome.code(), 2, "{outcome:?}");
    contains(&outcome, &["unexpected argument '--leels'", "'--levels'"]);
    for caller in Caller::all() {
        let named_like_one = finish(&mut caller.command(&["run", "--", "--no-secomp"]));
        contains(&named_like_one, &["anybinder: executing --no-secomp: "]);
    }
}

#[test]
fn a_service_managers_device_is_named_as_that_of_service_is() {
    for device in [&["/nowhere"][..], &["--device", "/nowhere"], &["--device=/nowhere"]] {
        let outcome = call(&[&["servicemanager"], device].concat());
        assert_eq!(outcome.code(), 1, "{outcome:?}");
        contains(&outcome, &["opening /nowhere: No such file or directory"]);
    }
    let outcome = call(&["servicemanager", "--device", "/nowhere", "/dev/binder"]);
    assert_eq!(outcome.code(), 2, "{outcome:?}");
}

#[test]
fn devices_are_named_in_one_way_everywhere() {
    for words in [
        &["--device", "a", "--device", "b"][..],
        &["--devices", "a", "--devices", "b"],
        &["--devices", "a,b"],
        &["--device=a,b"],
    ] {
        for caller in Caller::all() {
            let list = ["--", "ls", "/dev/binderfs"];
            let outcome = finish(caller.command(&["run"]).args(words).args(list));
            assert_eq!(
                outcome.stdout, "a\nb\nbinder-control\nbinder_logs\nfeatures\n",
                "{words:?}"
            );
        }
        if Caller::all().contains(&Caller::Root) {
            let script = "mount -t tmpfs tmpfs /mnt
                PROGRAM=$1; shift; $PROGRAM mount /mnt \"$@\"
                ls /mnt; umount /mnt; exec true";
            let outcome = finish(in_mounts(script, PROGRAM, &[]).args(words));
            assert_eq!(
                outcome.stdout, "a\nb\nbinder-control\nfeatures\n",
                "{words:?}: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_device_name_that_is_too_long_is_told_its_length() {
    for line in [["run", "true"], ["mount", "/usr"]] {
        let outcome = call(&[line[0], "--devices", &"n".repeat(256), line[1]]);
        assert_eq!(outcome.code(), 2, "{outcome:?}");
        contains(&outcome, &["it has 256 bytes", "255 at most"]);
    }
    for caller in Caller::all() {
        let name = "n".repeat(255);
        let outcome = finish(&mut caller.command(&["run", "--device", &name, "--", "true"]));
        assert_eq!(outcome.code(), 0, "{outcome:?}");
    }
}

#[test]
fn fewer_devices_than_are_named_are_refused_with_what_to_do() {
    let outcome = call(&["mount", "/usr", "--max", "2"]);
    assert_eq!(outcome.code(), 2, "{outcome:?}");
    contains(&outcome, &["--max 2", "the 3 devices binder,hwbinder,vndbinder", "--devices"]);
    contains(&outcome, &["Usage: anybinder mount"]);
}

#[test]
fn a_service_manager_without_its_device_says_how_to_have_one() {
    let outcome = call(&["servicemanager", "/dev/none-is-called-so"]);
    assert_eq!(outcome.code(), 1, "{outcome:?}");
    contains(&outcome, &["No such file", "try: `anybinder run --manager -- COMMAND`"]);
}

#[test]
fn where_proc_is_not_mounted_it_is_what_is_missed() {
    if !is_root() {
        return binder_testkit::skip("only root can cover /proc");
    }
    for line in ["run -- true", "mount /usr", "doctor", "demo", "ps", "procview run --all true"] {
        let script = format!("mount -t tmpfs tmpfs /proc; exec $1 {line}");
        let outcome = finish(&mut in_mounts(&script, PROGRAM, &[]));
        assert_eq!(outcome.code(), 1, "{line}: {outcome:?}");
        contains(&outcome, &["looking at /proc", "try: sudo mount -t proc proc /proc"]);
    }
}

#[test]
fn another_file_in_the_place_of_dev_fuse_is_named() {
    if !is_root() {
        return binder_testkit::skip("only root can cover /dev/fuse");
    }
    for line in ["run -- true", "mount /mnt", "doctor", "procview run --scenario=5 true"] {
        let script = format!("mount --bind /dev/null /dev/fuse; $1 {line} 2>&1; exec true");
        let outcome = finish(&mut in_mounts(&script, PROGRAM, &[]));
        for part in ["opening /dev/fuse: it is another file", "mknod -m 0666 /dev/fuse c 10 229"] {
            assert!(outcome.stdout.contains(part), "{line}: {part} is missing: {outcome:?}");
        }
    }
}

#[test]
fn a_limit_of_the_size_of_files_is_named_before_it_ends_a_driver() {
    for line in ["run -- true", "mount /mnt", "demo", "world create limited"] {
        let mut command = Command::new("sh");
        let outcome = finish(command.args(["-c", "ulimit -f 8; exec $0 $1", PROGRAM, line]));
        assert_eq!(outcome.code(), 1, "{line}: {outcome:?}");
        contains(&outcome, &["they may have 4096 bytes", "try: `ulimit -f unlimited`"]);
    }
}
