//! `cargo +nightly fuzz run ring_request`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::ring_request::check(bytes));
