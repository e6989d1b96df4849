//! Simulation of the real pool engine on a simulated disk, from a seed, compared with a model.
//!
//! A run draws operations at all alignments, lets them overlap, and cuts the power at any time,
//! also during recovery. The engine reports the order in which operations took effect, and the log
//! record up to which it recovered. The model then knows the exact content: a prefix of the effects
//! that includes everything acknowledged. Reads are compared exactly, with the content at the
//! instant at which they took effect. After every crash the content, the mapped counts and all
//! reference counts are compared.
//!
//! A seed determines a run completely. Drawn steps are recorded, so that a failing run can be
//! replayed with steps left out, and is minimised.
#![forbid(unsafe_code)]

mod corruption;
mod exhaustive;
mod failures;
mod generate;
mod guard;
mod minimise;
mod model;
pub mod regressions;
mod run;
mod step;
mod transaction;
mod world;

pub use corruption::corruption;
pub use exhaustive::{exhaustive, sequences};
pub use failures::failures;
use generate::Generator;
use run::{End, Run};
use step::{Numbered, Step};
pub use world::Faults;
use world::World;

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Seed of all random decisions.
    pub seed: u64,
    /// Number of steps.
    pub steps: u64,
    /// Average number of steps between crashes; `None`: the seed determines it.
    pub crash_every: Option<u64>,
    /// Whether to record a line for every step.
    pub story: bool,
    /// Faults of the disk, in addition to power failures.
    pub faults: Faults,
}

impl RunOptions {
    /// Usual mix for a seed: several sizes of disk, log and memory, and preferences for some
    /// operations.
    pub fn usual(seed: u64, steps: u64) -> Self {
        Self { seed, steps, crash_every: None, story: false, faults: Faults::None }
    }

    /// Mix with disk faults: for odd seeds requests fail; for even ones stored data is damaged, or
    /// flushes have no effect.
    pub fn faulty(seed: u64, steps: u64) -> Self {
        let faults = [Faults::Damage, Faults::Errors, Faults::Lies, Faults::Errors][(seed % 4) as usize];
        Self { faults, ..Self::usual(seed, steps) }
    }
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Operations submitted.
    pub operations: u64,
    /// Operations that failed for lack of space.
    pub full: u64,
    /// Crashes.
    pub crashes: u64,
    /// Crashes inside recovery.
    pub recovery_crashes: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Records replayed.
    pub replayed: u64,
    /// Effects lost in a crash; none of them was acknowledged.
    pub lost: u64,
    /// Operations that failed because of faults.
    pub failed: u64,
    /// Pools refused because of damage.
    pub refused: u64,
    /// Requests affected by faults.
    pub faults: u64,
    /// Cases of an enumeration: crash states compared, or places damaged.
    pub cases: u64,
}

impl Report {
    /// Adds another run's counters.
    pub fn add(&mut self, other: &Report) {
        self.operations += other.operations;
        self.full += other.full;
        self.crashes += other.crashes;
        self.recovery_crashes += other.recovery_crashes;
        self.checkpoints += other.checkpoints;
        self.replayed += other.replayed;
        self.lost += other.lost;
        self.failed += other.failed;
        self.refused += other.refused;
        self.faults += other.faults;
        self.cases += other.cases;
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} operations, {} crashes, {} more inside recovery, {} checkpoints, {} records replayed, {} unacknowledged effects lost, {} operations refused for space",
            self.operations, self.crashes, self.recovery_crashes, self.checkpoints, self.replayed, self.lost, self.full
        )?;
        if self.cases > 0 {
            write!(f, ", {} cases", self.cases)?;
        }
        if self.failed > 0 || self.refused > 0 {
            write!(f, ", {} failed by faults, {} pools refused as damaged", self.failed, self.refused)?;
        }
        Ok(())
    }
}

/// Log of a run, with a line for each step, if requested.
#[derive(Debug, Default)]
pub(crate) struct Story(Option<Vec<String>>);

