//! Rules that the model leaves out: declarations, accessors, limits, who is told to forget what.

use binder::ExceptionCode;
use service_manager::{
    AccessPolicy, CallingContext, Declarations, FoundService, ManagerAnswer, ManagerRequest,
    ObjectId, RegistryEffect, ServiceAddress, ServiceRegistry,
};

use crate::model::World;

const DECLARED: &str = "\
a.IFoo/default apex=com.x
a.IFoo/net address=10.0.0.1:4242
a.IFoo/far accessor=a.IFoo/door
";

struct Rig {
    registry: ServiceRegistry,
    world: World,
    caller: CallingContext,
}

impl Rig {
    fn new(policy: &str) -> Self {
        let policy = AccessPolicy::parse(policy).unwrap();
        let registry = ServiceRegistry::new(policy, Declarations::parse(DECLARED).unwrap());
        let caller = CallingContext { pid: 7, uid: 1000, label: None };
        Self { registry, world: World::default(), caller }
    }

    fn ask(
        &mut self,
        request: ManagerRequest<ObjectId>,
    ) -> Result<ManagerAnswer<ObjectId>, ExceptionCode> {
        let answer = self.registry.handle(&self.caller, request, &mut self.world);
        answer.map_err(|denial| denial.exception)
    }

    fn add(&mut self, name: &str, object: u64) -> Result<(), ExceptionCode> {
        let (name, service) = (name.to_owned(), ObjectId(object));
        self.ask(ManagerRequest::Add { name, service, flags: 8 }).map(drop)
    }

    fn find(&mut self, name: &str, takes_accessor: bool) -> FoundService<ObjectId> {
        match self.ask(ManagerRequest::Find { name: name.to_owned(), takes_accessor }) {
            Ok(ManagerAnswer::Found(found)) => found,
            other => panic!("{other:?}"),
        }
    }

    /// What is to be done, but for what other machines are told.
    fn effects(&mut self) -> Vec<RegistryEffect> {
        let mut effects = self.all_effects();
        effects.retain(|effect| {
            use RegistryEffect::{Awaited, LocalChanged};
            !matches!(effect, LocalChanged { .. } | Awaited { .. })
        });
        effects
    }

    fn all_effects(&mut self) -> Vec<RegistryEffect> {
        std::iter::from_fn(|| self.registry.poll_effect()).collect()
    }
}

#[test]
fn declarations_are_told_to_those_who_may_find_them() {
    let mut rig = Rig::new("allow find uid=1000 a.IFoo/d*");
    let name = |name: &str| name.to_owned();
    let truth =
        |rig: &mut Rig, text: &str| rig.ask(ManagerRequest::IsDeclared { name: name(text) });
    assert_eq!(truth(&mut rig, "a.IFoo/default"), Ok(ManagerAnswer::Truth(true)));
    assert_eq!(truth(&mut rig, "a.IFoo/d"), Ok(ManagerAnswer::Truth(false)));
    assert_eq!(truth(&mut rig, "a.IFoo/net"), Err(ExceptionCode::SECURITY));
    let instances = rig.ask(ManagerRequest::DeclaredInstances { interface: name("a.IFoo") });
    assert_eq!(instances, Ok(ManagerAnswer::Names(vec![name("default")])));
    let none = rig.ask(ManagerRequest::DeclaredInstances { interface: name("a.IBar") });
    assert_eq!(none, Ok(ManagerAnswer::Names(vec![])));
    let apex = rig.ask(ManagerRequest::UpdatableViaApex { name: name("a.IFoo/default") });
    assert_eq!(apex, Ok(ManagerAnswer::Name(Some(name("com.x")))));
    let names = rig.ask(ManagerRequest::UpdatableNames { apex: name("com.x") });
    assert_eq!(names, Ok(ManagerAnswer::Names(vec![name("a.IFoo/default")])));
    rig.caller.uid = 5;
    let instances = rig.ask(ManagerRequest::DeclaredInstances { interface: name("a.IFoo") });
    assert_eq!(instances, Err(ExceptionCode::SECURITY));
}

#[test]
fn a_declared_address_is_told() {
    let mut rig = Rig::new("allow * *");
    let mut address = |name: &str| rig.ask(ManagerRequest::Address { name: name.to_owned() });
    let wanted = ServiceAddress { ip: "10.0.0.1".into(), port: 4242 };
    assert_eq!(address("a.IFoo/net"), Ok(ManagerAnswer::Address(Some(wanted))));
    assert_eq!(address("a.IFoo/default"), Ok(ManagerAnswer::Address(None)));
    assert_eq!(address("elsewhere"), Ok(ManagerAnswer::Address(None)));
}

