//! Rigs, a reference model and counters for tests of the driver.
//!
//! A check is written once, as a function of a [`Stage`]: parties write [`Commands`] and read
//! [`Return`]s. The stage stands on a [`Rig`].

mod command;
mod core_rig;
mod descriptors;
mod device;
mod dice;
mod exposition;
mod fake_memory;
pub mod game;
mod hang;
mod message;
pub mod model;
mod party;
mod returned;
mod rig;
mod scene;
mod skip;
mod stage;

pub use command::{Commands, commands};
pub use core_rig::{CoreRig, FdWorkState, Trouble};
pub use descriptors::Descriptors;
pub use device::{DeviceRig, Doors, Ledger, STATUS, UnknownDoor, act_if_asked};
pub use dice::Dice;
pub use exposition::{read_exposition, scrape};
pub use hang::{HANG_TIMEOUT, wait_until};
pub use message::Message;
pub use party::{Area, Attempt, Party};
pub use returned::{Return, parse_returns};
pub use rig::{
    Caller, Device, Driver, Host, Mode, Process, Progress, Protection, Readiness, Rig, System,
    Thread, Waiter,
};
pub use scene::{close_before, introduce, kill_before, settle_down};
pub use skip::skip;
pub use stage::{AREA_LEN_BYTES, Entrance, Skipped, Stage};
