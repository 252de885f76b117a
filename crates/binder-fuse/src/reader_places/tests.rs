//! Readers that are parked, and places that are taken over.

use std::sync::mpsc;

use super::*;

/// Waits until that many readers are parked.
fn await_parked(parked: &ParkedReaders, count: usize) {
    loop {
        // A reader that has counted itself gives the state up when it waits.
        let state = parked.state();
        let are_parked = parked.count.load(Ordering::Relaxed) == count;
        drop(state);
        if are_parked {
            return;
        }
        thread::yield_now();
    }
}

#[test]
fn to_want_another_reader_is_forgotten_if_none_is_parked() {
    let parked = ParkedReaders::default();
    parked.want_another();
    assert_eq!(parked.state().wanted, 0, "the next that parks waits");
}

#[test]
fn one_parked_reader_goes_on_for_each_that_is_wanted_and_the_end_ends_all() {
    let readers = Readers::new(NonZeroUsize::new(2), 0);
    let parked = &readers.parked;
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..3 {
            let tell = tell.clone();
            scope.spawn(move || tell.send(parked.park()));
        }
        await_parked(parked, 3);
        parked.want_another();
        assert_eq!(told.recv(), Ok(true));
        await_parked(parked, 2);
        assert_eq!(parked.state().wanted, 0, "the others are not wanted");
        readers.end();
        assert_eq!((told.recv(), told.recv()), (Ok(false), Ok(false)));
    });
    assert!(!parked.park(), "it has ended");
    assert_eq!(parked.count.load(Ordering::Relaxed), 0);
}

#[test]
fn a_place_is_taken_over_once_from_the_step_at_which_its_reader_is_stuck() {
    let place = ReaderPlace::default();
    assert_eq!(place.take_over(1), Some((3, None)), "the first takes over from no reader");
    assert_eq!(place.take_over(1), None, "another was faster, or the reader has gone on");
    place.client.store(7, Ordering::Release);
    let stuck = place.steps.load(Ordering::Acquire);
    assert_eq!(place.take_over(stuck), Some((stuck + 2, Some(7))));
    assert_eq!(place.client.load(Ordering::Acquire), 0, "the next is in no client's memory");
    assert_eq!(place.tid.load(Ordering::Relaxed), processes::own_thread());
}

#[test]
fn a_reader_that_waits_for_a_request_is_not_busy() {
    let readers = Readers {
        ring_threads: 0,
        places: (0..3).map(|_| ReaderPlace::default()).collect(),
        parked: ParkedReaders::default(),
    };
    readers.places[1].steps.store(4, Ordering::Release);
    readers.places[2].steps.store(7, Ordering::Release);
    let mut steps = vec![9; 5];
    readers.busy_steps(&mut steps);
    assert_eq!(steps, [1, 0, 7]);
    assert_eq!(readers.steps(), 12);
}

#[test]
fn the_last_places_are_those_of_the_threads_that_watch_rings() {
    let threads = |count, rings| {
        let readers = Readers::new(NonZeroUsize::new(count), rings);
        (0..readers.places.len()).map(|at| readers.ring_thread(at)).collect::<Vec<_>>()
    };
    assert_eq!(threads(1, 1), [None, Some(0)]);
    assert_eq!(threads(2, 3), [None, None, Some(0), Some(1), Some(2)]);
    assert_eq!(threads(2, 0), [None, None]);
}
