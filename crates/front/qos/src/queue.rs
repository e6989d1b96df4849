//! Commands that wait for a gate, by start-time fair queueing (Goyal, Vin, Cheng, "Start-time fair queueing", 1996):
//! each claimant has a mark, to which the cost of what it was served is added, divided by its weight; the smallest mark
//! is next.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::hash::Hash;

/// Amounts by which marks grow: cost × this ÷ weight.
const SCALE: u64 = 1 << 16;

/// Flows that wait for one gate. `C`: claimant, between which the gate is shared; `F`: flow, several of which a
/// claimant may have.
#[derive(Debug)]
pub(crate) struct FairQueue<C, F> {
    /// By mark.
    waiting: BTreeSet<(u64, C, F)>,
    /// Mark at which the next visit of a claimant that has been served begins.
    marks: FxHashMap<C, u64>,
    /// Mark of the flow that was served last.
    current: u64,
}

impl<C, F> Default for FairQueue<C, F> {
    fn default() -> Self {
        Self { waiting: BTreeSet::new(), marks: FxHashMap::default(), current: 0 }
    }
}

impl<C: Copy + Ord + Hash, F: Copy + Ord> FairQueue<C, F> {
    /// Adds a flow, behind what its claimant was served before. Returns its place.
    pub fn push(&mut self, claimant: C, flow: F) -> (u64, C, F) {
        let mark = self.marks.get(&claimant).copied().unwrap_or(0).max(self.current);
        let place = (mark, claimant, flow);
        self.waiting.insert(place);
        place
    }

    /// The flow that is served next.
    pub fn first(&self) -> Option<(u64, C, F)> {
        self.waiting.first().copied()
    }

    /// Takes a flow out of its place.
    pub fn remove(&mut self, place: (u64, C, F)) {
        self.waiting.remove(&place);
        self.forget_idle();
    }

    /// Charges a claimant for what it was served.
    pub fn served(&mut self, (mark, claimant, _): (u64, C, F), cost: u64, weight: u32) {
        self.current = self.current.max(mark);
        let begin = self.marks.get(&claimant).copied().unwrap_or(0).max(mark);
        let end = begin.saturating_add((cost.saturating_mul(SCALE) / u64::from(weight.max(1))).max(1));
        self.marks.insert(claimant, end);
        self.forget_idle();
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Forgets marks that decide nothing any more.
    fn forget_idle(&mut self) {
        if self.waiting.is_empty() {
            self.marks.clear();
            self.current = 0;
        } else if self.marks.len() > 2 * self.waiting.len() + 64 {
            let current = self.current;
            self.marks.retain(|_, mark| *mark > current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves `rounds` visits; each flow is there again at once. Returns the cost that each claimant was served.
    fn serve(flows: &[(u32, u32, u64, u32)], rounds: u32) -> FxHashMap<u32, u64> {
        let mut queue = FairQueue::default();
        for (claimant, flow, ..) in flows {
            queue.push(*claimant, *flow);
        }
        let mut served = FxHashMap::default();
        for _ in 0..rounds {
            let place = queue.first().expect("a flow waits");
            let (_, claimant, flow) = place;
            let (.., cost, weight) = *flows.iter().find(|(_, other, ..)| *other == flow).expect("a flow of the list");
            queue.served(place, cost, weight);
            queue.remove(place);
            *served.entry(claimant).or_default() += cost;
            queue.push(claimant, flow);
        }
        served
    }

    #[test]
    fn claimants_share_by_cost_and_not_by_commands_or_flows() {
        let flows = [(1, 10, 64, 100), (2, 20, 1, 100), (2, 21, 1, 100), (2, 22, 1, 100)];
        let served = serve(&flows, 6500);
        let (large, small) = (served[&1], served[&2]);
        assert!(large.abs_diff(small) <= 256, "{large} {small}");
    }

    #[test]
    fn claimants_share_by_weight() {
        let served = serve(&[(1, 10, 1, 100), (2, 20, 1, 300)], 4000);
        assert!(served[&1].abs_diff(1000) <= 8, "{served:?}");
    }

    #[test]
    fn a_claimant_that_comes_back_has_no_claim_for_its_absence() {
        let mut queue = FairQueue::default();
        queue.push(1, 10);
        for _ in 0..1000 {
            let place = queue.first().expect("a flow waits");
            queue.served(place, 1, 100);
            queue.remove(place);
            queue.push(1, 10);
        }
        queue.push(2, 20);
        let mut order = Vec::new();
        for _ in 0..10 {
            let place = queue.first().expect("a flow waits");
            queue.served(place, 1, 100);
            queue.push(place.1, place.2);
            queue.remove(place);
            order.push(place.1);
        }
        assert!(order.iter().filter(|claimant| **claimant == 2).count() <= 6, "{order:?}");
    }
}
