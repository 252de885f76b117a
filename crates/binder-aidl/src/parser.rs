//! Tokens to a syntax tree.
//!
//! A mistake is reported, and the parser goes on behind the next `;` or `}`: one run finds mistakes in several
//! places.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer;
use crate::syntax::{Annotation, Dimension, Document, Identifier, QualifiedName, TypeName};
use crate::token::{Token, TokenKind};

mod definition;
mod deprecation;
mod expression;

/// How deep types, expressions and declarations may be nested: enough for people, too little for the stack to end.
const MAX_DEPTH: usize = 64;

/// Words that name nothing.
const KEYWORDS: [&str; 12] = [
    "package",
    "import",
    "parcelable",
    "interface",
    "union",
    "enum",
    "const",
    "in",
    "out",
    "inout",
    "oneway",
    "void",
];

/// A mistake, which has been reported.
#[derive(Debug, Clone, Copy)]
struct Unparsed;

type Parsed<T> = Result<T, Unparsed>;

/// Parses a file. The document holds what could be made sense of.
pub(crate) fn document(source: &str, file: usize, diagnostics: &mut Diagnostics) -> Document {
    let tokens = lexer::tokens(source, file, diagnostics);
    let mut parser = Parser { tokens, at: 0, depth: 0, operators: 0, diagnostics };
    parser.document()
}

struct Parser<'s, 'd> {
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: usize,
    /// Those of the expression that is being parsed.
    operators: usize,
    diagnostics: &'d mut Diagnostics,
}

impl<'s> Parser<'s, '_> {
    fn document(&mut self) -> Document {
        let mut document = Document::default();
        if self.peek().is("package") {
            match self.package_or_import() {
                Ok(name) => document.package = Some(name),
                Err(Unparsed) => self.recover(),
            }
        }
        while self.peek().is("import") {
            match self.package_or_import() {
                Ok(name) => document.imports.push(name),
                Err(Unparsed) => self.recover(),
            }
        }
        while self.peek().kind != TokenKind::End {
            match self.definition() {
                Ok(definition) => document.definitions.push(definition),
                Err(Unparsed) => {
                    self.recover();
                    // The rest of a declaration that could not be parsed.
                    while self.take("}").is_some() {}
                }
            }
        }
        document
    }

    fn package_or_import(&mut self) -> Parsed<QualifiedName> {
        self.advance();
        let name = self.qualified_name()?;
        self.expect(";")?;
        Ok(name)
    }

    fn peek(&self) -> Token<'s> {
        // The last token is the end, and stays.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_behind(&self) -> Token<'s> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token<'s> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Takes this word or mark if it is next.
    fn take(&mut self, text: &str) -> Option<Token<'s>> {
        self.peek().is(text).then(|| self.advance())
    }

    fn expect(&mut self, text: &str) -> Parsed<Token<'s>> {
        self.take(text).map_or_else(|| self.complain(&format!("`{text}`")), Ok)
    }

    /// Complains that something else is next.
    fn complain<T>(&mut self, wanted: &str) -> Parsed<T> {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::End => "the end of the file".to_string(),
            _ => format!("`{}`", token.text),
        };
        let error = Diagnostic::error(token.span, format!("expected {wanted}, found {found}"));
        self.diagnostics.push(error.label(format!("expected {wanted}")));
        Err(Unparsed)
    }

    /// Passes over the rest of a declaration: to behind its `;`, or behind its braces, or to the end of those around
    /// it.
    fn recover(&mut self) {
        let mut depth = 0_usize;
        loop {
            let token = self.peek();
            match token.text {
                _ if token.kind == TokenKind::End => return,
                "}" if token.is("}") && depth == 0 => return,
                "{" if token.is("{") => depth += 1,
                "}" if token.is("}") => {
                    depth -= 1;
                    if depth == 0 {
                        self.advance();
                        self.take(";");
                        return;
                    }
                }
                ";" if token.is(";") && depth == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Runs a parser of what may be within itself.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            let span = self.peek().span;
            let message = format!("more than {MAX_DEPTH} levels are nested within each other");
            self.diagnostics.push(Diagnostic::error(span, message));
            // Each level around it would report a mistake as well.
            self.at = self.tokens.len() - 1;
            return Err(Unparsed);
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn identifier(&mut self) -> Parsed<Identifier> {
        let token = self.peek();
        if token.kind != TokenKind::Word || KEYWORDS.contains(&token.text) {
            return self.complain("a name");
        }
        self.advance();
        Ok(Identifier { text: token.text.to_string(), span: token.span })
    }

    fn qualified_name(&mut self) -> Parsed<QualifiedName> {
        let first = if self.peek().is("void") { self.word() } else { self.identifier()? };
        let mut span = first.span;
        let mut segments = Vec::from([first]);
        while self.take(".").is_some() {
            let segment = self.identifier()?;
            span = span.to(segment.span);
            segments.push(segment);
        }
        Ok(QualifiedName { segments, span })
    }

    fn word(&mut self) -> Identifier {
        let token = self.advance();
        Identifier { text: token.text.to_string(), span: token.span }
    }

    fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.peek().kind == TokenKind::At {
            let token = self.advance();
            let mut span = token.span;
            let mut parameters = Vec::new();
            if self.take("(").is_some() {
                while !self.peek().is(")") {
                    parameters.push(self.annotation_parameter()?);
                    if self.take(",").is_none() {
                        break;
                    }
                }
                span = span.to(self.expect(")")?.span);
            }
            let name = token.text.trim_start_matches('@').to_string();
            annotations.push(Annotation { name, parameters, span });
        }
        Ok(annotations)
    }

    fn annotation_parameter(&mut self) -> Parsed<(Identifier, crate::syntax::Expression)> {
        let token = self.peek();
        let name = if token.kind == TokenKind::Word && self.peek_behind().is("=") {
            let name = self.word();
            self.advance();
            name
        } else {
            Identifier { text: String::from("value"), span: token.span }
        };
        Ok((name, self.expression()?))
    }

    /// A use of a type. Annotations that are already known go before its own.
    fn type_name(&mut self, mut annotations: Vec<Annotation>) -> Parsed<TypeName> {
        annotations.extend(self.annotations()?);
        let name = self.qualified_name()?;
        let mut span = name.span;
        let mut arguments = Vec::new();
        if self.take("<").is_some() {
            loop {
                arguments.push(self.nested(|parser| parser.type_name(Vec::new()))?);
                if self.take(",").is_none() {
                    break;
                }
            }
            span = span.to(self.expect(">")?.span);
        }
        let mut dimensions = Vec::new();
        while let Some(open) = self.take("[") {
            if let Some(close) = self.take("]") {
                span = span.to(close.span);
                dimensions.push(Dimension::Dynamic(open.span.to(close.span)));
            } else {
                dimensions.push(Dimension::Fixed(self.expression()?));
                span = span.to(self.expect("]")?.span);
            }
            if dimensions.len() > MAX_DEPTH {
                return self.complain("fewer dimensions");
            }
        }
        Ok(TypeName { annotations, name, arguments, dimensions, span })
    }
}
