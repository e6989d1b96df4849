//! Jobs that a command waits for, or not.

use super::Array;

#[test]
fn jobs_are_waited_for_or_not() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "64M"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    let reclaim = array.run(&["volume", "reclaim", "v1"]);
    assert_eq!((reclaim.status, reclaim.err.as_str()), (0, ""), "{reclaim:?}");
    let (first, rest) = reclaim.out.split_once('\n').unwrap();
    assert!(first.starts_with("reclaim of v1 done in 0 s · 0 B given back of 64 MiB scanned"), "{first}");
    assert_eq!(
        rest,
        "unmapped by hosts since the start: 1190 commands, 12 GiB\n  \
           deallocated  1 KiB\n  \
           unaligned    512 B  at the edges: reads as zeros, stays allocated\n  \
           below grain  0 commands\n  \
           kept by      v1@monday  0 B\n  \
           kept by all snapshots together: 0 B\n"
    );
    assert!(array.ok(&["volume", "reclaim", "v1", "--report"]).starts_with("unmapped by hosts"));
    assert!(array.ok(&["volume", "reclaim", "v1", "--report", "-o", "json"]).contains("\"unaligned_bytes\": 512"));
    let started = array.ok(&["pool", "scrub", "--no-wait", "--share", "50%", "-o", "json"]);
    let id = started.split("\"id\": \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(started.contains("\"share_percent\": 50"), "{started}");
    let waited = array.ok(&["job", "wait", &id[28..]]);
    assert!(
        waited.starts_with("scrub of p0 done in 0 s · ") && waited.ends_with("verified, no bad block\n"),
        "{waited}"
    );
    let again = array.run(&["job", "cancel", id]);
    assert_eq!(again.status, 4);
    assert!(again.err.contains("is done already (code: job-ended)"), "{}", again.err);
    assert!(array.ok(&["pool", "check", "p0"]).starts_with("check of p0 done in 0 s · clean\n"));
    assert!(array.ok(&["volume", "reclaim", "--all", "-o", "json"]).contains("\"volumes\": 1"));
    let jobs = array.ok(&["job", "list", "--columns", "kind,subject,state,done"]);
    assert_eq!(
        jobs,
        "KIND     SUBJECT  STATE  DONE\n\
         reclaim  p0       done   100%\n\
         check    p0       done   100%\n\
         scrub    p0       done   100%\n\
         reclaim  v1       done   100%\n"
    );
    assert_eq!(array.run(&["job", "show", "0000"]).status, 3);
    assert_eq!(array.run(&["pool", "check", "p0", "--quick"]).status, 2);
    assert_eq!(array.run(&["pool", "check", "p9"]).status, 3);
    let pool = array.ok(&["pool", "show"]);
    assert!(pool.contains("verified, no bad block") && pool.contains(": clean\n"), "{pool}");
}
