//! All types of all files, by their names.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::annotation;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::syntax::{Definition, DefinitionKind, Document, QualifiedName};

/// A type, by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DefinitionKey(usize);

/// A type in its place.
#[derive(Debug)]
pub(crate) struct TypeEntry<'s> {
    pub(crate) definition: &'s Definition,
    /// Its file.
    pub(crate) document: usize,
    /// The type that it is within.
    pub(crate) parent: Option<DefinitionKey>,
    /// Its name with its package and the types around it.
    pub(crate) path: String,
    /// The same for the module of all names: lengths and names.
    pub(crate) mangled: String,
    /// The types within it, in their order.
    pub(crate) nested: Vec<DefinitionKey>,
    /// Where its constants or enumerators are among themselves, by their names.
    pub(crate) values: BTreeMap<&'s str, usize>,
}

/// All types.
#[derive(Debug)]
pub(crate) struct TypeTable<'s> {
    documents: &'s [Document],
    entries: Vec<TypeEntry<'s>>,
    by_path: BTreeMap<String, DefinitionKey>,
}

impl<'s> TypeTable<'s> {
    /// The table of what these files declare. Complains of names that are given twice.
    pub(crate) fn new(documents: &'s [Document], diagnostics: &mut Diagnostics) -> Self {
        let mut table = Self { documents, entries: Vec::new(), by_path: BTreeMap::new() };
        for (index, document) in documents.iter().enumerate() {
            let package = document.package.as_ref().map(QualifiedName::dotted).unwrap_or_default();
            let mut mangled = String::new();
            for name in package.split('.').filter(|name| !name.is_empty()) {
                mangled = mangle(&mangled, name);
            }
            for definition in &document.definitions {
                table.add(definition, index, None, (&package, &mangled), diagnostics);
            }
        }
        table
    }

    fn add(
        &mut self,
        definition: &'s Definition,
        document: usize,
        parent: Option<DefinitionKey>,
        (around, mangled): (&str, &str),
        diagnostics: &mut Diagnostics,
    ) {
        let name = &definition.name;
        let separator = if around.is_empty() { "" } else { "." };
        let path = format!("{around}{separator}{}", name.text);
        let mangled =
            name.text.split('.').fold(String::from(mangled), |it, name| mangle(&it, name));
        let key = DefinitionKey(self.entries.len());
        if let Some(first) = self.by_path.get(&path) {
            let error = Diagnostic::error(name.span, format!("`{path}` is declared twice"));
            let first = self.entries[first.0].definition.name.span;
            diagnostics.push(error.label("again here").other(first, "first here"));
        } else {
            self.by_path.insert(path.clone(), key);
        }
        let values = values(definition);
        let entry =
            TypeEntry { definition, document, parent, path, mangled, nested: Vec::new(), values };
        let (path, mangled) = (entry.path.clone(), entry.mangled.clone());
        self.entries.push(entry);
        if let Some(parent) = parent {
            self.entries[parent.0].nested.push(key);
        }
        for nested in &definition.nested {
            self.add(nested, document, Some(key), (&path, &mangled), diagnostics);
        }
    }

    pub(crate) fn entry(&self, key: DefinitionKey) -> &TypeEntry<'s> {
        &self.entries[key.0]
    }

    /// That of this whole name.
    pub(crate) fn by_path(&self, path: &str) -> Option<DefinitionKey> {
        self.by_path.get(path).copied()
    }

    /// Whether a type, or one that it is within, is `@VintfStability`.
    pub(crate) fn is_vintf(&self, key: DefinitionKey) -> bool {
        let entry = self.entry(key);
        annotation::has(&entry.definition.annotations, "VintfStability")
            || entry.parent.is_some_and(|parent| self.is_vintf(parent))
    }

    /// All types that a file declares at its top.
    pub(crate) fn top_level(&self, document: usize) -> impl Iterator<Item = DefinitionKey> {
        let is_there =
            move |(_, it): &(usize, &TypeEntry<'s>)| it.document == document && it.parent.is_none();
        self.entries.iter().enumerate().filter(is_there).map(|(at, _)| DefinitionKey(at))
    }

    /// The type that a name means within a type of a file.
    ///
    /// The first name is one of the types around it or within one of these, of an import, or of the package. Else
    /// the name is a whole one.
    pub(crate) fn find(
        &self,
        names: &[impl AsRef<str>],
        document: usize,
        scope: Option<DefinitionKey>,
    ) -> Option<DefinitionKey> {
        let (first, rest) = names.split_first()?;
        let mut path = match self.find_first(first.as_ref(), document, scope) {
            Some(key) => self.entry(key).path.clone(),
            None => String::from(first.as_ref()),
        };
        for name in rest {
            path.push('.');
            path.push_str(name.as_ref());
        }
        self.by_path(&path)
    }

    fn find_first(
        &self,
        name: &str,
        document: usize,
        scope: Option<DefinitionKey>,
    ) -> Option<DefinitionKey> {
        let mut around = scope;
        while let Some(key) = around {
            let entry = self.entry(key);
            if entry.definition.name.text == name {
                return Some(key);
            }
            if let Some(nested) = self.by_path(&format!("{}.{name}", entry.path)) {
                return Some(nested);
            }
            around = entry.parent;
        }
        let document = &self.documents[document];
        let is_meant = |import: &&QualifiedName| {
            import.segments.last().is_some_and(|segment| segment.text == name)
        };
        if let Some(import) = document.imports.iter().find(is_meant) {
            return self.by_path(&import.dotted());
        }
        let package = document.package.as_ref()?;
        self.by_path(&format!("{}.{name}", package.dotted()))
    }
}

/// The places of constants or enumerators. Of two with one name, the first counts.
fn values(definition: &Definition) -> BTreeMap<&str, usize> {
    let names: Vec<&str> = match &definition.kind {
        DefinitionKind::Enumeration(enumerators) => {
            enumerators.iter().map(|it| it.name.text.as_str()).collect()
        }
        _ => definition.constants.iter().map(|it| it.name.text.as_str()).collect(),
    };
    names.into_iter().enumerate().rev().map(|(at, name)| (name, at)).collect()
}

fn mangle(around: &str, name: &str) -> String {
    format!("{around}_{}_{name}", name.len())
}

impl AsRef<str> for crate::syntax::Identifier {
    fn as_ref(&self) -> &str {
        &self.text
    }
}
