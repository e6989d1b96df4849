//! Physical copies over TCP: callbacks, status, cancellation, and the end of the array.

use crate::kit::{Array, client};
use bytes::Bytes;
use control::{CopyPolicy, ShareSet};
use nfs::v4::callback::CallbackOperation;
use nfs::v4::offload::CopyFailure;
use nfs::v4::open::OpenHow;
use nfs::v4::{Stable, Stateid, Status};
use nfs_client::{File, Identity, Options, Session, Share};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Share `vms` with the policy, and a file `source` of so many MiB.
async fn with_source(array: &Array, policy: CopyPolicy, mib: u64) -> (Share, File, Bytes) {
    array.create_share("vms").await;
    let set = ShareSet { share: "vms".to_owned(), copy: Some(policy), ..ShareSet::default() };
    array.handle.call(set).await.unwrap();
    let share = connect(array, "test").await;
    let source = share.create_file(share.root(), "source").await.unwrap();
    let content: Bytes = (0..mib * MIB / 8).flat_map(|word| (word | 1 << 63).to_le_bytes()).collect();
    share.write_range(&source, 0, content.clone(), Stable::FileSync).await.unwrap();
    (share, source, content)
}

async fn connect(array: &Array, owner: &str) -> Share {
    let identity = Identity::root(owner, [1; 8]);
    let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
    Share::find(&session, "vms").await.unwrap()
}

/// Stateid of an asynchronous copy of the whole source.
async fn begin(share: &Share, source: &File, target: &File) -> Stateid {
    let begun = share.copy_range((source, 0), (target, 0), 0, false).await.unwrap().unwrap();
    assert!(!begun.requirements.synchronous && begun.response.count_bytes == 0);
    begun.response.callback.unwrap()
}

#[test]
fn a_copy_goes_on_and_its_end_is_called_back() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let (share, source, content) = with_source(&array, CopyPolicy::Physical, 24).await;
        let target = share.create_file(share.root(), "target").await.unwrap();
        let called = Rc::new(RefCell::new(Vec::new()));
        let calls = Rc::clone(&called);
        share.session().on_callback(move |operation| calls.borrow_mut().push(operation.clone()));
        let copy = begin(&share, &source, &target).await;
        let ended = tokio::time::timeout(Duration::from_secs(30), share.session().offload_ended(&copy)).await;
        let response = ended.unwrap().unwrap();
        assert_eq!((response.callback, response.count_bytes, response.committed), (None, 24 * MIB, Stable::FileSync));
        assert_eq!(share.read_range(&target, 0, 24 * MIB + 1).await.unwrap(), content);
        let called = called.take();
        let [CallbackOperation::Sequence(sequence), CallbackOperation::Offload(offload)] = &called[..] else {
            panic!("{called:?}")
        };
        assert_eq!((sequence.session, sequence.referring[0].session), (share.session().id(), share.session().id()));
        assert_eq!((offload.stateid, &offload.file), (copy, &target.handle));
        // The callback was answered.
        let until = Instant::now() + Duration::from_secs(5);
        while share.offload_status(&target, &copy).await.is_ok() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(share.offload_status(&target, &copy).await.unwrap_err().status(), Some(Status::BAD_STATEID));
        let refused = share.copy_range((&source, 0), (&target, 0), 0, true).await.unwrap();
        assert!(matches!(refused, Err(CopyFailure::NoRequirements(possible)) if !possible.synchronous));
    });
    array.stop();
}

