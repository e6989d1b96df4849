//! A full pool: a call that finds no space has changed nothing, and the share stays sound.

use super::{end, new_share};
use crate::testing::MemoryEngine;
use crate::testing::steps::Steps;
use crate::testing::world::World;
use random::Random;

#[test]
fn a_call_without_space_changes_nothing() {
    let mut refused = 0;
    for seed in 0..6 {
        let random = Random::new(seed);
        let engine = MemoryEngine::new(seed, seed % 2 == 1);
        let mut share = World::new(new_share(&engine));
        let mut steps = Steps::new(&random);
        engine.leave(25);
        for _ in 0..200 {
            let step = steps.draw();
            let before = end(share.image());
            match end(share.take(&step)) {
                Err(error) if error.starts_with("NoSpace") => {
                    refused += 1;
                    assert!(end(share.image()) == before, "seed {seed}: {step:?} is refused, and something changed");
                }
                _ => {}
            }
            assert!(engine.is_within_capacity(), "seed {seed}: {step:?}");
        }
        assert_eq!(end(share.fs.check()), Ok(vec![]), "seed {seed}");
    }
    assert!(refused > 30, "{refused} calls were refused");
}
