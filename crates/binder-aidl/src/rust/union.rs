//! Unions.

use alloc::format;
use alloc::string::String;

use super::parcelable::{must_be_there, open_reading, open_writing, write_derives, write_metadata};
use super::text::RustText;
use super::{names, values, write_constants};
use crate::lower::capitalized;
use crate::model::{Field, Item};

pub(super) fn write(text: &mut RustText, item: &Item, derives: &[String], fields: &[Field]) {
    let name = &item.name;
    write_derives(text, derives);
    text.deprecated(item.deprecated.as_deref());
    text.open(&format!("pub enum r#{name} {{"));
    for field in fields {
        text.deprecated(field.deprecated.as_deref());
        text.line(&format!("{}({}),", capitalized(&field.name), names::field(&field.of)));
    }
    text.close("}");
    write_constants(text, &item.constants);

    text.open(&format!("impl Default for r#{name} {{"));
    text.open("fn default() -> Self {");
    if let Some(first) = fields.first() {
        let value = values::initial(first, item);
        text.line(&format!("Self::{}({value})", capitalized(&first.name)));
    }
    text.close("}");
    text.close("}");

    text.open(&format!("impl binder::Parcelable for r#{name} {{"));
    open_writing(text);
    text.open("match self {");
    for (tag, field) in fields.iter().enumerate() {
        text.open(&format!("Self::{}(v) => {{", capitalized(&field.name)));
        text.line(&format!("parcel.write(&{tag}i32)?;"));
        if must_be_there(&field.of) {
            text.line("let __field_ref = v.as_ref().ok_or(binder::StatusCode::UNEXPECTED_NULL)?;");
            text.line("parcel.write(__field_ref)");
        } else {
            text.line("parcel.write(v)");
        }
        text.close("}");
    }
    text.close("}");
    text.close("}");

    open_reading(text);
    text.line("let tag: i32 = parcel.read()?;");
    text.open("match tag {");
    for (tag, field) in fields.iter().enumerate() {
        text.open(&format!("{tag} => {{"));
        let read = if must_be_there(&field.of) { "Some(parcel.read()?)" } else { "parcel.read()?" };
        text.line(&format!("let value: {} = {read};", names::field(&field.of)));
        text.line(&format!("*self = Self::{}(value);", capitalized(&field.name)));
        text.line("Ok(())");
        text.close("}");
    }
    text.open("_ => {");
    text.line("Err(binder::StatusCode::BAD_VALUE)");
    text.close("}");
    text.close("}");
    text.close("}");
    text.close("}");
    write_metadata(text, item, "");
}
