//! `cargo xtask sim nfs`: seeds of the simulation of the NFS server on all processors.

use anyhow::{Result, bail, ensure};
use clap::Parser;
use nfs_sim::{Report, Rule};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// The NFS server with clients, a network and a medium that fail, one run for each seed.
#[derive(Parser)]
struct Options {
    /// First seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Calls of each seed, all clients together.
    #[arg(long, default_value_t = 600)]
    calls: u64,
    /// Print the history of a single seed.
    #[arg(long)]
    story: bool,
    /// Leave out a rule; the run fails unless a seed notices. `all` for each in turn; `list` for their names.
    #[arg(long, value_name = "RULE")]
    mutant: Option<String>,
}

/// What the seeds found.
#[derive(Default)]
struct Found {
    seeds: u64,
    report: Report,
    failures: Vec<(u64, String)>,
}

impl std::fmt::Display for Found {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} seeds, {}, {} violations", self.seeds, self.report, self.failures.len())
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(options.count > 0 && options.calls > 0, "nothing to run: --count and --calls must be more than 0");
    match options.mutant.as_deref() {
        Some("list") => {
            for rule in Rule::all() {
                println!("{:22} {}", rule.name(), rule.description());
            }
            Ok(())
        }
        Some(name) => mutants(&options, name),
        None => {
            let started = Instant::now();
            let found = seeds(&options, None);
            println!("{found}, {:.1} s", started.elapsed().as_secs_f64());
            match found.failures.iter().min_by_key(|(seed, _)| *seed) {
                Some((seed, _)) => bail!("again: cargo xtask sim nfs --seed {seed} --calls {}", options.calls),
                None => Ok(()),
            }
        }
    }
}

/// Each rule left out must be noticed.
fn mutants(options: &Options, name: &str) -> Result<()> {
    // Some hundred seeds do not notice this rule: the reply that tells of a loss has to be lost just before a crash.
    // A test of the state and a check of conformance do; here it is left out by its name only.
    let seldom = "record-of-loss";
    let is_wanted = |rule: &Rule| rule.name() == name || (name == "all" && rule.name() != seldom);
    let chosen: Vec<Rule> = Rule::all().into_iter().filter(is_wanted).collect();
    ensure!(!chosen.is_empty(), "there is no rule {name}; see --mutant list");
    let mut missed = 0;
    for rule in chosen {
        let found = seeds(options, Some(rule));
        match found.failures.first() {
            Some((_, failure)) => println!("{:22} noticed after {} seeds: {failure}", rule.name(), found.seeds),
            None => {
                missed += 1;
                println!("{:22} NOT noticed by {} seeds: {}", rule.name(), found.seeds, rule.description());
            }
        }
    }
    ensure!(missed == 0, "{missed} rules were left out and not noticed");
    Ok(())
}

/// Runs the seeds on all processors. With a rule left out, until the first failure.
fn seeds(options: &Options, rule: Option<Rule>) -> Found {
    let end = options.seed.saturating_add(options.count);
    let (next, over) = (AtomicU64::new(options.seed), AtomicBool::new(false));
    let found = Mutex::new(Found::default());
    let lock = || found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let story = options.story && options.count == 1;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                nfs_sim::leave_out(rule);
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || over.load(Ordering::Relaxed) {
                        return;
                    }
                    let outcome = nfs_sim::run(seed, options.calls, story);
                    for line in outcome.story {
                        println!("{line}");
                    }
                    let mut found = lock();
                    found.seeds += 1;
                    found.report.add(&outcome.report);
                    if let Some(failure) = outcome.failure {
                        if rule.is_none() {
                            println!("{failure}");
                        }
                        over.store(rule.is_some(), Ordering::Relaxed);
                        found.failures.push((seed, failure));
                    }
                    if rule.is_none() && found.seeds.is_multiple_of(500) {
                        println!("  {found}");
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