#[test]
fn a_cancelled_copy_has_ended_when_the_cancel_returns() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let (share, source, content) = with_source(&array, CopyPolicy::Physical, 48).await;
        let target = share.create_file(share.root(), "target").await.unwrap();
        let copy = begin(&share, &source, &target).await;
        let mut before = 0;
        while before == 0 {
            let status = share.offload_status(&target, &copy).await.unwrap();
            assert!(status.count_bytes >= before && status.complete.is_none());
            before = status.count_bytes;
        }
        share.offload_cancel(&target, &copy).await.unwrap();
        let start = share.read_range(&target, 0, 48 * MIB).await.unwrap();
        assert!((before..48 * MIB).contains(&(start.len() as u64)) && content.starts_with(&start));
        // Copies take turns: while another one is made, this one would have grown.
        let other = share.create_file(share.root(), "other").await.unwrap();
        let second = begin(&share, &source, &other).await;
        share.session().offload_ended(&second).await.unwrap();
        assert_eq!(share.read_range(&target, 0, 48 * MIB).await.unwrap().len(), start.len());
        assert_eq!(share.offload_cancel(&target, &copy).await.unwrap_err().status(), Some(Status::BAD_STATEID));
    });
    array.stop();
}

/// The limit of a step was the limit of a call: what Linux wants to be copied before the reply, up to 2 MiB, was
/// refused.
#[test]
fn up_to_16_mib_are_moved_before_the_reply() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let (share, source, content) = with_source(&array, CopyPolicy::Physical, 17).await;
        let target = share.create_file(share.root(), "target").await.unwrap();
        for length in [2 * MIB, 16 * MIB] {
            let copied = share.copy_range((&source, 0), (&target, 0), length, true).await.unwrap().unwrap();
            assert_eq!((copied.response.callback, copied.response.count_bytes), (None, length));
            assert!(share.read_range(&target, 0, length + 1).await.unwrap() == content.slice(..length as usize));
        }
        let refused = share.copy_range((&source, 0), (&target, 0), 16 * MIB + 1, true).await.unwrap();
        assert!(matches!(refused, Err(CopyFailure::NoRequirements(_))), "{refused:?}");
        // Offsets that share no blocks.
        let set = ShareSet { share: "vms".to_owned(), copy: Some(CopyPolicy::Share), ..ShareSet::default() };
        array.handle.call(set).await.unwrap();
        let moved = share.create_file(share.root(), "moved").await.unwrap();
        let copied = share.copy_range((&source, 0), (&moved, 1), 0, true).await.unwrap().unwrap();
        assert_eq!((copied.response.callback, copied.response.count_bytes), (None, 16 * MIB));
        assert!(share.read_range(&moved, 1, 17 * MIB).await.unwrap() == content.slice(..16 << 20));
    });
    array.stop();
}

#[test]
fn a_client_copies_any_length_whatever_the_policy() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let (share, source, content) = with_source(&array, CopyPolicy::Physical, 17).await;
        let target = share.create_file(share.root(), "target").await.unwrap();
        let done = RefCell::new(Vec::new());
        let progress = |bytes| {
            done.borrow_mut().push(bytes);
            true
        };
        assert!(share.copy_all((&source, 1), (&target, 0), 17 * MIB - 1, progress).await.unwrap());
        assert_eq!(done.borrow().last(), Some(&(17 * MIB - 1)));
        assert!(done.borrow().is_sorted());
        assert_eq!(share.read_range(&target, 0, 17 * MIB).await.unwrap(), content.slice(1..));
    });
    array.stop();
}

#[test]
fn a_copy_of_an_earlier_run_is_unknown_and_its_target_is_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let (content, copy) = client(async {
        let (share, source, content) = with_source(&array, CopyPolicy::Physical, 48).await;
        let target = share.create_file(share.root(), "target").await.unwrap();
        (content, begin(&share, &source, &target).await)
    });
    array.stop();
    let array = Array::start(directory.path());
    client(async {
        let share = connect(&array, "test").await;
        let target = loop {
            match share.open(share.root(), "target", OpenHow::NoCreate).await {
                Err(error) if error.status() == Some(Status::GRACE) => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                opened => break opened.unwrap(),
            }
        };
        assert_eq!(share.offload_status(&target, &copy).await.unwrap_err().status(), Some(Status::BAD_STATEID));
        let start = share.read_range(&target, 0, 48 * MIB).await.unwrap();
        assert!(start.len() as u64 <= 48 * MIB && content.starts_with(&start));
    });
    array.stop();
}
