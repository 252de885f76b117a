//! Brings up a manager and its part in the cluster.

use std::env;
use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use binder::transport::rpc::{RpcServer, TlsCredentials};
use binder_cluster::{ClusterEvent, ClusterMember, MachineAddress, MemberOptions};
use binder_os::processes::Signal;
use binder_os::signals::SignalStream;
use service_manager::{ManagerOptions, ManagerServer};
use tokio::sync::mpsc;

use crate::gateway;
use crate::importers::{ImporterOptions, Importers};
use crate::metrics::{self, MetricsSources};
use crate::names::{ClusterNames, Follower, StoreListener};
use crate::options::{ClusterError, ServeOptions, failed};
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
    let serving = Arc::<OnceLock<ClusterServing>>::default();
    let credentials = options.credentials.load()?;
    warn_of_unbelieved(&credentials, &options.advertise);
    let users = CallingUsers::load(&options.users, &credentials)?;
    let read_again = {
        let (options, users, serving) = (options.clone(), users.clone(), Arc::clone(&serving));
        // What was read before it serves may be older than the signal.
        move || read_again(&options, &users, serving.wait())
    };
    take_signals(events.clone(), read_again)?;
    let declarations = options.declarations()?;
    let manager_options = ManagerOptions {
        policy: options.policy()?,
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
    let importer_options = ImporterOptions {
        program: env::current_exe().map_err(failed("finding this program"))?,
        device: options.device.clone(),
        own_address: options.advertise.clone(),
        credentials: options.credentials.clone(),
        users: users.clone(),
        verbose,
        max_waiting: MANAGER_THREADS as usize - 1,
    };
    let importers = Importers::new(importer_options, member.clone(), manager.clone());
    // It is set once.
    let _ = serving.set(ClusterServing {
        gateway: Arc::clone(&gateway),
        importers: importers.clone(),
        manager: manager.clone(),
        credentials: Mutex::new(credentials),
    });
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
        users,
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

/// What serves this machine and others.
struct ClusterServing {
    gateway: Arc<RpcServer>,
    importers: Importers,
    manager: ManagerServer,
    /// Of the gateway.
    credentials: Mutex<TlsCredentials>,
}

/// Reads the certificates again, for connections from then on, and the users and the access rules, for calls from then on,
/// and has importers do so. Open sessions go on.
fn read_again(options: &ServeOptions, users: &CallingUsers, serving: &ClusterServing) {
    let ClusterServing { gateway, importers, manager, credentials } = serving;
    let mut credentials = credentials.lock().unwrap_or_else(PoisonError::into_inner);
    let changed = options.credentials.load().and_then(|read| {
        warn_of_unbelieved(&read, &options.advertise);
        gateway.set_tls_credentials(&read).map_err(failed("using the certificates"))?;
        *credentials = read;
        Ok(())
    });
    match changed {
        Ok(()) => tracing::info!("the certificates are read again"),
        Err(error) => tracing::error!(%error, "the certificates stay as they were"),
    }
    let changed = users.read_again(&credentials);
    let are_others = match changed {
        Ok(are_others) => {
            tracing::info!("the users of other machines are read again");
            are_others
        }
        Err(error) => {
            tracing::error!(%error, "the users of other machines stay as they were");
            false
        }
    };
    let changed = options
        .policy()
        .and_then(|policy| manager.set_policy(policy).map_err(failed("using the access rules")));
    match changed {
        Ok(()) => {
            users.note_rules();
            tracing::info!("the access rules are read again");
        }
        Err(error) => tracing::error!(%error, "the access rules stay as they were"),
    }
    importers.read_again(are_others);
}

/// Warns of a certificate that other machines will not believe. They may believe other issuers, or have another time.
fn warn_of_unbelieved(credentials: &TlsCredentials, address: &MachineAddress) {
    if let Err(error) = credentials.verify_as_server(address.host()) {
        tracing::warn!(%address, %error, "other machines will not believe the certificate of this one");
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
