/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(non_upper_case_globals)]
use binder::declare_binder_enum;
declare_binder_enum! {
  r#IntEnum : [i32; 3] {
    r#FOO = 1000,
    r#BAR = 2000,
    r#SAME_AS_FOO = 1000,
  }
}
pub(crate) mod mangled {
 pub use super::r#IntEnum as _9_anybinder_4_test_7_IntEnum;
}
