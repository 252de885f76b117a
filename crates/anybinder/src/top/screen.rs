//! The screen: its contents, and its keys.

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Clear, Paragraph, Row as TableRow, Table};

use super::history::INTERVALS;
use super::sample::{ProcessRow, Totals};
use crate::inspect::printable;

/// A column, by which rows can be sorted.
struct Column {
    head: &'static str,
    width: u16,
    cell: fn(&ProcessRow) -> String,
    /// The key by which rows are sorted: largest numbers first.
    key: fn(&ProcessRow) -> SortKey,
}

/// A key by which rows are compared.
#[derive(PartialEq, PartialOrd)]
enum SortKey {
    Number(f64),
    Word(String),
}

#[expect(clippy::cast_precision_loss, reason = "to be compared by people's eyes")]
fn number(value: u64) -> SortKey {
    SortKey::Number(-(value as f64))
}

const COLUMNS: [Column; 16] = [
    Column {
        head: "PID",
        width: 8,
        cell: |row| row.process.pid.to_string(),
        key: |row| SortKey::Number(row.process.pid.into()),
    },
    Column {
        head: "NAME",
        width: 16,
        cell: |row| row.name.clone(),
        key: |row| SortKey::Word(row.name.clone()),
    },
    Column {
        head: "DEVICE",
        width: 10,
        cell: |row| printable(&row.process.device),
        key: |row| SortKey::Word(row.process.device.clone()),
    },
    Column {
        head: "THREADS",
        width: 9,
        cell: |row| format!("{}/{}", row.process.ready_threads, row.process.threads),
        key: |row| number(row.process.threads as u64),
    },
    Column {
        head: "DOOR",
        width: 4,
        cell: |row| row.process.door.name().into(),
        key: |row| SortKey::Word(row.process.door.name().into()),
    },
    Column {
        head: "SENT/s",
        width: 9,
        cell: |row| format!("{:.0}", row.sent_per_s),
        key: |row| SortKey::Number(-row.sent_per_s),
    },
    Column {
        head: "RECV/s",
        width: 9,
        cell: |row| format!("{:.0}", row.received_per_s),
        key: |row| SortKey::Number(-row.received_per_s),
    },
    Column {
        head: "QUEUED",
        width: 7,
        cell: |row| (row.process.queued + row.process.waiting_oneways).to_string(),
        key: |row| number((row.process.queued + row.process.waiting_oneways) as u64),
    },
    Column {
        head: "BUFFERS",
        width: 8,
        cell: |row| row.process.buffers.to_string(),
        key: |row| number(row.process.buffers as u64),
    },
    Column {
        head: "BYTES",
        width: 9,
        cell: |row| row.process.buffer_bytes.to_string(),
        key: |row| number(row.process.buffer_bytes),
    },
    Column {
        head: "PAGES",
        width: 10,
        cell: |row| format!("{}+{}", row.process.pages_in_use, row.process.pages_idle),
        key: |row| number((row.process.pages_in_use + row.process.pages_idle).into()),
    },
    Column {
        head: "NODES",
        width: 7,
        cell: |row| row.process.nodes.to_string(),
        key: |row| number(row.process.nodes as u64),
    },
    Column {
        head: "HANDLES",
        width: 8,
        cell: |row| row.process.handles.to_string(),
        key: |row| number(row.process.handles as u64),
    },
    Column {
        head: "OLDEST",
        width: 9,
        cell: |row| duration(row.oldest_call_ms * 1000),
        key: |row| number(row.oldest_call_ms),
    },
    Column {
        head: "WORST",
        width: 9,
        cell: |row| duration(row.process.longest_call_us),
        key: |row| number(row.process.longest_call_us),
    },
    Column {
        head: "HISTORY",
        width: INTERVALS,
        cell: |row| row.history.clone(),
        key: |row| SortKey::Number(-(row.sent_per_s + row.received_per_s)),
    },
];

