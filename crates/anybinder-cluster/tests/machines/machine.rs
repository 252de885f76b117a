//! A machine: a device, a manager, a certificate.

use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use binder::binder_impl::{FIRST_CALL_TRANSACTION, IBinderInternal as _, Parcel};
use binder::service_manager::ServiceManager;
use binder::transport::driver::DriverDevice;
use binder::transport::rpc::{RpcSession, TlsCredentials};
use binder::{SpIBinder, StatusCode};
use binder_testkit::{HANG_TIMEOUT, scrape, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use service_manager::{LIST_INSTANCES_TRANSACTION, ServiceInstance};
use tempfile::TempDir;

use crate::actor::{Service, word_of};
use crate::authority::Authority;
use crate::etcd::{Etcd, free_port};
use crate::network::NetworkPlace;
use crate::relay::Relay;

/// After this many seconds without a word from a machine others take its names: more than a busy machine is late.
pub(crate) const LEASE: Duration = Duration::from_secs(5);
/// A scenario's machines at most.
pub(crate) const MACHINES: usize = 3;

/// Where a scenario plays: its devices and files.
pub(crate) struct Place {
    number: usize,
    dir: TempDir,
    authority: Authority,
}

impl Place {
    pub(crate) fn new(number: usize) -> Self {
        Self { number, dir: tempfile::tempdir().unwrap(), authority: Authority::new() }
    }

    pub(crate) fn device_names(number: usize) -> impl Iterator<Item = String> {
        (0..MACHINES).map(move |machine| format!("s{number}m{machine}"))
    }

    /// A directory with a certificate of the issuer whom all machines believe.
    pub(crate) fn credentials(&self, name: &str) -> PathBuf {
        let dir = self.dir.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        self.authority.write(name, "localhost", &dir);
        dir
    }

    /// A machine with a manager that serves.
    pub(crate) fn machine(&self, number: usize, options: &MachineOptions) -> Machine {
        let mut machine = self.machine_without_manager(number, options);
        machine.start_manager();
        machine
    }

    /// A machine.
    pub(crate) fn machine_without_manager(
        &self,
        number: usize,
        options: &MachineOptions,
    ) -> Machine {
        let name = Self::device_names(self.number).nth(number).unwrap();
        let dir = self.dir.path().join(&name);
        fs::create_dir_all(&dir).unwrap();
        self.authority.write(&format!("m{number}"), &options.host(), &dir);
        Machine {
            device: PathBuf::from("/dev").join(name),
            dir,
            port: free_port([127, 0, 0, 1].into()),
            metrics_port: free_port([127, 0, 0, 1].into()),
            options: options.clone(),
            manager: None,
        }
    }
}

/// How a machine's manager is started.
#[derive(Clone)]
pub(crate) struct MachineOptions {
    /// Where etcd is.
    pub(crate) cluster: String,
    pub(crate) policy: &'static str,
    pub(crate) declared: &'static str,
    pub(crate) lease: Duration,
    /// What it says to etcd.
    pub(crate) store: Vec<OsString>,
    /// Whether it keeps a log of all that it does.
    pub(crate) has_log: bool,
    /// Whether it has a list of certificates that are not believed.
    pub(crate) has_revoked: bool,
    /// Who users of other machines are on this one.
    pub(crate) users: Vec<OsString>,
    /// Where it is, if it has a network.
    pub(crate) network: Option<NetworkPlace>,
    /// Where others find it, if that is a relay.
    pub(crate) relayed: Option<Ipv4Addr>,
}

impl MachineOptions {
    pub(crate) fn new(cluster: String) -> Self {
        let policy = "allow * *\nallow * machine=*\n";
        Self {
            cluster,
            policy,
            declared: "",
            lease: LEASE,
            store: Vec::new(),
            has_log: false,
            has_revoked: false,
            users: Vec::new(),
            network: None,
            relayed: None,
        }
    }

    /// With a service that is declared as one of many; none of its instances ends for that its machine is busy.
    pub(crate) fn with_many(cluster: String, declared: &'static str) -> Self {
        Self { declared, lease: HANG_TIMEOUT, ..Self::new(cluster) }
    }

    /// The name of the host that its certificate is for.
    fn host(&self) -> String {
        let ip = self.network.map(|network| network.ip).or(self.relayed);
        ip.map_or_else(|| "localhost".to_owned(), |ip| ip.to_string())
    }
}

pub(crate) struct Machine {
    device: PathBuf,
    dir: PathBuf,
    port: u16,
    metrics_port: u16,
    options: MachineOptions,
    manager: Option<Child>,
}

impl Machine {
    pub(crate) fn start_manager(&mut self) {
        self.spawn_manager();
        let device = self.open();
        wait_until(|| ServiceManager::of(&device).is_ok());
    }

    /// Starts a manager that gives up; waits until it has.
    pub(crate) fn fail_to_start_manager(&mut self) {
        self.spawn_manager();
        let status = self.manager.take().unwrap().wait().unwrap();
        assert_eq!(status.code(), Some(1));
    }

    fn spawn_manager(&mut self) {
        let file = |name: &str, text: &str| {
            let path = self.dir.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let program = env!("CARGO_BIN_EXE_anybinder-cluster");
        let mut command = match self.options.network {
            None => Command::new(program),
            Some(network) => network.command(program),
        };
        if self.options.has_log {
            let log = fs::File::create(self.dir.join("log")).unwrap();
            command.arg("-vv").env_remove("RUST_LOG").stderr(log);
        }
        let network = self.options.network;
        let listen = network.map_or(Ipv4Addr::LOCALHOST, |network| network.ip).to_string();
        let child = command
            .arg("serve")
            .args(&self.options.store)
            .args(&self.options.users)
            .args(["--cluster", &self.options.cluster])
            .args(["--advertise", &self.address()])
            .args(["--listen", &listen])
            .args(["--metrics", &self.metrics_port.to_string()])
            .args(["--lease", &self.options.lease.as_secs().to_string()])
            .arg("--certificate")
            .arg(self.dir.join("cert.pem"))
            .arg("--key")
            .arg(self.dir.join("key.pem"))
            .arg("--ca")
            .arg(self.dir.join("ca.pem"))
            .args(self.options.has_revoked.then_some("--revoked"))
            .args(self.options.has_revoked.then(|| self.dir.join("revoked.pem")))
            .arg("--policy")
            .arg(file("policy", self.options.policy))
            .arg("--declared")
            .arg(file("declared", self.options.declared))
            .arg(&self.device)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        self.manager = Some(child);
    }

    pub(crate) fn address(&self) -> String {
        format!("tls://{}:{}", self.options.host(), self.port)
    }

    /// The network between this machine and all others.
    pub(crate) fn relay(&self) -> Relay {
        let found_at = (self.options.relayed.unwrap(), self.port).into();
        Relay::at(found_at, (Ipv4Addr::LOCALHOST, self.port).into())
    }

    /// Opens the device, as a program of this machine.
    pub(crate) fn open(&self) -> DriverDevice {
        let device = DriverDevice::open(&self.device).unwrap();
        device.start_thread_pool().unwrap();
        device
    }

    /// Starts a service of this machine.
    pub(crate) fn serve(&self, name: &str, word: &str) -> Service {
        Service::start(&self.device, name, word)
    }

    /// A program that looks for services.
    pub(crate) fn client(&self) -> Client {
        let device = self.open();
        let manager = ServiceManager::of(&device).unwrap();
        Client { _device: device, manager }
    }

    /// What this machine's manager knows of all machines.
    pub(crate) fn instances(&self) -> Vec<ServiceInstance> {
        let device = DriverDevice::open(&self.device).unwrap();
        let manager = device.context_object().unwrap();
        let mut data = Parcel::for_codec(manager.as_remote().unwrap().codec());
        data.write(&false).unwrap();
        let told = manager.submit_transact(LIST_INSTANCES_TRANSACTION, data, 0).unwrap();
        let count: i32 = told.read().unwrap();
        (0..count).map(|_| ServiceInstance::read(&told).unwrap()).collect()
    }

    /// Waits until that many instances are within reach of this machine, for a service that was looked for.
    #[track_caller]
    pub(crate) fn wait_for_called(&self, count: usize) {
        wait_until(|| self.instances().iter().filter(|it| it.calls.is_some()).count() == count);
    }

    /// What `anybinder service list --cluster` says of a service, in columns.
    pub(crate) fn listed(&self, name: &str) -> Vec<String> {
        let mut list = Command::new(crate::anybinder());
        list.args(["service", "list", "--cluster", "--device"]).arg(&self.device);
        let output = list.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// The lines of its log that say this.
    pub(crate) fn log_lines(&self, words: &str) -> Vec<String> {
        let log = fs::read_to_string(self.dir.join("log")).unwrap();
        log.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }

    /// A figure of this machine's manager; `None` if there is none of that name.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        let samples = scrape(([127, 0, 0, 1], self.metrics_port).into());
        samples.get(name).copied()
    }

    /// Opens a session with another machine's gateway.
    pub(crate) fn gateway_of(&self, other: &Self) -> (RpcSession, SpIBinder) {
        let file = |name: &str| fs::read(self.dir.join(name)).unwrap();
        let credentials =
            TlsCredentials::from_pem(&file("cert.pem"), &file("key.pem"), &file("ca.pem")).unwrap();
        let session = RpcSession::new();
        session.set_max_incoming_threads(1);
        let root =
            session.connect_inet_tls(&other.options.host(), other.port, &credentials).unwrap();
        (session, root)
    }

    /// Asks another machine's gateway for a service, past all managers.
    pub(crate) fn session_with(
        &self,
        other: &Self,
        name: &str,
        etcd: &Etcd,
    ) -> (RpcSession, SpIBinder) {
        let (session, root) = self.gateway_of(other);
        (session, ask_gateway(&root, name, etcd.generation(name)).unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.manager.as_ref().unwrap()), signal).unwrap();
    }

    /// Has the manager read its files again.
    pub(crate) fn read_again(&self) {
        self.signal(Signal::HUP);
    }

    /// Has other access rules be read.
    pub(crate) fn change_policy(&self, policy: &str) {
        fs::write(self.dir.join("policy"), policy).unwrap();
        self.read_again();
    }

    /// Has the certificates be believed no more that are of these machines of this place, of none else.
    pub(crate) fn revoke(&self, place: &Place, machines: &[&str]) {
        place.authority.revoke(machines, &self.dir.join("revoked.pem"));
        if self.manager.is_some() {
            self.signal(Signal::HUP);
        }
    }

    /// Has another issuer's certificates be read, whom no other machine believes, and who believes none.
    pub(crate) fn change_issuer(&self) {
        Authority::new().write("stranger", "localhost", &self.dir);
        self.signal(Signal::HUP);
    }

    /// Has a certificate for another host be read.
    pub(crate) fn change_host(&self, place: &Place, host: &str) {
        place.authority.write("m", host, &self.dir);
        self.signal(Signal::HUP);
    }

    /// Has the manager end, as who is told to.
    pub(crate) fn end_manager(&mut self) {
        self.signal(Signal::TERM);
        assert!(self.manager.take().unwrap().wait().unwrap().success());
    }

    pub(crate) fn kill_manager(&mut self) {
        let mut manager = self.manager.take().unwrap();
        manager.kill().unwrap();
        manager.wait().unwrap();
    }

    /// Stops the manager; returns when none of its threads runs.
    pub(crate) fn stop_manager(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.manager.as_ref().unwrap().id());
        let is_stopped = |task: fs::DirEntry| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap();
            stat.rsplit_once(") ").unwrap().1.starts_with('T')
        };
        wait_until(|| fs::read_dir(&tasks).unwrap().all(|task| is_stopped(task.unwrap())));
    }

    pub(crate) fn wake_manager(&self) {
        self.signal(Signal::CONT);
    }
}

