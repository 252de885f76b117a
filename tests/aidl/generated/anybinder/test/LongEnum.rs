/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(non_upper_case_globals)]
use binder::declare_binder_enum;
declare_binder_enum! {
  r#LongEnum : [i64; 2] {
    r#FOO = 100000000000,
    r#BAR = -200000000000,
  }
}
pub(crate) mod mangled {
 pub use super::r#LongEnum as _9_anybinder_4_test_8_LongEnum;
}
