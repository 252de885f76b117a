//! Writes Rust: the items that Android's compiler of version 14 writes, with its names, in its order.

use alloc::format;
use alloc::string::String;

use crate::lower::AidlOptions;
use crate::model::{Constant, Item, ItemKind, TypeKind};

mod enumeration;
mod interface;
mod names;
mod parcelable;
mod proxy;
mod text;
mod union;
mod values;

use text::RustText;

/// The Rust file of a type.
pub(crate) fn file(item: &Item, options: &AidlOptions) -> String {
    let mut text = RustText::new();
    text.lines(&[
        "/*",
        " * This file is auto-generated.  DO NOT MODIFY.",
        " * Using: anybinder's binder-aidl",
        " */",
        "#![forbid(unsafe_code)]",
        "#![cfg_attr(rustfmt, rustfmt_skip)]",
    ]);
    write_item(&mut text, item, options);
    text.open("pub(crate) mod mangled {");
    write_mangled(&mut text, item, "super");
    text.close("}");
    text.finish()
}

/// Writes a type, and the types within it as modules.
fn write_item(text: &mut RustText, item: &Item, options: &AidlOptions) {
    match &item.kind {
        ItemKind::Interface { is_sensitive, methods } => {
            interface::Writing { item, options, is_sensitive: *is_sensitive, methods }.write(text);
        }
        ItemKind::Parcelable { type_parameters, derives, fields } => {
            parcelable::write(text, item, type_parameters, derives, fields);
        }
        ItemKind::Union { derives, fields } => union::write(text, item, derives, fields),
        ItemKind::Enumeration { backing, enumerators } => {
            enumeration::write(text, item, backing, enumerators);
        }
    }
    for nested in &item.nested {
        text.open(&format!("pub mod r#{} {{", nested.name));
        write_item(text, nested, options);
        text.close("}");
    }
}

/// Writes the names by which the other files know these types.
fn write_mangled(text: &mut RustText, item: &Item, around: &str) {
    text.narrow_line(&format!("pub use {around}::r#{} as {};", item.name, item.mangled));
    // Types within a type are in the module of its name; the outermost module is the file itself.
    for nested in &item.nested {
        write_mangled(text, nested, &format!("{around}::r#{}", nested.name));
    }
}

/// Writes constants.
fn write_constants(text: &mut RustText, constants: &[Constant]) {
    for Constant { name, deprecated, kind, value } in constants {
        text.deprecated(deprecated.as_deref());
        let of = match kind {
            TypeKind::Text => String::from("&str"),
            kind => names::value(kind),
        };
        let value = values::constant(value);
        text.line(&format!("pub const r#{name}: {of} = {value};"));
    }
}
