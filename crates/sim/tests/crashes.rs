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
}
