//! `windlass conformance`: the conformance kits against any iSCSI target and any NFS server. Needs
//! neither an array of ours nor root. `iscsi.rs` and `nfs.rs` have the options of one protocol.

mod iscsi;
mod nfs;

use crate::host_kit::FINDINGS;
use crate::target::Target;
use ::conformance::kit::Report;
use clap::Args;
use cli::Format;
use serde_json::{Value, json};
use std::collections::BTreeMap;
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
    #[arg(
        required_unless_present = "list",
        help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN or nfs://HOST[:PORT]/SHARE"
    )]
    url: Option<Target>,
    /// Run only these checks: a number, a name, or a group
    #[arg(long, value_name = "CHECK")]
    check: Vec<String>,
    /// Print the checks and the question of each; with a URL, only those of its protocol
    #[arg(long)]
    list: bool,
    /// Run long checks at full length, and test every size around each limit that the target
    /// announces; takes a few minutes more
    #[arg(long)]
    thorough: bool,
    /// Wait at most this many seconds for each answer of the target
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    answer_timeout: u64,
    /// Also write the results as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    iscsi: iscsi::Arguments,
    #[command(flatten)]
    nfs: nfs::Arguments,
}

impl Arguments {
    fn answer_timeout(&self) -> Duration {
        Duration::from_secs(self.answer_timeout)
    }
}

/// A check as `--list` shows it.
struct Listed {
    number: u16,
    name: &'static str,
    section: &'static str,
    asks: &'static str,
}

/// Runs the checks. Exit status: 0 if no check failed, 9 if one failed, 2 for a usage error.
pub(crate) fn run(arguments: &Arguments, format: Format) -> ExitCode {
    if !matches!(format, Format::Table | Format::Wide | Format::Json | Format::Yaml) {
        return fail(
            "conformance prints a table, JSON (-o json) or YAML (-o yaml), and JUnit's XML to a file (--junit FILE)",
            USAGE,
        );
    }
    let foreign = match &arguments.url {
        Some(Target::Iscsi(_)) => arguments.nfs.given().map(|option| (option, "nfs")),
        Some(Target::Nfs(_)) => arguments.iscsi.given().map(|option| (option, "iscsi")),
        None => None,
    };
    if let Some((option, protocol)) = foreign {
        return fail(&format!("{option} is an option for {protocol}:// URLs"), USAGE);
    }
    match &arguments.url {
        url if arguments.list => match list(url.as_ref(), &arguments.check, format) {
            Ok(text) => crate::print(&text),
            Err(words) => fail(&words, USAGE),
        },
        Some(Target::Iscsi(url)) => match select(&arguments.check, iscsi::FIND) {
            Ok(checks) => {
                watched(arguments, format, checks.len(), |stop, shown| iscsi::run(arguments, url, &checks, stop, shown))
            }
            Err(words) => fail(&words, USAGE),
        },
        Some(Target::Nfs(url)) => match select(&arguments.check, nfs::FIND) {
            Ok(checks) => {
                watched(arguments, format, checks.len(), |stop, shown| nfs::run(arguments, url, &checks, stop, shown))
            }
            Err(words) => fail(&words, USAGE),
        },
        // The command line requires one of both.
        None => fail("a URL or --list is required", USAGE),
    }
}

/// Runs checks until a signal ends them, shows their progress on a terminal, and prints the report.
fn watched(
    arguments: &Arguments,
    format: Format,
    count: usize,
    run: impl FnOnce(&AtomicBool, &mut dyn FnMut(&str)) -> Report,
) -> ExitCode {
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
    let report = run(&stop, &mut |name| {
        done += 1;
        if shown {
            // A closed terminal needs no progress.
            let _gone = write!(io::stderr(), "\r\x1b[K{done} of {count}: {name}");
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
    let text = if format.is_document() { crate::reformatted(format, report.json()) } else { report.table() };
    let printed = crate::print(&text);
    if report.count("failed") > 0 { ExitCode::from(FINDINGS) } else { printed }
}

/// How the checks of a kit are found.
struct Find<C: 'static> {
    all: fn() -> Vec<&'static C>,
    /// Checks with this number, name or group.
    named: fn(&str) -> Vec<&'static C>,
    listed: fn(&C) -> Listed,
}

/// Returns the selected checks, each once and in order; as error, which name matches no check.
fn select<C>(wanted: &[String], find: Find<C>) -> Result<Vec<&'static C>, String> {
    if wanted.is_empty() {
        return Ok((find.all)());
    }
    let mut found = BTreeMap::new();
    for name in wanted {
        let more = (find.named)(name);
        if more.is_empty() {
            return Err(format!("there is no check {name}; see --list"));
        }
        found.extend(more.into_iter().map(|check| ((find.listed)(check).number, check)));
    }
    Ok(found.into_values().collect())
}

/// Formats the selected checks of a URL's protocol, or of all protocols.
fn list(url: Option<&Target>, wanted: &[String], format: Format) -> Result<String, String> {
    let of_iscsi = || select(wanted, iscsi::FIND).map(|checks| checks.into_iter().map(iscsi::FIND.listed).collect());
    let of_nfs = || select(wanted, nfs::FIND).map(|checks| checks.into_iter().map(nfs::FIND.listed).collect());
    let protocols: Vec<(&str, Vec<Listed>)> = match url {
        Some(Target::Iscsi(_)) => vec![("iSCSI", of_iscsi()?)],
        Some(Target::Nfs(_)) => vec![("NFS", of_nfs()?)],
        // A name need not be known to both.
        None => match (of_iscsi(), of_nfs()) {
            (Err(words), Err(_)) => return Err(words),
            (iscsi, nfs) => vec![("iSCSI", iscsi.unwrap_or_default()), ("NFS", nfs.unwrap_or_default())],
        },
    };
    if format.is_document() {
        let rows = protocols.iter().flat_map(|(protocol, checks)| checks.iter().map(move |check| row(protocol, check)));
        return Ok(crate::document(format, &json!(rows.collect::<Vec<_>>())));
    }
    let mut text = String::new();
    for (protocol, checks) in protocols.iter().filter(|(_, checks)| !checks.is_empty()) {
        let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        text.push_str(&format!("{protocol}\n"));
        for Listed { number, name, asks, .. } in checks {
            text.push_str(&format!("{number:3}  {name:width$}  {asks}\n"));
        }
    }
    Ok(text)
}

fn row(protocol: &str, check: &Listed) -> Value {
    let Listed { number, name, section, asks } = check;
    json!({ "protocol": protocol, "number": number, "name": name, "section": section, "asks": asks })
}

fn fail(words: &str, status: u8) -> ExitCode {
    let _closed = writeln!(io::stderr(), "error: {words}");
    ExitCode::from(status)
}
