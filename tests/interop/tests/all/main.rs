//! Our library and others, each with the other.

mod awaited;
mod matrix;
mod rpc;
mod suite;
mod tls;
mod traces;
mod types;
mod vsock;
