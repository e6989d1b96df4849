//! The kit against a server by URL: `NFS_CONFORMANCE_URL=nfs://HOST:PORT/SHARE cargo test -p
//! nfs_conformance --test server -- --ignored --nocapture`. Further variables: `NFS_CONFORMANCE_SECOND`
//! (name of a second share), `NFS_CONFORMANCE_CHECKS` (numbers, names or groups, separated by blanks),
//! `NFS_CONFORMANCE_THOROUGH`.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use nfs_conformance::{Options, checks, find, run};
use std::env::var;
use std::sync::atomic::AtomicBool;

#[test]
#[ignore = "needs a server: NFS_CONFORMANCE_URL"]
fn a_server_passes_all_checks() {
    let mut options = Options::new(var("NFS_CONFORMANCE_URL").unwrap().parse().unwrap());
    options.second_share = var("NFS_CONFORMANCE_SECOND").ok();
    options.thorough = var("NFS_CONFORMANCE_THOROUGH").is_ok();
    let wanted = var("NFS_CONFORMANCE_CHECKS").unwrap_or_default();
    let chosen: Vec<_> = wanted.split_whitespace().flat_map(find).collect();
    let chosen = if chosen.is_empty() { checks() } else { chosen };
    let report = run(&options, &chosen, &AtomicBool::new(false), |_| {});
    println!("{}", report.table());
    assert_eq!(report.count("failed"), 0);
}
