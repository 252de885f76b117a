//! The names of AIDL's types in Rust.

use alloc::format;
use alloc::string::{String, ToString};

use crate::model::{Nullability, Parameter, Type, TypeKind};
use crate::syntax::Direction;

/// Words of Rust that are no names without an `r#` before them.
const KEYWORDS: [&str; 47] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "use", "virtual",
    "where", "while", "yield",
];

/// A name, and what makes it one where Rust has another use for the word.
pub(super) fn escaped(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("r#{name}") } else { name.to_string() }
}

/// The type of fields and results, without regard to null.
pub(super) fn value(kind: &TypeKind) -> String {
    nested(kind, Elements::AsTheyAre)
}

/// The type of fields and results.
pub(super) fn owned(of: &Type) -> String {
    wrapped(of, Elements::AsTheyAre)
}

/// The type of a field. What has no value to begin with may be missing until it is sent.
pub(super) fn field(of: &Type) -> String {
    if of.kind.has_no_default() && !of.is_nullable() {
        return format!("Option<{}>", value(&of.kind));
    }
    let elements = match &of.kind {
        TypeKind::Fixed(..) => Elements::MayBeMissing,
        _ => Elements::AsTheyAre,
    };
    wrapped(of, elements)
}

/// The type of what a service holds while it serves a call.
pub(super) fn local(parameter: &Parameter) -> String {
    let elements = match parameter.direction {
        Direction::Out => Elements::MayBeMissing,
        Direction::In | Direction::InOut => Elements::AsTheyAre,
    };
    wrapped(&parameter.of, elements)
}

/// The type of a parameter. With a lifetime, references have it.
pub(super) fn parameter(parameter: &Parameter, lifetime: &str) -> String {
    let of = &parameter.of;
    match parameter.direction {
        Direction::Out | Direction::InOut => format!("&{lifetime}mut {}", local(parameter)),
        Direction::In if of.kind.is_scalar() => value(&of.kind),
        Direction::In => {
            let elements = elements_of(of, Elements::AsTheyAre);
            let target = match &of.kind {
                TypeKind::Text => "str".to_string(),
                TypeKind::Vector(inner) | TypeKind::List(inner) => {
                    format!("[{}]", element(inner, elements))
                }
                kind => nested(kind, elements),
            };
            match of.nullability {
                Nullability::Never => format!("&{lifetime}{target}"),
                Nullability::Nullable | Nullability::Boxed => {
                    format!("Option<&{lifetime}{target}>")
                }
            }
        }
    }
}

/// Whether elements of an array can be missing.
#[derive(Clone, Copy)]
enum Elements {
    AsTheyAre,
    /// Those without a value to begin with.
    MayBeMissing,
    /// All that can be null.
    MayBeNull,
}

/// In a nullable array, the elements may be null as well.
fn elements_of(of: &Type, otherwise: Elements) -> Elements {
    if of.is_nullable() { Elements::MayBeNull } else { otherwise }
}

fn wrapped(of: &Type, elements: Elements) -> String {
    let name = nested(&of.kind, elements_of(of, elements));
    match of.nullability {
        Nullability::Never => name,
        Nullability::Nullable => format!("Option<{name}>"),
        Nullability::Boxed => format!("Option<Box<{name}>>"),
    }
}

fn nested(kind: &TypeKind, elements: Elements) -> String {
    match kind {
        TypeKind::Void => "()".to_string(),
        TypeKind::Boolean => "bool".to_string(),
        TypeKind::Byte => "i8".to_string(),
        TypeKind::Char => "u16".to_string(),
        TypeKind::Int => "i32".to_string(),
        TypeKind::Long => "i64".to_string(),
        TypeKind::Float => "f32".to_string(),
        TypeKind::Double => "f64".to_string(),
        TypeKind::Text => "String".to_string(),
        TypeKind::Binder => "binder::SpIBinder".to_string(),
        TypeKind::File => "binder::ParcelFileDescriptor".to_string(),
        TypeKind::Holder => "binder::ParcelableHolder".to_string(),
        TypeKind::Interface(path) => format!("binder::Strong<dyn {path}>"),
        TypeKind::Enumeration(path) => path.clone(),
        TypeKind::Parcelable(path, arguments) if arguments.is_empty() => path.clone(),
        TypeKind::Parcelable(path, arguments) => {
            let arguments: String = arguments.iter().map(|it| format!("{},", value(it))).collect();
            format!("{path}<{arguments}>")
        }
        TypeKind::Vector(inner) | TypeKind::List(inner) => {
            format!("Vec<{}>", element(inner, elements))
        }
        TypeKind::Fixed(inner, length) => format!("[{}; {length}]", element(inner, elements)),
    }
}

/// The type of an element. Bytes in arrays have no sign.
fn element(kind: &TypeKind, elements: Elements) -> String {
    let is_missing = match elements {
        _ if matches!(kind, TypeKind::Fixed(..)) => false,
        Elements::AsTheyAre => false,
        Elements::MayBeMissing => kind.has_no_default(),
        Elements::MayBeNull => !kind.is_scalar(),
    };
    match kind {
        TypeKind::Byte => "u8".to_string(),
        kind if is_missing => format!("Option<{}>", nested(kind, elements)),
        kind => nested(kind, elements),
    }
}
