//! Files in, files out.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::annotation;
use crate::cycle;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::evaluate::Evaluator;
use crate::load::{self, ImportLoader, Loaded};
use crate::lower::{AidlOptions, Lowering};
use crate::program::{DefinitionKey, TypeTable};
use crate::rust;
use crate::source::{SourceFile, Span};
use crate::syntax::{DefinitionKind, Document, QualifiedName};

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Compilation {
    /// All files that were read, as spans name them: those that were given, and those that they import.
    pub files: Vec<SourceFile>,
    /// Errors and warnings about them.
    pub diagnostics: Vec<Diagnostic>,
    /// The generated files; none if there are errors.
    pub generated: Vec<GeneratedFile>,
}

/// A file of Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Its path below the directory of all of them: its package and its type, `a/b/C.rs`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Compilation {
    /// Whether anything is wrong.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|it| it.severity == Severity::Error)
    }
}

/// Compiles files to Rust. All mistakes that are found are told at once.
pub fn compile(
    inputs: Vec<SourceFile>,
    loader: &mut dyn ImportLoader,
    options: &AidlOptions,
) -> Compilation {
    let mut diagnostics = Diagnostics::default();
    let given = inputs.len();
    let Loaded { files, documents } = load::load(inputs, loader, &mut diagnostics);
    let mut generated = Vec::new();
    // Declarations that could not be parsed would be unknown wherever they are used.
    if !diagnostics.has_errors() {
        generated = checked(&files, &documents, given, options, &mut diagnostics);
    }
    if diagnostics.has_errors() {
        generated.clear();
    }
    Compilation { files, diagnostics: diagnostics.into_sorted(), generated }
}

fn checked(
    files: &[SourceFile],
    documents: &[Document],
    given: usize,
    options: &AidlOptions,
    diagnostics: &mut Diagnostics,
) -> Vec<GeneratedFile> {
    let table = TypeTable::new(documents, diagnostics);
    let mut generated = Vec::new();
    let mut roots = Vec::new();
    for (document, file) in files.iter().enumerate().take(given) {
        roots.extend(root(&table, document, file, documents, diagnostics));
    }
    let inner = roots.iter().flat_map(|(key, _)| all_within(&table, *key)).collect::<Vec<_>>();
    cycle::check(&table, inner.into_iter(), diagnostics);
    let evaluator = Evaluator::new(&table);
    let mut lowering = Lowering { table: &table, evaluator, options, diagnostics };
    for (key, path) in roots {
        if let Some(item) = lowering.item(key) {
            generated.push(GeneratedFile { path, text: rust::file(&item, options) });
        }
    }
    generated
}

/// The type of a file that code is generated for, and the path of that.
fn root(
    table: &TypeTable<'_>,
    document: usize,
    file: &SourceFile,
    documents: &[Document],
    diagnostics: &mut Diagnostics,
) -> Option<(DefinitionKey, String)> {
    let mut keys = table.top_level(document);
    let start = Span { file: document, start: 0, end: 0 };
    let Some(key) = keys.next() else {
        diagnostics.push(Diagnostic::error(start, "this file declares no type"));
        return None;
    };
    let definition = table.entry(key).definition;
    for other in keys {
        let name = &table.entry(other).definition.name;
        let error = Diagnostic::error(name.span, "a file declares one type");
        diagnostics
            .push(error.other(definition.name.span, "this one").help("give each its own file"));
    }
    let is_foreign = matches!(definition.kind, DefinitionKind::Foreign { .. });
    if is_foreign && annotation::is_java_only(&definition.annotations) {
        let name = &definition.name;
        let message = format!("`{}` is for Java only: nothing is generated", name.text);
        diagnostics.push(Diagnostic::warning(name.span, message));
        return None;
    }
    check_package(&documents[document], diagnostics);
    let path = table.entry(key).path.replace('.', "/");
    let is_there = |path: &str| {
        let file = file.path.replace('\\', "/");
        file.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    if !is_there(&format!("{path}.aidl")) {
        let name = &definition.name;
        let message = format!("`{}` is declared in another file than its name says", name.text);
        let error = Diagnostic::error(name.span, message);
        diagnostics.push(error.help(format!("its file is `{path}.aidl` below the package root")));
    }
    Some((key, format!("{path}.rs")))
}

/// Complains of packages whose names Rust does not take.
fn check_package(document: &Document, diagnostics: &mut Diagnostics) {
    let names = document.package.iter().flat_map(|QualifiedName { segments, .. }| segments);
    for name in names {
        if ["self", "super", "crate", "Self", "_"].contains(&name.text.as_str()) {
            let message = format!("`{}` cannot be a module in Rust", name.text);
            diagnostics.push(Diagnostic::error(name.span, message));
        }
    }
}

/// A type and all types within it.
pub(crate) fn all_within(table: &TypeTable<'_>, key: DefinitionKey) -> Vec<DefinitionKey> {
    let mut all = Vec::from([key]);
    let mut at = 0;
    while let Some(key) = all.get(at) {
        all.extend(table.entry(*key).nested.iter().copied());
        at += 1;
    }
    all
}
