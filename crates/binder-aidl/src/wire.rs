//! The arguments that methods write into parcels, for programs that decode the bytes of calls.
//!
//! The same front end reads the sources as for code, and `lower` says what each use of a type means. What it refuses,
//! because Rust has no such type or because a source is missing, has a name here and no more: [`WireType::Unknown`].

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::annotation;
use crate::codes::{HASH_CODE, VERSION_CODE};
use crate::compile::all_within;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::evaluate::{self, Evaluator, Scope};
use crate::load::{self, ImportLoader, Loaded};
use crate::lower::{AidlOptions, Lowering};
use crate::model::TypeKind;
use crate::program::{DefinitionKey, TypeTable};
use crate::source::SourceFile;
use crate::syntax::{
    Definition, DefinitionKind, Direction, FieldSyntax, MethodSyntax, ParameterSyntax, TypeName,
};

/// A type as its values stand in parcels. Where null may stand is not said: bytes tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireType {
    /// Nothing.
    Void,
    /// `boolean`
    Boolean,
    /// `byte`
    Byte,
    /// `char`
    Char,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `String`
    Text,
    /// An object: `IBinder` or an interface.
    Object,
    /// `ParcelFileDescriptor`
    File,
    /// `ParcelableHolder`
    Holder,
    /// A parcelable, union or enumeration of the catalog.
    Defined(WireKey),
    /// An array of any length, or a list.
    Array(Box<Self>),
    /// An array of this length.
    Fixed(Box<Self>, usize),
    /// A map from `String`.
    Map(Box<Self>),
    /// The length of an array that the service is to fill.
    Length,
    /// A type of this name, about which nothing is known.
    Unknown(String),
}

/// A type of a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireKey(usize);

/// A type that sources define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireDefinition {
    /// Its name without its package.
    pub name: String,
    /// The layout of its values.
    pub body: WireBody,
}

/// The layout of a type's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireBody {
    /// Fields behind their length.
    Parcelable(Vec<WireField>),
    /// The place of a field, and that field.
    Union(Vec<WireField>),
    /// A number.
    Enumeration {
        /// Of this type.
        backing: WireType,
        /// Its names; of two for a value, the first.
        names: BTreeMap<i64, String>,
    },
}

/// A value by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub of: WireType,
}

/// The data that a method sends and returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireMethod {
    /// Its name.
    pub name: String,
    /// The fields behind the token of a call.
    pub request: Vec<WireField>,
    /// The fields behind the status of a reply, first the result, if there is one: its field has no
    /// name. `None` for a one-way.
    pub reply: Option<Vec<WireField>>,
}

/// The methods and types of sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireCatalog {
    definitions: Vec<WireDefinition>,
    by_descriptor: BTreeMap<String, WireKey>,
    /// By descriptors and numbers.
    interfaces: BTreeMap<String, BTreeMap<u32, WireMethod>>,
}

impl WireCatalog {
    /// The catalog of sources, and the errors of those that do not parse, whose types are unknown.
    pub fn new(sources: Vec<SourceFile>) -> (Self, Vec<String>) {
        let mut diagnostics = Diagnostics::default();
        let Loaded { files, documents } =
            load::load(sources, &mut NoImports, &mut Diagnostics::default());
        let mut damaged = BTreeSet::new();
        let mut mistakes = Vec::new();
        for (index, file) in files.iter().enumerate() {
            let mut of_file = Diagnostics::default();
            crate::parser::document(&file.text, index, &mut of_file);
            let is_error = |it: &Diagnostic| it.severity == Severity::Error;
            if let Some(first) = of_file.into_sorted().into_iter().find(is_error) {
                damaged.insert(index);
                mistakes.push(first.line(&files));
            }
        }
        let table = TypeTable::new(&documents, &mut diagnostics);
        let options = AidlOptions { is_vintf: true, ..AidlOptions::default() };
        let evaluator = Evaluator::new(&table);
        let lowering =
            Lowering { table: &table, evaluator, options: &options, diagnostics: &mut diagnostics };
        let keys = (0..documents.len())
            .filter(|document| !damaged.contains(document))
            .flat_map(|document| table.top_level(document))
            .flat_map(|key| all_within(&table, key))
            .collect();
        (Cataloging { lowering, places: BTreeMap::new() }.catalog(keys), mistakes)
    }

