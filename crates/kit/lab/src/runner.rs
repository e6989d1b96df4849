//! Runs cases one after the other, saves the results after each, and wipes the logical units at the
//! end.

use crate::bench::Bench;
use crate::case::Case;
use crate::cases;
use crate::error::LabError;
use crate::machine;
use crate::nas::{self, NasCase, NasSettings, Place};
use crate::outcome::{Outcome, Side};
use crate::results::{self, CaseResult, Run, VERSION};
use crate::scale::Size;
use crate::subject::{self, Wiped};
use futures_util::future::{self, Either};
use initiator::url::Url;
use initiator::{Interrupts, SystemClock};
use jiff::Timestamp;
use std::convert::Infallible;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of the cases, in the order they run.
    pub cases: Vec<String>,
    /// The logical unit, and a second one for cases with two datastores; empty when only directory
    /// cases run.
    pub urls: Vec<Url>,
    /// Place of the files for the cases of files; they are skipped without one.
    pub place: Option<Place>,
    /// Number of pairs of rounds, off and on.
    pub pairs: u32,
    /// Scale of the run.
    pub size: Size,
    /// Logical units whose data may be overwritten: `TARGET/LUN` or the NAA identifier.
    pub destroy_data: Vec<String>,
    /// Common initiator name of all hosts, which then differ in their ISIDs.
    pub initiator: Option<String>,
    /// Time limit for each answer of the array.
    pub answer_timeout: Duration,
    /// File in which results are saved after each case.
    pub save: PathBuf,
    /// Version of the program, for the results.
    pub windlass: String,
}

/// Observer of a run.
pub trait Watch {
    /// Called when the run begins a case; `number` counts from 1.
    fn case(&self, number: usize, of: usize, case: &str);

    /// Called when a case begins a round with the primitive off or on; `round` counts from 1.
    fn round(&self, round: u32, side: Side);

    /// Called when a case begins a step, with its description.
    fn step(&self, words: &str);

    /// Called with the bytes of a step done so far, and their total.
    fn progress(&self, done: u64, total: u64);

    /// Called once a second while a case of logical units runs, with the bytes that its hosts sent and received in
    /// that second.
    fn point(&self, wire_bytes: u64);

    /// Called when a case has ended.
    fn finished(&self, result: &CaseResult);
}

/// Result of a run that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Results; also saved in the file.
    pub run: Run,
    /// Whether Ctrl-C ended it.
    pub cancelled: bool,
    /// Logical units that could not be wiped, described in sentences.
    pub left: Vec<String>,
}

/// Size of the file in a directory case, in bytes: at the small scale, and about the paper's.
const NAS_BYTES: (u64, u64) = (128 << 20, 32 << 30);
/// Time that an array which closed the sessions may take to come back before the run ends.
const RECONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two attempts to reconnect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// Prefix of the hosts' initiator names.
const INITIATOR: &str = "iqn.2026-01.org.example:windlass-lab-host";

/// Runs the cases on its own runtime, until they are done or Ctrl-C.
///
/// Errors: the run could not start. An array that disappears during the run is no error: the
/// results record it.
pub fn run(options: &Options, watch: Rc<dyn Watch>) -> Result<Ended, LabError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async { run_here(options, watch, &mut Interrupts::watch()?).await })
}

