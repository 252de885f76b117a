//! A process that stands for a service of other machines.

mod many;
mod wanted;

use std::io::{self, Write};
use std::process;
use std::sync::Arc;

use binder::service_manager::ServiceManager;
use binder::transport::driver::DriverDevice;
use binder::transport::rpc::{FileDescriptorTransportMode as FdMode, RpcSession, TlsCredentials};
use binder::{DeathRecipient, IBinder as _, SpIBinder};
use service_manager::InstanceCalls;

use crate::balance::InstanceKey;
use crate::counted::{CallCounts, CallPermission};
use crate::gateway;
use crate::importers::{CALLS, CALLS_ASKED, CALLS_TOLD, ImportSource, READ_AGAIN, READY};
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
}

impl FoundInstance {
    /// Has `gone` run when it is gone, as long as what this returns is kept.
    fn watch(
        &self,
        gone: impl Fn() + Send + Sync + 'static,
    ) -> Result<DeathRecipient, ClusterError> {
        let recipient = DeathRecipient::new(gone);
        let linked = self.object.link_to_death(&recipient);
        linked.map_err(failed("waiting for the end of a service"))?;
        Ok(recipient)
    }
}

/// What other machines are spoken to with.
#[derive(Clone)]
struct MachineFiles {
    options: Arc<ImportOptions>,
    credentials: Arc<TlsCredentials>,
    users: CallingUsers,
}

impl MachineFiles {
    fn load(options: &ImportOptions) -> Result<Self, ClusterError> {
        let credentials = options.credentials.load()?;
        let users = CallingUsers::load(&options.users, &credentials)?;
        let (options, credentials) = (Arc::new(options.clone()), Arc::new(credentials));
        Ok(Self { options, credentials, users })
    }

    /// Reads them again, the certificates for sessions from then on; what is not good stays as it was.
    fn read_again(&mut self) {
        match self.options.credentials.load() {
            Ok(credentials) => self.credentials = Arc::new(credentials),
            Err(error) => tracing::error!(%error, "the certificates stay as they were"),
        }
        if let Err(error) = self.users.read_again(&self.credentials) {
            tracing::error!(%error, "the users of other machines stay as they were");
        }
    }
}

pub(crate) fn run(options: &ImportOptions) -> Result<(), ClusterError> {
    let files = MachineFiles::load(options)?;
    let device = DriverDevice::open(&options.device).map_err(failed("opening the device"))?;
    let line = io::stdin().lines().next().transpose().map_err(failed("reading what to import"))?;
    let Some(line) = line else { return Ok(()) };
    let mut sources = parse(&line)?;
    match options.balancing {
        Some(balancing) => many::run(files, &device, balancing, sources),
        None => {
            let source = sources.pop().ok_or(()).map_err(|()| nothing())?;
            run_one(files, &device, &source)
        }
    }
}

/// Stands for the one instance of a service. It ends with that, or is killed, or its manager ends.
fn run_one(
    mut files: MachineFiles,
    device: &DriverDevice,
    source: &ImportSource,
) -> Result<(), ClusterError> {
    let found = connect(&files, source)?;
    let _recipient = found.watch(|| process::exit(0))?;
    register(&files.options, device, &found.object)?;
    for line in io::stdin().lines() {
        match &*line.map_err(failed("reading what to import"))? {
            CALLS_ASKED => tell_calls(&[(source.key.clone(), Arc::clone(&found.counts))])?,
            READ_AGAIN => files.read_again(),
            _ => {}
        }
    }
    Ok(())
}

fn nothing() -> ClusterError {
    failed("importing a service")("no machine has it")
}

/// Reads which instances are to be called.
fn parse(line: &str) -> Result<Vec<ImportSource>, ClusterError> {
    let parsed = ImportSource::parse_line(line).ok_or(());
    parsed.map_err(|()| failed("reading what to import")("it is none of a manager's"))
}

/// Connects to a machine's gateway, and gets its service.
fn connect(
    MachineFiles { options, credentials, users }: &MachineFiles,
    ImportSource { key: (address, generation), owners }: &ImportSource,
) -> Result<FoundInstance, ClusterError> {
    let name = &*options.name;
    let session = RpcSession::new();
    session.set_max_incoming_threads(INCOMING_THREADS);
    session.set_max_outgoing_connections(CONNECTIONS);
    session.set_file_descriptor_transport_mode(FdMode::Relayed);
    session.set_tells_callers(true);
    let calling = users.clone();
    session.set_forwarding_user(move |caller| calling.of(caller));
    let root = session.connect_inet_tls(address.host(), address.port(), credentials);
    let root = root.map_err(failed(format!("connecting to {address}")))?;
    let asking = format!("asking {address} for {name}");
    let (object, owner) =
        gateway::get(&root, name, *generation).map_err(failed(asking.as_str()))?;
    let certificate = session.server_certificate();
    if !owners.include(certificate.and_then(|shown| users.here(&shown, owner))) {
        let who = format!("user {owner} there has registered it, who may not by the access rules");
        return Err(failed(asking)(who));
    }
    let counts = Arc::<CallCounts>::default();
    // Who may call it here, its manager decides when it is looked for.
    let object = counts.count_calls_of(&object, name, CallPermission::new(|_| true));
    Ok(FoundInstance { object, counts, _session: session })
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
