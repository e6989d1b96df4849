//! `windlass lab`: the tests of the white papers against any array, with offload off and on. Needs
//! neither an array of ours nor root.

use crate::host_kit::{self, FINDINGS, HostOptions};
use crate::lab_progress;
use crate::target::Target;
use ::lab::nas::{NasError, Place};
use ::lab::results::{self, CaseResult, Verdict};
use ::lab::{Case, Ended, LabError, Options, Side, Size, Watch, cases, compare, nas, table};
use clap::{Args, Subcommand};
use cli::{Console, Format, Globals, LabVerb};
use initiator::url::Url;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};
use text::terminal::{harmless, harmless_lines};
use virtual_disk::DiskError;

/// Exit status after Ctrl-C, as in shells.
const CANCELLED: u8 = 130;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the cases with the figures of the papers
    #[command(after_help = "Examples:\n  windlass lab list\n  windlass lab list -o json")]
    List,
    /// Run cases, each with the primitive off and on
    #[command(
        after_help = "Examples:\n  windlass lab run clone-template eager-zero iscsi://192.0.2.7/iqn.2026-01.org.example:t/0\n  windlass lab run all iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 iscsi://192.0.2.7/iqn.2026-01.org.example:t/1 --pairs 3\n  windlass lab run nas-clone nas-reserve nas-stat nfs://192.0.2.7/vms\n  windlass lab run nas-clone --directory /mnt/nas\n  windlass lab run boot-storm iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 --destroy-data iqn.2026-01.org.example:t/0\n\nEverything on the logical units is overwritten; one that holds data is refused unless --destroy-data names it.\nThe nas- cases work in a new directory of a share, over NFSv4.2 and without a mount, or of a mounted file system. They remove it.\nIn JSON, a case that was left out has check_passed false and no failures, and skipped says why.\nExit status: 0 when every check passed, 9 when one failed, 130 when cancelled, 1 when the array was gone in the middle; when the run could not begin: 2 usage, 3 not found, 4 the unit holds data or is in use, 5 denied, 7 unreachable, 8 timed out, 1 otherwise"
    )]
    Run(RunArguments),
    /// Run a selection that takes three minutes
    #[command(after_help = "Example:\n  windlass lab quick iscsi://192.0.2.7/iqn.2026-01.org.example:t/0")]
    Quick(QuickArguments),
    /// Write results as an HTML page or as Markdown
    #[command(
        after_help = "Examples:\n  windlass lab report windlass-lab.json --to report.html\n  windlass lab report windlass.json lio.json --to compared.html\n  windlass lab report windlass-lab.json --markdown"
    )]
    Report(crate::lab_report::Arguments),
    /// Compare the results of two runs
    #[command(after_help = "Example:\n  windlass lab compare before.json after.json")]
    Compare {
        /// Results of the first run
        first: PathBuf,
        /// Results of the second run
        second: PathBuf,
    },
    /// Runs on the array itself, on scratch volumes that it makes and removes
    #[command(
        subcommand,
        after_help = "Examples:\n  windlass lab array start clone-template eager-zero\n  windlass lab array start boot-storm --size 512M --pairs 3 --stop-when-host-p99 5 --no-wait\n  windlass lab array list\n  windlass lab array cancel 7\n  windlass lab array save 7 --to before.json\n\nThe array starts windlass lab run as a process of its own, at the lowest priority, against scratch volumes over iSCSI. One run goes on at a time.\nExit status of start: 0 when every check passed, 9 when one failed, 1 when the run failed or was cancelled; Ctrl-C leaves it running."
    )]
    Array(LabVerb),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[arg(
        required = true,
        num_args = 1..,
        value_name = "CASE…|all URL [URL]",
        help = "Names of cases, or all; then the URL of the logical unit, and optionally of a second one; for the nas- cases nfs://HOST[:PORT]/SHARE, or --directory"
    )]
    words: Vec<String>,
    /// Number of rounds, each with the primitive off and on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
    /// small (at most a minute per case), paper (the sizes of the papers), or the size of the
    /// largest disk
    #[arg(long, value_name = "SIZE", default_value = "small")]
    size: Size,
    /// Working directory of the nas- cases on a mounted file system; they remove their files
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Print what happens as lines of JSON instead of the results, which are in the file of --save
    #[arg(long, value_name = "FORMAT")]
    progress: Option<ProgressFormat>,
    /// End at once when standard input ends: for a program that started the run and has died
    #[arg(long)]
    end_with_input: bool,
    #[command(flatten)]
    common: Common,
}

