//! `cargo xtask sim pair`: seeds of the simulation of replication on all processors.

use anyhow::{Result, bail, ensure};
use clap::Parser;
use pair_sim::Report;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Replication between two arrays with a link that fails, one run for each seed.
#[derive(Parser)]
struct Options {
    /// First seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Steps of each seed.
    #[arg(long, default_value_t = 2_000)]
    steps: u64,
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

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(options.count > 0 && options.steps > 0, "nothing to run: --count and --steps must be more than 0");
    if let Some(name) = &options.mutant {
        return mutants(&options, name);
    }
    let started = Instant::now();
    let found = seeds(&options, &|| ());
    let seconds = started.elapsed().as_secs_f64();
    println!("{} seeds, {}, {} violations, {seconds:.1} s", found.seeds, found.report, found.failures.len());
    match found.failures.iter().min_by_key(|(seed, _)| *seed) {
        Some((seed, _)) => bail!("again: cargo xtask sim pair --seed {seed} --steps {}", options.steps),
        None => Ok(()),
    }
}

/// Each rule left out must be noticed.
#[cfg(feature = "mutations")]
fn mutants(options: &Options, name: &str) -> Result<()> {
    use replication::{Mutation, set_mutation};
    if name == "list" {
        Mutation::ALL.iter().for_each(|rule| println!("{:22} {}", rule.name(), rule.description()));
        return Ok(());
    }
    let chosen: Vec<_> = Mutation::ALL.iter().filter(|rule| name == "all" || rule.name() == name).collect();
    ensure!(!chosen.is_empty(), "there is no rule {name}; see --mutant list");
    let mut missed = 0;
    for rule in chosen {
        let found = seeds(options, &|| set_mutation(Some(*rule)));
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

#[cfg(not(feature = "mutations"))]
fn mutants(_: &Options, _: &str) -> Result<()> {
    bail!("this build cannot leave rules out: cargo xtask sim pair --mutant all")
}

/// Runs the seeds on all processors, each thread after `prepare`. With a rule left out, until the first failure.
fn seeds(options: &Options, prepare: &(dyn Fn() + Sync)) -> Found {
    let end = options.seed.saturating_add(options.count);
    let (next, over) = (AtomicU64::new(options.seed), AtomicBool::new(false));
    let found = Mutex::new(Found::default());
    let story = options.story && options.count == 1;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                prepare();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || over.load(Ordering::Relaxed) {
                        return;
                    }
                    let outcome = pair_sim::run(seed, options.steps, story);
                    outcome.story.iter().for_each(|line| println!("{line}"));
                    let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    found.seeds += 1;
                    found.report.add(&outcome.report);
                    if let Some(failure) = outcome.failure {
                        if options.mutant.is_none() {
                            println!("{failure}");
                        }
                        over.store(options.mutant.is_some(), Ordering::Relaxed);
                        found.failures.push((seed, failure));
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
