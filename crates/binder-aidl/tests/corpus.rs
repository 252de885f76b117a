//! Replays the fuzzer's corpus, so that what it once found stays found without it.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/aidl_source.rs"]
pub mod aidl_source;

#[test]
fn the_corpus_of_sources_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/aidl_source");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = file.expect("a readable directory").path();
        println!("{}", path.display());
        let bytes = fs::read(&path).expect("a readable file");
        aidl_source::check(&bytes);
        // Sources that end anywhere.
        (0..bytes.len()).step_by(7).for_each(|end| aidl_source::check(&bytes[..end]));
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}
