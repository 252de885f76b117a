//! Replays the fuzzer's corpus, so that what it once found stays found without it.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/command_stream.rs"]
pub mod command_stream;

#[test]
fn the_corpus_of_requests_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/command_stream");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = file.expect("a readable directory").path();
        println!("{}", path.display());
        command_stream::check(&fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}
