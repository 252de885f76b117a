//! What the documents say that one can type, typed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use foreign::stage::Stage;

/// Types a line in the directory of a stage, whose programs are found by their names, and returns what it prints.
fn typed(stage: &Stage, line: &str) -> String {
    let shell = PathBuf::from(stage.path_of("sh"));
    let dir = shell.parent().expect("a program is in a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "60", "sh", "-c", line]).current_dir(dir);
    command.env("PATH", format!("{}:{path}", dir.display())).stdin(Stdio::null());
    let output = command.output().expect("timeout(1) is installed");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {}: {stderr}", output.status);
    String::from_utf8(output.stdout).expect("it prints text")
}

fn stage() -> Stage {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let hello = Path::new(env!("CARGO_BIN_EXE_hello"));
    Stage::new(target_dir, &[hello, Path::new("/bin/sh")])
}

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(path).expect("the document can be read")
}

#[test]
fn the_first_example_of_the_library_says_hello() {
    let text = document("docs/libbinder.md");
    let line = text.lines().find(|line| line.contains("run --manager")).expect("it has a line");
    let lines = text.lines().skip_while(|other| *other != line);
    let wanted = lines.skip_while(|line| line.trim() != "```").skip(3);
    let wanted: Vec<_> = wanted.take_while(|line| line.trim() != "```").map(str::trim).collect();
    let said = typed(&stage(), line.trim());
    assert_eq!(said.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(wanted.last(), Some(&"Hello, world!"));
}

#[test]
fn a_world_with_a_manager_is_as_the_readme_shows_it() {
    let text = document("README.md");
    let shown = text.split("\n$ anybinder run --manager").nth(1).expect("it shows it");
    let (line, rest) = shown.split_once('\n').expect("with what it prints");
    let wanted = rest.split("```").next().unwrap_or_default();
    assert_eq!(typed(&stage(), &format!("anybinder run --manager{line}")), wanted);
}
