//! Numbers of ours beside the same numbers as a C compiler sees them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// A number that both languages know.
pub(crate) struct Fact {
    pub(crate) c_expression: String,
    pub(crate) ours: u64,
}

/// Facts of constants that are named alike in both languages.
macro_rules! constants {
    ($($name:ident)*) => {
        [$($crate::c_facts::Fact {
            c_expression: stringify!($name).to_owned(),
            ours: u64::try_from($name).unwrap(),
        }),*]
    };
}

/// Facts of a structure: its size and the offsets of its fields, `ours = "theirs"` where the
/// names differ.
macro_rules! layout {
    ($ours:ident = $c:ident { $($field:ident $(= $c_field:literal)?)* }) => {
        [
            $crate::c_facts::Fact {
                c_expression: format!("sizeof(struct {})", stringify!($c)),
                ours: size_of::<$ours>() as u64,
            },
            $($crate::c_facts::Fact {
                c_expression: format!(
                    "offsetof(struct {}, {})",
                    stringify!($c),
                    [$($c_field,)? stringify!($field)][0],
                ),
                ours: std::mem::offset_of!($ours, $field) as u64,
            }),*
        ]
    };
}

pub(crate) use {constants, layout};

/// Asserts each fact in a C program that includes `headers`.
///
/// Says so and passes where there is no compiler or no such header, and leaves out what the
/// installed headers are too old to know.
pub(crate) fn assert_c_agrees(headers: &[&str], facts: Vec<Fact>) {
    let mut program = "#include <stdio.h>\n#include <stddef.h>\n".to_owned();
    for header in headers {
        program += &format!("#include <{header}>\n");
    }
    let Some(preprocessed) = gcc(&["-E", "-dD"], &program) else {
        binder_testkit::skip(format_args!("no gcc, or none of {headers:?}"));
        return;
    };
    let known: BTreeSet<&str> = identifiers(&preprocessed).collect();
    let (facts, unknown): (Vec<_>, Vec<_>) = facts
        .into_iter()
        .partition(|fact| identifiers(&fact.c_expression).all(|word| known.contains(word)));
    if !unknown.is_empty() {
        let unknown: Vec<_> = unknown.iter().map(|fact| &*fact.c_expression).collect();
        binder_testkit::skip(format_args!("not in these headers: {}", unknown.join(", ")));
    }

    program += "int main(void) {\n";
    for fact in &facts {
        program += &format!("printf(\"%llu\\n\", (unsigned long long)({}));\n", fact.c_expression);
    }
    program += "return 0; }\n";
    let executable = format!("{}/c-facts", env!("CARGO_TARGET_TMPDIR"));
    gcc(&["-o", &executable], &program).expect("a program over known names compiles");
    let output = Command::new(&executable).output().expect("the program runs");
    let output = String::from_utf8(output.stdout).expect("the program prints digits");
    let theirs: Vec<u64> =
        output.lines().map(|line| line.parse().expect("one number a line")).collect();

    assert_eq!(theirs.len(), facts.len());
    for (fact, theirs) in facts.iter().zip(theirs) {
        assert_eq!(fact.ours, theirs, "{}", fact.c_expression);
    }
}

/// The words of a C text, without the two operators that no header need mention.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !matches!(*word, "sizeof" | "offsetof"))
}

/// Runs gcc on a program from its standard input; `None` if it is missing or refuses.
fn gcc(arguments: &[&str], program: &str) -> Option<String> {
    let mut child = Command::new("gcc")
        .args(arguments)
        .args(["-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(program.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).expect("gcc speaks ASCII"))
}
