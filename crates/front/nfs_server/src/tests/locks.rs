//! LOCK, LOCKT, LOCKU.

use super::kit::Kit;
use super::opens::{open, stateid};
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::locks::{
    ExistingLockOwner, LockArguments, LockDenied, LockFailure, LockTestArguments, LockType, Locker, OpenToLockOwner,
    UnlockArguments,
};
use nfs::v4::names::CreateType;
use nfs::v4::open::share_access;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{StateOwner, Stateid, Status};

fn owner(name: &str) -> StateOwner {
    StateOwner { client: 0, owner: name.into() }
}

fn lock(locker: Locker, kind: LockType, offset_bytes: u64, length_bytes: u64) -> Operation {
    Operation::Lock(Box::new(LockArguments { kind, reclaim: false, offset_bytes, length_bytes, locker }))
}

fn new_owner(open_stateid: Stateid) -> Locker {
    Locker::New(OpenToLockOwner { open_seqid: 0, open_stateid, lock_seqid: 0, owner: owner("locker") })
}

fn locked(kit: &Kit, operation: Operation) -> Result<Stateid, LockFailure> {
    match kit.at("s/f", [operation]) {
        Outcome::Lock(results) => results,
        other => panic!("{other:?}"),
    }
}

fn test(kit: &Kit, kind: LockType, offset_bytes: u64, length_bytes: u64) -> Result<(), LockFailure> {
    let arguments = LockTestArguments { kind, offset_bytes, length_bytes, owner: owner("locker") };
    match kit.at("s/f", [Operation::LockTest(arguments)]) {
        Outcome::LockTest(results) => results,
        other => panic!("{other:?}"),
    }
}

fn other(status: Status) -> Result<Stateid, LockFailure> {
    Err(LockFailure::Other(status))
}

#[test]
fn a_lock_is_in_the_way_of_other_clients() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let held = stateid(&kit, open("f", share_access::BOTH, 0));
    let first = locked(&kit, lock(new_owner(held), LockType::Write, 0, 100)).unwrap_or_else(|_| panic!("no lock"));
    assert_eq!(first.seqid, 1);
    let id = kit.client_id();
    kit.join("client-1", true);
    let theirs = stateid(&kit, open("f", share_access::BOTH, 0));
    let denied = LockDenied {
        offset_bytes: 0,
        length_bytes: 100,
        kind: LockType::Write,
        owner: StateOwner { client: id, owner: "locker".into() },
    };
    for kind in [LockType::Write, LockType::WriteWaiting, LockType::Read, LockType::ReadWaiting] {
        let refused = locked(&kit, lock(new_owner(theirs), kind, 50, 10));
        assert_eq!(refused, Err(LockFailure::Denied(denied.clone())), "{kind:?}");
    }
    assert_eq!(test(&kit, LockType::Read, 99, 1), Err(LockFailure::Denied(denied)));
    assert_eq!(test(&kit, LockType::Write, 100, u64::MAX), Ok(()));
    // Locks are advisory.
    kit.write("s/f", 0, b"y");
}

#[test]
fn ranges_split_and_are_freed() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let held = stateid(&kit, open("f", share_access::BOTH, 0));
    let first = locked(&kit, lock(new_owner(held), LockType::Write, 0, 100)).unwrap_or_else(|_| panic!("no lock"));
    let unlock = |stateid, offset_bytes, length_bytes| {
        let arguments = UnlockArguments { kind: LockType::Write, seqid: 0, stateid, offset_bytes, length_bytes };
        match kit.at("s/f", [Operation::Unlock(arguments)]) {
            Outcome::Unlock(results) => results,
            other => panic!("{other:?}"),
        }
    };
    let second = unlock(first, 40, 20).unwrap_or_else(|status| panic!("{status}"));
    assert_eq!((second.other, second.seqid), (first.other, 2));
    let existing = Locker::Existing(ExistingLockOwner { stateid: second, seqid: 0 });
    let third = locked(&kit, lock(existing, LockType::Read, 45, 5)).unwrap_or_else(|_| panic!("no lock"));
    assert_eq!(third.seqid, 3);
    kit.join("client-1", true);
    assert_eq!(test(&kit, LockType::Write, 40, 5), Ok(()));
    assert!(test(&kit, LockType::Write, 39, 1).is_err() && test(&kit, LockType::Write, 45, 1).is_err());
    assert_eq!(test(&kit, LockType::Read, 45, 5), Ok(()));
    kit.who.set(0);
    assert!(unlock(third, 0, u64::MAX).is_ok());
    assert_eq!(kit.last([Operation::FreeStateid(Stateid { seqid: 0, ..first })]).status(), Ok(()));
}

#[test]
fn what_cannot_be_locked_is_refused() {
    let kit = Kit::new();
    kit.file("f", b"x");
    kit.directory("s", "d");
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    let held = stateid(&kit, open("f", share_access::READ, 0));
    assert_eq!(locked(&kit, lock(new_owner(held), LockType::Read, 0, 0)), other(Status::INVAL));
    assert_eq!(locked(&kit, lock(new_owner(held), LockType::Read, u64::MAX, 2)), other(Status::INVAL));
    assert_eq!(locked(&kit, lock(new_owner(held), LockType::Write, 0, 1)), other(Status::OPENMODE));
    let bad = Stateid { seqid: 1, other: [7; 12] };
    assert_eq!(locked(&kit, lock(new_owner(bad), LockType::Read, 0, 1)), other(Status::BAD_STATEID));
    assert_eq!(locked(&kit, lock(new_owner(Stateid::ANONYMOUS), LockType::Read, 0, 1)), other(Status::BAD_STATEID));
    let status = |path: &str| kit.status_at(path, lock(new_owner(held), LockType::Read, 0, 1));
    assert_eq!(status("s/d"), Err(Status::ISDIR));
    assert_eq!(status("s/l"), Err(Status::SYMLINK));
    assert_eq!(status(""), Err(Status::ISDIR));
    assert_eq!(locked(&kit, lock(new_owner(held), LockType::Read, 5, u64::MAX)).map(|lock| lock.seqid), Ok(1));
}

#[test]
fn the_current_stateid_locks_and_unlocks() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let current = Stateid::CURRENT;
    let unlock =
        UnlockArguments { kind: LockType::Write, seqid: 0, stateid: current, offset_bytes: 0, length_bytes: 10 };
    let operations =
        [open("f", share_access::BOTH, 0), lock(new_owner(current), LockType::Write, 0, 10), Operation::Unlock(unlock)];
    assert_eq!(kit.status(super::kit::go("s").into_iter().chain(operations)), Ok(()));
}