impl Story {
    fn new(on: bool) -> Self {
        Self(on.then(Vec::new))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn tell(&mut self, line: String) {
        if let Some(lines) = &mut self.0 {
            lines.push(line);
        }
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Counters, up to the failure if there was one.
    pub report: Report,
    /// Log of the steps, if requested.
    pub story: Vec<String>,
    /// Violation, if any.
    pub failure: Option<Failure>,
}

/// Violation, with the steps that lead to it.
#[derive(Debug)]
pub struct Failure {
    /// Description and place of the violation.
    pub message: String,
    world: World,
    steps: Vec<Numbered>,
}

impl Failure {
    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Searches for a failure, this one or another, with as few steps as possible; returns it with
    /// its log.
    pub fn minimised(&self) -> (Failure, Vec<String>) {
        let mut fails = |steps: &[Numbered]| replay(&self.world, steps, false).failure.is_some();
        let steps = minimise::minimise(self.steps.clone(), &mut fails);
        let outcome = replay(&self.world, &steps, true);
        let message = outcome.failure.map_or_else(|| self.message.clone(), |failure| failure.message);
        (Failure { message, world: self.world.clone(), steps }, outcome.story)
    }
}

/// Rules of the engine that can be disabled: name and description.
#[cfg(feature = "mutations")]
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    pool::Mutation::of_the_core().map(|rule| (rule.name(), rule.description()))
}

/// Disables the rule with this name in every pool of this thread; none for `None` or an unknown
/// name.
#[cfg(feature = "mutations")]
pub fn leave_out(rule: Option<&str>) {
    pool::leave_out(pool::Mutation::ALL.into_iter().find(|known| Some(known.name()) == rule));
}

/// Runs one seed.
pub fn run(options: RunOptions) -> Outcome {
    let world = World::of(options.seed, options.crash_every);
    let world = if options.faults == Faults::None { world } else { world.with_faults(options.faults) };
    generated(world, options.steps, options.story)
}

/// Draws and executes `steps` steps in a world.
fn generated(world: World, steps: u64, story: bool) -> Outcome {
    let mut generator = Generator::new(world.seed);
    let mut number = 0;
    drive(world, story, &mut |run| {
        number += 1;
        (number <= steps).then(|| Numbered { number, step: run.draw(&mut generator) })
    })
}

/// Executes these steps.
fn replay(world: &World, steps: &[Numbered], story: bool) -> Outcome {
    let mut steps = steps.iter();
    drive(world.clone(), story, &mut |_| steps.next().cloned())
}

/// Executes what `next` returns, and compares everything at the end.
fn drive(world: World, story: bool, next: &mut dyn FnMut(&Run) -> Option<Numbered>) -> Outcome {
    let mut run = match guard::catch(|| Run::new(world.clone(), Story::new(story))) {
        Ok(run) => run,
        Err(message) => {
            let failure = Some(Failure { message, world, steps: Vec::new() });
            return Outcome { report: Report::default(), story: Vec::new(), failure };
        }
    };
    let mut executed = Vec::new();
    let mut last = 0;
    let result = guard::catch(|| {
        while run.end == End::Open
            && let Some(step) = next(&run)
        {
            last = step.number;
            executed.push(step);
            if let Some(step) = executed.last() {
                run.execute(step).map_err(|error| format!("step {}: {error}", step.number))?;
            }
        }
        if run.end == End::Open {
            run.finish(last).map_err(|error| format!("at the end: {error}"))?;
        }
        Ok(())
    });
    run.report.faults = run.disk.counters().faults;
    let message = result.err().map(|error| format!("seed {}, {error}", world.seed));
    if let Some(message) = &message {
        run.story.tell(format!("        VIOLATION: {message}"));
    }
    Outcome {
        report: run.report,
        story: run.story.0.take().unwrap_or_default(),
        failure: message.map(|message| Failure { message, world, steps: executed }),
    }
}

impl Run {
    /// Ends a run: waits, cuts the power, and compares everything.
    fn finish(&mut self, number: u64) -> Result<(), String> {
        let end = |step| Numbered { number: number + 1, step };
        if self.troubled {
            self.execute(&end(Step::Heal))?;
        }
        self.execute(&end(Step::Drain))?;
        self.story.tell("        power failure, and a comparison of everything".into());
        self.crash(&[], true, number + 2)?;
        self.report.checkpoints += self.core.counters().checkpoints;
        Ok(())
    }
}
