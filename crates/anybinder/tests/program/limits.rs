//! What a world gives to one process, it keeps some of for others.

use crate::caller::{Caller, PROGRAM, finish};

#[test]
fn a_process_that_opens_for_ever_leaves_the_device_to_others() {
    // It ends at its own limit: an open costs the daemon no descriptor.
    let script = r#"
flood() {
    opened=0
    while exec {fd}<>/dev/binder; do opened=$((opened + 1)); done 2>/dev/null
    echo "$opened"
}
coproc FLOOD { flood; read; }
read -r opened <&"${FLOOD[0]}"
echo "$opened"
(exec {fd}<>/dev/binder && echo "another may") || echo "another may not"
"#;
    for caller in Caller::all() {
        let arguments = ["run", "--device", "binder", "--", "bash", "-c", script];
        let outcome = finish(&mut caller.command_with_files(400, &arguments));
        let (opened, others) = outcome.stdout.split_once('\n').unwrap_or_default();
        let opened: u32 = opened.parse().unwrap_or_default();
        assert!((300..400).contains(&opened), "{caller:?}: {outcome:?}");
        assert_eq!(others, "another may\n", "{caller:?}: {outcome:?}");
    }
}

#[test]
fn with_too_few_files_for_anybody_a_world_does_not_start_and_with_as_many_as_it_says_it_serves() {
    let call = [PROGRAM, "demo-cast", "director", "5"];
    for caller in Caller::all() {
        let few = finish(&mut caller.command_with_files(64, &["run", "--", "echo", "started"]));
        assert_eq!((few.code(), &*few.stdout), (1, ""), "{caller:?}: {few:?}");
        let needed = "this process may have 64 files open, and needs 128 to serve anybody";
        assert!(few.stderr.contains(needed), "{caller:?}: {few:?}");
        assert!(few.stderr.contains("try: `ulimit -Hn 128`"), "{caller:?}: {few:?}");
        let arguments = [&["run", "--"], &call[..]].concat();
        let enough = finish(&mut caller.command_with_files(128, &arguments));
        assert_eq!(enough.code(), 0, "{caller:?}: {enough:?}");
    }
}

#[test]
fn a_limit_that_keeps_a_world_from_starting_is_told_with_what_helps() {
    // Where it ends depends on how many files its caller leaves open to it; that it helps does not.
    let too_few = ["Too many open files", "try: let it open more files: `ulimit -n 1024`"];
    let few_to_serve = ["files open, and needs 128 to serve anybody", "try: `ulimit -Hn 128`"];
    for caller in Caller::all() {
        for files in 7..32 {
            let few = finish(&mut caller.command_with_files(files, &["run", "--", "true"]));
            assert_eq!(few.code(), 1, "{caller:?}: {files}: {few:?}");
            let tells = |parts: [&str; 2]| parts.iter().all(|part| few.stderr.contains(part));
            let told = tells(too_few) || tells(few_to_serve);
            assert!(told, "{caller:?}: {files}: {few:?}");
        }
    }
    // The kernel does not count root's processes.
    if Caller::all().contains(&Caller::Ordinary) {
        let arguments = ["--nproc=1", PROGRAM, "run", "--", "true"];
        let alone = finish(&mut Caller::Ordinary.wrap("prlimit", &arguments));
        assert_eq!(alone.code(), 1, "{alone:?}");
        assert!(alone.stderr.contains("try: let this user have more processes"), "{alone:?}");
    }
}

#[test]
fn opens_that_were_closed_can_be_made_again() {
    let script = r#"
for round in 1 2 3 4 5 6; do
    bash -c 'for open in 1 2 3 4 5 6; do
        exec {fd}<>/dev/binder || exit 1
    done' || exit 1
done
"#;
    for caller in Caller::all() {
        let arguments = ["run", "--device", "binder", "--", "bash", "-c", script];
        let outcome = finish(&mut caller.command_with_files(200, &arguments));
        assert_eq!(outcome.code(), 0, "{caller:?}: {outcome:?}");
    }
}

#[test]
fn a_user_opens_so_often_and_nothing_is_left_of_one_who_is_killed() {
    // The shell that kills it sees each end; the driver hears of them soon.
    let script = r#"
flood() {
    opened=0
    while exec {fd}<>/dev/binder; do opened=$((opened + 1)); done 2>/dev/null
    echo "$opened opened"
    "$0" stats | grep -Eo "(opens|processes) +[0-9]+ +[0-9]+" | tr -s ' '
    kill -KILL "$BASHPID"
}
for round in 1 2; do
    (flood)
    while "$0" stats --json | grep -q '"kind":"user"'; do sleep 0.05; done
done
"$0" stats --json | grep -c '"kind":"share"'
"#;
    let limits = ["run", "--limit", "user-opens=6", "--limit", "user-processes=2"];
    for caller in Caller::all() {
        let arguments = [&limits[..], &["--", "bash", "-c", script, PROGRAM]].concat();
        let outcome = finish(&mut caller.command(&arguments));
        let round = "6 opened\nopens 6 6\nprocesses 1 2\n";
        assert_eq!(outcome.stdout, format!("{round}{round}0\n"), "{caller:?}: {outcome:?}");
        let warning = "is at the limit user-opens=6";
        assert!(outcome.stderr.contains(warning), "{caller:?}: {outcome:?}");
    }
}

#[test]
fn a_flood_of_files_meets_its_limit_and_the_log_tells_which() {
    let script = r#"
"$0" bench flood --floods descriptors --calls 200 > /dev/null
"$0" log | grep -o 'process [0-9]* is at the limit [^)]*' | sed 's/[0-9]* is/N is/' | sort -u
"#;
    for caller in Caller::all() {
        let arguments = ["run", "--limit", "descriptors=8", "--", "sh", "-c", script, PROGRAM];
        let outcome = finish(&mut caller.command(&arguments));
        let expected = "process N is at the limit descriptors=8\n";
        assert_eq!(outcome.stdout, expected, "{caller:?}: {outcome:?}");
    }
}

#[test]
fn receive_buffers_get_no_more_memory_than_their_user_may_have() {
    let script = r#"
call() { "$0" bench ping --pin none --rounds 1 --calls 5 --sizes "$1" > /dev/null; }
call 64 && echo "small calls pass"
call 65536 || echo "large ones do not"
call 64 && echo "small ones still do"
"#;
    let limit = "user-bytes=32768";
    for caller in Caller::all() {
        let arguments = ["run", "--limit", limit, "--", "sh", "-c", script, PROGRAM];
        let outcome = finish(&mut caller.command(&arguments));
        let expected = "small calls pass\nlarge ones do not\nsmall ones still do\n";
        assert_eq!(outcome.stdout, expected, "{caller:?}: {outcome:?}");
    }
}
