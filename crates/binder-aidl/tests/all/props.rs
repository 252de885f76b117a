//! No source makes the compiler panic or run without end.

use binder_aidl::{AidlOptions, SourceFile, compile, method_codes};
use proptest::prelude::*;

use crate::Files;

/// Pieces that sources are made of.
const PIECES: [&str; 78] = [
    "package p;",
    "import p.Y;",
    "import",
    "interface X {",
    "parcelable X {",
    "union X {",
    "enum X {",
    "parcelable Y {",
    "enum E {",
    "union U {",
    "interface I {",
    "parcelable P<A, B> {",
    "parcelable Z;",
    "rust_type \"crate::Z\"",
    "}",
    "}",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ";",
    ";",
    ",",
    ".",
    "=",
    "oneway",
    "const",
    "in",
    "out",
    "inout",
    "void",
    "boolean",
    "byte",
    "char",
    "int",
    "long",
    "float",
    "double",
    "String",
    "IBinder",
    "ParcelFileDescriptor",
    "ParcelableHolder",
    "List<String>",
    "Map",
    "X",
    "Y",
    "E",
    "P<int, X>",
    "a",
    "b",
    "A",
    "@nullable",
    "@nullable(heap=true)",
    "@utf8InCpp",
    "@FixedSize",
    "@Backing(type=\"int\")",
    "@RustDerive(Clone=true)",
    "@VintfStability",
    "0x7fffffff",
    "1",
    "-1",
    "1L",
    "2.5f",
    "'x'",
    "\"s\"",
    "true",
    "+",
    "-",
    "*",
    "/ 0",
    "<<",
    "/** @deprecated x */",
    "E.A",
];

fn run(source: &str) {
    let imports = [("p/Y.aidl", "package p; parcelable Y { const int A = 1; X x; }")];
    let mut files = Files(imports.into_iter().collect());
    let options = AidlOptions { version: Some(1), hash: Some("h".into()), is_vintf: true };
    let input = SourceFile::new("p/X.aidl", source);
    let compilation = compile(vec![input], &mut files, &options);
    for diagnostic in &compilation.diagnostics {
        let span = diagnostic.primary.span;
        assert!(compilation.files[span.file].text.get(span.range()).is_some(), "{diagnostic:?}");
        diagnostic.line(&compilation.files);
    }
    assert!(compilation.generated.is_empty() || !compilation.has_errors());
    method_codes(source);
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(source in ".*") {
        run(&source);
    }

    #[test]
    fn any_row_of_pieces_is_compiled_or_refused(
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..60)
    ) {
        run(&format!("package p; {}", pieces.join(" ")));
    }

    #[test]
    fn members_of_pieces_are_compiled_or_refused(
        head in proptest::sample::select(&["interface", "parcelable", "union", "enum"][..]),
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..30)
    ) {
        run(&format!("package p; {head} X {{ {} }}", pieces.join(" ")));
    }
}
