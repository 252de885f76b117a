//! Services that are reached by a socket which an accessor hands out.
//!
//! An accessor is an object (`android.os.IAccessor`) that opens a connection to an RPC server each
//! time it is asked. A service manager may answer with one instead of a service; so may this process
//! itself, by an [`AccessorProvider`].

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::binder_impl::{Binder, IBinderInternal, Remotable};
use crate::interface::{FIRST_CALL_TRANSACTION, TransactionCode};
use crate::parcel::BorrowedParcel;
use crate::transport::rpc::RpcSession;
use crate::{Interface, ParcelFileDescriptor, Result, SpIBinder, Status, StatusCode};

/// Opens a connection: `ParcelFileDescriptor addConnection()`.
const ADD_CONNECTION: TransactionCode = FIRST_CALL_TRANSACTION;
/// Says to what: `String getInstanceName()`.
const GET_INSTANCE_NAME: TransactionCode = FIRST_CALL_TRANSACTION + 1;

/// The callback knows of no address.
const NO_CONNECTION_INFO: i32 = 0;
/// No server listens there.
const NOT_CONNECTED: i32 = 2;
/// This process may not connect.
const NOT_ALLOWED: i32 = 3;

/// Where the RPC server of a service listens.
#[derive(Debug, Clone)]
pub enum ConnectionInfo {
    /// In a virtual machine or on its host.
    Vsock {
        /// Which machine.
        cid: u32,
        /// Which port.
        port: u32,
    },
    /// At a path, or at a name in the abstract namespace.
    Unix(UnixAddress),
    /// In a network, without protection.
    Inet(SocketAddr),
}

impl ConnectionInfo {
    fn connect(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Vsock { cid, port } => {
                vsock::VsockStream::connect_with_cid_port(*cid, *port).map(Into::into)
            }
            Self::Unix(address) => UnixStream::connect_addr(address).map(Into::into),
            Self::Inet(address) => {
                let stream = TcpStream::connect(address)?;
                // A call is one small write, and the caller waits for it.
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }
        }
    }
}

/// An object that connects to the RPC server of one service.
#[derive(Clone)]
pub struct Accessor {
    instance: String,
    binder: SpIBinder,
}

impl Accessor {
    /// An accessor of this process; `callback` says where `instance` listens.
    pub fn new<F>(instance: &str, callback: F) -> Self
    where
        F: Fn(&str) -> Option<ConnectionInfo> + Send + Sync + 'static,
    {
        let instance = instance.to_owned();
        let connector = Connector::Address(Box::new(callback));
        let native = AccessorObject { instance: instance.clone(), connector };
        Self { instance, binder: Binder::new(native).as_binder() }
    }

    /// An accessor that some process offers; `None` if it is one of another service, or none.
    #[must_use]
    pub fn from_binder(instance: &str, binder: SpIBinder) -> Option<Self> {
        let binder = binder.associate(AccessorObject::get_descriptor()).ok()?;
        let accessor = Self { instance: instance.to_owned(), binder };
        (accessor.instance_name().ok()? == instance).then_some(accessor)
    }

    /// The object, to be registered or sent.
    #[must_use]
    pub fn as_binder(&self) -> Option<SpIBinder> {
        Some(self.binder.clone())
    }

    /// Opens a connection to the service's RPC server.
    ///
    /// # Errors
    ///
    /// The accessor's, as service-specific errors: 0 if it knows no address, 2 if no server listens
    /// there, 3 if it may not connect; or those of the call.
    pub fn connect(&self) -> Result<OwnedFd> {
        let file: ParcelFileDescriptor = self.call(ADD_CONNECTION)?;
        Ok(file.into())
    }

    /// Sets a session up with the service's RPC server, and returns its root object: the service.
    ///
    /// # Errors
    ///
    /// Those of connecting and of setting a session up; the log has more of them.
    pub fn service(&self) -> std::result::Result<SpIBinder, StatusCode> {
        let accessor = self.clone();
        let connect = move || {
            let failed = |status| {
                tracing::warn!(%status, ?accessor, "no connection to a service");
            };
            accessor.connect().map_err(failed).ok()
        };
        RpcSession::new().connect_preconnected(connect).map_err(|error| {
            tracing::warn!(%error, accessor = ?self, "no session with a service");
            error.into()
        })
    }

    /// The name of the service that it connects to, as the accessor itself has it.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn instance_name(&self) -> Result<String> {
        self.call(GET_INSTANCE_NAME)
    }

    fn call<T: crate::Deserialize>(&self, code: TransactionCode) -> Result<T> {
        let reply = self.binder.transact(code, 0, |_| Ok(()))?;
        let status: Status = reply.read()?;
        if status.is_ok() { Ok(reply.read()?) } else { Err(status) }
    }
}

