//! Calls over a binder device: ours, or a kernel's.
//!
//! A thread calls by one ioctl that writes the call and waits for the reply; a thread of the pool
//! answers by one that writes the reply and waits for the next call. Whatever else is to be said to
//! the driver - buffers to free, references to take and to give back - is written along.
//!
//! - `device` is what all threads share, `link` one thread's conversation with the driver, `received`
//!   what lies in the receive buffer.
//! - `call` sends calls, serves them and does all that is read besides; `pool` are the threads.
//! - `nodes` are objects of this process as the driver knows them; `handles` and `proxy` are objects
//!   of others; `freeze` tells of their freezes. `timed` makes calls that have a deadline.
//! - `process_state` is the device that is used if the program names none.

mod call;
mod device;
mod freeze;
mod handles;
mod link;
mod nodes;
mod pool;
mod process_state;
mod proxy;
mod received;
mod timed;

pub use device::{DeviceError, DeviceOptions, DriverDevice};
pub use freeze::{FrozenState, FrozenStateChangeCallback};
pub use process_state::ProcessState;