#[test]
fn a_service_behind_a_socket_is_found_by_its_accessor() {
    let mut rig = Rig::new("allow * *");
    assert_eq!(rig.find("a.IFoo/far", true), FoundService::Accessor(None));
    rig.add("a.IFoo/door", 1).unwrap();
    assert_eq!(rig.find("a.IFoo/far", true), FoundService::Accessor(Some(ObjectId(1))));
    assert_eq!(rig.find("a.IFoo/far", false), FoundService::Nothing, "older calls know of none");
    let door = FoundService::Service { service: ObjectId(1), is_lazy: false };
    assert_eq!(rig.find("a.IFoo/door", true), door);
}

#[test]
fn a_stable_service_must_be_declared_where_anything_is() {
    let mut rig = Rig::new("allow * *");
    rig.world.stable.insert(ObjectId(1));
    assert_eq!(rig.add("a.IBar/default", 1), Err(ExceptionCode::ILLEGAL_ARGUMENT));
    assert_eq!(rig.add("a.IFoo/default", 1), Ok(()));
    assert_eq!(rig.add("a.IBar/default", 2), Ok(()), "this one promises nothing");
    let policy = AccessPolicy::AllowAll;
    rig.registry = ServiceRegistry::new(policy, Declarations::default());
    assert_eq!(rig.add("a.IBar/default", 1), Ok(()));
}

#[test]
fn an_object_is_forgotten_with_its_last_entry_and_not_before() {
    let mut rig = Rig::new("allow * *");
    rig.add("x", 1).unwrap();
    rig.add("y", 1).unwrap();
    rig.add("x", 1).unwrap();
    assert_eq!(rig.effects(), []);
    rig.add("x", 2).unwrap();
    assert_eq!(rig.effects(), []);
    rig.add("y", 2).unwrap();
    assert_eq!(rig.effects(), [RegistryEffect::Forget(ObjectId(1))]);
    rig.registry.object_died(ObjectId(2));
    assert_eq!(rig.effects(), [RegistryEffect::Forget(ObjectId(2))]);
    assert_eq!(rig.find("x", false), FoundService::Nothing);
}

#[test]
fn other_machines_hear_what_is_registered_here_and_what_is_waited_for() {
    let mut rig = Rig::new("allow * *");
    let name = || "x".to_owned();
    let local = |is_there| RegistryEffect::LocalChanged { name: name(), is_there };
    let listen = ManagerRequest::Listen { name: name(), callback: ObjectId(3) };
    rig.ask(listen).unwrap();
    assert_eq!(rig.all_effects(), [RegistryEffect::Awaited { name: name() }]);
    rig.add("x", 1).unwrap();
    assert_eq!(rig.all_effects()[0], local(true));
    rig.registry.object_died(ObjectId(1));
    let end = [local(false), RegistryEffect::Awaited { name: name() }];
    assert_eq!(rig.all_effects()[..2], end, "it is still waited for");
}

#[test]
fn who_may_not_find_a_service_any_more_hears_of_it_no_more() {
    let mut rig = Rig::new("allow * *");
    let listen = |callback| ManagerRequest::Listen { name: "x".into(), callback };
    rig.ask(listen(ObjectId(3))).unwrap();
    rig.caller.uid = 2000;
    rig.ask(listen(ObjectId(4))).unwrap();
    let policy = AccessPolicy::parse("allow * uid=2000").unwrap();
    rig.registry.set_policy(policy);
    assert_eq!(rig.effects(), [RegistryEffect::Forget(ObjectId(3))]);
    assert!(!rig.registry.refers_to(ObjectId(3)));
    rig.add("x", 1).unwrap();
    let (callback, name, service) = (ObjectId(4), "x".to_owned(), ObjectId(1));
    assert_eq!(rig.effects(), [RegistryEffect::Registered { callback, name, service }]);
}

#[test]
fn one_user_may_not_fill_the_memory() {
    let mut rig = Rig::new("allow * *");
    let mut count = 0;
    let full = loop {
        let listen =
            ManagerRequest::Listen { name: format!("n{}", count % 100), callback: ObjectId(1) };
        match rig.ask(listen) {
            Ok(_) => count += 1,
            Err(exception) => break exception,
        }
        assert!(count < 1_000_000);
    };
    assert_eq!((count, full), (8192, ExceptionCode::ILLEGAL_STATE));
    assert_eq!(rig.add("x", 2), Err(ExceptionCode::ILLEGAL_STATE));
    rig.caller.uid = 1;
    assert_eq!(rig.add("x", 2), Ok(()), "another user has room");
    rig.caller.uid = 1000;
    rig.ask(ManagerRequest::Unlisten { name: "n0".into(), callback: ObjectId(1) }).unwrap();
    assert_eq!(rig.add("y", 2), Ok(()));
    rig.registry.object_died(ObjectId(1));
    assert!(!rig.registry.refers_to(ObjectId(1)));
}

