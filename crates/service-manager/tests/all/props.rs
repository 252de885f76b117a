//! Whatever is asked in whatever order, registry and model agree.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use service_manager::{
    AccessPolicy, CallingContext, Declarations, ManagerRequest, ObjectId, RegistryEffect,
    ServiceRegistry,
};

use crate::model::{Model, POLICY, World};

const OBJECTS: u64 = 3;

#[derive(Debug, Clone)]
enum Step {
    Ask(i32, ManagerRequest<ObjectId>),
    Die(ObjectId),
    SetClients(ObjectId, u32),
    Count,
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => prop::sample::select(vec!["open", "closed"]).prop_map(String::from),
        1 => prop::sample::select(vec!["", "a b", "a~"]).prop_map(String::from),
        1 => Just("x".repeat(128)),
    ]
}

fn object() -> impl Strategy<Value = ObjectId> {
    (1..=OBJECTS).prop_map(ObjectId)
}

fn request() -> impl Strategy<Value = ManagerRequest<ObjectId>> {
    use ManagerRequest as Asked;
    let flags = prop::sample::select(vec![1, 8, 15, 8 | 1 << 30]);
    prop_oneof![
        1 => (name(), any::<bool>())
            .prop_map(|(name, takes_accessor)| Asked::Find { name, takes_accessor }),
        2 => (name(), object(), flags.clone()).prop_map(|(name, service, flags)| Asked::Add {
            name,
            service,
            flags
        }),
        1 => flags.prop_map(|flags| Asked::List { flags }),
        1 => (name(), object()).prop_map(|(name, callback)| Asked::Listen { name, callback }),
        1 => (name(), object()).prop_map(|(name, callback)| Asked::Unlisten { name, callback }),
        3 => (name(), object(), object()).prop_map(|(name, service, callback)| {
            Asked::ListenForClients { name, service, callback }
        }),
        2 => (name(), object()).prop_map(|(name, service)| Asked::TryUnregister { name, service }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (prop::sample::select(vec![1, 1, 1, 2, 3]), request()).prop_map(|(pid, request)| Step::Ask(pid, request)),
        1 => object().prop_map(Step::Die),
        2 => (object(), 0..=2_u32).prop_map(|(object, count)| Step::SetClients(object, count)),
        3 => Just(Step::Count),
    ]
}

fn caller(pid: i32) -> CallingContext {
    CallingContext { pid, uid: [0, 1000, 2000][usize::try_from(pid - 1).unwrap()], label: None }
}

/// What callbacks are told. What other machines are told of the names of this one is taken down in `local`.
fn told(registry: &mut ServiceRegistry, local: &mut BTreeSet<String>) -> Vec<RegistryEffect> {
    let effects = std::iter::from_fn(|| registry.poll_effect());
    let of_callbacks = effects.filter(|effect| match effect {
        RegistryEffect::LocalChanged { name, is_there } => {
            let has_changed =
                if *is_there { local.insert(name.clone()) } else { local.remove(name) };
            assert!(has_changed, "{name} changes by each word");
            false
        }
        RegistryEffect::Awaited { .. } | RegistryEffect::Forget(_) => false,
        RegistryEffect::Registered { .. } | RegistryEffect::Clients { .. } => true,
    });
    of_callbacks.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_registry_does_what_the_model_does(steps in vec(step(), 1..80)) {
        let policy = AccessPolicy::parse(POLICY).unwrap();
        let mut registry = ServiceRegistry::new(policy, Declarations::default());
        let (mut model, mut world) = (Model::default(), World::default());
        let mut local = BTreeSet::new();
        for step in steps {
            match step {
                Step::Ask(pid, request) => {
                    let caller = caller(pid);
                    let wanted = model.handle(&caller, request.clone(), &world);
                    let found = registry.handle(&caller, request, &mut world);
                    prop_assert_eq!(found.map_err(|denial| denial.exception), wanted);
                }
                Step::Die(object) => {
                    world.dead.insert(object);
                    model.die(object);
                    registry.object_died(object);
                }
                Step::SetClients(object, count) => {
                    world.clients.insert(object, count);
                }
                Step::Count => {
                    model.count(&world);
                    registry.count_clients(None, &mut world);
                }
            }
            let told = told(&mut registry, &mut local);
            prop_assert_eq!(told, std::mem::take(&mut model.effects));
            prop_assert_eq!(&local, &model.names());
            for object in (1..=OBJECTS).map(ObjectId) {
                prop_assert_eq!(registry.refers_to(object), model.refers_to(object));
            }
        }
        // Nothing is kept of what has died.
        for object in (1..=OBJECTS).map(ObjectId) {
            registry.object_died(object);
            prop_assert!(!registry.refers_to(object));
        }
    }
}
