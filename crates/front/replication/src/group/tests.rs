#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{Group, MAX_RECORDED, Next, Verdict};
use crate::names::{GroupId, Name, Point, PointId};
use crate::record::{Progress, Record};
use crate::refusal::Code;
use crate::source::Confirmation;
use crate::wire::{Begin, GroupRole, MAX_POINTS, Standing};
use uuid::Uuid;

const ID: GroupId = GroupId(Uuid::from_u128(7));

fn id(epoch: u64, cycle: u64) -> PointId {
    PointId { epoch, cycle, mark: 5 }
}

fn name() -> Name {
    Name::try_from("10:35:00").unwrap()
}

fn point(id: PointId) -> Point {
    Point { id, name: name(), taken_ms: 0 }
}

/// A group with these points of epoch 1.
fn group(role: GroupRole, points: &[u64]) -> Group {
    let points = points.iter().map(|cycle| point(id(1, *cycle))).collect();
    Group::new(ID, Record { points, ..Record::new(role) })
}

fn standing(role: GroupRole, epoch: u64, points: &[PointId]) -> Standing {
    Standing { group: ID, epoch, role, points: points.to_vec() }
}

fn begin(point_id: PointId, base: Option<PointId>) -> Begin {
    Begin { group: ID, point: point(point_id), base, members: Vec::new() }
}

