//! Bounded exhaustive workloads: all short sequences over a small alphabet of operations, with a
//! crash after each request that the disk completes, and all outcomes of each crash. Most known
//! bugs of file systems need no more than three operations on a small, new one (CrashMonkey and
//! ACE, OSDI 2018).

use crate::run::Run;
use crate::step::{Catalog, Numbered, Pattern, Request, Step};
use crate::world::World;
use crate::{Failure, Outcome, Report, Story, guard};
use media::Fate;
use random::Random;

/// Most pending writes of which every subset is tried; of more, only samples.
const ALL_SUBSETS: usize = 4;
/// Subsets tried of more pending writes.
const SAMPLES: u64 = 10;
/// Most requests of the disk in one sequence.
const PATIENCE: u32 = 400;

/// Elements of a sequence: 14 operations with 2 to 4 sets of parameters each.
fn alphabet() -> Vec<Step> {
    let write = |object, start, length, tag, pattern, forced| {
        Step::Submit(Request::Write { object, start, length, tag, pattern, forced })
    };
    let compare = |start, length, matching| {
        Step::Submit(Request::CompareAndWrite { object: 16, start, length, tag: 90, matching, forced: false })
    };
    let zero =
        |ranges: &[(u64, u64)]| Step::Submit(Request::Zero { object: 16, ranges: ranges.to_vec(), forced: false });
    let share =
        |source, from, destination, to, length| Step::Submit(Request::Clone { source, from, destination, to, length });
    let catalog = |change| Step::Submit(Request::Catalog(vec![change]));
    let batch = |changes: &[Catalog]| Step::Submit(Request::Catalog(changes.to_vec()));
    vec![
        // small writes: a whole block, part of a block, over a hole, zeros, to an object that
        // shares
        write(16, 0, 8, 80, Pattern::Data, false),
        write(16, 3, 2, 81, Pattern::Data, false),
        write(16, 30, 20, 82, Pattern::Data, true),
        write(16, 8, 8, 83, Pattern::Zeros, false),
        write(17, 0, 16, 84, Pattern::Data, false),
        // large writes
        write(16, 0, 72, 85, Pattern::Data, false),
        write(17, 5, 70, 86, Pattern::Mixed, false),
        // compare and write
        compare(0, 8, true),
        compare(6, 3, true),
        compare(0, 1, false),
        // zero, unmap
        zero(&[(0, 8)]),
        zero(&[(3, 14)]),
        zero(&[(0, 1), (8, 8), (20, 80)]),
        // share ranges: within an object, overlapping, to another object, at the edges
        share(16, 0, 16, 64, 8),
        share(16, 0, 16, 8, 24),
        share(17, 0, 16, 0, 40),
        share(16, 3, 17, 11, 20),
        // catalog
        catalog(Catalog::Create { id: 30, sectors: 17 }),
        catalog(Catalog::Create { id: 31, sectors: 2100 }),
        catalog(Catalog::Clone { source: 16, id: 32, snapshot: false }),
        catalog(Catalog::Clone { source: 16, id: 33, snapshot: true }),
        catalog(Catalog::Delete { id: 16 }),
        catalog(Catalog::Delete { id: 18 }),
        catalog(Catalog::Resize { id: 16, sectors: 8 }),
        catalog(Catalog::Resize { id: 16, sectors: 2500 }),
        catalog(Catalog::WriteCache { id: 16, enabled: true }),
        catalog(Catalog::WriteCache { id: 17, enabled: false }),
        catalog(Catalog::Put { key: 1, tag: 87, bytes: 10 }),
        catalog(Catalog::Put { key: 2, tag: 88, bytes: 5000 }),
        catalog(Catalog::Remove { key: 1 }),
        batch(&[
            Catalog::Clone { source: 17, id: 34, snapshot: true },
            Catalog::Delete { id: 17 },
            Catalog::Clone { source: 34, id: 35, snapshot: false },
        ]),
        // other operations
        Step::Submit(Request::Flush),
        Step::Submit(Request::Read { object: 16, start: 0, length: 40 }),
        Step::Submit(Request::Provisioning { object: 16, start: 0, limit: 8 }),
        Step::Submit(Request::Unique { object: 16 }),
        Step::Checkpoint,
        Step::Pump { background: 8 },
        Step::Crash { inside: Vec::new() },
    ]
}

/// Number of sequences of this length.
pub fn sequences(length: u32) -> u64 {
    (alphabet().len() as u64).pow(length) * 2
}

