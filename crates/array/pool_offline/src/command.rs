//! `windlass pool check FILE [--quick] [-o json]`: prints the result on standard output, progress
//! and errors on standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::check::{CheckOptions, CheckStage, check};
use crate::error::CheckError;
use crate::{EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, EXIT_IN_USE};

/// Help of a check of a pool in use.
const HELP_IN_USE: &str = "the array that serves the pool checks it with  windlass pool check NAME  (see  windlass pool list); to check the file, stop the array";

/// Shortest time between two redraws of the progress line.
const REDRAW: Duration = Duration::from_millis(100);
/// Control sequence: returns to the start of the line and clears it (ECMA-48 EL).
const CLEAR_LINE: &str = "\r\x1b[K";

/// Verify a pool that no daemon serves: checksums, reference counts, reachability. The file is not
/// changed.
///
/// Exit status: 0 clean, 9 findings, 1 not a pool or damaged beyond opening, 3 no such file, 4 in use, 5 access denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckArguments {
    /// File or block device that holds the pool.
    pub file: PathBuf,
    /// Verify only metadata; do not read the data blocks.
    pub quick: bool,
    /// Bytes of memory for reference counts: 4 KiB for each 8 MiB of the pool in use. With less,
    /// the check walks the map several times.
    pub memory: Option<usize>,
}

/// Format of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// A summary for people.
    #[default]
    Text,
    /// The fields of [`CheckOutcome`](crate::CheckOutcome) as one JSON object.
    Json,
    /// The same as YAML.
    Yaml,
}

/// Runs the command on the standard streams. Shows a progress line if standard error is a terminal.
pub fn main_check(arguments: &CheckArguments, format: OutputFormat) -> ExitCode {
    let mut errors = io::stderr().lock();
    let terminal = errors.is_terminal();
    ExitCode::from(run_check(arguments, format, &mut io::stdout().lock(), &mut errors, terminal))
}

/// Runs the command and returns its exit status. `terminal`: `errors` shows a progress line.
pub fn run_check(
    arguments: &CheckArguments,
    format: OutputFormat,
    output: &mut dyn Write,
    errors: &mut dyn Write,
    terminal: bool,
) -> u8 {
    let memory_bytes = arguments.memory.unwrap_or(CheckOptions::default().memory_bytes);
    let options = CheckOptions { data: !arguments.quick, memory_bytes };
    let mut line = terminal.then(|| ProgressLine::new(&mut *errors));
    let result = check(&arguments.file, options, &mut |stage| {
        if let Some(line) = &mut line {
            line.show(stage);
        }
    });
    if let Some(line) = line {
        line.clear();
    }
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => {
            // Unlike the other commands, this one has a counterpart for a pool in use.
            let in_use = error.exit_status() == EXIT_IN_USE;
            return report_error_with(&error, if in_use { HELP_IN_USE } else { error.help() }, errors);
        }
    };
    let status = if outcome.clean { EXIT_CLEAN } else { EXIT_FINDINGS };
    print(&outcome, format, status, output, errors)
}

/// Prints an error, and returns its exit status.
pub(crate) fn report_error(error: &CheckError, errors: &mut dyn Write) -> u8 {
    report_error_with(error, error.help(), errors)
}

/// Like [`report_error`], with other help.
fn report_error_with(error: &CheckError, help: &str, errors: &mut dyn Write) -> u8 {
    // An error of standard error cannot be reported; the exit status remains.
    let _ = writeln!(errors, "error: {error} (code: {})", error.code());
    for detail in error.details() {
        let _ = writeln!(errors, "  {detail}");
    }
    let _ = writeln!(errors, "help: {help}");
    error.exit_status()
}

/// Writes a result, and returns `status` unless the write fails.
pub(crate) fn print<T: Display + Serialize>(
    outcome: &T,
    format: OutputFormat,
    status: u8,
    output: &mut dyn Write,
    errors: &mut dyn Write,
) -> u8 {
    let written = match format {
        OutputFormat::Text => write!(output, "{outcome}"),
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut *output, outcome).map_err(io::Error::from).and_then(|()| writeln!(output))
        }
        OutputFormat::Yaml => match serde_saphyr::to_string(outcome) {
            Ok(text) => writeln!(output, "{}", text.trim_end()),
            Err(error) => Err(io::Error::other(error)),
        },
    };
    match written.and_then(|()| output.flush()) {
        // A reader that closed the pipe has read enough; the exit status has the verdict.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(errors, "error: the result could not be written: {error} (code: output)");
            EXIT_FAILED
        }
        _ => status,
    }
}

/// Progress line that is redrawn. A terminal that cannot be written to only loses this line.
pub(crate) struct ProgressLine<'a> {
    errors: &'a mut dyn Write,
    drawn: Option<Instant>,
}

impl<'a> ProgressLine<'a> {
    pub(crate) fn new(errors: &'a mut dyn Write) -> Self {
        Self { errors, drawn: None }
    }

    pub(crate) fn show(&mut self, stage: CheckStage) {
        let now = Instant::now();
        if self.drawn.is_some_and(|drawn| now.duration_since(drawn) < REDRAW) {
            return;
        }
        self.drawn = Some(now);
        let _ = write!(self.errors, "{CLEAR_LINE}{}", text(stage));
        let _ = self.errors.flush();
    }

    pub(crate) fn clear(self) {
        if self.drawn.is_some() {
            let _ = write!(self.errors, "{CLEAR_LINE}");
            let _ = self.errors.flush();
        }
    }
}

fn text(stage: CheckStage) -> String {
    match stage {
        CheckStage::Replaying { log_bytes } => format!("replaying the log: {}", text::size::format(log_bytes)),
        CheckStage::Verifying { verified_blocks, total_blocks } => {
            // The counter itself may be damaged: the percentage is limited to 100.
            let percent = verified_blocks.saturating_mul(100).checked_div(total_blocks).unwrap_or(100).min(100);
            format!("verifying: {percent} %, {verified_blocks} of {total_blocks} blocks")
        }
    }
}
