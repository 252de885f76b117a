//! By which way the calls of a host come to the driver.

use std::env;
use std::process::Command;
use std::str::FromStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names the doors of hosts, for all rigs of a program: `ring,fuse` for instance.
const DOORS_VARIABLE: &str = "ANYBINDER_TEST_DOORS";

/// Has an actor make some ioctls by itself.
const MIXED_VARIABLE: &str = "ANYBINDER_TEST_MIXED";

/// Whether this process, an actor, is to make its next ioctl by itself.
pub(super) fn is_next_by_itself() -> bool {
    static IS_MIXED: LazyLock<bool> = LazyLock::new(|| env::var_os(MIXED_VARIABLE).is_some());
    static IOCTLS: AtomicU32 = AtomicU32::new(0);
    *IS_MIXED && IOCTLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(3)
}

/// How a host makes its `BINDER_WRITE_READ`s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Door {
    /// By ioctls, as they are.
    Fuse,
    /// By the ring, as unmodified programs do: a library is preloaded in the world of this program.
    Ring,
    /// By lanes, after the first plain call to an object, and by the ring otherwise.
    Lane,
    /// The same, but that every third ioctl is a system call of its own, of which a preloaded library does not know.
    Mixed,
}

/// Which host uses which door: hosts take turns, in the order in which they are started. Where none is named, all use what the
/// world offers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Doors(Vec<Door>);

impl Door {
    /// Has a program that is to be started use this door.
    pub(super) fn prepare(self, program: &mut Command) -> &mut Command {
        match self {
            Self::Fuse => program.env("ANYBINDER_NO_RING", "1"),
            Self::Ring => program.env_remove("ANYBINDER_NO_RING").env("ANYBINDER_LANES", "0"),
            Self::Lane => program.env_remove("ANYBINDER_NO_RING").env("ANYBINDER_LANES", "1"),
            Self::Mixed => Self::Lane.prepare(program).env(MIXED_VARIABLE, "1"),
        }
    }
}

impl Doors {
    /// As the environment says.
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
            Err(_) => Self::default(),
        }
    }

    /// That of the host that is started as number `number`, counted from 0.
    pub(super) fn of_host(&self, number: usize) -> Option<Door> {
        self.0.get(number.checked_rem(self.0.len())?).copied()
    }

    /// All that are named.
    pub(super) fn iter(&self) -> impl Iterator<Item = Door> + '_ {
        self.0.iter().copied()
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
        match name {
            "fuse" => Ok(Self::Fuse),
            "ring" => Ok(Self::Ring),
            "lane" => Ok(Self::Lane),
            "mixed" => Ok(Self::Mixed),
            _ => Err(UnknownDoor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_take_turns() {
        let doors: Doors = "ring,fuse,lane".parse().expect("all exist");
        let turns = [0, 1, 2, 3].map(|host| doors.of_host(host));
        assert_eq!(turns, [Door::Ring, Door::Fuse, Door::Lane, Door::Ring].map(Some));
        assert_eq!(Doors::default().of_host(0), None);
        assert_eq!("ring,".parse::<Doors>(), Err(UnknownDoor));
    }
}
