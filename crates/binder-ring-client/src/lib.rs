//! The client's side of the [ring](binder_ring).

#![no_std]
