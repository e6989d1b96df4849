//! LOCK, LOCKT, LOCKU.

use nfs::v4::locks::{LockDenied, LockFailure, LockType};
use nfs::v4::{StateOwner, Stateid, Status};
use xdr::Opaque;

use super::kit::{BOTH, Client, FILE, Kit, OTHER_FILE, READ, USER, WRITE, existing_locker, new_locker};
use crate::Limits;
use crate::state::{Io, IoAccess};

const ALL: (u64, u64) = (0, u64::MAX);

fn other(status: Status) -> LockFailure {
    LockFailure::Other(status)
}

fn denied(client: &Client, owner: &str, kind: LockType, (offset_bytes, length_bytes): (u64, u64)) -> LockFailure {
    let owner = StateOwner { client: client.id, owner: Opaque::from(owner) };
    LockFailure::Denied(LockDenied { offset_bytes, length_bytes, kind, owner })
}

/// Two clients with the file open for reading and writing.
fn two(kit: &mut Kit) -> ((Client, Stateid), (Client, Stateid)) {
    let (a, b) = (kit.client("a", 1), kit.client("b", 2));
    let one = kit.open(&a, "o", &FILE, BOTH, 0).expect("an open").stateid;
    let other = kit.open(&b, "o", &FILE, BOTH, 0).expect("an open").stateid;
    ((a, one), (b, other))
}

/// Ranges as an administrator sees them.
fn ranges(kit: &Kit) -> Vec<(u64, u64, bool)> {
    let locks = kit.state.list_locks(None, 0, 100).elements;
    locks.iter().map(|lock| (lock.offset_bytes, lock.length_bytes, lock.exclusive)).collect()
}

#[test]
fn a_lock_denies_others_and_says_which_it_is() {
    let mut kit = Kit::new();
    let ((a, open_a), (b, open_b)) = two(&mut kit);
    let lock = kit.lock(&a, open_a, "l", LockType::Write, (0, 100)).expect("a lock");
    assert_eq!(lock.seqid, 1);
    let held = denied(&a, "l", LockType::Write, (0, 100));
    for kind in [LockType::Read, LockType::Write, LockType::ReadWaiting, LockType::WriteWaiting] {
        assert_eq!(kit.lock(&b, open_b, "l", kind, (50, 10)), Err(held.clone()));
        assert_eq!(kit.lock_test(&b, "l", kind, (99, u64::MAX)), Err(held.clone()));
        assert_eq!(kit.lock_test(&a, "l", kind, (99, u64::MAX)), Ok(()));
    }
    // Another owner of the same client is no different.
    assert_eq!(kit.lock(&a, open_a, "m", LockType::Read, (0, 1)), Err(held));
    assert!(kit.lock(&b, open_b, "l", LockType::Write, (100, u64::MAX)).is_ok());
    assert_eq!(
        kit.lock_test(&a, "l", LockType::Read, ALL).err(),
        Some(denied(&b, "l", LockType::Write, (100, u64::MAX)))
    );
    assert_eq!(kit.state.totals(kit.now).holdings.lock_stateids, 2);
}

#[test]
fn shared_locks_go_together_and_an_upgrade_waits_for_the_others() {
    let mut kit = Kit::new();
    let ((a, open_a), (b, open_b)) = two(&mut kit);
    let lock_a = kit.lock(&a, open_a, "l", LockType::Read, (0, 10)).expect("a lock");
    let lock_b = kit.lock(&b, open_b, "l", LockType::Read, (5, 10)).expect("a lock");
    let upgrade = kit.lock_by(&a, &FILE, LockType::Write, (0, 6), existing_locker(lock_a));
    assert_eq!(upgrade, Err(denied(&b, "l", LockType::Read, (5, 10))));
    assert_eq!(ranges(&kit), [(0, 10, false), (5, 10, false)]);
    let upgraded = kit.lock_by(&a, &FILE, LockType::Write, (0, 5), existing_locker(lock_a)).expect("upgraded");
    assert_eq!((upgraded.seqid, upgraded.other), (2, lock_a.other));
    assert_eq!(ranges(&kit), [(0, 5, true), (5, 5, false), (5, 10, false)]);
    assert_eq!(kit.unlock(&b, lock_b, ALL).expect("unlocked").seqid, 2);
    let downgraded = kit.lock_by(&a, &FILE, LockType::Read, ALL, existing_locker(upgraded)).expect("downgraded");
    assert_eq!((downgraded.seqid, ranges(&kit)), (3, vec![(0, u64::MAX, false)]));
}

