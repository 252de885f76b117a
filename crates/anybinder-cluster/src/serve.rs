//! Brings up a manager and its part in the cluster.

use std::env;
use std::process;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use binder::transport::rpc::RpcServer;
use binder_cluster::{ClusterEvent, ClusterMember, MemberOptions};
use binder_os::processes::Signal;
use binder_os::signals::SignalStream;
use service_manager::{ManagerOptions, ManagerServer};
use tokio::sync::mpsc;

use crate::gateway;
use crate::importers::{ImporterOptions, Importers};
use crate::metrics::{self, MetricsSources};
use crate::names::{ClusterNames, Follower, StoreListener};
use crate::options::{ClusterError, CredentialOptions, ServeOptions, failed};
use crate::store::{SharedMember, Store};
use crate::users::CallingUsers;

/// How many threads the driver may ask for. Look-ups of names of other machines wait in them.
const MANAGER_THREADS: u32 = 31;
/// How long the manager waits for the first list of names before it serves.
const FIRST_LIST_TIME: Duration = Duration::from_secs(2);

/// How long a manager that ends waits for etcd to take its lease back.
const LEAVE_TIME: Duration = Duration::from_secs(3);

pub(crate) fn run(options: &ServeOptions, verbose: u8) -> Result<(), ClusterError> {
    let (events, received) = mpsc::unbounded_channel();
    let serving = Arc::<OnceLock<Arc<RpcServer>>>::default();
    let credentials = options.credentials.load()?;
    let users = CallingUsers::load(&options.users, &credentials)?;
    let read_again = {
        let (credentials, users) = (options.credentials.clone(), users.clone());
        let serving = Arc::clone(&serving);
        // A gateway that does not serve yet will read its certificates.
        move || read_again(&credentials, &users, serving.get().map(Arc::as_ref))
    };
    take_signals(events.clone(), read_again)?;
    let (policy, declarations) = (options.policy()?, options.declarations()?);
    let manager_options = ManagerOptions {
        policy: policy.clone(),
        declarations: declarations.clone(),
        dialect: options.dialect,
        max_threads: MANAGER_THREADS,
    };
    let metrics = metrics::listen(options)?;
    let manager = ManagerServer::claim(&options.device, manager_options);
    let manager = manager.map_err(failed("becoming the service manager"))?;
    let member_options = MemberOptions { address: options.advertise.clone(), ttl: options.ttl() };
    let member = SharedMember::new(ClusterMember::new(member_options));
    let (calls, own_calls) = (Arc::default(), Arc::default());
    let gateway = Arc::new(gateway::start(
        options,
        &credentials,
        &member,
        &manager,
        &calls,
        &own_calls,
        &users,
    )?);
    // It is set once.
    let _ = serving.set(Arc::clone(&gateway));
    let importer_options = ImporterOptions {
        program: env::current_exe().map_err(failed("finding this program"))?,
        device: options.device.clone(),
        own_address: options.advertise.clone(),
        credentials: options.credentials.clone(),
        users: options.users.clone(),
        verbose,
        max_waiting: MANAGER_THREADS as usize - 1,
    };
    let importers = Importers::new(importer_options, member.clone(), manager.clone());
    let follower = Follower::start(&importers, &manager)?;
    if let Some(listener) = metrics {
        let (manager, member) = (manager.clone(), member.clone());
        let (importers, gateway) = (importers.clone(), Arc::clone(&gateway));
        metrics::start(listener, MetricsSources { manager, member, importers, gateway, calls })?;
    }
    let address = options.advertise.clone();
    let listener = StoreListener { follower: follower.clone(), gateway, address };
    start_store(options, &member, (events.clone(), received), listener)?;
    let names = ClusterNames {
        member: member.clone(),
        importers,
        own_calls,
        policy,
        declarations,
        events,
        follower,
    };
    manager.set_remote_names(Arc::new(names));
    wait_for_names(&member);
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!(%error, "the supervisor was not told that the service manager serves");
    }
    match manager.serve() {
        Err(error) => {
            tracing::info!(%error, "the device is gone");
            Ok(())
        }
    }
}

/// Reads the certificates again, for connections from then on, and the users, for calls from then on. Open sessions go on;
/// importers read the files when they are started.
fn read_again(credentials: &CredentialOptions, users: &CallingUsers, gateway: Option<&RpcServer>) {
    match users.read_again() {
        Ok(()) => tracing::info!("the users of other machines are read again"),
        Err(error) => tracing::error!(%error, "the users of other machines stay as they were"),
    }
    let Some(gateway) = gateway else { return };
    let changed = credentials.load().and_then(|credentials| {
        gateway.set_tls_credentials(&credentials).map_err(failed("using the certificates"))
    });
    match changed {
        Ok(()) => tracing::info!("the certificates are read again"),
        Err(error) => tracing::error!(%error, "the certificates stay as they were"),
    }
}

/// Speaks to the store on a thread of its own.
fn start_store(
    options: &ServeOptions,
    member: &SharedMember,
    events: (mpsc::UnboundedSender<ClusterEvent>, mpsc::UnboundedReceiver<ClusterEvent>),
    listener: StoreListener,
) -> Result<(), ClusterError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed("starting a runtime"))?;
    let (member, store) = (member.clone(), options.cluster.clone());
    let connect_options = options.store.apply(Store::connect_options(), store.channel)?;
    let (address, ttl) = (options.advertise.clone(), options.ttl());
    let speak = move || {
        let run = Store::run(member, &store, connect_options, address, ttl, events, listener);
        if let Err(error) = runtime.block_on(run) {
            tracing::error!(%error, "the store of names cannot be used");
            process::exit(1);
        }
        process::exit(0);
    };
    let started = thread::Builder::new().name("store".into()).spawn(speak);
    started.map(drop).map_err(failed("starting a thread"))
}

/// Waits until the names of others are known, so that the first look-up finds them; or does without.
fn wait_for_names(member: &SharedMember) {
    let begun = Instant::now();
    while member.lock().is_stale() && begun.elapsed() < FIRST_LIST_TIME {
        thread::sleep(Duration::from_millis(5));
    }
    if member.lock().is_stale() {
        tracing::warn!("etcd does not answer: names of other machines are not known yet");
    }
}

/// Takes SIGTERM and SIGINT as the wish to end, which comes when other machines know of it, or etcd does not listen; and
/// SIGHUP as the wish that files be read again. Must come before other threads, which would otherwise die of them.
fn take_signals(
    events: mpsc::UnboundedSender<ClusterEvent>,
    read_again: impl Fn() + Send + 'static,
) -> Result<(), ClusterError> {
    let signals = SignalStream::block(&[Signal::TERM, Signal::INT, Signal::HUP]);
    let signals = signals.map_err(failed("blocking signals"))?;
    let wait = move || {
        let arrived = loop {
            match signals.next() {
                Ok(arrived) if arrived.signal == Signal::HUP => read_again(),
                arrived => break arrived,
            }
        };
        tracing::info!(?arrived, "ending");
        if events.send(ClusterEvent::Leave).is_err() {
            process::exit(0);
        }
        thread::sleep(LEAVE_TIME);
        process::exit(0);
    };
    let started = thread::Builder::new().name("signals".into()).spawn(wait);
    started.map(drop).map_err(failed("starting a thread"))
}
