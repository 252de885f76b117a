//! Memory that was needed for a burst goes back: pages of receive buffers that no live transaction
//! touches, and room in tables.

use super::{Device, Driver};

/// Pages that one slice gives back: about a millisecond's worth, for others wait meanwhile.
const SLICE_PAGES: usize = 1024;
const PAGE_BYTES: usize = 4096;

impl Driver {
    /// Gives pages back that have been idle while so many turns ended. Says whether more are left.
    pub(super) fn reclaim_idle_pages(&mut self, least_turns: u32) -> bool {
        self.reclaim_slice(least_turns, SLICE_PAGES) == SLICE_PAGES
    }

    /// Has idle pages go back, whosever they are, if there are more pages than there may be: what was just
    /// received on one device has taken the place of what is idle on others.
    pub(super) fn keep_to_budget(&mut self) {
        let excess = self.budget.excess_bytes().div_ceil(PAGE_BYTES);
        if excess > 0 {
            self.reclaim_slice(0, excess.min(SLICE_PAGES));
        }
    }

    fn reclaim_slice(&mut self, least_turns: u32, most: usize) -> usize {
        let mut pages = 0;
        for Device { context, clients, .. } in &mut self.devices {
            pages += context.reclaim_idle_pages(least_turns, most - pages, clients);
            if pages == most {
                break;
            }
        }
        pages
    }

    /// Ends the turn by which the idleness of pages is told, and gives back room in tables.
    pub(super) fn end_idle_turn(&mut self) {
        for Device { context, clients, calls, .. } in &mut self.devices {
            for process in clients.processes() {
                context.end_idle_turn(process);
            }
            context.shrink();
            clients.shrink();
            calls.shrink();
        }
        // The next call makes others, with no more memory than it needs.
        self.used_commands = None;
        self.ending.shrink_to_fit();
        self.left.shrink();
    }
}
