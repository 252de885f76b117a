//! What may happen to a cluster.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use binder::StatusCode;
use binder::binder_impl::IBinderInternal as _;
use binder::transport::rpc::RpcServer;
use binder::{Accessor, ConnectionInfo, with_timeout};
use binder_testkit::wait_until;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::actor::{
    DeathWatch, Gate, Service, call_back, count_of, give_back, new_word, send_unknown, word_of,
};
use crate::etcd::{Etcd, url_of};
use crate::machine::{Client, LEASE, MACHINES, Machine, MachineOptions, Place, ask_gateway};
use crate::network::Network;
use crate::relay::Relay;
use crate::troubles::a_cluster_recovers;
use crate::users::{a_user_is_the_same_or_nobody, rules_of_users_hold};

/// A scenario, in a place of its own.
pub(crate) type Scenario = fn(&Place);

/// All of them.
pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("a_client_of_one_machine_calls_a_service_of_another", a_client_calls_a_service_of_another),
    ("what_is_in_files_goes_from_machine_to_machine", what_is_in_files_travels),
    ("an_accessor_of_another_machine_opens_a_connection_to_its_service", an_accessor_connects),
    ("another_machine_takes_over_when_a_service_is_killed", another_takes_over_from_a_service),
    ("another_machine_takes_over_when_a_manager_is_killed", another_takes_over_from_a_manager),
    ("a_manager_that_was_stopped_does_not_act_as_the_owner", a_stopped_manager_is_no_owner),
    ("a_machine_that_is_cut_off_stops_and_comes_back", a_machine_that_is_cut_off_stops),
    ("no_two_machines_own_a_name_while_the_network_is_cut", a_cut_network_has_one_owner),
    ("calls_fail_in_time_between_machines_that_do_not_reach_each_other", unreachable_machines),
    ("what_was_found_stays_while_etcd_is_away_and_its_deaths_are_told_later", etcd_is_away),
    ("a_manager_that_ends_leaves_its_names_at_once", a_manager_that_ends_leaves),
    ("many_instances_take_turns", many_instances_take_turns),
    ("the_first_instance_is_stayed_with_until_it_is_gone", the_first_is_stayed_with),
    ("the_instance_with_fewest_calls_is_chosen", the_least_busy_is_chosen),
    ("an_instance_of_many_whose_session_has_ended_is_called_again", a_lost_one_is_called_again),
    ("many_instances_that_are_out_of_reach_have_died", many_out_of_reach_have_died),
    ("a_machine_tells_its_figures", a_machine_tells_its_figures),
    ("certificates_are_read_again_while_sessions_go_on", certificates_are_read_again),
    ("a_machine_whose_certificate_is_revoked_is_not_served", a_revoked_machine_is_not_served),
    ("what_strangers_write_into_etcd_hides_no_name", strangers_hide_no_name),
    ("a_request_has_one_id_in_the_logs_of_both_machines", a_request_has_one_id),
    ("etcd_knows_machines_by_certificates_and_a_password", etcd_knows_machines),
    ("a_user_is_the_same_on_all_machines_or_nobody", a_user_is_the_same_or_nobody),
    ("rules_of_users_hold_for_those_of_other_machines", rules_of_users_hold),
    ("a_cluster_recovers_from_troubles_of_all_kinds", a_cluster_recovers),
    ("who_may_not_call_or_is_not_believed_is_not_there", rules_are_kept),
];

pub(crate) const NAME: &str = "test.IWord/default";

/// Says how long a name had no owner that could be called: on a quiet machine the lease, and at most a second more, for
/// the store looks every half second at which are over.
fn tell_take_over(begun: Instant) {
    println!("found again after {:.1?}, of a lease of {LEASE:?}", begun.elapsed());
}

fn a_client_calls_a_service_of_another(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let client = here.client();
    assert!(client.check(NAME).is_none());
    let waiting = thread::scope(|scope| {
        let waiting = scope.spawn(|| client.wait(NAME));
        let service = there.serve(NAME, "there");
        (waiting.join().unwrap(), service)
    });
    let (Some(found), service) = waiting else { panic!("it is told") };
    assert_eq!(word_of(&found).as_deref(), Ok("there"));
    assert_eq!(call_back(&found, &new_word("back")).as_deref(), Ok("back"));
    let death = DeathWatch::of(&found);
    service.kill();
    death.wait();
    assert!(word_of(&found).is_err());
    assert!(client.check(NAME).is_none());
}

