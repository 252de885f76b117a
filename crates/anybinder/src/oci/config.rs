//! The configuration of a container, `config.json`: what is added to it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::failure::Failure;

/// The hook that runtimes call in a container's mounts, before these are all that the container sees.
const HOOK: &str = "createContainer";

/// Reads the configuration of a container.
pub(super) fn read(config: &Path) -> Result<Value, Failure> {
    let parsed = fs::read(config).and_then(|text| Ok(serde_json::from_slice(&text)?));
    parsed.map_err(|error| about(config, error))
}

pub(super) fn write(config: &Path, spec: &Value) -> Result<(), Failure> {
    let text = serde_json::to_vec(spec).map_err(io::Error::from);
    text.and_then(|text| fs::write(config, text)).map_err(|error| about(config, error))
}

/// What is tried where a failure is told of.
pub(super) fn tried(config: &Path) -> String {
    format!("adding devices to {}", config.display())
}

fn about(config: &Path, error: io::Error) -> Failure {
    Failure::new(tried(config), error).advise("--bundle names the directory that config.json is in")
}

/// Adds bind mounts to a container's configuration, in the place of those of files in `containers` that were added before; `None` if
/// it is none.
pub(super) fn with_mounts(
    spec: &mut Value,
    containers: &Path,
    files: impl Iterator<Item = (String, PathBuf)>,
) -> Option<()> {
    let spec = spec.as_object_mut()?;
    let mounts = spec.entry("mounts").or_insert_with(|| json!([])).as_array_mut()?;
    // Of an earlier container of this bundle.
    let is_old = |mount: &Value| is_within(containers, &mount["source"]);
    mounts.retain(|mount| !is_old(mount));
    for (destination, source) in files {
        if mounts.iter().any(|mount| mount["destination"] == *destination) {
            continue;
        }
        let source = source.to_str()?;
        let options = ["bind", "rw"];
        mounts.push(json!({
            "destination": destination, "source": source, "type": "bind", "options": options,
        }));
    }
    Some(())
}

/// Adds the hook that shows a list of file systems, in the place of one for a list in `containers` that was added before; `None` if there
/// can be none.
pub(super) fn with_hook(
    spec: &mut Value,
    containers: &Path,
    program: &Path,
    list: &Path,
) -> Option<()> {
    // A member may be there and say `null`.
    let hooks = spec.as_object_mut()?.entry("hooks").or_insert(Value::Null);
    if hooks.is_null() {
        *hooks = json!({});
    }
    let hooks = hooks.as_object_mut()?.entry(HOOK).or_insert(Value::Null);
    if hooks.is_null() {
        *hooks = json!([]);
    }
    let hooks = hooks.as_array_mut()?;
    hooks.retain(|hook| !is_within(containers, &hook["args"][2]));
    let (program, list) = (program.to_str()?, list.to_str()?);
    hooks.push(json!({ "path": program, "args": ["anybinder", "list-hook", list] }));
    Some(())
}

fn is_within(containers: &Path, file: &Value) -> bool {
    file.as_str().is_some_and(|it| Path::new(it).starts_with(containers))
}

