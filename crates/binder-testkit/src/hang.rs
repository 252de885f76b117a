//! How long a test waits for what must come.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what must come: enough for a machine that does much else, or is emulated. The limit is
/// there to make a failure with a message of what hangs, and for nothing else.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// Waits until something is so, and fails if it hangs.
#[track_caller]
pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < HANG_TIMEOUT, "it never came to be");
        thread::sleep(Duration::from_millis(2));
    }
}
