//! Seeded runs of the engine with crashes; `cargo xtask sim` runs more of them.

use sim::{Report, RunOptions, run};

fn run_all(seeds: std::ops::Range<u64>, steps: u64) -> Report {
    let mut total = Report::default();
    for seed in seeds {
        let outcome = run(RunOptions::usual(seed, steps));
        total.add(&outcome.report);
        if let Some(failure) = outcome.failure {
            panic!("{}; replay it with `cargo xtask sim --seed {seed} --steps {steps}`", failure.message);
        }
    }
    total
}

#[test]
fn nothing_acknowledged_is_lost_whatever_crashes() {
    let total = run_all(0..60, 1500);
    println!("{total}");
    assert!(total.crashes > 300, "{total}");
    // Many disks are full most of the time.
    assert!(total.full > 100, "{total}");
}

#[test]
fn a_seed_means_the_same_run_every_time() {
    for seed in 0..4 {
        let once = run(RunOptions { story: true, ..RunOptions::usual(seed, 400) });
        let twice = run(RunOptions { story: true, ..RunOptions::usual(seed, 400) });
        assert_eq!(once.report, twice.report);
        assert_eq!(once.story, twice.story);
    }
}
