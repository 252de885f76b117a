//! A service manager in a world, and at a mount.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::caller::{Caller, PROGRAM, finish, in_mounts, is_root};

/// `anybinder run --manager -- sh -c SCRIPT`, where `$0` is the program.
fn with_manager(caller: Caller, script: &str) -> Command {
    let mut command = caller.command(&["run", "--manager", "--", "sh", "-ec", script]);
    command.arg(PROGRAM);
    command
}

#[test]
fn a_world_has_a_manager_if_it_is_asked_for() {
    for caller in Caller::all() {
        let listed = finish(&mut with_manager(*caller, "$0 service list"));
        let wanted = "Found 1 services:\n0\tmanager: [android.os.IServiceManager]\n";
        assert_eq!((&*listed.stdout, &*listed.stderr), (wanted, ""), "{caller:?}");
        let alone = finish(&mut caller.run_script(&format!("{PROGRAM} service list")));
        assert_eq!(alone.code(), 1, "a world without is as it was: {alone:?}");
        assert!(alone.stderr.contains("there is none"), "{alone:?}");
        let options = ["run", "--devices", "a,b", "--manager", "--manager-dialect", "13", "--"];
        let ask = format!("{PROGRAM} service --device /dev/a check manager");
        let first = finish(caller.command(&options).args(["sh", "-c", &ask]));
        assert_eq!(first.stdout, "Service manager: found\n", "{first:?}");
    }
}

#[test]
fn a_command_that_fails_without_a_manager_is_told_of_it() {
    for caller in Caller::all() {
        let ask = format!("{PROGRAM} service list 2>/dev/null");
        let failed = finish(&mut caller.run_script(&ask));
        assert_eq!(failed.code(), 1, "{failed:?}");
        assert!(failed.stderr.contains("there was none"), "{failed:?}");
        assert!(failed.stderr.contains("anybinder run --manager"), "{failed:?}");
        let went_on = finish(&mut caller.run_script(&format!("{ask}; true")));
        assert_eq!((went_on.code(), &*went_on.stderr), (0, ""), "{went_on:?}");
        let another = finish(&mut with_manager(*caller, "$0 service check nothing; false"));
        assert_eq!((another.code(), &*another.stderr), (1, ""), "{another:?}");
    }
}

#[test]
fn a_world_whose_programs_call_for_a_manager_in_vain_is_given_one() {
    for caller in Caller::all() {
        let script = format!("until {PROGRAM} service list 2>/dev/null; do sleep 0.05; done");
        let came = finish(&mut caller.run_script(&script));
        let wanted = "Found 1 services:\n0\tmanager: [android.os.IServiceManager]\n";
        assert_eq!((came.code(), &*came.stdout, &*came.stderr), (0, wanted, ""), "{came:?}");
        // Who waits for a service waits for a manager first.
        let script = format!("{PROGRAM} service wait manager");
        let waited = finish(&mut caller.run_script(&script));
        assert_eq!(waited.stdout, "Service manager: found\n", "{waited:?}");
        // No program calls for one.
        let alone = finish(&mut caller.run_script(&format!("sleep 5.5; {PROGRAM} ps")));
        assert_eq!(alone.stdout, "No process has a device open.\n", "{alone:?}");
    }
}

#[test]
fn a_world_that_has_had_a_manager_or_wants_none_is_given_none() {
    for caller in Caller::all() {
        let script = format!(
            "{PROGRAM} servicemanager & manager=$!
             until {PROGRAM} service list 2>/dev/null; do :; done
             kill $manager; wait $manager
             {PROGRAM} service list 2>/dev/null; sleep 5.5; {PROGRAM} service check manager"
        );
        let gone = finish(&mut caller.run_script(&script));
        assert!(!gone.stdout.contains("Service manager: found"), "{gone:?}");
        let ask = "$0 service list 2>/dev/null; sleep 5.5; $0 service list";
        let mut command = caller.command(&["run", "--no-manager", "--", "sh", "-c", ask]);
        let unwanted = finish(command.arg(PROGRAM));
        assert_eq!((unwanted.code(), &*unwanted.stdout), (1, ""), "{unwanted:?}");
        let both = finish(&mut caller.command(&["run", "--manager", "--no-manager", "true"]));
        assert_eq!(both.code(), 2, "{both:?}");
    }
}

#[test]
fn a_manager_that_cannot_be_is_told_and_there_is_no_world() {
    for caller in Caller::all() {
        let options =
            ["run", "--manager", "--manager-policy", "/nowhere", "--", "echo", "in the world"];
        let outcome = finish(&mut caller.command(&options));
        assert_eq!((outcome.code(), &*outcome.stdout), (1, ""), "{outcome:?}");
        assert!(outcome.stderr.contains("reading /nowhere"), "{outcome:?}");
        let alone = finish(&mut caller.command(&["run", "--manager-allow-all", "true"]));
        assert_eq!(alone.code(), 2, "{alone:?}");
    }
}

