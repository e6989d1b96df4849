//! `cargo xtask storm`: four hosts, each a process, on one clustered datastore under a storm of locks, creations, growth, writes, deletions, renames, snapshots
//! and commits, killed (SIGKILL) at random and started again. At the end whoever died is taken over, and everything is compared with the journals of
//! the hosts: nothing acknowledged is lost, what was under way is as before or done, nobody dead holds a lock, and `datastore check` is clean.
//!
//! What a host does is `disk::storm`, behind a hidden verb of the program.

use crate::split_mix;
use crate::tally::Tally;
use anyhow::{Context, Result, bail};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::{program, text};
use clap::{Args, ValueEnum};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long, how many, and how they lock.
#[derive(Args)]
pub(crate) struct Options {
    /// Length of the storm, for each way of locking.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// COMPARE AND WRITE, or RESERVE and RELEASE; one after the other when it is not given.
    #[arg(long, value_enum)]
    locking: Option<Locking>,
    /// Host processes.
    #[arg(long, default_value_t = 4)]
    hosts: u64,
    /// Decides what the hosts do, and when they die.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A directory on the disk to use; the system's place for temporary files when it is not given.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// How sectors of metadata are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Locking {
    /// COMPARE AND WRITE.
    Ats,
    /// RESERVE, READ, WRITE, RELEASE.
    Reservations,
}

impl Locking {
    fn name(self) -> &'static str {
        match self {
            Self::Ats => "ats",
            Self::Reservations => "reservations",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Ats => &[],
            Self::Reservations => &["--reservations"],
        }
    }
}

/// How long a host lives, at least and at most: shorter than it takes to be taken for dead, and longer.
const LIFE_MS: std::ops::Range<u64> = 2_000..45_000;
/// How long a host may take to stop when it is asked to: it may wait for a lock.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// How long the verdict may take: takeovers among it.
const VERDICT_LIMIT: Duration = Duration::from_secs(300);
/// Exit status of a host that could not renew its heartbeat in time; it is started again.
const EVICTED: i32 = 75;
/// What the storm is about; the names are those of `disk::storm`.
const DISKS: [(&str, &str); 7] = [
    ("counter-0", "1M"),
    ("counter-1", "1M"),
    ("counter-2", "1M"),
    ("shared-0", "4M"),
    ("shared-1", "4M"),
    ("moving-a", "1M"),
    ("template", "16M"),
];

/// One check a kill that the hosts survived, and one for the verdict of each storm.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let all = [Locking::Ats, Locking::Reservations];
    let mut tally = Tally::default();
    for locking in all.into_iter().filter(|locking| options.locking.is_none_or(|only| only == *locking)) {
        tally += storm(windlass, options, locking)?;
    }
    Ok(tally)
}

/// A host and its processes.
struct Host {
    name: String,
    journal: PathBuf,
    log: PathBuf,
    process: Child,
    dies: Instant,
    lives: u64,
}

struct Storm<'a> {
    windlass: &'a Path,
    url: String,
    locking: Locking,
    seed: u64,
}

impl Storm<'_> {
    fn spawn(&self, name: &str, journal: &Path, log: &Path, seed: u64) -> Result<Child> {
        let log = File::options().create(true).append(true).open(log)?;
        let mut command = Command::new(self.windlass);
        command.args(["datastore", "storm-host", &self.url, "--name", name, "--seed", &seed.to_string(), "--journal"]);
        command.arg(journal).args(self.locking.arguments());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.spawn().with_context(|| format!("cannot start {}", self.windlass.display()))
    }

    /// Starts a host's next process.
    fn revive(&self, host: &mut Host) -> Result<()> {
        host.lives += 1;
        let seed = split_mix::next(self.seed ^ split_mix::next(host.lives ^ text_seed(&host.name)));
        host.process = self.spawn(&host.name, &host.journal, &host.log, seed)?;
        host.dies = Instant::now() + life(seed);
        Ok(())
    }
}

fn life(seed: u64) -> Duration {
    Duration::from_millis(LIFE_MS.start + split_mix::next(seed) % (LIFE_MS.end - LIFE_MS.start))
}

