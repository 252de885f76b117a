//! Finds the files of imports.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::builtin;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::implied;
use crate::parser;
use crate::source::{SourceFile, Span};
use crate::syntax::{
    Definition, DefinitionKind, Dimension, Document, Expression, ExpressionKind, FieldSyntax,
    QualifiedName, TypeName,
};

/// Finds files by the types that they declare.
pub trait ImportLoader {
    /// The file of this path below one of the places to look in: `a/b/C.aidl` for the type `a.b.C`.
    ///
    /// # Errors
    ///
    /// A sentence, if there is such a file and it cannot be used.
    fn load(&mut self, path: &str) -> Result<Option<SourceFile>, String>;
}

/// All files of a run, and what they say.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) files: Vec<SourceFile>,
    pub(crate) documents: Vec<Document>,
}

/// Parses files and all that they use.
pub(crate) fn load(
    inputs: Vec<SourceFile>,
    loader: &mut dyn ImportLoader,
    diagnostics: &mut Diagnostics,
) -> Loaded {
    let mut loading = Loading {
        loaded: Loaded::default(),
        known: BTreeSet::new(),
        asked: BTreeSet::new(),
        loader,
    };
    for input in inputs {
        loading.add(input, diagnostics);
    }
    let mut at = 0;
    // A loaded file may use further ones.
    while at < loading.loaded.documents.len() {
        loading.load_imports(at, diagnostics);
        loading.load_neighbours(at, diagnostics);
        at += 1;
    }
    loading.loaded
}

struct Loading<'l> {
    loaded: Loaded,
    /// All types that have been found.
    known: BTreeSet<String>,
    /// The paths that have been asked for.
    asked: BTreeSet<String>,
    loader: &'l mut dyn ImportLoader,
}

impl Loading<'_> {
    fn add(&mut self, file: SourceFile, diagnostics: &mut Diagnostics) {
        let index = self.loaded.files.len();
        let mut document = parser::document(&file.text, index, diagnostics);
        document.definitions.iter_mut().for_each(implied::add_tags);
        let package = document.package.as_ref().map(QualifiedName::dotted);
        for definition in &document.definitions {
            self.learn(definition, package.as_deref());
        }
        self.loaded.files.push(file);
        self.loaded.documents.push(document);
    }

    fn learn(&mut self, definition: &Definition, around: Option<&str>) {
        let path = qualified(around, &definition.name.text);
        for nested in &definition.nested {
            self.learn(nested, Some(&path));
        }
        self.known.insert(path);
    }

    fn load_imports(&mut self, document: usize, diagnostics: &mut Diagnostics) {
        for import in self.loaded.documents[document].imports.clone() {
            let path = import.dotted();
            for len in (1..=import.segments.len()).rev() {
                if self.known.contains(&path) {
                    break;
                }
                let names: Vec<&str> =
                    import.segments[..len].iter().map(|it| it.text.as_str()).collect();
                self.ask(&names.join("/"), import.span, diagnostics);
            }
            if !self.known.contains(&path) {
                let file = path.replace('.', "/");
                let error = Diagnostic::error(import.span, format!("`{path}` is not found"));
                let help =
                    format!("no `{file}.aidl` that declares it is below an include directory");
                diagnostics.push(error.label("no such type").help(help));
            }
        }
    }

    /// Loads types of the same package, and those that are named in full.
    fn load_neighbours(&mut self, document: usize, diagnostics: &mut Diagnostics) {
        let parsed = &self.loaded.documents[document];
        let package = parsed.package.as_ref().map(QualifiedName::dotted);
        let imported: BTreeSet<&str> = parsed
            .imports
            .iter()
            .filter_map(|it| it.segments.last())
            .map(|it| it.text.as_str())
            .collect();
        let mut uses = Uses::default();
        parsed.definitions.iter().for_each(|it| uses.of_definition(it));
        let is_open = |(names, _): &(Vec<String>, Span)| {
            !imported.contains(names[0].as_str()) && builtin::find(&names[0]).is_none()
        };
        let wanted: Vec<_> = uses.names.into_iter().filter(is_open).collect();
        for (names, span) in wanted {
            let own = qualified(package.as_deref(), &names[0]);
            if !self.known.contains(&own) {
                self.ask(&own.replace('.', "/"), span, diagnostics);
            }
            for len in 2..=names.len() {
                self.ask(&names[..len].join("/"), span, diagnostics);
            }
        }
    }

    fn ask(&mut self, path: &str, span: Span, diagnostics: &mut Diagnostics) {
        if self.known.contains(&path.replace('/', ".")) || !self.asked.insert(path.into()) {
            return;
        }
        match self.loader.load(&format!("{path}.aidl")) {
            Ok(Some(file)) => self.add(file, diagnostics),
            Ok(None) => {}
            Err(message) => diagnostics.push(Diagnostic::error(span, message)),
        }
    }
}

fn qualified(around: Option<&str>, name: &str) -> String {
    around.map_or_else(|| name.into(), |around| format!("{around}.{name}"))
}

/// The names of types that a file uses.
#[derive(Default)]
struct Uses {
    names: Vec<(Vec<String>, Span)>,
}

impl Uses {
    fn of_definition(&mut self, definition: &Definition) {
        for constant in &definition.constants {
            self.of_type(&constant.type_name);
            self.of_expression(&constant.value);
        }
        match &definition.kind {
            DefinitionKind::Interface { methods, .. } => {
                for method in methods {
                    self.of_type(&method.return_type);
                    method.parameters.iter().for_each(|it| self.of_type(&it.type_name));
                }
            }
            DefinitionKind::Parcelable(fields) | DefinitionKind::Union(fields) => {
                fields.iter().for_each(|it| self.of_field(it));
            }
            DefinitionKind::Enumeration(enumerators) => {
                let values = enumerators.iter().filter_map(|it| it.value.as_ref());
                values.for_each(|it| self.of_expression(it));
            }
            DefinitionKind::Foreign { .. } => {}
        }
        definition.nested.iter().for_each(|it| self.of_definition(it));
    }

    fn of_field(&mut self, field: &FieldSyntax) {
        self.of_type(&field.type_name);
        field.default.iter().for_each(|it| self.of_expression(it));
    }

    fn of_type(&mut self, of: &TypeName) {
        self.add(&of.name, of.name.segments.len());
        of.arguments.iter().for_each(|it| self.of_type(it));
        for dimension in &of.dimensions {
            if let Dimension::Fixed(length) = dimension {
                self.of_expression(length);
            }
        }
    }

    fn of_expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Name(name) => self.add(name, name.segments.len() - 1),
            ExpressionKind::List(values) => values.iter().for_each(|it| self.of_expression(it)),
            ExpressionKind::Unary(_, operand) => self.of_expression(operand),
            ExpressionKind::Binary(_, operands) => {
                self.of_expression(&operands.0);
                self.of_expression(&operands.1);
            }
            ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Char(_)
            | ExpressionKind::Text(_)
            | ExpressionKind::Boolean(_) => {}
        }
    }

    /// Adds the first names of a name, if there are any.
    fn add(&mut self, name: &QualifiedName, len: usize) {
        if len > 0 {
            let names = name.segments[..len].iter().map(|it| it.text.clone()).collect();
            self.names.push((names, name.span));
        }
    }
}
