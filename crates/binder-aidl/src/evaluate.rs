//! Computes the values of constants.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::annotation;
use crate::builtin::{self, Builtin};
use crate::character;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::TypeKind;
use crate::number::{NoNumber, Number, Width};
use crate::program::{DefinitionKey, TypeTable};
use crate::source::Span;
use crate::syntax::{
    BinaryOperator, DefinitionKind, EnumeratorSyntax, Expression, ExpressionKind, QualifiedName,
    UnaryOperator,
};

/// How deep expressions and the constants that they name may be nested in all: less than a thread's stack holds.
const MAX_DEPTH: usize = 600;
/// The depth that the name of a constant counts for.
const NAME_DEPTH: usize = 4;
/// The longest text that may be put together.
const MAX_TEXT_BYTES: usize = 1 << 16;

/// The value of an expression, before its use is known.
#[derive(Debug, Clone)]
pub(crate) enum Evaluated {
    Boolean(bool),
    Number(Number),
    /// With its digits, and whether they end in `f`.
    Float(f64, String),
    Char(char),
    Text(String),
    /// An enumerator of a type, and its value.
    Enumerator(DefinitionKey, String, Number),
    List(Vec<(Self, Span)>),
}

/// Where an expression stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) document: usize,
    pub(crate) within: Option<DefinitionKey>,
}

/// A constant or enumerator, by its place in its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ConstantPlace {
    Constant(usize),
    Enumerator(usize),
}

/// Computes values, each once.
#[derive(Debug)]
pub(crate) struct Evaluator<'t, 's> {
    table: &'t TypeTable<'s>,
    /// The values of constants; none while one is computed, and if it cannot be.
    done: BTreeMap<(DefinitionKey, ConstantPlace), Option<Evaluated>>,
    under_way: Vec<(DefinitionKey, ConstantPlace)>,
    depth: usize,
}

impl<'t, 's> Evaluator<'t, 's> {
    pub(crate) fn new(table: &'t TypeTable<'s>) -> Self {
        Self { table, done: BTreeMap::new(), under_way: Vec::new(), depth: 0 }
    }

    /// The value of an expression, or nothing if it has a mistake, which has been reported.
    pub(crate) fn value(
        &mut self,
        expression: &Expression,
        scope: Scope,
        diagnostics: &mut Diagnostics,
    ) -> Option<Evaluated> {
        if self.depth >= MAX_DEPTH {
            let message = "this constant depends on too many others";
            diagnostics.push(Diagnostic::error(expression.span, message));
            return None;
        }
        self.depth += 1;
        let value = self.value_of_kind(expression, scope, diagnostics);
        self.depth -= 1;
        value
    }

