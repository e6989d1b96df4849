//! Random steps on a share and on the file system in memory, which is the model. Each result is compared; after a
//! crash the share is what a prefix of the steps makes, with every acknowledged durable step in it.

use super::steps::{Step, Steps, Target};
use super::world::{Image, World, good, name};
use crate::engine::Engine;
use crate::file_system::Files;
use random::Random;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::memory::{MemoryEngine as Model, MemoryFileSystem};
use vfs::{Attributes, Call, Caller, ChangeValue, FileId, FileSystem, Timestamp};

/// Steps of a run.
const STEPS: usize = 250;
/// Polls after which a call should have returned.
const MOST_POLLS: u64 = 1_000_000;

/// Engine under a simulation.
pub trait Bench {
    /// Type of the engine.
    type Engine: Engine;
    /// Creates an empty share, with root attributes of mode 0755.
    fn share(&mut self) -> Files<Self::Engine>;
    /// Runs what the engine does by itself; called while a call is pending.
    fn turn(&self);
    /// Number that grows with each transaction that changes something.
    fn revision(&self) -> u64;
    /// Starts again after a crash, which loses a random part of what is not durable. Returns the share.
    fn crash(&mut self, share: &Files<Self::Engine>, random: &Random) -> Files<Self::Engine>;
    /// Checks the engine. Panics if something is wrong.
    fn check(&self);
}

/// A run of one seed.
struct Simulation<'r, B: Bench> {
    bench: B,
    random: &'r Random,
    share: World<Files<B::Engine>>,
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

/// Polls a call some times, and calls `turn` between. `None`: it was given up before it returned.
fn end_within<T>(future: impl Future<Output = T>, polls: u64, turn: impl Fn()) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(output);
        }
        turn();
    }
    None
}

/// Polls a call of the model.
fn end<T>(future: impl Future<Output = T>) -> T {
    end_on(future, || ())
}

fn end_on<T>(future: impl Future<Output = T>, turn: impl Fn()) -> T {
    end_within(future, MOST_POLLS, turn).unwrap_or_else(|| panic!("a call never returns"))
}

impl<'r, B: Bench> Simulation<'r, B> {
    fn new(mut bench: B, random: &'r Random) -> Self {
        let share = World::new(bench.share());
        Self {
            bench,
            random,
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
        let before = self.bench.revision();
        let result = end_on(self.share.take(&step), || self.bench.turn());
        let expected = end(self.model.take(&step));
        assert_eq!(result, expected, "{step:?}");
        if expected.is_ok() {
            let durable = step.is_durable() && !matches!(step.target, Target::Hold { .. });
            self.taken.push(step);
            // A step that changes nothing makes nothing durable, so the engine knows better.
            if durable && self.bench.revision() > before {
                self.durable = self.taken.len();
            }
        }
        self.note_values();
    }

    /// No change value stands for two states of a file, not even across crashes.
    fn note_values(&mut self) {
        for file in self.share.ids.values() {
            let Ok(now) = end_on(self.share.fs.attributes(*file), || self.bench.turn()) else { continue };
            let seen = Attributes { used_bytes: 0, accessed: Timestamp::default(), ..now };
            let before = self.values.entry((*file, now.change)).or_insert(seen);
            assert_eq!(*before, seen, "one change value for two states");
        }
    }

    /// Begins a step and gives it up: it was taken or not.
    fn give_up(&mut self, step: Step, polls: u64) {
        let done = end_within(self.share.take(&step), polls, || self.bench.turn());
        if let Some(result) = done {
            assert_eq!(result, end(self.model.take(&step)), "{step:?}");
            self.taken.push(step);
            return;
        }
        let (before, mut after) = (self.taken.len(), self.taken.clone());
        self.given_up = Some(step.clone());
        after.push(step);
        self.adopt(&[&after[..before], &after], "a step was given up");
        self.note_values();
    }

    /// Begins a step, in the midst of which the engine crashes.
    fn crash_during(&mut self, step: Step, polls: u64) {
        let _ = end_within(self.share.take(&step), polls, || self.bench.turn());
        self.given_up = Some(step.clone());
        self.taken.push(step);
        self.crash();
    }

    fn image(&self) -> Image {
        end_on(self.share.image(), || self.bench.turn())
    }

    /// Finds the history that has led to the present state.
    fn adopt(&mut self, histories: &[&[Step]], what: &str) {
        let mut images: Vec<Image> = Vec::new();
        for history in histories.iter().rev() {
            let model = model_of(history);
            self.find_handles(&model);
            let (image, expected) = (self.image(), end(model.image()));
            if image == expected {
                self.model = model;
                self.taken = history.to_vec();
                return;
            }
            images.push(expected);
        }
        let image = self.image();
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
        let Some(Step { target: Target::Create { directory, name: text, handle, .. }, now }) = self.taken_last(model)
        else {
            return;
        };
        if model.ids.contains_key(&handle) && !self.share.ids.contains_key(&handle) {
            let caller = Caller::root();
            let directory = self.share.ids.get(&directory).copied().unwrap_or(FileId(0));
            let (call, name) = (Call::new(&caller, now), name(text));
            let found = end_on(self.share.fs.lookup(call, directory, &name), || self.bench.turn());
            if let Ok(found) = found {
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
    fn crash(&mut self) {
        self.share.fs = self.bench.crash(&self.share.fs, self.random);
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
        let findings = end_on(self.share.fs.check(), || self.bench.turn());
        assert_eq!(good(findings), [], "the check finds damage");
        assert!(self.image() == end(self.model.image()), "the share is not what its model is");
        self.bench.check();
    }
}

/// Runs a seed: steps, some of which are given up, and crashes. Panics if the share is not what it should be.
pub fn simulate<B: Bench>(seed: u64, bench: B) {
    let random = Random::new(seed);
    let mut simulation = Simulation::new(bench, &random);
    let mut steps = Steps::new(&random);
    for _ in 0..STEPS {
        let step = steps.draw();
        match random.below(100) {
            0 => simulation.crash(),
            1 if step.is_one_change() => simulation.crash_during(step, random.below(40)),
            2..=5 if step.is_one_change() => simulation.give_up(step, random.below(12) + 1),
            _ => simulation.step(step),
        }
    }
    simulation.check();
    simulation.crash();
}
