//! The enumeration of a union's fields, which AIDL adds to each union.

use alloc::string::String;
use alloc::vec::Vec;

use crate::annotation;
use crate::syntax::{
    Annotation, Definition, DefinitionKind, EnumeratorSyntax, Expression, ExpressionKind,
    Identifier,
};

/// Adds a type `Tag` to unions that have a field.
pub(crate) fn add_tags(definition: &mut Definition) {
    definition.nested.iter_mut().for_each(add_tags);
    let DefinitionKind::Union(fields) = &definition.kind else { return };
    if fields.is_empty() {
        return;
    }
    let enumerators = fields.iter().map(|field| EnumeratorSyntax {
        name: field.name.clone(),
        value: None,
        deprecated: field.deprecated.clone(),
    });
    let is_fixed_size = annotation::has(&definition.annotations, "FixedSize");
    let backing = if is_fixed_size { "byte" } else { "int" };
    let span = definition.name.span;
    let value = Expression { kind: ExpressionKind::Text(String::from(backing)), span };
    let name = |text| Identifier { text: String::from(text), span };
    let annotations = Vec::from([Annotation {
        name: String::from("Backing"),
        parameters: Vec::from([(name("type"), value)]),
        span,
    }]);
    let tag = Definition {
        name: name("Tag"),
        annotations,
        deprecated: None,
        type_parameters: Vec::new(),
        kind: DefinitionKind::Enumeration(enumerators.collect()),
        constants: Vec::new(),
        nested: Vec::new(),
    };
    definition.nested.push(tag);
}
