//! Types of other files.

use binder_aidl::{AidlOptions, SourceFile, compile};

use crate::{Files, code, compiled_with, lines};

const POINT: (&str, &str) = ("a/b/Point.aidl", "package a.b; parcelable Point { enum Kind { A } }");

fn said(text: &str, imports: &[(&'static str, &'static str)]) -> Vec<String> {
    lines(&compiled_with("p/X.aidl", text, imports))
}

#[test]
fn a_type_is_found_by_import_package_or_whole_name() {
    let near = ("p/Near.aidl", "package p; parcelable Near {}");
    for text in [
        "package p; import a.b.Point; parcelable X { Point x; }",
        "package p; import a.b.Point; parcelable X { Point.Kind x = Point.Kind.A; }",
        "package p; import a.b.Point.Kind; parcelable X { Kind x = Kind.A; }",
        "package p; parcelable X { a.b.Point x; a.b.Point.Kind y = a.b.Point.Kind.A; }",
        "package p; parcelable X { Near x; p.Near y; }",
    ] {
        assert_eq!(said(text, &[POINT, near]), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn an_import_that_is_not_found_is_shown() {
    let found = said("package p;\nimport a.b.Point;\nparcelable X { Point p; }", &[]);
    // A type that is not there makes no second mistake.
    assert_eq!(found, ["p/X.aidl:2:8: error: `a.b.Point` is not found"]);
    let other = ("a/b/Point.aidl", "package a.b; parcelable Other {}");
    let found = said("package p; import a.b.Point; parcelable X {}", &[other]);
    assert_eq!(found, ["p/X.aidl:1:19: error: `a.b.Point` is not found"]);
    let found = said("package p; parcelable X { Unreadable x; }", &[]);
    assert_eq!(found, ["p/X.aidl:1:27: error: it is on a tape"]);
}

#[test]
fn mistakes_of_imported_files_are_told_there() {
    let broken = ("a/b/Point.aidl", "package a.b;\nparcelable Point { int; }");
    let found = said("package p; import a.b.Point; parcelable X { Point x; }", &[broken]);
    assert_eq!(found, ["a/b/Point.aidl:2:23: error: expected a name, found `;`"]);
}

#[test]
fn parcelables_that_are_written_by_hand_have_a_type_in_rust() {
    let by_hand = ("a/b/Point.aidl", "package a.b; parcelable Point rust_type \"crate::MyPoint\";");
    let text = "package p; import a.b.Point; parcelable X { Point x; Point[] y; }";
    let compilation = compiled_with("p/X.aidl", text, &[by_hand]);
    assert_eq!(lines(&compilation), Vec::<String>::new());
    let text_of = &compilation.generated[0].text;
    assert!(
        text_of.contains("pub r#x: crate::MyPoint,") && text_of.contains("Vec<crate::MyPoint>")
    );

    let unknown = (
        "a/b/Point.aidl",
        "package a.b; @JavaOnlyStableParcelable parcelable Point cpp_header \"a.h\";",
    );
    let found = said(text, &[unknown]);
    assert_eq!(found[0], "p/X.aidl:1:45: error: `a.b.Point` is not said to be a type in Rust");
    assert_eq!(found.len(), 2);
}

#[test]
fn what_is_for_java_only_is_passed_over_with_a_warning() {
    let text = "package p; @JavaOnlyStableParcelable parcelable X;";
    let compilation = compiled_with("p/X.aidl", text, &[]);
    assert!(!compilation.has_errors() && compilation.generated.is_empty());
    let warning = "p/X.aidl:1:49: warning: `X` is for Java only: nothing is generated";
    assert_eq!(lines(&compilation), [warning]);
}

#[test]
fn files_that_are_compiled_together_know_each_other() {
    let files = vec![
        SourceFile::new("p/X.aidl", "package p; import q.Y; parcelable X { Y y; int z = Y.Z; }"),
        SourceFile::new("q/Y.aidl", "package q; parcelable Y { const int Z = 7; }"),
    ];
    let compilation = compile(files, &mut Files::default(), &AidlOptions::default());
    assert_eq!(lines(&compilation), Vec::<String>::new());
    assert!(compilation.generated[0].text.contains("r#z: 7,"));
    let twice = vec![
        SourceFile::new("p/X.aidl", "package p; parcelable X {}"),
        SourceFile::new("other/p/X.aidl", "package p; parcelable X {}"),
    ];
    let compilation = compile(twice, &mut Files::default(), &AidlOptions::default());
    assert_eq!(lines(&compilation), ["other/p/X.aidl:1:23: error: `p.X` is declared twice"]);
}

#[test]
fn stable_types_use_stable_types() {
    let options = AidlOptions { is_vintf: true, ..AidlOptions::default() };
    let run = |text: &str| {
        let mut files = Files([POINT].into_iter().collect());
        compile(vec![SourceFile::new("p/X.aidl", text)], &mut files, &options)
    };
    let found = run("package p; @VintfStability parcelable X { a.b.Point x; }");
    let wanted = "p/X.aidl:1:43: error: `Point` is not `@VintfStability`, and what uses it is";
    assert_eq!(lines(&found), [wanted]);
    // What is within a stable type is as stable.
    let found =
        run("package p; @VintfStability parcelable X { Y y; parcelable Y {} union U { int a; } }");
    assert_eq!(lines(&found), Vec::<String>::new());
    assert_eq!(found.generated[0].text.matches("Stability::Vintf }").count(), 3);
}

#[test]
fn a_type_without_a_package_is_at_the_root() {
    let text = code("X.aidl", "interface X { void a(); }");
    assert!(text.contains("pub use super::r#X as _1_X;") && text.contains("X[\"X\"]"));
}
