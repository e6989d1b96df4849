//! `windlass pool repair FILE [--dry-run|--yes] [-o json]`.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::command::{OutputFormat, ProgressLine, print, report_error};
use crate::repair::{plan_repair, repair};
use crate::{CheckError, EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, RepairOutcome};

/// Rebuild the space map, reference counts and counters of a pool from its trees, and its superblock copies. Refuses what cannot be proven.
///
/// Exit status: 0 repaired or nothing to repair, 9 a dry run found something, the repair left something or data cannot be read, 1 refused or cannot be opened, 3 no such
/// file, 4 in use, 5 access denied.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct RepairArguments {
    /// File or block device that holds the pool.
    pub file: PathBuf,
    /// Only show what would change.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Repair without asking.
    #[arg(long)]
    pub yes: bool,
}

/// The streams of a command, and whether a person is at them.
pub struct Streams<'a> {
    /// Where answers come from.
    pub input: &'a mut dyn BufRead,
    /// Where the result goes.
    pub output: &'a mut dyn Write,
    /// Where progress, questions and errors go.
    pub errors: &'a mut dyn Write,
    /// A person can be asked.
    pub interactive: bool,
    /// `errors` shows a progress line.
    pub terminal: bool,
}

/// Runs the command on the standard streams.
pub fn main_repair(arguments: &RepairArguments, format: OutputFormat) -> ExitCode {
    ExitCode::from(with_standard_streams(|streams| run_repair(arguments, format, streams)))
}

/// Calls `run` with the standard streams.
pub(crate) fn with_standard_streams(run: impl FnOnce(&mut Streams<'_>) -> u8) -> u8 {
    let mut errors = io::stderr().lock();
    let terminal = errors.is_terminal();
    let mut input = io::stdin().lock();
    let interactive = terminal && input.is_terminal();
    run(&mut Streams {
        input: &mut input,
        output: &mut io::stdout().lock(),
        errors: &mut errors,
        interactive,
        terminal,
    })
}

/// Runs the command and returns its exit status.
pub fn run_repair(arguments: &RepairArguments, format: OutputFormat, streams: &mut Streams<'_>) -> u8 {
    let planned = with_progress(streams, |progress| plan_repair(&arguments.file, progress));
    let planned = match planned {
        Ok(planned) => planned,
        Err(error) => return report_error(&error, streams.errors),
    };
    if !planned.needed || arguments.dry_run {
        let clean = !planned.needed && planned.findings_after.is_empty();
        let status = if clean { EXIT_CLEAN } else { EXIT_FINDINGS };
        return print(&planned, format, status, streams.output, streams.errors);
    }
    if !arguments.yes && !agreed(&planned, streams) {
        return EXIT_FAILED;
    }
    match with_progress(streams, |progress| repair(&arguments.file, progress)) {
        Ok(outcome) => {
            let status = if outcome.findings_after.is_empty() { EXIT_CLEAN } else { EXIT_FINDINGS };
            print(&outcome, format, status, streams.output, streams.errors)
        }
        Err(error) => report_error(&error, streams.errors),
    }
}

/// Shows what would change and asks. Without a terminal it refuses.
fn agreed(planned: &RepairOutcome, streams: &mut Streams<'_>) -> bool {
    let question = "Repair the pool? Make a copy of the file first if you can.";
    let refusal = format!(
        "error: {}: not repaired without agreement (code: not-confirmed)\nhelp: give --yes to repair it, after a copy of the file was made",
        planned.file
    );
    ask(planned, question, &refusal, "not repaired; the file was not changed", streams)
}

/// Shows a plan and asks a yes-or-no question about it. Without a terminal it writes `refusal`, after a no `declined`.
pub(crate) fn ask(
    plan: &dyn Display,
    question: &str,
    refusal: &str,
    declined: &str,
    streams: &mut Streams<'_>,
) -> bool {
    // Nobody can agree to what cannot be written to standard error; the answer then is no.
    let _ = write!(streams.errors, "{plan}");
    if !streams.interactive {
        let _ = writeln!(streams.errors, "{refusal}");
        return false;
    }
    let _ = write!(streams.errors, "{question} [y/N] ");
    let _ = streams.errors.flush();
    let mut answer = String::new();
    let answered = streams.input.read_line(&mut answer).is_ok();
    let yes = answered && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !yes {
        let _ = writeln!(streams.errors, "{declined}");
    }
    yes
}

/// Does `work` with a progress line, where there is a terminal for it.
pub(crate) fn with_progress<T>(
    streams: &mut Streams<'_>,
    work: impl FnOnce(&mut dyn FnMut(crate::CheckStage)) -> Result<T, CheckError>,
) -> Result<T, CheckError> {
    let mut line = streams.terminal.then(|| ProgressLine::new(streams.errors));
    let result = work(&mut |stage| {
        if let Some(line) = &mut line {
            line.show(stage);
        }
    });
    if let Some(line) = line {
        line.clear();
    }
    result
}
