//! The encoding from outside.

mod bytes;
pub mod corpus;
mod props;
