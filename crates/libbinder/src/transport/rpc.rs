//! Calls over sockets: RPC Binder.
//!
//! What a session decides is in the crate `binder_rpc`; here are its sockets and threads. A
//! `connection` is one socket with its bytes; it belongs to one thread at a time. Our own calls
//! take one from the `pool` and wait on it (`call`); the peer's calls arrive on others, each with
//! a thread that serves (`answer`) while it is in use (`served`). A `shared` session is what they have in common. The answers to
//! calls that are `awaited` are read by one thread for all of them, the `reader`.

mod answer;
mod awaited;
mod busy;
mod call;
mod codec;
mod connection;
mod endpoint;
mod error;
mod handshake;
mod link;
mod offer;
mod peer;
mod pool;
mod proxy;
mod publication;
mod quota;
mod reader;
mod relayed;
mod served;
mod server;
mod session;
mod session_table;
mod shared;
mod socket_file;
#[cfg(feature = "tls")]
mod tls;

pub use binder_rpc::handshake::{FdMode as FileDescriptorTransportMode, HandshakeError};
pub use binder_rpc::{Ending, ProtocolVersion, SessionLimits};
pub use endpoint::PeerAddress;
pub use error::RpcError;
pub use peer::PeerIdentity;
#[cfg(feature = "tls")]
pub use peer::certificate_names;
pub use publication::{PublishedReport, published_reports};
pub use server::{ResourceUse, RpcServer, ServerStatistics};
pub use session::RpcSession;
#[cfg(feature = "tls")]
pub use tls::TlsCredentials;

#[cfg(test)]
mod tests;
