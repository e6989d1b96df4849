//! The windlass binary: the array itself, and the commands that administer it.
#![forbid(unsafe_code)]

mod conformance;
mod datastore;
mod disk;
mod help;
mod host_kit;
mod lab;
mod lab_progress;
mod lab_report;
mod manual;
mod probe;
mod target;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::{CompleteEnv, env::Shells};
use cli::{Console, Format, Globals, Noun, PoolVerb};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Keeps resident memory near what is in use: pages that were freed serve allocations of any other size, and
/// its threads return the rest to the system within ten seconds. With the C library's allocator the process
/// grew to several times of what it used when hosts mixed large and small commands.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A storage array that specialises in storage offload
#[derive(Debug, Parser)]
#[command(name = "windlass", version = daemon::VERSION, max_term_width = 120, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Noun(Noun),
    /// Run the array
    #[command(
        after_help = "Examples:\n  windlass serve --state-dir /var/lib/windlass\n  windlass serve --state-dir /tmp/w --iscsi 127.0.0.1:3260 --pool-size 8G"
    )]
    Serve(daemon::ServeOptions),
    /// Start a temporary array and compare copies by the host with copies by the array, using
    /// QEMU's and libiscsi's tools
    #[command(after_help = "Examples:\n  windlass demo\n  windlass demo --once")]
    Demo(DemoArguments),
    /// Test what hosts rely on against any iSCSI target or NFS server, and compare the answers with
    /// the standards
    #[command(
        after_help = "Examples:\n  windlass conformance iscsi://192.0.2.7/iqn.2026-01.org.example:t/0\n  windlass conformance iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 --second-portal 192.0.2.8:3260 --second-lun 1 --destroy-data\n  windlass conformance iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 --second-lun 1 --destroy-data --thorough --check boundaries    every size around each limit\n  windlass conformance nfs://192.0.2.7/vms --second-share other\n  windlass conformance nfs://192.0.2.7/vms --minor 1 --check session --check lock\n  windlass conformance --list\n\nOn a share, the checks work in a new directory, which they remove at the end. The server must not squash uid 0, and must accept ports above 1023.\n\n\"differs\" is an answer that the standard permits and Windlass does not give. --strict makes it a failure.\n\nExit status: 0 when no check failed, 9 when one failed, 2 usage, 130 interrupted"
    )]
    Conformance(conformance::Arguments),
    /// Report what a host would conclude about a logical unit of any array, or a share of any NFS server
    #[command(
        after_help = "Examples:\n  windlass probe iscsi://192.0.2.7/iqn.2026-01.org.example:t/0\n  windlass probe iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 --write-test -o json\n  windlass probe nfs://192.0.2.7/vms --write-test\n\nWithout --write-test, the probe writes nothing: \"Supported\" means that the logical unit announces the primitive.\n\nWith --write-test, the probe executes each primitive on 192 KiB near the end of the logical unit and then restores the content. No other host may use the logical unit during the test, because its writes to this range could be lost. The test refuses a logical unit with a datastore that a running host has mounted. If it finds data of another host in the range, it ends and does not touch that data.\n\nOn a share, \"Supported\" without --write-test means that the server announces the primitive, or knows its operation. With --write-test, the probe works in a new directory, which it removes at the end.\n\nExit status: 0 all of ATS, XCOPY, ZERO and UNMAP are supported, or all primitives of the share but NFSv3; 9 one is missing, 130 interrupted (the content was restored).\nExit status if the probe failed or the write test ended early: 3 no such LUN or share, 4 logical unit in use, 5 denied, 6 no space to restore the content, 7 unreachable, 8 timed out, 1 any other error"
    )]
    Probe(probe::Arguments),
    /// Disks on datastores, and whole logical units, of any array: create, clone, migrate, zero, unmap, stat
    #[command(after_help = disk::NOTES)]
    Disk(Box<disk::Arguments>),
    /// Clustered datastores on logical units of any array
    #[command(alias = "datastores", after_help = datastore::NOTES)]
    Datastore(Box<datastore::Arguments>),
    /// Run the tests of the vendors' white papers against any array, with offload off and on
    #[command(subcommand)]
    Lab(lab::Verb),
    /// Check the configuration and print the merged result
    #[command(after_help = "Example:\n  windlass check-config --config /etc/windlass/windlass.toml")]
    CheckConfig(daemon::ServeOptions),
    /// Explain a command, or the options that all commands have
    #[command(after_help = "Examples:\n  windlass help volume create\n  windlass help options")]
    Help {
        /// Words of a command, or: options
        #[arg(value_name = "COMMAND")]
        words: Vec<String>,
    },
    /// Print the version
    #[command(after_help = "Example:\n  windlass version")]
    Version,
    /// Print the completion script of a shell
    #[command(after_help = "Example:\n  windlass completion bash > /etc/bash_completion.d/windlass")]
    Completion {
        /// The shell: bash, zsh, fish, elvish, powershell
        #[arg(value_parser = Shells::builtins().names().collect::<Vec<_>>())]
        shell: String,
    },
    /// Write the manual pages: one for each command, windlass.toml(5) and windlass-codes(7)
    #[command(after_help = "Example:\n  windlass manual /usr/local/share/man")]
    Manual {
        /// Directory of manual pages, in which man1, man5 and man7 are made if they are missing
        directory: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
struct DemoArguments {
    /// Stop after the table instead of leaving the array running
    #[arg(long)]
    once: bool,
    /// Create the temporary array in this directory
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Smaller disks and fewer rounds
    #[arg(long)]
    small: bool,
}

/// Variable by which the script of a shell asks for completions.
const COMPLETION: &str = "WINDLASS_COMPLETE";

/// Options whose values may come from variables, as a usage line shows them. Clap shows them as
/// required if they do.
const FROM_VARIABLES: [&str; 4] = [" --server <URL>", " --token <TOKEN>", " --token-file <FILE>", " --ca <FILE>"];

/// Removes the secrets from the URL that an error of the command line shows, and the options that
/// came from variables from its usage line.
fn without_secrets(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) {
        let usage = usage.to_string();
        let shorter = FROM_VARIABLES.iter().fold(usage.clone(), |text, option| text.replace(option, ""));
        if shorter != usage {
            error.insert(ContextKind::Usage, ContextValue::StyledStr(shorter.into()));
        }
    }
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && value.contains("://")
    {
        let value = initiator::url::without_secrets(value);
        error.insert(ContextKind::InvalidValue, ContextValue::String(value));
    }
    error
}

