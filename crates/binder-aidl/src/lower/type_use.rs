//! Uses of types.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Lowering, OF_DEFINITIONS};
use crate::annotation;
use crate::builtin::{self, Builtin};
use crate::diagnostic::Diagnostic;
use crate::evaluate::{Evaluated, Scope};
use crate::model::{Nullability, Type, TypeKind};
use crate::program::DefinitionKey;
use crate::source::Span;
use crate::syntax::{DefinitionKind, Dimension, TypeName};

/// The greatest number of elements that an array of fixed lengths may have: they are kept in place.
const MAX_FIXED_ELEMENTS: usize = 1 << 20;

impl Lowering<'_, '_, '_> {
    /// The meaning of a use of a type, or nothing if it is a mistake, which has been reported.
    pub(crate) fn type_use(&mut self, name: &TypeName, scope: Scope) -> Option<Type> {
        self.check_annotations(&name.annotations, &OF_DEFINITIONS);
        let kind = self.type_kind(name, scope)?;
        self.check_utf8(name, &kind);
        let nullability = self.nullability(name, &kind);
        Some(Type { kind, nullability })
    }

    fn complain<T>(&mut self, span: Span, message: impl Into<String>) -> Option<T> {
        self.diagnostics.push(Diagnostic::error(span, message));
        None
    }

    fn check_utf8(&mut self, name: &TypeName, kind: &TypeKind) {
        if let Some(utf8) = annotation::find(&name.annotations, "utf8InCpp")
            && *kind.innermost() != TypeKind::Text
        {
            let error = Diagnostic::error(utf8.span, "only a `String` can be `@utf8InCpp`");
            self.diagnostics.push(error.other(name.span, "this is none"));
        }
    }

    fn nullability(&mut self, name: &TypeName, kind: &TypeKind) -> Nullability {
        let Some(nullable) = annotation::find(&name.annotations, "nullable") else {
            return Nullability::Never;
        };
        let is_heap = nullable.is_true("heap");
        let message = match kind {
            TypeKind::Enumeration(_) => "an enumeration cannot be null",
            _ if kind.is_scalar() => "a primitive type cannot be null",
            TypeKind::Void => "`void` cannot be null",
            TypeKind::Holder => "a `ParcelableHolder` cannot be null",
            TypeKind::Parcelable(..) if is_heap => return Nullability::Boxed,
            _ if is_heap => "only a parcelable or union can be kept on the heap",
            _ => return Nullability::Nullable,
        };
        let error = Diagnostic::error(nullable.span, message);
        self.diagnostics.push(error.other(name.span, "of this type"));
        Nullability::Never
    }

    fn type_kind(&mut self, name: &TypeName, scope: Scope) -> Option<TypeKind> {
        let element = self.element_kind(name, scope)?;
        let Some(first) = name.dimensions.first() else { return Some(element) };
        let message = match &element {
            TypeKind::Void => "there are no arrays of `void`",
            TypeKind::Holder => "there are no arrays of `ParcelableHolder`",
            TypeKind::List(_) => "there are no arrays of lists",
            _ => "",
        };
        if !message.is_empty() {
            return self.complain(name.span, message);
        }
        if let (Dimension::Dynamic(_), 1) = (first, name.dimensions.len()) {
            return Some(TypeKind::Vector(Box::new(element)));
        }
        let mut lengths = Vec::new();
        for dimension in &name.dimensions {
            match dimension {
                Dimension::Fixed(length) => {
                    let value = self.evaluator.value(length, scope, self.diagnostics)?;
                    lengths.push(self.length(&value, length.span)?);
                }
                Dimension::Dynamic(span) => {
                    let error = Diagnostic::error(
                        *span,
                        "an array of several dimensions has fixed lengths",
                    );
                    self.diagnostics.push(error.label("a number is missing"));
                    return None;
                }
            }
        }
        let elements = lengths.iter().try_fold(1_usize, |product, it| product.checked_mul(*it));
        if elements.is_none_or(|elements| elements > MAX_FIXED_ELEMENTS) {
            let message = format!("this array has more than {MAX_FIXED_ELEMENTS} elements");
            return self.complain(name.span, message);
        }
        let wrap = |kind, length: usize| TypeKind::Fixed(Box::new(kind), length);
        Some(lengths.into_iter().rev().fold(element, wrap))
    }

    fn length(&mut self, value: &Evaluated, span: Span) -> Option<usize> {
        let Evaluated::Number(number) = value else {
            return self.complain(span, format!("a length is a number, not {}", value.words()));
        };
        match usize::try_from(number.value) {
            Ok(length @ 1..) => Some(length),
            _ => self.complain(span, format!("an array cannot have {} elements", number.value)),
        }
    }

    /// The type without its brackets.
    fn element_kind(&mut self, name: &TypeName, scope: Scope) -> Option<TypeKind> {
        let dotted = name.name.dotted();
        let arguments = name.arguments.len();
        match builtin::find(&dotted) {
            Some(Builtin::Kind(_)) if arguments > 0 => {
                self.complain(name.span, format!("`{dotted}` has no type parameters"))
            }
            Some(Builtin::Kind(kind)) => Some(kind),
            Some(Builtin::List) => self.list(name, scope),
            Some(Builtin::JavaOnly) => self
                .complain(name.span, format!("`{dotted}` is for Java only: Rust has no such type")),
            None => match self.table.find(&name.name.segments, scope.document, scope.within) {
                Some(key) => self.defined(name, key, scope),
                None => self.unknown(name, scope),
            },
        }
    }

    fn list(&mut self, name: &TypeName, scope: Scope) -> Option<TypeKind> {
        let [argument] = &name.arguments[..] else {
            return self.complain(name.span, "a `List` says of what: `List<T>`");
        };
        let element = self.type_use(argument, scope)?.kind;
        let is_primitive = element.is_scalar() && !matches!(element, TypeKind::Enumeration(_));
        if is_primitive {
            let error = Diagnostic::error(argument.span, "a `List` cannot hold a primitive type");
            self.diagnostics.push(error.help("an array can"));
            return None;
        }
        match element {
            TypeKind::Void
            | TypeKind::Holder
            | TypeKind::Vector(_)
            | TypeKind::List(_)
            | TypeKind::Fixed(..) => self.complain(argument.span, "a `List` cannot hold this type"),
            element => Some(TypeKind::List(Box::new(element))),
        }
    }

    fn unknown<T>(&mut self, name: &TypeName, scope: Scope) -> Option<T> {
        let dotted = name.name.dotted();
        let around = scope.within.map(|key| self.table.entry(key).definition);
        let is_parameter =
            around.is_some_and(|it| it.type_parameters.iter().any(|known| known.text == dotted));
        if is_parameter {
            let message = "a type parameter stands for a type between `<` and `>` only";
            return self.complain(name.span, message);
        }
        let error = Diagnostic::error(name.span, format!("unknown type `{dotted}`"));
        let help = "import it, or put its file beside this one in its package";
        self.diagnostics.push(error.label("not found").help(help));
        None
    }

    fn defined(&mut self, name: &TypeName, key: DefinitionKey, scope: Scope) -> Option<TypeKind> {
        let (entry, definition) = (self.table.entry(key), self.table.entry(key).definition);
        self.check_stability(name, key, scope);
        let wanted = definition.type_parameters.len();
        if wanted != name.arguments.len() {
            let message = format!(
                "`{}` has {wanted} type parameters, not {}",
                entry.path,
                name.arguments.len()
            );
            let error = Diagnostic::error(name.span, message);
            self.diagnostics.push(error.other(definition.name.span, "declared here"));
            return None;
        }
        let mut arguments = Vec::new();
        for argument in &name.arguments {
            let of = self.type_use(argument, scope)?;
            if of.kind == TypeKind::Void || of.is_nullable() {
                return self.complain(argument.span, "a type parameter cannot stand for this");
            }
            arguments.push(of.kind);
        }
        let path = format!("crate::mangled::{}", entry.mangled);
        match &definition.kind {
            DefinitionKind::Interface { .. } => Some(TypeKind::Interface(path)),
            DefinitionKind::Enumeration(_) => Some(TypeKind::Enumeration(path)),
            DefinitionKind::Parcelable(_) | DefinitionKind::Union(_) => {
                Some(TypeKind::Parcelable(path, arguments))
            }
            DefinitionKind::Foreign { rust_type: Some((path, _)) } => {
                Some(TypeKind::Parcelable(path.clone(), arguments))
            }
            DefinitionKind::Foreign { rust_type: None } => {
                let message = format!("`{}` is not said to be a type in Rust", entry.path);
                let error = Diagnostic::error(name.span, message);
                let error = error.other(definition.name.span, "declared here");
                let help = "`parcelable X rust_type \"crate::X\";` says which it is";
                self.diagnostics.push(error.help(help));
                None
            }
        }
    }

    /// Complains of a type that may change in one that may not.
    fn check_stability(&mut self, name: &TypeName, key: DefinitionKey, scope: Scope) {
        let used = self.table.entry(key).definition;
        let is_by_hand = matches!(used.kind, DefinitionKind::Foreign { .. });
        let is_stable = scope.within.is_some_and(|user| self.table.is_vintf(user));
        if is_stable && !is_by_hand && !self.table.is_vintf(key) {
            let message =
                format!("`{}` is not `@VintfStability`, and what uses it is", used.name.text);
            let error = Diagnostic::error(name.span, message);
            self.diagnostics.push(error.other(used.name.span, "declared here"));
        }
    }

    /// Whether a type takes the same bytes whatever its value.
    pub(super) fn is_fixed_size(&self, of: &Type, name: &TypeName, scope: Scope) -> bool {
        if of.is_nullable() {
            return false;
        }
        match of.kind.innermost() {
            _ if matches!(of.kind, TypeKind::Vector(_) | TypeKind::List(_)) => false,
            TypeKind::Parcelable(..) => self
                .table
                .find(&name.name.segments, scope.document, scope.within)
                .map(|key| self.table.entry(key).definition)
                .is_some_and(|it| annotation::has(&it.annotations, "FixedSize")),
            kind => kind.is_scalar(),
        }
    }
}
