//! Memory that was needed for a burst goes back: pages of receive buffers that no live transaction
//! touches, and room in tables.

use binder_core::ProcessKey;

use super::{Device, Driver};

/// Pages that one slice gives back: about a millisecond's worth, for others wait meanwhile.
const SLICE_PAGES: usize = 1024;

impl Driver {
    /// Gives pages back that have been idle while so many turns ended. Says whether more are left.
    pub(super) fn reclaim_idle_pages(&mut self, least_turns: u32) -> bool {
        let mut room = SLICE_PAGES;
        for device in &mut self.devices {
            let processes: Vec<ProcessKey> = device.clients.processes().collect();
            for process in processes {
                room -= device.reclaim_idle_pages(process, least_turns, room);
                if room == 0 {
                    return true;
                }
            }
        }
        false
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

impl Device {
    /// Gives up to `most` pages of a process back, and returns how many.
    fn reclaim_idle_pages(&mut self, process: ProcessKey, least_turns: u32, most: usize) -> usize {
        let Self { context, clients, .. } = self;
        let (mut run, mut pages) = (0..0, 0);
        while pages < most
            && let Some(page) = context.reclaim_idle_page(process, least_turns)
        {
            pages += 1;
            // Neighbours became idle one after the other, and go together.
            if page == run.end {
                run.end += 1;
                continue;
            }
            if !run.is_empty() {
                clients.release_pages(process, run);
            }
            run = page..page + 1;
        }
        if !run.is_empty() {
            clients.release_pages(process, run);
        }
        pages
    }
}
