//! Troubles by chance: services and managers that are killed, stopped and started, machines and members of etcd that are cut off.
//!
//! What holds while they last is for the other scenarios. Here it is what comes of them: once they are over, each name is found from
//! everywhere, all machines agree on whose it is, and who has found something else has heard of its death.
//!
//! `ANYBINDER_TEST_SEED` chooses the troubles, and `ANYBINDER_TEST_STEPS` how many there are.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::thread;
use std::time::{Duration, Instant};

use binder::{SpIBinder, with_timeout};
use binder_testkit::{Dice, HANG_TIMEOUT};

use crate::actor::{DeathWatch, Service, word_of};
use crate::etcd::Etcd;
use crate::machine::{Client, MACHINES, Machine, Place};
use crate::network::Network;
use crate::scenarios::{NAME, networked};

/// Two names with one owner each, and one of many instances.
const NAMES: [&str; 3] = [NAME, OTHER, MANY];
const OTHER: &str = "test.other";
const MANY: &str = "test.IMany/default";
const DECLARED: &str = "test.IMany/default instances=round-robin\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Runs,
    IsStopped,
    IsDead,
}

/// Something that was found.
struct Found {
    at: usize,
    name: &'static str,
    object: SpIBinder,
    death: DeathWatch,
}

struct Cluster {
    network: Network,
    etcd: Etcd,
    machines: [Machine; MACHINES],
    managers: [Manager; MACHINES],
    is_cut: [bool; MACHINES],
    /// From which other machine nothing comes to a machine, though it may send.
    dropped: [Option<usize>; MACHINES],
    is_etcd_stopped: [bool; MACHINES],
    /// The services that run, and their words.
    services: BTreeMap<(usize, &'static str), (Service, String)>,
    next_word: u32,
    found: Vec<Found>,
}

pub(crate) fn a_cluster_recovers(place: &Place) {
    let Some(mut cluster) = Cluster::start(place) else { return };
    let number = |name, default| env::var(name).map_or(default, |it| it.parse().unwrap());
    let mut dice = Dice::new(number("ANYBINDER_TEST_SEED", 204));
    cluster.fill();
    for _ in 0..number("ANYBINDER_TEST_STEPS", 12) {
        cluster.step(&mut dice);
        thread::sleep(Duration::from_millis(dice.pick(&[0, 0, 100, 500, 2000, 6000])));
    }
    cluster.end_troubles();
    cluster.await_agreement();
}

impl Cluster {
    fn start(place: &Place) -> Option<Self> {
        let (network, etcd, machines) = networked(place, DECLARED)?;
        Some(Self {
            network,
            etcd,
            machines,
            managers: [Manager::Runs; MACHINES],
            is_cut: [false; MACHINES],
            dropped: [None; MACHINES],
            is_etcd_stopped: [false; MACHINES],
            services: BTreeMap::new(),
            next_word: 0,
            found: Vec::new(),
        })
    }

    /// Starts services, and has each machine find them all.
    fn fill(&mut self) {
        for (at, name) in [(0, NAME), (1, OTHER), (1, MANY), (2, MANY)] {
            self.start_or_kill_service(at, name);
        }
        self.await_agreement();
        for at in 0..MACHINES {
            NAMES.iter().for_each(|name| self.look_for(at, name));
        }
    }

    fn step(&mut self, dice: &mut Dice) {
        let (at, name) = (dice.roll_index(MACHINES), dice.pick(&NAMES));
        match dice.roll(15) {
            0..5 => self.start_or_kill_service(at, name),
            5..9 => self.look_for(at, name),
            9 => self.kill_or_start_manager(at),
            10 => self.stop_or_wake_manager(at),
            11 | 12 => self.cut_or_heal(at),
            13 => self.drop_or_take(at, (at + 1 + dice.roll_index(MACHINES - 1)) % MACHINES),
            _ => self.stop_or_wake_etcd(at),
        }
    }

    fn start_or_kill_service(&mut self, at: usize, name: &'static str) {
        if let Some((service, word)) = self.services.remove(&(at, name)) {
            println!("{word}, {name} of m{at}, is killed");
            service.kill();
        } else if self.managers[at] == Manager::Runs {
            self.next_word += 1;
            let word = format!("word{}", self.next_word);
            println!("{word}, {name} of m{at}, is started");
            let service = self.machines[at].serve(name, &word);
            self.services.insert((at, name), (service, word));
        }
    }

    fn look_for(&mut self, at: usize, name: &'static str) {
        if self.managers[at] != Manager::Runs {
            return;
        }
        let found = self.machines[at].client().check(name);
        println!("m{at} looks for {name}: {}", found.as_ref().map_or("nothing", |_| "found"));
        self.found.extend(found.map(|object| {
            let death = DeathWatch::of(&object);
            Found { at, name, object, death }
        }));
    }

    fn kill_or_start_manager(&mut self, at: usize) {
        println!("m{at}'s manager, {:?}, is killed or started", self.managers[at]);
        if self.managers[at] == Manager::IsDead {
            self.machines[at].start_manager();
            self.managers[at] = Manager::Runs;
        } else {
            self.machines[at].kill_manager();
            self.managers[at] = Manager::IsDead;
        }
    }

