//! What calls and names of other machines cost. In a run of tests each is made a few times, to see that it works.
//!
//! ```sh
//! cargo test --release -p anybinder-cluster --test machines -- --bench
//! ```

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use binder::SpIBinder;
use binder::service_manager::ServiceManager;
use binder::transport::rpc::{RpcServer, RpcSession, TlsCredentials};
use binder_testkit::wait_until;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

use crate::actor::{new_word, word_of};
use crate::etcd::Etcd;
use crate::machine::{Machine, MachineOptions, Place};

/// A bench, in a place of its own.
pub(crate) type PlacedBench = fn(&Place, Effort);

/// All of them.
pub(crate) const ALL: &[(&str, PlacedBench)] =
    &[("calls_of_another_machine", calls), ("names_of_another_machine", names)];

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Just enough to show that it works.
    Trial,
    /// Enough for a figure.
    Measurement,
}

impl Effort {
    fn of(self, trial: usize, measurement: usize) -> usize {
        match self {
            Self::Trial => trial,
            Self::Measurement => measurement,
        }
    }
}

const NAME: &str = "test.IWord/default";
/// The length of a small call, with its head.
const PING_BYTES: usize = 96;

/// The median of the times that a call takes.
fn median(count: usize, mut call: impl FnMut()) -> Duration {
    (0..count / 10).for_each(|_| call());
    let mut times: Vec<_> = (0..count)
        .map(|_| {
            let begun = Instant::now();
            call();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn calls(place: &Place, effort: Effort) {
    let count = effort.of(20, 20_000);
    let of_raw = median_of_raw_tls(&place.credentials("raw"), count);
    let of_words =
        |object: &SpIBinder| median(count, || assert_eq!(word_of(object).as_deref(), Ok("there")));
    let of_direct = {
        let (server, session, object) = direct(&place.credentials("direct"));
        let of_direct = of_words(&object);
        drop((object, session, server));
        of_direct
    };
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let _service = there.serve(NAME, "there");
    let own = there.client().find(NAME, "there");
    let of_device = of_words(&own);
    let found = here.client().find(NAME, "there");
    let of_gateway = of_words(&found);
    let ratio = |time: Duration| time.as_secs_f64() / of_raw.as_secs_f64();
    for (what, time) in [
        ("TLS, as many bytes there and back", of_raw),
        ("a call over TLS, direct", of_direct),
        ("a call over the device of one machine", of_device),
        ("a call of another machine: device, gateway, device", of_gateway),
    ] {
        println!("{what:52} {time:>10.1?} {:6.2} x", ratio(time));
    }
}

/// A server of this process that says a word over TLS.
fn direct(dir: &Path) -> (RpcServer, RpcSession, SpIBinder) {
    let file = |name: &str| fs::read(dir.join(name)).unwrap();
    let credentials =
        TlsCredentials::from_pem(&file("cert.pem"), &file("key.pem"), &file("ca.pem"));
    let credentials = credentials.unwrap();
    let server = RpcServer::new_inet_tls(new_word("there"), "127.0.0.1", 0, &credentials).unwrap();
    server.start().unwrap();
    let port = server.inet_address().unwrap().port();
    let session = RpcSession::new();
    let root = session.connect_inet_tls("localhost", port, &credentials).unwrap();
    (server, session, root)
}

/// How long it takes to send bytes over TLS to a thread that sends them back.
fn median_of_raw_tls(dir: &Path, count: usize) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = CertificateDer::pem_file_iter(dir.join("cert.pem")).unwrap().map(Result::unwrap);
    let key = PrivateKeyDer::from_pem_file(dir.join("key.pem")).unwrap();
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect(), key)
        .unwrap();
    let mut issuers = RootCertStore::empty();
    issuers.add(CertificateDer::from_pem_file(dir.join("ca.pem")).unwrap()).unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(issuers)
        .with_no_client_auth();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let mut tls = ServerConnection::new(Arc::new(server)).unwrap();
            let mut tls = rustls::Stream::new(&mut tls, &mut stream);
            let mut bytes = [0; PING_BYTES];
            while tls.read_exact(&mut bytes).is_ok() {
                tls.write_all(&bytes).unwrap();
            }
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut tls = rustls::Stream::new(&mut tls, &mut stream);
        let mut bytes = [7; PING_BYTES];
        median(count, || {
            tls.write_all(&bytes).unwrap();
            tls.read_exact(&mut bytes).unwrap();
        })
    })
}

fn names(place: &Place, effort: Effort) {
    let count = effort.of(20, 10_000);
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let machines = [0, 1, 2].map(|number| place.machine(number, &options));
    // One user may have 8192 names of a machine.
    let devices = [&machines[1], &machines[2]].map(Machine::open);
    let managers = devices.each_ref().map(|device| ServiceManager::of(device).unwrap());
    let service = new_word("there");
    let begun = Instant::now();
    for number in 0..count {
        managers[number % 2].add(&format!("test.names/{number}"), &service).unwrap();
    }
    println!("{count} names registered at their machines      {:>10.1?}", begun.elapsed());
    let known = "anybinder_cluster_names{ownership=\"single\"}";
    let all = Some(count as f64);
    wait_until(|| machines.iter().all(|machine| machine.figure(known) == all));
    println!("{count} names known to three machines           {:>10.1?}", begun.elapsed());
    let begun = Instant::now();
    assert!(machines[0].figure(known) == all);
    println!("asked for figures                               {:>10.1?}", begun.elapsed());
    let client = machines[0].client();
    let begun = Instant::now();
    let found = client.find(&format!("test.names/{}", count / 2), "there");
    println!("one of them found, by a new process             {:>10.1?}", begun.elapsed());
    let again = median(effort.of(10, 2_000), || {
        assert!(client.check(&format!("test.names/{}", count / 2)).is_some());
    });
    println!("found again                                     {again:>10.1?}");
    drop(found);
}
