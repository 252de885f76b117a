//! `cargo +nightly fuzz run forwarded_parcels`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::forwarded_parcels::check(bytes));
