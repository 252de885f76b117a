//! The benches of a binder device, each beside its baselines in the same run.
//!
//! A bench forks its actors, so it needs a process with one thread, and ends exactly those; it
//! takes what the user asked for and writes a table or lines of JSON.

#![forbid(unsafe_code)]

mod actor;
mod affinity;
mod bench;
mod bench_device;
mod daemon;
mod error;
mod find_bit;
mod flood;
mod freeze;
mod handles;
mod idle;
mod ids;
mod library;
mod logs;
mod pids;
mod ping;
mod random;
mod repeat;
mod report;
mod sendvec;
mod serial_fraction;
mod service;
mod session;
mod soak;
mod statistics;
mod stream;
mod table;
mod target;
mod throughput;
mod transports;

pub use bench::Bench;
pub use error::BenchError;
pub use find_bit::FindBitOptions;
pub use flood::FloodOptions;
pub use freeze::FreezeOptions;
pub use handles::HandlesOptions;
pub use idle::IdleOptions;
pub use ids::IdsOptions;
pub use pids::PidsOptions;
pub use ping::PingOptions;
pub use sendvec::SendvecOptions;
pub use serial_fraction::SerialFractionOptions;
pub use soak::SoakOptions;
pub use throughput::ThroughputOptions;
pub use transports::TransportsOptions;
