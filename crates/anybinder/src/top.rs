//! `anybinder top`: the activity of processes, as it changes.

mod calls;
mod history;
mod sample;
mod screen;
mod servers;
mod waits;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use serde::Serialize;

use crate::cli::TopOptions;
use crate::failure::{Failure, failed};
use crate::inspect::{Binderfs, print};
use crate::top::calls::CallsPage;
use crate::top::history::RateHistory;
use crate::top::screen::{Screen, ScreenStep, TopView};
use crate::top::servers::ServersPage;
use crate::top::waits::WaitsPage;

pub(crate) use sample::{ProcessRow, Sample};

pub(crate) fn run(options: &TopOptions) -> Result<ExitCode, Failure> {
    let binderfs = Binderfs::find(&options.inspect)?;
    let interval = Duration::from_secs_f64(options.interval);
    // An error here is told before the terminal is taken.
    let first = Sample::take(&binderfs)?;
    if options.inspect.json {
        return print_samples(&binderfs, first, interval, options.count);
    }
    if !stdout().is_terminal() {
        return Err(Failure::new("showing what happens", "the output is not a terminal")
            .advise("`anybinder top --json` prints lines, `anybinder ps` a table, once"));
    }
    let mut terminal = ratatui::try_init().map_err(failed("preparing the terminal"))?;
    let shown = show(&mut terminal, &binderfs, first, interval, options.count);
    let restored = ratatui::try_restore().map_err(failed("restoring the terminal"));
    shown.and(restored)?;
    Ok(ExitCode::SUCCESS)
}

/// Draws, takes keys and draws again, until the user has seen enough or `count` samples are shown.
fn show(
    terminal: &mut DefaultTerminal,
    binderfs: &Binderfs,
    first: Sample,
    interval: Duration,
    count: Option<u32>,
) -> Result<(), Failure> {
    let place = binderfs.dir().display().to_string();
    let mut screen = Screen::default();
    let (mut before, mut now) = (first, Sample::take(binderfs)?);
    let mut next = Instant::now() + interval;
    let mut shown = 0;
    let mut history = RateHistory::default();
    let mut pages = TopPages::default();
    history.note(&now.rows(&before));
    loop {
        let mut rows = now.rows(&before);
        history.fill(&mut rows);
        screen.arrange(&mut rows);
        let totals = (&now.totals(&before), &*place);
        let page = match screen.view {
            TopView::Processes => String::new(),
            TopView::Waits => pages.waits.text().to_owned(),
            TopView::Limits => now.limits().to_owned(),
            TopView::Calls => pages.calls.text(),
            TopView::Servers => pages.servers.text().to_owned(),
        };
        terminal
            .draw(|frame| screen.draw(frame, &rows, &page, totals))
            .map_err(failed("drawing"))?;
        let tried = "reading the terminal";
        let left = next.saturating_duration_since(Instant::now());
        if event::poll(left).map_err(failed(tried))? {
            let event = event::read().map_err(failed(tried))?;
            let view = screen.view;
            if let Event::Key(key) = event
                && screen.press(key) == ScreenStep::Quit
            {
                return Ok(());
            }
            if view != screen.view {
                pages.leave();
                pages.look_at(screen.view, binderfs)?;
            }
        }
        if Instant::now() < next {
            continue;
        }
        next = Instant::now() + interval;
        if !screen.is_paused {
            before = std::mem::replace(&mut now, Sample::take(binderfs)?);
            history.note(&now.rows(&before));
            pages.look_at(screen.view, binderfs)?;
            shown += 1;
            if count.is_some_and(|count| shown >= count) {
                return Ok(());
            }
        }
    }
}

/// The views that show more than the samples do.
#[derive(Default)]
struct TopPages {
    waits: WaitsPage,
    calls: CallsPage,
    servers: ServersPage,
}

impl TopPages {
    /// Updates a view.
    fn look_at(&mut self, view: TopView, binderfs: &Binderfs) -> Result<(), Failure> {
        match view {
            TopView::Processes | TopView::Limits => Ok(()),
            TopView::Waits => self.waits.look(binderfs),
            TopView::Calls => self.calls.look(binderfs),
            TopView::Servers => {
                self.servers.look();
                Ok(())
            }
        }
    }

    /// Ends the work that was only for the view that was shown.
    fn leave(&mut self) {
        self.waits.leave();
        self.calls.leave();
        self.servers.leave();
    }
}

/// A row and when its interval ended.
#[derive(Serialize)]
struct TimedRow {
    /// Milliseconds since 1970.
    at_ms: u64,
    #[serde(flatten)]
    row: ProcessRow,
}

/// Prints a line for each process and interval.
fn print_samples(
    binderfs: &Binderfs,
    first: Sample,
    interval: Duration,
    count: Option<u32>,
) -> Result<ExitCode, Failure> {
    let mut before = first;
    for _ in 0..count.unwrap_or(u32::MAX) {
        thread::sleep(interval);
        let now = Sample::take(binderfs)?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        let rows = now.rows(&before).into_iter().map(|row| TimedRow { at_ms, row });
        print(&binder_report::records::to_lines(rows))?;
        before = now;
    }
    Ok(ExitCode::SUCCESS)
}
