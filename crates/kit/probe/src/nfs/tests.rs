//! The proofs against the NFS server in memory, honest and with lies: operations that do nothing, half of
//! the work, or something else, and attributes that are invented. A liar with the status Supported shows
//! that the proof is worthless.

mod liars;

use super::*;
use crate::verdict::Status;
use nfs_memory::{Setup, start, start_with};
use std::future::pending;
use std::net::SocketAddr;

const TIMEOUT: Duration = Duration::from_secs(10);

fn url(server: SocketAddr) -> Url {
    format!("nfs://{server}/s").parse().unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// Verdict on a primitive of a server.
pub(super) fn verdict_of(primitive: Primitive, setup: Setup) -> Verdict {
    let url = url(start_with(setup).unwrap());
    block_on(async {
        let options = Options { write_test: true, timeout: TIMEOUT };
        let (session, minor) = connect(&url, &options).await.unwrap();
        let share = Share::find(&session, &url.share).await.unwrap();
        let parent = share.root().clone();
        let scratch = Scratch::create(share, parent, &url, minor, TIMEOUT).await.unwrap();
        primitive.prove(&scratch).await.unwrap()
    })
}

fn report(url: &Url, write_test: bool) -> Report {
    block_on(probe_here(url, &Options { write_test, timeout: TIMEOUT }, pending())).unwrap()
}

/// Number of names in the share.
fn names(url: &Url) -> usize {
    block_on(async {
        let (session, _) = connect(url, &Options { write_test: false, timeout: TIMEOUT }).await.unwrap();
        let share = Share::find(&session, &url.share).await.unwrap();
        share.list(share.root(), &[1]).await.unwrap().len()
    })
}

#[test]
fn every_primitive_of_the_own_server_is_proved_and_nothing_is_left() {
    let url = url(start().unwrap());
    let report = report(&url, true);
    for verdict in &report.verdicts {
        assert_eq!(verdict.status, Status::Supported, "{}: {}", verdict.primitive.name(), verdict.reason);
    }
    assert!(report.is_complete());
    assert_eq!(names(&url), 0);
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["primitives"].as_array().unwrap().len(), Primitive::ALL.len());
}

#[test]
fn what_is_announced_is_not_written() {
    let url = url(start().unwrap());
    let report = report(&url, false);
    for verdict in &report.verdicts {
        assert_eq!(verdict.status, Status::Supported, "{}: {}", verdict.primitive.name(), verdict.reason);
        assert!(verdict.reason.contains("not tried"), "{}", verdict.reason);
    }
    assert_eq!(names(&url), 0);
}

#[test]
fn an_interrupted_probe_leaves_nothing() {
    let url = url(start().unwrap());
    let options = Options { write_test: true, timeout: TIMEOUT };
    for turns in [0, 5, 50] {
        let interrupted = async {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
        };
        match block_on(async { probe_here(&url, &options, interrupted).await }) {
            Err(ProbeError::Interrupted) => {}
            other => panic!("{turns}: {other:?}"),
        }
        assert_eq!(names(&url), 0);
    }
}

#[test]
fn a_share_that_does_not_exist_is_an_error_of_its_own() {
    let url = Url { share: "none".into(), ..url(start().unwrap()) };
    let error = block_on(probe_here(&url, &Options { write_test: true, timeout: TIMEOUT }, pending())).unwrap_err();
    assert!(matches!(error, ProbeError::Client(ClientError::Status { status: nfs::v4::Status::NOENT, .. })), "{error}");
}

#[test]
fn a_server_without_nfsv3_lacks_only_that() {
    let url = url(start_with(Setup { v3: false, ..Setup::default() }).unwrap());
    for write_test in [false, true] {
        let report = report(&url, write_test);
        let missing: Vec<_> = report.verdicts.iter().filter(|verdict| verdict.status != Status::Supported).collect();
        assert!(matches!(missing[..], [Verdict { primitive: Primitive::V3, .. }]), "{missing:?}");
        assert!(report.is_complete());
    }
}
