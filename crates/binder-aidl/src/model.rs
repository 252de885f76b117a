//! The meaning of files: names are resolved, values computed, rules checked. The generator needs nothing else.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::syntax::Direction;

/// A type to generate code for.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Its name.
    pub(crate) name: String,
    /// Its name by which peers know it.
    pub(crate) descriptor: String,
    /// Its name in the module of all names.
    pub(crate) mangled: String,
    /// The text behind `@deprecated`.
    pub(crate) deprecated: Option<String>,
    /// Whether it is `@VintfStability`.
    pub(crate) is_vintf: bool,
    pub(crate) kind: ItemKind,
    pub(crate) constants: Vec<Constant>,
    /// The types within it.
    pub(crate) nested: Vec<Self>,
}

/// Its kind.
#[derive(Debug, Clone)]
pub(crate) enum ItemKind {
    Interface { is_sensitive: bool, methods: Vec<InterfaceMethod> },
    Parcelable { type_parameters: Vec<String>, derives: Vec<String>, fields: Vec<Field> },
    Union { derives: Vec<String>, fields: Vec<Field> },
    Enumeration { backing: TypeKind, enumerators: Vec<Enumerator> },
}

/// A constant, with its value in Rust.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) deprecated: Option<String>,
    pub(crate) kind: TypeKind,
    pub(crate) value: Value,
}

/// A value of an enumeration.
#[derive(Debug, Clone)]
pub(crate) struct Enumerator {
    pub(crate) name: String,
    pub(crate) deprecated: Option<String>,
    pub(crate) value: i64,
}

/// A field.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) deprecated: Option<String>,
    pub(crate) of: Type,
    pub(crate) default: Option<Value>,
}

/// A method.
#[derive(Debug, Clone)]
pub(crate) struct InterfaceMethod {
    pub(crate) name: String,
    pub(crate) deprecated: Option<String>,
    pub(crate) is_oneway: bool,
    /// Its number from the first on.
    pub(crate) code: u32,
    pub(crate) returns: Type,
    pub(crate) parameters: Vec<Parameter>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) of: Type,
}

/// A type as it is used.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) kind: TypeKind,
    pub(crate) nullability: Nullability,
}

/// Whether there may be nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nullability {
    Never,
    Nullable,
    /// Nullable, and kept in a box of its own.
    Boxed,
}

impl Type {
    pub(crate) fn is_nullable(&self) -> bool {
        self.nullability != Nullability::Never
    }
}

/// The kinds of types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TypeKind {
    Void,
    Boolean,
    Byte,
    Char,
    Int,
    Long,
    Float,
    Double,
    Text,
    Binder,
    File,
    Holder,
    /// By its path in Rust.
    Interface(String),
    /// A parcelable or union, by its path in Rust and what stands for its parameters.
    Parcelable(String, Vec<Self>),
    /// By its path in Rust.
    Enumeration(String),
    /// An array of any length.
    Vector(Box<Self>),
    /// A list.
    List(Box<Self>),
    /// An array of a fixed length.
    Fixed(Box<Self>, usize),
}

impl TypeKind {
    /// Whether it goes by value and is never null.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Boolean
            | Self::Byte
            | Self::Char
            | Self::Int
            | Self::Long
            | Self::Float
            | Self::Double
            | Self::Enumeration(_) => true,
            Self::Void
            | Self::Text
            | Self::Binder
            | Self::File
            | Self::Holder
            | Self::Interface(_)
            | Self::Parcelable(..)
            | Self::Vector(_)
            | Self::List(_)
            | Self::Fixed(..) => false,
        }
    }

    /// Whether it has no initial value, as objects and files have none.
    pub(crate) fn has_no_default(&self) -> bool {
        matches!(self, Self::Binder | Self::File | Self::Interface(_))
    }

    /// The type of an array's elements, through all its dimensions; the type itself if it is no array.
    pub(crate) fn innermost(&self) -> &Self {
        match self {
            Self::Vector(element) | Self::List(element) | Self::Fixed(element, _) => {
                element.innermost()
            }
            _ => self,
        }
    }
}

/// A value that a type can have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Boolean(bool),
    /// A number in the range of its type.
    Integer(i64),
    Single(f32),
    Double(f64),
    Char(char),
    Text(String),
    /// An enumerator, by its type's path in Rust and its name.
    Enumerator(String, String),
    List(Vec<Self>),
}
