//! What a binderfs is to have, and how that is asked for in the words of mount(2).

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use binder_core::{Errno, Inheritance, Limits};
use binder_os::private_dev::RING_LIBRARY;
use binder_os::realtime;

use crate::memory;

/// How many devices a mount may have (`max=`), and may have unless it is limited.
pub const DEVICES_MAX: u32 = 1 << 20;

/// The longest name of a device.
pub const NAME_MAX_BYTES: usize = 255;

/// The options of a mount.
#[derive(Clone, Debug)]
pub struct Options {
    /// The devices that exist from the start.
    pub devices: Vec<DeviceSpec>,
    /// How many there may be, [`DEVICES_MAX`] at most.
    pub devices_max: u32,
    /// Whether names and permissions stay as they are at first.
    pub is_read_only: bool,
    /// Whether the tables of the driver are to be seen in `binder_logs/`.
    pub statistics: bool,
    /// Whether the data of calls may be traced, where statistics are shown: a user's own, and all by root and the user
    /// of the driver.
    pub trace_data: bool,
    /// How receive buffers reach their clients.
    pub delivery: BufferRoute,
    /// What open files of a device, and their users, may make the driver keep. That of all users counts as
    /// the first binderfs of a process has it.
    pub limits: Limits,
    /// Starts a [broker](binder_os::broker), which receivers of files need that may do less than the
    /// driver. Without it they receive none.
    pub broker: Option<Vec<OsString>>,
    /// The security label of a process to which no security module gives one, without NULs and not
    /// empty. A node that asks for labels gets a text always: servers that ask depend on it.
    pub security_label: String,
    /// What threads inherit from the callers that they serve.
    pub inheritance: Inheritance,
    /// How the threads are scheduled that read requests.
    pub scheduling: Scheduling,
    /// How many threads read requests at most; without a number one for every two processors.
    pub readers: Option<NonZeroUsize>,
    /// Whether clients may exchange calls with the driver through shared memory.
    pub rings: bool,
    /// Where this process sees the library by which unmodified programs do, if they could have loaded it.
    pub ring_library: PathBuf,
}

/// A device that exists from the start.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// Its file name.
    pub name: String,
    /// Its permission bits.
    pub mode: u32,
    /// Its owner, if that is not the user that mounts.
    pub uid: Option<u32>,
    /// Its group, if that is not the group of the user that mounts.
    pub gid: Option<u32>,
}

impl DeviceSpec {
    /// A device that belongs to the user that mounts.
    pub fn new(name: impl Into<String>, mode: u32) -> Self {
        Self { name: name.into(), mode, uid: None, gid: None }
    }
}

/// How receive buffers should reach their clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BufferRoute {
    /// By passthrough where the kernel allows it, else by storing.
    #[default]
    Auto,
    /// By passthrough; opens fail where the kernel does not allow it.
    Passthrough,
    /// By storing into the page cache, also where passthrough is allowed.
    Store,
}

/// How the thread is scheduled that reads requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scheduling {
    /// At a real-time priority where this process may have one.
    #[default]
    Auto,
    /// At a real-time priority; what cannot have one is not mounted.
    Realtime,
    /// As others.
    Ordinary,
}

impl Scheduling {
    /// Whether the thread is to be a real-time thread.
    ///
    /// # Errors
    ///
    /// Why it cannot, where it must.
    pub(crate) fn is_realtime(self) -> io::Result<bool> {
        match self {
            Self::Ordinary => Ok(false),
            Self::Realtime => realtime::probe().map(|()| true),
            Self::Auto => {
                let probed = realtime::probe();
                if let Err(error) = &probed {
                    tracing::debug!(%error, "requests are read by an ordinary thread");
                }
                Ok(probed.is_ok())
            }
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        let devices = ["binder", "hwbinder", "vndbinder"];
        Self {
            devices: devices.map(|name| DeviceSpec::new(name, 0o600)).into(),
            devices_max: DEVICES_MAX,
            is_read_only: false,
            statistics: false,
            trace_data: false,
            delivery: BufferRoute::Auto,
            limits: memory::default_limits(),
            broker: None,
            security_label: "u:r:unlabeled:s0".into(),
            inheritance: Inheritance::Nothing,
            scheduling: Scheduling::Auto,
            readers: None,
            rings: true,
            ring_library: RING_LIBRARY.into(),
        }
    }
}

/// What a program asks for that mounts binderfs itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FsParameters {
    pub(crate) devices_max: u32,
    pub(crate) statistics: bool,
    pub(crate) is_read_only: bool,
}

