//! Our library on our driver.

use std::path::Path;

use foreign::stage::{Stage, User};

fn stage() -> Stage {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let checks = Path::new(env!("CARGO_BIN_EXE_library_checks"));
    Stage::new(target_dir, &[checks, Path::new("/bin/sh")])
}

/// Runs all checks of the library; afterwards the driver must know of nothing any more.
#[test]
fn the_checks_of_the_library_pass_and_leave_nothing() {
    let stage = stage();
    let script = r#"
here=$(dirname "$0")
# If they hang it is told where: before the limit of a scene ends them.
tell() {
	"$here/anybinder" transactions; "$here/anybinder" ps; "$here/anybinder" state
	for checks in $(pgrep -P $$ -x library_checks); do
		for process in $checks $(pgrep -P $checks); do
			for thread in /proc/$process/task/*; do
				echo "$thread $(cat $thread/comm) $(cat $thread/syscall)"
			done
		done
	done
}
(sleep 200; tell >&2) & telling=$!
"$here/library_checks" --color never
kill $telling || true
tries=0
# On a busy machine the driver hears a little later that a process has ended.
while left=$("$here/anybinder" state --json); [ -n "$left" ] && [ $tries -lt 50 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
echo "$left""#;
    for &user in User::all() {
        let said = stage.run_script(user, &[], script);
        let (checked, left) = said.split_once("test result:").unwrap_or_else(|| panic!("{said}"));
        println!("as {user:?}: {}", left.lines().next().unwrap_or_default());
        assert!(!checked.contains("FAILED"), "{said}");
        let processes = left.lines().filter(|line| line.starts_with('{'));
        assert_eq!(processes.count(), 0, "as {user:?}: {left}");
    }
}
