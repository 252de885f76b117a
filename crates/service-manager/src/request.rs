//! What a service manager is asked, and what it answers.

use binder::ExceptionCode;
use binder::service_manager::ServiceDebugInfo;

/// An object of whatever process, by the number that the [`Manager`](crate::Manager) gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallingContext {
    /// The process; 0 if it has no number here.
    pub pid: i32,
    /// The effective user.
    pub uid: u32,
    /// The security label, if callers show theirs.
    pub label: Option<String>,
}

/// A request of `android.os.IServiceManager`, of any release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManagerRequest<O> {
    /// The service of a name, in the form that the method has.
    Find {
        /// The name.
        name: String,
        /// Whether the answer may be an accessor.
        takes_accessor: bool,
    },
    /// Registers a service.
    Add {
        /// Its name.
        name: String,
        /// The service.
        service: O,
        /// How urgently it is dumped, and whether it is lazy.
        flags: i32,
    },
    /// The names of services with one of these flags.
    List {
        /// `DUMP_FLAG_PRIORITY_*`.
        flags: i32,
    },
    /// Tells a callback whenever a service of the name is registered.
    Listen {
        /// The name.
        name: String,
        /// An `android.os.IServiceCallback`.
        callback: O,
    },
    /// Takes that back.
    Unlisten {
        /// The name.
        name: String,
        /// The callback.
        callback: O,
    },
    /// Whether a service is declared.
    IsDeclared {
        /// Its name.
        name: String,
    },
    /// The declared instances of an interface.
    DeclaredInstances {
        /// Its name.
        interface: String,
    },
    /// Which APEX brings updates of a declared service.
    UpdatableViaApex {
        /// The service's name.
        name: String,
    },
    /// The declared services that an APEX brings updates of.
    UpdatableNames {
        /// Its name.
        apex: String,
    },
    /// Where a declared service listens.
    Address {
        /// The service's name.
        name: String,
    },
    /// Tells a callback whether a service of the caller's has clients.
    ListenForClients {
        /// The service's name.
        name: String,
        /// The service.
        service: O,
        /// An `android.os.IClientCallback`.
        callback: O,
    },
    /// Takes a service of the caller's out, if it has no clients.
    TryUnregister {
        /// Its name.
        name: String,
        /// The service.
        service: O,
    },
    /// All names, and the processes that registered them.
    DebugInfo,
}

/// What becomes of a request that is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManagerAnswer<O> {
    /// It is done.
    Done,
    /// The service, if there is one.
    Found(FoundService<O>),
    /// Names.
    Names(Vec<String>),
    /// Yes or no.
    Truth(bool),
    /// A name, if there is one.
    Name(Option<String>),
    /// An address, if there is one.
    Address(Option<ServiceAddress>),
    /// Services and their processes.
    DebugInfo(Vec<ServiceDebugInfo>),
}

/// What was found under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundService<O> {
    /// Nothing.
    Nothing,
    /// A service.
    Service {
        /// The service.
        service: O,
        /// Whether it may end when it has no clients.
        is_lazy: bool,
    },
    /// An object that opens connections to the service; none if that is not registered.
    Accessor(Option<O>),
}

/// Where a declared service listens for RPC Binder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    /// The IP address.
    pub ip: String,
    /// The port.
    pub port: u32,
}

/// A request that is refused, as the caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{exception:?}: {words}")]
pub struct Denial {
    /// Which exception it is.
    pub exception: ExceptionCode,
    /// The error.
    pub words: &'static str,
}

impl Denial {
    /// The caller may not do what it asks for.
    pub(crate) const BY_POLICY: Self = Self {
        exception: ExceptionCode::SECURITY,
        words: "Denied by the service manager's policy.",
    };

    pub(crate) const fn illegal_argument(words: &'static str) -> Self {
        Self { exception: ExceptionCode::ILLEGAL_ARGUMENT, words }
    }

    pub(crate) const fn illegal_state(words: &'static str) -> Self {
        Self { exception: ExceptionCode::ILLEGAL_STATE, words }
    }

    pub(crate) const fn unsupported(words: &'static str) -> Self {
        Self { exception: ExceptionCode::UNSUPPORTED_OPERATION, words }
    }
}

impl<O> ManagerRequest<O> {
    /// The same request, with other names for the objects in it.
    pub fn map<P>(self, mut name_of: impl FnMut(O) -> P) -> ManagerRequest<P> {
        use ManagerRequest as To;
        match self {
            Self::Find { name, takes_accessor } => To::Find { name, takes_accessor },
            Self::Add { name, service, flags } => {
                To::Add { name, service: name_of(service), flags }
            }
            Self::List { flags } => To::List { flags },
            Self::Listen { name, callback } => To::Listen { name, callback: name_of(callback) },
            Self::Unlisten { name, callback } => To::Unlisten { name, callback: name_of(callback) },
            Self::IsDeclared { name } => To::IsDeclared { name },
            Self::DeclaredInstances { interface } => To::DeclaredInstances { interface },
            Self::UpdatableViaApex { name } => To::UpdatableViaApex { name },
            Self::UpdatableNames { apex } => To::UpdatableNames { apex },
            Self::Address { name } => To::Address { name },
            Self::ListenForClients { name, service, callback } => To::ListenForClients {
                name,
                service: name_of(service),
                callback: name_of(callback),
            },
            Self::TryUnregister { name, service } => {
                To::TryUnregister { name, service: name_of(service) }
            }
            Self::DebugInfo => To::DebugInfo,
        }
    }
}
