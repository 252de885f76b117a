//! Modules that import one another in a circle: none of them can be understood before the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::TaskFailure;
use crate::workspace::{files, text};

/// Crates whose circles are bounded.
const CRATES: [&str; 2] = ["binder-frontend", "binder-fuse"];

/// The most modules in a circle.
const MOST: usize = 3;

/// A module by its path within the crate, as `a::b`; that of the crate itself is empty.
type ModuleImports<'m> = BTreeMap<&'m str, BTreeSet<&'m str>>;

/// Every circle of too many modules.
pub(super) fn complaints() -> Result<Vec<String>, TaskFailure> {
    let mut complaints = Vec::new();
    for name in CRATES {
        let directory = format!("crates/{name}/src");
        let mut modules = BTreeMap::new();
        for path in files(&directory, &["rs"])? {
            let source = text(&path)?;
            let place = path.strip_prefix(&directory)?.with_extension("");
            let parts: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
            match parts.last().map(AsRef::as_ref) {
                Some("tests") => {}
                Some("lib") => drop(modules.insert(String::new(), source)),
                _ => drop(modules.insert(parts.join("::"), source)),
            }
        }
        let circles = circles(&imports(&modules));
        complaints.extend(circles.iter().filter(|circle| circle.len() > MOST).map(|circle| {
            let count = circle.len();
            format!("crates/{name}: {count} modules import one another in a circle: {circle:?}")
        }));
    }
    Ok(complaints)
}

/// What each module imports of its crate; what is imported of the crate's root is defined elsewhere.
fn imports(modules: &BTreeMap<String, String>) -> ModuleImports<'_> {
    let mut imports = ModuleImports::new();
    for (module, source) in modules.iter().filter(|(module, _)| !module.is_empty()) {
        let imported = imports.entry(module).or_default();
        for path in paths(module, &code(source), modules) {
            let is_of = |it: &&String| {
                path.strip_prefix(it.as_str()).is_some_and(|rest| {
                    !it.is_empty() && (rest.is_empty() || rest.starts_with("::"))
                })
            };
            imported
                .extend(modules.keys().filter(is_of).max_by_key(|it| it.len()).map(String::as_str));
        }
        imported.remove(module.as_str());
    }
    imports
}

/// A source without its comments and its tests.
fn code(source: &str) -> String {
    let source = source.split_once("\n#[cfg(test)]\nmod ").map_or(source, |(before, _)| before);
    let lines = source.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths in the code of a module that begin in its crate, from the crate's root on.
fn paths(module: &str, code: &str, modules: &BTreeMap<String, String>) -> Vec<String> {
    let mut paths = Vec::new();
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut rest = code;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let len = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
        if len == 0 {
            (before, rest) = (first, &rest[first.len_utf8()..]);
            continue;
        }
        let (word, after) = rest.split_at(len);
        let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        let start = match word {
            "crate" => Some(String::new()),
            "super" => Some(parent.to_owned()),
            "self" => Some(module.to_owned()),
            child => Some(join(module, child)).filter(|it| modules.contains_key(it)),
        };
        if let Some(start) = start.filter(|_| before != ':' && after.starts_with("::")) {
            follow(start, &after["::".len()..], &mut paths);
        }
        (before, rest) = (' ', after);
    }
    paths
}

/// Follows a path, or a tree of them, from `start` on. Returns what comes after it.
fn follow<'c>(start: String, code: &'c str, paths: &mut Vec<String>) -> &'c str {
    let Some(mut rest) = code.strip_prefix('{') else {
        let len = code.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(code.len());
        let (word, after) = code.split_at(len);
        let path = if word == "self" { start } else { join(&start, word) };
        return match after.strip_prefix("::") {
            Some(further) => follow(path, further, paths),
            None => {
                paths.push(path);
                after
            }
        };
    };
    loop {
        rest = rest.trim_start();
        match rest.chars().next() {
            Some('}') => return &rest[1..],
            Some(',') => rest = &rest[1..],
            Some(it) if it.is_alphabetic() || it == '_' => {
                rest = follow(start.clone(), rest, paths);
                // As what it is imported does not matter.
                rest = &rest[rest.find([',', '}']).unwrap_or(rest.len())..];
            }
            Some(_) | None => return rest,
        }
    }
}

fn join(path: &str, word: &str) -> String {
    if path.is_empty() { word.to_owned() } else { format!("{path}::{word}") }
}

/// The circles of more than one module.
fn circles<'m>(imports: &ModuleImports<'m>) -> BTreeSet<Vec<&'m str>> {
    let reached: ModuleImports<'m> =
        imports.keys().map(|module| (*module, reached_from(module, imports))).collect();
    let circle_of = |module: &&'m str| {
        let is_in = |other: &&&'m str| {
            reached[*module].contains(**other) && reached[**other].contains(*module)
        };
        reached.keys().filter(is_in).copied().collect::<Vec<_>>()
    };
    reached.keys().map(circle_of).filter(|circle| circle.len() > 1).collect()
}

/// All that a module imports, or something that it imports.
fn reached_from<'m>(module: &str, imports: &ModuleImports<'m>) -> BTreeSet<&'m str> {
    let mut reached = BTreeSet::new();
    let mut line: Vec<&str> = vec![module];
    while let Some(next) = line.pop() {
        for imported in imports.get(next).into_iter().flatten() {
            if reached.insert(*imported) {
                line.push(imported);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(sources: &[(&str, &str)]) -> BTreeMap<String, String> {
        sources.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned())).collect()
    }

    #[test]
    fn imports_are_found_in_trees_in_paths_and_of_children() {
        let modules = modules(&[
            ("", "mod a;"),
            ("a", "use crate::{b::{self, B}, c::d::D};\n// crate::e\nfn f() { g::run() }\n"),
            ("a::g", "use super::A;\nfn f(e: std::e::E) { crate::e::f() }\n"),
            ("b", "use crate::b::X;\n#[cfg(test)]\nmod tests { use crate::a; }\n"),
            ("c::d", "use crate::C as a;\n"),
            ("e", ""),
        ]);
        let imports = imports(&modules);
        let of = |module: &str| imports[module].iter().copied().collect::<Vec<_>>();
        assert_eq!(of("a"), ["a::g", "b", "c::d"]);
        assert_eq!(of("a::g"), ["a", "e"]);
        assert!(of("b").is_empty() && of("c::d").is_empty() && of("e").is_empty());
    }

    #[test]
    fn a_circle_has_all_that_reach_one_another_and_no_other() {
        let modules = modules(&[
            ("a", "use crate::b::B;"),
            ("b", "use crate::c::C;"),
            ("c", "use crate::{a::A, d::D};"),
            ("d", "use crate::e;"),
            ("e", ""),
        ]);
        let circles = circles(&imports(&modules));
        assert_eq!(circles.into_iter().collect::<Vec<_>>(), [["a", "b", "c"]]);
    }
}
