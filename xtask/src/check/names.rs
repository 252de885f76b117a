//! A type name means one thing in the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::workspace::{files, text};

/// The keywords that define a type.
const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

/// Places whose names are their own: helpers of tests, and programs that are not ours to name.
const APART: [&str; 4] = ["tests", "tests.rs", "generated", "binder-testkit"];

/// Type names that other modules may use and that are defined more than once.
pub(super) fn complaints() -> Result<Vec<String>, Failure> {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let mut sources = files("crates", &["rs"])?;
    sources.extend(files("xtask", &["rs"])?);
    sources.retain(|path| !path.iter().any(|part| APART.iter().any(|it| part == *it)));
    for path in sources {
        for name in definitions(&text(&path)?) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    let is_double = |(_, places): &(&String, &Vec<PathBuf>)| places.len() > 1;
    let complain = |(name, places): (&String, &Vec<PathBuf>)| {
        let shown: Vec<_> = places.iter().map(PathBuf::as_path).map(Path::display).collect();
        format!("{name} is defined {} times: {shown:?}", places.len())
    };
    Ok(places.iter().filter(is_double).map(complain).collect())
}

/// The types of a file that more than their own module may use. Those within others are associated types.
fn definitions(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let rest = line.strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace();
        words.next().filter(|word| KEYWORDS.contains(word))?;
        let name = words.next()?;
        let end = name.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(name.len());
        Some(&name[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_may_use_is_counted() {
        let source = "struct Own;\npub struct All<T>(T);\npub(crate) enum Ours { One }\n\
                      impl Own {\n    type Target = u8;\n}\npub fn no() {}\npub(super) type Alias = u8;\n";
        let found: Vec<_> = definitions(source).collect();
        assert_eq!(found, ["All", "Ours", "Alias"]);
    }
}
