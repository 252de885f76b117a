//! How worlds and what runs in them end: as asked, by signals, and by violence.

use super::home::Home;
use crate::caller::{Caller, PROGRAM, Running, finish, signal, state, stop, wait_until};

#[test]
fn a_world_of_run_ends_with_its_last_process() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        let quick =
            finish(&mut home.program(&["run", "--name", "brief", "--", "sh", "-c", "exit 9"]));
        assert_eq!(quick.code(), 9, "{quick:?}");
        assert_eq!(home.list(), Vec::<String>::new(), "nothing is left when `run` returns");

        // What it leaves has the world go on; that returns all the same.
        let script = "sleep 1000 >&- 2>&- & echo $!; exit 3";
        let left = finish(&mut home.program(&["run", "--name", "brief", "--", "sh", "-c", script]));
        assert_eq!(left.code(), 3, "{left:?}");
        let sleeper: u32 = left.stdout.trim_end().parse().unwrap();
        assert_eq!(home.state("brief").as_deref(), Some("running"));
        let mut second = Running::start(&mut home.exec("brief", "echo joined; exec sleep 1000"));
        assert_eq!(second.line(), "joined");
        signal(sleeper, "TERM");
        wait_until(|| state(sleeper).is_none());
        assert_eq!(home.state("brief").as_deref(), Some("running"), "another is left");
        second.signal("TERM");
        assert_eq!(second.finish().code(), 143);
        wait_until(|| home.list().is_empty());
    }
}

#[test]
fn a_detached_command_writes_to_the_log_which_can_be_followed() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        let script =
            "echo first; echo second >&2; until [ -e \"$0\" ]; do sleep 0.01; done; echo last";
        let go = home.dir().join("go");
        let words = ["run", "--name", "work", "-d", "--", "sh", "-c", script, go.to_str().unwrap()];
        let started = finish(&mut home.program(&words));
        assert_eq!((started.code(), &*started.stdout, &*started.stderr), (0, "", ""));
        wait_until(|| home.fine(&["logs", "work"]) == "first\nsecond\n");
        let mut follower = Running::start(&mut home.command(&["logs", "--follow", "work"]));
        assert_eq!((follower.line(), follower.line()), ("first".into(), "second".into()));
        std::fs::write(go, "").unwrap();
        let rest = follower.finish();
        assert_eq!((rest.code(), &*rest.stdout), (0, "last\n"));
        wait_until(|| home.list().is_empty());
    }
}

#[test]
fn a_detached_command_that_is_nowhere_is_told_at_once() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        for program in ["is-nowhere", "/is/nowhere"] {
            let words = ["run", "--name", "work", "--detach", "--", program];
            let outcome = finish(&mut home.program(&words));
            assert_eq!(outcome.code(), 127, "{outcome:?}");
            assert!(outcome.stderr.contains(&format!("executing {program}: ")), "{outcome:?}");
        }
        assert!(home.list().is_empty());
    }
}

#[test]
fn signals_go_on_to_the_command() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        for name in ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"] {
            let script = format!(
                "trap 'echo caught; exit 3' {name}; echo ready; while :; do sleep 0.01; done"
            );
            let mut running = Running::start(&mut home.exec("dev", &script));
            assert_eq!(running.line(), "ready");
            running.signal(name);
            let outcome = running.finish();
            assert_eq!((outcome.code(), &*outcome.stdout), (3, "caught\n"), "{name}");
        }
    }
}

#[test]
fn a_killed_client_takes_its_command_with_it() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let mut running = Running::start(&mut home.exec("dev", "echo $$; sleep 1000"));
        let command: u32 = running.line().parse().unwrap();
        running.signal("KILL");
        assert_eq!(running.finish().code(), 137);
        wait_until(|| state(command).is_none() && home.number("dev", "processes") == 0);
    }
}

