//! Seeds that run with all tests.

use crate::{Rule, leave_out, run};

/// Calls of a seed.
const CALLS: u64 = 400;

#[test]
fn no_seed_violates_a_property() {
    for seed in 1..=12 {
        let outcome = run(seed, CALLS, false);
        assert_eq!(outcome.failure, None);
    }
}

#[test]
fn a_seed_repeats_its_run() {
    for seed in [3, 4] {
        assert_eq!(run(seed, CALLS, false).report, run(seed, CALLS, true).report);
    }
}

/// `cargo xtask sim nfs --mutant all` leaves out those of the state of clients, too, which takes minutes.
#[test]
fn rules_that_are_left_out_are_noticed() {
    for rule in Rule::all().into_iter().filter(|rule| !rule.is_of_state()) {
        leave_out(Some(rule));
        let noticed = (1..=30).any(|seed| run(seed, CALLS, false).failure.is_some());
        leave_out(None);
        assert!(noticed, "{}: {}", rule.name(), rule.description());
    }
}
