//! Errors and warnings about sources.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::source::{SourceFile, Span};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is generated.
    Error,
    /// Code is generated; the author should know.
    Warning,
}

/// A place in a source, with a note.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The note.
    pub text: String,
}

/// One message about one mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The mistake, in a sentence.
    pub message: String,
    /// Where it is, with a note.
    pub primary: Label,
    /// Other places that have to do with it.
    pub others: Vec<Label>,
    /// Advice.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub(crate) fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            primary: Label { span, text: String::new() },
            others: Vec::new(),
            help: None,
        }
    }

    /// A warning at a place.
    pub(crate) fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Adds a note at the place itself.
    pub(crate) fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Points at another place.
    pub(crate) fn other(mut self, span: Span, text: impl Into<String>) -> Self {
        self.others.push(Label { span, text: text.into() });
        self
    }

    /// Says what helps.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// The message in one line, behind its file, line and column.
    pub fn line(&self, files: &[SourceFile]) -> String {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let Span { file, start, .. } = self.primary.span;
        let Some(source) = files.get(file) else { return format!("{word}: {}", self.message) };
        let (line, column) = source.line_and_column(start);
        format!("{}:{line}:{column}: {word}: {}", source.path, self.message)
    }
}

/// The messages of one run.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether there is one in these words.
    pub(crate) fn has_said(&self, message: &str) -> bool {
        self.0.iter().any(|it| it.message == message)
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.0.iter().any(|it| it.severity == Severity::Error)
    }

    /// All of them in the order of the sources, each once.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.0.sort_by(|a, b| (a.primary.span, &a.message).cmp(&(b.primary.span, &b.message)));
        self.0.dedup();
        self.0
    }
}
