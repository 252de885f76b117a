//! Commands of more than one slice, disrupted between any two of them.
//!
//! Seen from outside a send happens when it is complete: whatever comes before that finds its receiver
//! without it, and nothing is left of one that is not completed. What a buffer holds is let go of once.

mod ends;
mod frees;
mod replies;
mod sends;

use binder_core::LiveObjects;
use binder_testkit::{Caller, CoreRig, Message, Party, Stage, commands, introduce};
use binder_uapi::{FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject, TF_ACCEPT_FDS, TF_CLEAR_BUF};

/// The objects of `m`, which receives, and `t`, in the order of [`loaded`].
const NODES: [(u64, u64); 3] = [(0x1000, 1), (0x2000, 2), (0x3000, 3)];

/// Those who are there: `m` is the manager, `p` knows an object of `t`.
struct Scene<'s> {
    stage: &'s Stage,
    m: Party<'s>,
    p: Party<'s>,
    t: Party<'s>,
    /// By which `p` knows the object of `t`.
    handle: u32,
}

impl<'s> Scene<'s> {
    fn new(stage: &'s Stage) -> Self {
        let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
        let m = stage.manager_named(FlatBinderObject { flags, ..FlatBinderObject::default() });
        let (p, t) = (stage.party(), stage.party());
        let handle = introduce(&m, &t, (0x7000, 7), &p);
        Self { stage, m, p, t, handle }
    }

    fn core(&self) -> &CoreRig {
        self.stage.rig().core().expect("a rig on the core")
    }

    fn live_objects(&self) -> LiveObjects {
        self.core().live_objects()
    }

    /// References that a party has, and its nodes.
    fn known_to(&self, party: &Party<'_>) -> (usize, usize) {
        let snapshot = self.core().snapshot();
        let of_party = |pid: u32| i32::try_from(pid) == Ok(party.pid());
        let process = snapshot.processes.iter().find(|process| of_party(process.pid));
        process.map_or((0, 0), |process| (process.references.len(), process.nodes.len()))
    }

    /// Lets the call of a party begin, and go on for that many slices. Says whether it goes on still.
    fn play_slices(&self, party: &Party<'_>, slices: usize) -> bool {
        let has_begun = self.core().pass_window();
        assert!(has_begun, "its commands are fetched");
        for _ in 0..slices {
            if !party.is_parked() {
                break;
            }
            self.core().pass_window();
        }
        party.is_parked()
    }

    fn end_thread(&self, caller: Caller) {
        self.core().end_thread(caller);
    }

    /// Nothing is on its way, and no party has a buffer.
    fn assert_nothing_under_way(&self) {
        let LiveObjects {
            buffers,
            pages_in_use,
            files,
            unfinished,
            transactions,
            early_reservations,
            ..
        } = self.live_objects();
        let counts = (buffers, pages_in_use, files, unfinished, transactions, early_reservations);
        assert_eq!(counts, (0, 0, 0, 0, 0, 0));
        assert_eq!(self.core().captured_files(), 0);
    }
}

/// Objects of all kinds: the sender's own, one of `t`, the receiver's own if there is one, and an array
/// of files in a piece.
fn loaded(handles: &[u32]) -> Message {
    let own =
        NODES.iter().fold(Message::new(1), |message, (ptr, cookie)| message.binder(*ptr, *cookie));
    let own = own.weak_binder(0x4000, 4);
    let piece = 4 + handles.len() as u64;
    let all = handles.iter().fold(own, |message, handle| message.handle(*handle));
    all.buffer(&[0; 16]).descriptors(3, piece, 0).flags(TF_ACCEPT_FDS | TF_CLEAR_BUF)
}

/// Plays a scene once for each slice of what is sent in it, as long as `play` says that it was disrupted.
fn at_each_slice(least: usize, play: impl Fn(&Scene<'_>, usize) -> bool) {
    for objects in [1, 2] {
        for slices in 0.. {
            let stage = Stage::new(Box::new(CoreRig::default().in_slices_of(objects)));
            let scene = Scene::new(&stage);
            let was_disrupted = play(&scene, slices);
            stage.tear_down();
            if !was_disrupted {
                assert!(
                    slices + 1 >= least.div_ceil(objects),
                    "{slices} times, slices of {objects}"
                );
                break;
            }
        }
    }
}

/// A call with everything, up to the given slice. Says whether it goes on still.
fn begin_call(scene: &Scene<'_>, slices: usize) -> bool {
    let Scene { p, handle, .. } = scene;
    scene.core().hold_windows();
    p.start(p.writing(&commands().call(0, loaded(&[*handle]))));
    scene.play_slices(p, slices)
}
