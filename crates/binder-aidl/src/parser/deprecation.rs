//! `@deprecated` in comments.

use alloc::string::String;
use alloc::vec::Vec;

/// The text behind `@deprecated` in a comment, in one line.
pub(super) fn note(comment: &str) -> Option<String> {
    let text = comment.trim_start_matches("/**").trim_end_matches("*/");
    let (_, behind) = text.split_once("@deprecated")?;
    let mut words = Vec::new();
    for (at, line) in behind.lines().enumerate() {
        let line = line.trim().trim_start_matches('*').trim();
        // Another tag.
        if at > 0 && line.starts_with('@') {
            break;
        }
        words.extend(line.split_whitespace());
    }
    Some(words.join(" "))
}