    /// The method of a number, from 0 on, of the interface of this name.
    pub fn method(&self, descriptor: &str, number: u32) -> Option<&WireMethod> {
        self.interfaces.get(descriptor)?.get(&number)
    }

    /// A type.
    pub fn definition(&self, key: WireKey) -> Option<&WireDefinition> {
        self.definitions.get(key.0)
    }

    /// The type by whose name a holder tells what it holds.
    pub fn by_descriptor(&self, descriptor: &str) -> Option<WireKey> {
        self.by_descriptor.get(descriptor).copied()
    }
}

/// All there is has been given.
struct NoImports;

impl ImportLoader for NoImports {
    fn load(&mut self, _path: &str) -> Result<Option<SourceFile>, String> {
        Ok(None)
    }
}

struct Cataloging<'t, 's, 'd> {
    lowering: Lowering<'t, 's, 'd>,
    /// Where types are in the catalog, by the paths by which uses name them.
    places: BTreeMap<String, WireKey>,
}

impl<'s> Cataloging<'_, 's, '_> {
    fn catalog(mut self, keys: Vec<DefinitionKey>) -> WireCatalog {
        let mut catalog = WireCatalog::default();
        let is_value = |it: &Definition| match &it.kind {
            DefinitionKind::Parcelable(_)
            | DefinitionKind::Union(_)
            | DefinitionKind::Enumeration(_) => true,
            DefinitionKind::Interface { .. } | DefinitionKind::Foreign { .. } => false,
        };
        let table = self.lowering.table;
        let values = keys.iter().filter(|key| is_value(table.entry(**key).definition));
        for (place, key) in values.enumerate() {
            let entry = table.entry(*key);
            self.places.insert(path_in_uses(&entry.mangled), WireKey(place));
            let descriptor = annotation::descriptor(entry.definition, &entry.path);
            catalog.by_descriptor.insert(descriptor.to_string(), WireKey(place));
        }
        for key in keys {
            let entry = table.entry(key);
            let definition = entry.definition;
            let scope = Scope { document: entry.document, within: Some(key) };
            let body = match &definition.kind {
                DefinitionKind::Interface { is_oneway, methods } => {
                    let descriptor = annotation::descriptor(definition, &entry.path);
                    let methods = self.methods(methods, *is_oneway, scope);
                    catalog.interfaces.insert(descriptor.to_string(), methods);
                    continue;
                }
                DefinitionKind::Foreign { .. } => continue,
                DefinitionKind::Parcelable(fields) => {
                    WireBody::Parcelable(self.fields(fields, scope))
                }
                DefinitionKind::Union(fields) => WireBody::Union(self.fields(fields, scope)),
                DefinitionKind::Enumeration(enumerators) => {
                    let mut names = BTreeMap::new();
                    for (at, enumerator) in enumerators.iter().enumerate() {
                        let Lowering { evaluator, diagnostics, .. } = &mut self.lowering;
                        if let Some(number) = evaluator.enumerator(key, at, diagnostics) {
                            names.entry(number.value).or_insert(enumerator.name.text.clone());
                        }
                    }
                    let backing =
                        self.of_kind(evaluate::backing(definition), &definition.name.text);
                    WireBody::Enumeration { backing, names }
                }
            };
            let name = definition.name.text.clone();
            catalog.definitions.push(WireDefinition { name, body });
        }
        catalog
    }

