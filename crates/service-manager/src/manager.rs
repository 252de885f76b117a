//! A service manager, but for the device: transactions in, answers and one-ways out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use binder::binder_impl::{
    BorrowedParcel, FIRST_CALL_TRANSACTION, FLAG_ONEWAY, IBinderInternal as _, Parcel,
    TransactionCode,
};
use binder::service_manager::{Dialect, Method};
use binder::transport::TokenForm;
use binder::{DeathRecipient, ExceptionCode, IBinder as _, SpIBinder, StatusCode};
use binder_http::MetricFamilies;

use crate::dialects::Dialects;
use crate::figures::{self, RequestCounts, RequestGroup};
use crate::registry::{ObjectTable, RegistryEffect, ServiceRegistry};
use crate::remote::RemoteNames;
use crate::request::{
    CallingContext, Denial, FoundService, ManagerAnswer, ManagerRequest, ObjectId,
};
use crate::wire::{self, by_hand};
use crate::{AccessPolicy, Declarations, DialectChoice};

/// The interface.
pub(crate) const DESCRIPTOR: &str = "android.os.IServiceManager";
/// The interface of callbacks for registrations.
const SERVICE_CALLBACK: &str = "android.os.IServiceCallback";
/// The interface of callbacks for clients.
const CLIENT_CALLBACK: &str = "android.os.IClientCallback";
/// The only method of both.
const TELL: TransactionCode = FIRST_CALL_TRANSACTION;

/// Asks the driver how many processes hold an object.
pub trait ClientCounter: Send {
    /// How many processes hold it, the manager's included; `None` if that is not known.
    fn strong_count(&self, object: &SpIBinder) -> Option<u32>;
}

/// A service manager.
pub struct Manager {
    registry: ServiceRegistry,
    dialects: Dialects,
    objects: KnownObjects,
    remote: Option<Arc<dyn RemoteNames>>,
    counts: RequestCounts,
    has_told_of_hidl: bool,
}

/// Whether a service that is not registered may be brought from another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// The manager says what is missing, and answers when it was looked for.
    Look,
    /// It answers that there is none.
    Nowhere,
}

/// What becomes of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactOutcome {
    /// It is answered.
    Answered,
    /// It is not: a service of this name, which the caller may find, is not registered.
    Missing(String),
}

/// The objects that the registry refers to, and those of the request that is handled.
struct KnownObjects {
    ids: BTreeMap<SpIBinder, ObjectId>,
    held: BTreeMap<ObjectId, HeldByManager>,
    last: u64,
    /// Those that came with the request.
    fresh: Vec<ObjectId>,
    counter: Box<dyn ClientCounter>,
    note_death: Arc<dyn Fn(ObjectId) + Send + Sync>,
}

struct HeldByManager {
    binder: SpIBinder,
    recipient: Option<DeathRecipient>,
}

impl Manager {
    /// One without services. `note_death` is called, on any thread, when an object has died:
    /// [`object_died`](Self::object_died) is then to be called.
    pub fn new(
        policy: AccessPolicy,
        declarations: Declarations,
        dialect: DialectChoice,
        counter: Box<dyn ClientCounter>,
        note_death: Arc<dyn Fn(ObjectId) + Send + Sync>,
    ) -> Self {
        let objects = KnownObjects {
            ids: BTreeMap::new(),
            held: BTreeMap::new(),
            last: 0,
            fresh: Vec::new(),
            counter,
            note_death,
        };
        let registry = ServiceRegistry::new(policy, declarations);
        let (dialects, counts) = (Dialects::new(dialect), RequestCounts::default());
        Self { registry, dialects, objects, remote: None, counts, has_told_of_hidl: false }
    }

    /// Tells names of this machine to others, and finds theirs by them.
    pub fn set_remote_names(&mut self, remote: Arc<dyn RemoteNames>) {
        self.remote = Some(remote);
    }

