//! Engine in memory, for tests: a pool of blocks with objects that share them, a bounded capacity, allotments, crashes
//! that lose transactions which are not durable, and blocks that are missing from memory at random.

pub mod simulation;
mod state;
pub(crate) mod steps;
mod view;
pub(crate) mod world;

use crate::engine::{Attempt, Durability, Engine, EngineError, Missing, Named, Object, Outcome, View};
use bytes::{Bytes, BytesMut};
use random::Random;
use state::State;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use vfs::Segment;
use view::{Loaded, MemoryView};

/// Blocks of a pool that was not limited: 16 TiB.
const CAPACITY_BLOCKS: u64 = 1 << 32;

#[derive(Debug)]
struct Inner {
    state: RefCell<State>,
    random: Random,
    /// Whether blocks are missing from memory at random.
    misses: Cell<bool>,
    incarnation: Cell<u64>,
}

/// Pool of blocks in memory with its objects. Clones are one engine.
#[derive(Clone, Debug)]
pub struct MemoryEngine(Rc<Inner>);

impl MemoryEngine {
    /// Creates an engine without objects. With `misses`, each part of an object that a transaction looks at is
    /// missing from memory at first in half of all cases, and the transaction waits for it.
    pub fn new(seed: u64, misses: bool) -> Self {
        let mut state = State::default();
        state.capacity = CAPACITY_BLOCKS;
        Self(Rc::new(Inner {
            state: RefCell::new(state),
            random: Random::new(seed),
            misses: Cell::new(misses),
            incarnation: Cell::new(1),
        }))
    }

    /// Creates an empty object.
    pub fn create(&self) -> Object {
        self.0.state.borrow_mut().add()
    }

    /// Creates an object with the content of another one. It is durable with everything before it.
    pub fn snapshot(&self, object: Object) -> Result<Object, EngineError> {
        self.0.state.borrow_mut().snapshot(object)
    }

    /// Limits the pool to what it holds and promises, and some blocks more.
    pub fn leave(&self, blocks: u64) {
        let mut state = self.0.state.borrow_mut();
        state.capacity = state.taken() + blocks;
    }

    /// Number of transactions that are not durable.
    pub fn pending(&self) -> usize {
        self.0.state.borrow().pending()
    }

    /// Number of transactions that were executed.
    pub fn executed(&self) -> u64 {
        self.0.state.borrow().executed()
    }

    /// Starts again, after a crash that lost all transactions which were not durable, but the first `kept` of them.
    pub fn restart(&self, kept: usize) {
        self.0.state.borrow_mut().crash(kept);
        self.0.incarnation.update(|incarnation| incarnation + 1);
    }

    /// Makes a block unreadable.
    pub fn damage(&self, object: Object, block: u64) {
        self.0.state.borrow_mut().damaged.insert((object, block));
    }

    /// Changes a block behind the back of transactions.
    pub fn corrupt(&self, object: Object, block: u64, change: impl FnOnce(&mut [u8])) {
        let mut state = self.0.state.borrow_mut();
        let mut data = state.at(object, block).map_or_else(|| vec![0; 4096], |mapped| mapped.data.to_vec());
        change(&mut data);
        state.put(object, block, &data);
    }

    /// Numbers of all mapped blocks of an object.
    pub fn mapped(&self, object: Object) -> Vec<u64> {
        self.0.state.borrow().map(object).map(|(block, _)| *block).collect()
    }

    /// Whether the pool holds and promises no more than it can.
    pub fn is_within_capacity(&self) -> bool {
        let state = self.0.state.borrow();
        state.taken() <= state.capacity
    }

    async fn pause(&self) {
        if self.0.misses.get() {
            vfs::pause().await;
        }
    }

