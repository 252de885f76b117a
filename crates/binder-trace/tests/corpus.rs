//! Replays the fuzzer's corpus, so that what it once found stays found without it.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/trace_recording.rs"]
pub mod trace_recording;

#[test]
fn the_corpus_of_recordings_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/trace_recording");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = file.expect("a readable directory").path();
        println!("{}", path.display());
        trace_recording::check(&fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}