#[test]
fn an_owner_that_is_new_to_the_request_only_keeps_its_stateid() {
    let mut kit = Kit::new();
    let ((a, open), _) = two(&mut kit);
    let one = kit.lock(&a, open, "l", LockType::Write, (0, 1)).expect("a lock");
    let two = kit.lock(&a, open, "l", LockType::Write, (1, 1)).expect("a lock");
    assert_eq!((two.other, two.seqid, ranges(&kit)), (one.other, 2, vec![(0, 2, true)]));
    let again = kit.lock_by(&a, &FILE, LockType::Write, (5, 1), existing_locker(one));
    assert_eq!(again, Err(other(Status::OLD_STATEID)));
}

#[test]
fn an_unlock_splits_and_needs_no_lock() {
    let mut kit = Kit::new();
    let ((a, open), (b, _)) = two(&mut kit);
    let lock = kit.lock(&a, open, "l", LockType::Write, (0, 100)).expect("a lock");
    let lock = kit.unlock(&a, lock, (40, 20)).expect("unlocked");
    assert_eq!(ranges(&kit), [(0, 40, true), (60, 40, true)]);
    let lock = kit.unlock(&a, lock, (200, 1)).expect("nothing was locked");
    assert_eq!(lock.seqid, 3);
    assert_eq!(kit.unlock(&a, lock, (0, 0)), Err(Status::INVAL));
    assert_eq!(kit.unlock(&b, lock, ALL), Err(Status::BAD_STATEID));
    assert_eq!(kit.unlock(&a, open, ALL), Err(Status::BAD_STATEID));
    kit.unlock(&a, lock, ALL).expect("unlocked");
    assert_eq!(kit.state.totals(kit.now).ranges, 0);
}

#[test]
fn ranges_without_meaning_are_refused() {
    let mut kit = Kit::new();
    let ((a, open), _) = two(&mut kit);
    for range in [(0, 0), (u64::MAX, 1), (2, u64::MAX - 1)] {
        assert_eq!(kit.lock(&a, open, "l", LockType::Read, range), Err(other(Status::INVAL)), "{range:?}");
        assert_eq!(kit.lock_test(&a, "l", LockType::Read, range), Err(other(Status::INVAL)));
    }
    assert!(kit.lock(&a, open, "l", LockType::Read, (u64::MAX, u64::MAX)).is_ok());
    assert_eq!(kit.state.totals(kit.now).ranges, 1);
}

#[test]
fn a_lock_needs_the_access_of_its_open() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let read = kit.open(&client, "r", &FILE, READ, 0).expect("an open").stateid;
    let write = kit.open(&client, "w", &FILE, WRITE, 0).expect("an open").stateid;
    assert_eq!(kit.lock(&client, read, "l", LockType::Write, ALL), Err(other(Status::OPENMODE)));
    assert_eq!(kit.lock(&client, write, "m", LockType::ReadWaiting, ALL), Err(other(Status::OPENMODE)));
    let lock = kit.lock(&client, read, "l", LockType::Read, ALL).expect("a lock");
    assert_eq!(kit.lock_by(&client, &FILE, LockType::Write, ALL, existing_locker(lock)), Err(other(Status::OPENMODE)));
    let by_other_file = kit.lock_by(&client, &OTHER_FILE, LockType::Read, ALL, new_locker(read, "l"));
    assert_eq!(by_other_file, Err(other(Status::BAD_STATEID)));
    let by_lock = kit.lock(&client, lock, "l", LockType::Read, ALL);
    assert_eq!(by_lock, Err(other(Status::BAD_STATEID)));
}

#[test]
fn io_with_a_lock_has_the_access_of_its_open() {
    let mut kit = Kit::new();
    let ((a, open), (b, open_b)) = two(&mut kit);
    let lock = kit.lock(&a, open, "l", LockType::Write, ALL).expect("a lock");
    let io = kit.state.check_io(a.reference, USER, &FILE, &lock, IoAccess::Write, kit.now);
    assert_eq!(io, Ok(Io::Open));
    // Locks are advisory.
    assert_eq!(kit.state.check_io(b.reference, USER, &FILE, &open_b, IoAccess::Write, kit.now), Ok(Io::Open));
    assert_eq!(kit.state.check_anonymous_io(&FILE, IoAccess::Write, kit.now), Ok(()));
}

#[test]
fn a_stateid_is_freed_when_it_has_no_ranges() {
    let mut kit = Kit::new();
    let ((a, open), _) = two(&mut kit);
    let lock = kit.lock(&a, open, "l", LockType::Write, (0, 9)).expect("a lock");
    assert_eq!(kit.state.free_stateid(a.reference, &lock), Err(Status::LOCKS_HELD));
    let lock = kit.unlock(&a, lock, ALL).expect("unlocked");
    assert_eq!(kit.state.free_stateid(a.reference, &Stateid { seqid: 1, ..lock }), Err(Status::OLD_STATEID));
    assert_eq!(kit.state.free_stateid(a.reference, &lock), Ok(()));
    assert_eq!(kit.unlock(&a, lock, ALL), Err(Status::BAD_STATEID));
    kit.state.files.check();
    assert_eq!(kit.state.totals(kit.now).holdings.lock_stateids, 0);
}