fn stop(verdict: Verdict) -> Code {
    match verdict {
        Verdict::Stop(refusal) => refusal.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_point_of_both_is_the_base() {
    let mut owner = group(GroupRole::Owner, &[1, 2, 4]);
    let peer = standing(GroupRole::Replica, 1, &[id(1, 1), id(1, 2), id(1, 3)]);
    assert_eq!(owner.handle_standing(peer), Verdict::Send { base: Some(id(1, 2)) });
    // The same epoch and cycle with another mark is another point.
    let restored = PointId { mark: 6, ..id(1, 4) };
    let peer = standing(GroupRole::Replica, 1, &[id(1, 1), restored]);
    assert_eq!(owner.handle_standing(peer), Verdict::Send { base: Some(id(1, 1)) });
}

#[test]
fn a_new_group_is_seeded_and_one_that_has_lost_its_common_point_is_not() {
    let mut owner = group(GroupRole::Owner, &[1]);
    assert_eq!(owner.handle_standing(standing(GroupRole::Replica, 1, &[])), Verdict::Send { base: None });
    let lost = owner.handle_standing(standing(GroupRole::Replica, 1, &[id(1, 9)]));
    assert_eq!(stop(lost), Code::MustSeed);
    owner.apply(owner.confirmed(Confirmation::Point(id(1, 1))));
    assert_eq!(stop(owner.handle_standing(standing(GroupRole::Replica, 1, &[]))), Code::MustSeed);
}

#[test]
fn one_array_owns_a_group() {
    let peers =
        |own: GroupRole, peer: GroupRole, epoch| group(own, &[1]).handle_standing(standing(peer, epoch, &[id(1, 1)]));
    assert_eq!(stop(peers(GroupRole::Owner, GroupRole::Owner, 2)), Code::BothOwners);
    assert_eq!(stop(peers(GroupRole::Leaving, GroupRole::Owner, 1)), Code::BothOwners);
    assert_eq!(stop(peers(GroupRole::Replica, GroupRole::Replica, 1)), Code::NoOwner);
    assert_eq!(stop(peers(GroupRole::Replica, GroupRole::Owner, 0)), Code::OlderEpoch);
    assert_eq!(stop(peers(GroupRole::Owner, GroupRole::Replica, 2)), Code::OlderEpoch);
    assert_eq!(peers(GroupRole::Replica, GroupRole::Owner, 2), Verdict::Receive);
    assert_eq!(peers(GroupRole::Leaving, GroupRole::Owner, 2), Verdict::Yield);
    let other = Standing { group: GroupId(Uuid::from_u128(8)), ..standing(GroupRole::Replica, 1, &[]) };
    assert_eq!(stop(group(GroupRole::Owner, &[]).handle_standing(other)), Code::UnknownGroup);
}

#[test]
fn a_cycle_that_was_interrupted_goes_on() {
    let mut owner = group(GroupRole::Owner, &[]);
    assert_eq!(owner.next(None), Next::Take);
    let (first, transition) = owner.take_point(name(), 0, 5, None).unwrap();
    owner.apply(transition.record);
    assert_eq!((first.id, owner.next(None)), (id(1, 1), Next::Resume(first.clone())));
    assert_eq!(owner.next(Some(first.id)), Next::Confirm(first.id));
    owner.apply(owner.confirmed(Confirmation::Point(first.id)));
    assert_eq!(owner.next(Some(first.id)), Next::Take);
    let (second, _) = owner.take_point(name(), 0, 5, Some(first.id)).unwrap();
    assert_eq!(second.id, id(1, 2));
    assert_eq!(owner.take_point(name(), 0, 5, Some(id(1, 9))).unwrap_err().code, Code::NoSuchPoint);
}

/// Regression: its points were older than those of the peer for good, which refused each of them.
#[test]
fn an_owner_whose_state_was_set_back_goes_on_behind_the_points_of_its_peer() {
    let mut owner = group(GroupRole::Owner, &[1, 5]);
    owner.handle_standing(standing(GroupRole::Replica, 1, &[id(1, 5), id(1, 6), id(1, 7)]));
    let (point, _) = owner.take_point(name(), 0, 5, Some(id(1, 5))).unwrap();
    assert_eq!(point.id.cycle, 8);
}

#[test]
fn a_replica_takes_over_at_a_point() {
    let replica = group(GroupRole::Replica, &[1, 2]);
    let taken = replica.fail_over(None, false).unwrap();
    assert_eq!((taken.back_to, taken.record.epoch, taken.record.role), (Some(id(1, 2)), 2, GroupRole::Owner));
    assert_eq!(replica.fail_over(Some(id(1, 1)), false).unwrap().back_to, Some(id(1, 1)));
    let refused = |group: &Group, point| group.fail_over(point, false).unwrap_err().code;
    assert_eq!(refused(&replica, Some(id(1, 7))), Code::NoSuchPoint);
    assert_eq!(refused(&group(GroupRole::Replica, &[]), None), Code::NoSuchPoint);
    assert_eq!(refused(&group(GroupRole::Owner, &[1]), None), Code::NotReplica);
}

/// Regression: it lost what its hosts had written behind its newest point.
#[test]
fn a_former_owner_that_takes_over_again_keeps_what_it_had() {
    let mut owner = group(GroupRole::Owner, &[1, 2]);
    owner.handle_standing(standing(GroupRole::Owner, 4, &[id(1, 1)]));
    owner.apply(owner.yield_to_peer().unwrap().record);
    assert!(owner.record().diverged);
    let taken = owner.fail_over(None, true).unwrap();
    assert_eq!((taken.back_to, taken.keep_diverged, taken.record.diverged), (Some(id(1, 2)), true, false));
    assert!(!group(GroupRole::Replica, &[1]).fail_over(None, false).unwrap().keep_diverged);
}

#[test]
fn an_owner_that_is_in_use_is_displaced_by_force_alone() {
    let mut replica = group(GroupRole::Replica, &[1]);
    replica.handle_standing(standing(GroupRole::Owner, 4, &[]));
    assert_eq!(replica.fail_over(None, false).unwrap_err().code, Code::OwnerInUse);
    assert_eq!(replica.fail_over(None, true).unwrap().record.epoch, 5, "later than any epoch that is known");
    replica.handle_standing(standing(GroupRole::Leaving, 4, &[id(1, 1), id(4, 2)]));
    assert_eq!(replica.fail_over(None, false).unwrap_err().code, Code::OwnerInUse, "its last point is not here");
    assert!(replica.fail_over(None, true).is_ok());
    replica.handle_standing(standing(GroupRole::Leaving, 4, &[id(1, 1)]));
    assert!(replica.fail_over(None, false).is_ok());
    replica.handle_standing(standing(GroupRole::Owner, 4, &[]));
    replica.handle_disconnected();
    assert!(replica.fail_over(None, false).is_ok());
}

#[test]
fn a_former_owner_gives_way_and_may_hold_what_the_peer_lacks() {
    let mut owner = group(GroupRole::Owner, &[1, 2]);
    assert_eq!(owner.yield_to_peer().unwrap_err().code, Code::OwnerInUse);
    owner.handle_standing(standing(GroupRole::Replica, 1, &[id(1, 1)]));
    assert_eq!(owner.yield_to_peer().unwrap_err().code, Code::OwnerInUse);
    owner.handle_standing(standing(GroupRole::Owner, 2, &[id(1, 1)]));
    let record = owner.yield_to_peer().unwrap().record;
    assert_eq!((record.role, record.epoch, record.diverged), (GroupRole::Replica, 2, true));
    // Its next cycle drops the points that the peer does not have.
    owner.apply(record);
    let progress = Progress { point: id(2, 1), base: Some(id(1, 1)), digest: [0; 32], member: 0, block: 0 };
    let record = owner.with_cycle(&begin(id(2, 1), Some(id(1, 1))), progress);
    assert_eq!(record.points, [point(id(1, 1))]);
    assert!(!record.diverged && record.has(id(1, 1)) && !record.has(id(1, 2)));
    assert_eq!(group(GroupRole::Replica, &[1]).yield_to_peer().unwrap_err().code, Code::NotOwner);
}

#[test]
fn a_hand_over_that_is_complete_loses_nothing() {
    let mut owner = group(GroupRole::Owner, &[1]);
    let (last, transition) = owner.hand_over(name(), 0, 5, Some(id(1, 1))).unwrap();
    owner.apply(transition.record);
    assert!(!owner.hosts_may_write());
    assert_eq!(owner.hand_over(name(), 0, 5, None).unwrap_err().code, Code::NotOwner);
    let taken_over = |points: &[PointId]| {
        let mut owner = owner.clone();
        owner.handle_standing(standing(GroupRole::Owner, 2, points));
        owner.yield_to_peer().unwrap().record.diverged
    };
    assert!(!taken_over(&[id(1, 1), last.id]) && taken_over(&[id(1, 1)]));
    // The administrator changes their mind, while the peer is known not to have taken over.
    assert_eq!(owner.keep().unwrap_err().code, Code::BothOwners);
    owner.handle_standing(standing(GroupRole::Owner, 2, &[]));
    assert_eq!(owner.keep().unwrap_err().code, Code::BothOwners);
    owner.handle_standing(standing(GroupRole::Replica, 1, &[id(1, 1)]));
    assert_eq!(owner.keep().unwrap().record.role, GroupRole::Owner);
}

#[test]
fn points_that_the_peer_may_count_on_are_kept() {
    let mut owner = group(GroupRole::Owner, &[1, 2, 3, 4]);
    let deleted = |group: &Group, cycle| group.delete(id(1, cycle)).map(|_| ()).map_err(|refusal| refusal.code);
    assert_eq!(deleted(&owner, 4), Err(Code::CommonPoint), "the newest");
    assert_eq!(deleted(&owner, 3), Ok(()));
    assert_eq!(deleted(&owner, 9), Err(Code::NoSuchPoint));
    owner.apply(owner.offer(Some(id(1, 2))).unwrap().record);
    assert_eq!((deleted(&owner, 2), deleted(&owner, 1)), (Err(Code::CommonPoint), Ok(())));
    // A second offer drops nothing, and a change of the owner neither.
    owner.apply(owner.offer(Some(id(1, 1))).unwrap().record);
    owner.handle_standing(standing(GroupRole::Owner, 2, &[]));
    let mut replica = owner.clone();
    replica.apply(owner.yield_to_peer().unwrap().record);
    for group in [&owner, &replica] {
        assert_eq!((deleted(group, 1), deleted(group, 2)), (Err(Code::CommonPoint), Err(Code::CommonPoint)));
    }
    // What the peer has confirmed replaces what is older.
    owner.apply(owner.confirmed(Confirmation::Base(id(1, 2))));
    assert_eq!((deleted(&owner, 1), deleted(&owner, 2)), (Ok(()), Err(Code::CommonPoint)));
    owner.apply(owner.confirmed(Confirmation::Point(id(1, 4))));
    assert_eq!(deleted(&owner, 2), Ok(()));
}

/// A replica committed a point, its owner never learned of it, and offered another base later. Each side then dropped
/// what the other one had kept, when the owner had changed in between: no common point was left.
#[test]
fn a_replica_keeps_its_base_beside_its_newest_point() {
    let mut replica = group(GroupRole::Replica, &[1]);
    let progress = Progress { point: id(1, 2), base: Some(id(1, 1)), digest: [0; 32], member: 0, block: 0 };
    replica.apply(replica.with_cycle(&begin(id(1, 2), Some(id(1, 1))), progress));
    replica.apply(replica.with_point(&point(id(1, 2))));
    replica.apply(replica.fail_over(None, false).unwrap().record);
    let (_, transition) = replica.take_point(name(), 0, 5, Some(id(1, 2))).unwrap();
    replica.apply(transition.record);
    for cycle in [1, 2] {
        assert_eq!(replica.delete(id(1, cycle)).unwrap_err().code, Code::CommonPoint);
    }
}

#[test]
fn cycles_that_do_not_fit_are_refused() {
    let replica = group(GroupRole::Replica, &[1, 2]);
    let check = |group: &Group, begin: &Begin| group.check_cycle(begin).map_err(|refusal| refusal.code);
    assert_eq!(check(&replica, &begin(id(1, 3), Some(id(1, 2)))), Ok(()));
    assert_eq!(check(&replica, &begin(id(2, 1), Some(id(1, 1)))), Ok(()));
    assert_eq!(check(&replica, &begin(id(1, 1), None)), Err(Code::OlderCycle));
    assert_eq!(check(&replica, &begin(id(0, 9), None)), Err(Code::OlderEpoch));
    assert_eq!(check(&replica, &begin(id(1, 3), Some(id(1, 7)))), Err(Code::NoSuchPoint));
    let owner = group(GroupRole::Owner, &[1]);
    assert_eq!(check(&owner, &begin(id(1, 3), Some(id(1, 1)))), Err(Code::BothOwners));
    let other = Begin { group: GroupId(Uuid::from_u128(8)), ..begin(id(1, 3), None) };
    assert_eq!(check(&replica, &other), Err(Code::UnknownGroup));
}

#[test]
fn the_standing_of_a_group_with_many_points_has_those_that_are_kept() {
    let cycles: Vec<u64> = (1..=2000).collect();
    let mut owner = group(GroupRole::Owner, &cycles);
    owner.apply(owner.offer(Some(id(1, 3))).unwrap().record);
    let standing = owner.standing();
    assert!(standing.points.len() <= MAX_POINTS && standing.points.is_sorted());
    assert!(standing.points.contains(&id(1, 3)) && standing.points.contains(&id(1, 2000)));
}

#[test]
fn a_test_names_a_complete_point() {
    let replica = group(GroupRole::Replica, &[1, 2]);
    assert_eq!(replica.test(None), Ok(id(1, 2)));
    assert_eq!(replica.test(Some(id(1, 1))), Ok(id(1, 1)));
    assert_eq!(replica.test(Some(id(1, 3))).unwrap_err().code, Code::NoSuchPoint);
}

#[test]
fn a_record_is_stored_and_read() {
    let mut owner = group(GroupRole::Owner, &[1, 2]);
    owner.apply(owner.offer(Some(id(1, 2))).unwrap().record);
    let text = serde_json::to_string(owner.record()).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), *owner.record());
}

#[test]
fn points_are_limited() {
    let cycles: Vec<u64> = (1..=MAX_RECORDED as u64).collect();
    let full = |role| group(role, &cycles);
    let taken = full(GroupRole::Owner).take_point(name(), 0, 5, None);
    assert_eq!(taken.unwrap_err().code, Code::TooManyPoints);
    let refused = full(GroupRole::Replica).check_cycle(&begin(id(1, 9999), Some(id(1, 1))));
    assert_eq!(refused.unwrap_err().code, Code::TooManyPoints);
}
