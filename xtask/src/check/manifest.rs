//! What a crate's manifest says it depends on, and whether its sources do.

use std::path::Path;

use crate::TaskFailure;
use crate::workspace::{files, text};

/// The one of our libraries that is not called as its package is.
const LIBBINDER: (&str, &str) = ("libbinder", "binder");

/// What a program is built of.
pub(super) const NORMAL: &[&str] = &["dependencies"];
/// That, and what its tests and its build script are.
const ALL: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// The names of the dependencies in these tables of a manifest, also in those of one target.
pub(super) fn dependencies(manifest: &str, tables: &[&str]) -> Vec<String> {
    let mut is_inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if let Some(heading) = line.strip_prefix('[') {
            let table = heading.trim_end_matches(']').rsplit('.').next();
            is_inside = table.is_some_and(|table| tables.contains(&table));
        } else if is_inside && let Some(end) = line.find(['.', ' ', '=']) {
            // Not a comment, nor what goes on from the line before.
            if line.starts_with(|it: char| it.is_ascii_alphanumeric()) {
                names.push(line[..end].to_owned());
            }
        }
    }
    names
}

/// Dependencies of our crates that none of their sources names.
pub(super) fn complaints() -> Result<Vec<String>, TaskFailure> {
    let mut complaints = Vec::new();
    let manifests = files("crates", &["toml"])?;
    for manifest in manifests.iter().filter(|it| it.ends_with("Cargo.toml")) {
        let sources = sources(&manifest.with_file_name(""))?;
        for name in dependencies(&text(manifest)?, ALL) {
            let called = if name == LIBBINDER.0 { LIBBINDER.1 } else { &name.replace('-', "_") };
            if !sources.iter().any(|source| has_word(source, called)) {
                complaints.push(format!("{}: {name} is not used", manifest.display()));
            }
        }
    }
    Ok(complaints)
}

/// The texts of a crate's sources, with those that it borrows from others by `#[path]`.
fn sources(directory: &Path) -> Result<Vec<String>, TaskFailure> {
    let mut sources = Vec::new();
    for path in files(&directory.to_string_lossy(), &["rs"])? {
        let source = text(&path)?;
        for borrowed in borrowed(&source) {
            sources.push(text(&path.with_file_name(borrowed))?);
        }
        sources.push(source);
    }
    Ok(sources)
}

/// The paths of the modules that a source has elsewhere.
fn borrowed(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"))
}

/// Whether a source has this word in it, such as the name of a crate.
fn has_word(source: &str, word: &str) -> bool {
    source.split(|it: char| it != '_' && !it.is_ascii_alphanumeric()).any(|it| it == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_told_by_table() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\n# Why.\nidr.workspace = true\n\
                        libc = \"1\"\n\n[target.'cfg(loom)'.dev-dependencies]\nproptest = \"1\"\n";
        assert_eq!(dependencies(manifest, NORMAL), ["idr", "libc"]);
        assert_eq!(dependencies(manifest, &["dev-dependencies"]), ["proptest"]);
        assert_eq!(dependencies(manifest, ALL).len(), 3);
    }

    #[test]
    fn modules_elsewhere_are_found() {
        let source = "#[path = \"../a.rs\"]\nmod a;\nmod b;\n";
        assert_eq!(borrowed(source).collect::<Vec<_>>(), ["../a.rs"]);
    }

    #[test]
    fn a_crate_is_named_by_a_word() {
        assert!(has_word("use serde::Serialize;", "serde"));
        assert!(has_word("x(serde_json::json!({}))", "serde_json"));
        assert!(!has_word("serde_json::json!({})", "serde"));
        assert!(!has_word("my_serde::it()", "serde"));
    }
}
