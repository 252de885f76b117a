//! Every type of AIDL between our library and rsbinder's, with bindings of rsbinder's compiler.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

mod client;
mod server;
