//! The compiler from outside.

mod grammar;
mod imports;
mod mistakes;
mod props;
mod values;

use std::collections::BTreeMap;

use binder_aidl::{AidlOptions, Compilation, ImportLoader, SourceFile, compile};

/// Files to import, by their paths.
#[derive(Default)]
struct Files(BTreeMap<&'static str, &'static str>);

impl ImportLoader for Files {
    fn load(&mut self, path: &str) -> Result<Option<SourceFile>, String> {
        if path == "p/Unreadable.aidl" {
            return Err("it is on a tape".into());
        }
        Ok(self.0.get(path).map(|text| SourceFile::new(path, *text)))
    }
}

/// Compiles one file with others to import.
fn compiled_with(path: &str, text: &str, imports: &[(&'static str, &'static str)]) -> Compilation {
    let mut files = Files(imports.iter().copied().collect());
    compile(vec![SourceFile::new(path, text)], &mut files, &AidlOptions::default())
}

fn compiled(path: &str, text: &str) -> Compilation {
    compiled_with(path, text, &[])
}

/// What is said about a file.
fn lines(compilation: &Compilation) -> Vec<String> {
    compilation.diagnostics.iter().map(|it| it.line(&compilation.files)).collect()
}

/// The code of a file that has no mistakes.
fn code(path: &str, text: &str) -> String {
    let compilation = compiled(path, text);
    assert_eq!(lines(&compilation), Vec::<String>::new(), "{text}");
    compilation.generated[0].text.clone()
}
