//! Values for what they are given to.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Lowering;
use crate::diagnostic::Diagnostic;
use crate::evaluate::{self, Evaluated};
use crate::model::{TypeKind, Value};
use crate::source::Span;

impl Lowering<'_, '_, '_> {
    /// The value as one of this type, or nothing if that is a mistake, which has been reported.
    pub(super) fn fitting(
        &mut self,
        value: Evaluated,
        kind: &TypeKind,
        span: Span,
    ) -> Option<Value> {
        match (kind, value) {
            (TypeKind::Boolean, Evaluated::Boolean(value)) => Some(Value::Boolean(value)),
            (TypeKind::Byte | TypeKind::Int | TypeKind::Long, value) => {
                self.whole_number(value, kind, span)
            }
            (TypeKind::Char, Evaluated::Char(char)) => Some(Value::Char(char)),
            (TypeKind::Text, Evaluated::Text(text)) => Some(Value::Text(text)),
            (TypeKind::Float | TypeKind::Double, Evaluated::Number(number)) => {
                self.fraction(&number.value.to_string(), kind, span)
            }
            (TypeKind::Float | TypeKind::Double, Evaluated::Float(_, digits)) => {
                self.fraction(&digits, kind, span)
            }
            (TypeKind::Enumeration(path), Evaluated::Enumerator(key, name, _))
                if *path == format!("crate::mangled::{}", self.table.entry(key).mangled) =>
            {
                Some(Value::Enumerator(path.clone(), name))
            }
            (TypeKind::Vector(element) | TypeKind::List(element), Evaluated::List(values)) => {
                self.list_of(values, element)
            }
            (TypeKind::Fixed(element, length), Evaluated::List(values)) => {
                if values.len() != *length {
                    let message = format!("{length} values are wanted, not {}", values.len());
                    self.diagnostics.push(Diagnostic::error(span, message));
                    return None;
                }
                self.list_of(values, element)
            }
            (_, value) => self.unfitting(&value, kind, span),
        }
    }

    fn list_of(&mut self, values: Vec<(Evaluated, Span)>, element: &TypeKind) -> Option<Value> {
        let mut list = Vec::new();
        let wanted = values.len();
        for (value, span) in values {
            list.extend(self.fitting(value, element, span));
        }
        (list.len() == wanted).then_some(Value::List(list))
    }

    fn whole_number(&mut self, value: Evaluated, kind: &TypeKind, span: Span) -> Option<Value> {
        let number = match value {
            Evaluated::Number(number) | Evaluated::Enumerator(_, _, number) => number.value,
            // Comparisons result in 0 or 1.
            Evaluated::Boolean(value) => value.into(),
            value => return self.unfitting(&value, kind, span),
        };
        if evaluate::fits(number, kind) {
            return Some(Value::Integer(number));
        }
        let message = format!("{number} does not fit into `{}`", words(kind));
        let (low, high) = evaluate::range(kind);
        let error = Diagnostic::error(span, message).help(format!("it holds {low} to {high}"));
        self.diagnostics.push(error);
        None
    }

    fn fraction(&mut self, digits: &str, kind: &TypeKind, span: Span) -> Option<Value> {
        let value = if *kind == TypeKind::Float {
            digits.parse().ok().filter(|it: &f32| it.is_finite()).map(Value::Single)
        } else {
            digits.parse().ok().filter(|it: &f64| it.is_finite()).map(Value::Double)
        };
        if value.is_none() {
            let message = format!("{digits} does not fit a `{}`", words(kind));
            self.diagnostics.push(Diagnostic::error(span, message));
        }
        value
    }

    fn unfitting(&mut self, value: &Evaluated, kind: &TypeKind, span: Span) -> Option<Value> {
        let message = match kind {
            TypeKind::Void
            | TypeKind::Binder
            | TypeKind::File
            | TypeKind::Holder
            | TypeKind::Interface(_)
            | TypeKind::Parcelable(..) => String::from("nothing can be written for this type"),
            _ => format!("expected {}, found {}", words(kind), value.words()),
        };
        self.diagnostics.push(Diagnostic::error(span, message));
        None
    }
}

/// The expected type, for messages.
fn words(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Boolean => "boolean",
        TypeKind::Byte => "byte",
        TypeKind::Char => "char",
        TypeKind::Int => "int",
        TypeKind::Long => "long",
        TypeKind::Float => "float",
        TypeKind::Double => "double",
        TypeKind::Text => "String",
        TypeKind::Enumeration(_) => "an enumerator of the field's type",
        TypeKind::Vector(_) | TypeKind::List(_) | TypeKind::Fixed(..) => "a list in braces",
        TypeKind::Void
        | TypeKind::Binder
        | TypeKind::File
        | TypeKind::Holder
        | TypeKind::Interface(_)
        | TypeKind::Parcelable(..) => "nothing",
    }
}
