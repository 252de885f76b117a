//! Real processes that do nothing, for the kernel to show.

use binder_os::processes::{self, Child, Fork, Signal};

/// Children that sleep until this is dropped, or this process ends.
pub(super) struct Sleepers {
    children: Vec<Child>,
}

impl Sleepers {
    /// Starts `wanted` of them, or as many as this machine allows; then also returns why not more.
    pub(super) fn start(wanted: u32) -> (Self, Option<std::io::Error>) {
        let mut sleepers = Self { children: Vec::new() };
        let refused = sleepers.add(wanted).err();
        (sleepers, refused)
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.children.len()).unwrap_or(u32::MAX)
    }

    /// Ends the oldest `count`, and starts as many others.
    pub(super) fn replace(&mut self, count: u32) -> std::io::Result<()> {
        let count = count.min(self.count());
        let ended: Vec<Child> = self.children.drain(..count as usize).collect();
        end(&ended);
        self.add(count)
    }

    fn add(&mut self, count: u32) -> std::io::Result<()> {
        let parent = std::process::id();
        for _ in 0..count {
            match processes::fork()? {
                Fork::Child => sleep(parent),
                Fork::Parent(child) => self.children.push(child),
            }
        }
        Ok(())
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        end(&self.children);
    }
}

/// In a fresh child: sleeps, and ends with its parent at the latest.
fn sleep(parent: u32) -> ! {
    if processes::die_with_parent(Signal::KILL).is_err() || processes::parent() != Some(parent) {
        std::process::exit(1);
    }
    loop {
        std::thread::park();
    }
}

/// Ends children, each by its own number, which nobody else has before it was waited for.
fn end(children: &[Child]) {
    for child in children {
        let _ = child.signal(Signal::KILL);
    }
    for child in children {
        let _ = child.wait();
    }
}
