//! Sources, and places in them.

use alloc::string::String;
use core::ops::Range;

/// A file of AIDL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, as messages name it. It ends in the package and the name of the type that it declares.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl SourceFile {
    /// A file of this text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// The line and the column of a byte, both from 1 on. Columns count characters.
    pub fn line_and_column(&self, byte: usize) -> (usize, usize) {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// A range of bytes of one of the files that are compiled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file, by its place among them.
    pub file: usize,
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl Span {
    /// The bytes.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// From the start of this to the end of the other.
    pub(crate) fn to(self, other: Self) -> Self {
        Self { end: other.end.max(self.start), ..self }
    }
}
