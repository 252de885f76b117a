//! Syntax to model: finds what names mean, computes values, and keeps AIDL's rules.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::annotation;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::evaluate::{self, Evaluator, Scope};
use crate::model::{Constant, Enumerator, Field, Item, ItemKind, TypeKind};
use crate::program::{DefinitionKey, TypeTable};
use crate::syntax::{
    Annotation, Definition, DefinitionKind, EnumeratorSyntax, FieldSyntax, Identifier,
};

mod method;
mod type_use;
mod value;

/// Names that Rust takes even as `r#name` for itself.
const UNUSABLE: [&str; 5] = ["self", "Self", "super", "crate", "_"];
/// Annotations of types that say nothing of a use of one.
const OF_DEFINITIONS: [&str; 5] =
    ["Backing", "Descriptor", "FixedSize", "RustDerive", "VintfStability"];
/// Annotations of a use of a type that say nothing of its declaration.
const OF_USES: [&str; 2] = ["nullable", "utf8InCpp"];
/// The traits that `@RustDerive` can name, in the order in which they are derived.
const DERIVES: [&str; 7] = ["Clone", "Copy", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];

/// The complaint of a type that may not change, where such types are not asked for.
const WITHOUT_VINTF: &str = "this is compiled without VINTF stability";

/// How interfaces are compiled.
#[derive(Debug, Clone, Default)]
pub struct AidlOptions {
    /// The version that interfaces tell.
    pub version: Option<u32>,
    /// The hash that interfaces tell.
    pub hash: Option<String>,
    /// Whether types may be `@VintfStability`.
    pub is_vintf: bool,
}

/// Makes the model.
pub(crate) struct Lowering<'t, 's, 'd> {
    pub(crate) table: &'t TypeTable<'s>,
    pub(crate) evaluator: Evaluator<'t, 's>,
    pub(crate) options: &'d AidlOptions,
    pub(crate) diagnostics: &'d mut Diagnostics,
}

impl<'s> Lowering<'_, 's, '_> {
    /// The model of a type with all types within it.
    pub(crate) fn item(&mut self, key: DefinitionKey) -> Option<Item> {
        let entry = self.table.entry(key);
        let definition = entry.definition;
        self.check_definition(key, definition);
        let scope = Scope { document: entry.document, within: Some(key) };
        let kind = self.kind(definition, scope);
        let constants = self.constants(key, definition, scope);
        let mut nested = Vec::new();
        for inner in entry.nested.clone() {
            nested.extend(self.item(inner));
        }
        let descriptor = annotation::descriptor(definition, &entry.path);
        Some(Item {
            name: definition.name.text.clone(),
            descriptor: descriptor.to_string(),
            mangled: entry.mangled.clone(),
            deprecated: definition.deprecated.clone(),
            is_vintf: self.table.is_vintf(key),
            kind: kind?,
            constants,
            nested,
        })
    }

