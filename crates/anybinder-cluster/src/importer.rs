//! A process that stands for a service of other machines.

use std::io::{self, BufRead, Write};
use std::process;
use std::sync::Arc;

use binder::service_manager::ServiceManager;
use binder::transport::driver::DriverDevice;
use binder::transport::rpc::{FileDescriptorTransportMode as FdMode, RpcSession, TlsCredentials};
use binder::{DeathRecipient, IBinder as _, SpIBinder};
use binder_cluster::MachineAddress;
use service_manager::InstanceCalls;

use crate::balance::{BalancedInstance, BalancedProxy, InstanceKey};
use crate::counted::CallCounts;
use crate::gateway;
use crate::importers::{CALLS, CALLS_ASKED, CALLS_TOLD, READY};
use crate::options::{ClusterError, ImportOptions, failed};
use crate::users::CallingUsers;

/// On how many threads services of other machines may call back.
const INCOMING_THREADS: usize = 4;
/// How many calls may be under way at one machine.
const CONNECTIONS: usize = 16;

/// A service at a machine.
struct FoundInstance {
    object: SpIBinder,
    counts: Arc<CallCounts>,
    /// Kept: the session lasts as long.
    _session: RpcSession,
    _recipient: DeathRecipient,
}

pub(crate) fn run(options: &ImportOptions) -> Result<(), ClusterError> {
    let credentials = options.credentials.load()?;
    let users = CallingUsers::load(&options.users, &credentials)?;
    let device = DriverDevice::open(&options.device).map_err(failed("opening the device"))?;
    let mut lines = io::stdin().lock().lines();
    let mut next = || lines.next().transpose().map_err(failed("reading what to import"));
    let Some(line) = next()? else { return Ok(()) };
    let mut sources = parse(&line)?;
    let Some(balancing) = options.balancing else {
        let (address, generation) = sources.pop().ok_or(()).map_err(|()| nothing())?;
        let found =
            connect(options, (&credentials, &users), &address, generation, || process::exit(0))?;
        register(options, &device, &found.object)?;
        let key = (address, generation);
        // It ends with the service, or is killed, or its manager ends.
        while let Some(line) = next()? {
            if line == CALLS_ASKED {
                tell_calls(&[(key.clone(), Arc::clone(&found.counts))])?;
            }
        }
        return Ok(());
    };
    let proxy = Arc::new(BalancedProxy::new(balancing));
    let mut is_registered = false;
    loop {
        proxy.retain(&sources);
        for (address, generation) in sources {
            let key = (address.clone(), generation);
            if proxy.has(&key) {
                continue;
            }
            let gone = Arc::downgrade(&proxy);
            let gone_key = key.clone();
            let forget = move || {
                if let Some(proxy) = gone.upgrade() {
                    proxy.forget(&gone_key);
                }
            };
            match connect(options, (&credentials, &users), &address, generation, forget) {
                Ok(found) => {
                    let object = found.object.clone();
                    let counts = Arc::clone(&found.counts);
                    let instance = BalancedInstance::new(key, &object, counts, Box::new(found));
                    proxy.add(instance.ok_or(()).map_err(|()| nothing())?);
                }
                Err(error) => tracing::warn!(%address, %error, "an instance is not within reach"),
            }
        }
        if !is_registered {
            if proxy.is_empty() {
                return Err(nothing());
            }
            register(options, &device, &SpIBinder::from_remote(proxy.clone()))?;
            is_registered = true;
        }
        sources = loop {
            match next()? {
                None => return Ok(()),
                Some(line) if line == CALLS_ASKED => tell_calls(&proxy.counts())?,
                Some(line) => break parse(&line)?,
            }
        };
    }
}

fn nothing() -> ClusterError {
    failed("importing a service")("no machine has it")
}

/// Reads addresses and generations.
fn parse(line: &str) -> Result<Vec<(MachineAddress, i64)>, ClusterError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let parsed: Option<Vec<_>> = words
        .chunks(2)
        .map(|pair| match pair {
            [address, generation] => Some((address.parse().ok()?, generation.parse().ok()?)),
            _ => None,
        })
        .collect();
    parsed.ok_or(()).map_err(|()| failed("reading what to import")("it is none of a manager's"))
}

/// Connects to a machine's gateway, and gets its service; `gone` runs when that is gone.
fn connect(
    options: &ImportOptions,
    (credentials, users): (&TlsCredentials, &CallingUsers),
    address: &MachineAddress,
    generation: i64,
    gone: impl Fn() + Send + Sync + 'static,
) -> Result<FoundInstance, ClusterError> {
    let session = RpcSession::new();
    session.set_max_incoming_threads(INCOMING_THREADS);
    session.set_max_outgoing_connections(CONNECTIONS);
    session.set_file_descriptor_transport_mode(FdMode::Relayed);
    session.set_tells_callers(true);
    let users = users.clone();
    session.set_forwarding_user(move |caller| users.of(caller));
    let root = session.connect_inet_tls(address.host(), address.port(), credentials);
    let root = root.map_err(failed(format!("connecting to {address}")))?;
    let found = gateway::get(&root, &options.name, generation);
    let object = found.map_err(failed(format!("asking {address} for {}", options.name)))?;
    let recipient = DeathRecipient::new(gone);
    let linked = object.link_to_death(&recipient);
    linked.map_err(failed(format!("waiting for the end of {}", options.name)))?;
    let counts = Arc::<CallCounts>::default();
    let object = counts.count_calls_of(&object, &options.name);
    Ok(FoundInstance { object, counts, _session: session, _recipient: recipient })
}

/// Registers the service here, and says that it is.
fn register(
    options: &ImportOptions,
    device: &DriverDevice,
    object: &SpIBinder,
) -> Result<(), ClusterError> {
    device.start_thread_pool().map_err(failed("starting a thread"))?;
    let manager = ServiceManager::of(device).map_err(failed("asking the service manager"))?;
    let added = manager.add(&options.name, object);
    added.map_err(failed(format!("registering {}", options.name)))?;
    tell(&format!("{READY}\n"))
}

/// Says how often instances were called from here.
fn tell_calls(counts: &[(InstanceKey, Arc<CallCounts>)]) -> Result<(), ClusterError> {
    let mut text = String::new();
    for ((address, generation), counts) in counts {
        let InstanceCalls { count, total_ns } = counts.calls();
        text.push_str(&format!("{CALLS} {address} {generation} {count} {total_ns}\n"));
    }
    text.push_str(&format!("{CALLS_TOLD}\n"));
    tell(&text)
}

fn tell(text: &str) -> Result<(), ClusterError> {
    let mut out = io::stdout();
    let told = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    told.map_err(failed("telling the service manager"))
}