/// The column by which rows are sorted at first: calls received.
const FIRST_SORT: usize = 6;
/// The columns that a narrow terminal shows, the first before all others.
const BY_WORTH: [&str; COLUMNS.len()] = [
    "PID", "NAME", "RECV/s", "QUEUED", "WORST", "SENT/s", "OLDEST", "THREADS", "HISTORY", "DEVICE",
    "DOOR", "NODES", "HANDLES", "BYTES", "PAGES", "BUFFERS",
];
/// Between two columns.
const GAP: u16 = 1;

const HELP: &str = "\
 THREADS  idle / all that the driver knows
 DOOR     how it makes its calls: fuse, or ring (shared memory)
 SENT/s   calls and one-ways sent, RECV/s received
 QUEUED   work that waits to be read, one-ways in line included
 BUFFERS  in the receive area, BYTES that they take
 PAGES    of the receive area: with buffers + idle, which go back after a while
 OLDEST   age of the oldest call to it that has no answer
 WORST    the longest call to it so far
 HISTORY  its calls sent and received by interval; the highest bar is its own maximum

 < >      sort by the column to the left or to the right
 r        reverse the order
 w        waits and deadlocks; w again for processes
 l        resources of users, and their limits; l again for processes
 c        latencies by method, from now on: calls are traced while this is shown
 s        RPC servers that programs publish, and their sessions; s again for processes
 /        show only names, numbers or devices with a text; Esc takes it back
 p        pause, and go on
 up down  scroll
 q        quit

 Any key closes this.";

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScreenStep {
    GoOn,
    Quit,
}

/// The views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopView {
    Processes,
    Waits,
    Limits,
    Calls,
    Servers,
}

/// The choices of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Screen {
    sort: usize,
    is_reversed: bool,
    filter: String,
    is_typing: bool,
    is_helping: bool,
    pub(super) view: TopView,
    pub(super) is_paused: bool,
    first_row: usize,
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            sort: FIRST_SORT,
            is_reversed: false,
            filter: String::new(),
            is_typing: false,
            is_helping: false,
            view: TopView::Processes,
            is_paused: false,
            first_row: 0,
        }
    }
}

impl Screen {
    /// Acts on a key.
    pub(super) fn press(&mut self, key: KeyEvent) -> ScreenStep {
        if key.kind == KeyEventKind::Release {
            return ScreenStep::GoOn;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return ScreenStep::Quit;
        }
        if self.is_helping {
            self.is_helping = false;
            return ScreenStep::GoOn;
        }
        if self.is_typing {
            self.type_filter(key.code);
            return ScreenStep::GoOn;
        }
        match key.code {
            KeyCode::Char('q') => return ScreenStep::Quit,
            KeyCode::Char('w') => self.switch(TopView::Waits),
            KeyCode::Char('l') => self.switch(TopView::Limits),
            KeyCode::Char('c') => self.switch(TopView::Calls),
            KeyCode::Char('s') => self.switch(TopView::Servers),
            KeyCode::Esc if self.view != TopView::Processes => self.switch(self.view),
            KeyCode::Esc if self.filter.is_empty() => return ScreenStep::Quit,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('<') | KeyCode::Left => self.sort = self.sort.saturating_sub(1),
            KeyCode::Char('>') | KeyCode::Right => {
                self.sort = (self.sort + 1).min(COLUMNS.len() - 1);
            }
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('?' | 'h') => self.is_helping = true,
            KeyCode::Up => self.first_row = self.first_row.saturating_sub(1),
            KeyCode::Down => self.first_row += 1,
            _ => {}
        }
        ScreenStep::GoOn
    }

