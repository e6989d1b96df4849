//! The simulation over the engine in memory.

use super::{new_share, reopened};
use crate::Files;
use crate::testing::MemoryEngine;
use crate::testing::simulation::{Bench, simulate};
use random::Random;

struct Memory(MemoryEngine);

impl Bench for Memory {
    type Engine = MemoryEngine;

    fn share(&mut self) -> Files<MemoryEngine> {
        new_share(&self.0)
    }

    fn turn(&self) {}

    fn revision(&self) -> u64 {
        self.0.executed()
    }

    fn crash(&mut self, share: &Files<MemoryEngine>, random: &Random) -> Files<MemoryEngine> {
        self.0.restart(random.index(self.0.pending() + 1));
        reopened(&self.0, share)
    }

    fn check(&self) {}
}

#[test]
fn a_share_is_what_its_model_is_whatever_happens() {
    let seeds: u64 = std::env::var("FILES_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    for seed in 0..seeds {
        let run = || simulate(seed, Memory(MemoryEngine::new(seed, seed % 2 == 1)));
        assert!(std::panic::catch_unwind(run).is_ok(), "seed {seed}");
    }
}
