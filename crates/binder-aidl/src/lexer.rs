//! Takes a source apart.

use alloc::format;
use alloc::vec::Vec;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::token::{Token, TokenKind};

/// Marks of two characters. `>>` is not among them: `List<List<T>>` ends with two of one.
const PAIRS: [&str; 7] = ["<<", "<=", ">=", "==", "!=", "&&", "||"];
/// Marks of one character.
const SINGLES: &str = "{}()[]<>;,.=+-*/%&|^~!";

/// The tokens of a source, the last of which is its end. Characters that begin no token are reported and left out.
pub(crate) fn tokens<'s>(
    source: &'s str,
    file: usize,
    diagnostics: &mut Diagnostics,
) -> Vec<Token<'s>> {
    let mut lexer = Lexer { source, file, at: 0, comment: None, diagnostics };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    let span = Span { file, start: source.len(), end: source.len() };
    tokens.push(Token { kind: TokenKind::End, text: "", span, comment: None });
    tokens
}

struct Lexer<'s, 'd> {
    source: &'s str,
    file: usize,
    at: usize,
    comment: Option<&'s str>,
    diagnostics: &'d mut Diagnostics,
}

impl<'s> Lexer<'s, '_> {
    fn next(&mut self) -> Option<Token<'s>> {
        loop {
            let rest = &self.source[self.at..];
            let first = rest.chars().next()?;
            if first.is_whitespace() {
                self.at += first.len_utf8();
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.skip_comment(rest);
            } else {
                match self.token(rest, first) {
                    Some((kind, len)) => return Some(self.take(kind, len)),
                    None => self.skip_stranger(first),
                }
            }
        }
    }

    fn take(&mut self, kind: TokenKind, len: usize) -> Token<'s> {
        let span = self.span(len);
        let text = &self.source[span.range()];
        self.at += len;
        Token { kind, text, span, comment: self.comment.take() }
    }

    fn span(&self, len: usize) -> Span {
        Span { file: self.file, start: self.at, end: self.at + len }
    }

    fn skip_comment(&mut self, rest: &'s str) {
        let Some(end) = rest[2..].find("*/") else {
            let span = self.span(2);
            self.diagnostics.push(Diagnostic::error(span, "this comment has no end"));
            self.at = self.source.len();
            return;
        };
        let comment = &rest[..end + 4];
        if comment.starts_with("/**") {
            self.comment = Some(comment);
        }
        self.at += comment.len();
    }

    /// The kind and the length of the token that `rest` begins with.
    fn token(&mut self, rest: &str, first: char) -> Option<(TokenKind, usize)> {
        if is_word_start(first) {
            return Some((TokenKind::Word, word_len(rest)));
        }
        match first {
            '@' => {
                let name = rest[1..].find(|it| !is_word_part(it) && it != '.');
                let len = name.map_or(rest.len(), |name| name + 1);
                (len > 1).then_some((TokenKind::At, len))
            }
            '"' => Some((TokenKind::Text, self.text_len(rest)?)),
            '\'' => Some((TokenKind::Char, self.char_len(rest)?)),
            '0'..='9' => Some(number(rest)),
            '.' if rest[1..].starts_with(|it: char| it.is_ascii_digit()) => Some(number(rest)),
            _ if PAIRS.iter().any(|pair| rest.starts_with(pair)) => Some((TokenKind::Mark, 2)),
            _ => SINGLES.contains(first).then_some((TokenKind::Mark, 1)),
        }
    }

    /// The length of a text with its quotes. One without an end ends with its line.
    fn text_len(&mut self, rest: &str) -> Option<usize> {
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        if let Some(end) = line[1..].find('"') {
            return Some(end + 2);
        }
        let span = self.span(line.len());
        self.diagnostics
            .push(Diagnostic::error(span, "this text has no end").label("`\"` missing"));
        self.at += line.len();
        None
    }

    fn char_len(&mut self, rest: &str) -> Option<usize> {
        let mut is_escaped = false;
        for (at, char) in rest.char_indices().skip(1).take_while(|(_, char)| *char != '\n') {
            if char == '\'' && !is_escaped && at > 1 {
                return Some(at + 1);
            }
            is_escaped = char == '\\' && !is_escaped;
        }
        let span = self.span(1);
        self.diagnostics.push(Diagnostic::error(span, "this character has no closing quote"));
        self.at += 1;
        None
    }

    /// Passes over what no token begins with, or over nothing if that has been complained of.
    fn skip_stranger(&mut self, first: char) {
        if !self.source[self.at..].starts_with(first) || matches!(first, '"' | '\'') {
            return;
        }
        let span = self.span(first.len_utf8());
        let message = format!("`{}` has no meaning here", first.escape_debug());
        self.diagnostics.push(Diagnostic::error(span, message));
        self.at += first.len_utf8();
    }
}

fn is_word_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

fn is_word_part(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn word_len(rest: &str) -> usize {
    rest.find(|it| !is_word_part(it)).unwrap_or(rest.len())
}

/// The kind and the length of a number, with all letters and digits behind it.
fn number(rest: &str) -> (TokenKind, usize) {
    if rest.starts_with("0x") || rest.starts_with("0X") {
        return (TokenKind::Integer, word_len(rest));
    }
    let bytes = rest.as_bytes();
    let mut is_float = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'.' => is_float = true,
            b'e' | b'E' => {
                is_float = true;
                at += usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            }
            b'f' | b'F' => is_float = true,
            _ if is_word_part(char::from(*byte)) => {}
            _ => break,
        }
        at += 1;
    }
    (if is_float { TokenKind::Float } else { TokenKind::Integer }, at)
}
