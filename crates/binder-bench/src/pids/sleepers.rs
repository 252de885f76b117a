//! Real processes that do nothing, for the kernel to show.

use std::io::{self, PipeReader, PipeWriter};
use std::process::{Child, Command, Stdio};

/// A program that waits for its input, and ends with it.
const PROGRAM: &str = "cat";

/// Children that sleep until this is dropped, or this process ends.
///
/// Each has executed a program, as processes have: forks that only share the pages of their parent
/// would be cheaper to show than those of any machine, and dearer to start.
pub(super) struct Sleepers {
    children: Vec<Child>,
    input: PipeReader,
    /// What keeps them asleep.
    _output: PipeWriter,
}

impl Sleepers {
    /// Starts `wanted` of them, or as many as this machine allows; then also returns why not more.
    ///
    /// # Errors
    ///
    /// As pipe(2).
    pub(super) fn start(wanted: u32) -> io::Result<(Self, Option<io::Error>)> {
        let (input, output) = io::pipe()?;
        let mut sleepers = Self { children: Vec::new(), input, _output: output };
        let refused = sleepers.add(wanted).err();
        Ok((sleepers, refused))
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.children.len()).unwrap_or(u32::MAX)
    }

    /// Ends the oldest `count`, and starts as many others.
    pub(super) fn replace(&mut self, count: u32) -> io::Result<()> {
        let count = count.min(self.count());
        let mut ended: Vec<Child> = self.children.drain(..count as usize).collect();
        end(&mut ended);
        self.add(count)
    }

    fn add(&mut self, count: u32) -> io::Result<()> {
        for _ in 0..count {
            let mut command = Command::new(PROGRAM);
            command.stdin(self.input.try_clone()?).stdout(Stdio::null()).stderr(Stdio::null());
            self.children.push(command.spawn()?);
        }
        Ok(())
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        end(&mut self.children);
    }
}

/// Ends children, each by its own number, which nobody else has before it was waited for.
fn end(children: &mut [Child]) {
    for child in &mut *children {
        let _ = child.kill();
    }
    for child in children {
        let _ = child.wait();
    }
}
