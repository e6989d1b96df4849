//! `windlass pool repair FILE [--dry-run|--yes] [-o json]`.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::command::{OutputFormat, ProgressLine, print, report_error};
use crate::repair::{plan_repair, repair};
use crate::{CheckError, EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, EXIT_UNCONFIRMED, RepairOutcome};

/// Arguments of `windlass pool repair`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct RepairArguments {
    /// File or device; the first one if the pool has several
    pub file: PathBuf,
    /// Only show the changes
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Repair without asking
    #[arg(long)]
    pub yes: bool,
}

/// Streams of a command.
pub struct Streams<'a> {
    /// Source of answers.
    pub input: &'a mut dyn BufRead,
    /// Destination of the result.
    pub output: &'a mut dyn Write,
    /// Destination of progress, questions and errors.
    pub errors: &'a mut dyn Write,
    /// True if a person can answer questions.
    pub interactive: bool,
    /// True if `errors` shows a progress line.
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
    if !arguments.yes
        && let Err(status) = agreed(&planned, streams)
    {
        return status;
    }
    match with_progress(streams, |progress| repair(&arguments.file, progress)) {
        Ok(outcome) => {
            let status = if outcome.findings_after.is_empty() { EXIT_CLEAN } else { EXIT_FINDINGS };
            print(&outcome, format, status, streams.output, streams.errors)
        }
        Err(error) => report_error(&error, streams.errors),
    }
}

/// Shows the plan and asks for confirmation. Refuses without a terminal.
fn agreed(planned: &RepairOutcome, streams: &mut Streams<'_>) -> Result<(), u8> {
    let question = "Repair the pool? Make a copy of the file first if you can.";
    let refusal = format!(
        "error: {}: not repaired without agreement (code: unconfirmed)\nhelp: give --yes to repair it, after a copy of the file was made",
        planned.file
    );
    ask(planned, question, &refusal, "not repaired; the file was not changed", streams)
}

/// Shows a plan and asks a yes-or-no question about it. Without a terminal it writes `refusal`;
/// after a negative answer, `declined`. The error is the exit status.
pub(crate) fn ask(
    plan: &dyn Display,
    question: &str,
    refusal: &str,
    declined: &str,
    streams: &mut Streams<'_>,
) -> Result<(), u8> {
    // A user cannot agree to a plan that cannot be written to standard error: the answer is then
    // no.
    let _ = write!(streams.errors, "{plan}");
    if !streams.interactive {
        let _ = writeln!(streams.errors, "{refusal}");
        return Err(EXIT_UNCONFIRMED);
    }
    let _ = write!(streams.errors, "{question} [y/N] ");
    let _ = streams.errors.flush();
    let mut answer = String::new();
    let answered = streams.input.read_line(&mut answer).is_ok();
    let yes = answered && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !yes {
        let _ = writeln!(streams.errors, "{declined}");
        return Err(EXIT_FAILED);
    }
    Ok(())
}

/// Runs `work` with a progress line if there is a terminal for it.
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
