//! What a world gives to one process, it keeps some of for others.

use crate::caller::{Caller, finish};

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
