//! Members and a store that do what they may, in any order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claims;
pub mod corpus;
mod model;
mod props;
mod status;
mod store;
