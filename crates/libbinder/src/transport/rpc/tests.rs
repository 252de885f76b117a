//! Sessions between two ends in one process, over real sockets.

mod authorizer;
mod awaited;
mod bad_peers;
mod calls;
mod deadlines;
mod forwarding;
mod handed_over;
mod idle;
mod lifetimes;
mod one_call;
mod quotas;
mod raw;
mod reasons;
mod reconnect;
mod relayed;
mod service;
mod socket_files;
