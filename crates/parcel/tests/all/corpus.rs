//! Replays the fuzzer's corpus, so that what it once found stays found without it.

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/src/parcel_values.rs"]
pub mod parcel_values;

#[test]
fn the_corpus_of_parcels_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parcel_values");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        parcel_values::check(&fs::read(file.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

#[test]
fn no_bytes_are_read_past_their_end() {
    // Every kind at every start of words that look like lengths of all sorts.
    let words: [i32; 7] = [0, 1, -1, 5, i32::MAX, i32::MIN, -128];
    for kind in 0..=255 {
        for a in words {
            for b in words {
                let mut bytes = vec![4, kind, kind, kind, kind];
                for word in [a, b, a, b, b] {
                    bytes.extend(word.to_le_bytes());
                }
                for end in 5..=bytes.len() {
                    parcel_values::check(&bytes[..end]);
                }
            }
        }
    }
}
