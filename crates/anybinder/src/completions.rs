//! `anybinder completions`: made from the definition of the command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;

use clap_complete::Shell;

use crate::cli::{Cli, CompletionsOptions};
use crate::failure::{Failure, failed};

/// Completions for bash after `run --`, `exec NAME --` and `trace --`, which the generator leaves out: commands, and then their
/// arguments, if the package bash-completion knows them. And the names of services.
const COMMANDS_IN_BASH: &str = r#"
_anybinder_or_command() {
    local at runs= asks=
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
            run | exec | trace) runs=yes ;;
            service) asks=yes ;;
            check | wait | call | dump | shell)
                if [[ -n $asks && at+1 -eq COMP_CWORD && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
                    local names=$("${COMP_WORDS[0]}" service list --names 2>/dev/null)
                    COMPREPLY=($(compgen -W "$names" -- "${COMP_WORDS[COMP_CWORD]}"))
                    return
                fi ;;
            --) break ;;
        esac
    done
    if [[ -z $runs || at -ge COMP_CWORD ]]; then
        _anybinder "$@"
    elif declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset $((at + 1))
    elif declare -F _command_offset >/dev/null; then
        _command_offset $((at + 1))
    elif ((at + 1 == COMP_CWORD)); then
        COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
    else
        COMPREPLY=()
    fi
}
complete -F _anybinder_or_command -o nosort -o bashdefault -o default anybinder 2>/dev/null ||
    complete -F _anybinder_or_command -o bashdefault -o default anybinder
"#;

/// The same in fish: the words behind the first `--` are a command of their own.
const COMMANDS_IN_FISH: &str = r#"function __fish_anybinder_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains --index -- -- $words)
    and complete -C "$words[$(math $at + 1)..]"
end
complete -c anybinder -n "contains -- -- (commandline -opc)" -f -a "(__fish_anybinder_command)"
"#;

/// The names of services in fish.
const SERVICES_IN_FISH: &str = r#"complete -c anybinder -n "__fish_anybinder_using_subcommand service; and __fish_seen_subcommand_from check wait call dump shell" -f -a "(anybinder service list --names 2>/dev/null)"
"#;

/// The names of services in zsh: a function, and where it is called instead of what the generator calls.
const SERVICES_IN_ZSH: &str = r#"
_anybinder_services() {
    local -a names
    names=(${(f)"$(anybinder service list --names 2>/dev/null)"})
    compadd -a names
}
"#;
const NAMES_IN_ZSH: [(&str, &str); 2] = [
    ("':name -- The service:_default'", "':name -- The service:_anybinder_services'"),
    (
        r"'::name -- The service \[default\: all\]:_default'",
        r"'::name -- The service \[default\: all\]:_anybinder_services'",
    ),
];

/// The generator's script for zsh, with names of services.
fn with_services_in_zsh(script: &str) -> String {
    let named = |script: String, (found, wanted): (&str, &str)| script.replace(found, wanted);
    let script = NAMES_IN_ZSH.into_iter().fold(script.to_owned(), named);
    // Behind the first line, which says for which command the file is.
    match script.split_once('\n') {
        Some((head, rest)) => format!("{head}\n{SERVICES_IN_ZSH}{rest}"),
        None => script,
    }
}

pub(crate) fn run(options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "anybinder", &mut script);
    match options.shell {
        Shell::Bash => script.extend_from_slice(COMMANDS_IN_BASH.as_bytes()),
        Shell::Fish => {
            script.extend_from_slice(COMMANDS_IN_FISH.as_bytes());
            script.extend_from_slice(SERVICES_IN_FISH.as_bytes());
        }
        Shell::Zsh => script = with_services_in_zsh(&String::from_utf8_lossy(&script)).into_bytes(),
        // The generator knows no names for these, and offers files.
        _ => {}
    }
    io::stdout().write_all(&script).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::SUCCESS)
}