    fn stop_or_wake_manager(&mut self, at: usize) {
        println!("m{at}'s manager, {:?}, is stopped or woken", self.managers[at]);
        match self.managers[at] {
            Manager::Runs => {
                self.machines[at].stop_manager();
                self.managers[at] = Manager::IsStopped;
            }
            Manager::IsStopped => {
                self.machines[at].wake_manager();
                self.managers[at] = Manager::Runs;
            }
            Manager::IsDead => {}
        }
    }

    fn cut_or_heal(&mut self, at: usize) {
        println!("m{at}'s cable, cut: {}, is cut or plugged in", self.is_cut[at]);
        let number = at.try_into().unwrap();
        if self.is_cut[at] {
            self.network.heal(number)
        } else {
            self.network.cut(number)
        }
        self.is_cut[at] = !self.is_cut[at];
    }

    fn drop_or_take(&mut self, at: usize, from: usize) {
        println!(
            "m{at} drops what comes from m{from}, or takes what came from {:?}",
            self.dropped[at]
        );
        let number = at.try_into().unwrap();
        self.dropped[at] = match self.dropped[at] {
            None => {
                self.network.drop_from(number, from.try_into().unwrap());
                Some(from)
            }
            Some(_) => {
                self.network.drop_nothing(number);
                None
            }
        };
    }

    fn stop_or_wake_etcd(&mut self, at: usize) {
        println!("m{at}'s etcd, stopped: {}, is stopped or woken", self.is_etcd_stopped[at]);
        if self.is_etcd_stopped[at] {
            self.etcd.wake_member(at)
        } else {
            self.etcd.stop_member(at)
        }
        self.is_etcd_stopped[at] = !self.is_etcd_stopped[at];
    }

    fn end_troubles(&mut self) {
        for at in 0..MACHINES {
            if self.is_etcd_stopped[at] {
                self.stop_or_wake_etcd(at);
            }
            if self.is_cut[at] {
                self.cut_or_heal(at);
            }
            if let Some(from) = self.dropped[at] {
                self.drop_or_take(at, from);
            }
            match self.managers[at] {
                Manager::Runs => {}
                Manager::IsStopped => self.stop_or_wake_manager(at),
                Manager::IsDead => self.kill_or_start_manager(at),
            }
        }
    }

    /// Waits until all machines see what there is.
    fn await_agreement(&mut self) {
        let begun = Instant::now();
        let clients = [0, 1, 2].map(|at: usize| self.machines[at].client());
        while let Err(why) = self.agreement(&clients) {
            assert!(begun.elapsed() < HANG_TIMEOUT, "{why}");
            thread::sleep(Duration::from_millis(100));
        }
        println!("all is well after {:.1?}", begun.elapsed());
    }

    fn agreement(&mut self, clients: &[Client]) -> Result<(), String> {
        for name in NAMES {
            let mut owners = BTreeSet::new();
            for (at, client) in clients.iter().enumerate() {
                let told = self.told(at, name, client)?;
                if !self.services.contains_key(&(at, name)) && name != MANY {
                    owners.extend(told);
                }
            }
            if owners.len() > 1 {
                return Err(format!("{name} is of {owners:?}"));
            }
        }
        self.found.retain(|found| !found.death.is_told());
        self.found.iter().try_for_each(|found| self.is_the_service(found))
    }

    /// The words of a service as a machine finds it.
    fn told(
        &self,
        at: usize,
        name: &'static str,
        client: &Client,
    ) -> Result<BTreeSet<String>, String> {
        let own = self.services.get(&(at, name)).map(|(_, word)| word.clone());
        let others: BTreeSet<_> = self.words_of(name);
        let expected = own.map_or(others, |own| BTreeSet::from([own]));
        let Some(found) = client.check(name) else {
            return if expected.is_empty() {
                Ok(expected)
            } else {
                Err(format!("m{at} finds no {name}, of {expected:?}"))
            };
        };
        let calls = if name == MANY { 2 * expected.len() } else { 1 };
        let mut told = BTreeSet::new();
        for _ in 0..calls.max(1) {
            let word = call(&found).map_err(|error| format!("m{at} calls {name}: {error}"))?;
            told.insert(word);
        }
        let is_right = if name == MANY { told == expected } else { told.is_subset(&expected) };
        if is_right {
            Ok(told)
        } else {
            Err(format!("{name} tells m{at} {told:?}, of {expected:?}"))
        }
    }

    fn words_of(&self, name: &'static str) -> BTreeSet<String> {
        let of_name = self.services.iter().filter(|((_, of), _)| *of == name);
        of_name.map(|(_, (_, word))| word.clone()).collect()
    }

    /// Whether what was found is a service that runs.
    fn is_the_service(&self, found: &Found) -> Result<(), String> {
        let Found { at, name, object, .. } = found;
        match call(object) {
            Ok(word) if self.words_of(name).contains(&word) => Ok(()),
            other => {
                Err(format!("of the death of {name} m{at} has not heard, and is told {other:?}"))
            }
        }
    }
}

fn call(object: &SpIBinder) -> Result<String, binder::StatusCode> {
    with_timeout(Duration::from_secs(2), || word_of(object))
}
