//! An etcd on loopback, with data of its own.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use binder_testkit::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::network::{Network, NetworkPlace};

/// Whether there is one to be started.
pub(crate) fn is_there() -> bool {
    let version = Command::new("etcd").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// A port that no process uses, and that none is given before we use it: below those that the system chooses by itself, and
/// not where another run of these tests looks.
pub(crate) fn free_port(address: Ipv4Addr) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let of_process = u16::try_from(process::id() % 200).unwrap();
    loop {
        let port = 10_000 + of_process * 100 + NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind((address, port)).is_ok() {
            return port;
        }
    }
}

/// The members, each at an address of its own.
pub(crate) struct Etcd {
    members: Vec<EtcdMember>,
    /// Of its certificate, if it speaks TLS, and wants one of its clients.
    credentials: Option<PathBuf>,
    /// Who `etcdctl` is, once it has to say.
    control_user: Option<&'static str>,
    /// From where `etcdctl` reaches it, if not from here.
    place: Option<NetworkPlace>,
    _dir: TempDir,
}

struct EtcdMember {
    client: SocketAddr,
    child: Child,
}

impl Etcd {
    pub(crate) fn start(members: u8) -> Self {
        let ips = (1..=members).map(|number| (Ipv4Addr::new(127, 0, 0, number), None));
        Self::start_with(&ips.collect::<Vec<_>>(), None)
    }

    /// A member at each machine of a network.
    pub(crate) fn start_in(network: &Network) -> Self {
        let places = network.places().into_iter().map(|place| (place.ip, Some(place)));
        Self::start_with(&places.collect::<Vec<_>>(), None)
    }

    /// One member that speaks TLS with the certificate in a directory, and wants one of the same issuer.
    pub(crate) fn start_with_tls(credentials: &Path) -> Self {
        Self::start_with(&[(Ipv4Addr::LOCALHOST, None)], Some(credentials))
    }

    fn start_with(
        members: &[(Ipv4Addr, Option<NetworkPlace>)],
        credentials: Option<&Path>,
    ) -> Self {
        let scheme = if credentials.is_some() { "https" } else { "http" };
        // In memory where there is such a place: it writes each change to the disk.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let addresses: Vec<_> = members
            .iter()
            .map(|&(ip, place)| {
                // In a network of its own all are free.
                let port = || free_port(if place.is_some() { Ipv4Addr::LOCALHOST } else { ip });
                (SocketAddr::from((ip, port())), SocketAddr::from((ip, port())))
            })
            .collect();
        let cluster: Vec<_> = addresses
            .iter()
            .enumerate()
            .map(|(number, (_, peer))| format!("m{number}=http://{peer}"))
            .collect();
        let start = |(number, (client, peer)): (usize, &(SocketAddr, SocketAddr))| {
            let (client, peer) = (format!("{scheme}://{client}"), format!("http://{peer}"));
            let log = File::create(dir.path().join(format!("m{number}.log"))).unwrap();
            let place = members[number].1;
            let mut command = place.map_or_else(|| Command::new("etcd"), |it| it.command("etcd"));
            if let Some(dir) = credentials {
                command.arg("--client-cert-auth").arg("--cert-file").arg(dir.join("cert.pem"));
                command.arg("--key-file").arg(dir.join("key.pem"));
                command.arg("--trusted-ca-file").arg(dir.join("ca.pem"));
            }
            command
                .args(["--name", &format!("m{number}")])
                .arg("--data-dir")
                .arg(dir.path().join(format!("m{number}")))
                .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
                .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
                .args(["--initial-cluster", &cluster.join(",")])
                .args(["--logger", "zap", "--log-level", "warn"])
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap()
        };
        let started = addresses
            .iter()
            .enumerate()
            .map(|member| EtcdMember { client: member.1.0, child: start(member) });
        let this = Self {
            members: started.collect(),
            credentials: credentials.map(Path::to_owned),
            control_user: None,
            place: members[0].1,
            _dir: dir,
        };
        let is_there = |member: &EtcdMember| TcpStream::connect(member.client).is_ok();
        let are_there = || this.members.iter().all(is_there);
        wait_until(|| this.place.map_or_else(are_there, |place| place.inside(are_there)));
        this
    }

    /// Where clients find the members.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.client).collect()
    }

    /// What managers are told.
    pub(crate) fn url(&self) -> String {
        match self.credentials {
            None => url_of(&self.addresses()),
            Some(_) => format!("etcds://localhost:{}", self.members[0].client.port()),
        }
    }

    /// Has it know nobody but two users: `root`, who is asked by `etcdctl`, and `machine`, who may change our keys.
    pub(crate) fn want_users(&mut self, password: &str) {
        let machine = format!("machine:{password}");
        for words in [
            "user add root:of-root",
            "user grant-role root root",
            "role add names",
            "role grant-permission --prefix=true names readwrite /anybinder/",
            &format!("user add {machine}"),
            "user grant-role machine names",
            "auth enable",
        ] {
            self.control(&words.split(' ').collect::<Vec<_>>());
        }
        self.control_user = Some("root:of-root");
    }

    /// Has this member lead the others.
    pub(crate) fn lead_by(&self, number: usize) {
        let listed = self.control(&["member", "list"]);
        let line = listed.lines().find(|line| line.contains(&format!(", m{number}, ")));
        let id = line.unwrap().split(',').next().unwrap();
        self.control(&["move-leader", id]);
    }

    pub(crate) fn kill_member(&mut self, number: usize) {
        let child = &mut self.members[number].child;
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Has a member do nothing.
    pub(crate) fn stop_member(&self, number: usize) {
        self.signal_member(number, Signal::STOP);
    }

    /// Has it go on.
    pub(crate) fn wake_member(&self, number: usize) {
        self.signal_member(number, Signal::CONT);
    }

    fn signal_member(&self, number: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.members[number].child), signal).unwrap();
    }

    /// The revision at which a name with one owner was claimed.
    pub(crate) fn generation(&self, name: &str) -> i64 {
        let key = format!("/anybinder/one:{name}");
        let told = self.control(&["get", &key, "--write-out=json"]);
        let created = told.split("\"create_revision\":").nth(1).unwrap();
        let digits: String = created.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    /// Runs `etcdctl`.
    pub(crate) fn control(&self, arguments: &[&str]) -> String {
        let endpoints: Vec<_> = self.addresses().iter().map(ToString::to_string).collect();
        let mut command = match self.place {
            None => Command::new("etcdctl"),
            Some(place) => place.command("etcdctl"),
        };
        if let Some(dir) = &self.credentials {
            command.args([
                "--endpoints",
                &format!("https://localhost:{}", self.members[0].client.port()),
            ]);
            command.arg("--cacert").arg(dir.join("ca.pem"));
            command.arg("--cert").arg(dir.join("cert.pem")).arg("--key").arg(dir.join("key.pem"));
        } else {
            command.args(["--endpoints", &endpoints.join(",")]);
        }
        command.args(self.control_user.iter().flat_map(|user| ["--user", user]));
        let output = command.args(arguments).env("ETCDCTL_API", "3").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

pub(crate) fn url_of(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    format!("etcd://{}", addresses.join(","))
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for member in &mut self.members {
            // One may have been killed by its test.
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}
