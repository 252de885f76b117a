//! A type name means one thing in the workspace, and is of the field's words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::TaskFailure;
use crate::workspace::{files, text};

/// The keywords that define a type.
const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

/// Places whose names are their own: helpers of tests, and programs that are not ours to name.
const APART: [&str; 5] = ["tests", "tests.rs", "generated", "binder-testkit", "fuzz"];

/// Words that say what something is like, where the field has a word for what it is.
const NO_TERMS: [&str; 22] = [
    "Acquaintance",
    "Asker",
    "Berth",
    "Ear",
    "Errand",
    "Hearing",
    "Leash",
    "Leftovers",
    "Lent",
    "Mourner",
    "Permit",
    "Reach",
    "Runner",
    "Seen",
    "Spare",
    "Spares",
    "Supply",
    "Told",
    "Turn",
    "Turns",
    "Way",
    "Whoever",
];

/// Type names that are defined more than once, and those that are of no terms.
pub(super) fn complaints() -> Result<Vec<String>, TaskFailure> {
    let (mut places, mut complaints) = (BTreeMap::<String, Vec<PathBuf>>::new(), Vec::new());
    for directory in ["crates", "xtask", "tests", "fuzz"] {
        for path in files(directory, &["rs"])? {
            let source = text(&path)?;
            let is_no_term = |name: &&str| parts(name).any(|part| NO_TERMS.contains(&part));
            let names = all_definitions(&source).filter(is_no_term);
            let complain = |name| format!("{}: {name} is not the field's word", path.display());
            complaints.extend(names.map(complain));
            if !path.iter().any(|part| APART.iter().any(|it| part == *it)) {
                for name in definitions(&source) {
                    places.entry(name.to_owned()).or_default().push(path.clone());
                }
            }
        }
    }
    let is_double = |(_, places): &(&String, &Vec<PathBuf>)| places.len() > 1;
    let complain = |(name, places): (&String, &Vec<PathBuf>)| {
        let shown: Vec<_> = places.iter().map(PathBuf::as_path).map(Path::display).collect();
        format!("{name} is defined {} times: {shown:?}", places.len())
    };
    complaints.extend(places.iter().filter(is_double).map(complain));
    Ok(complaints)
}

/// The types of a file. Those within others are associated types, of functions, or of its tests.
fn definitions(source: &str) -> impl Iterator<Item = &str> {
    let is_outermost = |line: &&str| !line.starts_with(' ');
    source.lines().filter(is_outermost).filter_map(definition)
}

/// All types of a file.
fn all_definitions(source: &str) -> impl Iterator<Item = &str> {
    source.lines().map(str::trim_start).filter_map(definition)
}

/// The name of the type that a line defines, be it public or not.
fn definition(line: &str) -> Option<&str> {
    defined(public(line).unwrap_or(line))
}

/// What a line makes public.
fn public(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    match rest.strip_prefix('(') {
        Some(scope) => Some(scope.split_once(')')?.1),
        None => Some(rest),
    }
}

/// The name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| KEYWORDS.contains(word))?;
    let name = words.next()?;
    let end = name.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(name.len());
    Some(&name[..end])
}

/// The words of a type's name.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let next = rest.char_indices().skip(1).find(|(_, it)| it.is_uppercase());
        let (part, behind) = rest.split_at(next.map_or(rest.len(), |(at, _)| at));
        rest = behind;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_within_others_is_not_counted() {
        let source = "struct Own;\npub struct All<T>(T);\npub(crate) enum Ours { One }\n\
                      impl Own {\n    type Target = u8;\n}\npub fn no() {}\npub(super) type Alias = u8;\n";
        let found: Vec<_> = definitions(source).collect();
        assert_eq!(found, ["Own", "All", "Ours", "Alias"]);
        let all: Vec<_> = all_definitions(source).collect();
        assert_eq!(all, ["Own", "All", "Ours", "Target", "Alias"]);
    }

    #[test]
    fn a_name_has_words() {
        assert_eq!(parts("FdWorkState").collect::<Vec<_>>(), ["Fd", "Work", "State"]);
        assert_eq!(parts("Gateway").collect::<Vec<_>>(), ["Gateway"]);
    }
}
