//! `cargo xtask race`: several initiators write to one block through two portals, with COMPARE AND
//! WRITE and all other writing commands; an acknowledged update that is lost fails the run. Then
//! SANITIZE begins while all of them write: no write may land after it. `conformance::race` and
//! `loads::sanitize_race` have the checks.

use crate::tally::Tally;
use crate::threads::Threads;
use anyhow::{Context, Result, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
use clap::Args;
use conformance::race;
use conformance::url::Url;
use loads::sanitize_race;
use std::path::Path;

/// Numbers of rounds and initiators.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; in each, every initiator sends a few concurrent commands.
    #[arg(long, default_value_t = 100_000)]
    rounds: u64,
    /// Initiators, distributed over the portals in turn.
    #[arg(long, default_value_t = 4)]
    initiators: usize,
    /// Rounds with SANITIZE.
    #[arg(long, default_value_t = 100)]
    sanitize_rounds: u64,
    /// Seed of the choice of commands.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
}

impl Options {
    /// Options for `cargo xtask ci`.
    pub(crate) fn short() -> Self {
        Self { rounds: 5_000, initiators: 4, sanitize_rounds: 20, seed: 1, threads: Threads::one() }
    }
}

/// Starts an array and runs the race; one check per round.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    ensure!(options.initiators >= 2, "a race needs at least two initiators");
    let directory = tempfile::Builder::new().prefix("windlass-race-").tempdir()?;
    let mut array = Array::start(ArrayOptions {
        executable: windlass.to_path_buf(),
        state_directory: directory.path().join("array"),
        portals: vec![free_portal()?, free_portal()?],
        pool_size: "1G".into(),
        arguments: options.threads.arguments(),
    })?;
    let volume = array.create_volume("race", "64M")?;
    let urls = volume.urls.iter().cycle().take(options.initiators);
    let urls =
        urls.map(|url| url.parse::<Url>().with_context(|| format!("{url} is no URL"))).collect::<Result<Vec<_>>>()?;
    let mut race = race::RaceOptions::new(urls);
    race.rounds = options.rounds;
    race.seed = options.seed;
    let most = race::MAX_OPERATIONS / options.initiators;
    ensure!(most > 0, "at most {} initiators can race", race::MAX_OPERATIONS);
    race.commands_each = race.commands_each.min(most);
    let report =
        race::run(&race).with_context(|| format!("the race stopped; the array's log ends:\n{}", array.log_end()))?;
    println!("{}", report.to_string().trim_end());
    let failed = usize::try_from(report.violations)?;
    let passed = usize::try_from(report.rounds)?.saturating_sub(failed);
    let sanitized = sanitize(&array, race.urls, options)?;
    array.stop()?;
    Ok(Tally { passed: passed + sanitized.passed, failed: failed + sanitized.failed })
}

/// Races SANITIZE against all other commands on the same volume; the second logical unit is its
/// own. One check per round.
fn sanitize(array: &Array, urls: Vec<Url>, options: &Options) -> Result<Tally> {
    if options.sanitize_rounds == 0 {
        return Ok(Tally { passed: 0, failed: 0 });
    }
    let other = array.create_volume("race-other", "64M")?;
    let mut race = sanitize_race::RaceOptions::new(urls);
    race.other = Some(other.url().parse().with_context(|| format!("{} is no URL", other.url()))?);
    race.rounds = options.sanitize_rounds;
    race.seed = options.seed;
    let report = sanitize_race::run(&race)
        .with_context(|| format!("the race with SANITIZE stopped; the array's log ends:\n{}", array.log_end()))?;
    println!("{}", report.to_string().trim_end());
    ensure!(report.refused > 0, "SANITIZE was never in the way of anything: the race has shown nothing");
    let failed = usize::try_from(report.violations.min(report.rounds))?;
    Ok(Tally { passed: usize::try_from(report.rounds)?.saturating_sub(failed), failed })
}
