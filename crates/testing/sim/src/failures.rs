//! The n-th failure: a script is run repeatedly, and each time another request of the disk, or
//! another search for free blocks, fails: the first, the second, and so on, once or from then on.
//! Whatever fails, the pool reports it, and holds an exact prefix when it is opened again. SQLite
//! is tested like this.

use crate::generate::Generator;
use crate::run::Run;
use crate::step::{Numbered, PlannedFault, Step};
use crate::world::World;
use crate::{Outcome, Report, Story, drive, guard};
use media::{FaultEffect, FaultOperation};

/// Steps of one script.
const STEPS: u64 = 60;

/// Request that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Disk(FaultOperation, FaultEffect),
    Allocation,
}

const VICTIMS: &[Victim] = &[
    Victim::Disk(FaultOperation::Read, FaultEffect::Error),
    Victim::Disk(FaultOperation::Write, FaultEffect::Error),
    Victim::Disk(FaultOperation::Write, FaultEffect::ErrorAfterEffect),
    Victim::Disk(FaultOperation::Write, FaultEffect::NoSpace),
    Victim::Disk(FaultOperation::Flush, FaultEffect::Error),
    Victim::Allocation,
];

/// Makes searches for free blocks fail; false in a build without this feature.
#[cfg(feature = "mutations")]
fn fail_allocation(plan: Option<(u64, bool)>) -> bool {
    pool::fail_allocation(plan);
    true
}

#[cfg(not(feature = "mutations"))]
fn fail_allocation(_: Option<(u64, bool)>) -> bool {
    false
}

/// Generates the steps of a script: the usual mix, with a crash in the middle.
fn script(seed: u64) -> Result<(World, Vec<Numbered>), String> {
    let mut world = World::tiny(seed);
    world.delay = [0, 64, 256][(seed % 3) as usize];
    let mut generator = Generator::new(seed ^ 0x0073_6372_6970);
    let mut steps = Vec::new();
    guard::catch(|| {
        let mut run = Run::new(world.clone(), Story::default())?;
        for number in 1..=STEPS {
            let step = if number == STEPS / 2 { Step::Crash { inside: Vec::new() } } else { run.draw(&mut generator) };
            steps.push(Numbered { number, step });
            if let Some(step) = steps.last() {
                run.execute(step)?;
            }
        }
        Ok(())
    })?;
    Ok((world, steps))
}

/// Runs one script, with each of its first `limit` requests of every kind failing in turn.
pub fn failures(seed: u64, limit: u64) -> Outcome {
    let mut report = Report::default();
    let (world, steps) = match script(seed) {
        Ok(script) => script,
        Err(message) => {
            let failure = crate::Failure { message, world: World::tiny(seed), steps: Vec::new() };
            return Outcome { report, story: Vec::new(), failure: Some(failure) };
        }
    };
    for victim in VICTIMS {
        for sticky in [false, true] {
            for after in 0..limit {
                let mut with_fault = Vec::with_capacity(steps.len() + 1);
                if let Victim::Disk(operation, effect) = *victim {
                    let strike = PlannedFault { operation, effect, after, sticky, blocks: None };
                    with_fault.push(Numbered { number: 0, step: Step::Fault(strike) });
                }
                let allocation = *victim == Victim::Allocation;
                // A promise cannot be kept when no search for free blocks succeeds any more.
                let left_out = |step: &&Numbered| allocation && sticky && step.step.reserves();
                with_fault.extend(steps.iter().filter(|step| !left_out(step)).cloned());
                if !fail_allocation(allocation.then_some((after, sticky))) && allocation {
                    break;
                }
                let mut each = with_fault.into_iter();
                let outcome = drive(world.clone(), false, &mut |_| each.next());
                fail_allocation(None);
                report.add(&outcome.report);
                report.cases += 1;
                if let Some(mut failure) = outcome.failure {
                    let when = if sticky { "from then on" } else { "once" };
                    failure.message = format!("{} ({victim:?} fails after {after}, {when})", failure.message);
                    return Outcome { report, story: Vec::new(), failure: Some(failure) };
                }
                if matches!(victim, Victim::Disk(..)) && outcome.report.faults == 0 {
                    // The script has no more requests of this kind.
                    break;
                }
            }
        }
    }
    Outcome { report, story: Vec::new(), failure: None }
}
