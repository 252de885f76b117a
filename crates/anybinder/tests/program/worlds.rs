//! Worlds that have names: made, joined, ended and killed, by root and by ordinary users.

mod ends;
mod guide;
mod home;
mod joining;
mod terminals;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use self::home::Home;
use crate::caller::{Caller, PROGRAM, finish};

#[test]
fn a_world_is_made_joined_stopped_and_removed() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let listed = home.list();
        assert_eq!(listed.len(), 1);
        assert!(listed[0].contains("\"name\":\"dev\",\"state\":\"running\""), "{listed:?}");
        assert!(listed[0].contains("\"processes\":0,\"devices\":[\"binder\""), "{listed:?}");

        let inside = home.fine(&[
            "exec",
            "dev",
            "--",
            "sh",
            "-c",
            "ls /dev/binderfs; echo $ANYBINDER_WORLD; id -u",
        ]);
        let names = "binder\nbinder-control\nbinder_logs\nfeatures\nhwbinder\nvndbinder\ndev\n";
        assert_eq!(inside, format!("{names}{}", caller.uid()));

        let refused = home.world(&["rm", "dev"]);
        assert_eq!(refused.code(), 1);
        assert!(refused.stderr.contains("it is running"), "{refused:?}");
        home.fine(&["stop", "dev"]);
        assert!(home.list()[0].contains("\"state\":\"stopped\",\"pid\":0"), "{:?}", home.list());
        home.fine(&["stop", "dev"]);
        for (words, part) in [
            (&["exec", "dev", "--", "true"][..], "it was stopped"),
            (&["create", "dev"], "there is one of that name, which is stopped"),
            (&["exec", "other", "--", "true"], "there is none"),
            (&["logs", "other"], "anybinder world list"),
        ] {
            let refused = home.world(words);
            assert!(refused.code() == 1 && refused.stderr.contains(part), "{words:?}: {refused:?}");
        }
        home.fine(&["rm", "dev"]);
        assert_eq!(home.list(), Vec::<String>::new());
    }
}

#[test]
fn a_world_has_a_service_manager_if_it_is_asked_for() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev", "--manager"]);
        let listed = home.fine(&["exec", "dev", "--", PROGRAM, "service", "list", "--names"]);
        assert_eq!(listed, "manager\n");
        home.fine(&["stop", "dev"]);
        home.fine(&["rm", "dev"]);
        // With its last process such a world would never end.
        let refused = finish(&mut home.program(&["run", "--name", "dev", "--manager", "true"]));
        assert_eq!(refused.code(), 1);
        assert!(refused.stderr.contains("world create NAME --manager"), "{refused:?}");
        assert_eq!(home.list(), Vec::<String>::new());
    }
}

#[test]
fn odd_names_are_refused_before_anything_is_done() {
    for name in [
        "../dev",
        ".",
        "..",
        ".dev",
        "a/b",
        "a b",
        "-a",
        "",
        "$(id)",
        "\u{e9}",
        "a\nb",
        &"n".repeat(65),
    ] {
        for words in [&["create"][..], &["exec"], &["stop"], &["rm"], &["logs"], &["enter"]] {
            let mut command = std::process::Command::new(PROGRAM);
            command.arg("world").args(words).args(["--", name, "true"]);
            let outcome = finish(&mut command);
            assert_eq!(outcome.code(), 2, "{words:?} {name:?}: {outcome:?}");
        }
    }
}

#[test]
fn of_many_who_make_one_name_one_does() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        let make = |_| {
            let mut command = home.command(&["create", "same"]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let racers: Vec<_> = (0..6).map(make).collect();
        let mut made = 0;
        for racer in racers {
            let output = racer.wait_with_output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            if output.status.success() {
                made += 1;
            } else {
                assert!(stderr.contains("which is running"), "{stderr}");
            }
        }
        assert_eq!(made, 1);
        assert_eq!(home.fine(&["exec", "same", "--", "echo", "works"]), "works\n");
    }
}

#[test]
fn two_worlds_at_once_know_nothing_of_each_other() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "one", "--device", "only-one"]);
        home.fine(&["create", "two", "--device", "only-two"]);
        for (world, device) in [("one", "only-one"), ("two", "only-two")] {
            let seen = home.fine(&["exec", world, "--", "ls", "/dev/binderfs"]);
            assert!(
                seen.starts_with("binder-control\n") && seen.ends_with(&format!("{device}\n")),
                "{seen}"
            );
        }
        home.fine(&["stop", "one"]);
        assert_eq!(
            home.fine(&["exec", "two", "--", "cat", "/dev/binderfs/features/extended_error"]),
            "1\n"
        );
    }
}

#[test]
fn what_cannot_be_made_leaves_nothing() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        // A descriptor limit that is too low for a driver.
        let mut command = caller.command_with_files(24, &["world", "create", "poor"]);
        let refused = finish(command.env("XDG_RUNTIME_DIR", home.dir()));
        assert_eq!(refused.code(), 1, "{refused:?}");
        assert!(refused.stderr.contains("files"), "{refused:?}");
        assert_eq!(home.list(), Vec::<String>::new());
    }
}

#[test]
fn the_directory_of_containers_is_that_of_roots_worlds_too() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["list"]);
        let own = home.dir().join("anybinder");
        // Others look into it where `anybinder oci` has made it, and it lets them where worlds have.
        for mode in [0o755, 0o700] {
            std::fs::set_permissions(&own, PermissionsExt::from_mode(mode)).unwrap();
            home.fine(&["list"]);
        }
        let mode = |dir: &Path| std::fs::metadata(dir).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&own.join("worlds")), 0o700);
        std::fs::remove_dir_all(&own).unwrap();
        home.fine(&["list"]);
        assert_eq!((mode(&own) & 0o022, mode(&own.join("worlds"))), (0, 0o700));
    }
}

#[test]
fn a_directory_of_others_is_not_trusted() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["list"]);
        let own = home.dir().join("anybinder");
        std::fs::set_permissions(&own, PermissionsExt::from_mode(0o777)).unwrap();
        let refused = home.world(&["list"]);
        assert!(
            refused.code() == 1 && refused.stderr.contains("only this user can change"),
            "{refused:?}"
        );
    }
}
