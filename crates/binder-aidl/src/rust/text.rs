//! Lines with their indentation.

use alloc::format;
use alloc::string::String;

/// The text so far.
pub(super) struct RustText {
    text: String,
    depth: usize,
}

impl RustText {
    pub(super) fn new() -> Self {
        Self { text: String::new(), depth: 0 }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn lines(&mut self, lines: &[&str]) {
        lines.iter().for_each(|line| self.line(line));
    }

    /// Writes a line one blank from the margin.
    pub(super) fn narrow_line(&mut self, line: &str) {
        self.text.push(' ');
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a line, and what follows further right.
    pub(super) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// Writes a line as far left as that of the last `open`.
    pub(super) fn close(&mut self, line: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Writes a line as far left as that of the last `open`, and what follows further right again.
    pub(super) fn reopen(&mut self, line: &str) {
        self.close(line);
        self.depth += 1;
    }

    /// Writes that something is not to be used.
    pub(super) fn deprecated(&mut self, note: Option<&str>) {
        match note {
            None => {}
            Some("") => self.line("#[deprecated]"),
            Some(note) => self.line(&format!("#[deprecated = {note:?}]")),
        }
    }
}