fn what_is_in_files_travels(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let service = there.serve(NAME, "there");
    let found = here.client().find(NAME, "there");
    // Each file goes there and back, by two managers and two importers' devices: what arrives was relayed twice.
    let sealed = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    let mut sealed = File::from(sealed);
    let bytes: Vec<u8> = (0..700_000_u32).map(|at| (at % 251) as u8).collect();
    sealed.write_all(&bytes).unwrap();
    sealed.rewind().unwrap();
    let changing = give_back(&found, sealed.try_clone().unwrap());
    assert_eq!(changing.err(), Some(StatusCode::FDS_NOT_ALLOWED), "it may change");
    fcntl_add_seals(&sealed, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW).unwrap();
    let mut copy = Vec::new();
    File::from(give_back(&found, sealed).unwrap()).read_to_end(&mut copy).unwrap();
    assert!(copy == bytes, "{} bytes", copy.len());
    let refused = give_back(&found, File::open("/dev/null").unwrap());
    assert_eq!(refused.err(), Some(StatusCode::FDS_NOT_ALLOWED));
    assert_eq!(word_of(&found).as_deref(), Ok("there"), "the session goes on");
    // A service tells people about itself through a pipe.
    let (mut reader, writer) = io::pipe().unwrap();
    found.dump(&writer, &[]).unwrap();
    drop(writer);
    let mut told = String::new();
    reader.read_to_string(&mut told).unwrap();
    assert_eq!(told, "there");
    let (mut near, given) = UnixStream::pair().unwrap();
    let mut far = UnixStream::from(give_back(&found, given).unwrap());
    for _ in 0..3 {
        let mut read = [0; 4];
        near.write_all(b"ping").unwrap();
        far.read_exact(&mut read).unwrap();
        far.write_all(b"pong").unwrap();
        near.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"pong");
    }
    let streams = "anybinder_gateway_quota_used{resource=\"streams\"}";
    assert_eq!(there.figure(streams), Some(2.0), "there and back");
    service.kill();
    // The importer ends with its service, and so does what it relays.
    assert_eq!(near.read(&mut [0; 4]).unwrap(), 0);
    assert_eq!(far.read(&mut [0; 4]).unwrap(), 0);
    wait_until(|| there.figure(streams) == Some(0.0));
}

fn an_accessor_connects(place: &Place) {
    const DOOR: &str = "test.IDoor/default";
    let etcd = Etcd::start(1);
    let declared = "test.IDoor/default accessor=test.IDoor/accessor\n";
    let options = MachineOptions { declared, ..MachineOptions::new(etcd.url()) };
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let client = here.client();
    assert!(client.check(DOOR).is_none());
    let path = format!("\0anybinder-test-door-{}", there.address());
    let server = RpcServer::new_unix(new_word("door"), &path).unwrap();
    server.start().unwrap();
    let listens = SocketAddr::from_abstract_name(&path[1..]).unwrap();
    let accessor = Accessor::new(DOOR, move |_| Some(ConnectionInfo::Unix(listens.clone())));
    let own = there.client();
    own.add("test.IDoor/accessor", &accessor.as_binder().unwrap());
    let found = client.find(DOOR, "door");
    assert_eq!(call_back(&found, &new_word("back")).as_deref(), Ok("back"));
    assert_eq!(server.sessions(), 1, "it is the service's own session");
    server.shutdown().unwrap();
    assert!(word_of(&found).is_err());
}

fn another_takes_over_from_a_service(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let machines = [0, 1, 2].map(|number| place.machine(number, &options));
    let client = machines[0].client();
    let first = machines[1].serve(NAME, "first");
    let found = client.find(NAME, "first");
    let _second = machines[2].serve(NAME, "second");
    let own = machines[2].client();
    assert_eq!(word_of(&own.check(NAME).unwrap()).as_deref(), Ok("second"), "its own is nearer");
    assert_eq!(word_of(&client.check(NAME).unwrap()).as_deref(), Ok("first"), "the owner's");
    let death = DeathWatch::of(&found);
    first.kill();
    death.wait();
    let waited = client.wait(NAME).expect("who waits gets the next");
    assert_eq!(word_of(&waited).as_deref(), Ok("second"));
}

