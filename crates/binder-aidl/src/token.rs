//! Words and marks of a source.

use crate::source::Span;

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a keyword.
    Word,
    /// An annotation's `@` with its name.
    At,
    /// A number without a fraction, with its suffix.
    Integer,
    /// A number with a fraction, an exponent or `f` behind it.
    Float,
    /// A text in double quotes.
    Text,
    /// A character in single quotes.
    Char,
    /// One of the marks.
    Mark,
    /// The end of the source.
    End,
}

/// A piece of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'s> {
    pub(crate) kind: TokenKind,
    /// Its characters.
    pub(crate) text: &'s str,
    pub(crate) span: Span,
    /// The documenting comment before it: `/** .. */`.
    pub(crate) comment: Option<&'s str>,
}

impl Token<'_> {
    /// Whether it is this word or mark.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Mark) && self.text == text
    }
}
