//! Replays the fuzzer's corpus, and random bytes.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

#[path = "../../../../fuzz/src/manager_transactions.rs"]
pub mod manager_transactions;

#[test]
fn the_corpus_of_transactions_still_passes() {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/manager_transactions");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        manager_transactions::check(&fs::read(file.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

proptest! {
    #[test]
    fn no_bytes_make_a_manager_panic_or_keep_what_is_dead(bytes in vec(any::<u8>(), 0..600)) {
        manager_transactions::check(&bytes);
    }
}
