//! Replays the fuzzer's corpus, so that what it once found stays found without it.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/lane_segment.rs"]
pub mod lane_segment;

#[test]
fn the_corpus_of_lanes_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/lane_segment");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = file.expect("a readable directory").path();
        println!("{}", path.display());
        lane_segment::check(&fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

/// No deeds, then one of each kind before every call, with numbers of all sorts.
#[test]
fn every_deed_is_survived_at_every_step() {
    lane_segment::check(&[]);
    let numbers = [0, 1, 2, 3, 4, 5, 9, 11, 12, 73_535, 73_536, 73_537, u32::MAX];
    for first in 0..12 {
        for second in 0..12 {
            for number in numbers {
                let mut bytes = Vec::new();
                for step in 0..64 {
                    let kind = if step % 2 == 0 { first } else { second };
                    bytes.extend([kind, step, 64, step]);
                    bytes.extend(number.to_ne_bytes());
                }
                lane_segment::check(&bytes);
            }
        }
    }
}

/// Servers that mostly keep to the order of a call, and those that keep to none.
#[test]
fn random_deeds_are_survived() {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()
    };
    for _ in 0..4_000 {
        let mut bytes = Vec::new();
        for _ in 0..random()[0] % 64 {
            let [kind, flags, at, _, number @ ..] = random();
            // Claims and replies half of the time.
            let kind = if flags & 2 == 0 { 7 + kind % 2 } else { kind };
            bytes.extend([kind, flags, at, 0]);
            bytes.extend(number);
        }
        lane_segment::check(&bytes);
    }
}
