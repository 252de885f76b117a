/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(non_upper_case_globals)]
use binder::declare_binder_enum;
declare_binder_enum! {
  r#ByteEnum : [i8; 3] {
    r#FOO = 1,
    r#BAR = 2,
    r#BAZ = 3,
  }
}
pub(crate) mod mangled {
 pub use super::r#ByteEnum as _9_anybinder_4_test_8_ByteEnum;
}
