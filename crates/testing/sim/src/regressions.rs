//! Bugs that the simulation has found in the engine, each as the minimised steps of its run, with a
//! description. The tests of `tests/regressions.rs` run them: a unit test would have the engine
//! compiled once more.

use crate::run::{End, Run};
use crate::step::{Catalog, Numbered, Pattern, PlannedFault, Request, Step};
use crate::world::World;
use crate::{Outcome, Story, drive};
use media::{FaultEffect, FaultOperation};

/// All of them: name, and a function that panics when the bug is there again.
pub const ALL: &[(&str, fn())] = &[
    ("a_clone_in_the_same_commit_as_a_resize_shares", a_clone_in_the_same_commit_as_a_resize_shares),
    ("a_resize_in_the_same_commit_as_a_clone_is_planned", a_resize_in_the_same_commit_as_a_clone_is_planned),
    ("a_volume_is_resized_once_in_a_commit", a_volume_is_resized_once_in_a_commit),
    ("an_operation_larger_than_memory_ends", an_operation_larger_than_memory_ends),
    ("an_unreadable_page_does_not_make_the_engine_spin", an_unreadable_page_does_not_make_the_engine_spin),
    ("a_disk_that_lied_about_a_flush_does_not_turn_time_back", a_disk_that_lied_about_a_flush_does_not_turn_time_back),
    ("a_healthy_pool_is_not_refused", a_healthy_pool_is_not_refused),
    ("a_nearly_full_pool_keeps_what_a_checkpoint_needs", a_nearly_full_pool_keeps_what_a_checkpoint_needs),
];

/// Runs the regression with this name.
pub fn run(name: &str) {
    match ALL.iter().find(|(known, _)| *known == name) {
        Some((_, run)) => run(),
        None => panic!("there is no regression {name}"),
    }
}

fn create(id: u64, sectors: u64) -> Step {
    catalog(&[Catalog::Create { id, sectors }])
}

fn catalog(changes: &[Catalog]) -> Step {
    Step::Submit(Request::Catalog(changes.to_vec()))
}

fn write(object: u64, start: u64, length: u64) -> Step {
    Step::Submit(Request::Write { object, start, length, tag: 7, pattern: Pattern::Data, forced: true })
}

fn crash() -> Step {
    Step::Crash { inside: Vec::new() }
}

/// Steps of a complete checkpoint.
fn checkpoint() -> [Step; 2] {
    [Step::Checkpoint, Step::Complete { count: 100, background: 0 }]
}

fn outcome(world: World, steps: impl IntoIterator<Item = Step>) -> Outcome {
    let mut steps = (1..).zip(steps).map(|(number, step)| Numbered { number, step });
    drive(world, true, &mut |_| steps.next())
}

fn holds(world: World, steps: impl IntoIterator<Item = Step>) {
    let outcome = outcome(world, steps);
    if let Some(failure) = outcome.failure {
        panic!("{}\n{}", failure.message, outcome.story.join("\n"));
    }
}

/// Bug: a list of catalog changes cloned a volume after shrinking it. The path that the shrinking
/// had made exclusive was still recorded as exclusive, and the next write changed the clone too.
fn a_clone_in_the_same_commit_as_a_resize_shares() {
    let changes = [
        Catalog::Clone { source: 24, id: 28, snapshot: false },
        Catalog::Resize { id: 24, sectors: 40 },
        Catalog::Clone { source: 24, id: 29, snapshot: false },
    ];
    holds(World::tiny(1), [create(24, 64), write(24, 0, 64), Step::Drain, catalog(&changes), write(24, 0, 8)]);
}

/// Bug: a list of catalog changes shrank a volume that it had cloned before. The plan took the
/// volume's pages as exclusive, and the pool stopped because of this inconsistency; after a crash
/// it could not be opened.
fn a_resize_in_the_same_commit_as_a_clone_is_planned() {
    let mut steps = vec![create(24, 800), write(24, 0, 600), Step::Drain];
    steps.extend(checkpoint());
    steps.extend([
        crash(),
        catalog(&[Catalog::Clone { source: 24, id: 25, snapshot: true }, Catalog::Resize { id: 24, sectors: 40 }]),
    ]);
    holds(World::tiny(1), steps);
}

/// Bug: a list of catalog changes enlarged a volume and shrank it again. Only the state before the
/// first change was planned, and the pool stopped.
fn a_volume_is_resized_once_in_a_commit() {
    let mut steps = vec![create(24, 8), write(24, 0, 8), Step::Drain];
    steps.extend(checkpoint());
    steps.extend([
        crash(),
        catalog(&[Catalog::Resize { id: 24, sectors: 27 }, Catalog::Resize { id: 24, sectors: 16 }]),
    ]);
    holds(World::tiny(1), steps);
}

