//! Every system call and every unsafe block of the driver side.
//!
//! The crates that decide are pure; the crates that serve are safe. What is left, the border to
//! the kernel, is here behind safe functions, one noun per module. A module that needs `unsafe`
//! says so at its head, and those heads are the list to audit.

pub mod binder_client;
pub mod client_memory;
pub mod client_thread;
pub mod fuse_device;
pub mod mapping;
pub mod namespaces;
pub mod nice;
pub mod private_dev;
pub mod proc_files;
pub mod processes;
pub mod shared_page;
pub mod signals;

pub use binder_client::BinderClient;
pub use client_memory::{ClientMemory, Fault, PinnedMemory, ReadIntoError};
pub use client_thread::ClientThread;
pub use fuse_device::{BackingId, FuseDevice, MountOptions, ReadError, Written};
pub use mapping::{Mapping, OutOfBounds};
pub use proc_files::FileId;
