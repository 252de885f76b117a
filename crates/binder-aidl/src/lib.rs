//! Compiles AIDL, Android's interface definition language, to Rust.
//!
//! [`compile()`] takes sources and gives Rust files: the items that Android's compiler of version 14 writes, with the
//! same names and in the same order, for the crate `binder`. It reads and writes no files: the caller brings the
//! sources, and an [`ImportLoader`] for their imports. Build scripts use it by way of the crate `binder-build`.
//!
//! ```
//! use binder_aidl::{AidlOptions, ImportLoader, SourceFile, compile};
//!
//! struct NoImports;
//! impl ImportLoader for NoImports {
//!     fn load(&mut self, _path: &str) -> Result<Option<SourceFile>, String> {
//!         Ok(None)
//!     }
//! }
//!
//! let source = "package com.example; interface IHello { String greet(String name); }";
//! let file = SourceFile::new("com/example/IHello.aidl", source);
//! let compilation = compile(vec![file], &mut NoImports, &AidlOptions::default());
//! assert!(!compilation.has_errors());
//! assert_eq!(compilation.generated[0].path, "com/example/IHello.rs");
//! assert!(compilation.generated[0].text.contains("pub trait IHello: binder::Interface + Send"));
//!
//! let file = SourceFile::new("com/example/IHello.aidl", source.replace("name)", "name, Nmae x)"));
//! let compilation = compile(vec![file], &mut NoImports, &AidlOptions::default());
//! let line = compilation.diagnostics[0].line(&compilation.files);
//! assert_eq!(line, "com/example/IHello.aidl:1:67: error: unknown type `Nmae`");
//! ```
//!
//! A source goes through `lexer` and `parser` to a syntax tree; `load` does the same with what it imports; `program`
//! is the table of all types, `evaluate` computes constants, `lower` makes a model of it that keeps AIDL's rules, and
//! `rust` writes that down. For programs that decode the bytes of calls, `wire` tells which arguments are in them.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod annotation;
mod builtin;
mod character;
mod codes;
mod compile;
mod cycle;
mod diagnostic;
mod evaluate;
mod implied;
mod lexer;
mod load;
mod lower;
mod model;
mod number;
mod parser;
mod program;
mod rust;
mod source;
mod syntax;
mod token;
mod wire;

pub use codes::{MethodCode, MethodListing, list_methods, method_codes, package_of};
pub use compile::{Compilation, GeneratedFile, compile};
pub use diagnostic::{Diagnostic, Label, Severity};
pub use load::ImportLoader;
pub use lower::AidlOptions;
pub use source::{SourceFile, Span};
pub use wire::{WireBody, WireCatalog, WireDefinition, WireField, WireKey, WireMethod, WireType};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct BinderAidlReadme;
