//! Every system call and every unsafe block of the driver side.
//!
//! The crates that decide are pure; the crates that serve are safe. What is left, the border to
//! the kernel, is here behind safe functions, one noun per module. A module that needs `unsafe`
//! says so at its head, and those heads are the list to audit.

pub mod acting_user;
pub mod affinity;
pub mod binder_client;
pub mod binder_device;
pub mod binder_returns;
mod borrowed_memory;
pub mod broker;
pub mod cancel_token;
mod cgroups;
pub mod client_files;
pub mod client_memory;
pub mod client_thread;
pub mod conversation;
pub mod credentials;
pub mod delivery;
pub mod descendants;
mod device_lanes;
mod device_ring;
mod exhausted;
pub mod file_lock;
pub mod filesystems;
pub mod fork_count;
pub mod fuse_device;
pub mod heap;
pub mod in_flight;
pub mod injection;
mod lane_memory;
pub mod mapped_memory;
pub mod memory_limit;
pub mod memory_pressure;
pub mod mount_view;
pub mod mounts;
pub mod namespaces;
pub mod packet_socket;
pub mod priority;
pub mod private_dev;
pub mod proc_dir;
pub mod proc_files;
pub mod processes;
pub mod readiness;
pub mod realtime;
pub mod ring_memory;
pub mod ring_switch;
pub mod run_delay;
pub mod seccomp;
pub mod shared_page;
pub mod signals;
mod steady_clock;
pub mod terminal;
pub mod thread_status;
pub mod thread_watch;
pub mod token;

pub use binder_client::BinderClient;
pub use binder_device::BinderDevice;
pub use broker::Broker;
pub use cancel_token::CancelToken;
pub use client_memory::{ClientMemory, Fault, PinnedMemory};
pub use client_thread::ClientThread;
pub use conversation::Conversation;
pub use credentials::ThreadUser;
pub use delivery::IncomingTransaction;
pub use device_ring::lanes_wanted_after;
pub use exhausted::ExhaustedLimit;
pub use fuse_device::{
    BINDERFS_TYPE, BackingId, FuseDevice, MountOptions, ReadError, ReplyOutcome,
};
pub use in_flight::FileInFlight;
pub use mapped_memory::{MappedMemory, OutOfBounds, page_bytes};
pub use memory_pressure::MemoryPressure;
pub use mount_view::{MountView, PathKind};
pub use proc_dir::{ProcDir, ProcStat};
pub use proc_files::FileId;
pub use ring_memory::RingMemory;
pub use run_delay::RunDelay;
pub use steady_clock::SteadyClock;
pub use thread_status::{ThreadNamespaces, ThreadStatus, UserAndGroup};
pub use thread_watch::ThreadWatch;
pub use token::PipeToken;
