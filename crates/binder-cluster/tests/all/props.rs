//! Whatever happens, and in whatever order: one owner for a generation, and no death that is not told.

use proptest::prelude::*;

use crate::model::{Step, World};

fn step() -> impl Strategy<Value = Step> {
    let (member, which) = (0..3_usize, 0..8_usize);
    prop_oneof![
        4 => (1..900_u16).prop_map(Step::Pass),
        12 => (member.clone(), which.clone())
            .prop_map(|(member, which)| Step::Deliver { member, which }),
        2 => (member.clone(), which, any::<bool>())
            .prop_map(|(member, which, is_told)| Step::Lose { member, which, is_told }),
        1 => member.clone().prop_map(Step::Stop),
        1 => member.clone().prop_map(Step::Wake),
        1 => member.clone().prop_map(Step::Cut),
        1 => member.clone().prop_map(Step::Heal),
        1 => (member.clone(), 1..9000_u16).prop_map(|(member, by)| Step::Jump { member, by }),
        3 => (member.clone(), 0..3_usize).prop_map(|(member, name)| Step::Add { member, name }),
        2 => (member, 0..3_usize).prop_map(|(member, name)| Step::Remove { member, name }),
        1 => Just(Step::Compact),
        1 => Just(Step::BreakWatches),
    ]
}

proptest! {
    #[test]
    fn one_owner_for_a_generation_and_no_death_that_is_not_told(
        steps in prop::collection::vec(step(), 1..250),
    ) {
        let mut world = World::new(3);
        steps.iter().for_each(|step| world.step(step));
        world.settle();
        world.check_settled();
    }
}
