//! Services of other machines, as a service manager finds them.

use binder::StatusCode;
use binder::binder_impl::{BorrowedParcel, TransactionCode};

use crate::AccessPolicy;

/// The transaction of a manager's object by which its user lists services of all machines.
pub const LIST_INSTANCES_TRANSACTION: TransactionCode = u32::from_be_bytes(*b"_NAM");
/// How many instances one answer has at most: it fits into a receive buffer.
pub const INSTANCES_PER_ANSWER: usize = 500;

/// The services of other machines.
///
/// The manager is locked when it calls `local_changed` and `awaited`, so these must not call it.
pub trait RemoteNames: Send + Sync {
    /// A service of this machine was registered, or is gone; or one is there while the access rules have changed.
    fn local_changed(&self, policy: &AccessPolicy, name: &str, is_there: bool);

    /// A caller waits for a service that is not registered.
    fn awaited(&self, name: &str);

    /// Has a service that is not registered be brought from another machine, and waits until it is registered here;
    /// false if there is none.
    fn bring(&self, name: &str) -> bool;

    /// The instances known behind this one, in the order of names, and within a name of addresses.
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
    /// Calls of it: of this machine's own, those of others; of another's, those of this machine. `None` if no process
    /// of this machine calls it.
    pub calls: Option<InstanceCalls>,
}

/// Calls that were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstanceCalls {
    /// How many.
    pub count: u64,
    /// How long all of them took, in nanoseconds.
    pub total_ns: u64,
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
        parcel.write(&self.is_shared)?;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let calls = self.calls.map(|calls| (number(calls.count), number(calls.total_ns)));
        // No number of calls is negative.
        let (count, total_ns) = calls.unwrap_or((-1, 0));
        parcel.write(&count)?;
        parcel.write(&total_ns)
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
            calls: read_calls(parcel)?,
        })
    }
}

fn read_calls(parcel: &BorrowedParcel<'_>) -> Result<Option<InstanceCalls>, StatusCode> {
    let (count, total_ns): (i64, i64) = (parcel.read()?, parcel.read()?);
    Ok(match (u64::try_from(count), u64::try_from(total_ns)) {
        (Ok(count), Ok(total_ns)) => Some(InstanceCalls { count, total_ns }),
        (Err(_), _) | (_, Err(_)) => None,
    })
}
