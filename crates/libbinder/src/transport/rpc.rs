//! Calls over sockets: RPC Binder.
