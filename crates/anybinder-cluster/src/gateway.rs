//! The gateway: what other machines find at the address that this one advertises.
//!
//! Each machine with a certificate gets a session, with a root object that gives it services by their names. What it is
//! given are forwarding objects, so its calls pass this process. Each call is looked at when it has come: without a lease
//! nothing is served, even if this process was stopped or cut off meanwhile.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder::binder_impl::IBinderInternal as _;
use binder::binder_impl::{
    Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, Parcel, Remotable, TransactionCode,
};
use binder::transport::rpc::{
    FileDescriptorTransportMode as FdMode, PeerIdentity, RpcServer, TlsCredentials,
};
use binder::{Interface as _, SpIBinder, StatusCode};
use service_manager::{AccessAction, ManagerServer};

use crate::clock;
use crate::counted::{CallPermission, OwnCalls};
use crate::metrics::GatewayCalls;
use crate::options::{ClusterError, ServeOptions, failed};
use crate::store::SharedMember;
use crate::users::{CallingUsers, PermittedUsers};

/// The interface of root objects.
const DESCRIPTOR: &str = "anybinder.cluster.IGateway";
/// Its only method: the service of a name, of a generation.
const GET: TransactionCode = FIRST_CALL_TRANSACTION;
/// How much of a name is shown that may be none.
const SHOWN_CHARS: usize = 127;
/// On how many connections of a machine calls are served at once.
const CALLS_PER_MACHINE: usize = 16;

/// Starts to serve other machines, whose calls are counted.
pub(crate) fn start(
    options: &ServeOptions,
    credentials: &TlsCredentials,
    member: &SharedMember,
    manager: &ManagerServer,
    calls: &Arc<GatewayCalls>,
    own_calls: &Arc<OwnCalls>,
    users: &CallingUsers,
) -> Result<RpcServer, ClusterError> {
    let address = &options.advertise;
    let host = options.listen.as_deref().unwrap_or(address.host());
    let root_for = {
        let (member, manager, users) = (member.clone(), manager.clone(), users.clone());
        let own_calls = Arc::clone(own_calls);
        move |peer| {
            let (member, manager, users) = (member.clone(), manager.clone(), users.clone());
            let own_calls = Arc::clone(&own_calls);
            let has_told = AtomicBool::new(false);
            let root = GatewayRoot { member, manager, own_calls, users, peer, has_told };
            Binder::new(root).as_binder()
        }
    };
    let without_identity = root_for(Vec::new());
    let server = RpcServer::new_inet_tls(without_identity, host, address.port(), credentials);
    let server = server.map_err(failed(format!("listening at {host}")))?;
    server.set_max_threads(CALLS_PER_MACHINE);
    server.set_supported_file_descriptor_transport_modes(&[FdMode::None, FdMode::Relayed]);
    let fence = Arc::clone(member.lock().fence());
    server.set_call_guard(move || {
        if fence.is_open(clock::now()) { Ok(()) } else { Err(StatusCode::DEAD_OBJECT) }
    });
    server.set_tells_callers(true);
    let users = users.clone();
    server.set_forwarding_user(move |caller| users.of(caller));
    let calls = Arc::clone(calls);
    server.set_call_observer(move |took, status| calls.note(took, status.is_ok()));
    server.set_authorizer(move |peer| Ok(Some(root_for(identities(peer)))));
    server.start().map_err(failed("starting a thread"))?;
    Ok(server)
}

/// The identities of a machine's certificate.
fn identities(peer: &PeerIdentity) -> Vec<String> {
    let mut identities = peer.uris();
    identities.extend(peer.host_names());
    identities
}