    fn fields(&mut self, fields: &'s [FieldSyntax], scope: Scope) -> Vec<WireField> {
        let one = |FieldSyntax { type_name, name, .. }: &'s FieldSyntax| WireField {
            name: name.text.clone(),
            of: self.of(type_name, scope),
        };
        fields.iter().map(one).collect()
    }

    /// The methods by their numbers, with those that versioned interfaces have besides.
    fn methods(
        &mut self,
        methods: &'s [MethodSyntax],
        is_oneway: bool,
        scope: Scope,
    ) -> BTreeMap<u32, WireMethod> {
        let mut known = BTreeMap::new();
        let besides = [
            (VERSION_CODE, "getInterfaceVersion", WireType::Int),
            (HASH_CODE, "getInterfaceHash", WireType::Text),
        ];
        for (number, name, of) in besides {
            let reply = Some(Vec::from([WireField { name: String::new(), of }]));
            known.insert(number, WireMethod { name: name.to_string(), request: Vec::new(), reply });
        }
        let codes = self.lowering.codes(methods);
        for (method, code) in methods.iter().zip(codes) {
            let request = method.parameters.iter().filter_map(|it| self.in_request(it, scope));
            let request = request.collect();
            let is_oneway = is_oneway || method.is_oneway;
            let reply = (!is_oneway).then(|| {
                let of = self.of(&method.return_type, scope);
                let returned =
                    (of != WireType::Void).then(|| WireField { name: String::new(), of });
                let filled =
                    method.parameters.iter().filter(|it| !matches!(direction(it), Direction::In));
                let filled = filled.map(|it| self.parameter(it, scope));
                returned.into_iter().chain(filled).collect()
            });
            known.insert(code, WireMethod { name: method.name.text.clone(), request, reply });
        }
        known
    }

    fn parameter(&mut self, parameter: &'s ParameterSyntax, scope: Scope) -> WireField {
        WireField { name: parameter.name.text.clone(), of: self.of(&parameter.type_name, scope) }
    }

    /// The field that a caller writes for a parameter: of an `out` array its length, of other `out` parameters nothing.
    fn in_request(&mut self, parameter: &'s ParameterSyntax, scope: Scope) -> Option<WireField> {
        let field = self.parameter(parameter, scope);
        let is_list = !parameter.type_name.arguments.is_empty();
        match (direction(parameter), &field.of) {
            (Direction::In | Direction::InOut, _) => Some(field),
            (Direction::Out, WireType::Array(_)) if !is_list => {
                Some(WireField { of: WireType::Length, ..field })
            }
            (Direction::Out, _) => None,
        }
    }

    fn of(&mut self, name: &'s TypeName, scope: Scope) -> WireType {
        let dotted = name.name.dotted();
        if let ("Map" | "java.util.Map", [_, of], []) =
            (&*dotted, &name.arguments[..], &name.dimensions[..])
        {
            return WireType::Map(Box::new(self.of(of, scope)));
        }
        match self.lowering.type_use(name, scope) {
            Some(found) => self.of_kind(found.kind, &dotted),
            None => WireType::Unknown(dotted),
        }
    }

    /// The type of a kind, which the source calls by this name.
    fn of_kind(&self, kind: TypeKind, name: &str) -> WireType {
        match kind {
            TypeKind::Void => WireType::Void,
            TypeKind::Boolean => WireType::Boolean,
            TypeKind::Byte => WireType::Byte,
            TypeKind::Char => WireType::Char,
            TypeKind::Int => WireType::Int,
            TypeKind::Long => WireType::Long,
            TypeKind::Float => WireType::Float,
            TypeKind::Double => WireType::Double,
            TypeKind::Text => WireType::Text,
            TypeKind::Binder | TypeKind::Interface(_) => WireType::Object,
            TypeKind::File => WireType::File,
            TypeKind::Holder => WireType::Holder,
            // No field has the type of a type parameter.
            TypeKind::Parcelable(path, _) | TypeKind::Enumeration(path) => {
                let place = self.places.get(&path).copied();
                place.map_or_else(|| WireType::Unknown(name.to_string()), WireType::Defined)
            }
            TypeKind::Vector(element) | TypeKind::List(element) => {
                WireType::Array(Box::new(self.of_kind(*element, name)))
            }
            TypeKind::Fixed(element, length) => {
                WireType::Fixed(Box::new(self.of_kind(*element, name)), length)
            }
        }
    }
}