    fn error(&mut self, of: &Identifier, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(of.span, message));
    }

    /// Complains of names of which all but the first are another's.
    fn refuse_doubles<'i>(&mut self, what: &str, names: impl Iterator<Item = &'i Identifier>) {
        let mut seen: BTreeMap<&str, &Identifier> = BTreeMap::new();
        for name in names {
            if UNUSABLE.contains(&name.text.as_str()) {
                self.error(name, format!("`{}` cannot be a name in Rust", name.text));
            }
            if let Some(first) = seen.get(name.text.as_str()) {
                let error =
                    Diagnostic::error(name.span, format!("there are two {what} `{}`", name.text));
                self.diagnostics.push(error.label("again here").other(first.span, "first here"));
            } else {
                seen.insert(&name.text, name);
            }
        }
    }

    /// Complains of annotations that AIDL does not know, or knows elsewhere.
    fn check_annotations(&mut self, annotations: &[Annotation], elsewhere: &[&str]) {
        annotation::check(annotations, self.diagnostics);
        for annotation in annotations.iter().filter(|it| elsewhere.contains(&it.name.as_str())) {
            let message = format!("`@{}` says nothing here", annotation.name);
            self.diagnostics.push(Diagnostic::error(annotation.span, message));
        }
    }

    fn check_definition(&mut self, key: DefinitionKey, definition: &Definition) {
        let name = &definition.name;
        self.check_annotations(&definition.annotations, &OF_USES);
        self.refuse_doubles("types", core::iter::once(name));
        self.refuse_doubles("constants", definition.constants.iter().map(|it| &it.name));
        self.refuse_doubles("type parameters", definition.type_parameters.iter());
        if name.text.contains('.') {
            self.error(name, "the name of a type has no dots");
        }
        let parent = self.table.entry(key).parent.map(|it| self.table.entry(it).definition);
        if parent.is_some_and(|parent| parent.name.text == name.text) {
            self.error(name, format!("`{0}` is within a type `{0}`", name.text));
        }
        let is_generic = !definition.type_parameters.is_empty();
        if is_generic && !matches!(definition.kind, DefinitionKind::Parcelable(_)) {
            self.error(name, "only parcelables can have type parameters");
        }
        let vintf = annotation::find(&definition.annotations, "VintfStability");
        if let Some(vintf) = vintf
            && !self.options.is_vintf
            && !self.diagnostics.has_said(WITHOUT_VINTF)
        {
            // Once is enough: where one type has it, many have.
            let error = Diagnostic::error(vintf.span, WITHOUT_VINTF);
            self.diagnostics.push(error.help("`Unit::vintf()`, or `--stability=vintf`"));
        }
    }

    fn kind(&mut self, definition: &'s Definition, scope: Scope) -> Option<ItemKind> {
        let name = &definition.name;
        Some(match &definition.kind {
            DefinitionKind::Interface { is_oneway, methods } => ItemKind::Interface {
                is_sensitive: annotation::has(&definition.annotations, "SensitiveData"),
                methods: self.methods(methods, *is_oneway, scope),
            },
            DefinitionKind::Parcelable(fields) => ItemKind::Parcelable {
                type_parameters: names(&definition.type_parameters),
                derives: derives(&definition.annotations),
                fields: self.fields(definition, fields, scope),
            },
            DefinitionKind::Union(fields) => {
                if fields.is_empty() {
                    self.error(name, format!("the union `{}` has no fields", name.text));
                }
                self.check_union(fields);
                ItemKind::Union {
                    derives: derives(&definition.annotations),
                    fields: self.fields(definition, fields, scope),
                }
            }
            DefinitionKind::Enumeration(enumerators) => {
                self.enumeration(definition, enumerators, scope)
            }
            DefinitionKind::Foreign { .. } => {
                let error = Diagnostic::error(name.span, "there is nothing to generate for this");
                let help = "a parcelable that is written by hand is only imported: declare it below \
                            an include directory, not among the sources";
                self.diagnostics.push(error.label("has no fields").help(help));
                return None;
            }
        })
    }

    /// Complains of fields that would be one in Rust, where their names begin with capitals.
    fn check_union(&mut self, fields: &[FieldSyntax]) {
        let mut seen: BTreeMap<String, &Identifier> = BTreeMap::new();
        for FieldSyntax { name, .. } in fields {
            let capitalized = capitalized(&name.text);
            if let Some(first) = seen.get(&capitalized)
                && first.text != name.text
            {
                let message = format!(
                    "`{}` and `{}` would both be `{capitalized}` in Rust",
                    first.text, name.text
                );
                let error = Diagnostic::error(name.span, message);
                self.diagnostics.push(error.other(first.span, "the other"));
            }
            seen.insert(capitalized, name);
        }
    }

    fn enumeration(
        &mut self,
        definition: &Definition,
        enumerators: &[EnumeratorSyntax],
        scope: Scope,
    ) -> ItemKind {
        let name = &definition.name;
        self.refuse_doubles("enumerators", enumerators.iter().map(|it| &it.name));
        if enumerators.is_empty() {
            self.error(name, format!("the enumeration `{}` has no values", name.text));
        }
        if let Some(annotation) = annotation::find(&definition.annotations, "Backing")
            && !matches!(annotation.text("type"), Some("byte" | "int" | "long"))
        {
            let error = Diagnostic::error(annotation.span, "an enumeration cannot be of this type");
            self.diagnostics.push(error.help("`@Backing(type=\"..\")` of `byte`, `int` or `long`"));
        }
        let mut known = Vec::new();
        if let Some(key) = scope.within {
            for (at, EnumeratorSyntax { name, deprecated, .. }) in enumerators.iter().enumerate() {
                let value = self.evaluator.enumerator(key, at, self.diagnostics);
                let value = value.map_or(0, |it| it.value);
                let (name, deprecated) = (name.text.clone(), deprecated.clone());
                known.push(Enumerator { name, deprecated, value });
            }
        }
        ItemKind::Enumeration { backing: evaluate::backing(definition), enumerators: known }
    }

    fn constants(
        &mut self,
        key: DefinitionKey,
        definition: &Definition,
        scope: Scope,
    ) -> Vec<Constant> {
        let mut constants = Vec::new();
        for (at, constant) in definition.constants.iter().enumerate() {
            let of = self.type_use(&constant.type_name, scope);
            let value = self.evaluator.constant(key, at, self.diagnostics);
            let Some(of) = of else { continue };
            let is_plain = of.kind == TypeKind::Text
                || (of.kind.is_scalar() && !matches!(of.kind, TypeKind::Enumeration(_)));
            if !is_plain || of.is_nullable() {
                let span = constant.type_name.span;
                let error = Diagnostic::error(span, "a constant cannot be of this type");
                self.diagnostics.push(error.help("numbers, `boolean`, `char` and `String` can"));
                continue;
            }
            let span = constant.value.span;
            if let Some(value) = value.and_then(|it| self.fitting(it, &of.kind, span)) {
                let (name, deprecated) = (constant.name.text.clone(), constant.deprecated.clone());
                constants.push(Constant { name, deprecated, kind: of.kind, value });
            }
        }
        constants
    }

    fn fields(
        &mut self,
        definition: &Definition,
        fields: &[FieldSyntax],
        scope: Scope,
    ) -> Vec<Field> {
        self.refuse_doubles("fields", fields.iter().map(|it| &it.name));
        let is_union = matches!(definition.kind, DefinitionKind::Union(_));
        let is_fixed_size = annotation::has(&definition.annotations, "FixedSize");
        let mut lowered = Vec::new();
        for field in fields {
            let of = self.type_use(&field.type_name, scope);
            let value = field
                .default
                .as_ref()
                .and_then(|it| Some((self.evaluator.value(it, scope, self.diagnostics)?, it.span)));
            let Some(of) = of else { continue };
            let span = field.type_name.span;
            if of.kind == TypeKind::Void {
                self.diagnostics.push(Diagnostic::error(span, "a field cannot be `void`"));
            }
            if is_union && of.kind == TypeKind::Holder {
                let message = "a union cannot hold a `ParcelableHolder`";
                self.diagnostics.push(Diagnostic::error(span, message));
            }
            if is_fixed_size && !self.is_fixed_size(&of, &field.type_name, scope) {
                let message =
                    format!("`{}` is `@FixedSize`, this field is not", definition.name.text);
                self.diagnostics.push(Diagnostic::error(span, message));
            }
            let default = value.and_then(|(value, span)| self.fitting(value, &of.kind, span));
            let (name, deprecated) = (field.name.text.clone(), field.deprecated.clone());
            lowered.push(Field { name, deprecated, of, default });
        }
        lowered
    }
}

/// The name with a capital at its start.
pub(crate) fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

fn names(identifiers: &[Identifier]) -> Vec<String> {
    identifiers.iter().map(|it| it.text.clone()).collect()
}

fn derives(annotations: &[Annotation]) -> Vec<String> {
    let Some(annotation) = annotation::find(annotations, "RustDerive") else { return Vec::new() };
    let wanted = DERIVES.iter().filter(|it| annotation.is_true(it));
    wanted.map(|it| String::from(*it)).collect()
}
