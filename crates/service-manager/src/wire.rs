//! Parcels of the service manager's interface into requests, and answers into parcels.

use binder::binder_impl::{BorrowedParcel, NON_NULL_PARCELABLE_FLAG, NULL_PARCELABLE_FLAG};
use binder::service_manager::{Method, ServiceDebugInfo};
use binder::{SpIBinder, Status, StatusCode};

use crate::request::{Denial, FoundService, ManagerAnswer, ManagerRequest, ServiceAddress};

/// Which arm of `android.os.Service` a service is.
const SERVICE_WITH_METADATA: i32 = 0;
/// Which arm an accessor is.
const ACCESSOR: i32 = 1;

/// Reads the arguments of a method.
///
/// # Errors
///
/// Those of reading.
pub(crate) fn read_request(
    method: Method,
    has_union: bool,
    data: &BorrowedParcel<'_>,
) -> Result<ManagerRequest<SpIBinder>, StatusCode> {
    use ManagerRequest as Asked;
    Ok(match method {
        Method::GetService | Method::GetService2 | Method::CheckService | Method::CheckService2 => {
            Asked::Find { name: data.read()?, takes_accessor: has_union }
        }
        Method::AddService => {
            let (name, service) = (data.read()?, data.read()?);
            let _allows_isolated: bool = data.read()?;
            Asked::Add { name, service, flags: data.read()? }
        }
        Method::ListServices => Asked::List { flags: data.read()? },
        Method::RegisterForNotifications => {
            Asked::Listen { name: data.read()?, callback: data.read()? }
        }
        Method::UnregisterForNotifications => {
            Asked::Unlisten { name: data.read()?, callback: data.read()? }
        }
        Method::IsDeclared => Asked::IsDeclared { name: data.read()? },
        Method::GetDeclaredInstances => Asked::DeclaredInstances { interface: data.read()? },
        Method::UpdatableViaApex => Asked::UpdatableViaApex { name: data.read()? },
        Method::GetUpdatableNames => Asked::UpdatableNames { apex: data.read()? },
        Method::GetConnectionInfo => Asked::Address { name: data.read()? },
        Method::RegisterClientCallback => Asked::ListenForClients {
            name: data.read()?,
            service: data.read()?,
            callback: data.read()?,
        },
        Method::TryUnregisterService => {
            Asked::TryUnregister { name: data.read()?, service: data.read()? }
        }
        Method::GetServiceDebugInfo => Asked::DebugInfo,
    })
}

/// Writes the answer to a request.
///
/// # Errors
///
/// Those of writing.
pub(crate) fn write_answer(
    answer: &Result<ManagerAnswer<SpIBinder>, Denial>,
    has_union: bool,
    reply: &mut BorrowedParcel<'_>,
) -> Result<(), StatusCode> {
    let answer = match answer {
        Err(Denial { exception, words }) => {
            return reply.write(&Status::new_exception_str(*exception, Some(words)));
        }
        Ok(answer) => answer,
    };
    reply.write(&Status::ok())?;
    match answer {
        ManagerAnswer::Done => Ok(()),
        ManagerAnswer::Found(found) if has_union => write_union(found, reply),
        ManagerAnswer::Found(found) => reply.write(&service_of(found)),
        ManagerAnswer::Names(names) => reply.write(names),
        ManagerAnswer::Truth(truth) => reply.write(truth),
        ManagerAnswer::Name(name) => reply.write(name),
        ManagerAnswer::Address(None) => reply.write(&NULL_PARCELABLE_FLAG),
        ManagerAnswer::Address(Some(address)) => write_address(address, reply),
        ManagerAnswer::DebugInfo(infos) => {
            reply.write_slice_size(Some(infos))?;
            infos.iter().try_for_each(|info| write_debug_info(info, reply))
        }
    }
}

fn service_of(found: &FoundService<SpIBinder>) -> Option<SpIBinder> {
    match found {
        FoundService::Service { service, .. } => Some(service.clone()),
        FoundService::Nothing | FoundService::Accessor(_) => None,
    }
}

