//! Replays the fuzzer's corpus of relayed streams, and random steps.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

#[path = "../../../../fuzz/src/relayed_streams.rs"]
pub mod relayed_streams;

#[test]
fn the_corpus_of_relayed_streams_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/relayed_streams");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = file.expect("a readable directory").path();
        println!("{}", path.display());
        relayed_streams::check(&fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

proptest! {
    #[test]
    fn nothing_is_lost_in_a_stream_and_nobody_waits_for_ever(bytes in vec(any::<u8>(), 0..400)) {
        relayed_streams::check(&bytes);
    }
}
