//! How long a thread has waited for a processor.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Asks the kernel for that, again and again.
#[derive(Debug)]
pub struct RunDelay {
    schedstat: File,
}

impl RunDelay {
    /// That of the calling thread.
    ///
    /// # Errors
    ///
    /// As open(2): ENOENT on a kernel that does not count it.
    pub fn of_own_thread() -> io::Result<Self> {
        Ok(Self { schedstat: File::open("/proc/thread-self/schedstat")? })
    }

    /// How long it has waited for a processor since it began, in nanoseconds.
    ///
    /// # Errors
    ///
    /// As read(2); if the kernel says something else.
    pub fn total_ns(&self) -> io::Result<u64> {
        let mut text = [0; 80];
        let len = self.schedstat.read_at(&mut text, 0)?;
        parse(&text[..len]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// The second number: before it comes how long the thread has run.
fn parse(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(parse(b"3284972 117 49\n"), Some(117));
        assert_eq!(parse(b"3284972\n"), None);
    }

    #[test]
    fn it_does_not_become_less() {
        let delay = RunDelay::of_own_thread().unwrap();
        let before = delay.total_ns().unwrap();
        std::thread::yield_now();
        assert!(before <= delay.total_ns().unwrap());
    }
}
