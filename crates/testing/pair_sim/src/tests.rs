//! Seeds that run with all tests.

use crate::run;

/// Steps of a seed.
const STEPS: u64 = 1_000;

#[test]
fn no_seed_violates_a_property() {
    for seed in 1..=20 {
        assert_eq!(run(seed, STEPS, false).failure, None);
    }
}

#[test]
fn a_seed_repeats_its_run() {
    for seed in [3, 4] {
        assert_eq!(run(seed, STEPS, false).report, run(seed, STEPS, true).report);
    }
}
