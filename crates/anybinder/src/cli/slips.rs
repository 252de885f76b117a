//! What people type who know other programs, and what they mean by it.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that are no subcommands where they were given, and what does what they ask for.
const MEANT: [(&[&str], &str); 7] = [
    (
        &["start", "up", "serve", "daemon"],
        "`anybinder run -- COMMAND`, `anybinder world create NAME`, or for the whole machine `sudo anybinder mount DIR`",
    ),
    (&["umount", "unmount"], "`sudo umount DIR` ends what `anybinder mount DIR` serves"),
    (&["shell", "bash", "sh"], "`anybinder run bash`, or `anybinder world enter NAME`"),
    (
        &["status", "info", "check"],
        "`anybinder doctor` tells what this machine allows, `anybinder ps` who uses a binder",
    ),
    (
        &["create", "list", "ls", "enter", "exec", "stop", "rm", "logs"],
        "`anybinder world` does that, of worlds with names",
    ),
    (
        &["attach", "join"],
        "`anybinder world enter NAME`, or `anybinder world exec NAME -- COMMAND`",
    ),
    (&["delete", "remove", "destroy"], "`anybinder world rm NAME`"),
];

/// Says what is meant, in the place of subcommands that merely look like it.
pub(super) fn explain(mut error: clap::Error) -> clap::Error {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::InvalidSubcommand => word,
        _ => return error,
    };
    if let Some((_, advice)) = MEANT.iter().find(|(words, _)| words.contains(&word.as_str())) {
        error.remove(ContextKind::SuggestedSubcommand);
        let advice = ContextValue::StyledStrs(vec![(*advice).into()]);
        error.insert(ContextKind::Suggested, advice);
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn what_is_meant_is_told_in_the_place_of_what_looks_like_it() {
        for (line, wanted) in [
            ("list", "`anybinder world` does that"),
            ("stop dev", "`anybinder world` does that"),
            ("umount /dev/binderfs", "`sudo umount DIR`"),
            ("world attach dev", "`anybinder world enter NAME`"),
            ("trasnactions", "'transactions'"),
        ] {
            let words = ["anybinder"].into_iter().chain(line.split(' '));
            let told = explain(Cli::try_parse_from(words).unwrap_err()).to_string();
            assert_eq!(told.matches("tip: ").count(), 1, "{told}");
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn none_is_a_subcommand_of_the_program() {
        let command = Cli::command();
        for word in MEANT.iter().flat_map(|(words, _)| *words) {
            assert!(command.find_subcommand(word).is_none(), "{word}");
        }
    }
}
