use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::faulty_target::{Array, Fault};
use crate::verifying_load::{LoadError, LoadOptions, VerifyingLoad};

fn options(array: &Array, seed: u64) -> LoadOptions {
    LoadOptions {
        blocks: 4096,
        max_write_blocks: 64,
        max_extent_blocks: 512,
        seed,
        timeout: Duration::from_secs(10),
        outage: Duration::from_secs(10),
        ..LoadOptions::new(vec![array.url(0), array.url(1)])
    }
}

/// Waits until the array has executed so many further WRITEs, or the load has ended.
fn wait_for_writes(array: &Array, writes: u64, has_ended: impl Fn() -> bool) {
    let (wanted, deadline) = (array.writes() + writes, Instant::now() + Duration::from_secs(60));
    while array.writes() < wanted && !has_ended() {
        assert!(Instant::now() < deadline, "the load does not go on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs the load, with `crashes` crashes during it.
fn run(array: &Array, seed: u64, crashes: u32) -> Result<VerifyingLoad, LoadError> {
    let mut load = VerifyingLoad::new(options(array, seed))?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| load.run(&stop));
        for _ in 0..crashes {
            wait_for_writes(array, 100, || running.is_finished());
            array.crash();
        }
        wait_for_writes(array, 100, || running.is_finished());
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap()
    })?;
    load.verify_all()?;
    Ok(load)
}

#[test]
fn a_correct_array_survives_crashes() {
    let array = Array::start(Fault::None);
    let load = run(&array, 1, 5).unwrap();
    let report = load.report();
    // A crash while the load is still connecting is not counted as an outage.
    assert!((3..=5).contains(&report.outages), "{report}");
    assert!(report.commands_in_doubt > 0, "{report}");
    for count in
        [report.writes, report.clones, report.unmaps, report.write_sames, report.compare_and_writes, report.reads]
    {
        assert!(count > 0, "{report}");
    }
}

#[test]
fn forgotten_writes_are_noticed() {
    let array = Array::start(Fault::ForgetsAtCrash);
    // All reverted changes may have been overwritten without an acknowledgement; some crash will
    // hit one that was not.
    let noticed = (0..10).any(|seed| matches!(run(&array, seed, 5), Err(LoadError::Mismatch { .. })));
    assert!(noticed);
}

#[test]
fn torn_blocks_are_noticed() {
    let array = Array::start(Fault::TearsAtCrash);
    match run(&array, 1, 3) {
        Err(LoadError::Mismatch { found, context, .. }) => {
            assert_eq!((found.as_str(), context), ("torn or foreign data", "after an outage"));
        }
        other => panic!("{:?}", other.map(|load| load.report().clone())),
    }
}

#[test]
fn wrong_data_is_noticed_without_a_crash() {
    let array = Array::start(Fault::LosesHalf);
    let mut load = VerifyingLoad::new(options(&array, 1)).unwrap();
    let stop = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| load.run(&stop).and_then(|()| load.verify_all()));
        // From WRITE 500 on the array loses the second half of each.
        wait_for_writes(&array, 500, || running.is_finished());
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    assert!(matches!(result, Err(LoadError::Mismatch { .. })), "{result:?}");
}

#[test]
fn an_array_that_stays_away() {
    let array = Array::start(Fault::None);
    let options = LoadOptions { outage: Duration::from_millis(200), ..options(&array, 1) };
    drop(array);
    let error = VerifyingLoad::new(options).unwrap().run(&AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, LoadError::Outage(..)), "{error}");
}
