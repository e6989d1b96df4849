//! `cargo xtask sim`: the real engine on a simulated disk, with repeated crashes, compared with a
//! model after every crash.
//!
//! A seed determines a run, so `--seed N` replays a failure exactly. Seeds run on all processors,
//! one run per thread.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use array_process::tally::Tally;
use array_process::workspace;
use clap::{Args, ValueEnum};
use sim::{Outcome, Report, RunOptions};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Interval of the progress messages of a long run.
const PROGRESS: Duration = Duration::from_secs(15);
/// Number of failures printed in full.
const PRINTED_FAILURES: usize = 5;

/// Runs and their sizes.
#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Kind of simulation.
    #[arg(value_enum, default_value_t = What::Crashes)]
    what: What,
    /// First seed. Without --count only this seed is run, and its steps are printed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of seeds [default: 1 with --seed, otherwise 100].
    #[arg(long, alias = "seeds", value_name = "M")]
    count: Option<u64>,
    /// Steps of each seed.
    #[arg(long, default_value_t = 2_000)]
    steps: u64,
    /// Average number of steps between crashes [default: the seed decides].
    #[arg(long, value_name = "STEPS")]
    crash_every: Option<u64>,
    /// failures: largest n.
    #[arg(long, default_value_t = 200)]
    limit: u64,
    /// exhaustive: operations in a sequence.
    #[arg(long, default_value_t = 2)]
    length: u32,
    /// corruption: bits flipped in each class of bytes of each block.
    #[arg(long, default_value_t = 2)]
    times: u64,
    /// Do not print the steps.
    #[arg(long)]
    quiet: bool,
    /// Simulate the whole array instead of the engine: virtual sockets and time, the real reactor,
    /// hosts that send commands.
    #[arg(long)]
    whole: bool,
    /// nfs: calls of each seed, all clients together.
    #[arg(long, default_value_t = 600)]
    calls: u64,
    /// whole: commands of each seed, all hosts together.
    #[arg(long, default_value_t = 400)]
    commands: u64,
    /// Disable a rule; the run fails unless a seed notices. `all` for every rule in turn; `list` for their names.
    #[arg(long, value_name = "RULE")]
    mutant: Option<String>,
}

const EXAMPLES: &str = "Examples:
  cargo xtask sim                                      100 seeds of 2 000 steps
  cargo xtask sim --seed 42                            replay seed 42 and tell its story; a failure is made short
  cargo xtask sim --seed 1 --count 200000 --steps 250  a long run; its progress tells where to resume it
  cargo xtask sim --whole --count 100                  the whole array, 100 seeds
  cargo xtask sim nfs --count 100                      the NFS server with its clients, 100 seeds
  cargo xtask sim pair --seeds 100                     replication between two arrays, 100 seeds
  cargo xtask sim --mutant all --count 400             each rule left out must be noticed within 400 seeds";

/// Kind of simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Power failures at any time; no acknowledged change may be lost.
    Crashes,
    /// Disks with errors and false acknowledgements, in addition to power failures: repaired, or a
    /// clean error, never wrong content.
    Faults,
    /// Scripts in which the n-th request of the disk fails, for every n; a seed is a script.
    Failures,
    /// All sequences of a few operations, with a crash after each request and all its outcomes; a
    /// seed is a sequence.
    Exhaustive,
    /// Every structure of a stored pool damaged in turn; a seed is a pool.
    Corruption,
    /// The NFS server with clients, a network and a medium that fail, in virtual time.
    Nfs,
    /// Replication between two arrays, with a link that fails, crashes and changes of the owner.
    Pair,
}

impl Options {
    /// Options for `cargo xtask ci`.
    pub fn short() -> Self {
        Self {
            what: What::Crashes,
            seed: None,
            count: Some(800),
            steps: 2_000,
            crash_every: None,
            limit: 200,
            length: 2,
            times: 2,
            quiet: true,
            whole: false,
            calls: 600,
            commands: 400,
            mutant: None,
        }
    }