/// A case of a logical unit or of files.
#[derive(Clone, Copy)]
enum Chosen {
    Block(&'static Case),
    Files(&'static NasCase),
}

impl Chosen {
    fn find(name: &str) -> Result<Self, LabError> {
        let block = cases::find(name).map(Self::Block);
        let found = block.or_else(|| nas::find(name).map(Self::Files));
        found.ok_or_else(|| LabError::NoSuchCase(name.to_owned()))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Block(case) => case.name,
            Self::Files(case) => case.name,
        }
    }
}

async fn run_here(options: &Options, watch: Rc<dyn Watch>, interrupts: &mut Interrupts) -> Result<Ended, LabError> {
    let chosen: Vec<_> = options.cases.iter().map(|name| Chosen::find(name)).collect::<Result<_, _>>()?;
    if let Some(Place::Directory(directory)) = &options.place
        && !directory.is_dir()
    {
        return Err(LabError::NoDirectory(directory.display().to_string()));
    }
    let opened = match future::select(pin!(open_if(options, &chosen, &watch)), pin!(interrupts.next())).await {
        Either::Left((opened, _)) => Some(opened?),
        Either::Right(_) => None,
    };
    let now = Timestamp::now();
    let mut run = Run {
        version: VERSION,
        windlass: options.windlass.clone(),
        started: now,
        ended: now,
        machine: machine::machine(),
        pairs: options.pairs,
        size: options.size.to_string(),
        subjects: Vec::new(),
        cases: Vec::new(),
        ended_early: None,
    };
    let Some((bench, subjects)) = opened else {
        run.ended_early = Some("cancelled before anything was written".into());
        results::save(&run, &options.save)?;
        return Ok(Ended { run, cancelled: true, left: Vec::new() });
    };
    run.subjects = subjects;
    results::save(&run, &options.save)?;
    let mut cancelled = false;
    for (number, case) in chosen.iter().enumerate() {
        watch.case(number + 1, chosen.len(), case.name());
        let (result, end) = match (case, &bench) {
            (Chosen::Block(case), Some(bench)) => {
                let cancel = pin!(interrupts.next());
                let measured = pin!(one(bench, case, cancel));
                match future::select(measured, pin!(watch_the_wire(bench))).await {
                    Either::Left((ended, _)) => ended,
                    Either::Right((never, _)) => match never {},
                }
            }
            (Chosen::Block(case), None) => return Err(LabError::NoUnit(case.name)),
            (Chosen::Files(case), _) => one_of_files(options, case, pin!(interrupts.next())).await?,
        };
        let end = match (end, &bench) {
            (End::Gone(words), Some(bench)) => reconnect(bench, words, pin!(interrupts.next())).await,
            (end, _) => end,
        };
        watch.finished(&result);
        run.cases.push(result);
        run.ended = Timestamp::now();
        run.ended_early = match end {
            End::Done => None,
            End::Cancelled => {
                cancelled = true;
                Some(format!("cancelled during {}", case.name()))
            }
            End::Gone(words) => Some(format!("{}: {words}", case.name())),
        };
        results::save(&run, &options.save)?;
        if run.ended_early.is_some() {
            break;
        }
    }
    let Some(bench) = bench else { return Ok(Ended { run, cancelled, left: Vec::new() }) };
    watch.step("wiping the scratch space");
    let left = match future::select(pin!(clean_up(&bench, options)), pin!(interrupts.next())).await {
        Either::Left((left, _)) => left,
        // Ctrl-C during the wipe.
        Either::Right(_) => {
            cancelled = true;
            options.urls.iter().map(|url| format!("{url} was not wiped and holds data of the run")).collect()
        }
    };
    Ok(Ended { run, cancelled, left })
}

/// Calls [`open`] when a case of logical units was chosen, and describes the place of the files
/// when a case of files was.
async fn open_if(
    options: &Options,
    chosen: &[Chosen],
    watch: &Rc<dyn Watch>,
) -> Result<(Option<Bench>, Vec<results::Subject>), LabError> {
    let (mut bench, mut subjects) = (None, Vec::new());
    if let Some(case) = chosen.iter().find(|case| matches!(case, Chosen::Block(_))) {
        if options.urls.is_empty() {
            return Err(LabError::NoUnit(case.name()));
        }
        let opened = open(options, watch).await?;
        (bench, subjects) = (Some(opened.0), opened.1);
    }
    if let Some(place) = options.place.clone()
        && chosen.iter().any(|case| matches!(case, Chosen::Files(_)))
    {
        // Calls of files block.
        let described = tokio::task::spawn_blocking(move || place.subject()).await;
        subjects.push(described.map_err(std::io::Error::other)??);
    }
    Ok((bench, subjects))
}

/// Runs one case of files, on its own thread because its calls block.
async fn one_of_files(
    options: &Options,
    case: &'static NasCase,
    cancel: impl Future<Output = ()> + Unpin,
) -> Result<(CaseResult, End), LabError> {
    let Some(place) = options.place.clone() else {
        let skipped = Some("the case needs a share, nfs://…, or a mounted directory: --directory DIR".to_owned());
        let (case, title) = (case.name.to_owned(), case.title.to_owned());
        let paper = nas::paper(&case);
        return Ok((CaseResult { case, title, skipped, paper, ..CaseResult::default() }, End::Done));
    };
    let settings = NasSettings { pairs: options.pairs, size: options.size.bytes(NAS_BYTES.0, NAS_BYTES.1) };
    let cancelled = Arc::new(AtomicBool::new(false));
    let seen = cancelled.clone();
    let work = tokio::task::spawn_blocking(move || nas::run_until(case.name, &place, &settings, &seen));
    match future::select(work, cancel).await {
        Either::Left((result, _)) => Ok((result.map_err(std::io::Error::other)?, End::Done)),
        Either::Right((_, work)) => {
            cancelled.store(true, Ordering::Relaxed);
            Ok((work.await.map_err(std::io::Error::other)?, End::Cancelled))
        }
    }
}

/// Connects, and checks that the units may be overwritten.
async fn open(options: &Options, watch: &Rc<dyn Watch>) -> Result<(Bench, Vec<results::Subject>), LabError> {
    let session =
        initiator::Options { initiator_name: INITIATOR.into(), qualifier: 1, timeout: options.answer_timeout };
    watch.step("looking for data on the logical unit");
    let first = subject::connect(&options.urls, options.initiator.as_deref(), &session, 1).await?;
    let mut subjects = Vec::new();
    let mut names = Vec::new();
    for (url, unit) in options.urls.iter().zip(&first.units) {
        subjects.push(subject::subject(url, unit).await?);
        names.push(subject::names(url, unit.identity()));
    }
    let same = |name: &String, given: &String| name.eq_ignore_ascii_case(given);
    for given in &options.destroy_data {
        if !names.iter().flatten().any(|name| same(name, given)) {
            let units = names.iter().map(|names| names.join(" or ")).collect::<Vec<_>>().join("; ");
            return Err(LabError::WrongName { given: given.clone(), units });
        }
    }
    if let [one, other] = &subjects[..]
        && one.naa.is_some()
        && one.naa == other.naa
    {
        return Err(LabError::Unsuitable("both URLs name the same logical unit".into()));
    }
    for ((url, unit), names) in options.urls.iter().zip(&first.units).zip(&names) {
        let identity = unit.identity();
        if identity.block_bytes != 512 {
            let words = format!(
                "{url} has logical blocks of {} bytes; the laboratory's datastores need 512",
                identity.block_bytes
            );
            return Err(LabError::Unsuitable(words));
        }
        let allowed = names.iter().any(|name| options.destroy_data.iter().any(|given| same(name, given)));
        if allowed {
            subject::check_not_mounted(url, unit).await?;
        } else if let Some(found) = subject::any_data(unit).await? {
            let name = names.first().cloned().unwrap_or_default();
            return Err(LabError::HoldsData { url: url.to_string(), found, name });
        }
    }
    let identities = first.units.iter().map(|unit| unit.identity().clone()).collect();
    for session in first.sessions {
        session.logout().await?;
    }
    let (urls, initiator) = (options.urls.clone(), options.initiator.clone());
    let connect: crate::bench::Connect = Box::new(move |number| {
        let (urls, initiator, session) = (urls.clone(), initiator.clone(), session.clone());
        Box::pin(async move { subject::connect(&urls, initiator.as_deref(), &session, number).await })
    });
    let scale = (options.size, options.pairs);
    Ok((Bench::new(Rc::new(SystemClock::default()), identities, connect, scale, watch.clone()), subjects))
}

/// Shows the traffic of all hosts to the observer, once a second.
async fn watch_the_wire(bench: &Bench) -> Infallible {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks.tick().await;
    let mut before = bench.wire_bytes();
    loop {
        ticks.tick().await;
        let now = bench.wire_bytes();
        // A host that has logged in again counts from 0.
        bench.watch.point(now.saturating_sub(before));
        before = now;
    }
}

/// How a case ended.
pub(crate) enum End {
    /// The case completed, or failed with its own error.
    Done,
    /// The case was ended by `cancel`.
    Cancelled,
    /// The array no longer answers.
    Gone(String),
}

/// Runs one case.
pub(crate) async fn one(bench: &Bench, case: &Case, cancel: impl Future<Output = ()> + Unpin) -> (CaseResult, End) {
    let begun = Instant::now();
    let mut outcome = Outcome::default();
    let ran = {
        let work = async {
            bench.begin(case.needs, case.second_unit, &mut outcome).await?;
            if outcome.impossible.is_some() {
                return Ok(());
            }
            if outcome.no_on.is_none() {
                let units = if case.second_unit { bench.units.len() } else { 1 };
                bench.prove(case.needs, units, &mut outcome).await?;
            }
            (case.run)(bench, &mut outcome).await
        };
        match future::select(pin!(work), cancel).await {
            Either::Left((result, _)) => Some(result),
            Either::Right(_) => None,
        }
    };
    let end = match ran {
        None => {
            outcome.note("cancelled: the values are those of the completed rounds");
            outcome.impossible = Some("cancelled".into());
            End::Cancelled
        }
        Some(Ok(())) => End::Done,
        Some(Err(LabError::Impossible(words))) => {
            outcome.impossible = Some(words);
            End::Done
        }
        Some(Err(error)) => {
            outcome.fail(error.to_string());
            if error.is_gone() { End::Gone(error.to_string()) } else { End::Done }
        }
    };
    (outcome.result(case.name, case.title, case.paper(), begun.elapsed().as_secs_f64()), end)
}

/// Reconnects after a case that lost its sessions and has failed, so that the remaining cases can
/// run.
async fn reconnect(bench: &Bench, words: String, cancel: impl Future<Output = ()> + Unpin) -> End {
    bench.watch.step("reconnecting");
    let until = Instant::now() + RECONNECT_LIMIT;
    let back = async {
        while Instant::now() < until {
            match bench.reconnect().await {
                Ok(()) => return true,
                Err(error) if error.is_gone() => tokio::time::sleep(RECONNECT_PAUSE).await,
                Err(_) => return false,
            }
        }
        false
    };
    match future::select(pin!(back), cancel).await {
        Either::Left((true, _)) => End::Done,
        Either::Left((false, _)) => End::Gone(words),
        Either::Right(_) => End::Cancelled,
    }
}

/// Wipes the units and logs out. Returns what is left, in sentences.
async fn clean_up(bench: &Bench, options: &Options) -> Vec<String> {
    let mut left = Vec::new();
    for (number, url) in options.urls.iter().enumerate() {
        match subject::wipe(bench, number).await {
            Ok(Wiped::Clean) => {}
            Ok(Wiped::Left) => {
                left.push(format!("{url} still holds data of the run: it has no UNMAP that frees space"))
            }
            Err(error) => left.push(format!("{url} still holds data of the run: {error}")),
        }
    }
    for connection in bench.connections() {
        for session in &connection.sessions {
            if session.clone().logout().await.is_err() {
                // The session has ended, which is all that is needed.
                continue;
            }
        }
    }
    left
}
