//! The syntax tree: what a file says, before names are resolved.

use alloc::string::String;
use alloc::vec::Vec;

use crate::source::Span;

/// A name without dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identifier {
    /// The name.
    pub(crate) text: String,
    /// Where it is.
    pub(crate) span: Span,
}

/// A name with any number of dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QualifiedName {
    /// The names between the dots, at least one.
    pub(crate) segments: Vec<Identifier>,
    /// Where it is.
    pub(crate) span: Span,
}

impl QualifiedName {
    /// The name with its dots.
    pub(crate) fn dotted(&self) -> String {
        let names: Vec<&str> = self.segments.iter().map(|it| it.text.as_str()).collect();
        names.join(".")
    }
}

/// A file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    /// Its package.
    pub(crate) package: Option<QualifiedName>,
    /// Its imports.
    pub(crate) imports: Vec<QualifiedName>,
    /// Its declarations.
    pub(crate) definitions: Vec<Definition>,
}

/// A word behind an `@`.
#[derive(Debug, Clone)]
pub(crate) struct Annotation {
    /// The word without the `@`.
    pub(crate) name: String,
    /// Its parameters. A value without a name is that of `value`.
    pub(crate) parameters: Vec<(Identifier, Expression)>,
    /// Where it is.
    pub(crate) span: Span,
}

/// A declaration of a type.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    /// Its name.
    pub(crate) name: Identifier,
    /// Its annotations.
    pub(crate) annotations: Vec<Annotation>,
    /// The text behind `@deprecated` in its comment.
    pub(crate) deprecated: Option<String>,
    /// The parameters of a generic parcelable.
    pub(crate) type_parameters: Vec<Identifier>,
    /// Its kind.
    pub(crate) kind: DefinitionKind,
    /// Its constants.
    pub(crate) constants: Vec<ConstantSyntax>,
    /// The types within it.
    pub(crate) nested: Vec<Self>,
}

/// The kinds of types.
#[derive(Debug, Clone)]
pub(crate) enum DefinitionKind {
    /// `interface`.
    Interface {
        /// Whether all its methods are one-way.
        is_oneway: bool,
        /// Its methods.
        methods: Vec<MethodSyntax>,
    },
    /// `parcelable` with fields.
    Parcelable(Vec<FieldSyntax>),
    /// `union`.
    Union(Vec<FieldSyntax>),
    /// `enum`.
    Enumeration(Vec<EnumeratorSyntax>),
    /// `parcelable X;`: written by hand elsewhere.
    Foreign {
        /// The Rust type that it is, as `rust_type` says.
        rust_type: Option<(String, Span)>,
    },
}

/// A use of a type.
#[derive(Debug, Clone)]
pub(crate) struct TypeName {
    /// The annotations before it.
    pub(crate) annotations: Vec<Annotation>,
    /// Its name.
    pub(crate) name: QualifiedName,
    /// The types between `<` and `>`.
    pub(crate) arguments: Vec<Self>,
    /// The pairs of brackets behind it, from the left.
    pub(crate) dimensions: Vec<Dimension>,
    /// Where it is, without its annotations.
    pub(crate) span: Span,
}

/// A pair of brackets.
#[derive(Debug, Clone)]
pub(crate) enum Dimension {
    /// `[]`
    Dynamic(Span),
    /// `[N]`
    Fixed(Expression),
}

/// A field of a parcelable or union.
#[derive(Debug, Clone)]
pub(crate) struct FieldSyntax {
    /// Its type.
    pub(crate) type_name: TypeName,
    /// Its name.
    pub(crate) name: Identifier,
    /// Its default value.
    pub(crate) default: Option<Expression>,
    /// The text behind `@deprecated` in its comment.
    pub(crate) deprecated: Option<String>,
}

/// A constant.
#[derive(Debug, Clone)]
pub(crate) struct ConstantSyntax {
    /// Its type.
    pub(crate) type_name: TypeName,
    /// Its name.
    pub(crate) name: Identifier,
    /// Its value.
    pub(crate) value: Expression,
    /// The text behind `@deprecated` in its comment.
    pub(crate) deprecated: Option<String>,
}

/// A value of an enumeration.
#[derive(Debug, Clone)]
pub(crate) struct EnumeratorSyntax {
    /// Its name.
    pub(crate) name: Identifier,
    /// Its value; one more than that before it if nothing is said.
    pub(crate) value: Option<Expression>,
    /// The text behind `@deprecated` in its comment.
    pub(crate) deprecated: Option<String>,
}

/// A method of an interface.
#[derive(Debug, Clone)]
pub(crate) struct MethodSyntax {
    /// Whether `oneway` stands before it.
    pub(crate) is_oneway: bool,
    /// Its return type.
    pub(crate) return_type: TypeName,
    /// Its name.
    pub(crate) name: Identifier,
    /// Its parameters.
    pub(crate) parameters: Vec<ParameterSyntax>,
    /// The number behind its `=`, as it is written.
    pub(crate) code: Option<Identifier>,
    /// The text behind `@deprecated` in its comment.
    pub(crate) deprecated: Option<String>,
}

/// Which way an argument goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the service.
    In,
    /// From the service.
    Out,
    /// Both.
    InOut,
}

/// A parameter of a method.
#[derive(Debug, Clone)]
pub(crate) struct ParameterSyntax {
    /// Which way it goes, and where that is said.
    pub(crate) direction: Option<(Direction, Span)>,
    /// Its type.
    pub(crate) type_name: TypeName,
    /// Its name.
    pub(crate) name: Identifier,
}

/// An expression of a constant's value.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    /// Its kind.
    pub(crate) kind: ExpressionKind,
    /// Where it is.
    pub(crate) span: Span,
}

/// Kinds of expressions.
#[derive(Debug, Clone)]
pub(crate) enum ExpressionKind {
    /// A number without a fraction, as it is written.
    Integer(String),
    /// A number with a fraction, as it is written.
    Float(String),
    /// A character, as it is written.
    Char(String),
    /// A text, without its quotes.
    Text(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A constant or enumerator.
    Name(QualifiedName),
    /// `{ a, b }`
    List(Vec<Expression>),
    /// An operator before its operand.
    Unary(UnaryOperator, alloc::boxed::Box<Expression>),
    /// An operator between its operands.
    Binary(BinaryOperator, alloc::boxed::Box<(Expression, Expression)>),
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaryOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `~`
    Complement,
    /// `!`
    Not,
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOperator {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}
