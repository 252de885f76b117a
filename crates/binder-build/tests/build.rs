//! The helper with a compiler that only notes how it was called and writes what one would.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use binder_build::{Build, Compiler, Error, Unit};
use tempfile::TempDir;

/// A compiler in a language that every machine runs.
fn compiler(directory: &TempDir, script: &str) -> Compiler {
    let path = directory.path().join("fake-aidl");
    fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Compiler::new(path)
}

/// Writes `com/example/IHello.rs` and `com/type/Kind.rs` to what follows `-o`.
const WRITES_TWO: &str = r#"
echo "$@" >> "$(dirname "$0")/calls"
while [ "$1" != -o ]; do shift; done
mkdir -p "$2/com/example" "$2/com/type"
echo 'pub struct Hello; pub(crate) mod mangled { pub use super::Hello as _1_Hello; }' > "$2/com/example/IHello.rs"
echo 'pub struct Kind; pub(crate) mod mangled { pub use super::Kind as _1_Kind; }' > "$2/com/type/Kind.rs"
"#;

fn sources(directory: &TempDir) -> PathBuf {
    let root = directory.path().join("aidl");
    fs::create_dir_all(root.join("com/example")).unwrap();
    fs::write(root.join("com/example/IHello.aidl"), "").unwrap();
    fs::write(root.join("com/example/notes.txt"), "").unwrap();
    root
}

fn unit(root: &Path) -> Unit {
    Unit::new(root).sources_below(root).unwrap()
}

#[test]
fn the_compiler_gets_roots_versions_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let root = sources(&directory);
    let unit = unit(&root).include("/elsewhere").version(3, "abc").vintf();
    let out = directory.path().join("out");
    let compiler = compiler(&directory, WRITES_TWO);
    Build::new().compiler(compiler).unit(unit).run_into(&out).unwrap();
    let calls = fs::read_to_string(directory.path().join("calls")).unwrap();
    let root = root.display();
    let platform = concat!(env!("CARGO_MANIFEST_DIR"), "/platform");
    let expected = format!(
        "--lang=rust --structured --omit_invocation --version=3 --hash=abc --stability=vintf \
         -I {root} -I /elsewhere -I {platform} -o {} {root}/com/example/IHello.aidl\n",
        out.display()
    );
    assert_eq!(calls, expected);
}

#[test]
fn a_type_of_the_platform_is_found_once() {
    let directory = tempfile::tempdir().unwrap();
    let root = sources(&directory);
    let own = directory.path().join("own");
    fs::create_dir_all(own.join("android/os")).unwrap();
    fs::write(own.join("android/os/PersistableBundle.aidl"), "").unwrap();
    let compiler = compiler(&directory, WRITES_TWO);
    let build = Build::new().compiler(compiler).unit(unit(&root).include(own));
    build.run_into(&directory.path().join("out")).unwrap();
    let calls = fs::read_to_string(directory.path().join("calls")).unwrap();
    assert!(!calls.contains("/platform"), "{calls}");
}

/// Whether rustc takes a crate whose root this is.
fn compiles(directory: &TempDir, root: &str) -> bool {
    let file = directory.path().join("root.rs");
    fs::write(&file, root).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc)
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"])
        .arg(directory.path())
        .arg(&file)
        .output()
        .unwrap();
    print!("{}", String::from_utf8_lossy(&output.stderr));
    output.status.success()
}

#[test]
fn the_module_tree_holds_every_file() {
    let directory = tempfile::tempdir().unwrap();
    let root = sources(&directory);
    let out = directory.path().join("out");
    // What was generated before and is no more does not stay.
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("Old.rs"), "not Rust").unwrap();
    let compiler = compiler(&directory, WRITES_TWO);
    Build::new().compiler(compiler).unit(unit(&root)).run_into(&out).unwrap();
    let uses = "pub use aidl::mangled;\n\
                pub fn both() -> (mangled::_1_Hello, aidl::com::r#type::Kind::Kind) {\n\
                (aidl::com::example::IHello::Hello, mangled::_1_Kind)\n}\n";
    assert!(compiles(&directory, &format!("#[path = \"out/mod.rs\"] pub mod aidl;\n{uses}")));
}

#[test]
fn a_missing_compiler_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let unit = unit(&sources(&directory));
    let build = Build::new().compiler(Compiler::new("/nowhere/aidl")).unit(unit);
    let error = build.run_into(&directory.path().join("out")).unwrap_err();
    assert!(matches!(error, Error::NoCompiler { .. }));
    let text = error.to_string();
    assert!(text.contains("/nowhere/aidl") && text.contains("set AIDL"), "{text}");
}

#[test]
fn what_the_compiler_says_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let unit = unit(&sources(&directory));
    let out = directory.path().join("out");
    let build = Build::new().unit(unit);
    let refusing = compiler(&directory, "echo 'ERROR: IHello.aidl:3' >&2; exit 1");
    let error = build.clone().compiler(refusing).run_into(&out).unwrap_err();
    assert!(matches!(&error, Error::Refused { stderr, .. } if stderr.contains("IHello.aidl:3")));
    assert!(error.to_string().contains("--lang=rust"), "{error}");
    let old = compiler(&directory, "echo \"Unsupported language: 'rust'\" >&2; exit 1");
    let error = build.compiler(old).run_into(&out).unwrap_err();
    assert!(matches!(error, Error::NoRust { .. }), "{error}");
}

#[test]
fn nothing_to_compile_is_a_mistake() {
    let directory = tempfile::tempdir().unwrap();
    let error = Unit::new("x").sources_below(directory.path()).unwrap_err();
    assert!(matches!(error, Error::NoSources { .. }));
    let error = Unit::new("x").sources_below("/nowhere").unwrap_err();
    assert!(matches!(error, Error::File { .. }));
}

#[test]
fn a_build_script_gets_a_file_to_include() {
    let directory = tempfile::tempdir().unwrap();
    let root = sources(&directory);
    let compiler = compiler(&directory, WRITES_TWO);
    // `run` reads OUT_DIR, which only a process of its own may set: this test, once more.
    if std::env::var_os("OUT_DIR_OF_TEST").is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["a_build_script_gets_a_file_to_include", "--exact", "--nocapture"])
            .env("OUT_DIR_OF_TEST", "1")
            .env("OUT_DIR", directory.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        assert!(told.contains("cargo::rerun-if-env-changed=AIDL"), "{told}");
        assert!(told.contains("IHello.aidl"), "{told}");
        let include = format!("include!({:?});\n", directory.path().join("aidl.rs"));
        let uses = "pub use mangled::_1_Kind; pub use aidl::com::example::IHello::Hello;\n";
        assert!(compiles(&directory, &format!("{include}{uses}")));
        return;
    }
    Build::new().compiler(compiler).unit(unit(&root)).run().unwrap();
}
