//! The interfaces of the foreign programs, called by our own client library over sockets.

pub mod client;
pub mod tls;