fn another_takes_over_from_a_manager(place: &Place) {
    let mut etcd = Etcd::start(3);
    let options = MachineOptions::new(etcd.url());
    let [here, mut there, elsewhere] = [0, 1, 2].map(|number| place.machine(number, &options));
    let client = here.client();
    let _first = there.serve(NAME, "first");
    let found = client.find(NAME, "first");
    let _second = elsewhere.serve(NAME, "second");
    // Two of three are enough, and a manager that spoke to the third goes on with another.
    etcd.kill_member(0);
    let _other = there.serve("test.other", "other");
    client.find("test.other", "other");
    assert_eq!(word_of(&found).as_deref(), Ok("first"));
    let death = DeathWatch::of(&found);
    let begun = Instant::now();
    there.kill_manager();
    death.wait();
    client.find(NAME, "second");
    tell_take_over(begun);
    // Its services register again, and wait until they are the owner.
    there.start_manager();
    let own = there.client();
    own.find(NAME, "first");
    assert_eq!(word_of(&client.check(NAME).unwrap()).as_deref(), Ok("second"));
}

fn a_stopped_manager_is_no_owner(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let machines = [0, 1, 2].map(|number| place.machine(number, &options));
    let client = machines[0].client();
    let _first = machines[1].serve(NAME, "first");
    let found = client.find(NAME, "first");
    let _second = machines[2].serve(NAME, "second");
    // A machine that knows the gateway, and nothing of the cluster: no manager takes from it what it has.
    let (_session, direct) = machines[0].session_with(&machines[1], NAME, &etcd);
    assert_eq!(word_of(&direct).as_deref(), Ok("first"));
    let death = DeathWatch::of(&found);
    let begun = Instant::now();
    let service = machines[1].client().find(NAME, "first");
    let count = count_of(&service);
    machines[1].stop_manager();
    thread::scope(|scope| {
        let late = scope.spawn(|| word_of(&direct));
        death.wait();
        client.find(NAME, "second");
        tell_take_over(begun);
        machines[1].wake_manager();
        assert!(late.join().unwrap().is_err(), "it served a call without a lease");
    });
    assert!(word_of(&direct).is_err());
    assert_eq!(count_of(&service), count, "the call came to the service all the same");
    assert_eq!(word_of(&client.check(NAME).unwrap()).as_deref(), Ok("second"));
}

fn a_machine_that_is_cut_off_stops(place: &Place) {
    let etcd = Etcd::start(1);
    let relay = Relay::to(etcd.addresses()[0]);
    let options = MachineOptions::new(etcd.url());
    let cut_off = MachineOptions { cluster: url_of(&[relay.address()]), ..options.clone() };
    let here = place.machine(0, &options);
    let (there, elsewhere) = (place.machine(1, &cut_off), place.machine(2, &options));
    let client = here.client();
    let _first = there.serve(NAME, "first");
    let found = client.find(NAME, "first");
    let second = elsewhere.serve(NAME, "second");
    let (_session, direct) = here.session_with(&there, NAME, &etcd);
    let (death, direct_death) = (DeathWatch::of(&found), DeathWatch::of(&direct));
    let begun = Instant::now();
    relay.cut();
    // By its own clock, before the store's.
    direct_death.wait();
    death.wait();
    client.find(NAME, "second");
    tell_take_over(begun);
    assert_eq!(word_of(&there.client().check(NAME).unwrap()).as_deref(), Ok("first"));
    relay.heal();
    second.kill();
    client.find(NAME, "first");
}

/// Machines of a network, with a member of etcd at each, that know of these services; `None` if there can be none here.
pub(crate) fn networked(
    place: &Place,
    declared: &'static str,
) -> Option<(Network, Etcd, [Machine; MACHINES])> {
    let Some(network) = Network::start(3) else {
        binder_testkit::skip("no network namespaces can be made and joined");
        return None;
    };
    let etcd = Etcd::start_in(&network);
    let machines = [0, 1, 2].map(|number| {
        let network = Some(network.place(number));
        let options = MachineOptions { network, declared, ..MachineOptions::new(etcd.url()) };
        place.machine(number.into(), &options)
    });
    Some((network, etcd, machines))
}

