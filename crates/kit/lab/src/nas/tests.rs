//! Cases on the file system of temporary files, and on that of `WINDLASS_LAB_NAS` when it is set: a
//! directory on XFS or Btrfs has clones.

use super::*;
use std::fs;

const SETTINGS: NasSettings = NasSettings { pairs: 2, size: 4 << 20 };

fn each_directory(test: impl Fn(&Path)) {
    let directory = TempDir::new().unwrap();
    test(directory.path());
    if let Some(other) = std::env::var_os("WINDLASS_LAB_NAS") {
        let directory = tempfile::tempdir_in(other).unwrap();
        test(directory.path());
    }
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn every_case_reports_and_leaves_nothing() {
    each_directory(|directory| {
        for case in CASES {
            let result = run(case.name, directory, &SETTINGS);
            assert!(result.check_passed && result.failures.is_empty(), "{result:#?}");
            assert!(!result.paper.words.is_empty() && !result.notes.is_empty());
            assert!(is_empty(directory), "{} left something", case.name);
            match result.skipped.as_deref() {
                // No clones here: the other methods were still measured.
                Some(reason) => assert!(reason.contains("(os error "), "{reason}"),
                None => assert!(!result.on.measures.is_empty(), "{result:#?}"),
            }
            assert!(!result.off.measures.is_empty(), "{result:#?}");
            println!("{}", serde_json::to_string(&result).unwrap());
        }
    });
}

#[test]
fn a_clone_shares_and_is_of_one_instant() {
    each_directory(|directory| {
        let result = run("nas-clone", directory, &SETTINGS);
        for side in [&result.off, &result.others["copy_file_range"]] {
            assert!(side.measures.contains_key("seconds") && side.measures.contains_key("busy_seconds"), "{side:#?}");
        }
        assert_eq!(result.off.moved_bytes, [("read and written by this host".to_owned(), SETTINGS.size)].into());
        if result.skipped.is_none() {
            assert_eq!(result.on.measures["blocks_of_other_moments"].high, 0.0);
            assert!(result.on.measures.contains_key("with_snapshots_seconds"));
            assert_eq!(result.on.moved_bytes["offloaded"], SETTINGS.size);
        }
        let stat = run("nas-stat", directory, &SETTINGS);
        assert_eq!(stat.off.measures["capacity_bytes"].median, SETTINGS.size as f64);
        assert!(stat.others["thin"].measures["used_bytes"].median < SETTINGS.size as f64 / 2.0, "{stat:#?}");
    });
}

#[test]
fn a_case_can_be_cancelled_and_leaves_nothing() {
    each_directory(|directory| {
        for case in CASES {
            let result = run_until(case.name, directory, &SETTINGS, &AtomicBool::new(true));
            assert_eq!((result.skipped.as_deref(), result.check_passed), (Some("cancelled"), false));
            assert!(is_empty(directory));
        }
    });
}

#[test]
fn a_case_that_cannot_begin_gives_the_reason() {
    let result = run("nas-clone", Path::new("/no/such/directory"), &SETTINGS);
    assert!(
        !result.check_passed && result.failures[0].starts_with("cannot create a directory in directory: "),
        "{result:?}"
    );
    let result = run("nas-nothing", Path::new("/tmp"), &SETTINGS);
    assert_eq!(result.failures, ["there is no case nas-nothing"]);
}
