//! `cargo +nightly fuzz run aidl_arguments`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::aidl_arguments::check(bytes));