    fn value_of_kind(
        &mut self,
        expression: &Expression,
        scope: Scope,
        diagnostics: &mut Diagnostics,
    ) -> Option<Evaluated> {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Boolean(value) => Some(Evaluated::Boolean(*value)),
            ExpressionKind::Integer(text) => {
                number_or_error(Number::parse(text), span, diagnostics).map(Evaluated::Number)
            }
            ExpressionKind::Float(text) => float(text, span, diagnostics),
            ExpressionKind::Char(text) => match character::parse(text) {
                Ok(char) => Some(Evaluated::Char(char)),
                Err(message) => {
                    diagnostics.push(Diagnostic::error(span, message));
                    None
                }
            },
            ExpressionKind::Text(text) => checked_text(text, span, diagnostics),
            ExpressionKind::Name(name) => self.named(name, scope, diagnostics),
            ExpressionKind::List(values) => {
                let mut list = Vec::new();
                let mut is_whole = true;
                for value in values {
                    match self.value(value, scope, diagnostics) {
                        Some(evaluated) => list.push((evaluated, value.span)),
                        None => is_whole = false,
                    }
                }
                is_whole.then_some(Evaluated::List(list))
            }
            ExpressionKind::Unary(operator, operand) => {
                if let (UnaryOperator::Minus, ExpressionKind::Integer(text)) =
                    (operator, &operand.kind)
                {
                    let number = Number::parse_negative(text);
                    return number_or_error(number, span, diagnostics).map(Evaluated::Number);
                }
                let operand = self.value(operand, scope, diagnostics)?;
                unary(*operator, operand, span, diagnostics)
            }
            ExpressionKind::Binary(operator, operands) => {
                let left = self.value(&operands.0, scope, diagnostics);
                let right = self.value(&operands.1, scope, diagnostics);
                let spans = [span, operands.0.span, operands.1.span];
                binary(*operator, left?, right?, spans, diagnostics)
            }
        }
    }

    /// The value of a constant or an enumerator by its name.
    fn named(
        &mut self,
        name: &QualifiedName,
        scope: Scope,
        diagnostics: &mut Diagnostics,
    ) -> Option<Evaluated> {
        let Some((key, place)) = self.find(name, scope) else {
            let message = format!("no constant `{}` is known here", name.dotted());
            diagnostics.push(Diagnostic::error(name.span, message));
            return None;
        };
        if self.under_way.contains(&(key, place)) {
            let message = format!("`{}` needs its own value", name.dotted());
            diagnostics.push(Diagnostic::error(name.span, message));
            return None;
        }
        self.depth += NAME_DEPTH;
        let value = match place {
            ConstantPlace::Constant(at) => self.constant(key, at, diagnostics),
            ConstantPlace::Enumerator(at) => self.enumerator(key, at, diagnostics).map(|number| {
                let name = name.segments.last().map(|it| it.text.clone()).unwrap_or_default();
                Evaluated::Enumerator(key, name, number)
            }),
        };
        self.depth -= NAME_DEPTH;
        // No constant is a list: lists of lists of lists would grow without end.
        if let Some(Evaluated::List(_)) = value {
            diagnostics.push(Diagnostic::error(name.span, "a name cannot stand for a list"));
            return None;
        }
        value
    }

    fn find(&self, name: &QualifiedName, scope: Scope) -> Option<(DefinitionKey, ConstantPlace)> {
        let (last, types) = name.segments.split_last()?;
        if !types.is_empty() {
            let key = self.table.find(types, scope.document, scope.within)?;
            return Some((key, self.place(key, &last.text)?));
        }
        let mut around = scope.within;
        while let Some(key) = around {
            if let Some(place) = self.place(key, &last.text) {
                return Some((key, place));
            }
            around = self.table.entry(key).parent;
        }
        None
    }

    fn place(&self, key: DefinitionKey, name: &str) -> Option<ConstantPlace> {
        let entry = self.table.entry(key);
        let at = entry.values.get(name)?;
        Some(match &entry.definition.kind {
            DefinitionKind::Enumeration(_) => ConstantPlace::Enumerator(*at),
            _ => ConstantPlace::Constant(*at),
        })
    }

    /// The value of a type's constant, of the type that it says.
    pub(crate) fn constant(
        &mut self,
        key: DefinitionKey,
        at: usize,
        diagnostics: &mut Diagnostics,
    ) -> Option<Evaluated> {
        let place = (key, ConstantPlace::Constant(at));
        if let Some(done) = self.done.get(&place) {
            return done.clone();
        }
        let entry = self.table.entry(key);
        let constant = &entry.definition.constants[at];
        let scope = Scope { document: entry.document, within: Some(key) };
        self.under_way.push(place);
        let value = self.value(&constant.value, scope, diagnostics);
        self.under_way.pop();
        // A constant computes as what it is declared to be.
        let value = value.map(|value| match (constant_kind(constant), value) {
            (Some(TypeKind::Long), Evaluated::Number(number)) => {
                Evaluated::Number(Number { width: Width::Long, ..number })
            }
            (Some(TypeKind::Int | TypeKind::Byte), Evaluated::Number(number))
                if i32::try_from(number.value).is_ok() =>
            {
                Evaluated::Number(Number { width: Width::Int, ..number })
            }
            (_, value) => value,
        });
        self.done.insert(place, value.clone());
        value
    }

    /// The value of an enumerator.
    pub(crate) fn enumerator(
        &mut self,
        key: DefinitionKey,
        at: usize,
        diagnostics: &mut Diagnostics,
    ) -> Option<Number> {
        let place = (key, ConstantPlace::Enumerator(at));
        if let Some(done) = self.done.get(&place) {
            return match done {
                Some(Evaluated::Number(number)) => Some(*number),
                _ => None,
            };
        }
        let entry = self.table.entry(key);
        let DefinitionKind::Enumeration(enumerators) = &entry.definition.kind else { return None };
        let backing = backing(entry.definition);
        // One without a value counts from the last that has one.
        let known = (0..=at).rev().find(|it| {
            enumerators[*it].value.is_some()
                || (*it < at && self.done.contains_key(&(key, ConstantPlace::Enumerator(*it))))
        });
        self.under_way.push(place);
        let number = match known {
            Some(known) if known == at => {
                let scope = Scope { document: entry.document, within: Some(key) };
                self.explicit(&enumerators[at], scope, diagnostics)
            }
            Some(known) => self.enumerator(key, known, diagnostics).and_then(|number| {
                let steps = i64::try_from(at - known).ok()?;
                Some(number.value.checked_add(steps))
            }),
            None => Some(i64::try_from(at).ok()),
        };
        self.under_way.pop();
        let number = number.and_then(|value| {
            let fitting = value.filter(|value| fits(*value, &backing));
            if fitting.is_none() {
                let name = &enumerators[at].name;
                let message = format!("`{}` does not fit the enumeration's type", name.text);
                let (low, high) = range(&backing);
                let help = format!("it holds {low} to {high}");
                diagnostics.push(Diagnostic::error(name.span, message).help(help));
            }
            let width = if backing == TypeKind::Long { Width::Long } else { Width::Int };
            fitting.map(|value| Number { value, width })
        });
        self.done.insert(place, number.map(Evaluated::Number));
        number
    }

    /// The value that an enumerator says it has.
    fn explicit(
        &mut self,
        enumerator: &EnumeratorSyntax,
        scope: Scope,
        diagnostics: &mut Diagnostics,
    ) -> Option<Option<i64>> {
        let expression = enumerator.value.as_ref()?;
        match self.value(expression, scope, diagnostics)? {
            Evaluated::Number(number) | Evaluated::Enumerator(_, _, number) => {
                Some(Some(number.value))
            }
            Evaluated::Boolean(value) => Some(Some(value.into())),
            other => {
                let message = format!("an enumerator is a number, not {}", other.words());
                diagnostics.push(Diagnostic::error(expression.span, message));
                None
            }
        }
    }
}

