//! `cargo +nightly fuzz run command_stream`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::command_stream::check(bytes));
