//! What a binderfs is to have.

use binder_core::Limits;

/// As many devices as a mount may have (`max=`), and has unless it is limited.
pub const DEVICES_MAX: u32 = 1 << 20;

/// What is mounted, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The devices that exist from the start.
    pub devices: Vec<DeviceSpec>,
    /// How many there may be, [`DEVICES_MAX`] at most.
    pub devices_max: u32,
    /// Whether the tables of the driver are to be seen in `binder_logs/`.
    pub statistics: bool,
    /// How receive buffers reach their clients.
    pub delivery: Delivery,
    /// What one open file of a device may make the driver keep.
    pub limits: Limits,
}

/// A device that exists from the start.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// Its file name.
    pub name: String,
    /// Its permission bits.
    pub mode: u32,
}

/// How receive buffers should reach their clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    /// By passthrough where the kernel allows it, else by storing.
    #[default]
    Auto,
    /// By passthrough; opens fail where the kernel does not allow it.
    Passthrough,
    /// By storing into the page cache, also where passthrough is allowed.
    Store,
}

impl Default for Options {
    fn default() -> Self {
        let devices = ["binder", "hwbinder", "vndbinder"];
        Self {
            devices: devices.map(|name| DeviceSpec { name: name.into(), mode: 0o600 }).into(),
            devices_max: DEVICES_MAX,
            statistics: false,
            delivery: Delivery::Auto,
            limits: Limits::default(),
        }
    }
}
