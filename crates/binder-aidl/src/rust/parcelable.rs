//! Parcelables.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::text::RustText;
use super::{names, values, write_constants};
use crate::model::{Field, Item, Type, TypeKind};

/// The status of writing and reading.
pub(super) const OUTCOME: &str = "std::result::Result<(), binder::StatusCode>";

pub(super) fn write(
    text: &mut RustText,
    item: &Item,
    type_parameters: &[String],
    derives: &[String],
    fields: &[Field],
) {
    let name = &item.name;
    let generics = generics(type_parameters, "");
    // The order of the alphabet.
    let mut phantoms: Vec<&String> = type_parameters.iter().collect();
    phantoms.sort();
    write_derives(text, derives);
    text.deprecated(item.deprecated.as_deref());
    text.open(&format!("pub struct r#{name}{generics} {{"));
    for field in fields {
        text.deprecated(field.deprecated.as_deref());
        text.line(&format!("pub r#{}: {},", field.name, names::field(&field.of)));
    }
    for parameter in &phantoms {
        text.line(&format!("_phantom_{parameter}: std::marker::PhantomData<{parameter}>,"));
    }
    text.close("}");
    write_constants(text, &item.constants);

    let bounded = self::generics(type_parameters, ": Default");
    text.open(&format!("impl{bounded} Default for r#{name}{generics} {{"));
    text.open("fn default() -> Self {");
    text.open("Self {");
    for field in fields {
        text.line(&format!("r#{}: {},", field.name, values::initial(field, item)));
    }
    for parameter in &phantoms {
        text.line(&format!("r#_phantom_{parameter}: Default::default(),"));
    }
    text.close("}");
    text.close("}");
    text.close("}");

    text.open(&format!("impl{generics} binder::Parcelable for r#{name}{generics} {{"));
    write_methods(text, fields);
    text.close("}");
    write_metadata(text, item, &generics);
}

/// Type parameters, each with its bound.
fn generics(parameters: &[String], bound: &str) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let parameters: String = parameters.iter().map(|it| format!("{it}{bound},")).collect();
    format!("<{parameters}>")
}

pub(super) fn write_derives(text: &mut RustText, derives: &[String]) {
    let all: String = derives.iter().map(|it| format!(", {it}")).collect();
    text.line(&format!("#[derive(Debug{all})]"));
}

/// Opens the method that writes a value.
pub(super) fn open_writing(text: &mut RustText) {
    let parcel = "parcel: &mut binder::binder_impl::BorrowedParcel";
    text.open(&format!("fn write_to_parcel(&self, {parcel}) -> {OUTCOME} {{"));
}

/// Opens the method that reads a value.
pub(super) fn open_reading(text: &mut RustText) {
    let parcel = "parcel: &binder::binder_impl::BorrowedParcel";
    text.open(&format!("fn read_from_parcel(&mut self, {parcel}) -> {OUTCOME} {{"));
}

fn write_methods(text: &mut RustText, fields: &[Field]) {
    open_writing(text);
    text.open("parcel.sized_write(|subparcel| {");
    for Field { name, of, .. } in fields {
        if must_be_there(of) {
            let field = format!("self.r#{name}.as_ref()");
            text.line(&format!(
                "let __field_ref = {field}.ok_or(binder::StatusCode::UNEXPECTED_NULL)?;"
            ));
            text.line("subparcel.write(__field_ref)?;");
        } else {
            if let Some(missing) = missing_elements(of) {
                let refusal = "return Err(binder::StatusCode::UNEXPECTED_NULL);";
                text.line(&format!("if self.r#{name}{missing} {{ {refusal} }}"));
            }
            text.line(&format!("subparcel.write(&self.r#{name})?;"));
        }
    }
    text.line("Ok(())");
    text.close("})");
    text.close("}");

    open_reading(text);
    text.open("parcel.sized_read(|subparcel| {");
    for Field { name, of, .. } in fields {
        text.open("if subparcel.has_more_data() {");
        if must_be_there(of) {
            text.line(&format!("self.r#{name} = Some(subparcel.read()?);"));
        } else {
            text.line(&format!("self.r#{name} = subparcel.read()?;"));
        }
        text.close("}");
    }
    text.line("Ok(())");
    text.close("})");
    text.close("}");
}

/// Whether a field that may be missing in Rust may not be when it is sent.
pub(super) fn must_be_there(of: &Type) -> bool {
    of.kind.has_no_default() && !of.is_nullable()
}

/// The condition that an element is missing that must be there, in an array of a fixed length.
fn missing_elements(of: &Type) -> Option<String> {
    if of.is_nullable() || !of.kind.innermost().has_no_default() {
        return None;
    }
    let mut dimensions = 0;
    let mut kind = &of.kind;
    while let TypeKind::Fixed(element, _) = kind {
        dimensions += 1;
        kind = element;
    }
    let flat = ".flatten()".repeat(dimensions.max(1) - 1);
    (dimensions > 0).then(|| format!(".iter(){flat}.any(Option::is_none)"))
}

/// Writes by which name peers know the type.
pub(super) fn write_metadata(text: &mut RustText, item: &Item, generics: &str) {
    let (name, descriptor) = (&item.name, &item.descriptor);
    text.line(&format!("binder::impl_serialize_for_parcelable!(r#{name}{generics});"));
    text.line(&format!("binder::impl_deserialize_for_parcelable!(r#{name}{generics});"));
    let metadata = "binder::binder_impl::ParcelableMetadata";
    text.open(&format!("impl{generics} {metadata} for r#{name}{generics} {{"));
    text.line(&format!("fn get_descriptor() -> &'static str {{ {descriptor:?} }}"));
    if item.is_vintf {
        let stability = "binder::binder_impl::Stability";
        text.line(&format!("fn get_stability(&self) -> {stability} {{ {stability}::Vintf }}"));
    }
    text.close("}");
}
