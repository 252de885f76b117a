//! `cargo +nightly fuzz run lane_segment`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::lane_segment::check(bytes));
