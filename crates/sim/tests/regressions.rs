//! Seeds that found something, each with its story.

use sim::{RunOptions, run};

fn holds(options: RunOptions) {
    if let Some(failure) = run(options).failure {
        panic!("{}", failure.message);
    }
}

/// A list of catalog changes cloned a volume after it had shrunk it: the path that the shrinking had made its own was remembered as such, and the next
/// write changed the clone too.
#[test]
fn a_clone_in_the_same_commit_as_a_resize_shares() {
    holds(RunOptions::usual(167, 800));
}

/// A list of catalog changes resized a volume twice, or after cloning it: the plan knew only the state before the first change, and the pool stopped
/// on a contradiction of its own making; after a crash it could not be opened.
#[test]
fn changes_of_one_commit_are_planned_together() {
    for (seed, steps) in [(231, 1100), (500, 300), (559, 900), (593, 1400), (682, 1400)] {
        holds(RunOptions::usual(seed, steps));
    }
}

/// With little memory, operations pushed one another's pages out, and a checkpoint found no room for the pages that it needs to begin.
#[test]
fn what_needs_more_than_memory_holds_ends_nevertheless() {
    for (seed, steps) in [(787, 700), (1300, 1200), (2001, 2000), (2560, 2000), (2735, 2000)] {
        holds(RunOptions::usual(seed, steps));
    }
}

/// A page of the pool itself could not be read. A checkpoint asked for it again and again, without letting anybody else have a turn.
#[test]
fn an_unreadable_page_does_not_make_the_engine_spin() {
    holds(RunOptions::faulty(582, 2000));
}

/// A disk dropped the superblocks that a flush had covered. The older root led into a log that a later lap had overwritten, its end was taken for the end of the log, and
/// what had been acknowledged since was gone without a word.
#[test]
fn a_disk_that_lied_about_a_flush_does_not_turn_time_back() {
    for (seed, steps) in [(22, 900), (106, 600), (262, 1800), (270, 1100), (274, 1100)] {
        holds(RunOptions::faulty(seed, steps));
    }
}

/// A crash inside a swap left two copies of the new root. One of them could not be read once; the pool was opened at the old root and wrote over what the new
/// one needs. When both copies were read again, the new root was in force.
#[test]
fn a_superblock_that_cannot_be_read_once_does_not_bring_back_an_older_root() {
    let outcome = sim::failures(5, 20);
    if let Some(failure) = outcome.failure {
        panic!("{}", failure.message);
    }
}

#[test]
fn short_sequences_survive_every_crash() {
    for sequence in (0..sim::sequences(2)).step_by(37) {
        if let Some(failure) = sim::exhaustive(sequence, 2).failure {
            panic!("{}", failure.message);
        }
    }
}

#[test]
fn damage_is_noticed_in_every_structure() {
    if let Some(failure) = sim::corruption(1, 2).failure {
        panic!("{}", failure.message);
    }
}
