//! Calls of several clients, whose steps end in any order, well or not, while signals come and clients are killed.

use binder_testkit::{CoreRig, FdWorkState, Message, Mode, Stage, Trouble, commands, introduce};
use proptest::collection::vec;
use proptest::prelude::*;

use super::actor::{Actor, manager, message};

/// The manager comes first.
const ACTORS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Choice {
    Call(usize),
    Oneway(usize),
    Read(usize),
    SetMode(usize, Mode),
    Interrupt(usize),
    Kill(usize),
    /// One of the steps in line ends, and goes wrong if it shall.
    Pass(usize, Option<Trouble>),
}

fn choice() -> impl Strategy<Value = Choice> {
    let who = || 0..ACTORS;
    let mode = prop_oneof![Just(Mode::Blocking), Just(Mode::Nonblocking)];
    let trouble = prop::sample::select(&Trouble::ALL[..]);
    prop_oneof![
        6 => who().prop_map(Choice::Call),
        4 => who().prop_map(Choice::Oneway),
        12 => who().prop_map(Choice::Read),
        2 => (who(), mode).prop_map(|(who, mode)| Choice::SetMode(who, mode)),
        3 => who().prop_map(Choice::Interrupt),
        // The manager seldom.
        1 => (1..2 * ACTORS).prop_map(|who| Choice::Kill(who % ACTORS)),
        40 => (0..8_usize).prop_map(|at| Choice::Pass(at, None)),
        3 => (0..8_usize, trouble).prop_map(|(at, trouble)| Choice::Pass(at, Some(trouble))),
    ]
}

fn play(choices: &[Choice], slices: usize, way: FdWorkState) {
    let rig = CoreRig::default().in_slices_of(slices).with_fd_work(way);
    let stage = Stage::new(Box::new(rig));
    let core = stage.rig().core().expect("a rig on the core");
    let m = manager(&stage);
    let clients = [stage.party(), stage.party(), stage.party()];
    let handles = clients.map(|client| introduce(&m, &m, (0x10, 0x20), &client));
    let mut actors = [m, clients[0], clients[1], clients[2]].map(|it| Actor::new(&stage, it));
    core.hold_windows();
    core.hold_fd_work();
    for choice in choices {
        match *choice {
            // The manager, too, may call itself: that fails.
            Choice::Call(who) => actors[who].begin(commands().call(0, message()), true),
            Choice::Oneway(who) => {
                let handle = who.checked_sub(1).map_or(0, |client| handles[client]);
                let large = Message::new(2).bytes(&[7; 20_000]);
                let oneways = commands().oneway(handle, message()).oneway(handle, large);
                actors[who].begin(oneways, false);
            }
            Choice::Read(who) => actors[who].begin(commands(), true),
            Choice::SetMode(who, mode) => actors[who].set_mode(mode),
            Choice::Interrupt(who) => actors[who].interrupt(),
            Choice::Kill(who) => {
                actors[who].party.kill();
            }
            Choice::Pass(at, trouble) => {
                let steps = core.steps_in_line();
                if steps > 0 {
                    assert!(core.pass_step(at % steps, trouble));
                }
            }
        }
    }
    core.let_fd_work_go();
    core.let_windows_pass();
    assert_eq!(core.live_objects().early_reservations, 0, "no reservation is kept");
    stage.tear_down();
}

proptest! {
    // A failure is to become a test of its own, not a seed in a file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_steps_end_first_each_request_is_answered_once(
        choices in vec(choice(), 1..300),
        slices in prop_oneof![Just(1), Just(256)],
        way in prop::sample::select(&[FdWorkState::Waiting, FdWorkState::Stopped, FdWorkState::Moved][..]),
    ) {
        play(&choices, slices, way);
    }
}