    /// Options for `cargo xtask ci`: seeds of the whole array.
    pub fn whole() -> Self {
        Self { whole: true, count: Some(40), ..Self::short() }
    }

    /// Options for `cargo xtask ci`: seeds of the NFS server, and its rules, disabled in turn.
    pub fn nfs() -> [Self; 2] {
        let seeds = Self { what: What::Nfs, count: Some(100), ..Self::short() };
        [seeds.clone(), Self { count: Some(200), mutant: Some("all".into()), ..seeds }]
    }

    /// Options for `cargo xtask ci`: seeds of replication, and its rules, disabled in turn.
    pub fn pair() -> [Self; 2] {
        let seeds = Self { what: What::Pair, count: Some(200), ..Self::short() };
        [seeds.clone(), Self { count: Some(400), mutant: Some("all".into()), ..seeds }]
    }

    /// Options for `cargo xtask ci`: rules of the layer between protocol and engine, disabled in
    /// turn.
    pub fn whole_mutants() -> Self {
        Self { count: Some(600), mutant: Some("all".into()), ..Self::whole() }
    }

    /// Options for `cargo xtask ci`: simulations other than power failures.
    pub fn others() -> [Self; 4] {
        let of = |what, count| Self { what, count, ..Self::short() };
        [
            of(What::Faults, Some(600)),
            of(What::Failures, None),
            of(What::Exhaustive, None),
            Self { times: 4, ..of(What::Corruption, None) },
        ]
    }

    /// Options for `cargo xtask ci`: rules of the engine, disabled in turn.
    pub fn mutants() -> Self {
        Self { count: Some(1000), mutant: Some("all".into()), ..Self::short() }
    }

    fn range(&self) -> std::ops::Range<u64> {
        let first = self.seed.unwrap_or(u64::from(self.what != What::Exhaustive));
        let all = match self.what {
            What::Crashes | What::Faults | What::Nfs | What::Pair => 100,
            What::Failures => 30,
            What::Exhaustive => sim::sequences(self.length),
            What::Corruption => 8,
        };
        let count = self.count.unwrap_or(if self.seed.is_some() { 1 } else { all });
        first..first.saturating_add(count)
    }

    fn run(&self, seed: u64, story: bool) -> Outcome {
        match self.what {
            // `run` leaves the NFS server and replication to their own programs.
            What::Crashes | What::Nfs | What::Pair => {
                sim::run(RunOptions { story, crash_every: self.crash_every, ..RunOptions::usual(seed, self.steps) })
            }
            What::Faults => {
                sim::run(RunOptions { story, crash_every: self.crash_every, ..RunOptions::faulty(seed, self.steps) })
            }
            What::Failures => sim::failures(seed, self.limit),
            What::Exhaustive => sim::exhaustive(seed, self.length),
            What::Corruption => sim::corruption(seed, self.times),
        }
    }

    /// Command line that runs one seed again.
    fn again(&self, seed: u64) -> String {
        let mut words = match self.what {
            What::Crashes | What::Nfs | What::Pair => format!("cargo xtask sim --seed {seed} --steps {}", self.steps),
            What::Faults => format!("cargo xtask sim faults --seed {seed} --steps {}", self.steps),
            What::Failures => format!("cargo xtask sim failures --seed {seed} --limit {}", self.limit),
            What::Exhaustive => format!("cargo xtask sim exhaustive --seed {seed} --length {}", self.length),
            What::Corruption => format!("cargo xtask sim corruption --seed {seed} --times {}", self.times),
        };
        if let Some(every) = self.crash_every {
            words += &format!(" --crash-every {every}");
        }
        if let Some(mutant) = &self.mutant {
            words += &format!(" --mutant {mutant}");
        }
        words
    }
}

/// Results of all threads.
#[derive(Default)]
struct Found {
    report: Report,
    tally: Tally,
    /// Seeds that are running now.
    running: BTreeSet<u64>,
    failures: Vec<(u64, sim::Failure)>,
}