/// Writes `android.os.Service`.
fn write_union(
    found: &FoundService<SpIBinder>,
    reply: &mut BorrowedParcel<'_>,
) -> Result<(), StatusCode> {
    reply.write(&NON_NULL_PARCELABLE_FLAG)?;
    let is_lazy = match found {
        FoundService::Accessor(accessor) => {
            reply.write(&ACCESSOR)?;
            return reply.write(accessor);
        }
        FoundService::Service { is_lazy, .. } => *is_lazy,
        FoundService::Nothing => false,
    };
    reply.write(&SERVICE_WITH_METADATA)?;
    reply.write(&NON_NULL_PARCELABLE_FLAG)?;
    reply.sized_write(|parcel| {
        parcel.write(&service_of(found))?;
        parcel.write(&is_lazy)
    })
}

/// Writes `android.os.ConnectionInfo`.
fn write_address(
    address: &ServiceAddress,
    reply: &mut BorrowedParcel<'_>,
) -> Result<(), StatusCode> {
    reply.write(&NON_NULL_PARCELABLE_FLAG)?;
    reply.sized_write(|parcel| {
        parcel.write(&address.ip)?;
        parcel.write(&address.port.cast_signed())
    })
}

/// Writes `android.os.ServiceDebugInfo`.
fn write_debug_info(
    info: &ServiceDebugInfo,
    reply: &mut BorrowedParcel<'_>,
) -> Result<(), StatusCode> {
    reply.write(&NON_NULL_PARCELABLE_FLAG)?;
    reply.sized_write(|parcel| {
        parcel.write(&info.name)?;
        parcel.write(&info.debug_pid)
    })
}

/// The service manager of Android 10 and before, which was written by hand: no status before answers, no stability
/// beside binders, and one name of a list at a time.
pub(crate) mod by_hand {
    use super::{
        BorrowedParcel, FoundService, ManagerAnswer, ManagerRequest, SpIBinder, StatusCode,
        service_of,
    };
    use binder::binder_impl::TransactionCode;

    const GET_SERVICE: TransactionCode = 1;
    const CHECK_SERVICE: TransactionCode = 2;
    const ADD_SERVICE: TransactionCode = 3;
    const LIST_SERVICES: TransactionCode = 4;

    /// The flags of services that say nothing, as those do that were written for Android 8.
    const DUMP_PRIORITY_DEFAULT: i32 = 1 << 3;
    const DUMP_PRIORITY_ALL: i32 = 15;

    /// A request, and which of the names is wanted if it is for a list.
    pub(crate) type Question = (ManagerRequest<SpIBinder>, usize);

    /// Reads a call.
    ///
    /// # Errors
    ///
    /// Those of reading, and [`StatusCode::UNKNOWN_TRANSACTION`] for other codes.
    pub(crate) fn read_request(
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
    ) -> Result<Question, StatusCode> {
        use ManagerRequest as Asked;
        match code {
            GET_SERVICE | CHECK_SERVICE => {
                Ok((Asked::Find { name: data.read()?, takes_accessor: false }, 0))
            }
            ADD_SERVICE => {
                let name = data.read()?;
                let service = data.read_bare_binder()?.ok_or(StatusCode::UNEXPECTED_NULL)?;
                let _allows_isolated: i32 = data.read()?;
                let flags = data.read().unwrap_or(DUMP_PRIORITY_DEFAULT);
                Ok((Asked::Add { name, service, flags }, 0))
            }
            LIST_SERVICES => {
                let index: i32 = data.read()?;
                let index = usize::try_from(index).map_err(|_| StatusCode::BAD_VALUE)?;
                Ok((Asked::List { flags: data.read().unwrap_or(DUMP_PRIORITY_ALL) }, index))
            }
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }

    /// Writes the answer to a call; a denial is answered with a status.
    ///
    /// # Errors
    ///
    /// [`StatusCode::PERMISSION_DENIED`], the -1 by which that manager said every no, also behind the end of a list.
    pub(crate) fn write_answer(
        answer: &ManagerAnswer<SpIBinder>,
        index: usize,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        const DONE: i32 = 0;
        match answer {
            ManagerAnswer::Done => reply.write(&DONE),
            ManagerAnswer::Found(FoundService::Nothing | FoundService::Accessor(_)) => {
                reply.write(&DONE)
            }
            ManagerAnswer::Found(found) => reply.write_bare_binder(service_of(found).as_ref()),
            ManagerAnswer::Names(names) => {
                reply.write(names.get(index).ok_or(StatusCode::PERMISSION_DENIED)?)
            }
            ManagerAnswer::Truth(_)
            | ManagerAnswer::Name(_)
            | ManagerAnswer::Address(_)
            | ManagerAnswer::DebugInfo(_) => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }
}
