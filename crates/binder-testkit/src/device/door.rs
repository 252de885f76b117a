//! By which way the calls of a host come to the driver.

use std::env;
use std::os::fd::BorrowedFd;
use std::str::FromStr;

use binder_uapi::BINDER_WRITE_READ;
use rustix::io::Errno;

use super::sys;

/// Names the doors of hosts, for all rigs of a program: `ring,fuse` for instance.
const DOORS_VARIABLE: &str = "ANYBINDER_TEST_DOORS";

/// How a host makes its `BINDER_WRITE_READ`s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Door {
    /// By ioctl(2).
    Fuse,
    /// By the ring, as a program does before which the ring's library is loaded.
    Ring,
}

/// Who uses which door: hosts take turns, in the order in which they are started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Doors(Vec<Door>);

impl Door {
    /// Its name in [`Doors`].
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fuse => "fuse",
            Self::Ring => "ring",
        }
    }

    /// Makes an ioctl.
    pub(super) fn ioctl(
        self,
        fd: BorrowedFd<'_>,
        request: u64,
        argument: u64,
    ) -> Result<(), Errno> {
        match self {
            Self::Ring if request == BINDER_WRITE_READ.into() => sys::write_read(fd, argument),
            Self::Fuse | Self::Ring => sys::ioctl(fd, request, argument),
        }
    }
}

impl Doors {
    /// As the environment says; else all hosts make ioctls.
    ///
    /// # Panics
    ///
    /// When the environment names others than there are.
    #[must_use]
    pub fn of_environment() -> Self {
        match env::var(DOORS_VARIABLE) {
            Ok(names) => {
                names.parse().unwrap_or_else(|UnknownDoor| panic!("{DOORS_VARIABLE}={names}"))
            }
            Err(_) => Self(vec![Door::Fuse]),
        }
    }

    /// That of the host that is started as number `number`, counted from 0.
    pub(super) fn of_host(&self, number: usize) -> Door {
        self.0[number % self.0.len()]
    }
}

/// There is no such door.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownDoor;

impl FromStr for Doors {
    type Err = UnknownDoor;

    fn from_str(names: &str) -> Result<Self, UnknownDoor> {
        names.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for Door {
    type Err = UnknownDoor;

    fn from_str(name: &str) -> Result<Self, UnknownDoor> {
        [Self::Fuse, Self::Ring].into_iter().find(|door| door.name() == name).ok_or(UnknownDoor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_take_turns() {
        let doors: Doors = "ring,fuse".parse().expect("both exist");
        assert_eq!([0, 1, 2].map(|host| doors.of_host(host)), [Door::Ring, Door::Fuse, Door::Ring]);
        assert_eq!("ring,".parse::<Doors>(), Err(UnknownDoor));
    }
}
