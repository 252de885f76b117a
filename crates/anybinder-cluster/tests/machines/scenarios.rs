//! What may happen to a cluster.

use crate::actor::{DeathWatch, call_back, new_word, word_of};
use crate::etcd::Etcd;
use crate::machine::{LEASE, MachineOptions, Place};

/// A scenario, in a place of its own.
pub(crate) type Scenario = fn(&Place);

/// All of them.
pub(crate) const ALL: &[(&str, Scenario)] =
    &[("a_client_of_one_machine_calls_a_service_of_another", a_client_calls_a_service_of_another)];

const NAME: &str = "test.IWord/default";

fn a_client_calls_a_service_of_another(place: &Place) {
    let etcd = Etcd::start(1);
    let options = MachineOptions::new(etcd.url());
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let client = here.client();
    assert!(client.check(NAME).is_none());
    let service = there.serve(NAME, "there");
    let found = client.find(NAME, "there");
    assert_eq!(call_back(&found, &new_word("back")).as_deref(), Ok("back"));
    let death = DeathWatch::of(&found);
    service.kill();
    death.wait(LEASE);
    assert!(word_of(&found).is_err());
    assert!(client.check(NAME).is_none());
}
