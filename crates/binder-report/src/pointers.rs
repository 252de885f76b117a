//! How logs show addresses.

/// How the pointers that clients gave their objects are written.
#[derive(Clone, Copy)]
pub enum Pointers<'a> {
    /// They are shown.
    Plain,
    /// They are shown by this function, which maps equal ones to equal numbers and should reveal no
    /// more.
    Hashed(&'a dyn Fn(u64) -> u64),
}

impl Pointers<'_> {
    /// A client's pointer.
    pub(crate) fn of_client(self, pointer: u64) -> u64 {
        match self {
            Self::Plain => pointer,
            // As wide as the kernel's: 32 bits, so that no reader takes it for an address.
            Self::Hashed(hash) => hash(pointer) & u64::from(u32::MAX),
        }
    }

    /// An object of the driver's own, which has a number and no address that a reader may know.
    pub(crate) fn of_driver(self, number: u64) -> u64 {
        match self {
            Self::Plain => number,
            Self::Hashed(_) => self.of_client(number),
        }
    }
}
