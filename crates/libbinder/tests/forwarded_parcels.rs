//! Replays the fuzzer's corpus of parcels that go from one transport to another, and random bytes.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

#[path = "../../../fuzz/src/forwarded_parcels.rs"]
pub mod forwarded_parcels;

#[test]
fn the_corpus_of_forwarded_parcels_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/forwarded_parcels");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let bytes = fs::read(file.expect("a file").path()).expect("it can be read");
        forwarded_parcels::check(&bytes);
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn what_arrives_is_what_was_sent(bytes in vec(any::<u8>(), 0..80)) {
        forwarded_parcels::check(&bytes);
    }
}
