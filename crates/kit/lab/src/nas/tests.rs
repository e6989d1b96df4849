//! Cases on the file system of temporary files, on that of `WINDLASS_LAB_NAS` when it is set (a directory on
//! XFS or Btrfs has clones), and on shares of the NFS server in memory.

mod liars;

use super::*;
use nfs_memory::Setup;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

pub(super) const SETTINGS: NasSettings = NasSettings { pairs: 2, size: 4 << 20 };
/// Room of a share: small enough to be filled by a case.
pub(super) const ROOM: u64 = 30 << 20;

pub(super) fn share(setup: Setup) -> Place {
    let server = nfs_memory::start_with(setup).unwrap();
    Place::Share { url: format!("nfs://{server}/s").parse().unwrap(), timeout: Duration::from_secs(10) }
}

fn each_place(test: impl Fn(&Place)) {
    let directory = TempDir::new().unwrap();
    test(&Place::Directory(directory.path().to_owned()));
    if let Some(other) = std::env::var_os("WINDLASS_LAB_NAS") {
        let directory = tempfile::tempdir_in(other).unwrap();
        test(&Place::Directory(directory.path().to_owned()));
    }
    test(&share(Setup::default()));
    test(&share(Setup { quota_bytes: Some(ROOM), ..Setup::default() }));
}

fn is_empty(place: &Place) -> bool {
    match place {
        Place::Directory(directory) => fs::read_dir(directory).unwrap().next().is_none(),
        Place::Share { url, timeout } => super::share::names(url, *timeout).unwrap() == 0,
    }
}

#[test]
fn every_case_reports_and_leaves_nothing() {
    each_place(|place| {
        for case in CASES {
            let result = run(case.name, place, &SETTINGS);
            assert!(result.check_passed && result.failures.is_empty(), "{result:#?}");
            assert!(!result.paper.words.is_empty() && !result.notes.is_empty());
            assert!(is_empty(place), "{} left something", case.name);
            match (result.skipped.as_deref(), place) {
                (Some(reason), Place::Directory(_)) => {
                    // No clones here: the other methods were still measured.
                    assert!(reason.contains("(os error ") || reason.contains("in memory"), "{reason}");
                }
                // A share that is too large to be filled.
                (Some(reason), Place::Share { .. }) => assert!(reason.contains("over NFS"), "{reason}"),
                (None, _) => assert!(!result.on.measures.is_empty(), "{result:#?}"),
            }
            println!("{}", serde_json::to_string(&result).unwrap());
        }
    });
}

#[test]
fn a_clone_shares_and_is_of_one_instant() {
    each_place(|place| {
        let result = run("nas-clone", place, &SETTINGS);
        for side in [&result.off, &result.others["copy_file_range"]] {
            assert!(side.measures.contains_key("seconds") && side.measures.contains_key("busy_seconds"), "{side:#?}");
        }
        assert_eq!(result.off.moved_bytes, [("read and written by this host".to_owned(), SETTINGS.size)].into());
        if result.skipped.is_none() {
            assert_eq!(result.on.measures["blocks_of_other_moments"].high, 0.0);
            assert!(result.on.measures.contains_key("with_snapshots_seconds"));
            assert_eq!(result.on.moved_bytes["offloaded"], SETTINGS.size);
        }
        let stat = run("nas-stat", place, &SETTINGS);
        assert_eq!(stat.off.measures["capacity_bytes"].median, SETTINGS.size as f64);
        assert!(stat.others["thin"].measures["used_bytes"].median < SETTINGS.size as f64 / 2.0, "{stat:#?}");
    });
}

#[test]
fn over_nfs_traffic_and_unshared_bytes_are_measured() {
    let place = share(Setup::default());
    let size = SETTINGS.size as f64;
    let clone = run("nas-clone", &place, &SETTINGS);
    let bytes = |side: &crate::results::SideResult| side.measures["server_bytes"].median;
    assert!(bytes(&clone.off) > 2.0 * size && bytes(&clone.on) < 10_000.0, "{clone:#?}");
    assert_eq!((clone.on.measures["consumed_bytes"].high, clone.off.measures["consumed_bytes"].low), (0.0, size));
    let stat = run("nas-stat", &place, &SETTINGS);
    assert_eq!(stat.off.measures["unshared_bytes"].median, size);
    assert_eq!(stat.on.measures["unshared_bytes"].median, 0.0);
    assert_eq!(stat.others["changed clone"].measures["unshared_bytes"].median, size / 4.0);
    let place = share(Setup { quota_bytes: Some(ROOM), ..Setup::default() });
    let reserve = run("nas-reserve", &place, &SETTINGS);
    assert!(reserve.on.measures.contains_key("filled_bytes"), "{reserve:#?}");
}

#[test]
fn a_case_can_be_cancelled_and_leaves_nothing() {
    each_place(|place| {
        for case in CASES {
            let result = run_until(case.name, place, &SETTINGS, &AtomicBool::new(true));
            assert_eq!((result.skipped.as_deref(), result.check_passed), (Some("cancelled"), false), "{}", case.name);
            assert!(is_empty(place));
        }
    });
}

#[test]
fn a_case_that_cannot_begin_gives_the_reason() {
    let result = run("nas-clone", &Place::Directory("/no/such/directory".into()), &SETTINGS);
    assert!(
        !result.check_passed && result.failures[0].starts_with("cannot create a directory in directory: "),
        "{result:?}"
    );
    let url = "nfs://127.0.0.1:9/s".parse().unwrap();
    let result = run("nas-clone", &Place::Share { url, timeout: Duration::from_secs(1) }, &SETTINGS);
    assert!(result.failures[0].starts_with("cannot use nfs://127.0.0.1:9/s: cannot connect to"), "{result:?}");
    let result = run("nas-nothing", &Place::Directory("/tmp".into()), &SETTINGS);
    assert_eq!(result.failures, ["there is no case nas-nothing"]);
}