fn a_cut_network_has_one_owner(place: &Place) {
    let Some((network, etcd, [here, there, elsewhere])) = networked(place, "") else { return };
    // A new leader of etcd begins all leases anew.
    etcd.lead_by(0);
    let client = here.client();
    let _first = there.serve(NAME, "first");
    let found = client.find(NAME, "first");
    let second = elsewhere.serve(NAME, "second");
    // A caller at the machine itself, whom the cut does not concern: it asks the gateway as others do.
    let own = network.place(1);
    let (_session, direct) = own.inside(|| there.session_with(&there, NAME, &etcd));
    let before = etcd.generation(NAME);
    let death = DeathWatch::of(&found);
    let (begun, last) = thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let mut last = Instant::now();
            while word_of(&direct).is_ok() {
                last = Instant::now();
            }
            last
        });
        let begun = Instant::now();
        network.cut(1);
        death.wait();
        client.find(NAME, "second");
        let found_again = Instant::now();
        tell_take_over(begun);
        let last = calling.join().unwrap();
        assert!(last < found_again, "both have served");
        (begun, last)
    });
    let served = last.saturating_duration_since(begun);
    println!("the former owner served for {served:.1?} more");
    assert!(etcd.generation(NAME) > before);
    let of_its_own = there.client().check(NAME).unwrap();
    assert_eq!(word_of(&of_its_own).as_deref(), Ok("first"), "programs of the machine go on");
    network.heal(1);
    second.kill();
    client.find(NAME, "first");
}

fn unreachable_machines(place: &Place) {
    let Some((network, _etcd, [here, there, elsewhere])) = networked(place, "") else { return };
    let (client, other_client) = (here.client(), elsewhere.client());
    let _first = there.serve(NAME, "first");
    let found = client.find(NAME, "first");
    network.drop_from(0, 1);
    let late = with_timeout(Duration::from_millis(500), || word_of(&found));
    assert_eq!(late, Err(StatusCode::TIMED_OUT));
    // All others go on, and so does the name: both reach most of etcd.
    other_client.find(NAME, "first");
    network.drop_nothing(0);
    wait_until(|| with_timeout(LEASE, || word_of(&found)).as_deref() == Ok("first"));
}

fn etcd_is_away(place: &Place) {
    let etcd = Etcd::start(1);
    let relay = Relay::to(etcd.addresses()[0]);
    let options = MachineOptions::new(etcd.url());
    let cut_off = MachineOptions { cluster: url_of(&[relay.address()]), ..options.clone() };
    let (here, there) = (place.machine(0, &cut_off), place.machine(1, &options));
    let client = here.client();
    let (first, _other) = (there.serve(NAME, "first"), there.serve("test.other", "other"));
    let found = client.find(NAME, "first");
    let found_other = client.find("test.other", "other");
    wait_until(|| here.instances().len() == 2);
    relay.cut();
    let _third = there.serve("test.third", "third");
    assert_eq!(word_of(&found).as_deref(), Ok("first"), "calls need no store");
    let death = DeathWatch::of(&found);
    first.kill();
    wait_until(|| there.instances().iter().all(|it| it.name != NAME));
    // What has happened is forgotten, and found out by a new list.
    let status = etcd.control(&["get", "x", "--write-out=json"]);
    let revision = status.split("\"revision\":").nth(1).unwrap();
    let revision: String = revision.chars().take_while(char::is_ascii_digit).collect();
    etcd.control(&["compact", &revision]);
    assert_eq!(word_of(&found_other).as_deref(), Ok("other"));
    assert!(here.instances().iter().any(|it| it.name == NAME), "the list is as it was");
    relay.heal();
    death.wait();
    client.find("test.third", "third");
    assert_eq!(word_of(&found_other).as_deref(), Ok("other"), "nobody else has died");
}

fn a_manager_that_ends_leaves(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let [here, mut there, elsewhere] = [0, 1, 2].map(|number| place.machine(number, &options));
    let client = here.client();
    let _services = (there.serve(NAME, "first"), elsewhere.client());
    let found = client.find(NAME, "first");
    let _second = elsewhere.serve(NAME, "second");
    let death = DeathWatch::of(&found);
    let key = format!("/anybinder/one:{NAME}");
    let before = etcd.generation(NAME);
    there.end_manager();
    assert!(!etcd.control(&["get", &key]).contains(&there.address()), "its key is gone with it");
    death.wait();
    client.find(NAME, "second");
    assert!(etcd.generation(NAME) > before);
}