impl fmt::Debug for Accessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Accessor({:?})", self.instance)
    }
}

/// An accessor that asks another one, so that this process need not be asked for permission twice.
///
/// # Errors
///
/// [`StatusCode::NAME_NOT_FOUND`] if `binder` is an accessor of another service;
/// [`StatusCode::BAD_TYPE`] if it is none.
pub fn delegate_accessor(
    name: &str,
    binder: SpIBinder,
) -> std::result::Result<SpIBinder, StatusCode> {
    let binder = binder.associate(AccessorObject::get_descriptor())?;
    let delegate = Accessor::from_binder(name, binder).ok_or(StatusCode::NAME_NOT_FOUND)?;
    let native =
        AccessorObject { instance: name.to_owned(), connector: Connector::Delegate(delegate) };
    Ok(Binder::new(native).as_binder())
}

/// What serves `android.os.IAccessor`.
struct AccessorObject {
    instance: String,
    connector: Connector,
}

/// Says where an instance listens.
type Finder = dyn Fn(&str) -> Option<ConnectionInfo> + Send + Sync;

enum Connector {
    Address(Box<Finder>),
    Delegate(Accessor),
}

impl AccessorObject {
    fn connect(&self) -> Result<ParcelFileDescriptor> {
        let address = match &self.connector {
            Connector::Delegate(accessor) => {
                return accessor.connect().map(ParcelFileDescriptor::new);
            }
            Connector::Address(callback) => callback(&self.instance),
        };
        let error = |code, what: &str| {
            Status::new_service_specific_error_str(code, Some(format!("{}: {what}", self.instance)))
        };
        let address = address.ok_or_else(|| error(NO_CONNECTION_INFO, "no address"))?;
        let connected = address.connect().map_err(|cause| match cause.kind() {
            io::ErrorKind::PermissionDenied => error(NOT_ALLOWED, &cause.to_string()),
            _ => error(NOT_CONNECTED, &cause.to_string()),
        });
        connected.map(ParcelFileDescriptor::new)
    }
}

impl Remotable for AccessorObject {
    fn get_descriptor() -> &'static str {
        "android.os.IAccessor"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        _data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> std::result::Result<(), StatusCode> {
        match code {
            ADD_CONNECTION => match self.connect() {
                Ok(file) => {
                    reply.write(&Status::ok())?;
                    reply.write(&file)
                }
                Err(status) => reply.write(&status),
            },
            GET_INSTANCE_NAME => {
                reply.write(&Status::ok())?;
                reply.write(&self.instance)
            }
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }

    fn on_dump(
        &self,
        out: &mut dyn io::Write,
        _args: &[&CStr],
    ) -> std::result::Result<(), StatusCode> {
        writeln!(out, "accessor of {}", self.instance).map_err(|_| StatusCode::FAILED_TRANSACTION)
    }
}

/// Makes the accessor of an instance.
type Provider = dyn Fn(&str) -> Option<Accessor> + Send + Sync;

/// The names of instances, and the callback that makes their accessors.
type Provided = (Vec<String>, Arc<Provider>);

/// The providers of this process.
static PROVIDERS: Mutex<Vec<Provided>> = Mutex::new(Vec::new());

fn providers() -> MutexGuard<'static, Vec<Provided>> {
    // Entries come and go as a whole.
    PROVIDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets this process find services by accessors of its own, until it is dropped.
pub struct AccessorProvider(Arc<Provider>);

impl AccessorProvider {
    /// Provides `instances`: `provider` makes the accessor of each when it is looked for.
    ///
    /// `None` if there are none, or another provider has one of them.
    pub fn new<F>(instances: &[String], provider: F) -> Option<Self>
    where
        F: Fn(&str) -> Option<Accessor> + Send + Sync + 'static,
    {
        let mut providers = providers();
        let is_taken = |name| providers.iter().any(|(names, _)| names.contains(name));
        if instances.is_empty() || instances.iter().any(is_taken) {
            return None;
        }
        let provider: Arc<Provider> = Arc::new(provider);
        providers.push((instances.to_vec(), provider.clone()));
        Some(Self(provider))
    }

    /// Whether this process provides `instance`.
    pub(crate) fn is_provided(instance: &str) -> bool {
        providers().iter().any(|(names, _)| names.iter().any(|name| name == instance))
    }

    /// The accessor of `instance`, if this process provides it.
    #[must_use]
    pub fn accessor_of(instance: &str) -> Option<Accessor> {
        let holds = |(names, _): &&Provided| names.iter().any(|name| name == instance);
        // The provider may look for services itself.
        let provider = providers().iter().find(holds).map(|(_, provider)| provider.clone())?;
        provider(instance)
    }
}

impl Drop for AccessorProvider {
    fn drop(&mut self) {
        providers().retain(|(_, provider)| !Arc::ptr_eq(provider, &self.0));
    }
}

impl fmt::Debug for AccessorProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessorProvider").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    const NAME: &str = "com.example.IHello/default";

