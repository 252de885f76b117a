//! The licences of the packages that are linked into the programs: their terms go along with these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::architecture::Architecture;
use super::program::{CLUSTER_PROGRAM, PROGRAM};
use crate::TaskFailure;
use crate::workspace::{cargo, text};

/// How files with terms begin, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// The libraries that come with the compiler.
const OF_THE_COMPILER: &str = "contrib/notices/toolchain.txt";

/// The packages in the page of `anybinder web`; its build writes this.
const OF_THE_PAGE: &str = "web/dist/notices.txt";

const HEAD: &str = "\
What is linked into this program besides its own sources, each under its own terms. Those stand below, with
the packages that come under them.

";

/// The packages that are linked into the programs for a processor, each with the terms in its files.
pub(super) fn of_program(architecture: Architecture) -> Result<String, TaskFailure> {
    let arguments = ["metadata", "--locked", "--format-version", "1", "--filter-platform"];
    let output = cargo(&arguments).arg(architecture.target()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut notices = HEAD.to_owned();
    // Many share the words of their terms: each text stands once.
    let mut terms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked(&metadata, &[PROGRAM, CLUSTER_PROGRAM]) {
        let told = |key: &str| package[key].as_str().unwrap_or("-").to_owned();
        let title = format!("{} {}", told("name"), told("version"));
        notices += &format!("{title}: {} ({})\n", told("license"), told("repository"));
        let manifest = told("manifest_path");
        for text in texts_in(Path::new(&manifest).parent().unwrap_or(Path::new("")))? {
            terms.entry(text).or_default().push(title.clone());
        }
    }
    notices += "\n";
    notices += &text(Path::new(OF_THE_COMPILER))?;
    notices += "\n";
    notices += &text(Path::new(OF_THE_PAGE))?;
    for (text, packages) in terms {
        notices += &format!("\n{}\n{}\n\n{}\n", "=".repeat(80), packages.join(", "), text.trim());
    }
    Ok(notices)
}

/// The packages of others that are linked into packages of these names, by name.
fn linked<'a>(metadata: &'a Value, programs: &[&str]) -> Vec<&'a Value> {
    let list = |value: &'a Value| value.as_array().map(Vec::as_slice).unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let nodes = list(&metadata["resolve"]["nodes"]);
    let mut to_visit: Vec<_> =
        packages.iter().filter(|it| programs.iter().any(|name| it["name"] == *name)).collect();
    let mut found = BTreeSet::new();
    let mut linked = Vec::new();
    while let Some(package) = to_visit.pop() {
        if !found.insert(package["id"].as_str()) {
            continue;
        }
        if !package["source"].is_null() {
            linked.push(package);
        }
        let node = nodes.iter().find(|node| node["id"] == package["id"]);
        for dependency in node.map(|node| list(&node["deps"])).unwrap_or_default() {
            // Build scripts and tests are not in the program.
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                to_visit.extend(packages.iter().find(|it| it["id"] == dependency["pkg"]));
            }
        }
    }
    linked.sort_by_key(|package| (package["name"].as_str(), package["version"].as_str()));
    linked
}

/// The texts of terms in a package's directory.
fn texts_in(directory: &Path) -> Result<BTreeSet<String>, TaskFailure> {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|it| name.starts_with(it)) && entry.file_type()?.is_file() {
            texts.insert(String::from_utf8_lossy(&fs::read(entry.path())?).replace('\r', ""));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_builds_or_tests_a_program_is_not_in_it() {
        let package = |name: &str, source: Option<&str>| serde_json::json!({ "id": name, "name": name, "version": "1", "source": source });
        let edge = |to: &str, kind: Option<&str>| serde_json::json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let metadata = serde_json::json!({
            "packages": [
                package("ours", None), package("lib", None), package("a", Some("s")),
                package("b", Some("s")), package("c", Some("s")),
            ],
            "resolve": { "nodes": [
                { "id": "ours", "deps": [edge("lib", None), edge("b", Some("build"))] },
                { "id": "lib", "deps": [edge("a", None), edge("c", Some("dev")), edge("a", None)] },
            ] },
        });
        let names: Vec<_> =
            linked(&metadata, &["ours"]).iter().map(|it| it["name"].clone()).collect();
        assert_eq!(names, ["a"]);
    }
}
