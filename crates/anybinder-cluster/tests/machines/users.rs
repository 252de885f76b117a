//! Who the users of other machines are, and what they may do.

use std::fs;
use std::thread;

use binder::{SpIBinder, StatusCode};
use binder_os::acting_user::ActingUser;
use binder_testkit::wait_until;

use crate::actor::{caller_seen_by, caller_seen_by_callback, more_of, new_word, word_of};
use crate::authority::UserSigner;
use crate::etcd::Etcd;
use crate::machine::{Machine, MachineOptions, Place};
use crate::scenarios::NAME;

pub(crate) fn a_user_is_the_same_or_nobody(place: &Place) {
    const NOBODY: i64 = 65_534;
    let etcd = Etcd::start(1);
    let signer = UserSigner::new();
    let dir = place.credentials("users");
    let table = "alice spiffe://test/m0 1000\nalice spiffe://test/m1 2000\n\
        root spiffe://test/m0 0\nroot spiffe://test/m1 0\n";
    let users = signer.write(table, &dir);
    let options = MachineOptions { has_log: true, ..MachineOptions::new(etcd.url()) };
    let plain = place.machine(2, &options);
    let options = MachineOptions { users, ..options };
    let (here, there) = (place.machine(0, &options), place.machine(1, &options));
    let _services = [there.serve(NAME, "there"), plain.serve("test.plain", "plain")];
    let client = here.client();
    let (found, plainly) = (client.find(NAME, "there"), client.find("test.plain", "plain"));
    let seen = |uid: u32, object: &SpIBinder| {
        let object = object.clone();
        as_user(uid, move || caller_seen_by(&object))
    };
    assert_eq!(seen(1000, &found), Ok(2000));
    assert_eq!(seen(1001, &found), Ok(NOBODY));
    assert_eq!(seen(0, &found), Ok(NOBODY), "root is of its machine");
    assert_eq!(seen(1000, &plainly), Ok(NOBODY), "nobody says who it is there");
    let more = more_of(&found).unwrap();
    assert_eq!(seen(1000, &more), Ok(2000), "of further objects, too");
    // The service calls back to another machine.
    let callback = new_word("here");
    let called_back = |uid| caller_seen_by_callback(&found, &callback, uid);
    assert_eq!([0, 2000, 2001].map(called_back), [Ok(NOBODY), Ok(1000), Ok(NOBODY)]);
    // A table that another has changed is none, and what was read before goes on.
    fs::write(dir.join("users"), table.replace("2000", "0")).unwrap();
    there.read_again();
    here.read_again();
    let is_refused = |machine: &Machine, count| {
        machine.log_lines("the users of other machines stay as they were").len() >= count
    };
    // Here by the manager, and by who stands for the service.
    wait_until(|| is_refused(&there, 1) && is_refused(&here, 2));
    assert_eq!(seen(1000, &found), Ok(2000));
    assert_eq!(called_back(2000), Ok(1000));
    signer.write(&table.replace("2000", "2001"), &dir);
    there.read_again();
    wait_until(|| seen(1000, &found) == Ok(2001));
    assert_eq!(called_back(2001), Ok(NOBODY), "here it is not read yet");
    here.read_again();
    wait_until(|| called_back(2001) == Ok(1000));
    signer.write("alice spiffe://test/m0 1000\nalice spiffe://test/m1 0\n", &dir);
    there.read_again();
    wait_until(|| seen(1000, &found) == Ok(NOBODY));
}

pub(crate) fn rules_of_users_hold(place: &Place) {
    let etcd = Etcd::start(1);
    let signer = UserSigner::new();
    let dir = place.credentials("users");
    let table = "alice spiffe://test/m0 1000\nalice spiffe://test/m1 2000\n\
        bob spiffe://test/m0 1001\nbob spiffe://test/m1 2001\n\
        carol spiffe://test/m0 1002\ncarol spiffe://test/m1 2002\n";
    let users = signer.write(table, &dir);
    let options = MachineOptions { users, has_log: true, ..MachineOptions::new(etcd.url()) };
    let believing = "allow * *\nallow add uid=1002 test.*\n";
    let serving = "allow * *\nallow call uid=2000 test.*\nallow * uid=65534\n";
    let here = place.machine(0, &MachineOptions { policy: believing, ..options.clone() });
    let there = place.machine(1, &MachineOptions { policy: serving, ..options });
    let (client, own) = (here.client(), there.client());
    let add = |uid: u32, name: &'static str| {
        let (own, service) = (own.clone(), new_word("there"));
        as_user(uid, move || own.add(name, &service));
    };
    let said = |uid: u32, object: &SpIBinder| {
        let object = object.clone();
        as_user(uid, move || word_of(&object))
    };
    // Who may call is decided where the service is, call by call.
    add(2002, NAME);
    let mut found = None;
    wait_until(|| {
        found = client.check(NAME);
        found.is_some()
    });
    let found = found.unwrap();
    assert_eq!(said(1000, &found).as_deref(), Ok("there"));
    for (uid, who) in [(1001, "another"), (1003, "nobody there"), (0, "root, of its machine")] {
        assert_eq!(said(uid, &found), Err(StatusCode::PERMISSION_DENIED), "{who}");
    }
    // What a service gives away may be handed on, as on one machine.
    let more = {
        let found = found.clone();
        as_user(1000, move || more_of(&found).unwrap())
    };
    assert_eq!(said(1001, &more).as_deref(), Ok("more"));
    // Who has registered a service is believed where it is looked for.
    add(2002, "private.carols");
    add(2001, "test.bobs");
    add(0, "test.roots");
    wait_until(|| here.instances().iter().any(|it| it.name == "test.roots"));
    assert!(here.instances().iter().all(|it| it.name.starts_with("test.")), "nobody may call it");
    for name in ["test.bobs", "test.roots"] {
        assert!(client.check(name).is_none(), "{name}");
        let why = format!("for {name}: user");
        assert!(here.log_lines(&why).iter().any(|it| it.contains("who may not by the access")));
    }
    // Other rules hold for calls by what was found before.
    there.change_policy("allow * *\nallow call uid=2001 test.*\n");
    wait_until(|| said(1001, &found).as_deref() == Ok("there"));
    assert_eq!(said(1000, &found), Err(StatusCode::PERMISSION_DENIED));
    there.change_policy(serving);
    wait_until(|| said(1000, &found).as_deref() == Ok("there"));
    // A service is found no more whose registrant is believed no more, and is again.
    here.change_policy("allow * *\n");
    wait_until(|| client.check(NAME).is_none());
    here.change_policy(believing);
    let mut found = None;
    wait_until(|| {
        found = client.check(NAME);
        found.is_some()
    });
    let found = found.unwrap();
    assert_eq!(said(1000, &found).as_deref(), Ok("there"));
    // A table in which she is another.
    signer.write(&table.replace("m1 2000", "m1 2003"), &dir);
    there.read_again();
    wait_until(|| said(1000, &found) == Err(StatusCode::PERMISSION_DENIED));
}

/// Runs calls on a thread that is another user.
fn as_user<R: Send + 'static>(uid: u32, calls: impl FnOnce() -> R + Send + 'static) -> R {
    let run = move || {
        let _user = ActingUser::enter(uid).unwrap();
        calls()
    };
    thread::spawn(run).join().unwrap()
}
