//! Test interfaces, as the stock AIDL compiler generates them, and services that serve them.
//!
//! The generated code is checked in, so that building needs no compiler. After a change of the
//! `.aidl` files: `UPDATE_AIDL=1 AIDL=/path/to/aidl cargo test -p aidl-tests --test generated`.

#[path = "../generated/mod.rs"]
pub mod aidl;
#[doc(hidden)]
pub use aidl::mangled;