#[test]
fn a_policy_is_read_again_on_sighup_and_one_that_is_none_changes_nothing() {
    for caller in Caller::all() {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
        let script = format!(
            r#"cd "$0"
            tell() {{ echo "$1" > policy; kill -HUP $manager; }}
            until_check_is() {{ while [ "$({PROGRAM} service check manager)" != "Service manager: $1" ]; do :; done; }}
            until_told() {{ until grep -q "$1" log; do :; done; }}
            # It registers itself by the policy that it begins with.
            echo 'allow add,list *' > policy
            {PROGRAM} servicemanager --policy policy 2> log & manager=$!
            until {PROGRAM} service list 2> /dev/null; do :; done
            until_check_is 'not found'
            tell 'allow list,find *'; until_check_is found
            tell 'allow nothing *'; until_told "line 1: 'nothing' is none of"
            tell 'allow * label=*'; until_told 'rules of labels need'
            {PROGRAM} service check manager
            tell 'allow list *'; until_check_is 'not found'
            kill $manager; wait $manager && echo ended"#
        );
        let mut command = caller.run_script(&script);
        let outcome = finish(command.arg(place.path()));
        assert!(outcome.stdout.ends_with("Service manager: found\nended\n"), "{outcome:?}");
    }
}

#[test]
fn a_manager_in_the_background_serves_when_its_command_returns() {
    for caller in Caller::all() {
        let script = format!(
            "{PROGRAM} servicemanager --background && {PROGRAM} service check manager
             {PROGRAM} servicemanager --background || echo $?"
        );
        let outcome = finish(&mut caller.run_script(&script));
        assert_eq!(outcome.stdout, "Service manager: found\n1\n", "{outcome:?}");
        assert!(outcome.stderr.contains("EBUSY says that there is one"), "{outcome:?}");
    }
}

#[test]
fn a_mount_has_a_manager_that_ends_with_its_driver() {
    if !is_root() {
        return binder_testkit::skip("only root can mount for all");
    }
    for foreground in ["", "--foreground"] {
        let script = format!(
            "mount -t tmpfs tmpfs /mnt
             if [ -n '{foreground}' ]; then
                 $1 mount /mnt --devices ended --manager {foreground} & driver=$!
                 until $1 service --device /mnt/ended check manager 2>/dev/null; do sleep 0.01; done
             else
                 $1 mount /mnt --devices ended --manager
                 driver=$(pgrep -f \"^$1 mount /mnt --devices ended --manager$\")
                 $1 service --device /mnt/ended check manager
             fi
             manager=$(pgrep -f \"^$1 servicemanager --background /mnt/ended \")
             kill $driver
             while grep -q '^State:.[^Z]' /proc/$manager/status 2>/dev/null; do sleep 0.01; done
             echo ended; exec true"
        );
        let outcome = finish(&mut in_mounts(&script, PROGRAM, &[]));
        let wanted = "Service manager: found\nended\n";
        assert!(outcome.stdout.ends_with(wanted), "'{foreground}': {outcome:?}");
    }
}

#[test]
fn a_manager_whose_mount_is_replaced_ends_and_its_driver_with_it() {
    if !is_root() {
        return binder_testkit::skip("only root can mount for all");
    }
    let script = "mount -t tmpfs tmpfs /mnt
        options='/mnt --devices gone --manager'
        $1 mount $options
        driver=$(pgrep -f \"^$1 mount /mnt --devices gone --manager$\")
        manager=$(pgrep -f \"^$1 servicemanager --background /mnt/gone \")
        $1 mount $options --replace
        $1 service --device /mnt/gone check manager
        for pid in $driver $manager; do
            while grep -q '^State:.[^Z]' /proc/$pid/status 2>/dev/null; do sleep 0.01; done
        done
        $1 service --device /mnt/gone check manager
        kill $(pgrep -f \"^$1 mount /mnt --devices gone --manager --replace$\")
        exec true";
    let outcome = finish(&mut in_mounts(script, PROGRAM, &[]));
    let wanted = "Service manager: found\nService manager: found\n";
    assert_eq!(outcome.stdout, wanted, "{outcome:?}");
}

#[test]
fn bash_completes_names_of_services() {
    for caller in Caller::all() {
        let script = "cat > /dev/null
            bash --norc -c 'eval \"$($0 completions bash)\"
            for line in \"service check m\" \"service dump x\" \"service --json call \"; do
                COMP_WORDS=($0 $line) COMP_CWORD=$(set -- $line; echo $#)
                case $line in *\" \") COMP_WORDS+=(\"\"); COMP_CWORD=$((COMP_CWORD + 1));; esac
                COMPREPLY=()
                _anybinder_or_command anybinder \"${COMP_WORDS[COMP_CWORD]}\" \"\"
                echo \"<${COMPREPLY[*]}>\"
            done' $0 < /dev/null";
        let outcome = finish(&mut with_manager(*caller, script));
        assert_eq!(outcome.stdout, "<manager>\n<>\n<manager>\n", "{outcome:?}");
    }
}

#[test]
fn other_shells_ask_for_names_of_services_too() {
    let script = |shell| finish(Command::new(PROGRAM).args(["completions", shell])).stdout;
    assert_eq!(script("zsh").matches("The service:_anybinder_services'").count(), 4);
    assert!(script("zsh").contains(":_anybinder_services'\n") || script("zsh").contains("names=("));
    assert!(script("fish").contains("(anybinder service list --names 2>/dev/null)"));
    // And for commands: of `run`, `exec`, `procview run`, `trace` and `trace record`.
    assert_eq!(script("zsh").matches("The command and its arguments:_cmdambivalent'").count(), 5);
    assert!(script("fish").contains("-f -a \"(__fish_anybinder_command)\""));
}
