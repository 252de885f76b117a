//! The compiler of this crate, from files to files and messages.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};

use binder_build::{Build, Compiler, Error, Unit};
use tempfile::TempDir;

/// A directory with these files below `aidl`.
fn sources(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("aidl");
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (directory, root)
}

fn build(unit: Unit, out: &Path) -> Result<(), Error> {
    Build::new().compiler(Compiler::built_in()).unit(unit).run_into(&out.join("out"))
}

/// What is said, with paths below the directory of the sources.
fn refused(unit: Unit, directory: &TempDir) -> String {
    let error = build(unit, directory.path()).unwrap_err();
    format!("{error:?}").replace(&format!("{}/", directory.path().display()), "")
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let hello = "package a;\ninterface IHello {\n    String greet(Nmae name);\n    oneway int add(int[] x);\n}\n";
    let (directory, root) =
        sources(&[("a/IHello.aidl", hello), ("a/E.aidl", "package a;\nenum E { A, A }")]);
    let said = refused(Unit::new(&root).sources_below(&root).unwrap(), &directory);
    let wanted = "\
4 mistakes in AIDL files

error: there are two enumerators `A`
 --> aidl/a/E.aidl:2:13
  |
2 | enum E { A, A }
  |          -  ^ again here
  |          |
  |          first here

error: unknown type `Nmae`
 --> aidl/a/IHello.aidl:3:18
  |
3 |     String greet(Nmae name);
  |                  ^^^^ not found
  |
  = help: import it, or put its file beside this one in its package

error: the one-way method `add` cannot return anything
 --> aidl/a/IHello.aidl:4:12
  |
4 |     oneway int add(int[] x);
  |            ^^^ expected `void`
  |
  = help: the caller does not wait for a reply

error: the direction of `x` is missing
 --> aidl/a/IHello.aidl:4:20
  |
4 |     oneway int add(int[] x);
  |                    ^^^^^
  |
  = help: put `in`, `out` or `inout` before it
";
    assert_eq!(said, wanted);
}

#[test]
fn a_place_in_another_file_is_shown_too() {
    let (directory, root) = sources(&[
        ("a/X.aidl", "package a; parcelable X { Y<int> y; }"),
        ("lib/a/Y.aidl", "package a;\nparcelable Y<A, B> {}"),
    ]);
    let unit = Unit::new(&root).include(root.join("lib")).source(root.join("a/X.aidl"));
    let said = refused(unit, &directory);
    assert!(
        said.contains("aidl/a/X.aidl:1:27") && said.contains("aidl/lib/a/Y.aidl:2:12"),
        "{said}"
    );
    assert!(said.starts_with("1 mistake in"), "{said}");
}

#[test]
fn of_many_mistakes_the_first_are_shown() {
    let fields: String = (0..60).map(|at| format!("Nobody f{at};\n")).collect();
    let text = format!("package a; parcelable X {{\n{fields}}}");
    let (directory, root) = sources(&[("a/X.aidl", &text)]);
    let said = refused(Unit::new(&root).source(root.join("a/X.aidl")), &directory);
    assert!(said.starts_with("60 mistakes in AIDL files"), "{said}");
    assert!(said.contains("X.aidl:51:1") && !said.contains("X.aidl:52:1"), "{said}");
    assert!(said.ends_with("\n\nand 10 more\n"), "{said}");
}

#[test]
fn imports_come_from_include_directories() {
    let (directory, root) = sources(&[
        (
            "a/X.aidl",
            "package a; import b.Y; import android.os.PersistableBundle; parcelable X { Y y; PersistableBundle b; }",
        ),
        ("lib/b/Y.aidl", "package b; parcelable Y rust_type \"crate::Y\";"),
        ("other/b/Y.aidl", "package b; parcelable Y rust_type \"crate::Z\";"),
    ]);
    let source = root.join("a/X.aidl");
    let lib = root.join("lib");
    let unit = Unit::new(&root).include(&lib).include(root.join("a/../lib")).source(&source);
    build(unit, directory.path()).unwrap();
    let text = fs::read_to_string(directory.path().join("out/a/X.rs")).unwrap();
    assert!(
        text.contains("pub r#y: crate::Y,") && text.contains("pub r#b: binder::PersistableBundle,")
    );

    let unit = Unit::new(&root).include(&lib).include(root.join("other")).source(&source);
    let said = refused(unit, &directory);
    assert!(said.contains("there are two files for this: aidl/lib/b/Y.aidl and"), "{said}");
    let said = refused(Unit::new(&root).source(&source), &directory);
    assert!(said.contains("`b.Y` is not found") && said.contains("no `b/Y.aidl`"), "{said}");
}