/// Runs the seeds; one check per seed.
pub fn run(options: &Options) -> Result<Tally> {
    ensure!(
        !options.range().is_empty() && options.steps > 0,
        "nothing to run: --count and --steps must be more than 0"
    );
    if options.whole {
        let commands = ["--commands".to_owned(), options.commands.to_string()];
        return separate(options, "array_sim", commands);
    }
    if options.what == What::Nfs {
        return separate(options, "nfs_sim", ["--calls".to_owned(), options.calls.to_string()]);
    }
    if options.what == What::Pair {
        return separate(options, "pair_sim", ["--steps".to_owned(), options.steps.to_string()]);
    }
    match &options.mutant {
        Some(rule) => mutants(options, rule),
        None => seeds(options),
    }
}

fn seeds(options: &Options) -> Result<Tally> {
    let range = options.range();
    let started = Instant::now();
    let story = range.end - range.start == 1 && !options.quiet;
    let found = run_seeds(options, range.clone(), story, false);
    for (seed, failure) in found.failures.iter().take(PRINTED_FAILURES) {
        tell(options, *seed, failure);
    }
    let count = range.end - range.start;
    let (time, seconds) = (started.elapsed(), started.elapsed().as_secs_f64().max(1e-9));
    let crashes = found.report.crashes + found.report.recovery_crashes;
    println!("{count} seeds in {}: {}", text::duration::measured(time), found.report);
    println!(
        "{:.1} seeds/s, {:.0} crashes/s, {} violations",
        count as f64 / seconds,
        crashes as f64 / seconds,
        found.failures.len()
    );
    Ok(found.tally)
}

/// Prints a failure after minimising it.
fn tell(options: &Options, seed: u64, failure: &sim::Failure) {
    println!("{}", failure.message);
    if failure.steps() == 0 {
        println!("  again: {}", options.again(seed));
        return;
    }
    let (short, story) = failure.minimised();
    println!("  made short, {} of {} steps are left:", short.steps(), failure.steps());
    for line in story {
        println!("  {line}");
    }
    println!("  again: {}", options.again(seed));
}

/// Runs the seeds on all processors.
fn run_seeds(options: &Options, range: std::ops::Range<u64>, story: bool, until_failure: bool) -> Found {
    let started = Instant::now();
    let next = AtomicU64::new(range.start);
    let over = AtomicBool::new(false);
    let found = Mutex::new(Found::default());
    let lock = || found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mutation = options.mutant.clone();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    leave_out(mutation.as_deref());
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= range.end || (until_failure && over.load(Ordering::Relaxed)) {
                            return;
                        }
                        lock().running.insert(seed);
                        let outcome = options.run(seed, story);
                        for line in outcome.story {
                            println!("{line}");
                        }
                        let mut found = lock();
                        found.running.remove(&seed);
                        found.report.add(&outcome.report);
                        found.tally += Tally::one(outcome.failure.is_none());
                        if let Some(failure) = outcome.failure {
                            over.store(true, Ordering::Relaxed);
                            if !until_failure && found.failures.len() < PRINTED_FAILURES && range.end - range.start > 1
                            {
                                println!("{}", failure.message);
                            }
                            found.failures.push((seed, failure));
                        }
                    }
                })
            })
            .collect();
        let mut printed = Instant::now();
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if printed.elapsed() < PROGRESS || until_failure {
                continue;
            }
            printed = Instant::now();
            let found = lock();
            let resume = found.running.first().copied().unwrap_or_else(|| next.load(Ordering::Relaxed)).min(range.end);
            let done = next.load(Ordering::Relaxed).min(range.end) - range.start - found.running.len() as u64;
            let count = range.end - range.start;
            let seconds = started.elapsed().as_secs_f64();
            println!(
                "  {done} of {count} seeds, {} crashes, {} violations, {:.0} s; all below {resume} done: resume with --seed {resume} --count {}",
                found.report.crashes + found.report.recovery_crashes,
                found.failures.len(),
                seconds,
                range.end - resume
            );
        }
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Disables a rule in the pools of this thread.
#[cfg(feature = "mutations")]
fn leave_out(rule: Option<&str>) {
    sim::leave_out(rule);
}

