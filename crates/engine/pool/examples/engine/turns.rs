//! How long a turn of the pool takes while checkpoints of many pages, counts and blocks are in flight.

use crate::memory_disk::MemoryDisk;
use crate::rig::{Failed, Rig};
use crate::{DEPTH, GIB, say};
use bytes::Bytes;
use pool::{Operation, TurnWork};
use random::Random;
use std::time::{Duration, Instant};

/// Turns of one kind.
#[derive(Default)]
struct Turns {
    took: Vec<Duration>,
}

impl Turns {
    fn say(mut self, name: &str) {
        self.took.sort_unstable();
        let at = |part: f64| self.took.get((self.took.len() as f64 * part) as usize).copied().unwrap_or_default();
        let longest = self.took.last().copied().unwrap_or_default();
        say(&format!("{name}-turns"), self.took.len() as f64, "");
        say(&format!("{name}-p50"), at(0.5).as_secs_f64() * 1e3, "ms");
        say(&format!("{name}-p99.9"), at(0.999).as_secs_f64() * 1e3, "ms");
        say(&format!("{name}-longest"), longest.as_secs_f64() * 1e3, "ms");
    }
}

/// First writes of 4 KiB at random places of so many GiB in memory. Each changes a page and counts of
/// its own, as long as there are few. Says how long the turns took in which an epoch ended, those that
/// sealed or released, and the others, and the most work of a turn as counted.
pub fn turns(gib: u64, writes: u64) -> Result<(), Failed> {
    let mut rig = Rig::new(MemoryDisk::new(2 * gib * GIB), 1 << 30)?;
    let volume = rig.create(gib * GIB)?;
    let numbers = Random::new(88_172_645_463_325_252);
    let data = Bytes::from(vec![5; 4096]);
    let (mut ends, mut slices, mut others) = (Turns::default(), Turns::default(), Turns::default());
    let mut most = TurnWork::default();
    let before = rig.core.counters();
    for _ in 0..writes / DEPTH {
        for _ in 0..DEPTH {
            let offset = numbers.below(gib * GIB / 4096) * 4096;
            rig.submit(Operation::Write { object: volume, offset, data: data.clone(), forced: false });
        }
        loop {
            let begun = Instant::now();
            let finished = rig.pump(0)?;
            let took = begun.elapsed();
            let work = rig.core.turn_work();
            let kind = if work.ended {
                &mut ends
            } else if work.frozen > 0 {
                &mut slices
            } else {
                &mut others
            };
            kind.took.push(took);
            most = TurnWork {
                blocks: most.blocks.max(work.blocks),
                steps: most.steps.max(work.steps),
                walked: most.walked.max(work.walked),
                frozen: most.frozen.max(work.frozen),
                placed: most.placed.max(work.placed),
                ended: true,
            };
            if rig.outstanding() == 0 {
                break;
            }
            if finished == 0 && !rig.core.wants_turn() {
                rig.wait();
            }
        }
    }
    let after = rig.core.counters();
    let checkpoints = (after.checkpoints - before.checkpoints).max(1);
    say("checkpoints", checkpoints as f64, "");
    say("pages", ((after.pages_written - before.pages_written) / checkpoints) as f64, "each");
    ends.say("end");
    slices.say("slice");
    others.say("other");
    let counted = [
        ("blocks", most.blocks),
        ("steps", most.steps),
        ("walked", most.walked),
        ("frozen", most.frozen),
        ("placed", most.placed),
    ];
    for (name, count) in counted {
        say(&format!("most-{name}"), count as f64, "");
    }
    Ok(())
}