fn many_instances_take_turns(place: &Place) {
    let etcd = Etcd::start(1);
    let declared = "test.IWord/default instances=round-robin\n";
    let options = MachineOptions::with_many(etcd.url(), declared);
    let machines = [0, 1, 2].map(|number| place.machine(number, &options));
    let client = machines[0].client();
    let first = machines[1].serve(NAME, "first");
    let _second = machines[2].serve(NAME, "second");
    wait_until(|| machines[0].instances().len() == 2);
    let found = client.find(NAME, "first");
    machines[0].wait_for_called(2);
    let mut told: Vec<_> = (0..4).map(|_| word_of(&found).unwrap()).collect();
    told.sort();
    assert_eq!(told, ["first", "first", "second", "second"]);
    let counts: Vec<_> = machines[0].instances().iter().map(|it| it.calls.unwrap().count).collect();
    assert!(counts.iter().all(|count| *count >= 2), "{counts:?}");
    let death = DeathWatch::of(&found);
    first.kill();
    wait_until(|| machines[0].instances().len() == 1);
    wait_until(|| (0..4).all(|_| word_of(&found).as_deref() == Ok("second")));
    drop(machines);
    drop(death);
}

/// Two instances of a service that is declared as one of many, seen by a third machine.
struct ManyInstances {
    machines: [Machine; 3],
    services: BTreeMap<&'static str, Service>,
    client: Client,
    _etcd: Etcd,
}

impl ManyInstances {
    fn start(place: &Place, declared: &'static str) -> Self {
        let etcd = Etcd::start(1);
        let options = MachineOptions::with_many(etcd.url(), declared);
        let machines = [0, 1, 2].map(|number| place.machine(number, &options));
        let services = [("one", 1), ("two", 2)];
        let services = services.map(|(word, at)| (word, machines[at].serve(NAME, word)));
        wait_until(|| machines[0].instances().len() == 2);
        let client = machines[0].client();
        wait_until(|| client.check(NAME).is_some());
        machines[0].wait_for_called(2);
        Self { machines, services: services.into(), client, _etcd: etcd }
    }
}

fn the_first_is_stayed_with(place: &Place) {
    let mut many = ManyInstances::start(place, "test.IWord/default instances=pick-first\n");
    let found = many.client.check(NAME).unwrap();
    let first = word_of(&found).unwrap();
    for _ in 0..4 {
        assert_eq!(word_of(&found).as_deref(), Ok(&*first));
    }
    many.services.remove(&*first).unwrap().kill();
    wait_until(|| many.machines[0].instances().len() == 1);
    let other = if first == "one" { "two" } else { "one" };
    wait_until(|| word_of(&found).as_deref() == Ok(other));
    for _ in 0..4 {
        assert_eq!(word_of(&found).as_deref(), Ok(other));
    }
}

/// Three machines, the second behind a relay; all know of a service that is declared as one of many.
fn relayed(place: &Place, etcd: &Etcd) -> ([Machine; 3], Relay) {
    let declared = "test.IWord/default instances=round-robin\n";
    let options = MachineOptions::with_many(etcd.url(), declared);
    let behind = MachineOptions { relayed: Some([127, 0, 0, 2].into()), ..options.clone() };
    let machines = [(0, &options), (1, &behind), (2, &options)];
    let machines = machines.map(|(number, options)| place.machine(number, options));
    let relay = machines[1].relay();
    (machines, relay)
}

fn a_lost_one_is_called_again(place: &Place) {
    let etcd = Etcd::start(1);
    let ([here, there, elsewhere], relay) = relayed(place, &etcd);
    let _services = (there.serve(NAME, "first"), elsewhere.serve(NAME, "second"));
    wait_until(|| here.instances().len() == 2);
    let found = here.client().find(NAME, "first");
    here.wait_for_called(2);
    let death = DeathWatch::of(&found);
    let call = || {
        let told = word_of(&found);
        assert_ne!(told, Err(StatusCode::DEAD_OBJECT), "one instance is not all");
        told
    };
    for _ in 0..3 {
        relay.end_all(true);
        wait_until(|| (0..4).all(|_| call().as_deref() == Ok("second")));
        assert_eq!(here.instances().len(), 2, "both are there, but for this network");
        relay.end_all(false);
        wait_until(|| call().as_deref() == Ok("first"));
    }
    assert!(!death.is_told());
}