/// Asks another machine's gateway for a service; it comes with the user of that machine who registered it.
pub(crate) fn get(
    root: &SpIBinder,
    name: &str,
    generation: i64,
) -> Result<(SpIBinder, u32), StatusCode> {
    let mut data = root.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()));
    data.write_interface_token(DESCRIPTOR)?;
    data.write(name)?;
    data.write(&generation)?;
    let answer = root.submit_transact(GET, data, 0)?;
    let (service, owner): (SpIBinder, i64) = (answer.read()?, answer.read()?);
    Ok((service, u32::try_from(owner).map_err(|_| StatusCode::BAD_VALUE)?))
}

/// What one machine gets services from.
struct GatewayRoot {
    member: SharedMember,
    manager: ManagerServer,
    own_calls: Arc<OwnCalls>,
    users: CallingUsers,
    /// The identities of its certificate.
    peer: Vec<String>,
    /// Whether the log has a line of a service that it may not call.
    has_told: AtomicBool,
}

impl GatewayRoot {
    fn get(&self, name: &str, generation: i64) -> Result<(SpIBinder, u32), StatusCode> {
        let rules = CallRules::new(self.manager.clone(), self.users.clone(), &self.peer, name);
        if !rules.permit_some() {
            // A machine that asks again and again is not to fill the log.
            if !self.has_told.swap(true, Ordering::Relaxed) {
                let name: String = name.chars().take(SHOWN_CHARS).collect();
                tracing::warn!(name, peer = ?self.peer, "a machine may not call a service");
            }
            return Err(StatusCode::PERMISSION_DENIED);
        }
        if self.member.lock().generation(name, clock::now()) != Some(generation) {
            return Err(StatusCode::NAME_NOT_FOUND);
        }
        let found = self.manager.local_service(name).ok_or(StatusCode::NAME_NOT_FOUND)?;
        let (service, owner) = found;
        let permission = CallPermission::new(move |user| rules.permit(user));
        Ok((self.own_calls.begin(name).count_calls_of(&service, name, permission), owner))
    }
}

/// Who of a machine may call a service, by the rules of the moment.
struct CallRules {
    manager: ManagerServer,
    users: CallingUsers,
    /// The identities of the machine's certificate.
    peer: Vec<String>,
    name: Box<str>,
    /// Who may by the rules of an epoch.
    permitted: Mutex<(u64, Option<PermittedUsers>)>,
}

impl CallRules {
    fn new(manager: ManagerServer, users: CallingUsers, peer: &[String], name: &str) -> Self {
        let rules = Self {
            manager,
            users,
            peer: peer.to_vec(),
            name: name.into(),
            permitted: Mutex::new((0, None)),
        };
        let first = rules.look();
        *rules.permitted() = first;
        rules
    }

    fn permitted(&self) -> MutexGuard<'_, (u64, Option<PermittedUsers>)> {
        self.permitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who may now. The epoch comes first: rules that change meanwhile are looked at again.
    fn look(&self) -> (u64, Option<PermittedUsers>) {
        let epoch = self.users.rules_epoch();
        let permitted = self.manager.with_registry(|registry| {
            self.users.permitted(registry.policy(), &self.peer, AccessAction::Call, &self.name)
        });
        (epoch, permitted)
    }

    /// Whether any user may call.
    fn permit_some(&self) -> bool {
        self.permitted().1.is_some()
    }

    /// Whether a caller who acts as `user` may call.
    fn permit(&self, user: Option<u32>) -> bool {
        let mut permitted = self.permitted();
        if permitted.0 != self.users.rules_epoch() {
            *permitted = self.look();
        }
        permitted.1.as_ref().is_some_and(|it| it.include(user))
    }
}

impl Remotable for GatewayRoot {
    fn get_descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        if code != GET {
            return Err(StatusCode::UNKNOWN_TRANSACTION);
        }
        let (name, generation): (String, i64) = (data.read()?, data.read()?);
        let (service, owner) = self.get(&name, generation)?;
        reply.write(&service)?;
        reply.write(&i64::from(owner))
    }

    fn on_dump(&self, _: &mut dyn io::Write, _: &[&CStr]) -> Result<(), StatusCode> {
        Err(StatusCode::INVALID_OPERATION)
    }
}