#[test]
fn one_user_may_not_have_very_many_called_by_one_registration() {
    let mut rig = Rig::new("allow * *");
    let listen = |rig: &mut Rig, object| {
        rig.ask(ManagerRequest::Listen { name: "x".into(), callback: ObjectId(object) })
    };
    (1..=256).for_each(|object| assert_eq!(listen(&mut rig, object), Ok(ManagerAnswer::Done)));
    assert_eq!(listen(&mut rig, 257), Err(ExceptionCode::ILLEGAL_STATE));
    rig.caller.uid = 1;
    assert_eq!(listen(&mut rig, 257), Ok(ManagerAnswer::Done), "another user has room");
    rig.caller.uid = 1000;
    rig.registry.object_died(ObjectId(7));
    assert_eq!(listen(&mut rig, 258), Ok(ManagerAnswer::Done));
}

#[test]
fn one_user_may_not_have_very_many_objects_that_die_at_once() {
    let mut rig = Rig::new("allow * *");
    (1..=2048).for_each(|object| rig.add(&format!("x{object}"), object).unwrap());
    assert_eq!(rig.add("y", 2049), Err(ExceptionCode::ILLEGAL_STATE));
    assert_eq!(rig.add("y", 2048), Ok(()), "it is one of these");
    rig.registry.object_died(ObjectId(2048));
    assert_eq!(rig.add("y", 2049), Ok(()));
    assert_eq!(rig.add("z", 2050), Err(ExceptionCode::ILLEGAL_STATE));
    rig.caller.uid = 1;
    assert_eq!(rig.add("z", 2050), Ok(()), "another user has room");
}

#[test]
fn clients_of_many_services_are_counted_a_part_at_a_time() {
    let mut rig = Rig::new("allow * *");
    for number in 0..600 {
        let (service, callback) = (ObjectId(number), ObjectId(1000 + number));
        let name = format!("x{number}");
        rig.add(&name, number).unwrap();
        rig.ask(ManagerRequest::ListenForClients { name, service, callback }).unwrap();
        rig.world.clients.insert(service, 1);
    }
    rig.effects();
    let (mut told, mut last) = (Vec::new(), None);
    loop {
        last = rig.registry.count_clients(last.as_deref(), &mut rig.world);
        told.push(rig.effects().len());
        if last.is_none() {
            break;
        }
    }
    assert_eq!(told, [256, 256, 88]);
}

#[test]
fn only_after_a_while_is_a_service_told_that_its_clients_have_gone() {
    let mut rig = Rig::new("allow * *");
    let (service, callback) = (ObjectId(1), ObjectId(2));
    let name = || "x".to_owned();
    rig.add("x", 1).unwrap();
    let listen = ManagerRequest::ListenForClients { name: name(), service, callback };
    rig.ask(listen).unwrap();
    assert_eq!(rig.effects(), [], "nobody has it, and nothing else was said");
    rig.find("x", false);
    let told = |has_clients| RegistryEffect::Clients { callback, service, has_clients };
    assert_eq!(rig.effects(), [told(true)]);
    let unregister = || ManagerRequest::TryUnregister { name: name(), service };
    assert_eq!(rig.ask(unregister()), Err(ExceptionCode::ILLEGAL_STATE), "it is about to be held");
    rig.registry.count_clients(None, &mut rig.world);
    assert_eq!(rig.effects(), [], "who was given it has an interval to take hold of it");
    assert_eq!(rig.ask(unregister()), Err(ExceptionCode::ILLEGAL_STATE), "it was told of clients");
    assert_eq!(rig.effects(), []);
    rig.registry.count_clients(None, &mut rig.world);
    assert_eq!(rig.effects(), [], "the refusal counts as a client");
    rig.registry.count_clients(None, &mut rig.world);
    assert_eq!(rig.effects(), [told(false)]);
    assert_eq!(rig.ask(unregister()), Ok(ManagerAnswer::Done));
    assert_eq!(rig.effects(), [RegistryEffect::Forget(service)]);
}