fn many_out_of_reach_have_died(place: &Place) {
    let etcd = Etcd::start(1);
    let ([here, there, _], relay) = relayed(place, &etcd);
    let _service = there.serve(NAME, "first");
    let client = here.client();
    let found = client.find(NAME, "first");
    let death = DeathWatch::of(&found);
    relay.end_all(false);
    // One try is enough to find it again.
    wait_until(|| word_of(&found).as_deref() == Ok("first"));
    relay.end_all(true);
    death.wait();
    assert!(client.check(NAME).is_none());
    relay.end_all(false);
    client.find(NAME, "first");
}

fn the_least_busy_is_chosen(place: &Place) {
    let many = ManyInstances::start(place, "test.IWord/default instances=least-busy\n");
    let found = many.client.check(NAME).unwrap();
    let mut told: Vec<_> = (0..4).map(|_| word_of(&found).unwrap()).collect();
    told.sort();
    assert_eq!(told, ["one", "one", "two", "two"], "of those that are alike, the next");
    let gate = Gate::default();
    let barred = gate.object();
    thread::scope(|scope| {
        let busy = scope.spawn(|| call_back(&found, &barred));
        gate.wait_for_caller();
        let free = word_of(&found).unwrap();
        for _ in 0..4 {
            assert_eq!(word_of(&found).as_deref(), Ok(&*free), "the other has a call under way");
        }
        gate.open();
        assert_eq!(busy.join().unwrap().as_deref(), Ok("open"));
    });
    let mut told: Vec<_> = (0..2).map(|_| word_of(&found).unwrap()).collect();
    told.sort();
    assert_eq!(told, ["one", "two"]);
}

fn a_machine_tells_its_figures(place: &Place) {
    let etcd = Etcd::start(1);
    let relay = Relay::to(etcd.addresses()[0]);
    let options = MachineOptions::new(etcd.url());
    let cut_off = MachineOptions { cluster: url_of(&[relay.address()]), ..options.clone() };
    let (here, there) = (place.machine(0, &cut_off), place.machine(1, &options));
    let _service = there.serve(NAME, "there");
    let client = here.client();
    let found = client.find(NAME, "there");
    let calls = |result: &str| {
        let name = format!("anybinder_gateway_call_seconds_count{{result=\"{result}\"}}");
        there.figure(&name).unwrap()
    };
    let (done, failed) = (calls("done"), calls("failed"));
    let instance_calls = |machine: &Machine| {
        let told = machine.instances();
        told.iter().find(|it| it.name == NAME).unwrap().calls
    };
    let before = [&here, &there].map(|machine| instance_calls(machine).unwrap());
    for _ in 0..3 {
        assert_eq!(word_of(&found).as_deref(), Ok("there"));
    }
    assert!(send_unknown(&found).is_err());
    assert_eq!((calls("done"), calls("failed")), (done + 3.0, failed + 1.0));
    let after = [&here, &there].map(|machine| instance_calls(machine).unwrap());
    let more = [0, 1].map(|at| after[at].count - before[at].count);
    assert_eq!(more, [4, 4], "as its caller's machine counts them, and its own");
    let [elsewhere_ns, there_ns] = [0, 1].map(|at| after[at].total_ns - before[at].total_ns);
    assert!(elsewhere_ns > there_ns && there_ns > 0, "{elsewhere_ns} {there_ns}");
    let listed = here.listed(NAME);
    let [name, machine, instance, _, _, _, calls, latency @ ..] = &listed[..] else {
        panic!("{listed:?}")
    };
    assert_eq!((&**name, &**machine, &**instance), (NAME, "localhost", &*there.address()));
    assert_eq!((calls.parse().ok(), latency.len()), (Some(after[0].count), 2), "{listed:?}");
    for (machine, figure, value) in [
        (&there, "anybinder_cluster_own_services{state=\"owned\"}", 1.0),
        (&there, "anybinder_manager_services{origin=\"local\"}", 2.0),
        (&there, "anybinder_gateway_sessions", 1.0),
        (&there, "anybinder_cluster_stale_seconds", 0.0),
        (&here, "anybinder_cluster_names{ownership=\"single\"}", 1.0),
        (&here, "anybinder_manager_services{origin=\"remote\"}", 1.0),
        (&here, "anybinder_cluster_importers{state=\"ready\"}", 1.0),
        (&here, "anybinder_gateway_sessions", 0.0),
        (&here, "anybinder_cluster_lost_leases_total", 0.0),
    ] {
        assert_eq!(machine.figure(figure), Some(value), "{figure}");
    }
    let generation = etcd.generation(NAME) as f64;
    assert!(here.figure("anybinder_cluster_watch_revision").unwrap() >= generation);
    let left = here.figure("anybinder_cluster_lease_left_seconds").unwrap();
    assert!(left > 0.0 && left <= LEASE.as_secs_f64(), "{left}");
    relay.cut();
    wait_until(|| here.figure("anybinder_cluster_stale_seconds") > Some(0.0));
    wait_until(|| here.figure("anybinder_cluster_lost_leases_total") == Some(1.0));
    relay.heal();
    wait_until(|| here.figure("anybinder_cluster_stale_seconds") == Some(0.0));
}