    /// Shows this, or processes again.
    fn switch(&mut self, view: TopView) {
        self.view = if self.view == view { TopView::Processes } else { view };
        self.first_row = 0;
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(letter) => self.filter.push(letter),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            _ => {}
        }
    }

    /// Sorts the rows, and leaves out those that the filter excludes.
    pub(super) fn arrange(&self, rows: &mut Vec<ProcessRow>) {
        rows.retain(|row| {
            let process = &row.process;
            row.name.contains(&self.filter)
                || process.device.contains(&self.filter)
                || process.pid.to_string().contains(&self.filter)
        });
        let key = COLUMNS[self.sort].key;
        rows.sort_by(|a, b| {
            let order = key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal);
            let order = if self.is_reversed { order.reverse() } else { order };
            order.then((a.process.pid, &a.process.device).cmp(&(b.process.pid, &b.process.device)))
        });
    }

    /// Draws rows that are arranged, or the text of another view.
    pub(super) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        rows: &[ProcessRow],
        page: &str,
        (totals, place): (&Totals, &str),
    ) {
        let areas =
            Layout::vertical([Constraint::Length(3), Constraint::Min(2), Constraint::Length(1)]);
        let [top, middle, bottom] = areas.areas(frame.area());
        frame.render_widget(Paragraph::new(totals.text(place, self.is_paused)), top);
        match self.view {
            TopView::Processes => self.draw_rows(frame, middle, rows),
            TopView::Waits | TopView::Limits | TopView::Calls | TopView::Servers => {
                self.draw_page(frame, middle, page);
            }
        }
        frame.render_widget(Paragraph::new(self.keys()), bottom);
        if self.is_helping {
            frame.render_widget(Clear, middle);
            frame.render_widget(Paragraph::new(HELP), middle);
        }
    }

    fn draw_page(&mut self, frame: &mut Frame<'_>, area: Rect, page: &str) {
        let lines: Vec<_> = page.lines().collect();
        self.first_row = self.first_row.min(lines.len().saturating_sub(area.height.into()));
        let shown = lines.iter().skip(self.first_row).map(|line| Line::from(printable(line)));
        frame.render_widget(Paragraph::new(Text::from_iter(shown)), area);
    }

    fn draw_rows(&mut self, frame: &mut Frame<'_>, middle: Rect, rows: &[ProcessRow]) {
        // One line is the heads'.
        let room = usize::from(middle.height.saturating_sub(1));
        self.first_row = self.first_row.min(rows.len().saturating_sub(room));
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let columns = self.columns(frame.area().width);
        let heads = columns.iter().map(|&index| {
            let column = &COLUMNS[index];
            let mark = if index == self.sort { "*" } else { "" };
            aligned(format!("{}{mark}", column.head), index).style(bold)
        });
        let lines = rows.iter().skip(self.first_row).take(room).map(|row| {
            TableRow::new(columns.iter().map(|&index| aligned((COLUMNS[index].cell)(row), index)))
        });
        let widths = columns.iter().map(|&index| Constraint::Length(COLUMNS[index].width));
        let table = Table::new(lines, widths)
            .column_spacing(GAP)
            .header(TableRow::new(heads).style(Style::new().add_modifier(Modifier::REVERSED)));
        frame.render_widget(table, middle);
    }

    /// The columns that fit entirely into that many cells, in their order: a number without its first digits would be
    /// another number. The column by which rows are sorted is always among them.
    fn columns(&self, width: u16) -> Vec<usize> {
        let by_worth = BY_WORTH.iter().filter_map(|head| {
            COLUMNS
                .iter()
                .position(|column| column.head == *head && column.head != self.sorted_by())
        });
        let mut left = width;
        let mut fitting: Vec<usize> = std::iter::once(self.sort)
            .chain(by_worth)
            .take_while(|&index| {
                let fits = left.checked_sub(COLUMNS[index].width);
                left = fits.unwrap_or(0).saturating_sub(GAP);
                fits.is_some()
            })
            .collect();
        fitting.sort_unstable();
        fitting
    }

    fn sorted_by(&self) -> &'static str {
        COLUMNS[self.sort].head
    }

    fn keys(&self) -> String {
        if self.is_typing {
            return format!("show only: {}_", self.filter);
        }
        let only = match self.filter.as_str() {
            "" => String::new(),
            filter => format!("  (only: {filter})"),
        };
        format!(
            "q quit  ? help  < > sort  / filter  p pause  w waits  l limits  c calls  s RPC{only}"
        )
    }
}

