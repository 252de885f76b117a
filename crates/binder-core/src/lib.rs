//! The Binder driver as a state machine: no system call, clock or thread.

#![no_std]
#![forbid(unsafe_code)]