    /// Whose names there are beside its own.
    #[must_use]
    pub fn remote_names(&self) -> Option<&Arc<dyn RemoteNames>> {
        self.remote.as_ref()
    }

    /// The service of this machine that is registered by a name, and the user who registered it.
    #[must_use]
    pub fn local_service(&self, name: &str) -> Option<(SpIBinder, u32)> {
        let (object, uid) = self.registry.local_service(name)?;
        Some((self.objects.binder(object)?, uid))
    }

    /// What it decides by.
    #[must_use]
    pub fn registry(&self) -> &ServiceRegistry {
        &self.registry
    }

    /// The same, to change what other machines have.
    pub fn registry_mut(&mut self) -> &mut ServiceRegistry {
        &mut self.registry
    }

    /// Serves a transaction whose parcel stands before the interface token, and calls the callbacks that it concerns.
    ///
    /// # Errors
    ///
    /// The status that the caller gets instead of a reply.
    pub fn transact(
        &mut self,
        caller: &CallingContext,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
        elsewhere: Elsewhere,
    ) -> Result<TransactOutcome, StatusCode> {
        if speaks_hidl(data) {
            self.tell_of_hidl(caller);
            return Err(StatusCode::BAD_TYPE);
        }
        let done = match data.read_token_form(DESCRIPTOR)? {
            TokenForm::Full => self.transact_aidl(caller, code, data, reply, elsewhere),
            TokenForm::Policy | TokenForm::PolicyAndWorkSource => {
                self.transact_by_hand(caller, code, data, reply, elsewhere)
            }
        };
        self.settle();
        done
    }

    /// Says that a caller's manager is another, once: it may ask again and again.
    fn tell_of_hidl(&mut self, caller: &CallingContext) {
        if !std::mem::replace(&mut self.has_told_of_hidl, true) {
            let (pid, uid) = (caller.pid, caller.uid);
            tracing::warn!(
                pid,
                uid,
                "a process speaks HIDL, whose manager is hwservicemanager: it is refused"
            );
        }
    }

    /// Handles a request of a caller in this process.
    ///
    /// # Errors
    ///
    /// [`Denial`].
    pub fn request(
        &mut self,
        caller: &CallingContext,
        request: ManagerRequest<SpIBinder>,
    ) -> Result<ManagerAnswer<SpIBinder>, Denial> {
        let kind = RequestGroup::of(&request);
        let answer = self.handle(caller, request);
        self.counts.note(kind, &answer);
        self.settle();
        answer
    }

    /// Forgets an object whose process has ended.
    pub fn object_died(&mut self, object: ObjectId) {
        self.registry.object_died(object);
        self.settle();
    }

    /// Tells some services, of names behind `after`, whether they have clients, and returns the last of the names if
    /// there may be more. To be called for all every few seconds while
    /// [`has_client_listeners`](Self::has_client_listeners).
    pub fn count_clients(&mut self, after: Option<&str>) -> Option<String> {
        let last = self.registry.count_clients(after, &mut self.objects);
        self.settle();
        last
    }

    /// Whether a service wants to know whether it has clients.
    #[must_use]
    pub fn has_client_listeners(&self) -> bool {
        self.registry.has_client_listeners()
    }

    /// Whether callers have to show their security label.
    #[must_use]
    pub fn wants_labels(&self) -> bool {
        self.registry.wants_labels()
    }

    /// Says how much there is of everything, for people.
    ///
    /// # Errors
    ///
    /// [`Denial`] if the caller may not list services.
    pub fn describe(&self, caller: &CallingContext) -> Result<String, Denial> {
        self.registry.describe(caller)
    }

    /// Says how much there is of everything, and how often it was asked, for programs.
    pub fn write_figures(&self, families: &mut MetricFamilies) {
        figures::write(self.registry.counts(), &self.counts, self.remote_count(), families);
    }

    /// How many objects of other processes it holds.
    #[must_use]
    pub fn remote_count(&self) -> usize {
        self.objects.held.values().filter(|held| held.binder.is_remote()).count()
    }

