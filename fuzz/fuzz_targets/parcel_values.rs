//! `cargo +nightly fuzz run parcel_values`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::parcel_values::check(bytes));
