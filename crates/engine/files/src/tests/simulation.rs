//! Random steps on a share and on the file system in memory, which is the model. Each result is compared; after a
//! crash the share is what a prefix of the steps makes, with every acknowledged durable step in it.

use super::steps::{Step, Steps, Target};
use super::world::{Image, World, good};
use super::{end, new_share, reopened};
use crate::Files;
use crate::testing::MemoryEngine;
use random::Random;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::memory::{MemoryEngine as Model, MemoryFileSystem};
use vfs::{Attributes, ChangeValue, FileId, FileSystem, Timestamp};

const STEPS: usize = 250;

/// A run of one seed.
struct Simulation {
    engine: MemoryEngine,
    share: World<Files<MemoryEngine>>,
    model: World<MemoryFileSystem>,
    /// Steps that the share has taken, in order.
    taken: Vec<Step>,
    /// Step that was given up last.
    given_up: Option<Step>,
    /// Number of them that are durable for certain.
    durable: usize,
    /// What was seen with each change value.
    values: BTreeMap<(FileId, ChangeValue), Attributes>,
}

/// A model that has taken these steps.
fn model_of(steps: &[Step]) -> World<MemoryFileSystem> {
    let engine = Model::new(None);
    let mut world = World::new(engine.create(Timestamp::default()));
    for step in steps {
        if matches!(step.target, Target::Restart) {
            engine.restart(false);
        }
        let _ = end(world.take(step));
    }
    world
}

/// Polls a call some times. `None`: it was given up before it returned.
fn end_within<T>(future: impl Future<Output = T>, polls: u64) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(output);
        }
    }
    None
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let engine = MemoryEngine::new(seed, seed % 2 == 1);
        let share = World::new(new_share(&engine));
        Self {
            engine,
            share,
            model: model_of(&[]),
            taken: Vec::new(),
            given_up: None,
            durable: 0,
            values: BTreeMap::new(),
        }
    }

    /// Takes a step on both sides.
    fn step(&mut self, step: Step) {
        let result = end(self.share.take(&step));
        let expected = end(self.model.take(&step));
        assert_eq!(result, expected, "{step:?}");
        if expected.is_ok() {
            let durable = step.is_durable() && !matches!(step.target, Target::Hold { .. });
            self.taken.push(step);
            // A step that changes nothing makes nothing durable, so the engine knows better.
            if durable && self.engine.pending() == 0 {
                self.durable = self.taken.len();
            }
        }
        self.note_values();
    }

    /// No change value stands for two states of a file, not even across crashes.
    fn note_values(&mut self) {
        for file in self.share.ids.values() {
            let Ok(now) = end(self.share.fs.attributes(*file)) else { continue };
            let seen = Attributes { used_bytes: 0, accessed: Timestamp::default(), ..now };
            let before = self.values.entry((*file, now.change)).or_insert(seen);
            assert_eq!(*before, seen, "one change value for two states");
        }
    }

    /// Begins a step and gives it up: it was taken or not.
    fn give_up(&mut self, step: Step, polls: u64) {
        let done = end_within(self.share.take(&step), polls);
        if done.is_some() {
            assert_eq!(done, Some(end(self.model.take(&step))), "{step:?}");
            self.taken.push(step);
            return;
        }
        let (before, mut after) = (self.taken.len(), self.taken.clone());
        self.given_up = Some(step.clone());
        after.push(step);
        self.adopt(&[&after[..before], &after], "a step was given up");
        self.note_values();
    }

    /// Finds the history that has led to the present state.
    fn adopt(&mut self, histories: &[&[Step]], what: &str) {
        let mut images: Vec<Image> = Vec::new();
        for history in histories.iter().rev() {
            let model = model_of(history);
            self.find_handles(&model);
            let (image, expected) = (end(self.share.image()), end(model.image()));
            if image == expected {
                self.model = model;
                self.taken = history.to_vec();
                return;
            }
            images.push(expected);
        }
        let image = end(self.share.image());
        for expected in &images {
            let differs: Vec<_> = image.iter().filter(|(path, part)| expected.get(*path) != Some(*part)).collect();
            let paths: Vec<_> = differs.iter().map(|(path, part)| (path, &part.0, part.1)).collect();
            eprintln!("{paths:?} are not as expected; {:?} expected", expected.keys());
        }
        panic!("{what}, and no history of {} has led to this state", histories.len());
    }

    /// Takes over the handles that a model has, for files that a step created before it was given up or lost.
    fn find_handles(&mut self, model: &World<MemoryFileSystem>) {
        self.share.ids.retain(|handle, _| model.ids.contains_key(handle));
        let Some(Step { target: Target::Create { directory, name, handle, .. }, now }) = self.taken_last(model) else {
            return;
        };
        if model.ids.contains_key(&handle) && !self.share.ids.contains_key(&handle) {
            let caller = vfs::Caller::root();
            let directory = self.share.ids.get(&directory).copied().unwrap_or(FileId(0));
            let call = vfs::Call::new(&caller, now);
            if let Ok(found) = end(self.share.fs.lookup(call, directory, &super::world::name(name))) {
                self.share.ids.insert(handle, found.file.file);
            }
        }
    }

    /// The step that created the last file of a model.
    fn taken_last(&self, model: &World<MemoryFileSystem>) -> Option<Step> {
        let last = *model.ids.last_key_value()?.0;
        let creates = |step: &&Step| matches!(step.target, Target::Create { handle, .. } if handle == last);
        self.given_up.iter().chain(&self.taken).find(creates).cloned()
    }

    /// Loses everything that is not durable, but for a part.
    fn crash(&mut self, kept: usize) {
        self.engine.restart(kept);
        self.share.fs = reopened(&self.engine, &self.share.fs);
        let all = std::mem::take(&mut self.taken);
        let restart = Step { now: Timestamp::default(), target: Target::Restart };
        let histories: Vec<Vec<Step>> =
            (self.durable..=all.len()).map(|count| [&all[..count], std::slice::from_ref(&restart)].concat()).collect();
        let histories: Vec<&[Step]> = histories.iter().map(|history| &history[..]).collect();
        self.adopt(&histories, "a crash");
        self.durable = self.taken.len();
        self.check();
    }

    /// The check finds nothing, and both sides look the same.
    fn check(&self) {
        assert_eq!(good(end(self.share.fs.check())), [], "the check finds damage");
        assert!(end(self.share.image()) == end(self.model.image()), "the share is not what its model is");
    }
}

fn simulate(seed: u64) {
    let random = Random::new(seed);
    let mut simulation = Simulation::new(seed);
    let mut steps = Steps::new(&random);
    for _ in 0..STEPS {
        let step = steps.draw();
        match random.below(100) {
            0 | 1 => simulation.crash(random.index(simulation.engine.pending() + 1)),
            2..=5 if step.is_one_change() => simulation.give_up(step, random.below(12) + 1),
            _ => simulation.step(step),
        }
    }
    simulation.check();
    simulation.crash(0);
}

#[test]
fn a_share_is_what_its_model_is_whatever_happens() {
    let seeds: u64 = std::env::var("FILES_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    for seed in 0..seeds {
        let failed = std::panic::catch_unwind(|| simulate(seed));
        assert!(failed.is_ok(), "seed {seed}");
    }
}