#[cfg(not(feature = "mutations"))]
fn leave_out(_: Option<&str>) {}

/// Checks that each disabled rule is noticed; one check per rule.
#[cfg(feature = "mutations")]
fn mutants(options: &Options, rule: &str) -> Result<Tally> {
    let rules: Vec<_> = sim::rules().collect();
    if rule == "list" {
        for (name, description) in rules {
            println!("{name:22} {description}");
        }
        return Ok(Tally::default());
    }
    let chosen: Vec<_> = rules.iter().filter(|(name, _)| rule == "all" || rule == *name).collect();
    ensure!(!chosen.is_empty(), "there is no rule {rule}; see --mutant list");
    let mut tally = Tally::default();
    for (name, description) in chosen {
        let started = Instant::now();
        let options = Options { mutant: Some((*name).to_owned()), ..options.clone() };
        let found = noticed(&options, name);
        let ran = found.tally.passed + found.tally.failed;
        tally += Tally::one(!found.failures.is_empty());
        match found.failures.iter().min_by_key(|(seed, _)| *seed) {
            None => println!("{name:22} NOT noticed by {ran} seeds: {description}"),
            Some((seed, failure)) => {
                println!(
                    "{name:22} noticed by seed {seed}, after {ran}, {} crashes, {}: {description}",
                    found.report.crashes,
                    text::duration::measured(started.elapsed())
                );
                println!("{:22} {}", "", failure.message);
                if !options.quiet && rule != "all" {
                    leave_out(Some(name));
                    tell(&options, *seed, failure);
                    leave_out(None);
                }
            }
        }
    }
    Ok(tally)
}

/// Seeds that notice a rule which few seeds notice. They are tried first, whatever the range.
#[cfg(feature = "mutations")]
const SELDOM: [(&str, u64); 8] = [
    ("ceiling", 509),
    ("compare-content", 10),
    ("compared-now", 110),
    ("keep-unnamed", 24),
    ("known-leaves", 693),
    ("log-cut", 68),
    ("pins", 269),
    ("reclaim-again", 6599),
];

/// Runs seeds until one notices the disabled rule.
#[cfg(feature = "mutations")]
fn noticed(options: &Options, rule: &str) -> Found {
    let range = options.range();
    let known = SELDOM.iter().find(|(name, _)| *name == rule);
    let found = known.map(|(_, seed)| run_seeds(options, *seed..*seed + 1, false, true));
    match found {
        Some(found) if !found.failures.is_empty() => found,
        _ => run_seeds(options, range, false, true),
    }
}

/// Builds the program of a simulation; returns its command.
fn simulation(name: &str) -> Result<Command> {
    let mut cargo = workspace::cargo();
    // Built as part of the workspace, with the features that its crates have there, so that none is built again.
    cargo.args(["build", "--quiet", "--workspace", "--bin", name]);
    let built = cargo.status().context("cannot run cargo")?;
    ensure!(built.success(), "{name} does not build");
    let mut command = Command::new(workspace::target().join("debug").join(name));
    command.current_dir(workspace::root());
    Ok(command)
}

/// Runs seeds in a separate program: what it simulates is not part of this one.
fn separate(options: &Options, program: &str, size: [String; 2]) -> Result<Tally> {
    let mut command = simulation(program)?;
    let range = options.range();
    command.args(["--seed", &range.start.to_string(), "--count", &(range.end - range.start).to_string()]);
    command.args(size);
    if let Some(rule) = &options.mutant {
        command.args(["--mutant", rule]);
    }
    if !options.quiet {
        command.arg("--story");
    }
    let status = command.status().context("cannot run the simulation")?;
    Ok(Tally::one(status.success()))
}

/// Rules cannot be disabled in this build.
#[cfg(not(feature = "mutations"))]
fn mutants(_: &Options, _: &str) -> Result<Tally> {
    anyhow::bail!("this build cannot leave rules out: it is without the feature `mutations`")
}