/// Format in which a run says what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProgressFormat {
    /// One object a line: `LabProgress` of the array's OpenAPI document.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct QuickArguments {
    #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
    url: Url,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    /// Overwrite this logical unit although it holds data: TARGET/LUN or its NAA identifier; give
    /// it once for each of two units
    #[arg(long, value_name = "NAME")]
    destroy_data: Vec<String>,
    /// Save the results to this file after each case
    #[arg(long, value_name = "FILE", default_value = "windlass-lab.json")]
    save: PathBuf,
    #[command(flatten)]
    host: HostOptions,
}

/// Size of `quick`.
const QUICK_SIZE: Size = Size::Bytes(512 << 20);

/// Runs the verb.
pub(crate) fn run(verb: &Verb, globals: &Globals) -> ExitCode {
    let format = globals.output;
    match verb {
        Verb::Array(verb) => {
            let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
            ExitCode::from(cli::run_lab(globals, verb, &mut Console::standard(&mut out, &mut err)))
        }
        _ if !matches!(format, Format::Table | Format::Wide | Format::Json | Format::Yaml) => {
            usage("lab prints a table, JSON (-o json) or YAML (-o yaml)")
        }
        Verb::List => crate::print(&list(format)),
        Verb::Run(arguments) => match split(&arguments.words) {
            Ok(Chosen { urls, share: None, .. }) if urls.is_empty() && arguments.directory.is_none() => usage(
                "in which share or directory? nfs://HOST[:PORT]/SHARE, or --directory DIR of a mounted file system",
            ),
            Ok(Chosen { share: Some(_), .. }) if arguments.directory.is_some() => {
                usage("the nas- cases work in a share or in a directory, not in both")
            }
            Ok(Chosen { names, urls, share }) => {
                let timeout = arguments.common.host.answer_timeout();
                let place = match (share, &arguments.directory) {
                    (Some(url), _) => Some(Place::Share { url, timeout }),
                    (None, directory) => directory.clone().map(Place::Directory),
                };
                match options(names, urls, (arguments.pairs, arguments.size), &arguments.common) {
                    Ok(options) => {
                        if arguments.end_with_input {
                            lab_progress::end_with_input();
                        }
                        let options = Options { place, ..options };
                        match arguments.progress {
                            None => measure(&options, format),
                            Some(ProgressFormat::Json) => measure_in_lines(&options),
                        }
                    }
                    Err(error) => host_kit::fail(&error),
                }
            }
            Err(words) => usage(&words),
        },
        Verb::Quick(arguments) => {
            let names = cases::QUICK.iter().map(|name| (*name).to_owned()).collect();
            match options(names, vec![arguments.url.clone()], (1, QUICK_SIZE), &arguments.common) {
                Ok(options) => measure(&options, format),
                Err(error) => host_kit::fail(&error),
            }
        }
        Verb::Report(arguments) => crate::lab_report::run(arguments),
        Verb::Compare { first, second } => compared(first, second),
    }
}

/// What a command line names.
#[derive(Debug)]
struct Chosen {
    /// Names of cases, each once.
    names: Vec<String>,
    /// Logical units, at most two.
    urls: Vec<Url>,
    /// Share for the cases of files.
    share: Option<nfs_client::url::Url>,
}