impl Evaluated {
    /// Its kind, for messages.
    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Float(..) => "a number with a fraction",
            Self::Char(_) => "a character",
            Self::Text(_) => "a text",
            Self::Enumerator(..) => "an enumerator",
            Self::List(_) => "a list",
        }
    }

    /// As an operand of what computes with numbers.
    fn as_number(&self) -> Option<Number> {
        match self {
            Self::Boolean(value) => Some(Number::new((*value).into(), Width::Int)),
            Self::Number(number) | Self::Enumerator(_, _, number) => Some(*number),
            Self::Float(..) | Self::Char(_) | Self::Text(_) | Self::List(_) => None,
        }
    }
}

/// The type that stands behind an enumeration's values: a byte unless it says otherwise.
pub(crate) fn backing(definition: &crate::syntax::Definition) -> TypeKind {
    let annotation = annotation::find(&definition.annotations, "Backing");
    match annotation.and_then(|it| it.text("type")) {
        Some("int") => TypeKind::Int,
        Some("long") => TypeKind::Long,
        _ => TypeKind::Byte,
    }
}

/// The least and the greatest value of a type of whole numbers.
pub(crate) fn range(kind: &TypeKind) -> (i64, i64) {
    match kind {
        TypeKind::Byte => (i8::MIN.into(), i8::MAX.into()),
        TypeKind::Long => (i64::MIN, i64::MAX),
        _ => (i32::MIN.into(), i32::MAX.into()),
    }
}

/// Whether a value is within its type.
pub(crate) fn fits(value: i64, kind: &TypeKind) -> bool {
    let (low, high) = range(kind);
    (low..=high).contains(&value)
}

fn constant_kind(constant: &crate::syntax::ConstantSyntax) -> Option<TypeKind> {
    match builtin::find(&constant.type_name.name.dotted())? {
        Builtin::Kind(kind) => Some(kind),
        Builtin::List | Builtin::JavaOnly => None,
    }
}

