//! `cargo xtask kill`: the array is killed (SIGKILL) repeatedly under a load that knows which
//! writes were acknowledged.
//!
//! After each kill the pool, which was not closed, must pass `windlass pool check`. Then the array
//! starts again, and the load (`loads::verifying_load`) connects, reads every block, and
//! compares it with the acknowledged writes. A kill may also happen during a start, before anything
//! is served.

use crate::tally::Tally;
use crate::threads::Threads;
use anyhow::{Context, Result, anyhow, bail};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::program;
use clap::Args;
use conformance::url::Url;
use loads::verifying_load::{LoadError, LoadOptions, VerifyingLoad};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Number of kills, and place.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of kills.
    #[arg(long, default_value_t = 50)]
    cycles: u32,
    /// Seed of the load and of the times of the kills.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory on the disk to use; default: the system's directory for temporary files.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

impl Options {
    /// Options for `cargo xtask ci`.
    pub(crate) fn short() -> Self {
        Self { cycles: 5, seed: 1, directory: None, threads: Threads::one() }
    }
}

/// Time limit of one `pool check`.
const CHECK_LIMIT: Duration = Duration::from_secs(300);
/// Range of the time for which the load runs between two kills.
const RUN_MS: std::ops::Range<u64> = 20..2_500;

/// Kills and checks; one check per kill, and one for the content at the end.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let parent = options.directory.clone().unwrap_or_else(std::env::temp_dir);
    let directory = tempfile::Builder::new().prefix("windlass-kill-").tempdir_in(&parent)?;
    let started = Instant::now();
    let mut array = Array::start(ArrayOptions {
        executable: windlass.to_path_buf(),
        state_directory: directory.path().join("array"),
        portals: vec![free_portal()?],
        pool_size: "2G".into(),
        arguments: options.threads.arguments(),
    })?;
    let volumes = [array.create_volume("kill-a", "1G")?, array.create_volume("kill-b", "1G")?];
    let parse = |url: &str| url.parse::<Url>().with_context(|| format!("{url} is no URL"));
    let urls = volumes.iter().map(|volume| parse(volume.url())).collect::<Result<Vec<_>>>()?;
    let load = VerifyingLoad::new(LoadOptions { seed: options.seed, outage: CHECK_LIMIT, ..LoadOptions::new(urls) })?;
    let running = Running::start(load);

    let mut tally = Tally::default();
    let mut slowest_start = Duration::ZERO;
    for cycle in 0..u64::from(options.cycles) {
        let wait = RUN_MS.start + random::combine(options.seed, cycle) % (RUN_MS.end - RUN_MS.start);
        if !running.keeps_running(Duration::from_millis(wait)) {
            let words = describe_end(running.end()?.1, &array, cycle);
            return keep(tally, directory, &words);
        }
        array.kill()?;
        let clean = pool_is_clean(windlass, &array, cycle)?;
        if !clean {
            return keep(tally, directory, &format!("pool check after kill {} found problems", cycle + 1));
        }
        tally += Tally::one(true);
        array.restart().with_context(|| format!("after kill {}", cycle + 1))?;
        slowest_start = slowest_start.max(array.started_in());
    }

    // The load has to work after the last restart too.
    let keeps_running = running.keeps_running(Duration::from_secs(2));
    let (mut load, result) = running.end()?;
    if !keeps_running {
        let words = describe_end(result, &array, u64::from(options.cycles));
        return keep(tally, directory, &words);
    }
    if let Err(error) = result.and_then(|()| load.verify_all()) {
        return keep(tally, directory, &error.to_string());
    }
    tally += Tally::one(true);
    array.stop()?;
    tally += Tally::one(pool_is_clean(windlass, &array, u64::from(options.cycles))?);
    println!(
        "{} kills in {}, slowest start {}",
        options.cycles,
        text::duration::measured(started.elapsed()),
        text::duration::measured(slowest_start)
    );
    println!("{}", load.report());
    Ok(tally)
}

/// Runs `windlass pool check` on the pool of a stopped array.
fn pool_is_clean(windlass: &Path, array: &Array, cycle: u64) -> Result<bool> {
    let file = array.pool_file().display().to_string();
    let finished = program::run(windlass, &["pool", "check", &file], CHECK_LIMIT)?;
    match finished.status.and_then(|status| status.code()) {
        Some(0) => Ok(true),
        Some(_) => {
            println!("  pool check after kill {} found:\n{}{}", cycle + 1, finished.stdout, finished.stderr);
            Ok(false)
        }
        None => bail!("pool check did not end within {} s", CHECK_LIMIT.as_secs()),
    }
}

/// Describes the end of a load that ended without being asked, which is always a failure.
fn describe_end(result: Result<(), LoadError>, array: &Array, cycle: u64) -> String {
    let words = result.err().map_or_else(|| "it ended by itself".into(), |error| error.to_string());
    format!("the load failed after {cycle} kills: {words}\n  the array's log ends:\n{}", array.log_end())
}

/// Counts a failure and keeps the evidence.
fn keep(mut tally: Tally, directory: tempfile::TempDir, words: &str) -> Result<Tally> {
    println!("  {words}\n  pool and log are kept in {}", directory.keep().display());
    tally += Tally::one(false);
    Ok(tally)
}

/// Load on a thread of its own.
struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(VerifyingLoad, Result<(), LoadError>)>,
}

impl Running {
    fn start(mut load: VerifyingLoad) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let result = load.run(&seen);
            (load, result)
        });
        Self { stop, thread }
    }

    /// Waits for this time, or until the load ends; false when it has ended.
    fn keeps_running(&self, time: Duration) -> bool {
        let started = Instant::now();
        while started.elapsed() < time && !self.thread.is_finished() {
            thread::sleep(Duration::from_millis(2));
        }
        !self.thread.is_finished()
    }

    /// Stops the load and returns it with its result.
    fn end(self) -> Result<(VerifyingLoad, Result<(), LoadError>)> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the load panicked"))
    }
}
