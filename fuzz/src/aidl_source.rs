//! Bytes as an AIDL source.

use binder_aidl::{AidlOptions, ImportLoader, SourceFile, WireCatalog, compile, method_codes};

/// A file to import that names the source that is fuzzed.
const NEIGHBOUR: &str =
    "package p; parcelable Y { const int A = X.A; X x; @nullable(heap=true) Y y; }";

/// Knows one file.
struct Neighbour;

impl ImportLoader for Neighbour {
    fn load(&mut self, path: &str) -> Result<Option<SourceFile>, String> {
        Ok((path == "p/Y.aidl").then(|| SourceFile::new(path, NEIGHBOUR)))
    }
}

/// Compiles the bytes, if they are text.
///
/// # Panics
///
/// Panics if the compiler does, if it names what is not in the source, or generates code in spite of a mistake.
pub fn check(bytes: &[u8]) {
    let Ok(source) = core::str::from_utf8(bytes) else { return };
    method_codes(source);
    let sources = [("p/X.aidl", source), ("p/Y.aidl", NEIGHBOUR)];
    WireCatalog::new(sources.map(|(path, text)| SourceFile::new(path, text)).to_vec());
    let options = AidlOptions { version: Some(1), hash: Some("hash".into()), is_vintf: true };
    let input = SourceFile::new("p/X.aidl", source);
    let compilation = compile(vec![input], &mut Neighbour, &options);
    for diagnostic in &compilation.diagnostics {
        for label in diagnostic.others.iter().chain([&diagnostic.primary]) {
            let file = &compilation.files[label.span.file];
            assert!(file.text.get(label.span.range()).is_some(), "{diagnostic:?}");
        }
        assert!(!diagnostic.line(&compilation.files).is_empty());
    }
    assert!(compilation.generated.is_empty() || !compilation.has_errors());
}
