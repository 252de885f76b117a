//! Which crate may use which, and which must be pure.

use std::path::Path;

use super::manifest::{NORMAL, dependencies};
use crate::TaskFailure;
use crate::workspace::{files, root, text};

/// The page with the rules that are enforced here.
const PAGE: &str = "docs/architecture.md";

/// The rules of a crate.
struct Rule {
    name: &'static str,
    /// Ours that it may use, outside tests.
    may_use: &'static [&'static str],
    purity: Purity,
}

/// The attributes that `lib.rs` must have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purity {
    /// `no_std` and no `unsafe` at all.
    Pure,
    /// `no_std`, and no `unsafe` but in this module.
    PureBut(&'static str),
    /// Nothing.
    Free,
}

/// The authoritative list.
const RULES: &[Rule] = &[
    rule("bitsearch", &[], Purity::PureBut("cpu")),
    rule("binder-uapi", &[], Purity::Pure),
    rule("fuse-wire", &[], Purity::Pure),
    rule("parcel", &[], Purity::Pure),
    rule("idr", &["bitsearch"], Purity::PureBut("rcu")),
    rule("pidns", &["idr"], Purity::Pure),
    rule("binder-core", &["binder-uapi", "idr", "pidns"], Purity::Pure),
    rule("binder-frontend", &["binder-core", "binder-uapi"], Purity::Pure),
    rule("binder-lane", &[], Purity::PureBut("segment")),
    rule("binder-ring", &["binder-uapi"], Purity::PureBut("segment")),
    rule("binder-ring-client", &["binder-lane", "binder-ring", "binder-uapi"], Purity::Free),
    rule(
        "binder-ring-preload",
        &["binder-lane", "binder-ring", "binder-ring-client", "binder-uapi"],
        Purity::Free,
    ),
    rule("binder-rpc", &[], Purity::Pure),
    rule("binder-report", &["binder-core", "binder-uapi"], Purity::Pure),
    rule("binder-trace", &["binder-aidl", "binder-uapi", "parcel"], Purity::Pure),
    rule(
        "binder-os",
        &["binder-lane", "binder-ring", "binder-ring-client", "binder-uapi"],
        Purity::Free,
    ),
    rule(
        "binder-fuse",
        &[
            "binder-core",
            "binder-frontend",
            "binder-lane",
            "binder-report",
            "binder-ring",
            "binder-trace",
            "binder-uapi",
            "binder-os",
            "fuse-wire",
            "pidns",
        ],
        Purity::Free,
    ),
    rule("libbinder", &["parcel", "pidns", "binder-uapi", "binder-rpc", "binder-os"], Purity::Free),
    rule("binder-aidl", &[], Purity::Pure),
    rule("binder-build", &["binder-aidl"], Purity::Free),
    rule("binder-http", &[], Purity::Free),
    rule("service-manager", &["binder-http", "libbinder"], Purity::Free),
    rule("binder-cluster", &[], Purity::Pure),
    rule(
        "anybinder-cluster",
        &["binder-cluster", "binder-http", "binder-os", "libbinder", "service-manager"],
        Purity::Free,
    ),
    rule("procview", &["pidns", "binder-os", "fuse-wire"], Purity::Free),
    rule(
        "anybinder",
        &[
            "binder-bench",
            "binder-build",
            "binder-fuse",
            "binder-http",
            "binder-report",
            "binder-trace",
            "binder-os",
            "libbinder",
            "procview",
            "service-manager",
        ],
        Purity::Free,
    ),
    rule(
        "binder-bench",
        &["binder-os", "binder-uapi", "bitsearch", "idr", "libbinder", "pidns", "procview"],
        Purity::Free,
    ),
    rule("binder-testkit", &["binder-core", "binder-frontend", "binder-uapi"], Purity::Free),
];

const fn rule(name: &'static str, may_use: &'static [&'static str], purity: Purity) -> Rule {
    Rule { name, may_use, purity }
}

/// Every crate that uses what it may not, or promises less than it must.
pub(super) fn complaints() -> Result<Vec<String>, TaskFailure> {
    let mut complaints = Vec::new();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root().join("crates"))? {
        names.push(entry?.file_name().into_string().map_err(|_| "a crate's name is not text")?);
    }
    names.sort();
    for name in &names {
        let Some(rule) = RULES.iter().find(|rule| rule.name == name) else {
            complaints.push(format!("crates/{name}: not in the table of xtask's edges"));
            continue;
        };
        let directory = Path::new("crates").join(name);
        let used = dependencies(&text(&directory.join("Cargo.toml"))?, NORMAL);
        for used in used.iter().filter(|it| names.contains(it)) {
            if !rule.may_use.contains(&used.as_str()) {
                complaints.push(format!("crates/{name}: may not use {used}"));
            }
        }
        for granted in rule.may_use.iter().filter(|it| !used.iter().any(|used| used == *it)) {
            complaints.push(format!("crates/{name}: may use {granted}, and does not"));
        }
        complaints.extend(impurities(rule, &directory)?);
    }
    complaints.extend(untrue_rows()?);
    Ok(complaints)
}

/// Rows of the table of crates that do not say what the rules say, and rules without a row.
fn untrue_rows() -> Result<Vec<String>, TaskFailure> {
    let page = text(Path::new(PAGE))?;
    let untrue = |rule: &&Rule| {
        let mut granted = rule.may_use.to_vec();
        granted.sort_unstable();
        row(&page, rule.name).is_none_or(|used| used != granted)
    };
    let complain =
        |rule: &Rule| format!("{PAGE}: the row of {} is not the rule that is enforced", rule.name);
    Ok(RULES.iter().filter(untrue).map(complain).collect())
}

/// The crates that the page lets a crate use, sorted; nothing if it has no row of the crate.
fn row<'p>(page: &'p str, name: &str) -> Option<Vec<&'p str>> {
    let head = format!("| `{name}` |");
    let line = page.lines().find(|line| line.starts_with(&head))?;
    let last = line.trim_end_matches('|').rsplit('|').next()?;
    let mut used: Vec<_> = last.split('`').skip(1).step_by(2).collect();
    used.sort_unstable();
    Some(used)
}

fn impurities(rule: &Rule, directory: &Path) -> Result<Vec<String>, TaskFailure> {
    if rule.purity == Purity::Free {
        return Ok(Vec::new());
    }
    let root_module = text(&directory.join("src/lib.rs"))?;
    let mut wanted = vec!["#![no_std]"];
    if rule.purity == Purity::Pure {
        wanted.push("#![forbid(unsafe_code)]");
    }
    let missing = wanted.into_iter().filter(|attribute| !root_module.contains(attribute));
    let mut complaints: Vec<String> =
        missing.map(|attribute| format!("crates/{}: lacks {attribute}", rule.name)).collect();
    if let Purity::PureBut(excepted) = rule.purity {
        for path in files(&directory.join("src").to_string_lossy(), &["rs"])? {
            // The module's own file, or one of those below it.
            let is_excepted = path.with_extension("").iter().any(|part| part == excepted);
            if !is_excepted && text(&path)?.contains("(unsafe_code") {
                complaints.push(format!("{}: only {excepted} may be unsafe", path.display()));
            }
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_its_crate_and_says_what_that_may_use() {
        let page =
            "| crate | what | may use |\n| `a` | has `x | y` | - |\n| `b` | it | `d` `c` |\n";
        assert_eq!(row(page, "a"), Some(vec![]));
        assert_eq!(row(page, "b"), Some(vec!["c", "d"]));
        assert_eq!(row(page, "c"), None);
    }
}
