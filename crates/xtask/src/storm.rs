//! `cargo xtask storm`: four host processes on one clustered datastore execute random locks,
//! creations, growth, writes, deletions, renames, snapshots and commits, are killed (SIGKILL) at
//! random, and are started again. At the end dead hosts are taken over, and everything is compared
//! with the hosts' journals: no acknowledged change is lost, an interrupted change is either undone
//! or complete, no dead host holds a lock, and `datastore check` is clean.
//!
//! The hosts run `virtual_disk::storm`, behind a hidden command of the program.

use crate::tally::Tally;
use anyhow::{Context, Result, bail};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::program;
use clap::{Args, ValueEnum};
use random::{Random, combine};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Length, number of hosts, and locking.
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds of the storm, for each way of locking.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// COMPARE AND WRITE, or RESERVE and RELEASE; default: both, one after the other.
    #[arg(long, value_enum)]
    locking: Option<Locking>,
    /// Host processes.
    #[arg(long, default_value_t = 4)]
    hosts: u64,
    /// Seed of the hosts' operations, and of the times of the kills.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory on the disk to use; default: the system's directory for temporary files.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Method of changing sectors of metadata.
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

/// Range of the lifetime of a host process: from shorter to longer than the time after which a host
/// counts as dead.
const LIFE_MS: std::ops::Range<u64> = 2_000..45_000;
/// Time limit for a host to stop when asked: it may wait for a lock.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// Time limit of the verdict, which includes takeovers.
const VERDICT_LIMIT: Duration = Duration::from_secs(300);
/// Exit status of a host that could not renew its heartbeat in time; it is started again.
const EVICTED: i32 = 75;
/// Disks of the storm and their sizes; `virtual_disk::storm` uses the same names.
const DISKS: [(&str, &str); 7] = [
    ("counter-0", "1M"),
    ("counter-1", "1M"),
    ("counter-2", "1M"),
    ("shared-0", "4M"),
    ("shared-1", "4M"),
    ("moving-a", "1M"),
    ("template", "16M"),
];

/// Runs the storms; one check per kill that the hosts survived, and one for the verdict of each
/// storm.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let all = [Locking::Ats, Locking::Reservations];
    let mut tally = Tally::default();
    for locking in all.into_iter().filter(|locking| options.locking.is_none_or(|only| only == *locking)) {
        tally += storm(windlass, options, locking)?;
    }
    Ok(tally)
}

/// Host with its current process.
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

    /// Starts the next process of a host.
    fn revive(&self, host: &mut Host) -> Result<()> {
        host.lives += 1;
        let seed = combine(self.seed, host.lives ^ text_seed(&host.name));
        host.process = self.spawn(&host.name, &host.journal, &host.log, seed)?;
        host.dies = Instant::now() + life(seed);
        Ok(())
    }
}

fn life(seed: u64) -> Duration {
    Duration::from_millis(LIFE_MS.start + Random::new(seed).below(LIFE_MS.end - LIFE_MS.start))
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
        let seed = combine(options.seed, text_seed(&name));
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
        // No process of the storm may remain, whatever the result; killing an ended one has no
        // effect.
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
        text::duration::measured(Duration::from_secs(options.seconds)),
        verdict.words.trim()
    );
    if !verdict.held {
        return keep(directory, &format!("{}: the end is not as the journals say", locking.name()));
    }
    array.stop()?;
    Ok(Tally { passed: usize::try_from(kills)? + 1, failed: 0 })
}

/// Kills and restarts hosts until the time is over. Returns the numbers of kills and evictions.
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

/// Asks all hosts to complete their operations and stop.
fn calm(hosts: &mut [Host]) -> Result<()> {
    for host in &*hosts {
        if let Some(pid) = Pid::from_raw(i32::try_from(host.process.id())?) {
            // A process that has just ended by itself is handled below.
            let _gone = kill_process(pid, Signal::TERM);
        }
    }
    let limit = Instant::now() + STOP_LIMIT;
    for host in hosts {
        loop {
            match host.process.try_wait()? {
                Some(status) if status.success() || status.code() == Some(EVICTED) => break,
                // The signal arrived before its handler was installed.
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
    // The public `datastore check` has to agree.
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
    text.bytes().fold(0, |sum, byte| combine(sum, u64::from(byte)))
}
