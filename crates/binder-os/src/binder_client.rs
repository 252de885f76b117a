//! A minimal binder client.
