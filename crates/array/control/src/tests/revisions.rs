//! Changes that expect an object to be as the client knows it.

use super::Array;
use crate::*;
use futures_executor::block_on;
use futures_util::FutureExt;

/// Two changes that wait for the lock: the second one finds another object, although its tag was
/// right when it began.
#[test]
fn a_commit_checks_the_tag_again() {
    let array = Array::new();
    array.create("v1");
    let set = |percent| Guarded {
        request: VolumeSet {
            volume: "v1".to_owned(),
            name: None,
            size_bytes: None,
            write_cache: None,
            reserve: None,
            overwrite_reserve_percent: None,
            zero_detection: None,
            warn_percent: Some(Some(percent)),
            critical_percent: None,
            labels: std::collections::BTreeMap::new(),
            policy: None,
        },
        tags: None,
    };
    let known = block_on(array.control.execute(set(1))).unwrap().1.unwrap();
    let held = block_on(array.control.lock_changes());
    let guarded = |percent| Guarded { tags: Some(vec![known.clone()]), ..set(percent) };
    let mut changes: Vec<_> = [50, 60].map(|percent| Box::pin(array.control.execute(guarded(percent)))).into();
    for change in &mut changes {
        assert!(change.as_mut().now_or_never().is_none(), "both waited with the right tag");
    }
    drop(held);
    let done = block_on(futures_util::future::join_all(changes));
    let codes: Vec<&str> = done.iter().filter_map(|done| done.as_ref().err().map(ControlError::code)).collect();
    assert_eq!(codes, ["changed-meanwhile"]);
    let present = array.run(Tagged(VolumeShow { volume: "v1".to_owned() })).unwrap();
    assert_eq!(present.0.record.warn_percent, Some(50));
    // The expectation of one request is none of another.
    array.create("v2");
    assert_ne!(present.1, known);
}

/// A roll-back of a share commits nothing by itself, so that nothing checked what had changed while it
/// waited.
#[test]
fn a_roll_back_of_a_share_checks_the_tag_again() {
    let array = Array::new();
    array.run(ShareCreate::new("s1")).unwrap();
    array.run(SnapshotCreate { volume: "s1".to_owned(), name: "monday".to_owned() }).unwrap();
    let known = array.run(Tagged(ShareShow { share: "s1".to_owned() })).unwrap().1;
    let rollback = || Guarded {
        request: ShareRollback { share: "s1".to_owned(), snapshot: "monday".to_owned(), keep: None },
        tags: Some(vec![known.clone()]),
    };
    let held = block_on(array.control.lock_changes());
    let mut changes: Vec<_> = [(), ()].map(|()| Box::pin(array.control.execute(rollback()))).into();
    for change in &mut changes {
        assert!(change.as_mut().now_or_never().is_none(), "both waited with the right tag");
    }
    drop(held);
    let done = block_on(futures_util::future::join_all(changes));
    let codes: Vec<&str> = done.iter().filter_map(|done| done.as_ref().err().map(ControlError::code)).collect();
    assert_eq!((codes.as_slice(), array.live.rollbacks.done.borrow().len()), (["changed-meanwhile"].as_slice(), 1));
}
