//! Seeded runs of the engine with crashes; `cargo xtask sim` runs more of them.

use sim::{Report, RunOptions, run};

#[test]
fn nothing_acknowledged_is_lost_whatever_crashes() {
    let mut total = Report::default();
    for seed in 0..40 {
        match run(RunOptions::usual(seed, 1500)) {
            Ok(report) => total.add(&report),
            Err(error) => panic!("{error}"),
        }
    }
    println!("{total}");
    assert!(total.crashes > 300, "{total}");
    // Every fourth disk is full most of the time.
    assert!(total.full > 100, "{total}");
}

/// A record was planned as if it took far more blocks than it did; after a crash, with the blocks of later records set apart, the
/// plan no longer fitted, and the pool could not be opened.
#[test]
fn a_full_pool_opens_again() {
    if let Err(error) = run(RunOptions::usual(11, 3000)) {
        panic!("{error}");
    }
}