/// Builds the command line. Its verbs on pool files appear beside the verbs of `windlass pool` for
/// an array.
fn command() -> clap::Command {
    Arguments::command().mut_subcommand("pool", |pool| {
        let about = pool.get_about().cloned().unwrap_or_default();
        pool_offline::Verb::augment_subcommands(pool).about(about).long_about(None)
    })
}

fn main() -> ExitCode {
    CompleteEnv::with_factory(|| cli::with_names(command())).var(COMPLETION).complete();
    let mut command = help::short(command());
    let matches =
        command.try_get_matches_from_mut(std::env::args_os()).unwrap_or_else(|error| without_secrets(error).exit());
    if let Some(("pool", pool)) = matches.subcommand()
        && let Ok(verb) = pool_offline::Verb::from_arg_matches(pool)
    {
        let globals = Globals::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        return pool_offline::main_verb(&verb, offline_format(globals.output));
    }
    let arguments = Arguments::from_arg_matches(&matches);
    let Arguments { globals, command } =
        arguments.unwrap_or_else(|error| without_secrets(error.format(&mut command)).exit());
    match command {
        Command::Noun(Noun::Pool(PoolVerb::Check { target: Some(file), quick, start })) if cli::is_path(&file) => {
            if !start.is_plain() {
                let _closed = writeln!(
                    io::stderr(),
                    "error: {} is a file, which is checked at once: --share, --wait and --no-wait are for pools in use (code: usage)",
                    file.display()
                );
                return ExitCode::from(2);
            }
            let arguments = pool_offline::CheckArguments { file, quick, memory: None };
            pool_offline::main_check(&arguments, offline_format(globals.output))
        }
        Command::Serve(options) => match daemon::serve(options, reactor::run) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error),
        },
        Command::Demo(arguments) => run_demo(&arguments),
        Command::Conformance(arguments) => conformance::run(&arguments, globals.output),
        Command::Probe(arguments) => probe::run(&arguments, globals.output),
        Command::Disk(arguments) => disk::run(*arguments, &globals),
        Command::Datastore(arguments) => datastore::run(*arguments, &globals),
        Command::Lab(verb) => lab::run(&verb, &globals),
        Command::Noun(noun) => {
            let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
            ExitCode::from(cli::run(&globals, &noun, &mut Console::standard(&mut out, &mut err)))
        }
        Command::CheckConfig(options) => match daemon::check_config(&options) {
            Ok(merged) => print(&merged),
            Err(error) => fail(&error),
        },
        Command::Help { words } => help::run(self::command(), &words),
        Command::Version if globals.output.is_document() => {
            print(&document(globals.output, &serde_json::json!({ "version": daemon::VERSION })))
        }
        Command::Version => print(&format!("windlass {}\n", daemon::VERSION)),
        Command::Completion { shell } => {
            let mut script = Vec::new();
            let shells = Shells::builtins();
            let written = shells
                .completer(&shell)
                .map(|shell| shell.write_registration(COMPLETION, "windlass", "windlass", "windlass", &mut script));
            match written {
                Some(Ok(())) => print(&String::from_utf8_lossy(&script)),
                _ => ExitCode::FAILURE,
            }
        }
        Command::Manual { directory } => match manual::write(self::command(), &directory) {
            Ok(pages) => print(&format!("{pages} pages in {}\n", directory.display())),
            Err(error) => {
                let _closed = writeln!(
                    io::stderr(),
                    "error: the manual pages cannot be written to {}: {error} (code: io)",
                    directory.display()
                );
                ExitCode::FAILURE
            }
        },
    }
}

