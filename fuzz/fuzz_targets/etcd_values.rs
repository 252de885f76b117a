//! `cargo +nightly fuzz run etcd_values`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::etcd_values::check(bytes));