/// Asks a gateway for a service.
pub(crate) fn ask_gateway(
    root: &SpIBinder,
    name: &str,
    generation: i64,
) -> Result<SpIBinder, StatusCode> {
    let mut data = Parcel::for_codec(root.as_remote().unwrap().codec());
    data.write_interface_token("anybinder.cluster.IGateway")?;
    data.write(name)?;
    data.write(&generation)?;
    root.submit_transact(FIRST_CALL_TRANSACTION, data, 0)?.read()
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut manager) = self.manager.take() {
            let _ = manager.kill();
            let _ = manager.wait();
        }
    }
}

/// A program of a machine.
#[derive(Clone)]
pub(crate) struct Client {
    _device: DriverDevice,
    manager: ServiceManager,
}

impl Client {
    pub(crate) fn check(&self, name: &str) -> Option<SpIBinder> {
        self.manager.check(name).unwrap()
    }

    /// Registers an object of this process.
    pub(crate) fn add(&self, name: &str, object: &SpIBinder) {
        self.manager.add(name, object).unwrap();
    }

    /// Waits until a service is found that says this word.
    #[track_caller]
    pub(crate) fn find(&self, name: &str, word: &str) -> SpIBinder {
        let mut found = None;
        wait_until(|| {
            found = self.check(name).filter(|it| word_of(it).as_deref() == Ok(word));
            found.is_some()
        });
        found.unwrap()
    }

    /// Waits as programs do, to be told.
    pub(crate) fn wait(&self, name: &str) -> Option<SpIBinder> {
        self.manager.wait(name, Some(HANG_TIMEOUT)).unwrap()
    }
}
