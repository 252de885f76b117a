//! Services of other machines, as a service manager finds them.

use binder::StatusCode;
use binder::binder_impl::{BorrowedParcel, TransactionCode};

/// The transaction of a manager's object by which its user lists services of all machines.
pub const LIST_INSTANCES_TRANSACTION: TransactionCode = u32::from_be_bytes(*b"_NAM");
/// How many instances one answer has at most: it fits into a receive buffer.
pub const INSTANCES_PER_ANSWER: usize = 500;

/// The services of other machines.
///
/// The manager is locked when it calls `local_changed` and `awaited`, so these must not call it.
pub trait RemoteNames: Send + Sync {
    /// A service of this machine was registered, or is gone.
    fn local_changed(&self, name: &str, is_there: bool);

    /// Somebody waits for a service that is not registered.
    fn awaited(&self, name: &str);

    /// Has a service that is not registered be brought from another machine, and waits until it is registered here;
    /// false if there is none.
    fn bring(&self, name: &str) -> bool;

    /// What is known of names behind this one, and at it those behind the instance that was told last.
    fn instances(&self, after: Option<&ServiceInstance>) -> Vec<ServiceInstance>;
}

/// A service of some machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceInstance {
    /// Its name.
    pub name: String,
    /// Where it is served.
    pub address: String,
    /// Of those that were the owner of a name, the latest has the highest.
    pub generation: i64,
    /// Since when, in seconds since 1970 by its machine's clock.
    pub since_s: u64,
    /// Whether it is one of many.
    pub is_shared: bool,
}

impl ServiceInstance {
    /// Writes it.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        parcel.write(&self.name)?;
        parcel.write(&self.address)?;
        parcel.write(&self.generation)?;
        parcel.write(&i64::try_from(self.since_s).unwrap_or(i64::MAX))?;
        parcel.write(&self.is_shared)
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn read(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        Ok(Self {
            name: parcel.read()?,
            address: parcel.read()?,
            generation: parcel.read()?,
            since_s: u64::try_from(parcel.read::<i64>()?).map_err(|_| StatusCode::BAD_VALUE)?,
            is_shared: parcel.read()?,
        })
    }
}
