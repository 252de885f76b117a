//! `cargo +nightly fuzz run rpc_session`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anybinder_fuzz::rpc_session::check(bytes));
