//! Short versions of `cargo xtask sim exhaustive`, `failures`, `corruption` and `faults`.

use sim::{Outcome, RunOptions};

fn holds(outcome: Outcome) {
    if let Some(failure) = outcome.failure {
        panic!("{}", failure.message);
    }
}

#[test]
fn faults_of_the_disk_are_repaired_or_reported() {
    for seed in 0..24 {
        holds(sim::run(RunOptions::faulty(seed, 600)));
    }
}

#[test]
fn whatever_fails_an_exact_prefix_is_left() {
    for script in 1..4 {
        holds(sim::failures(script, 24));
    }
}

#[test]
fn short_sequences_survive_every_crash() {
    for sequence in (0..sim::sequences(2)).step_by(37) {
        holds(sim::exhaustive(sequence, 2));
    }
}

#[test]
fn damage_is_noticed_in_every_structure() {
    for seed in 1..4 {
        holds(sim::corruption(seed, 2));
    }
}
