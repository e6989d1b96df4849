//! `cargo xtask sim`: the real engine on a simulated disk, crashed again and again, compared with a model after every crash.
//!
//! A seed decides everything, so `--seed N` replays a failure exactly. Seeds run on all processors.

use crate::tally::Tally;
use anyhow::{Result, ensure};
use clap::Args;
use harness::text;
use sim::{Report, RunOptions};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Which seeds, and how long each.
#[derive(Args)]
pub(crate) struct Options {
    /// Run this seed alone.
    #[arg(long)]
    seed: Option<u64>,
    /// First of the seeds to run.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Number of seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// Steps of each seed; about one in 125 is a crash.
    #[arg(long, default_value_t = 12_500)]
    steps: u64,
    /// Print every operation and crash of the run; for one seed.
    #[arg(long, requires = "seed")]
    story: bool,
}

impl Options {
    /// What `cargo xtask ci` runs: other seeds than the crate's own tests.
    pub(crate) fn short() -> Self {
        Self { seed: None, from: 1000, seeds: 8, steps: 5_000, story: false }
    }
}

/// What the threads found.
#[derive(Default)]
struct Found {
    report: Report,
    tally: Tally,
}

/// Runs the seeds; one check a seed.
pub(crate) fn run(options: &Options) -> Result<Tally> {
    let (first, count) = options.seed.map_or((options.from, options.seeds), |seed| (seed, 1));
    ensure!(count > 0 && options.steps > 0, "nothing to run: --seeds and --steps must be more than 0");
    let started = Instant::now();
    let next = AtomicU64::new(first);
    let found = Mutex::new(Found::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first.saturating_add(count) {
                        return;
                    }
                    let result =
                        sim::run(RunOptions { story: options.story, ..RunOptions::usual(seed, options.steps) });
                    let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    found.tally += Tally::one(result.is_ok());
                    match result {
                        Ok(report) => found.report.add(&report),
                        Err(error) => {
                            println!("{error}\n  again: cargo xtask sim --seed {seed} --steps {}", options.steps)
                        }
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    println!("{count} seeds in {}: {}", text::duration(started.elapsed()), found.report);
    Ok(found.tally)
}
