//! Values in Rust.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::names;
use crate::model::{Field, Item, Type, TypeKind, Value};

/// The longest array for which Rust's standard library has a default.
const MAX_WITH_DEFAULT: usize = 32;
/// How many elements are written one by one.
const MAX_LISTED: usize = 1024;

/// The value of a constant.
pub(super) fn constant(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        value => plain(value),
    }
}

/// The value that a field begins with.
pub(super) fn initial(field: &Field, item: &Item) -> String {
    let Field { of, default, .. } = field;
    match default {
        Some(value) => given(value, of),
        None => implied(of, item),
    }
}

/// The value that a type begins with where nothing else is known.
pub(super) fn default_of(of: &Type) -> String {
    match &of.kind {
        TypeKind::Fixed(..) if !of.is_nullable() && !has_default(&of.kind) => filled(&of.kind),
        _ => "Default::default()".to_string(),
    }
}

/// A value that is written in the source.
fn given(value: &Value, of: &Type) -> String {
    let value = nested(value, &of.kind, of.is_nullable());
    if of.is_nullable() { format!("Some({value})") } else { value }
}

fn nested(value: &Value, kind: &TypeKind, is_in_nullable: bool) -> String {
    match (value, kind) {
        (Value::List(values), TypeKind::Vector(element) | TypeKind::List(element)) => {
            format!("vec![{}]", listed(values, element, is_in_nullable))
        }
        (Value::List(values), TypeKind::Fixed(element, _)) => {
            format!("[{}]", listed(values, element, is_in_nullable))
        }
        (Value::Text(text), _) => format!("{text:?}.into()"),
        (value, _) => plain(value),
    }
}

fn listed(values: &[Value], element: &TypeKind, is_in_nullable: bool) -> String {
    let one = |value: &Value| match (value, element) {
        // Bytes in arrays have no sign.
        (Value::Integer(number), TypeKind::Byte) => number.rem_euclid(256).to_string(),
        (value, TypeKind::Fixed(..)) => nested(value, element, is_in_nullable),
        (value, _) if is_in_nullable && !element.is_scalar() => {
            format!("Some({})", nested(value, element, is_in_nullable))
        }
        (value, _) => nested(value, element, is_in_nullable),
    };
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn plain(value: &Value) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Single(number) => {
            let short = format!("{number:.6}");
            // A value that six digits cannot give has as many as it needs.
            let is_exact = short.parse() == Ok(*number);
            if is_exact { format!("{short}f32") } else { format!("{number:?}f32") }
        }
        Value::Double(number) => {
            let short = format!("{number:.6}");
            let is_exact = short.parse() == Ok(*number);
            if is_exact { format!("{short}f64") } else { format!("{number:?}f64") }
        }
        Value::Char(char) => format!("{char:?} as u16"),
        Value::Text(text) => format!("{text:?}"),
        Value::Enumerator(path, name) => format!("{path}::{}", names::escaped(name)),
        Value::List(values) => {
            format!("[{}]", values.iter().map(plain).collect::<Vec<_>>().join(", "))
        }
    }
}

fn implied(of: &Type, item: &Item) -> String {
    if of.is_nullable() {
        return "Default::default()".to_string();
    }
    match &of.kind {
        TypeKind::Boolean => "false".to_string(),
        TypeKind::Byte | TypeKind::Int | TypeKind::Long => "0".to_string(),
        TypeKind::Char => "'\\0' as u16".to_string(),
        TypeKind::Float => "0.000000f32".to_string(),
        TypeKind::Double => "0.000000f64".to_string(),
        TypeKind::Holder => {
            let stability = if item.is_vintf { "Vintf" } else { "Local" };
            format!("binder::ParcelableHolder::new(binder::binder_impl::Stability::{stability})")
        }
        kind @ TypeKind::Fixed(..) if is_listed(kind) => repeated(kind),
        kind @ TypeKind::Fixed(..) => filled(kind),
        TypeKind::Void
        | TypeKind::Text
        | TypeKind::Binder
        | TypeKind::File
        | TypeKind::Interface(_)
        | TypeKind::Parcelable(..)
        | TypeKind::Enumeration(_)
        | TypeKind::Vector(_)
        | TypeKind::List(_) => "Default::default()".to_string(),
    }
}

/// Whether an array has a default in all its dimensions.
fn has_default(kind: &TypeKind) -> bool {
    match kind {
        TypeKind::Fixed(element, length) => *length <= MAX_WITH_DEFAULT && has_default(element),
        _ => true,
    }
}

/// Whether the elements of an array are so few that they are written one by one.
fn is_listed(kind: &TypeKind) -> bool {
    has_default(kind) && elements(kind) <= MAX_LISTED
}

/// How many there are in all dimensions, which a limit keeps from overflowing.
fn elements(kind: &TypeKind) -> usize {
    match kind {
        TypeKind::Fixed(element, length) => length.saturating_mul(elements(element)),
        _ => 1,
    }
}

fn repeated(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Fixed(element, length) => {
            let elements: Vec<String> = (0..*length).map(|_| repeated(element)).collect();
            format!("[{}]", elements.join(", "))
        }
        _ => "Default::default()".to_string(),
    }
}

fn filled(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Fixed(element, _) => format!("std::array::from_fn(|_| {})", filled(element)),
        _ => "Default::default()".to_string(),
    }
}
