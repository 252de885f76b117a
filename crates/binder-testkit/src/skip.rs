//! Tests that this machine or user cannot make.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::thread;

/// Says that the test that calls this is left out, in whole or in part, and why: a line that begins with
/// `SKIPPED:`, which the harness of a test that passes does not keep back.
pub fn skip(reason: impl Display) {
    let test = thread::current().name().map(|name| format!("{name}: ")).unwrap_or_default();
    // In one piece, and past the harness, which takes what the macros print. If stderr has no
    // reader, it is lost.
    let _ = io::stderr().write_all(format!("SKIPPED: {test}{reason}\n").as_bytes());
}