    fn transact_aidl(
        &mut self,
        caller: &CallingContext,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
        elsewhere: Elsewhere,
    ) -> Result<TransactOutcome, StatusCode> {
        let (dialect, method) = self.dialect_of(caller.pid, code, data)?;
        let has_union = dialect.answers_with_union(method);
        let answer = match wire::read_request(method, has_union, data) {
            Ok(request) => {
                let kind = RequestGroup::of(&request);
                let wanted = self.wanted(caller, &request, elsewhere);
                let answer = self.handle(caller, request);
                if let (Some(name), true) = (wanted, is_nothing(&answer)) {
                    return Ok(TransactOutcome::Missing(name));
                }
                self.counts.note(kind, &answer);
                if answer.is_ok() {
                    self.learn(caller.pid, code, method);
                }
                answer
            }
            // As code that AIDL generates.
            Err(StatusCode::UNEXPECTED_NULL) => {
                Err(Denial { exception: ExceptionCode::NULL_POINTER, words: "" })
            }
            Err(status) => return Err(status),
        };
        wire::write_answer(&answer, has_union, reply).map(|()| TransactOutcome::Answered)
    }

    /// The name of a service that is looked for, if other machines may have it.
    fn wanted(
        &self,
        caller: &CallingContext,
        request: &ManagerRequest<SpIBinder>,
        elsewhere: Elsewhere,
    ) -> Option<String> {
        let ManagerRequest::Find { name, takes_accessor } = request else { return None };
        let is_looked_for = elsewhere == Elsewhere::Look && self.remote.is_some();
        if !is_looked_for || !self.registry.may_find(caller, name) {
            return None;
        }
        match self.registry.accessor_of(name, *takes_accessor) {
            Some(accessor) => self.registry.may_find(caller, &accessor).then_some(accessor),
            None => Some(name.clone()),
        }
    }

    /// Finds out which method is meant, of which dialect.
    fn dialect_of(
        &self,
        pid: i32,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
    ) -> Result<(Dialect, Method), StatusCode> {
        let known = self.dialects.of(pid);
        let meant = |dialects: &[Dialect]| {
            let methods = dialects.iter().filter_map(|it| Some((*it, it.method(code)?)));
            methods.collect::<Vec<_>>()
        };
        let possible = meant(&known);
        let is_whole = |&(dialect, method): &(Dialect, Method)| is_whole(dialect, method, data);
        let found = if self.dialects.is_open() {
            let found = possible.iter().copied().find(is_whole);
            found.or_else(|| meant(&Dialect::ALL).into_iter().find(is_whole))
        } else {
            None
        };
        // A call of no dialect is taken for one of the newest, and fails as such.
        found.or_else(|| possible.first().copied()).ok_or(StatusCode::UNKNOWN_TRANSACTION)
    }

    /// Notes what a caller has shown by what it has registered.
    fn learn(&mut self, pid: i32, code: TransactionCode, method: Method) {
        match method {
            Method::AddService
            | Method::RegisterForNotifications
            | Method::RegisterClientCallback => {}
            Method::GetService
            | Method::GetService2
            | Method::CheckService
            | Method::CheckService2
            | Method::ListServices
            | Method::UnregisterForNotifications
            | Method::IsDeclared
            | Method::GetDeclaredInstances
            | Method::UpdatableViaApex
            | Method::GetUpdatableNames
            | Method::GetConnectionInfo
            | Method::TryUnregisterService
            | Method::GetServiceDebugInfo => return,
        }
        for object in &self.objects.fresh {
            if self.registry.refers_to(*object) {
                self.dialects.learn(pid, code, method, *object);
            }
        }
    }