/// Splits a command line into cases and URLs. With a share alone, `all` are the cases of files.
fn split(words: &[String]) -> Result<Chosen, String> {
    let (mut urls, mut shares) = (Vec::new(), Vec::new());
    for word in words.iter().filter(|word| word.contains("://")) {
        match word.parse()? {
            Target::Iscsi(url) => urls.push(url),
            Target::Nfs(url) => shares.push(url),
        }
    }
    let mut names: Vec<String> = Vec::new();
    for word in words.iter().filter(|word| !word.contains("://")) {
        let more: Vec<&str> = match word.as_str() {
            "all" if urls.is_empty() && !shares.is_empty() => nas::CASES.iter().map(|case| case.name).collect(),
            "all" => all_names().collect(),
            name if all_names().any(|known| known == name) => vec![name],
            other => return Err(format!("there is no case {other}; windlass lab list  shows them")),
        };
        let new: Vec<_> = more.into_iter().filter(|name| !names.iter().any(|known| known == name)).collect();
        names.extend(new.into_iter().map(str::to_owned));
    }
    let is_of_files = |name: &String| nas::find(name).is_some();
    let (of_files, only_files) = (names.iter().any(is_of_files), names.iter().all(is_of_files));
    match (urls.len(), shares.len()) {
        _ if names.is_empty() => Err("name a case, or all".into()),
        (_, 2..) => Err("a run takes one share".into()),
        (_, 1) if !of_files => Err("these cases take a logical unit, and no share".into()),
        (1.., _) if only_files => {
            Err("these cases take no logical unit, but a share, nfs://…, or --directory DIR".into())
        }
        (0, _) if !only_files => Err("which logical unit? iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN".into()),
        (0..=2, _) => Ok(Chosen { names, urls, share: shares.pop() }),
        _ => Err("a run takes one logical unit, or two".into()),
    }
}

/// Names of all cases.
fn all_names() -> impl Iterator<Item = &'static str> {
    cases::ALL.iter().map(|case| case.name).chain(nas::CASES.iter().map(|case| case.name))
}

fn options(
    cases: Vec<String>,
    urls: Vec<Url>,
    (pairs, size): (u32, Size),
    common: &Common,
) -> Result<Options, DiskError> {
    Ok(Options {
        cases,
        urls: urls.iter().map(|url| common.host.complete(url)).collect::<Result<_, _>>()?,
        place: None,
        pairs,
        size,
        destroy_data: common.destroy_data.clone(),
        initiator: common.host.initiator().map(str::to_owned),
        answer_timeout: common.host.answer_timeout(),
        save: common.save.clone(),
        windlass: daemon::VERSION.to_owned(),
    })
}

fn list(format: Format) -> String {
    if format.is_document() {
        let case = |case: &Case| {
            let paper = case.paper();
            let needs: Vec<String> = case.needs.iter().map(ToString::to_string).collect();
            json!({
                "case": case.name,
                "title": case.title,
                "needs": needs,
                "second_logical_unit": case.second_unit,
                "paper": { "test": paper.test, "system": paper.system, "words": paper.words },
            })
        };
        let of_directory = |case: &nas::NasCase| {
            let paper = nas::paper(case.name);
            json!({
                "case": case.name,
                "title": case.title,
                "needs": ["a share or a mounted directory"],
                "second_logical_unit": false,
                "paper": { "test": paper.test, "system": paper.system, "words": paper.words },
            })
        };
        let all: Vec<_> = cases::ALL.iter().map(case).chain(nas::CASES.iter().map(of_directory)).collect();
        return crate::document(format, &json!(all));
    }
    let width = all_names().map(str::len).max().unwrap_or(0);
    let mut out = String::new();
    let block = cases::ALL.iter().map(|case| (case.name, case.title, case.paper()));
    for (name, title, paper) in
        block.chain(nas::CASES.iter().map(|case| (case.name, case.title, nas::paper(case.name))))
    {
        out.push_str(&format!("{name:width$}  {title}\n"));
        out.push_str(&format!("{:width$}  {}: {}\n", "", paper.test, paper.words));
    }
    out
}

fn measure(options: &Options, format: Format) -> ExitCode {
    let progress = Rc::new(Progress::new());
    let ended = ::lab::run(options, progress.clone());
    progress.clear();
    match ended {
        Ok(ended) => report(options, &ended, format),
        Err(error) => fail(error, options),
    }
}