#[test]
fn stop_ends_what_is_calling_and_what_does_not_want_to_end() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let words = ["exec", "dev", "--", PROGRAM, "demo-cast", "director", "100000000"];
        let mut calling = Running::start(&mut home.command(&words));
        for _ in 0..4 {
            assert_ne!(calling.line(), "");
        }
        let script = "trap '' TERM HUP; echo $$; while :; do sleep 1000; done";
        let mut stubborn = Running::start(&mut home.exec("dev", script));
        let stubborn_pid: u32 = stubborn.line().parse().unwrap();
        // Another of the same user, which is none of the world's.
        let mut outside = caller.wrap("sleep", &["1000"]).spawn().unwrap();
        home.fine(&["stop", "dev", "--time", "0.3"]);
        assert_eq!(state(stubborn_pid), None);
        assert_eq!(calling.finish().code(), 143, "it was asked");
        assert_eq!(stubborn.finish().code(), 137, "it was killed");
        assert!(outside.try_wait().unwrap().is_none(), "it goes on");
        outside.kill().unwrap();
        outside.wait().unwrap();
        assert_eq!(home.state("dev").as_deref(), Some("stopped"));
    }
}

#[test]
fn a_world_whose_process_is_killed_is_dead_and_can_be_removed() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let mut inside = Running::start(&mut home.exec("dev", "sleep 1000 & echo $!; wait"));
        let sleeper: u32 = inside.line().parse().unwrap();
        signal(home.number("dev", "pid"), "KILL");
        let outcome = inside.finish();
        assert_eq!(outcome.code(), 1);
        assert!(outcome.stderr.contains("it has ended"), "{outcome:?}");
        // The driver sees to the rest.
        wait_until(|| state(sleeper).is_none());
        assert_eq!(home.state("dev").as_deref(), Some("dead"));
        for (words, part) in [
            (&["exec", "dev", "--", "true"][..], "it is dead"),
            (&["stop", "dev"], "it is dead"),
            (&["create", "dev"], "which is dead"),
        ] {
            let refused = home.world(words);
            assert!(refused.code() == 1 && refused.stderr.contains(part), "{words:?}: {refused:?}");
            assert!(refused.stderr.contains("anybinder world rm dev"), "{refused:?}");
        }
        home.fine(&["rm", "dev"]);
        home.fine(&["create", "dev"]);
        assert_eq!(home.fine(&["exec", "dev", "--", "echo", "again"]), "again\n");
    }
}

#[test]
fn a_world_whose_driver_is_killed_ends_and_says_why() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        let mut inside =
            Running::start(&mut home.exec("dev", "echo $ANYBINDER_DAEMON_PID; exec sleep 1000"));
        let driver = inside.line().parse().unwrap();
        signal(driver, "KILL");
        assert_eq!(inside.finish().code(), 137);
        wait_until(|| home.state("dev").as_deref() == Some("dead"));
        let log = home.fine(&["logs", "dev"]);
        assert!(log.contains("serving binder to the world: it ended unexpectedly"), "{log}");
        home.fine(&["rm", "dev"]);
    }
}

#[test]
fn a_world_that_does_not_answer_is_killed_by_force() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        home.fine(&["exec", "dev", "-d", "--", "sleep", "1000"]);
        let (monitor, inside) = (home.number("dev", "pid"), home.number("dev", "processes"));
        assert_eq!(inside, 1);
        stop(monitor);
        home.fine(&["rm", "--force", "dev"]);
        wait_until(|| state(monitor).is_none());
        assert_eq!(home.list(), Vec::<String>::new());
    }
}

#[test]
fn a_signal_to_the_process_of_a_world_stops_it() {
    for caller in Caller::all() {
        let home = Home::of(*caller);
        home.fine(&["create", "dev"]);
        home.fine(&["exec", "dev", "-d", "--", "sleep", "1000"]);
        signal(home.number("dev", "pid"), "TERM");
        wait_until(|| home.state("dev").as_deref() == Some("stopped"));
    }
}
