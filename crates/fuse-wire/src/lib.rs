//! FUSE requests and replies as typed bytes.

#![no_std]
#![forbid(unsafe_code)]