/// Runs the cases, and prints what happens as lines of JSON.
fn measure_in_lines(options: &Options) -> ExitCode {
    match ::lab::run(options, Rc::new(lab_progress::Lines::default())) {
        Ok(ended) => {
            lab_progress::ended(&ended);
            trouble(&ended).unwrap_or(ExitCode::SUCCESS)
        }
        Err(error) => fail(error, options),
    }
}

/// Prints the results, and how the run ended.
fn report(options: &Options, ended: &Ended, format: Format) -> ExitCode {
    let Ended { run, left, .. } = ended;
    let text = match format {
        Format::Json | Format::Yaml => {
            serde_json::to_string_pretty(run).map(|text| crate::reformatted(format, text + "\n"))
        }
        _ => Ok(harmless_lines(&table::run(run))),
    };
    let printed = match text {
        Ok(text) => crate::print(&text),
        Err(error) => return host_kit::failed(&error.to_string(), "failed", 1, None),
    };
    say(&format!("results: {}", options.save.display()));
    for words in left {
        say(&format!("warning: {words}"));
    }
    trouble(ended).unwrap_or(printed)
}

/// Exit status of a run that was cancelled, ended early, or found faults. Reports an early end.
fn trouble(ended: &Ended) -> Option<ExitCode> {
    let Ended { run, cancelled, .. } = ended;
    if *cancelled {
        return Some(ExitCode::from(CANCELLED));
    }
    if let Some(words) = &run.ended_early {
        return Some(host_kit::failed(&format!("the run ended early: {words}"), "failed", 1, None));
    }
    let has_failed = run.cases.iter().any(|case| case.verdict() == Verdict::Failed);
    has_failed.then(|| ExitCode::from(FINDINGS))
}

fn compared(first: &Path, second: &Path) -> ExitCode {
    let both = results::load(first).and_then(|one| Ok((one, results::load(second)?)));
    match both {
        Ok((one, other)) => {
            let names = (first.display().to_string(), second.display().to_string());
            crate::print(&harmless_lines(&compare::compare((&names.0, &one), (&names.1, &other))))
        }
        Err(error @ LabError::Load { .. }) => {
            let missing = [first, second].iter().any(|file| !file.exists());
            let (code, status) = if missing { ("not-found", 3) } else { ("failed", 1) };
            host_kit::failed(&error.to_string(), code, status, None)
        }
        Err(error) => host_kit::failed(&error.to_string(), "failed", 1, None),
    }
}

/// Writes a line to standard error; a closed one is ignored.
fn say(words: &str) {
    let _closed = writeln!(io::stderr(), "{}", harmless_lines(words));
}

/// Reports a usage error.
fn usage(words: &str) -> ExitCode {
    host_kit::fail(&DiskError::Usage(words.to_owned()))
}

/// Reports why a run did not start, with the words of the host kit's other nouns where they have
/// some for it.
fn fail(error: LabError, options: &Options) -> ExitCode {
    let units = || options.urls.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    let known = match error {
        LabError::Session(error) => DiskError::Session(error),
        LabError::Unit(error) => DiskError::Unit(error),
        LabError::Device(error) => DiskError::device(units(), error),
        LabError::Datastore(error) => DiskError::datastore(units(), error),
        LabError::HoldsData { url, found, name } => {
            DiskError::HoldsData { on: url, found: format!("{found}, and a run overwrites all of it"), name }
        }
        LabError::Mounted { url, datastore, host } => DiskError::Mounted { on: url, name: datastore, host },
        error @ (LabError::WrongName { .. }
        | LabError::NoSuchCase(_)
        | LabError::NoUnit(_)
        | LabError::Unsuitable(_)) => DiskError::Usage(error.to_string()),
        LabError::Files(NasError::Nfs { error, .. }) => {
            let at = options.place.as_ref().map(ToString::to_string).unwrap_or_default();
            return host_kit::nfs_failure(&at, &error);
        }
        error @ LabError::NoDirectory(_) => return host_kit::failed(&error.to_string(), "not-found", 3, None),
        error => return host_kit::failed(&error.to_string(), "failed", 1, None),
    };
    host_kit::fail(&known)
}

