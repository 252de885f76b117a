//! Replays the fuzzer's corpus, so that what it once found stays found without it.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/aidl_arguments.rs"]
pub mod aidl_arguments;
#[path = "../../../fuzz/src/trace_recording.rs"]
pub mod trace_recording;

/// Hands each file of a corpus to `check`.
fn replay(corpus: &str, check: impl Fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(corpus);
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = file.expect("a readable directory").path();
        println!("{}", path.display());
        check(&fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

#[test]
fn the_corpus_of_recordings_still_passes() {
    replay("trace_recording", trace_recording::check);
}

#[test]
fn the_corpus_of_arguments_still_passes_whole_cut_and_with_hostile_words() {
    replay("aidl_arguments", |bytes| {
        for end in 0..=bytes.len() {
            aidl_arguments::check(&bytes[..end]);
        }
        for at in 1..bytes.len().saturating_sub(3) {
            for word in [-1, 0, 1, i32::MAX, i32::MIN] {
                let mut bytes = bytes.to_vec();
                bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
                aidl_arguments::check(&bytes);
            }
        }
    });
}