/// Creates the pool from which every sequence starts: a volume, one that shares with it and has the
/// write cache on, a snapshot, a document.
fn prepared(world: World, report_story: bool) -> Result<Run, String> {
    let mut run = Run::new(world, Story::new(report_story))?;
    let steps = [
        Step::Submit(Request::Catalog(vec![Catalog::Create { id: 16, sectors: 100 }])),
        Step::Submit(Request::Write {
            object: 16,
            start: 0,
            length: 40,
            tag: 70,
            pattern: Pattern::Data,
            forced: false,
        }),
        Step::Drain,
        Step::Submit(Request::Catalog(vec![Catalog::Clone { source: 16, id: 17, snapshot: false }])),
        Step::Submit(Request::Catalog(vec![Catalog::WriteCache { id: 17, enabled: true }])),
        Step::Submit(Request::Write {
            object: 17,
            start: 8,
            length: 8,
            tag: 71,
            pattern: Pattern::Data,
            forced: false,
        }),
        Step::Submit(Request::Catalog(vec![Catalog::Clone { source: 17, id: 18, snapshot: true }])),
        Step::Submit(Request::Catalog(vec![Catalog::Put { key: 1, tag: 72, bytes: 100 }])),
        Step::Drain,
        Step::Checkpoint,
        Step::Complete { count: 40, background: 0 },
        Step::Submit(Request::Write {
            object: 16,
            start: 16,
            length: 8,
            tag: 73,
            pattern: Pattern::Data,
            forced: false,
        }),
        Step::Drain,
    ];
    for (number, step) in (1..).zip(steps) {
        run.execute(&Numbered { number, step })?;
    }
    if run.world.index_from > 0 {
        // From here on documents are stored as an index.
        run.execute(&Numbered { number: 50, step: Step::Crash { inside: Vec::new() } })?;
    }
    Ok(run)
}

/// Runs one sequence. Odd sequences wait for each operation before the next; even ones submit all
/// at once.
pub fn exhaustive(sequence: u64, length: u32) -> Outcome {
    let alphabet = alphabet();
    let waits = sequence % 2 == 1;
    let mut rest = sequence / 2;
    let mut steps = Vec::new();
    for _ in 0..length {
        steps.push(alphabet[(rest % alphabet.len() as u64) as usize].clone());
        rest /= alphabet.len() as u64;
    }
    let mut world = World::tiny(sequence);
    world.log_bytes = 128 << 10;
    world.index_from = if sequence.is_multiple_of(3) { 2 } else { 0 };
    let mut report = Report::default();
    let result = guard::catch(|| {
        let mut run = prepared(world.clone(), false)?;
        run.keep_history();
        let random = Random::new(sequence);
        let last = steps.len() - 1;
        for (i, step) in steps.iter().enumerate() {
            let crash = matches!(step, Step::Crash { .. });
            run.execute(&Numbered { number: 100 + i as u64, step: step.clone() })?;
            if crash {
                run.keep_history();
            }
            if waits && i < last {
                run.drain()?;
            }
        }
        // The last operation, or all: one request at a time, with a crash after each.
        for _ in 0..PATIENCE {
            report.cases += crashes(&run, &random)?;
            if run.is_idle() {
                break;
            }
            run.advance()?;
        }
        run.drain()?;
        run.finish(200)?;
        report.add(&run.report);
        Ok(())
    });
    let failure = result.err().map(|error| {
        let words: Vec<_> = steps.iter().map(ToString::to_string).collect();
        Failure {
            message: format!("sequence {sequence} of length {length}: {}: {error}", words.join("; then ")),
            world,
            steps: Vec::new(),
        }
    });
    Outcome { report, story: Vec::new(), failure }
}

/// Compares every outcome of a crash now, or samples of them. Returns the number compared.
fn crashes(run: &Run, random: &Random) -> Result<u64, String> {
    let pending = run.disk.pending_writes();
    let n = pending.len();
    let all = n <= ALL_SUBSETS;
    let subsets = if all { 1u64 << n } else { SAMPLES + 2 };
    for subset in 0..subsets {
        let mask = match subset {
            _ if all => subset,
            0 => 0,
            1 => u64::MAX,
            _ => random.next(),
        };
        // One of the surviving writes may be torn.
        let torn = (!all).then(|| random.below(2 * n as u64));
        let mut at = 0u64;
        let disk = run.disk.crashed_copy(|_| {
            let survives = mask >> (at % 64) & 1 == 1;
            let tear = torn == Some(at);
            at += 1;
            match (survives, tear) {
                (_, true) => Fate::TornSectors,
                (true, false) => Fate::Applied,
                (false, false) => Fate::Lost,
            }
        });
        run.fork(disk, false)
            .map_err(|error| format!("{error} (crash with {n} pending writes, {mask:x} of them applied)"))?;
    }
    Ok(subsets)
}

impl Run {
    /// Whether no request is outstanding and the engine has no work.
    fn is_idle(&self) -> bool {
        media::Disk::outstanding(&self.disk) == 0 && self.core.idle()
    }

    /// Completes one request of the disk and runs the engine.
    fn advance(&mut self) -> Result<(), String> {
        media::Disk::wait(&mut self.disk);
        self.turn(0)
    }
}