/// Progress of the run: on a terminal one line that is redrawn, otherwise a line for each case.
struct Progress {
    terminal: bool,
    case: RefCell<String>,
    step: RefCell<String>,
    /// Start of the step, and time of the last redraw.
    begun: Cell<Instant>,
    drawn: Cell<Instant>,
}

/// Shortest time between two redraws.
const REDRAW: Duration = Duration::from_millis(100);

impl Progress {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            terminal: io::stderr().is_terminal(),
            case: RefCell::default(),
            step: RefCell::default(),
            begun: Cell::new(now),
            drawn: Cell::new(now),
        }
    }

    fn draw(&self, rest: &str) {
        if self.terminal {
            // A closed terminal needs no progress.
            let _gone = write!(io::stderr(), "\r\x1b[K{}{}{rest}", self.case.borrow(), self.step.borrow());
            self.drawn.set(Instant::now());
        }
    }

    fn clear(&self) {
        if self.terminal {
            let _gone = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Watch for Progress {
    fn case(&self, number: usize, of: usize, case: &str) {
        self.case.replace(format!("{number} of {of} {case}: "));
        self.step.replace(String::new());
        match self.terminal {
            true => self.draw(""),
            false => say(&format!("{number} of {of} {case}")),
        }
    }

    fn round(&self, _round: u32, _side: Side) {}

    fn step(&self, words: &str) {
        self.step.replace(harmless(words));
        self.begun.set(Instant::now());
        self.draw("");
    }

    fn progress(&self, done: u64, total: u64) {
        if !self.terminal || total == 0 || self.drawn.get().elapsed() < REDRAW {
            return;
        }
        // Both numbers are far below 2^53.
        let share = done as f64 / total as f64;
        let left = self.begun.get().elapsed().as_secs_f64() * (1.0 - share) / share.max(1e-3);
        self.draw(&format!("  {:.0} %, {left:.0} s left", share * 100.0));
    }

    fn point(&self, _wire_bytes: u64) {}

    fn finished(&self, result: &CaseResult) {
        self.clear();
        let state = match result.verdict() {
            Verdict::Failed => "FAILED".to_owned(),
            Verdict::NotRun => format!("not run or in part: {}", result.skipped.as_deref().unwrap_or_default()),
            Verdict::Passed => "passed".to_owned(),
        };
        say(&format!("{:20}  {state}  {:.1} s", result.case, result.seconds));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;

    #[test]
    fn cases_and_units_are_distinguished() {
        let split = |words: &[&str]| split(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let url = "iscsi://h/iqn.x:t/0";
        let share = "nfs://h/s";
        let found = split(&["eager-zero", "clone-cpu", "eager-zero", url, url]).unwrap();
        assert_eq!((found.names, found.urls.len()), (vec!["eager-zero".to_owned(), "clone-cpu".to_owned()], 2));
        assert_eq!(split(&["all", url]).unwrap().names.len(), cases::ALL.len() + nas::CASES.len());
        assert_eq!(split(&["nas-clone", "nas-stat"]).unwrap().urls.len(), 0);
        let found = split(&["all", share]).unwrap();
        assert_eq!((found.names.len(), found.share.is_some()), (nas::CASES.len(), true));
        assert!(split(&["nas-clone", "eager-zero", url, share]).unwrap().share.is_some());
        for bad in [
            &["eager-zero"][..],
            &["nas-clone", url],
            &[url],
            &["eager", url],
            &["all", url, url, url],
            &["all", "iscsi://h/0"],
            &["eager-zero", share],
            &["eager-zero", url, share],
            &["nas-clone", share, share],
            &["nas-clone", "nfs://h"],
        ] {
            assert!(split(bad).is_err(), "{bad:?}");
        }
    }
}
