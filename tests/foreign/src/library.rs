//! The objects of programs that use our own client library, over whatever transport.

pub mod host;
pub mod visitor;
