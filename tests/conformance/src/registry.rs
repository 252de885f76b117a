//! What is checked, where, and what is not.

use binder_testkit::{Driver, Stage};

/// How many numbered checks the specification has.
pub const TOTAL: u16 = 245;

/// Where a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// On the pure core and on a device.
    Both,
    /// On the pure core only.
    Core,
    /// On a device only: it is about the operating system.
    Device,
}

/// One check: a name, which is a sentence and begins with the numbers covered, and what to do.
#[derive(Clone, Copy)]
pub struct Check {
    /// For instance `c090_an_empty_call_gets_a_buffer_of_its_own`.
    pub name: &'static str,
    /// Where it runs.
    pub level: Level,
    /// The check.
    pub run: fn(&Stage),
}

impl Check {
    /// The numbers of the specification that this check covers.
    pub fn numbers(&self) -> impl Iterator<Item = u16> + use<> {
        self.name.split('_').map_while(|word| word.strip_prefix('c')?.parse().ok())
    }

    /// The name without the numbers, as a sentence.
    #[must_use]
    pub fn title(&self) -> String {
        let words = self.name.split('_').skip(self.numbers().count());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether it runs on a device.
    #[must_use]
    pub fn is_for_devices(&self) -> bool {
        self.level != Level::Core
    }

    /// Whether it runs on the core.
    #[must_use]
    pub fn is_for_the_core(&self) -> bool {
        self.level != Level::Device
    }
}

/// Declares the checks of a module: their levels and, once more, their names.
macro_rules! checks {
    ($($level:ident $name:ident),* $(,)?) => {
        /// The checks of this part.
        pub(super) const CHECKS: &[$crate::registry::Check] = &[$(
            $crate::registry::Check {
                name: stringify!($name),
                level: $crate::registry::Level::$level,
                run: $name,
            }
        ),*];
    };
}
pub(crate) use checks;

/// A check that a driver does not pass, and is not meant to.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The check.
    pub number: u16,
    /// The driver.
    pub driver: Driver,
    /// Why.
    pub reason: &'static str,
}

/// Numbers that unit tests of a crate cover, and where.
pub const UNIT_TESTS: &[(u16, &str)] = &[];

/// Ranges that nothing covers yet, and why.
pub const NOT_YET: &[(u16, u16, &str)] = &[];

/// What drivers do otherwise.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        number: 30,
        driver: Driver::Kernel,
        reason: "the C driver writes BR_NOOP without looking at the room",
    },
    Difference {
        number: 38,
        driver: Driver::Kernel,
        reason: "the C driver keeps the buffer until the file closes",
    },
    Difference {
        number: 46,
        driver: Driver::Kernel,
        reason: "the guest has no security module, so there are no labels",
    },
    Difference {
        number: 222,
        driver: Driver::Kernel,
        reason: "the C driver forgets the notices of a thread that exits",
    },
];

/// The accepted difference between `driver` and a check, if there is one.
#[must_use]
pub fn difference(check: &Check, driver: Driver) -> Option<&'static Difference> {
    DIFFERENCES.iter().find(|difference| {
        difference.driver == driver && check.numbers().any(|number| number == difference.number)
    })
}
