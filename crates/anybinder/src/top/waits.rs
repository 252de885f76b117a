//! The page of waits.

use crate::failure::Failure;
use crate::inspect::{Binderfs, Look, WaitMonitor, waits_text};

/// The waits at the last look. There are no looks while the page is not shown.
#[derive(Default)]
pub(super) struct WaitsPage {
    monitor: Option<WaitMonitor>,
    text: String,
}

impl WaitsPage {
    /// Looks once more.
    pub(super) fn look(&mut self, binderfs: &Binderfs) -> Result<(), Failure> {
        let mut look = Look::take(binderfs)?;
        let findings = match &mut self.monitor {
            Some(monitor) => monitor.find(&mut look),
            None => {
                self.monitor = Some(WaitMonitor::new(&look));
                Vec::new()
            }
        };
        self.text = waits_text(&look, &findings);
        Ok(())
    }

    /// Forgets the last look: it is no evidence of how long a wait lasts.
    pub(super) fn leave(&mut self) {
        *self = Self::default();
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}