fn storm(windlass: &Path, options: &Options, locking: Locking) -> Result<Tally> {
    let parent = options.directory.clone().unwrap_or_else(std::env::temp_dir);
    let directory = tempfile::Builder::new().prefix("windlass-storm-").tempdir_in(&parent)?;
    let mut array = Array::start(ArrayOptions {
        executable: windlass.to_path_buf(),
        state_directory: directory.path().join("array"),
        portals: vec![free_portal()?],
        pool_size: "2G".into(),
        arguments: Vec::new(),
    })?;
    let url = array.create_volume("storm", "2G")?.url().to_owned();
    array.command(&["datastore", "format", &url, "--name", "storm", "--files", "128", "--hosts", "16"])?;
    for (disk, size) in DISKS {
        array.command(&["disk", "create", "-d", "thin", "-c", size, &format!("{url}#{disk}")])?;
    }
    let storm = Storm { windlass, url, locking, seed: options.seed };
    let mut hosts = Vec::new();
    for number in 1..=options.hosts.max(1) {
        let name = format!("h{number}");
        let seed = split_mix::next(options.seed ^ split_mix::next(text_seed(&name)));
        let (journal, log) =
            (directory.path().join(format!("{name}.journal")), directory.path().join(format!("{name}.log")));
        let process = storm.spawn(&name, &journal, &log, seed)?;
        hosts.push(Host { name, journal, log, process, dies: Instant::now() + life(seed), lives: 1 });
    }
    let result = rage(&storm, &mut hosts, options).and_then(|(kills, evictions)| {
        calm(&mut hosts)?;
        Ok((kills, evictions))
    });
    for host in &mut hosts {
        // Nothing of the storm may be left, whatever came of it; those that have ended cannot be killed.
        let _gone = host.process.kill();
        host.process.wait()?;
    }
    let (kills, evictions) = match result {
        Ok(counts) => counts,
        Err(error) => return keep(directory, &format!("{}: {error:#}", locking.name())),
    };
    let verdict = verdict(&storm, &hosts)?;
    println!(
        "{}: {kills} kills and {evictions} evictions in {}; {}",
        locking.name(),
        text::duration(Duration::from_secs(options.seconds)),
        verdict.words.trim()
    );
    if !verdict.held {
        return keep(directory, &format!("{}: the end is not as the journals say", locking.name()));
    }
    array.stop()?;
    Ok(Tally { passed: usize::try_from(kills)? + 1, failed: 0 })
}

/// Kills and revives until the time is over. Returns kills and evictions.
fn rage(storm: &Storm<'_>, hosts: &mut [Host], options: &Options) -> Result<(u64, u64)> {
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let (mut kills, mut evictions) = (0, 0);
    while Instant::now() < end {
        for host in &mut *hosts {
            if let Some(status) = host.process.try_wait()? {
                if status.code() != Some(EVICTED) {
                    bail!("host {} ended by itself ({status}):\n{}", host.name, log_end(&host.log));
                }
                evictions += 1;
                storm.revive(host)?;
            } else if Instant::now() >= host.dies {
                host.process.kill()?;
                host.process.wait()?;
                kills += 1;
                storm.revive(host)?;
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok((kills, evictions))
}

/// Lets all hosts come to an end of what they do.
fn calm(hosts: &mut [Host]) -> Result<()> {
    for host in &*hosts {
        if let Some(pid) = Pid::from_raw(i32::try_from(host.process.id())?) {
            // One that has just ended by itself is found below.
            let _gone = kill_process(pid, Signal::TERM);
        }
    }
    let limit = Instant::now() + STOP_LIMIT;
    for host in hosts {
        loop {
            match host.process.try_wait()? {
                Some(status) if status.success() || status.code() == Some(EVICTED) => break,
                // A signal that came before the handler was there.
                Some(status) if status.code().is_none() => break,
                Some(status) => bail!("host {} ended badly ({status}):\n{}", host.name, log_end(&host.log)),
                None if Instant::now() > limit => bail!("host {} does not stop:\n{}", host.name, log_end(&host.log)),
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
    }
    Ok(())
}

struct Verdict {
    held: bool,
    words: String,
}

fn verdict(storm: &Storm<'_>, hosts: &[Host]) -> Result<Verdict> {
    let mut arguments = vec!["datastore".to_owned(), "storm-verify".into(), storm.url.clone()];
    arguments.extend(hosts.iter().map(|host| host.journal.display().to_string()));
    arguments.extend(storm.locking.arguments().iter().map(|argument| (*argument).to_owned()));
    let verified = program::run(storm.windlass, &arguments, VERDICT_LIMIT)?;
    let mut words = verified.stdout.clone() + &verified.stderr;
    let mut held = verified.success();
    // What anybody may ask.
    let checked = program::run(storm.windlass, &["datastore", "check", &storm.url, "-o", "json"], VERDICT_LIMIT)?;
    let report: Value = serde_json::from_str(&checked.stdout).unwrap_or_default();
    let empty = |field: &str| report.get(field).and_then(Value::as_array).is_some_and(Vec::is_empty);
    if !checked.success() || !empty("problems") || !empty("leftovers") {
        held = false;
        words += &format!("\ndatastore check: {}{}", checked.stdout, checked.stderr);
    }
    Ok(Verdict { held, words })
}

/// The last lines of a log, indented.
fn log_end(path: &Path) -> String {
    let text = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(8)).map(|line| format!("  {line}\n")).collect()
}

/// Counts a failure and keeps the evidence.
fn keep(directory: tempfile::TempDir, words: &str) -> Result<Tally> {
    println!("  {words}\n  pool, journals and logs are kept in {}", directory.keep().display());
    Ok(Tally::one(false))
}

fn text_seed(text: &str) -> u64 {
    text.bytes().fold(0, |sum, byte| split_mix::next(sum ^ u64::from(byte)))
}
