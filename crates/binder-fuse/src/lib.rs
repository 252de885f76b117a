//! Serves binderfs over /dev/fuse: FUSE requests in, [`binder_core`], replies out.
//!
//! A request comes in at `session`. What concerns names it answers from the `tree`; what concerns
//! Binder becomes a job of the `driver`, which decodes it (`ioctl`), asks the context, and carries
//! out the effects: a read that sleeps waits in `parked`, data reaches the client's mapping through
//! `mapping`, and `client` knows the memory and the identity of the process behind an open file. Files
//! that clients send one another are held in `files`; a runner (`runners`) puts them into the receiver
//! (`errand`), who takes them from where `brokers` lend them.

mod brokers;
mod client;
mod driver;
mod errand;
mod files;
mod housekeeper;
mod ioctl;
mod mapping;
mod parked;
mod reserve;
mod runners;
mod session;
mod tree;
mod turn;
mod wire;

pub use mapping::Route;
pub use session::{Delivery, DeviceSpec, MountError, Options, ServeError, Session};
