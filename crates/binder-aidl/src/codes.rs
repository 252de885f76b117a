//! The numbers of methods, for programs that show the names of calls.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::annotation;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::number::Number;
use crate::parser;
use crate::source::SourceFile;
use crate::syntax::{Definition, DefinitionKind, Identifier, QualifiedName};

/// The greatest number behind a method's `=`: those above are of methods that every interface has.
pub(crate) const LAST_CODE: u32 = 0x00ff_ffff - 101;

/// The numbers of the methods that versioned interfaces have, behind all others.
pub(crate) const VERSION_CODE: u32 = 0x00ff_fffe;
pub(crate) const HASH_CODE: u32 = VERSION_CODE - 1;

/// A method and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodCode {
    /// The name of its interface, as calls tell it: its whole name, or what its `@Descriptor` says.
    pub interface: String,
    /// Its name.
    pub method: String,
    /// Its number: that of the first method is 0, and its transaction's code 1.
    pub code: u32,
    /// Whether it is called without waiting for an answer.
    pub is_oneway: bool,
}

/// The methods of some sources.
#[derive(Debug, Clone)]
pub struct MethodListing {
    /// The sources, as spans name them.
    pub files: Vec<SourceFile>,
    /// The parser's errors.
    pub diagnostics: Vec<Diagnostic>,
    /// The methods, in the order of the sources.
    pub methods: Vec<MethodCode>,
}

/// The methods of the interfaces of a source. What does not make sense is passed over, and no import is looked at.
pub fn method_codes(source: &str) -> Vec<MethodCode> {
    codes_of(source, 0, &mut Diagnostics::default())
}

/// The methods of the interfaces of sources, and what of these is no AIDL. No import is looked at, nor what names mean.
pub fn list_methods(files: Vec<SourceFile>) -> MethodListing {
    let mut diagnostics = Diagnostics::default();
    let mut methods = Vec::new();
    for (at, file) in files.iter().enumerate() {
        methods.extend(codes_of(&file.text, at, &mut diagnostics));
    }
    MethodListing { files, diagnostics: diagnostics.into_sorted(), methods }
}

/// The package that a source says it is of.
pub fn package_of(source: &str) -> Option<String> {
    let document = parser::document(source, 0, &mut Diagnostics::default());
    document.package.as_ref().map(QualifiedName::dotted)
}

fn codes_of(source: &str, file: usize, diagnostics: &mut Diagnostics) -> Vec<MethodCode> {
    let document = parser::document(source, file, diagnostics);
    let package = document.package.as_ref().map(QualifiedName::dotted);
    let mut codes = Vec::new();
    for definition in &document.definitions {
        add(definition, package.as_deref(), &mut codes, diagnostics);
    }
    codes
}

fn add(
    definition: &Definition,
    around: Option<&str>,
    codes: &mut Vec<MethodCode>,
    diagnostics: &mut Diagnostics,
) {
    let name = &definition.name.text;
    let path = around.map_or_else(|| name.clone(), |around| format!("{around}.{name}"));
    if let DefinitionKind::Interface { is_oneway, methods } = &definition.kind {
        for (place, method) in (0..).zip(methods) {
            let code = match &method.code {
                None => Some(place),
                Some(written) => written_code(written, diagnostics),
            };
            codes.extend(code.map(|code| MethodCode {
                interface: annotation::descriptor(definition, &path).into(),
                method: method.name.text.clone(),
                code,
                is_oneway: *is_oneway || method.is_oneway,
            }));
        }
    }
    definition.nested.iter().for_each(|it| add(it, Some(&path), codes, diagnostics));
}

/// The number that is written behind a method's `=`.
pub(crate) fn written_code(written: &Identifier, diagnostics: &mut Diagnostics) -> Option<u32> {
    let number = Number::parse(&written.text).ok().and_then(|it| u32::try_from(it.value).ok());
    let code = number.filter(|code| *code <= LAST_CODE);
    if code.is_none() {
        let message = format!("a method's number is 0 to {LAST_CODE}");
        diagnostics.push(Diagnostic::error(written.span, message));
    }
    code
}
