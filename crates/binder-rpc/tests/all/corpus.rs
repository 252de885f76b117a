//! Replays the fuzzer's corpus, so that what it once found stays found without it; and random
//! bytes that look a little like messages.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[path = "../../../../fuzz/src/rpc_session.rs"]
pub mod rpc_session;

#[test]
fn the_corpus_of_sessions_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rpc_session");
    let mut replayed = 0;
    for file in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = file.expect("a readable directory").path();
        println!("{}", path.display());
        rpc_session::check(&fs::read(&path).expect("a readable file"));
        replayed += 1;
    }
    assert_ne!(replayed, 0, "{} is empty", corpus.display());
}

/// Words that mean something to a session, more often than chance has it.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..4_u32, 2 => Just(0), 1 => Just(40), 1 => Just(16), 1 => any::<u32>()]
}

fn message() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(word(), 0..20).prop_flat_map(|body| {
        let bytes = u32::try_from(body.len() * 4).expect("short");
        (0..4_u32, prop_oneof![9 => Just(bytes), 1 => any::<u32>()]).prop_map(
            move |(command, bytes)| {
                let mut words = vec![command, bytes, 0, 0];
                words.extend_from_slice(&body);
                words
            },
        )
    })
}

proptest! {
    #[test]
    fn no_stream_of_messages_gets_through_to_a_panic(
        choice in any::<[u8; 2]>(),
        messages in proptest::collection::vec(message(), 0..12),
    ) {
        let words = messages.into_iter().flatten();
        let bytes: Vec<u8> = choice.into_iter().chain(words.flat_map(u32::to_le_bytes)).collect();
        rpc_session::check(&bytes);
    }
}