fn a_request_has_one_id(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions { has_log: true, ..MachineOptions::new(etcd.url()) };
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let _service = there.serve(NAME, "there");
    let found = here.client().find(NAME, "there");
    let ids = |machine: &Machine| -> Vec<String> {
        let lines = machine.log_lines("a call between machines");
        let id =
            |line: &String| line.split_once("trace_id=")?.1.split(' ').next().map(str::to_owned);
        lines.iter().map(|line| id(line).expect("an id")).collect()
    };
    let before = ids(&here).len();
    for _ in 0..3 {
        assert_eq!(word_of(&found).as_deref(), Ok("there"));
    }
    assert!(send_unknown(&found).is_err());
    let (here, there) = (ids(&here), ids(&there));
    assert_eq!(here, there);
    let mut last = here[before..].to_vec();
    last.sort();
    last.dedup();
    assert_eq!(last.len(), 4, "each has its own: {last:?}");
}

fn certificates_are_read_again(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions { has_log: true, ..MachineOptions::new(etcd.url()) };
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let _services = [there.serve(NAME, "there"), there.serve("test.other", "other")];
    let client = here.client();
    let found = client.find(NAME, "there");
    let unbelieved = "other machines will not believe the certificate of this one";
    assert!(there.log_lines(unbelieved).is_empty());
    there.change_host(place, "elsewhere.example");
    wait_until(|| there.log_lines(unbelieved).len() == 1);
    there.change_issuer();
    wait_until(|| there.log_lines("the certificates are read again").len() == 2);
    assert!(client.check("test.other").is_none(), "it believes nobody any more");
    assert_eq!(word_of(&found).as_deref(), Ok("there"), "the session goes on");
}

fn a_revoked_machine_is_not_served(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions { has_log: true, ..MachineOptions::new(etcd.url()) };
    let here = place.machine(0, &options);
    let listing = MachineOptions { has_revoked: true, ..options };
    let mut there = place.machine_without_manager(1, &listing);
    there.revoke(place, &["m7"]);
    there.start_manager();
    let _services = [there.serve(NAME, "there"), there.serve("test.other", "other")];
    let client = here.client();
    let found = client.find(NAME, "there");
    there.revoke(place, &["m7", "m0"]);
    wait_until(|| !there.log_lines("the certificates are read again").is_empty());
    assert!(client.check("test.other").is_none(), "it is not believed any more");
    assert_eq!(word_of(&found).as_deref(), Ok("there"), "the session goes on");
    there.revoke(place, &["m7"]);
    client.find("test.other", "other");
}

fn strangers_hide_no_name(place: &Place) {
    let etcd = Etcd::start(1);
    let relay = Relay::to(etcd.addresses()[0]);
    let options = MachineOptions { has_log: true, ..MachineOptions::new(etcd.url()) };
    let cut_off = MachineOptions { cluster: url_of(&[relay.address()]), ..options.clone() };
    let there = place.machine(0, &options);
    let write_much = |prefix: &str| {
        let much = "x".repeat(120_000);
        for number in 0..50 {
            etcd.control(&["put", &format!("/anybinder/{prefix}\x1b[2J\n{number}"), &much]);
        }
    };
    // More than one answer of etcd's may have: before the first list, and while no manager watches.
    write_much("a");
    let here = place.machine(1, &cut_off);
    let (_service, client) = (there.serve(NAME, "there"), here.client());
    client.find(NAME, "there");
    relay.cut();
    write_much("b");
    let _other = there.serve("test.other", "other");
    relay.heal();
    client.find("test.other", "other");
    assert_eq!(here.log_lines("WARN anybinder_cluster::store: a key of the store").len(), 1);
}

