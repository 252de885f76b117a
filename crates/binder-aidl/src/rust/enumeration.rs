//! Enumerations.

use alloc::format;

use super::names;
use super::text::RustText;
use super::write_constants;
use crate::model::{Enumerator, Item, TypeKind};

pub(super) fn write(
    text: &mut RustText,
    item: &Item,
    backing: &TypeKind,
    enumerators: &[Enumerator],
) {
    text.lines(&["#![allow(non_upper_case_globals)]", "use binder::declare_binder_enum;"]);
    text.open("declare_binder_enum! {");
    text.deprecated(item.deprecated.as_deref());
    let of = names::value(backing);
    text.open(&format!("r#{} : [{of}; {}] {{", item.name, enumerators.len()));
    for Enumerator { name, deprecated, value } in enumerators {
        text.deprecated(deprecated.as_deref());
        text.line(&format!("r#{name} = {value},"));
    }
    text.close("}");
    text.close("}");
    write_constants(text, &item.constants);
}
