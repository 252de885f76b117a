//! Whether an object may be held across updates of the system.

/// How stable an object's interface is.
///
/// It travels beside every binder. A receiver refuses calls to an object that promises less than its
/// own surroundings need; on plain Linux there is one surrounding, so everything is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stability {
    /// Stable within one build of the system.
    #[default]
    Local,
    /// Stable between vendor and system images, and frozen: `@VintfStability`.
    Vintf,
}

impl Stability {
    /// The level of an object that was given none.
    const UNDECLARED: i32 = 0;
    /// The level of Android's system image, which is what [`Self::Local`] means here.
    const SYSTEM: i32 = 0b00_1100;
    /// The level of everything that is `@VintfStability`.
    const VINTF: i32 = 0b11_1111;

    /// The level that stands beside no object.
    pub(crate) const NULL_LEVEL: i32 = Self::UNDECLARED;

    /// The word beside the object.
    #[must_use]
    pub const fn level(self) -> i32 {
        match self {
            Self::Local => Self::SYSTEM,
            Self::Vintf => Self::VINTF,
        }
    }

    /// What a word beside an object says. Vendors' objects count as local ones.
    #[must_use]
    pub const fn from_level(level: i32) -> Self {
        if level == Self::VINTF { Self::Vintf } else { Self::Local }
    }
}