/// Bug: with little memory, the pages that an operation had waited for were evicted before it had
/// all of them.
fn an_operation_larger_than_memory_ends() {
    let mut world = World::tiny(1);
    world.disk_blocks += 2048;
    let mut steps = vec![create(24, 400_000)];
    for leaf in 0..150 {
        steps.push(write(24, leaf * 2048, 8));
        steps.push(Step::Drain);
    }
    steps.extend(checkpoint());
    steps.push(crash());
    steps.push(Step::Submit(Request::Provisioning { object: 24, start: 0, limit: 400 }));
    steps.push(Step::Drain);
    holds(world, steps);
}

/// Bug: when a page of the pool itself could not be read, a checkpoint requested it repeatedly and
/// blocked all other work.
fn an_unreadable_page_does_not_make_the_engine_spin() {
    let mut world = World::tiny(1);
    world.delay = 0;
    let mut steps = vec![create(24, 64), catalog(&[Catalog::Put { key: 1, tag: 1, bytes: 9000 }]), Step::Drain];
    steps.extend(checkpoint());
    for kept in [64, 4096] {
        // Documents are read at the start, but the pages above them are evicted when other pages
        // need the memory.
        steps.extend([crash(), create(25 + kept, 400_000)]);
        for leaf in 0..60 {
            steps.extend([write(25 + kept, leaf * 2048, 8), Step::Drain]);
        }
        steps.extend(checkpoint());
        steps.push(Step::Fault(PlannedFault {
            operation: FaultOperation::Read,
            effect: FaultEffect::Error,
            after: 0,
            sticky: true,
            blocks: Some((4096, 5000)),
        }));
        steps.push(catalog(&[Catalog::Put { key: 1, tag: 2, bytes: 9000 }, Catalog::Delete { id: 24 }]));
        steps.extend(checkpoint());
        steps.push(Step::Heal);
    }
    holds(world, steps);
}

/// Bug: a disk dropped the superblocks that a flush had covered. The older root led into a part of
/// the log that a later lap had overwritten; that was taken as the end of the log, and later
/// acknowledged changes were lost silently.
fn a_disk_that_lied_about_a_flush_does_not_turn_time_back() {
    for seed in 0..8 {
        let mut steps = vec![create(24, 128), write(24, 0, 64), Step::Drain];
        steps.push(Step::Fault(PlannedFault {
            operation: FaultOperation::Flush,
            effect: FaultEffect::Lost,
            after: 0,
            sticky: true,
            blocks: None,
        }));
        for _ in 0..60 {
            steps.extend([write(24, 0, 64), Step::Drain]);
        }
        steps.push(crash());
        holds(World::tiny(seed), steps);
    }
}

/// A run without faults must not end with a refused pool.
fn a_healthy_pool_is_not_refused() {
    let run = || -> Result<End, String> {
        let mut run = Run::new(World::tiny(3), Story::default())?;
        for (number, step) in (1..).zip([create(24, 64), write(24, 0, 64), crash()]) {
            run.execute(&Numbered { number, step })?;
        }
        Ok(run.end)
    };
    assert_eq!(run(), Ok(End::Open));
}

/// Bug (seed 101678): a discard took so many blocks of a nearly full pool that the next checkpoint
/// found none, and the pool stopped.
fn a_nearly_full_pool_keeps_what_a_checkpoint_needs() {
    let write = |object, start, length, tag, pattern| {
        Step::Submit(Request::Write { object, start, length, tag, pattern, forced: false })
    };
    let clone = |source, id, snapshot| catalog(&[Catalog::Clone { source, id, snapshot }]);
    let steps = [
        (11, create(17, 300_001)),
        (56, clone(17, 18, false)),
        (57, write(18, 247_808, 1928, 14, Pattern::Data)),
        (97, clone(17, 22, false)),
        (98, clone(22, 23, true)),
        (104, clone(23, 24, false)),
        (170, write(24, 203_920, 2328, 43, Pattern::Data)),
        (200, create(28, 300_001)),
        (201, write(28, 0, 4, 47, Pattern::Data)),
        (230, clone(28, 30, false)),
        (236, write(30, 149_504, 1640, 53, Pattern::Data)),
        (244, write(30, 766, 2941, 55, Pattern::Data)),
        (250, Step::Complete { count: 12, background: 8 }),
        (251, write(28, 456, 2760, 56, Pattern::Mixed)),
        (278, write(28, 5904, 2648, 58, Pattern::Data)),
        (286, write(24, 28_672, 1384, 61, Pattern::Mixed)),
        (287, write(24, 676, 2, 62, Pattern::Data)),
        (305, catalog(&[Catalog::Delete { id: 28 }])),
        (317, write(24, 219, 2111, 68, Pattern::Data)),
    ];
    let mut steps = steps.into_iter().map(|(number, step)| Numbered { number, step });
    let outcome = drive(World::of(101_678, None), true, &mut |_| steps.next());
    if let Some(failure) = outcome.failure {
        panic!("{}\n{}", failure.message, outcome.story.join("\n"));
    }
}
