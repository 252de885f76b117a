//! Serves binderfs over /dev/fuse: FUSE requests in, [`binder_core`], replies out.
//!
//! A request comes in at `session`. What concerns names it answers from the `tree`; what concerns
//! Binder becomes a job of the `driver`, which decodes it (`ioctl`), asks the context, and carries
//! out the effects: a read that sleeps waits in `parked`, a freeze in `driver/freezing` (until the
//! `alarm` at the latest), data reaches the client's mapping through
//! `mapping`, and `client` knows the memory and the identity of the process behind an open file.

mod alarm;
mod client;
mod driver;
mod housekeeper;
mod ioctl;
mod mapping;
mod parked;
mod reserve;
mod session;
mod tree;
mod turn;
mod wire;

pub use mapping::Route;
pub use session::{Delivery, DeviceSpec, MountError, Options, ServeError, Session};