fn offline_format(format: Format) -> pool_offline::OutputFormat {
    match format {
        Format::Json => pool_offline::OutputFormat::Json,
        Format::Yaml => pool_offline::OutputFormat::Yaml,
        _ => pool_offline::OutputFormat::Text,
    }
}

fn run_demo(arguments: &DemoArguments) -> ExitCode {
    let options =
        demo::Options { once: arguments.once, directory: arguments.directory.clone(), small: arguments.small };
    let outcome = std::env::current_exe().map_err(Into::into).and_then(|own| demo::run(&own, &options));
    match outcome {
        Ok(outcome) if outcome.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            let _closed = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output. A closed pipe is not an error.
/// A value as JSON or YAML.
fn document(format: Format, value: &serde_json::Value) -> String {
    // Both can write every value.
    cli::document(format, value).unwrap_or_default()
}

/// A report that was written as JSON, as JSON or YAML.
fn reformatted(format: Format, json: String) -> String {
    match serde_json::from_str(&json) {
        Ok(value) if format == Format::Yaml => document(format, &value),
        _ => json,
    }
}

fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// Prints why the array does not run, and returns the exit status of the error.
fn fail(error: &reactor::ServeError) -> ExitCode {
    let help = error.help().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let _closed = writeln!(io::stderr(), "error: {error}{help}");
    ExitCode::from(error.exit_status())
}

#[cfg(test)]
mod tests {
    use clap::Command;

    /// Words in capitals of the advice, with something that can stand there.
    fn with_values(word: &str) -> &str {
        match word {
            "SIZE" => "100G",
            "COMMITMENT%" => "300%",
            "PERCENT" => "50",
            "ID" => "7",
            "NUMBER" => "2000",
            "NOUN" => "host",
            "ADDRESS" => "192.0.2.7",
            "JOB" => "0197f0a4-0000-7000-8000-000000000000",
            "IQN" => "iqn.1994-05.com.redhat:h1",
            "iscsi://ADDRESS/TARGET/LUN" => "iscsi://192.0.2.7/iqn.2026-01.org.example:t/0",
            other => other,
        }
    }

    #[test]
    fn the_commands_of_advice_exist() {
        let steps = explain::Kind::ALL.into_iter().flat_map(explain::Kind::entries).flat_map(|entry| entry.todo);
        let commands = steps.filter_map(|step| match step {
            explain::Step::Run(command) => command.strip_prefix("windlass ").map(|words| (command, words)),
            explain::Step::Do(_) => None,
        });
        let (mut wrong, mut count) = (Vec::new(), 0);
        for (command, words) in commands {
            // Its words are those of portals and of their groups.
            let words = words.replace("NOUN set NAME --SETTING VALUE", "portal set 2 --group 3");
            let words = ["windlass"].into_iter().chain(words.split(' ').map(with_values));
            if let Err(error) = super::command().try_get_matches_from(words) {
                wrong.push(format!("{command}: {error}"));
            }
            count += 1;
        }
        assert!(wrong.is_empty() && count > 80, "{count} commands, of which do not exist: {wrong:#?}");
    }

    #[test]
    fn codes_that_advice_names_are_explained() {
        for entry in explain::Kind::ALL.into_iter().flat_map(explain::Kind::entries) {
            for step in entry.todo {
                if let explain::Step::Run(command) = step
                    && let Some(code) = command.strip_prefix("windlass explain ").filter(|code| *code != "CODE")
                {
                    assert!(!explain::find(code).is_empty(), "{command} of {}", entry.code);
                }
            }
        }
    }

    #[test]
    fn every_verb_shows_an_example() {
        fn check(command: &Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            let verbs: Vec<_> = command.get_subcommands().collect();
            // A subcommand below a verb, such as the structure to dump, is covered by the examples
            // of its verb.
            let is_verb = path.trim().split(' ').count() == 3;
            if verbs.is_empty() || is_verb {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                let example = path.trim().split(' ').take(2).collect::<Vec<_>>().join(" ");
                assert!(help.starts_with("Example") && help.contains(&example), "{path}: {help:?}");
            }
            for verb in verbs.into_iter().filter(|_| !is_verb) {
                check(verb, &path);
            }
        }
        let command = super::command();
        command.clone().debug_assert();
        check(&command, "");
    }
}
