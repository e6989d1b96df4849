//! `windlass conformance`: the conformance kit against any iSCSI target. Needs neither an array of
//! ours nor root.

use crate::host_kit::FINDINGS;
use ::conformance::kit::{self, Check};
use ::conformance::url::Url;
use clap::Args;
use cli::Format;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Exit status of a usage error.
const USAGE: u8 = 2;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(required_unless_present = "list", help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
    url: Option<Url>,
    /// Another portal of the target
    #[arg(long, value_name = "HOST:PORT", value_parser = portal)]
    second_portal: Option<(String, u16)>,
    /// Another logical unit of the target
    #[arg(long, value_name = "N")]
    second_lun: Option<u16>,
    /// Names of the first, second and third initiator; omitted names are derived from the first
    #[arg(long, value_name = "NAME", value_parser = initiator::normalize_name)]
    initiator: Vec<String>,
    /// Run only these checks: a number, a name, or a group
    #[arg(long, value_name = "CHECK")]
    check: Vec<String>,
    /// Print the checks and the question of each
    #[arg(long)]
    list: bool,
    /// The logical units hold no data worth keeping; without this, checks that write are skipped
    #[arg(long)]
    destroy_data: bool,
    /// Run long checks at full length, and test every size around each limit that the target
    /// announces; takes a few minutes more
    #[arg(long)]
    thorough: bool,
    /// Program for the steps that only the administrator of the array can take: PROGRAM ACTION
    /// ARGUMENT…
    #[arg(long, value_name = "PROGRAM")]
    hook: Option<PathBuf>,
    /// Wait at most this many seconds for each answer of the target
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    answer_timeout: u64,
    /// Also write the results as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

fn portal(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.rsplit_once(':').ok_or("expected HOST:PORT")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port.parse().map_err(|_| "the port is not a number up to 65535")?))
}

/// Runs the checks. Exit status: 0 if no check failed, 9 if one failed, 2 for a usage error.
pub(crate) fn run(arguments: &Arguments, format: Format) -> ExitCode {
    let checks = match select(&arguments.check) {
        Ok(checks) => checks,
        Err(unknown) => return fail(&format!("there is no check {unknown}; see --list"), USAGE),
    };
    let Some(url) = arguments.url.as_ref().filter(|_| !arguments.list) else {
        return crate::print(&list(&checks));
    };
    if !matches!(format, Format::Table | Format::Wide | Format::Json) {
        return fail("conformance prints a table or JSON (-o json), and JUnit's XML to a file (--junit FILE)", USAGE);
    }
    let options = kit::Options {
        second_portal: arguments.second_portal.clone(),
        second_lun: arguments.second_lun,
        initiators: arguments.initiator.clone(),
        destroy_data: arguments.destroy_data,
        thorough: arguments.thorough,
        hook: arguments.hook.clone(),
        timeout: Duration::from_secs(arguments.answer_timeout),
        ..kit::Options::new(url.clone())
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signal_hook::consts::TERM_SIGNALS {
        // The first signal ends the run with a report, the second one ends the program at once.
        let registered = signal_hook::flag::register_conditional_shutdown(*signal, 130, stop.clone())
            .and_then(|_| signal_hook::flag::register(*signal, stop.clone()));
        if let Err(error) = registered {
            return fail(&format!("cannot watch for signals: {error}"), 1);
        }
    }
    let shown = io::stderr().is_terminal();
    let mut done = 0;
    let report = kit::run(&options, &checks, &stop, |check| {
        done += 1;
        if shown {
            // A closed terminal needs no progress.
            let _gone = write!(io::stderr(), "\r\x1b[K{done} of {}: {}", checks.len(), check.name);
        }
    });
    if shown {
        let _gone = write!(io::stderr(), "\r\x1b[K");
    }
    if let Some(file) = &arguments.junit
        && let Err(error) = std::fs::write(file, report.junit())
    {
        return fail(&format!("cannot write {}: {error}", file.display()), 1);
    }
    let printed = crate::print(&if format == Format::Json { report.json() } else { report.table() });
    if report.count("failed") > 0 { ExitCode::from(FINDINGS) } else { printed }
}

/// Returns the selected checks, each once and in order; as error, the first name that matches no
/// check.
fn select(wanted: &[String]) -> Result<Vec<&'static Check>, &str> {
    if wanted.is_empty() {
        return Ok(kit::checks());
    }
    let mut found: Vec<&'static Check> = Vec::new();
    for name in wanted {
        let more = kit::find(name);
        if more.is_empty() {
            return Err(name);
        }
        found.extend(more);
    }
    found.sort_by_key(|check| check.number);
    found.dedup_by_key(|check| check.number);
    Ok(found)
}

fn list(checks: &[&Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    checks.iter().map(|check| format!("{:3}  {:width$}  {}\n", check.number, check.name, check.asks)).collect()
}

fn fail(words: &str, status: u8) -> ExitCode {
    let _closed = writeln!(io::stderr(), "error: {words}");
    ExitCode::from(status)
}
