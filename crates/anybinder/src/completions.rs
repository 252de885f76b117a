//! `anybinder completions`: made from the definition of the command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;

use clap_complete::Shell;

use crate::cli::{Cli, CompletionsOptions};
use crate::failure::{Failure, failed};

/// What bash is to offer after `run --` and `exec NAME --`, which the generator leaves out for it: commands, and then
/// what each of them takes, if the package bash-completion knows that.
const COMMANDS_IN_BASH: &str = r#"
_anybinder_or_command() {
    local at runs=
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
            run | exec) runs=yes ;;
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

pub(crate) fn run(options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "anybinder", &mut script);
    if options.shell == Shell::Bash {
        script.extend_from_slice(COMMANDS_IN_BASH.as_bytes());
    }
    io::stdout().write_all(&script).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::SUCCESS)
}
