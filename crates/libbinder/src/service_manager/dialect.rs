//! The interface of the service manager, `android.os.IServiceManager`, as it changed over the years.
//!
//! It is not versioned: methods were put in where they belong, and the numbers of all behind moved. But
//! the last method has been the same since Android 12, and asking it changes nothing; so a manager is
//! known by the number at which it answers.

use crate::StatusCode;
use crate::binder_impl::{FIRST_CALL_TRANSACTION, TransactionCode};
use crate::object::{IBinderInternal as _, SpIBinder};

/// The release of Android whose interface a service manager has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Android 11.
    Android11,
    /// Android 12.
    Android12,
    /// Android 13.
    Android13,
    /// Android 14, and 15 as it first came.
    Android14,
    /// Android 15.
    Android15,
    /// Android 16 and 17.
    Android16,
}

/// A method, in the order of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Finds a service; the manager may have it started.
    GetService,
    /// The same, since Android 15: answers with a union.
    GetService2,
    /// Finds a service that is registered. In Android 15 it answers with a union.
    CheckService,
    /// The same, since Android 16: answers with a union.
    CheckService2,
    /// Registers a service.
    AddService,
    /// Lists the names of services.
    ListServices,
    /// Asks to be told when a service is registered.
    RegisterForNotifications,
    /// Takes that back.
    UnregisterForNotifications,
    /// Asks whether the system says that there is such a service.
    IsDeclared,
    /// Lists the instances of an interface that the system says there are.
    GetDeclaredInstances,
    /// Asks which APEX brings updates of a service.
    UpdatableViaApex,
    /// Lists what an APEX brings updates of.
    GetUpdatableNames,
    /// Asks at which address a declared service listens.
    GetConnectionInfo,
    /// Asks to be told whether a service of the caller's own has clients.
    RegisterClientCallback,
    /// Takes a service of the caller's own out, unless it has clients.
    TryUnregisterService,
    /// Lists the services with their processes.
    GetServiceDebugInfo,
}

impl Method {
    /// All of them, in that order.
    pub const ALL: [Self; 16] = [
        Self::GetService,
        Self::GetService2,
        Self::CheckService,
        Self::CheckService2,
        Self::AddService,
        Self::ListServices,
        Self::RegisterForNotifications,
        Self::UnregisterForNotifications,
        Self::IsDeclared,
        Self::GetDeclaredInstances,
        Self::UpdatableViaApex,
        Self::GetUpdatableNames,
        Self::GetConnectionInfo,
        Self::RegisterClientCallback,
        Self::TryUnregisterService,
        Self::GetServiceDebugInfo,
    ];

    /// The first dialect that has it.
    fn since(self) -> Dialect {
        match self {
            Self::GetService
            | Self::CheckService
            | Self::AddService
            | Self::ListServices
            | Self::RegisterForNotifications
            | Self::UnregisterForNotifications
            | Self::IsDeclared
            | Self::RegisterClientCallback
            | Self::TryUnregisterService => Dialect::Android11,
            Self::GetDeclaredInstances | Self::UpdatableViaApex | Self::GetServiceDebugInfo => {
                Dialect::Android12
            }
            Self::GetConnectionInfo => Dialect::Android13,
            Self::GetUpdatableNames => Dialect::Android14,
            Self::GetService2 => Dialect::Android15,
            Self::CheckService2 => Dialect::Android16,
        }
    }
}

impl Dialect {
    /// Every dialect, the newest first.
    pub const ALL: [Self; 6] = [
        Self::Android16,
        Self::Android15,
        Self::Android14,
        Self::Android13,
        Self::Android12,
        Self::Android11,
    ];

    /// The number of a method; `None` if the dialect does not have it.
    #[must_use]
    pub fn code(self, method: Method) -> Option<TransactionCode> {
        if method.since() > self {
            return None;
        }
        let before = Method::ALL.iter().take_while(|other| **other != method);
        let before = before.filter(|other| other.since() <= self).count();
        Some(FIRST_CALL_TRANSACTION + TransactionCode::try_from(before).ok()?)
    }

    /// The method of a number; `None` if the dialect has no such number.
    #[must_use]
    pub fn method(self, code: TransactionCode) -> Option<Method> {
        Method::ALL.into_iter().find(|method| self.code(*method) == Some(code))
    }

    /// Whether a method answers with `android.os.Service`, a union, where others answer with a binder.
    #[must_use]
    pub fn answers_with_union(self, method: Method) -> bool {
        match method {
            Method::GetService2 | Method::CheckService2 => true,
            Method::CheckService => self == Self::Android15,
            Method::GetService
            | Method::AddService
            | Method::ListServices
            | Method::RegisterForNotifications
            | Method::UnregisterForNotifications
            | Method::IsDeclared
            | Method::GetDeclaredInstances
            | Method::UpdatableViaApex
            | Method::GetUpdatableNames
            | Method::GetConnectionInfo
            | Method::RegisterClientCallback
            | Method::TryUnregisterService
            | Method::GetServiceDebugInfo => false,
        }
    }

    /// Asks a service manager which it speaks.
    ///
    /// # Errors
    ///
    /// Those of calling it.
    pub(super) fn of(manager: &SpIBinder) -> Result<Self, StatusCode> {
        for dialect in Self::ALL {
            // Only Android 11 has no such method.
            let Some(code) = dialect.code(Method::GetServiceDebugInfo) else { break };
            match manager.transact(code, 0, |_| Ok(())) {
                Err(StatusCode::UNKNOWN_TRANSACTION) => {}
                // One that may not be asked is there as well; the reply says so.
                Ok(_) => return Ok(dialect),
                Err(error) => return Err(error),
            }
        }
        Ok(Self::Android11)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_declarations() {
        use Method::{
            AddService, CheckService, CheckService2, GetDeclaredInstances, GetService, GetService2,
            GetServiceDebugInfo, GetUpdatableNames, IsDeclared, RegisterClientCallback,
            RegisterForNotifications, TryUnregisterService,
        };
        // Counted from 0, as in the .aidl files.
        let rows = [
            (GetService, [Some(0), Some(0), Some(0), Some(0), Some(0), Some(0)]),
            (GetService2, [None, None, None, None, Some(1), Some(1)]),
            (CheckService, [Some(1), Some(1), Some(1), Some(1), Some(2), Some(2)]),
            (CheckService2, [None, None, None, None, None, Some(3)]),
            (AddService, [Some(2), Some(2), Some(2), Some(2), Some(3), Some(4)]),
            (RegisterForNotifications, [Some(4), Some(4), Some(4), Some(4), Some(5), Some(6)]),
            (IsDeclared, [Some(6), Some(6), Some(6), Some(6), Some(7), Some(8)]),
            (GetDeclaredInstances, [None, Some(7), Some(7), Some(7), Some(8), Some(9)]),
            (GetUpdatableNames, [None, None, None, Some(9), Some(10), Some(11)]),
            (RegisterClientCallback, [Some(7), Some(9), Some(10), Some(11), Some(12), Some(13)]),
            (TryUnregisterService, [Some(8), Some(10), Some(11), Some(12), Some(13), Some(14)]),
            (GetServiceDebugInfo, [None, Some(11), Some(12), Some(13), Some(14), Some(15)]),
        ];
        for (method, numbers) in rows {
            for (dialect, number) in Dialect::ALL.into_iter().rev().zip(numbers) {
                let code = number.map(|number| FIRST_CALL_TRANSACTION + number);
                assert_eq!(dialect.code(method), code, "{method:?} of {dialect:?}");
                if let Some(code) = code {
                    assert_eq!(dialect.method(code), Some(method));
                }
            }
        }
    }
}
