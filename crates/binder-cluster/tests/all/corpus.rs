//! Replays the fuzzer's corpus, and random bytes.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

#[path = "../../../../fuzz/src/etcd_values.rs"]
pub mod etcd_values;

#[test]
fn the_corpus_of_etcd_values_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/etcd_values");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        etcd_values::check(&fs::read(file.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_bytes_make_a_member_panic_or_tell_what_is_not_so(bytes in vec(any::<u8>(), 0..600)) {
        etcd_values::check(&bytes);
    }
}
