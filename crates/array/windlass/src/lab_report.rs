//! `windlass lab report`: turns saved runs into one HTML page or into Markdown.

use crate::host_kit;
use ::lab::results::{Run, VERSION};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files that `windlass lab run` has saved; several are compared
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Markdown instead of HTML
    #[arg(long)]
    markdown: bool,
}

/// Help for a missing or unreadable run.
const KEPT: &str = "runs are kept by  windlass lab run … --save FILE";

/// Format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One self-contained HTML file.
    Html,
    /// Markdown, for documents.
    Markdown,
}

/// Reason why there is no report.
struct Failure {
    code: &'static str,
    status: u8,
    message: String,
    help: Option<&'static str>,
}

impl Failure {
    /// Input that is not a run, or output that would replace one.
    fn usage(message: String, help: &'static str) -> Self {
        Self { code: "usage", status: 2, message, help: Some(help) }
    }

    /// Missing file.
    fn not_found(message: String, help: &'static str) -> Self {
        Self { code: "not-found", status: 3, message, help: Some(help) }
    }

    /// Input or output error.
    fn failed(message: String) -> Self {
        Self { code: "failed", status: 1, message, help: None }
    }
}

/// Runs `windlass lab report`, with the exit statuses of [`report`].
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    report(&arguments.files, arguments.to.as_deref(), if arguments.markdown { Form::Markdown } else { Form::Html })
}

/// Writes the report of one run, or the comparison of several, to `output` or to standard output.
///
/// Exit status: 0 when the report is written, 2 when a file is not a run, 3 when a file does not
/// exist, 1 when one cannot be read or written.
pub(crate) fn report(files: &[PathBuf], output: Option<&Path>, form: Form) -> ExitCode {
    match not_over_results(files, output).and_then(|()| make(files, form)).and_then(|text| write(&text, output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, status, message, help }) => host_kit::failed(&message, code, status, help),
    }
}

/// Refuses an output file that is one of the inputs.
fn not_over_results(files: &[PathBuf], output: Option<&Path>) -> Result<(), Failure> {
    let same = |file: &PathBuf| {
        output.is_some_and(|output| {
            file == output
                || matches!((fs::canonicalize(file), fs::canonicalize(output)), (Ok(one), Ok(other)) if one == other)
        })
    };
    match files.iter().find(|file| same(file)) {
        None => Ok(()),
        Some(file) => Err(Failure::usage(
            format!("{} holds results, and the report would replace them", file.display()),
            "give --to another name",
        )),
    }
}

fn make(files: &[PathBuf], form: Form) -> Result<String, Failure> {
    let runs = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    Ok(match (runs.as_slice(), form) {
        ([run], Form::Html) => ::lab_report::html(run),
        ([run], Form::Markdown) => ::lab_report::markdown(run),
        (runs, Form::Html) => ::lab_report::compare_html(runs),
        (runs, Form::Markdown) => ::lab_report::compare_markdown(runs),
    })
}

fn read(file: &Path) -> Result<Run, Failure> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| {
        let message = format!("cannot read {name}: {error}");
        match error.kind() {
            io::ErrorKind::NotFound => Failure::not_found(message, KEPT),
            _ => Failure::failed(message),
        }
    })?;
    let run: Run = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{name} is not what a run of the laboratory writes: {error}"), KEPT))?;
    if run.version > VERSION {
        let message = format!("{name} has format {}, and this program reads up to {VERSION}", run.version);
        return Err(Failure::usage(message, "use the version of windlass that wrote it, or a later one"));
    }
    Ok(run)
}

/// Writes the file atomically: it gets its name when it is complete.
fn write(text: &str, output: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = output else {
        return match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::failed(format!("cannot write: {error}")))
            }
            _ => Ok(()),
        };
    };
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, path));
    written.map_err(|error| {
        // A file that was never created cannot be removed.
        let _absent = fs::remove_file(&unfinished);
        Failure::failed(format!("cannot write {}: {error}", path.display()))
    })
}