/// Sets variables of a container's process, if it has one; `None` if it can have none.
pub(super) fn with_variables(
    spec: &mut Value,
    variables: impl FnOnce(&dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)>,
) -> Option<()> {
    let Some(process) = spec.get_mut("process").filter(|it| !it.is_null()) else { return Some(()) };
    let entry = process.as_object_mut()?.entry("env").or_insert(Value::Null);
    if entry.is_null() {
        *entry = json!([]);
    }
    let env = entry.as_array_mut()?;
    let is_of = |it: &Value, name: &str| {
        it.as_str().and_then(|it| it.split_once('=')).is_some_and(|(known, _)| known == name)
    };
    let before = |name: &str| {
        // The last one counts.
        let found = env.iter().rfind(|it| is_of(it, name))?;
        Some(found.as_str()?.split_once('=')?.1.into())
    };
    for (name, value) in variables(&before) {
        env.retain(|it| !is_of(it, name));
        env.push(json!(format!("{name}={}", value.to_str()?)));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTAINERS_DIR: &str = "/run/anybinder/containers";

    fn mounts_of_another_container_are_replaced(spec: &mut Value) {
        let place =
            |id: &str| [("/dev/x".to_owned(), Path::new(CONTAINERS_DIR).join(id))].into_iter();
        with_mounts(spec, CONTAINERS_DIR.as_ref(), place("first")).unwrap();
        with_mounts(spec, CONTAINERS_DIR.as_ref(), place("second")).unwrap();
        let sources =
            spec["mounts"].as_array().unwrap().iter().map(|it| it["source"].as_str().unwrap());
        assert_eq!(
            sources.collect::<Vec<_>>(),
            ["/own", "/x/hwbinder", &format!("{CONTAINERS_DIR}/second")]
        );
    }

    #[test]
    fn a_hook_is_added_once_beside_those_of_others() {
        let mut spec = json!({ "hooks": { "createContainer": null, "poststop": [{}] } });
        for id in ["first", "second"] {
            let list = Path::new(CONTAINERS_DIR).join(id).join("list");
            with_hook(&mut spec, CONTAINERS_DIR.as_ref(), Path::new("/usr/bin/anybinder"), &list)
                .unwrap();
        }
        let list = format!("{CONTAINERS_DIR}/second/list");
        let ours =
            json!([{ "path": "/usr/bin/anybinder", "args": ["anybinder", "list-hook", list] }]);
        assert_eq!(spec, json!({ "hooks": { "createContainer": ours, "poststop": [{}] } }));
        let mut other = json!({ "hooks": 1 });
        let [any, program] = ["/x", "/y"].map(Path::new);
        assert_eq!(with_hook(&mut other, any, program, any), None);
    }

    #[test]
    fn devices_are_added_where_there_is_none() {
        let mut spec =
            json!({"mounts": [{"destination": "/dev/binder", "source": "/own"}], "root": {}});
        let files =
            ["binder", "hwbinder"].map(|it| (format!("/dev/{it}"), Path::new("/x").join(it)));
        with_mounts(&mut spec, CONTAINERS_DIR.as_ref(), files.clone().into_iter()).unwrap();
        let mounts = spec["mounts"].as_array().unwrap();
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0]["source"], "/own");
        assert_eq!(
            (&mounts[1]["destination"], &mounts[1]["source"]),
            (&json!("/dev/hwbinder"), &json!("/x/hwbinder"))
        );
        mounts_of_another_container_are_replaced(&mut spec);
        let mut bare = json!({});
        assert_eq!(
            with_mounts(&mut bare, CONTAINERS_DIR.as_ref(), files.clone().into_iter()),
            Some(())
        );
        assert_eq!(bare["mounts"].as_array().unwrap().len(), 2);
        assert_eq!(
            with_mounts(&mut json!([]), CONTAINERS_DIR.as_ref(), files.clone().into_iter()),
            None
        );
        assert_eq!(
            with_mounts(&mut json!({"mounts": 1}), CONTAINERS_DIR.as_ref(), files.into_iter()),
            None
        );
    }

    #[test]
    fn variables_are_set_once() {
        let env = |spec: &Value| spec["process"]["env"].clone();
        let set = |spec: &mut Value| {
            with_variables(spec, |before| {
                let said = before("A").unwrap_or_default().into_string().unwrap();
                vec![("A", format!("{said}x").into()), ("B", "1".into())]
            })
        };
        let mut spec = json!({ "process": { "env": ["PATH=/bin", "A=0", "AB=2", "A=a=b"] } });
        set(&mut spec).unwrap();
        assert_eq!(env(&spec), json!(["PATH=/bin", "AB=2", "A=a=bx", "B=1"]));
        set(&mut spec).unwrap();
        assert_eq!(env(&spec), json!(["PATH=/bin", "AB=2", "A=a=bxx", "B=1"]));
        let mut bare = json!({ "process": { "env": null } });
        set(&mut bare).unwrap();
        assert_eq!(env(&bare), json!(["A=x", "B=1"]));
        let mut without_process = json!({});
        assert_eq!((set(&mut without_process), without_process), (Some(()), json!({})));
        assert_eq!(set(&mut json!({ "process": { "env": 1 } })), None);
    }
}
