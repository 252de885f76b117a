//! `cargo +nightly fuzz run relayed_streams`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::relayed_streams::check(bytes));
