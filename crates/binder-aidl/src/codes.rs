//! The numbers of methods, for those who see calls and want their names.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::annotation;
use crate::diagnostic::Diagnostics;
use crate::number::Number;
use crate::parser;
use crate::syntax::{Definition, DefinitionKind, QualifiedName};

/// The numbers of the methods that versioned interfaces have, behind all others.
pub(crate) const VERSION_CODE: u32 = 0x00ff_fffe;
pub(crate) const HASH_CODE: u32 = VERSION_CODE - 1;

/// A method and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodCode {
    /// The name by which peers know its interface.
    pub interface: String,
    /// Its name.
    pub method: String,
    /// Its number: that of the first method is 0, and its transaction's code 1.
    pub code: u32,
}

/// The methods of the interfaces of a source. What does not make sense is passed over, and no import is looked at.
pub fn method_codes(source: &str) -> Vec<MethodCode> {
    let document = parser::document(source, 0, &mut Diagnostics::default());
    let package = document.package.as_ref().map(QualifiedName::dotted);
    let mut codes = Vec::new();
    for definition in &document.definitions {
        add(definition, package.as_deref(), &mut codes);
    }
    codes
}

fn add(definition: &Definition, around: Option<&str>, codes: &mut Vec<MethodCode>) {
    let name = &definition.name.text;
    let path = around.map_or_else(|| name.clone(), |around| format!("{around}.{name}"));
    if let DefinitionKind::Interface { methods, .. } = &definition.kind {
        for (place, method) in (0..).zip(methods) {
            let written = method.code.as_ref().map(|it| Number::parse(&it.text));
            let code = match written {
                None => Some(place),
                Some(number) => number.ok().and_then(|it| u32::try_from(it.value).ok()),
            };
            codes.extend(code.map(|code| MethodCode {
                interface: annotation::descriptor(definition, &path).into(),
                method: method.name.text.clone(),
                code,
            }));
        }
    }
    definition.nested.iter().for_each(|it| add(it, Some(&path), codes));
}
