//! Sizes, characters, links and names in sources and documents.

use std::io;
use std::path::{Path, PathBuf};

use conformance::registry::UNIT_TESTS;

use crate::TaskFailure;
use crate::workspace::{files, root, text};

/// Files should end before this line,
const LONG_LINES: usize = 600;
/// and must end before this one.
const TOO_LONG_LINES: usize = 800;

/// Where files are that a compiler wrote; they are as long as they are.
const GENERATED: &str = "generated";

/// Split, so that this file passes.
const POSTPONED: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Everything wrong with the text of the workspace.
pub(super) fn complaints() -> Result<Vec<String>, TaskFailure> {
    let mut complaints = Vec::new();
    for path in sources()? {
        let text = text(&path)?;
        let shown = path.display();
        let lines = text.lines().count();
        if lines > TOO_LONG_LINES {
            complaints.push(format!("{shown}: {lines} lines; split it"));
        } else if lines > LONG_LINES {
            println!("warning: {shown}: {lines} lines");
        }
        for (number, line) in (1..).zip(text.lines()) {
            if !line.is_ascii() {
                complaints.push(format!("{shown}:{number}: not ASCII"));
            }
            if POSTPONED.iter().any(|word| line.contains(word)) {
                complaints.push(format!("{shown}:{number}: postponed work without a number"));
            }
        }
    }
    complaints.extend(broken_links()?);
    complaints.extend(missing_unit_tests()?);
    Ok(complaints)
}

/// Prints the modules that contain `unsafe`: the list to audit.
pub(super) fn print_unsafe_modules() -> Result<(), TaskFailure> {
    println!("modules with unsafe:");
    for path in sources()? {
        let text = text(&path)?;
        // A module that needs it for some targets only has the attribute within another.
        let is_expected =
            |line: &str| line.trim_start_matches("#![").starts_with("expect(unsafe_code");
        if text.lines().any(|line| is_expected(line.trim_start())) {
            println!("  {}", path.display());
        }
    }
    Ok(())
}

fn sources() -> io::Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for directory in ["crates", "tests", "xtask"] {
        sources.extend(files(directory, &["rs", "toml"])?);
    }
    sources.retain(|path| !path.iter().any(|part| part == GENERATED));
    Ok(sources)
}

/// Relative links of documents that lead nowhere, and dependencies in them that are nowhere.
fn broken_links() -> Result<Vec<String>, TaskFailure> {
    let mut broken = Vec::new();
    let top = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from);
    for path in files("docs", &["md"])?.into_iter().chain(top) {
        let directory = path.parent().unwrap_or(Path::new(""));
        let text = text(&path)?;
        for package in dependencies(&text) {
            if !root().join(package).join("Cargo.toml").exists() {
                broken.push(format!("{}: there is no package {package}", path.display()));
            }
        }
        for link in links(&text) {
            let target = link.split('#').next().unwrap_or_default();
            let is_local = !target.is_empty() && !target.contains("://");
            if is_local && !root().join(directory).join(target).exists() {
                broken.push(format!("{}: {link} leads nowhere", path.display()));
            }
        }
    }
    Ok(broken)
}

/// The targets of `[text](target)`, outside code.
fn links(document: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // Every second piece between backticks is code.
    for prose in document.split('`').step_by(2) {
        for (at, _) in prose.match_indices("](") {
            let rest = &prose[at + 2..];
            if let Some(end) = rest.find(')') {
                found.push(&rest[..end]);
            }
        }
    }
    found
}

/// The packages of this workspace on which a document has its reader depend, by their paths in it.
fn dependencies(document: &str) -> Vec<&str> {
    let places = document.split("{ path = \"../anybinder/").skip(1);
    places.filter_map(|rest| rest.split('"').next()).collect()
}

/// Unit tests that the conformance table names and that do not exist.
fn missing_unit_tests() -> Result<Vec<String>, TaskFailure> {
    let mut missing = Vec::new();
    for named in UNIT_TESTS {
        if !text(Path::new(named.file))?.contains(&format!("fn {}()", named.test)) {
            missing.push(format!("C{:03}: {} has no {}", named.number, named.file, named.test));
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_by_the_path_to_a_clone() {
        let document = "a = { path = \"../anybinder/crates/a\" }\nb = \"1\"\nc = { path = \"c\" }";
        assert_eq!(dependencies(document), ["crates/a"]);
    }

    #[test]
    fn links_in_code_are_not_links() {
        assert_eq!(links("a [b](c.md) `[d](e)` [f](g#h)"), ["c.md", "g#h"]);
    }
}