#[test]
fn options_for_androids_compiler_are_for_that_one() {
    let (directory, root) = sources(&[("a/X.aidl", "package a; parcelable X {}")]);
    let unit = Unit::new(&root).sources_below(&root).unwrap().flag("-Weverything");
    let error = build(unit, directory.path()).unwrap_err();
    assert!(matches!(&error, Error::UnknownFlag { flag } if flag == "-Weverything"), "{error}");
}

#[test]
fn what_is_no_text_or_not_there_is_named() {
    let (directory, root) = sources(&[("a/X.aidl", "package a; parcelable X { Y y; }")]);
    fs::write(root.join("a/Y.aidl"), b"package a; \xff").unwrap();
    let said = refused(Unit::new(&root).source(root.join("a/X.aidl")), &directory);
    assert!(said.contains("aidl/a/Y.aidl is not UTF-8"), "{said}");
    let error =
        build(Unit::new(&root).source(root.join("a/Y.aidl")), directory.path()).unwrap_err();
    assert!(matches!(error, Error::NotText { .. }), "{error}");
    let error =
        build(Unit::new(&root).source(root.join("a/Z.aidl")), directory.path()).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}

#[test]
fn paths_bring_the_roots_of_their_packages() {
    let (directory, root) = sources(&[
        ("a/b/X.aidl", "package a.b; import c.Y; parcelable X { Y y; Z z; }"),
        ("a/b/Z.aidl", "package a.b; parcelable Z {}"),
        ("c/Y.aidl", "package c; parcelable Y rust_type \"crate::Y\";"),
    ]);
    Unit::of_paths([root.join("a/b/X.aidl")]).unwrap().compile().unwrap();
    let compiled = Unit::of_paths([root.join("a")]).unwrap().compile().unwrap();
    assert_eq!((compiled.warnings(), compiled.warnings_report()), (vec![], String::new()));

    let out = directory.path().join("out");
    compiled.write_into(&out).unwrap();
    let tree = fs::read_to_string(out.join("mod.rs")).unwrap();
    assert!(tree.contains("pub mod r#X;") && out.join("a/b/Z.rs").exists(), "{tree}");
    // Of what was generated before, and what others have put there, nothing is lost.
    fs::write(out.join("notes.rs"), "").unwrap();
    let only = Unit::of_paths([root.join("a/b/Z.aidl")]).unwrap().compile().unwrap();
    only.write_into(&out).unwrap();
    let tree = fs::read_to_string(out.join("mod.rs")).unwrap();
    assert!(!tree.contains("r#X") && !tree.contains("notes"), "{tree}");
    assert!(out.join("notes.rs").exists());
    fs::write(out.join("mod.rs"), "mod mine;").unwrap();
    let error = only.write_into(&out).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");

    let error = Unit::of_paths([directory.path().join("out")]).unwrap_err();
    assert!(matches!(error, Error::NoSources { .. }), "{error}");
    let error = Unit::of_paths([root.join("none.aidl")]).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}

#[test]
fn methods_are_listed_without_their_imports() {
    let (directory, root) = sources(&[
        ("a/I.aidl", "package a; import no.Such; interface I { void x(in Such s); }"),
        ("a/Bad.aidl", "package a; interface Bad { void x( }"),
    ]);
    let methods = Unit::of_paths([root.join("a/I.aidl")]).unwrap().methods().unwrap();
    assert_eq!((methods[0].interface.as_str(), methods[0].method.as_str()), ("a.I", "x"));
    let error = Unit::of_paths([&root]).unwrap().methods().unwrap_err();
    let Error::Mistakes { report, .. } = error else { panic!("{error}") };
    assert!(report.contains("a/Bad.aidl:1:"), "{report} {directory:?}");
}
