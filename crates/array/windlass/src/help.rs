//! `windlass help`. The options that all commands have stand in `windlass help options`, and not below each command.

use crate::print;
use clap::Command;
use std::io::{self, Write};
use std::process::ExitCode;

/// Last line of the help of each command.
const MORE: &str = "Options of all commands:  windlass help options";

/// What a terminal makes of tables, below the options.
const TABLES: &str = "Tables on a terminal: a long text in the last column is wrapped. If columns still do not fit, -o table leaves \
some of them out and names them; -o wide and --columns show the rest of each row in further lines. In a file or pipe, \
each row is one line and nothing is left out.";

/// Hides the options that all commands have.
pub(crate) fn short(mut command: Command) -> Command {
    // From then on each command has them.
    command.build();
    hide(command)
}

fn hide(command: Command) -> Command {
    let examples = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
    command
        .mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg })
        .mut_subcommands(hide)
        .after_help(format!("{examples}{MORE}"))
}

/// Prints the help of a command, or the options that all commands have.
pub(crate) fn run(command: Command, words: &[String]) -> ExitCode {
    if words == ["options"] {
        let options = command
            .mut_subcommands(|command| command.hide(true))
            .mut_args(|arg| if arg.is_global_set() { arg } else { arg.hide(true) })
            .disable_version_flag(true)
            .help_template(
                "Options of all commands. Each stands before or after the words of a command.\n\n{options}\n\n{after-help}",
            )
            .after_help(TABLES);
        return print(&{ options }.render_help().to_string());
    }
    let mut shown = short(command);
    let mut found = &mut shown;
    for (place, word) in words.iter().enumerate() {
        match found.find_subcommand_mut(word) {
            Some(next) => found = next,
            None => {
                let known = words.get(..place).unwrap_or_default().join(" ");
                let _closed = writeln!(
                    io::stderr(),
                    "error: there is no command {word:?}{}{known} (code: usage)\nhelp: see  windlass --help",
                    if known.is_empty() { "" } else { " of " },
                );
                return ExitCode::from(2);
            }
        }
    }
    print(&found.render_long_help().to_string())
}
