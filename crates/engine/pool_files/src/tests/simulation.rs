//! Random steps with crashes at any write of the disk, over a pool.

use super::rig::{Media, Rig, Share};
use crate::PoolEngine;
use files::testing::simulation::{Bench, simulate};
use pool::Catalog;
use random::Random;

/// Blocks of the disk.
const DISK_BLOCKS: u64 = 16 << 10;

impl Bench for Rig {
    type Engine = PoolEngine<Media>;

    fn share(&mut self) -> Share {
        Rig::share(self)
    }

    fn turn(&self) {
        Rig::turn(self);
    }

    fn revision(&self) -> u64 {
        self.pool().changes().next_record
    }

    fn crash(&mut self, share: &Share, _: &Random) -> Share {
        self.restart(true);
        self.reopened(share)
    }

    fn check(&self) {
        self.assert_clean();
    }
}

/// The memory is small in two of three seeds.
#[test]
fn a_share_in_a_pool_is_what_its_model_is_whatever_happens() {
    let seeds: u64 = std::env::var("FILES_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    for seed in 0..seeds {
        let memory_bytes = if seed % 3 == 0 { 16 << 20 } else { 64 << 10 };
        let run = || simulate(seed, Rig::new(seed, DISK_BLOCKS, memory_bytes));
        assert!(std::panic::catch_unwind(run).is_ok(), "seed {seed}");
    }
}
