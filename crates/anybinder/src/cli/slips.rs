//! Common slips of users who know other programs, and what to type instead.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;

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

/// Makes the error of a command line of `words` say what was meant.
pub(super) fn explain(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(example) = example_of(words)
    {
        let tip = ContextValue::StyledStrs(vec![format!("for example `{example}`").into()]);
        error.insert(ContextKind::Suggested, tip);
    }
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

/// The first example of the subcommand that `words` begin with.
fn example_of(words: &[OsString]) -> Option<String> {
    let mut command = Cli::command();
    let mut subcommand = &mut command;
    // Options of all subcommands may stand before.
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    for word in words.iter().skip(1).skip_while(is_option) {
        if subcommand.find_subcommand(word).is_none() {
            break;
        }
        subcommand = subcommand.find_subcommand_mut(word)?;
    }
    let help = subcommand.render_long_help().to_string();
    let examples = help.split("Examples:\n").nth(1)?;
    let mut shown = examples.lines().map(str::trim).take_while(|line| !line.is_empty());
    let name = subcommand.get_name().to_owned();
    let line = shown.find(|line| line.split(' ').any(|word| word == name))?;
    // The rest of the line explains the example.
    Some(line.split("  ").next().unwrap_or(line).to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn what_is_meant_is_told_in_the_place_of_what_looks_like_it() {
        for (line, wanted) in [
            ("list", "`anybinder world` does that"),
            ("stop dev", "`anybinder world` does that"),
            ("umount /dev/binderfs", "`sudo umount DIR`"),
            ("world attach dev", "`anybinder world enter NAME`"),
            ("trasnactions", "'transactions'"),
        ] {
            let told = told(line);
            assert_eq!(told.matches("tip: ").count(), 1, "{told}");
            assert!(told.contains(wanted), "{told}");
        }
    }

    fn told(line: &str) -> String {
        let words: Vec<_> =
            ["anybinder"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
        explain(Cli::try_parse_from(&words).unwrap_err(), &words).to_string()
    }

    #[test]
    fn an_example_is_shown_where_something_is_missing() {
        for (line, wanted) in [
            ("run", "`anybinder run -- ./service --port 1`"),
            ("mount", "`sudo anybinder mount /dev/binderfs`"),
            ("-v world create", "`anybinder world create dev`"),
            ("world create", "`anybinder world create dev`"),
            ("world exec", "`anybinder world exec dev -- "),
            ("completions", "`anybinder completions "),
            ("aidl", "`anybinder aidl "),
            ("service call", "`anybinder service call "),
        ] {
            let told = told(line);
            assert!(told.contains(&format!("tip: for example {wanted}")), "{line}: {told}");
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
