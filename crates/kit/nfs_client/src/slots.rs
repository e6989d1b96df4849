//! Slots of a session: how many calls it has in flight, and the sequence id of each (RFC 8881
//! §2.10.6.1).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Slots of a session.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    state: Rc<RefCell<State>>,
    free: std::sync::Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    /// Sequence id of the next call, a slot.
    sequences: Vec<u32>,
    free: BTreeSet<u32>,
    /// Slots whose last call was not answered.
    in_doubt: usize,
}

/// A slot that a call has. Unless it is given back, the slot stays out of use: a later call in it could
/// get the reply of this one.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) slot: u32,
    pub(crate) sequence: u32,
    slots: Slots,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slots {
    /// `count` slots, at least one.
    pub(crate) fn new(count: u32) -> Self {
        let count = count.max(1);
        let state = State { sequences: vec![1; count as usize], free: (0..count).collect(), in_doubt: 0 };
        Self { state: Rc::new(RefCell::new(state)), free: std::sync::Arc::new(Semaphore::new(count as usize)) }
    }

    /// The lowest free slot; waits until there is one. `None` if all are out of use.
    pub(crate) async fn take(&self) -> Option<Taken> {
        let permit = std::sync::Arc::clone(&self.free).acquire_owned().await.ok()?;
        let mut state = self.state.borrow_mut();
        let slot = state.free.pop_first()?;
        let sequence = *state.sequences.get(slot as usize)?;
        drop(state);
        Some(Taken { slot, sequence, slots: self.clone(), permit: Some(permit) })
    }

    /// Highest slot in use.
    pub(crate) fn highest(&self) -> u32 {
        let state = self.state.borrow();
        let count = u32::try_from(state.sequences.len()).unwrap_or(u32::MAX);
        (0..count).rev().find(|slot| !state.free.contains(slot)).unwrap_or(0)
    }
}

impl Taken {
    /// Counts a call as executed and keeps the slot for another one.
    pub(crate) fn advance(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        if let Some(sequence) = self.slots.state.borrow_mut().sequences.get_mut(self.slot as usize) {
            *sequence = self.sequence;
        }
    }

    /// Gives the slot back. `executed`: the server has taken the sequence id.
    pub(crate) fn release(mut self, executed: bool) {
        let mut state = self.slots.state.borrow_mut();
        if executed && let Some(sequence) = state.sequences.get_mut(self.slot as usize) {
            *sequence = sequence.wrapping_add(1);
        }
        state.free.insert(self.slot);
        drop(state);
        self.permit.take();
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        permit.forget();
        let mut state = self.slots.state.borrow_mut();
        state.in_doubt += 1;
        if state.in_doubt == state.sequences.len() {
            self.slots.free.close();
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_slot_is_used_by_one_call_and_counts_only_executed_ones() {
        let slots = Slots::new(2);
        let first = slots.take().now_or_never().unwrap().unwrap();
        let second = slots.take().now_or_never().unwrap().unwrap();
        assert_eq!([(first.slot, first.sequence), (second.slot, second.sequence)], [(0, 1), (1, 1)]);
        assert_eq!(slots.highest(), 1);
        assert!(slots.take().now_or_never().is_none(), "both are in use");
        first.release(true);
        second.release(false);
        let again = [slots.take().now_or_never().unwrap().unwrap(), slots.take().now_or_never().unwrap().unwrap()];
        assert_eq!(again.map(|taken| (taken.slot, taken.sequence)), [(0, 2), (1, 1)]);
    }

    #[test]
    fn a_slot_that_is_not_given_back_stays_out_of_use() {
        let slots = Slots::new(2);
        drop(slots.take().now_or_never().unwrap().unwrap());
        let second = slots.take().now_or_never().unwrap().unwrap();
        assert_eq!(second.slot, 1);
        assert!(slots.take().now_or_never().is_none(), "one may come back");
        drop(second);
        assert!(slots.take().now_or_never().unwrap().is_none(), "none comes back");
    }

    #[test]
    fn sequence_ids_wrap() {
        let slots = Slots::new(1);
        slots.state.borrow_mut().sequences = vec![u32::MAX];
        slots.take().now_or_never().unwrap().unwrap().release(true);
        assert_eq!(slots.take().now_or_never().unwrap().unwrap().sequence, 0);
    }
}
