//! What a crate's manifest says it depends on, and whether its sources do.

use std::path::Path;

use crate::Failure;
use crate::workspace::{files, root, text};

/// The one of our libraries that is not called as its package is.
const LIBBINDER: (&str, &str) = ("libbinder", "binder");

/// The kinds of dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Dev,
    Build,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Normal, Self::Dev, Self::Build];

    /// The kind of what stands under a heading of a manifest, also of one target's.
    fn of_heading(heading: &str) -> Option<Self> {
        match heading.trim_matches(['[', ']']).rsplit('.').next()? {
            "dependencies" => Some(Self::Normal),
            "dev-dependencies" => Some(Self::Dev),
            "build-dependencies" => Some(Self::Build),
            _ => None,
        }
    }
}

/// The names of the dependencies in a manifest that are of these kinds.
pub(super) fn dependencies(manifest: &str, kinds: &[Kind]) -> Vec<String> {
    let mut is_inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_inside = Kind::of_heading(line).is_some_and(|kind| kinds.contains(&kind));
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
pub(super) fn complaints() -> Result<Vec<String>, Failure> {
    let mut complaints = Vec::new();
    for manifest in files("crates", &["toml"])? {
        let Some(directory) = manifest.parent().filter(|_| manifest.ends_with("Cargo.toml")) else {
            continue;
        };
        let sources = sources(directory)?;
        for name in dependencies(&text(&manifest)?, &Kind::ALL) {
            let called = if name == LIBBINDER.0 { LIBBINDER.1 } else { &name.replace('-', "_") };
            if !sources.iter().any(|source| names_crate(source, called)) {
                let shown = manifest.strip_prefix(root()).unwrap_or(&manifest).display();
                complaints.push(format!("{shown}: {name} is not used"));
            }
        }
    }
    Ok(complaints)
}

/// The texts of a crate's sources, with those that it borrows from others by `#[path]`.
fn sources(directory: &Path) -> Result<Vec<String>, Failure> {
    let mut sources = Vec::new();
    for path in files(&directory.to_string_lossy(), &["rs"])? {
        let source = text(&path)?;
        let beside = path.parent().unwrap_or(directory);
        for borrowed in borrowed(&source) {
            sources.push(text(&beside.join(borrowed))?);
        }
        sources.push(source);
    }
    Ok(sources)
}

/// The paths of the modules that a source has elsewhere.
fn borrowed(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"))
}

/// Whether a source has the name of a crate in it, as a word.
fn names_crate(source: &str, name: &str) -> bool {
    let is_of_word = |character: Option<char>| {
        character.is_some_and(|it| it == '_' || it.is_ascii_alphanumeric())
    };
    source.match_indices(name).any(|(start, _)| {
        let end = start + name.len();
        !is_of_word(source[..start].chars().next_back())
            && !is_of_word(source[end..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_told_by_kind() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\n# Why.\nidr.workspace = true\n\
                        libc = \"1\"\n\n[target.'cfg(loom)'.dev-dependencies]\nproptest = \"1\"\n";
        assert_eq!(dependencies(manifest, &[Kind::Normal]), ["idr", "libc"]);
        assert_eq!(dependencies(manifest, &[Kind::Dev]), ["proptest"]);
        assert_eq!(dependencies(manifest, &Kind::ALL).len(), 3);
    }

    #[test]
    fn modules_elsewhere_are_found() {
        let source = "#[path = \"../a.rs\"]\nmod a;\nmod b;\n";
        assert_eq!(borrowed(source).collect::<Vec<_>>(), ["../a.rs"]);
    }

    #[test]
    fn a_crate_is_named_by_a_word() {
        assert!(names_crate("use serde::Serialize;", "serde"));
        assert!(names_crate("x(serde_json::json!({}))", "serde_json"));
        assert!(!names_crate("serde_json::json!({})", "serde"));
        assert!(!names_crate("my_serde::it()", "serde"));
    }
}
