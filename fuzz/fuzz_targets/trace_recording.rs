//! `cargo +nightly fuzz run trace_recording`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::trace_recording::check(bytes));