#[test]
fn a_close_frees_the_locks_of_its_open_only() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let one = kit.open(&client, "o", &FILE, BOTH, 0).expect("an open").stateid;
    let two = kit.open(&client, "p", &FILE, BOTH, 0).expect("an open").stateid;
    let lock = kit.lock(&client, one, "l", LockType::Write, (0, 1)).expect("a lock");
    kit.lock(&client, one, "m", LockType::Write, (1, 1)).expect("a lock");
    kit.lock(&client, two, "n", LockType::Write, (2, 1)).expect("a lock");
    kit.close(&client, &FILE, one).expect("closed");
    assert_eq!(ranges(&kit), [(2, 1, true)]);
    assert_eq!(kit.unlock(&client, lock, ALL), Err(Status::BAD_STATEID));
    kit.state.files.check();
}

#[test]
fn ranges_and_stateids_are_limited() {
    let limits = Limits { ranges: 6, ranges_per_file: 4, lock_stateids: 2, client_share: 1, ..Limits::default() };
    let mut kit = Kit::with(limits);
    let client = kit.client("a", 1);
    let open = kit.open(&client, "o", &FILE, BOTH, 0).expect("an open").stateid;
    let other_open = kit.open(&client, "o", &OTHER_FILE, BOTH, 0).expect("an open").stateid;
    let delay = || Err(other(Status::DELAY));
    let mut lock = kit.lock(&client, open, "l", LockType::Write, (0, 10)).expect("a lock");
    for at in [20, 40] {
        lock = kit.lock(&client, open, "l", LockType::Write, (at, 10)).expect("a lock");
    }
    // One more might become two.
    assert_eq!(kit.lock(&client, open, "l", LockType::Read, (5, 1)), delay());
    lock = kit.unlock(&client, lock, (5, 1)).expect("unlocked");
    assert_eq!((kit.unlock(&client, lock, (25, 1)), ranges(&kit).len()), (Err(Status::DELAY), 4));
    // The end of a range needs no room.
    lock = kit.unlock(&client, lock, (25, 5)).expect("unlocked");
    assert_eq!(ranges(&kit), [(0, 5, true), (6, 4, true), (20, 5, true), (40, 10, true)]);
    // The limit of all files.
    let lock_other = |kit: &mut Kit, owner, range| {
        kit.lock_by(&client, &OTHER_FILE, LockType::Write, range, new_locker(other_open, owner))
    };
    assert!(lock_other(&mut kit, "m", (0, 1)).is_ok());
    assert_eq!(lock_other(&mut kit, "m", (5, 1)), delay());
    // Whole ranges need none either.
    lock = kit.unlock(&client, lock, (20, 5)).expect("unlocked");
    kit.unlock(&client, lock, ALL).expect("unlocked");
    assert_eq!(ranges(&kit), [(0, 1, true)]);
    // The limit of stateids.
    let mut kit = Kit::with(Limits { lock_stateids: 2, client_share: 1, ..Limits::default() });
    let client = kit.client("a", 1);
    let open = kit.open(&client, "o", &FILE, BOTH, 0).expect("an open").stateid;
    assert!(kit.lock(&client, open, "l", LockType::Read, ALL).is_ok());
    assert!(kit.lock(&client, open, "m", LockType::Read, ALL).is_ok());
    assert_eq!(kit.lock(&client, open, "n", LockType::Read, ALL), delay());
    assert!(kit.lock(&client, open, "m", LockType::Read, (7, 1)).is_ok());
}

#[test]
fn a_client_gets_its_share_of_locks() {
    let mut kit = Kit::with(Limits { ranges: 16, ..Limits::default() });
    let ((a, open_a), (b, open_b)) = two(&mut kit);
    for at in [0, 2, 4] {
        kit.lock(&a, open_a, "l", LockType::Write, (at, 1)).expect("a lock");
    }
    assert_eq!(kit.lock(&a, open_a, "l", LockType::Write, (6, 1)), Err(other(Status::DELAY)));
    assert!(kit.lock(&b, open_b, "l", LockType::Write, (6, 1)).is_ok());
    let mut kit = Kit::with(Limits { lock_stateids: 4, ..Limits::default() });
    let ((a, open_a), (b, open_b)) = two(&mut kit);
    kit.lock(&a, open_a, "l", LockType::Write, (0, 1)).expect("a lock");
    assert_eq!(kit.lock(&a, open_a, "m", LockType::Write, (6, 1)), Err(other(Status::DELAY)));
    assert!(kit.lock(&b, open_b, "m", LockType::Write, (6, 1)).is_ok());
}