impl Default for FsParameters {
    fn default() -> Self {
        Self { devices_max: DEVICES_MAX, statistics: false, is_read_only: false }
    }
}

impl FsParameters {
    /// Reads the data of mount(2): words between commas.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a word that is none of binderfs, `EPERM` as [`Self::set`].
    pub(crate) fn parse(data: &[u8], may_see_all: impl Fn() -> bool) -> Result<Self, Errno> {
        let mut parameters = Self::default();
        for word in data.split(|byte| *byte == b',').filter(|word| !word.is_empty()) {
            let mut parts = word.splitn(2, |byte| *byte == b'=');
            let key = parts.next().unwrap_or_default();
            parameters.set(key, parts.next(), &may_see_all)?;
        }
        Ok(parameters)
    }

    /// Takes one word and its value. The right to see statistics of all is looked up only when it matters.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a word or value that is none, `EPERM` for `stats=global` by a caller
    /// who may not.
    pub(crate) fn set(
        &mut self,
        key: &[u8],
        value: Option<&[u8]>,
        may_see_all: impl Fn() -> bool,
    ) -> Result<(), Errno> {
        match (key, value) {
            (b"max", Some(value)) => {
                let max = number(value).filter(|max| *max <= DEVICES_MAX);
                self.devices_max = max.ok_or(Errno::EINVAL)?;
            }
            (b"stats", Some(b"global")) if may_see_all() => self.statistics = true,
            (b"stats", Some(b"global")) => return Err(Errno::EPERM),
            // What every file system takes, and what means nothing to this one.
            (b"source", Some(_)) => {}
            (b"sync" | b"async" | b"dirsync" | b"lazytime" | b"nolazytime", None) => {}
            (b"ro", None) => self.is_read_only = true,
            (b"rw", None) => self.is_read_only = false,
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }
}

/// A number as the kernel reads it: decimal, octal after a 0, hexadecimal after 0x.
fn number(text: &[u8]) -> Option<u32> {
    let text = str::from_utf8(text).ok()?;
    let text = text.strip_prefix('+').unwrap_or(text);
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    // from_str_radix would take another sign.
    if digits.starts_with('+') { None } else { u32::from_str_radix(digits, radix).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C233
    #[test]
    fn the_words_of_mount_are_those_of_binderfs() {
        let parse = |data: &str| FsParameters::parse(data.as_bytes(), || true);
        let limited = |devices_max| Ok(FsParameters { devices_max, ..FsParameters::default() });
        for (data, max) in [
            ("", 1 << 20),
            ("max=2", 2),
            ("max=0x10,rw", 16),
            ("max=010", 8),
            ("max=0", 0),
            ("max=1,max=2", 2),
        ] {
            assert_eq!(parse(data), limited(max), "{data}");
        }
        assert_eq!(parse("max=1048576"), limited(1 << 20));
        for data in [
            "max=1048577",
            "max=-1",
            "max=",
            "max",
            "max=2x",
            "max=++2",
            "max=99999999999",
            "min=1",
            "stats",
            "stats=all",
            "rw=1",
        ] {
            assert_eq!(parse(data), Err(Errno::EINVAL), "{data}");
        }
        let is_read_only = |data| parse(data).map(|parameters| parameters.is_read_only);
        assert_eq!(["ro", "ro,rw", ""].map(is_read_only), [Ok(true), Ok(false), Ok(false)]);
        assert_eq!(parse("stats=global").map(|parameters| parameters.statistics), Ok(true));
        assert_eq!(FsParameters::parse(b"stats=global", || false), Err(Errno::EPERM));
    }
}