    fn transact_by_hand(
        &mut self,
        caller: &CallingContext,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
        elsewhere: Elsewhere,
    ) -> Result<TransactOutcome, StatusCode> {
        let (request, index) = by_hand::read_request(code, data)?;
        let kind = RequestGroup::of(&request);
        let wanted = self.wanted(caller, &request, elsewhere);
        let answer = self.handle(caller, request);
        if let (Some(name), true) = (wanted, is_nothing(&answer)) {
            return Ok(TransactOutcome::Missing(name));
        }
        self.counts.note(kind, &answer);
        match answer {
            Ok(answer) => by_hand::write_answer(&answer, index, reply),
            Err(_) => Err(StatusCode::PERMISSION_DENIED),
        }
        .map(|()| TransactOutcome::Answered)
    }

    fn handle(
        &mut self,
        caller: &CallingContext,
        request: ManagerRequest<SpIBinder>,
    ) -> Result<ManagerAnswer<SpIBinder>, Denial> {
        let request = request.map(|binder| self.objects.id_of(binder));
        let answer = self.registry.handle(caller, request, &mut self.objects);
        if let Err(denial) = &answer {
            tracing::debug!(%denial, pid = caller.pid, "a request is refused");
        }
        answer.map(|answer| self.objects.named(answer))
    }

    /// Does what the registry wants done, after it was changed, and forgets objects that it does not refer to.
    pub fn settle(&mut self) {
        while let Some(effect) = self.registry.poll_effect() {
            match effect {
                RegistryEffect::Registered { callback, name, service } => {
                    let service = self.objects.binder(service);
                    self.objects.tell(callback, SERVICE_CALLBACK, |parcel| {
                        parcel.write(&name)?;
                        parcel.write(&service)
                    });
                }
                RegistryEffect::Clients { callback, service, has_clients } => {
                    let service = self.objects.binder(service);
                    self.objects.tell(callback, CLIENT_CALLBACK, |parcel| {
                        parcel.write(&service)?;
                        parcel.write(&has_clients)
                    });
                }
                RegistryEffect::Forget(object) => self.drop_unless_used(object),
                RegistryEffect::LocalChanged { name, is_there } => {
                    let policy = self.registry.policy();
                    self.remote.iter().for_each(|it| it.local_changed(policy, &name, is_there));
                }
                RegistryEffect::Awaited { name } => {
                    self.remote.iter().for_each(|it| it.awaited(&name));
                }
            }
        }
        for object in std::mem::take(&mut self.objects.fresh) {
            self.drop_unless_used(object);
        }
    }

    fn drop_unless_used(&mut self, object: ObjectId) {
        if !self.registry.refers_to(object) {
            self.objects.forget(object);
            self.dialects.forget(object);
        }
    }
}

fn is_nothing(answer: &Result<ManagerAnswer<SpIBinder>, Denial>) -> bool {
    matches!(answer, Ok(ManagerAnswer::Found(FoundService::Nothing | FoundService::Accessor(None))))
}

/// Whether a parcel begins as those of HIDL do: with the interface's name in bytes.
fn speaks_hidl(data: &BorrowedParcel<'_>) -> bool {
    data.bytes().starts_with(b"android.hidl.")
}

/// Whether a parcel holds the arguments of a method, and nothing else. It stands where it stood.
fn is_whole(dialect: Dialect, method: Method, data: &BorrowedParcel<'_>) -> bool {
    let start = data.get_data_position();
    let has_union = dialect.answers_with_union(method);
    let is_read = wire::read_request(method, has_union, data).is_ok();
    let is_whole = is_read && data.get_data_position() == data.get_data_size();
    is_whole && data.set_data_position(start).is_ok() || {
        // It was there before, so it is in the parcel.
        let _ = data.set_data_position(start);
        false
    }
}

impl KnownObjects {
    fn id_of(&mut self, binder: SpIBinder) -> ObjectId {
        let id = match self.ids.get(&binder) {
            Some(known) => *known,
            None => {
                self.last += 1;
                let id = ObjectId(self.last);
                self.ids.insert(binder.clone(), id);
                self.held.insert(id, HeldByManager { binder, recipient: None });
                id
            }
        };
        self.fresh.push(id);
        id
    }

