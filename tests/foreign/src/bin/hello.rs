//! The example of `docs/libbinder.md`, word for word; the build script takes it from there.

include!(concat!(env!("OUT_DIR"), "/documented_hello.rs"));