fn etcd_knows_machines(place: &Place) {
    let of_etcd = place.credentials("etcd");
    let mut etcd = Etcd::start_with_tls(&of_etcd);
    etcd.want_users("right");
    let file = |name: &str, text: &str| {
        let path = of_etcd.join(name);
        fs::write(&path, text).unwrap();
        path.into_os_string()
    };
    let shown = place.credentials("shown");
    let with_password = |password: OsString| {
        let mut store: Vec<OsString> = Vec::new();
        for (option, file) in
            [("--etcd-ca", "ca.pem"), ("--etcd-certificate", "cert.pem"), ("--etcd-key", "key.pem")]
        {
            store.extend([option.into(), shown.join(file).into_os_string()]);
        }
        store.extend(["--etcd-user", "machine", "--etcd-password-file"].map(OsString::from));
        store.push(password);
        MachineOptions { store, ..MachineOptions::new(etcd.url()) }
    };
    let options = with_password(file("right", "right\nand more\n"));
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let service = there.serve(NAME, "there");
    let found = here.client().find(NAME, "there");
    let death = DeathWatch::of(&found);
    service.kill();
    death.wait();
    let wrong = with_password(file("wrong", "wrong\n"));
    place.machine_without_manager(2, &wrong).fail_to_start_manager();
    // Without a certificate it is not even asked who it is; programs of this machine do not mind.
    let mut unknown = options.clone();
    unknown.store.drain(2..6);
    let nobody = place.machine(2, &unknown);
    let _own = nobody.serve("test.own", "own");
    nobody.client().find("test.own", "own");
    assert!(nobody.figure("anybinder_cluster_stale_seconds") > Some(0.0));
    assert!(nobody.instances().is_empty());
}

fn rules_are_kept(place: &Place) {
    let etcd = Etcd::start(1);
    let open = MachineOptions::new(etcd.url());
    let policy = "allow * *\nallow call machine=spiffe://test/m0 test.*\n\
                  allow add machine=localhost test.IWord/*\n";
    let strict = MachineOptions { policy, has_log: true, ..open.clone() };
    let (here, there) = (place.machine(0, &open), place.machine(1, &strict));
    let stranger = place.machine(2, &open);
    let _services = [there.serve(NAME, "there"), there.serve("private.word", "private")];
    here.client().find(NAME, "there");
    assert!(stranger.client().check(NAME).is_none(), "only m0 may call");
    // What it asks for again and again in one session is one line, and no long one.
    let lines = |machine: &Machine| machine.log_lines("a machine may not call a service");
    let before = lines(&there).len();
    let (_session, root) = stranger.gateway_of(&there);
    for _ in 0..20 {
        let refused = ask_gateway(&root, &"x".repeat(100_000), 1);
        assert_eq!(refused.err(), Some(StatusCode::PERMISSION_DENIED));
    }
    let lines = lines(&there);
    assert_eq!(lines.len(), before + 1);
    assert!(lines.iter().all(|line| line.len() < 1000), "a line is bounded");
    assert!(here.instances().iter().all(|it| it.name != "private.word"), "it is told to nobody");
    let _other = stranger.serve("test.other", "other");
    here.client().find("test.other", "other");
    assert!(there.client().check("test.other").is_none(), "nobody is believed to have it");

    there.change_policy("allow * *\nallow call machine=*\nallow add everyone *\n");
    wait_until(|| there.log_lines("the access rules stay as they were").len() == 1);
    here.client().find(NAME, "there");
    there.change_policy(
        "allow * *\nallow call machine=* private.*\nallow add machine=localhost test.other\n",
    );
    wait_until(|| there.log_lines("the access rules are read again").len() == 1);
    here.client().find("private.word", "private");
    there.client().find("test.other", "other");
    wait_until(|| here.client().check(NAME).is_none());
}