    fn listening() -> (UnixListener, UnixAddress) {
        let name = format!("anybinder-accessor-{}-{:p}", std::process::id(), &NAME);
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let address = UnixAddress::from_abstract_name(format!("{name}-{next}")).unwrap();
        (UnixListener::bind_addr(&address).unwrap(), address)
    }

    #[test]
    fn an_accessor_connects_to_where_its_callback_says() {
        let (listener, address) = listening();
        let accessor = Accessor::new(NAME, move |name| {
            (name == NAME).then(|| ConnectionInfo::Unix(address.clone()))
        });
        assert_eq!(accessor.instance_name().unwrap(), NAME);
        for again in ["one", "two"] {
            let mut connected = UnixStream::from(accessor.connect().unwrap());
            connected.write_all(again.as_bytes()).unwrap();
            drop(connected);
            let mut said = String::new();
            listener.accept().unwrap().0.read_to_string(&mut said).unwrap();
            assert_eq!(said, again);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let accessor = Accessor::new(NAME, move |_| Some(ConnectionInfo::Inet(address)));
        accessor.connect().unwrap();
    }

    #[test]
    fn what_keeps_it_from_connecting_is_told() {
        let accessor = Accessor::new(NAME, |_| None);
        let status = accessor.connect().unwrap_err();
        assert_eq!(status.service_specific_error(), NO_CONNECTION_INFO);
        assert_eq!(status.exception_code(), crate::ExceptionCode::SERVICE_SPECIFIC);
        let (listener, address) = listening();
        drop(listener);
        let accessor = Accessor::new(NAME, move |_| Some(ConnectionInfo::Unix(address.clone())));
        assert_eq!(accessor.connect().unwrap_err().service_specific_error(), NOT_CONNECTED);
    }

    #[test]
    fn an_accessor_of_another_service_is_none() {
        let (_listener, address) = listening();
        let accessor = Accessor::new(NAME, move |_| Some(ConnectionInfo::Unix(address.clone())));
        let binder = accessor.as_binder().unwrap();
        assert!(Accessor::from_binder(NAME, binder.clone()).is_some());
        assert!(Accessor::from_binder("other", binder.clone()).is_none());
        let wrong = delegate_accessor("other", binder.clone());
        assert_eq!(wrong.unwrap_err(), StatusCode::NAME_NOT_FOUND);
        let delegator = delegate_accessor(NAME, binder.clone()).unwrap();
        assert_ne!(delegator, binder);
        let through = Accessor::from_binder(NAME, delegator).unwrap();
        through.connect().unwrap();
    }

    #[test]
    fn a_service_is_found_by_an_accessor_of_this_process() {
        use crate::transport::rpc::RpcServer;
        use crate::{IBinder, binder_impl::IBinderInternal};

        let (listener, address) = listening();
        let name = "com.example.IReached/default";
        // Any object will do as the root: an accessor is one.
        let root = Accessor::new("the root", |_| None).as_binder().unwrap();
        let server = RpcServer::new_bound_socket(root, listener.into()).unwrap();
        server.start().unwrap();
        let provider = AccessorProvider::new(&[name.to_owned()], move |name| {
            let address = address.clone();
            Some(Accessor::new(name, move |_| Some(ConnectionInfo::Unix(address.clone()))))
        });
        for _ in 0..2 {
            let service = crate::try_check_service(name).unwrap().unwrap();
            assert!(service.is_remote());
            service.ping_binder().unwrap();
            assert!(service.is_binder_alive());
            assert_eq!(Accessor::from_binder("the root", service).unwrap().instance, "the root");
        }
        assert!(crate::wait_for_service(name).is_some());
        drop(provider);
        assert!(!matches!(crate::try_check_service(name), Ok(Some(_))));
        server.shutdown().expect("from outside of calls");
    }

    #[test]
    fn a_name_has_one_provider_at_a_time() {
        let name = "com.example.IProvided/default";
        let names = [name.to_owned()];
        let provide = || AccessorProvider::new(&names, |name| Some(Accessor::new(name, |_| None)));
        assert!(AccessorProvider::accessor_of(name).is_none());
        let provider = provide().unwrap();
        assert!(provide().is_none());
        assert!(AccessorProvider::new(&[], |_| None).is_none());
        assert_eq!(AccessorProvider::accessor_of(name).unwrap().instance_name().unwrap(), name);
        drop(provider);
        assert!(AccessorProvider::accessor_of(name).is_none());
        provide().unwrap();
    }
}