    fn binder(&self, object: ObjectId) -> Option<SpIBinder> {
        self.held.get(&object).map(|held| held.binder.clone())
    }

    fn forget(&mut self, object: ObjectId) {
        if let Some(held) = self.held.remove(&object) {
            self.ids.remove(&held.binder);
        }
    }

    /// The answer with the objects themselves.
    fn named(&self, answer: ManagerAnswer<ObjectId>) -> ManagerAnswer<SpIBinder> {
        match answer {
            ManagerAnswer::Found(FoundService::Service { service, is_lazy }) => {
                let found = self.binder(service);
                ManagerAnswer::Found(found.map_or(FoundService::Nothing, |service| {
                    FoundService::Service { service, is_lazy }
                }))
            }
            ManagerAnswer::Found(FoundService::Accessor(accessor)) => {
                let accessor = accessor.and_then(|object| self.binder(object));
                ManagerAnswer::Found(FoundService::Accessor(accessor))
            }
            ManagerAnswer::Found(FoundService::Nothing) => {
                ManagerAnswer::Found(FoundService::Nothing)
            }
            ManagerAnswer::Done => ManagerAnswer::Done,
            ManagerAnswer::Names(names) => ManagerAnswer::Names(names),
            ManagerAnswer::Truth(truth) => ManagerAnswer::Truth(truth),
            ManagerAnswer::Name(name) => ManagerAnswer::Name(name),
            ManagerAnswer::Address(address) => ManagerAnswer::Address(address),
            ManagerAnswer::DebugInfo(infos) => ManagerAnswer::DebugInfo(infos),
        }
    }

    /// Calls a callback one-way: it cannot hold the manager up, and need not be asked for its interface.
    fn tell(
        &self,
        callback: ObjectId,
        descriptor: &str,
        write: impl FnOnce(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>,
    ) {
        let Some(callback) = self.held.get(&callback).map(|held| &held.binder) else { return };
        let mut parcel =
            callback.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()));
        let written = parcel.write_interface_token(descriptor).and_then(|()| write(&mut parcel));
        let told = written.and_then(|()| callback.submit_transact(TELL, parcel, FLAG_ONEWAY));
        if let Err(status) = told {
            tracing::debug!(descriptor, %status, "a callback is not told");
        }
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl ObjectTable for KnownObjects {
    fn link_to_death(&mut self, object: ObjectId) -> bool {
        let Some(held) = self.held.get_mut(&object) else { return false };
        if !held.binder.is_remote() {
            return true;
        }
        let note = Arc::clone(&self.note_death);
        let recipient = DeathRecipient::new(move || note(object));
        let is_linked = held.binder.link_to_death(&recipient).is_ok();
        held.recipient = is_linked.then_some(recipient);
        is_linked
    }

    fn strong_count(&mut self, object: ObjectId) -> Option<u32> {
        self.counter.strong_count(&self.held.get(&object)?.binder)
    }

    fn is_vintf_stable(&self, object: ObjectId) -> bool {
        let stability = self.held.get(&object).map(|held| held.binder.stability());
        stability == Some(binder::binder_impl::Stability::Vintf)
    }
}

impl fmt::Debug for KnownObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let linked = self.held.values().filter(|held| held.recipient.is_some()).count();
        write!(f, "KnownObjects({} objects, {linked} linked to death)", self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_of_hidl_is_told_apart() {
        let mut data = Parcel::new();
        data.write_interface_token(DESCRIPTOR).unwrap();
        assert!(!speaks_hidl(&data));
        let mut data = Parcel::new();
        for word in b"android.hidl.manager@1.0::IServiceManager\0\0\0".chunks_exact(4) {
            data.write(&i32::from_le_bytes(word.try_into().unwrap())).unwrap();
        }
        assert!(speaks_hidl(&data));
    }
}
