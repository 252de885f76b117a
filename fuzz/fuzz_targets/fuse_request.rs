//! `cargo +nightly fuzz run fuse_request`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::fuse_request::check(bytes));
