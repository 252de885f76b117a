//! `cargo +nightly fuzz run manager_transactions`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::manager_transactions::check(bytes));