/// Which way a parameter goes. One that does not say so and has to is taken to go to the service.
fn direction(parameter: &ParameterSyntax) -> Direction {
    parameter.direction.map_or(Direction::In, |(direction, _)| direction)
}

/// The path by which `lower` names a type that is used.
fn path_in_uses(mangled: &str) -> String {
    alloc::format!("crate::mangled::{mangled}")
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn catalog(sources: &[(&str, &str)]) -> (WireCatalog, Vec<String>) {
        WireCatalog::new(sources.iter().map(|(path, text)| SourceFile::new(*path, *text)).collect())
    }

    fn field(name: &str, of: WireType) -> WireField {
        WireField { name: name.into(), of }
    }

    #[test]
    fn a_method_has_what_goes_in_and_what_comes_back() {
        let (catalog, mistakes) = catalog(&[
            ("a/Point.aidl", "package a; parcelable Point { int x; @nullable Point[] more; }"),
            (
                "a/I.aidl",
                "package a; @Descriptor(value=\"a.Renamed\") interface I {
                    void nothing();
                    String all(in Point p, out int[] filled, out List<String> listed, inout byte[2] b,
                               in Map<String, long> map);
                    oneway void tell(in Strange s, IBinder b);
                 }",
            ),
        ]);
        assert_eq!(mistakes, Vec::<String>::new());
        let point = catalog.by_descriptor("a.Point").unwrap();
        let points = WireType::Array(Box::new(WireType::Defined(point)));
        let body = WireBody::Parcelable(vec![field("x", WireType::Int), field("more", points)]);
        assert_eq!(catalog.definition(point).unwrap().body, body);

        let nothing = catalog.method("a.Renamed", 0).unwrap();
        assert_eq!((&nothing.request, &nothing.reply), (&vec![], &Some(vec![])));
        let all = catalog.method("a.Renamed", 1).unwrap();
        let bytes = WireType::Fixed(Box::new(WireType::Byte), 2);
        let request = vec![
            field("p", WireType::Defined(point)),
            field("filled", WireType::Length),
            field("b", bytes.clone()),
            field("map", WireType::Map(Box::new(WireType::Long))),
        ];
        assert_eq!(all.request, request);
        let reply = vec![
            field("", WireType::Text),
            field("filled", WireType::Array(Box::new(WireType::Int))),
            field("listed", WireType::Array(Box::new(WireType::Text))),
            field("b", bytes),
        ];
        assert_eq!(all.reply, Some(reply));
        let tell = catalog.method("a.Renamed", 2).unwrap();
        let request =
            vec![field("s", WireType::Unknown("Strange".into())), field("b", WireType::Object)];
        assert_eq!((&tell.request, &tell.reply), (&request, &None));
        assert_eq!(catalog.method("a.Renamed", VERSION_CODE).unwrap().name, "getInterfaceVersion");
    }

    #[test]
    fn names_of_values_are_computed() {
        let source = "package a; @Backing(type=\"long\") enum E { A = 1 << 3, B, C = 8, D = -1 }";
        let (catalog, _) = catalog(&[("a/E.aidl", source)]);
        let key = catalog.by_descriptor("a.E").unwrap();
        let WireBody::Enumeration { backing, names } = &catalog.definition(key).unwrap().body
        else {
            panic!("{catalog:?}")
        };
        let names: Vec<_> = names.iter().map(|(value, name)| (*value, &**name)).collect();
        assert_eq!((backing, names), (&WireType::Long, vec![(-1, "D"), (8, "A"), (9, "B")]));
    }

    #[test]
    fn what_a_damaged_source_defines_is_unknown() {
        let (catalog, mistakes) = catalog(&[
            ("P.aidl", "parcelable P { int x; String }"),
            ("I.aidl", "interface I { void take(in P p); }"),
        ]);
        assert!(mistakes.len() == 1 && mistakes[0].starts_with("P.aidl:1:"), "{mistakes:?}");
        let take = catalog.method("I", 0).unwrap();
        assert_eq!(take.request, [field("p", WireType::Unknown("P".into()))]);
    }
}
