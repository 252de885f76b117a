//! A library that is loaded before the libraries of a program and takes the place of their `ioctl`.
//!
//! `BINDER_WRITE_READ`s of our devices go through the ring; every other call goes on to the kernel as it came, a
//! `BINDER_THREAD_EXIT` once the driver knows of the call that the thread serves. (On x86-64 the library
//! takes the place of `vfork` as well, to know when there are children with the memory of a thread.) It is
//! a guest in strangers' programs: it imports nothing but, weakly, the place of `errno`, the environment and
//! `sched_getcpu`, so that one file serves the C libraries of all distributions; it allocates nothing, starts no
//! thread, keeps no descriptor and says nothing.

#![no_std]

#[cfg(test)]
extern crate std;

mod canary;
mod environment;
#[cfg(feature = "interpose")]
mod errno;
#[cfg(feature = "interpose")]
mod interpose;
mod known_number;
mod known_thread;
mod lane_call;
mod lanes;
#[cfg(any(feature = "interpose", test))]
mod memory_functions;
mod processor;
mod program_mapping;
mod program_memory;
mod ring_table;
mod room;
mod room_buffers;
mod served;
#[cfg(feature = "interpose")]
mod standalone;
mod syscall;
mod thread_exit;
mod valgrind;
mod vfork;
mod weak;
mod write_read;

pub use thread_exit::thread_exit;
pub use write_read::write_read;
