//! The interfaces of the foreign programs, served and called by our own client library.
//!
//! The generated code is checked in, so that building needs no compiler. After a change of the
//! `.aidl` files: `UPDATE_AIDL=1 AIDL=/path/to/aidl cargo test -p interop --test generated`.

#[path = "../generated/mod.rs"]
pub mod aidl;
pub mod client;
pub mod host;

#[doc(hidden)]
pub use aidl::mangled;
