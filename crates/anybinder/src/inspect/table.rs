//! Tables for people: a header, aligned columns.

use super::printable;

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

use Align::{Left, Right};

/// Rows under heads.
pub(crate) struct RecordTable<const N: usize> {
    aligns: [Align; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> RecordTable<N> {
    /// A table without rows; a head that begins with `>` is over numbers.
    pub(crate) fn new(heads: [&str; N]) -> Self {
        let aligns = heads.map(|head| if head.starts_with('>') { Right } else { Left });
        Self { aligns, rows: vec![heads.map(|head| head.trim_start_matches('>').to_owned())] }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| printable(&cell)));
    }

    /// The table as text, if it has a row.
    pub(crate) fn text_if_any(&self) -> Option<String> {
        (self.rows.len() > 1).then(|| self.text())
    }

    /// The table as text, without spaces at the ends of lines.
    pub(crate) fn text(&self) -> String {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: [usize; N] = std::array::from_fn(width);
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(widths).zip(self.aligns);
            let line: Vec<_> = cells
                .map(|((cell, width), align)| match align {
                    Left => format!("{cell:<width$}"),
                    Right => format!("{cell:>width$}"),
                })
                .collect();
            text.push_str(line.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_and_numbers_end_together() {
        let mut table = RecordTable::new([">PID", "NAME", ">NODES"]);
        table.row(["7".into(), "a longer name".into(), "10".into()]);
        table.row(["12345".into(), "x".into(), "9".into()]);
        let expected = "  PID  NAME           NODES
    7  a longer name     10
12345  x                  9
";
        assert_eq!(table.text(), expected);
    }

    #[test]
    fn no_name_acts_on_the_terminal() {
        let mut table = RecordTable::new(["DEVICE"]);
        table.row(["\u{1b}[31mred\nline".into()]);
        assert_eq!(table.text(), "DEVICE\n[31mredline\n");
    }
}