fn number_or_error(
    result: Result<Number, NoNumber>,
    span: Span,
    diagnostics: &mut Diagnostics,
) -> Option<Number> {
    let message = match result {
        Ok(number) => return Some(number),
        Err(NoNumber::Malformed) => "this is not a number",
        Err(NoNumber::Overflow) => "this number does not fit its type",
        Err(NoNumber::DivisionByZero) => "this divides by zero",
        Err(NoNumber::ShiftTooFar) => "this shifts by more bits than there are",
    };
    diagnostics.push(Diagnostic::error(span, message));
    None
}

fn float(text: &str, span: Span, diagnostics: &mut Diagnostics) -> Option<Evaluated> {
    let digits = text.trim_end_matches(['f', 'F']);
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Some(Evaluated::Float(value, digits.to_string())),
        Ok(_) => {
            diagnostics.push(Diagnostic::error(span, "this number does not fit its type"));
            None
        }
        Err(_) => {
            diagnostics.push(Diagnostic::error(span, "this is not a number"));
            None
        }
    }
}

fn checked_text(text: &str, span: Span, diagnostics: &mut Diagnostics) -> Option<Evaluated> {
    // Not every language that AIDL writes would read others alike.
    let stranger = text.chars().find(|it| !matches!(it, ' '..='~') || *it == '\\');
    if let Some(stranger) = stranger {
        let message = format!("a text cannot hold `{}`", stranger.escape_debug());
        let error = Diagnostic::error(span, message);
        diagnostics.push(error.help("AIDL knows printable ASCII without backslashes only"));
        return None;
    }
    Some(Evaluated::Text(text.to_string()))
}

fn unary(
    operator: UnaryOperator,
    operand: Evaluated,
    span: Span,
    diagnostics: &mut Diagnostics,
) -> Option<Evaluated> {
    match (operator, &operand) {
        (UnaryOperator::Plus, Evaluated::Float(..)) => return Some(operand),
        (UnaryOperator::Minus, Evaluated::Float(value, digits)) => {
            let digits = match digits.strip_prefix('-') {
                Some(digits) => digits.to_string(),
                None => format!("-{digits}"),
            };
            return Some(Evaluated::Float(-value, digits));
        }
        _ => {}
    }
    let Some(number) = operand.as_number() else {
        let message = format!("this operator is for numbers, not for {}", operand.words());
        diagnostics.push(Diagnostic::error(span, message));
        return None;
    };
    let result = match operator {
        UnaryOperator::Plus => Ok(number.promoted()),
        UnaryOperator::Minus => number.negated(),
        UnaryOperator::Complement => Ok(number.complement()),
        UnaryOperator::Not => return Some(Evaluated::Boolean(number.value == 0)),
    };
    number_or_error(result, span, diagnostics).map(Evaluated::Number)
}

fn binary(
    operator: BinaryOperator,
    left: Evaluated,
    right: Evaluated,
    [span, left_span, right_span]: [Span; 3],
    diagnostics: &mut Diagnostics,
) -> Option<Evaluated> {
    if let (BinaryOperator::Add, Evaluated::Text(a), Evaluated::Text(b)) = (operator, &left, &right)
    {
        if a.len() + b.len() > MAX_TEXT_BYTES {
            let message = format!("this text is longer than {MAX_TEXT_BYTES} bytes");
            diagnostics.push(Diagnostic::error(span, message));
            return None;
        }
        return Some(Evaluated::Text(format!("{a}{b}")));
    }
    for (operand, at) in [(&left, left_span), (&right, right_span)] {
        if operand.as_number().is_none() {
            let message =
                format!("this operator is for whole numbers, not for {}", operand.words());
            diagnostics.push(Diagnostic::error(at, message));
        }
    }
    let result = left.as_number()?.apply(operator, right.as_number()?);
    let number = number_or_error(result, span, diagnostics)?;
    Some(match operator {
        BinaryOperator::Or
        | BinaryOperator::And
        | BinaryOperator::Equal
        | BinaryOperator::NotEqual
        | BinaryOperator::Less
        | BinaryOperator::LessOrEqual
        | BinaryOperator::Greater
        | BinaryOperator::GreaterOrEqual => Evaluated::Boolean(number.value != 0),
        BinaryOperator::BitOr
        | BinaryOperator::BitXor
        | BinaryOperator::BitAnd
        | BinaryOperator::ShiftLeft
        | BinaryOperator::ShiftRight
        | BinaryOperator::Add
        | BinaryOperator::Subtract
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Remainder => Evaluated::Number(number),
    })
}