impl Totals {
    fn text(&self, place: &str, is_paused: bool) -> Text<'static> {
        let Self { processes, threads, idle_threads, queued, nodes, handles, .. } = self;
        let paused = if is_paused { "  PAUSED" } else { "" };
        let worst = duration(self.longest_call_us);
        Text::from(vec![
            Line::from(format!(
                "{place}: {processes} opens, {threads} threads ({idle_threads} idle), {:.0} sent/s, \
                 worst call {worst}{paused}",
                self.sent_per_s
            )),
            Line::from(format!(
                "{nodes} nodes, {handles} handles, {queued} queued, {} bytes in buffers, pages: {} in \
                 use, {} idle",
                self.buffer_bytes, self.pages_in_use, self.pages_idle
            )),
        ])
    }
}

/// Words begin together, numbers end together.
fn aligned(text: String, column: usize) -> Cell<'static> {
    let is_word = matches!(COLUMNS[column].head, "NAME" | "DEVICE");
    let line = Line::from(text);
    Cell::from(if is_word { line } else { line.right_aligned() })
}

/// Writes microseconds in the unit that leaves one to three digits before the point.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn duration(us: u64) -> String {
    match us {
        0 => "-".into(),
        1..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::sample::tests::sample;
    use super::*;

    const PAGE: &str = "7 waits\n  for 8\u{1b}\n";

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn type_text(screen: &mut Screen, text: &str) {
        for letter in text.chars() {
            assert_eq!(screen.press(key(KeyCode::Char(letter))), ScreenStep::GoOn);
        }
    }

    fn drawn(screen: &mut Screen, pids: &[u32]) -> String {
        drawn_on(screen, pids, 150)
    }

    fn drawn_on(screen: &mut Screen, pids: &[u32], width: u16) -> String {
        let start = Instant::now();
        let (before, after) =
            (sample(start, pids, 0), sample(start + Duration::from_secs(1), pids, 40));
        let mut rows = after.rows(&before);
        screen.arrange(&mut rows);
        let mut terminal = Terminal::new(TestBackend::new(width, 12)).unwrap();
        let totals = after.totals(&before);
        terminal.draw(|frame| screen.draw(frame, &rows, PAGE, (&totals, "/dev/binderfs"))).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn all_that_is_asked_for_is_shown() {
        let shown = drawn(&mut Screen::default(), &[4_000_001, 4_000_002]);
        for part in [
            "/dev/binderfs: 2 opens, 6 threads (2 idle), 40 sent/s, worst call 1.5 ms",
            "8 nodes, 10 handles, 6 queued, 8192 bytes in buffers, pages: 2 in use, 12 idle",
            "RECV/s*",
            "4000001",
            "1/3",
            "1+6",
            "q quit",
        ] {
            assert!(shown.contains(part), "{part} is missing:\n{shown}");
        }
    }

    #[test]
    fn a_narrow_terminal_shows_whole_columns_or_none_of_them() {
        let wide = drawn_on(&mut Screen::default(), &[4_000_001], 150);
        let row = |shown: &str| {
            let lines = shown.lines().map(|line| line.trim_matches('"').to_owned());
            lines.filter(|line| line.contains("4000001")).collect::<String>()
        };
        let cells =
            |shown: &str| row(shown).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let whole = cells(&wide);
        for width in 20..150 {
            let mut screen = Screen::default();
            let shown = drawn_on(&mut screen, &[4_000_001], width);
            assert!(shown.contains("RECV/s*"), "what rows are sorted by is shown:\n{shown}");
            for cell in cells(&shown) {
                assert!(whole.contains(&cell), "{cell} is cut at {width}:\n{shown}\n{wide}");
            }
        }
        let worths: std::collections::BTreeSet<_> = BY_WORTH.into();
        assert_eq!(worths, COLUMNS.iter().map(|column| column.head).collect(), "none is forgotten");
    }

    #[test]
    fn rows_are_sorted_and_turned_around() {
        let mut screen = Screen::default();
        for _ in 0..FIRST_SORT {
            screen.press(key(KeyCode::Char('<')));
        }
        let place = |shown: &str, pid: &str| shown.find(pid).unwrap();
        let shown = drawn(&mut screen, &[4_000_002, 4_000_001]);
        assert!(shown.contains("PID*"), "{shown}");
        assert!(place(&shown, "4000001") < place(&shown, "4000002"), "{shown}");
        screen.press(key(KeyCode::Char('r')));
        let shown = drawn(&mut screen, &[4_000_001, 4_000_002]);
        assert!(place(&shown, "4000002") < place(&shown, "4000001"), "{shown}");
    }

    #[test]
    fn a_filter_is_typed_and_taken_back() {
        let mut screen = Screen::default();
        type_text(&mut screen, "/4000002");
        let shown = drawn(&mut screen, &[4_000_001, 4_000_002]);
        assert!(shown.contains("show only: 4000002_") && !shown.contains("4000001"), "{shown}");
        screen.press(key(KeyCode::Enter));
        assert!(drawn(&mut screen, &[4_000_001]).contains("(only: 4000002)"));
        // Within a text, q is a letter; afterwards it ends the program.
        assert_eq!(screen.press(key(KeyCode::Esc)), ScreenStep::GoOn);
        assert!(drawn(&mut screen, &[4_000_001]).contains("4000001"));
        assert_eq!(screen.press(key(KeyCode::Esc)), ScreenStep::Quit);
        assert_eq!(screen.press(key(KeyCode::Char('q'))), ScreenStep::Quit);
    }

    #[test]
    fn help_covers_the_rows_until_any_key() {
        let mut screen = Screen::default();
        screen.press(key(KeyCode::Char('?')));
        assert!(drawn(&mut screen, &[4_000_001]).contains("idle / all"));
        assert_eq!(screen.press(key(KeyCode::Char('q'))), ScreenStep::GoOn);
        assert!(!drawn(&mut screen, &[4_000_001]).contains("idle / all"));
    }

    #[test]
    fn other_views_take_the_place_of_the_rows_and_give_it_back() {
        for view in ['w', 'l', 'c', 's'] {
            let mut screen = Screen::default();
            screen.press(key(KeyCode::Char(view)));
            let shown = drawn(&mut screen, &[4_000_001]);
            assert!(shown.contains("  for 8") && !shown.contains("4000001"), "{shown}");
            assert!(
                shown.contains("/dev/binderfs: 1 opens") && !shown.contains('\u{1b}'),
                "{shown}"
            );
            assert_eq!(screen.press(key(KeyCode::Esc)), ScreenStep::GoOn);
            assert!(drawn(&mut screen, &[4_000_001]).contains("4000001"));
        }
    }

    #[test]
    fn it_scrolls_as_far_as_there_are_rows() {
        let pids: Vec<u32> = (4_000_000..4_000_020).collect();
        let mut screen = Screen::default();
        for _ in 0..100 {
            screen.press(key(KeyCode::Down));
        }
        let shown = drawn(&mut screen, &pids);
        assert!(shown.contains("4000019") && !shown.contains("4000005"), "{shown}");
    }

    #[test]
    fn a_tiny_terminal_is_no_reason_to_fail() {
        let mut screen = Screen::default();
        screen.press(key(KeyCode::Char('?')));
        let mut terminal = Terminal::new(TestBackend::new(3, 2)).unwrap();
        terminal.draw(|frame| screen.draw(frame, &[], PAGE, (&Totals::default(), "x"))).unwrap();
    }
}