    /// Runs an attempt, and executes what it named. Gives `after` back when the attempt has to wait.
    fn step<T, U, F: FnOnce(&mut dyn View, T) -> U>(
        &self,
        loaded: &mut Loaded<'_>,
        attempt: &mut impl Attempt<T>,
        after: F,
    ) -> Result<Result<(U, u64), F>, EngineError> {
        let mut state = self.0.state.borrow_mut();
        let mut view = MemoryView::new(&state, loaded);
        let outcome = match attempt(&mut view) {
            Err(Missing::Wait) => return Ok(Err(after)),
            Err(Missing::Damaged) => {
                let reason = "an attempt does not say what is damaged".to_owned();
                return Err(EngineError::Internal { reason });
            }
            Ok(outcome) => outcome,
        };
        let (edits, changes) = (std::mem::take(&mut view.edits), std::mem::take(&mut view.changes));
        let looks = std::mem::take(&mut view.looks);
        let (value, number) = match outcome {
            Outcome::Nothing(value) => (value, 0),
            Outcome::Commit(value) => (value, state.execute(edits, changes)?),
        };
        Ok(Ok((after(&mut MemoryView::after(&state, looks), value), number)))
    }
}

/// Content without holes as one buffer.
fn in_one_piece(segments: impl IntoIterator<Item = Segment>) -> Option<Bytes> {
    let mut all = BytesMut::new();
    for segment in segments {
        match segment {
            Segment::Data(data) => all.extend_from_slice(&data),
            Segment::Hole { .. } => return None,
        }
    }
    Some(all.freeze())
}

impl Engine for MemoryEngine {
    async fn run<T, U>(
        &self,
        durability: Durability,
        mut attempt: impl Attempt<T>,
        after: impl FnOnce(&mut dyn View, T) -> U,
    ) -> Result<U, EngineError> {
        let random = self.0.misses.get().then_some(&self.0.random);
        let (mut loaded, mut after) = (Loaded { random, ..Loaded::default() }, after);
        loop {
            match self.step(&mut loaded, &mut attempt, after)? {
                Ok((result, number)) => {
                    if durability == Durability::Durable {
                        self.pause().await;
                        self.0.state.borrow_mut().make_durable(number);
                    }
                    return Ok(result);
                }
                Err(unused) => after = unused,
            }
            self.pause().await;
        }
    }

    fn try_look<T>(&self, look: impl FnOnce(&mut dyn View) -> Result<T, Missing>) -> Option<Result<T, EngineError>> {
        let state = self.0.state.borrow();
        let random = self.0.misses.get().then_some(&self.0.random);
        let mut loaded = Loaded { random, ..Loaded::default() };
        look(&mut MemoryView::new(&state, &mut loaded)).ok().map(Ok)
    }

    async fn look_and_read<T>(
        &self,
        look: impl FnOnce(&mut dyn View) -> Result<Named<T>, Missing>,
    ) -> Option<Result<(T, Option<Bytes>), EngineError>> {
        let (found, content) = {
            let state = self.0.state.borrow();
            let random = self.0.misses.get().then_some(&self.0.random);
            let mut loaded = Loaded { random, ..Loaded::default() };
            let (found, named) = look(&mut MemoryView::new(&state, &mut loaded)).ok()?;
            let Some((object, bytes)) = named else { return Some(Ok((found, None))) };
            let segments = MemoryView::new(&state, &mut loaded).read(object, bytes).ok()?;
            (found, in_one_piece(segments)?)
        };
        self.pause().await;
        Some(Ok((found, Some(content))))
    }

    async fn unique(&self, object: Object, blocks: Range<u64>) -> Result<u64, EngineError> {
        self.pause().await;
        Ok(self.0.state.borrow().unique(object, blocks))
    }

    async fn flush(&self) -> Result<(), EngineError> {
        let number = self.0.state.borrow().executed();
        self.pause().await;
        self.0.state.borrow_mut().make_durable(number);
        Ok(())
    }

    fn incarnation(&self) -> u64 {
        self.0.incarnation.get()
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.0.random.fill(&mut bytes);
        bytes
    }

    fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}
