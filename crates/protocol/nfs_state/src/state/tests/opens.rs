//! OPEN, OPEN_DOWNGRADE, CLOSE, stateids, and what share reservations permit.

use nfs::v4::locks::LockType;
use nfs::v4::open::{Delegation, OpenClaim, WhyNoDelegation, share_access};
use nfs::v4::{Stateid, Status};

use super::kit::{BOTH, FILE, Kit, OTHER_FILE, READ, USER, WRITE, open_arguments};
use crate::state::{Io, IoAccess, delegation};
use crate::{FileKey, Limits};

#[test]
fn an_open_has_version_one_and_its_file_needs_a_hold() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let one = kit.open(&client, "o", &FILE, READ, 0).expect("an open");
    assert_eq!((one.stateid.seqid, one.first), (1, true));
    assert_eq!(one.stateid.other[..4], [0, 0, 0, 1]);
    let two = kit.open(&client, "p", &FILE, READ, 0).expect("an open");
    assert_eq!((two.stateid.seqid, two.first), (1, false));
    assert_eq!(kit.close(&client, &FILE, one.stateid), Ok(Stateid::INVALID));
    assert_eq!(kit.released(), []);
    assert_eq!(kit.close(&client, &FILE, two.stateid), Ok(Stateid::INVALID));
    assert!(!kit.open(&client, "p", &FILE, READ, 0).expect("an open").first, "the hold was not given back");
    kit.state.files.check();
    let stateid = kit.state.list_opens(0, 1).elements[0].stateid;
    kit.close(&client, &FILE, stateid).expect("closed");
    assert_eq!(kit.released(), [FILE]);
}

#[test]
fn access_and_deny_have_a_range() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    for (access, deny) in [(0, 0), (4, 0), (1, 4), (0x0600 | 1, 0), (0x4_0001, 0), (0x8000_0001, 0)] {
        assert_eq!(kit.open(&client, "o", &FILE, access, deny).err(), Some(Status::INVAL), "{access:x} {deny:x}");
    }
    let wish = share_access::WANT_ANY_DELEGATION | share_access::WANT_PUSH_WHEN_UNCONTENDED | READ;
    assert!(kit.open(&client, "o", &FILE, wish, 0).is_ok());
}

#[test]
fn every_wish_for_a_delegation_is_answered_with_none() {
    assert_eq!(delegation(READ), Delegation::None);
    let none = |why| Delegation::NoneExtended(why);
    assert_eq!(delegation(READ | share_access::WANT_NO_DELEGATION), none(WhyNoDelegation::NOT_WANTED));
    assert_eq!(delegation(READ | share_access::WANT_CANCEL), none(WhyNoDelegation::NOT_WANTED));
    let unsupported = none(WhyNoDelegation::NOT_SUPPORTED_FILE_TYPE);
    assert_eq!(delegation(READ | share_access::WANT_READ_DELEGATION), unsupported);
    assert_eq!(delegation(READ | share_access::WANT_ANY_DELEGATION), unsupported);
}

#[test]
fn claims_of_delegations_are_refused() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let stateid = Stateid { seqid: 1, other: [1; 12] };
    let cases = [
        (OpenClaim::DelegateCurrentFilehandle(stateid), Status::BAD_STATEID),
        (OpenClaim::DelegatePreviousFilehandle, Status::NOTSUPP),
    ];
    for (claim, status) in cases {
        assert_eq!(kit.open_by(&client, &open_arguments("o", READ, 0, claim), &FILE).err(), Some(status));
    }
}

#[test]
fn every_pair_of_shares_conflicts_exactly_if_one_denies_the_other() {
    for one in 0..12 {
        for other in 0..12 {
            let (access, deny, access2, deny2) = (one / 4 + 1, one % 4, other / 4 + 1, other % 4);
            let mut kit = Kit::new();
            let (a, b) = (kit.client("a", 1), kit.client("b", 2));
            kit.open(&a, "o", &FILE, access, deny).expect("an open");
            let conflict = (access & deny2 != 0 || access2 & deny != 0).then_some(Status::SHARE_DENIED);
            assert_eq!(kit.open(&b, "o", &FILE, access2, deny2).err(), conflict, "{access}{deny} {access2}{deny2}");
            // Another owner of the same client is no different.
            assert_eq!(
                kit.open(&a, "p", &FILE, access2, deny2).err(),
                conflict.or(conflict_with_itself(deny2, access2))
            );
            assert!(kit.open(&b, "o", &OTHER_FILE, access2, deny2).is_ok());
        }
    }
}

/// Conflict of a share with the same share of another owner.
fn conflict_with_itself(deny: u32, access: u32) -> Option<Status> {
    (access & deny != 0).then_some(Status::SHARE_DENIED)
}

#[test]
fn the_same_owner_adds_to_its_open() {
    let mut kit = Kit::new();
    let (client, other) = (kit.client("a", 1), kit.client("b", 2));
    let one = kit.open(&client, "o", &FILE, READ, 0).expect("an open").stateid;
    let two = kit.open(&client, "o", &FILE, WRITE, 0).expect("an open").stateid;
    assert_eq!((two.other, two.seqid), (one.other, 2));
    assert_eq!(kit.open(&other, "o", &FILE, READ, WRITE).err(), Some(Status::SHARE_DENIED));
    let view = &kit.state.list_opens(0, 9).elements;
    assert_eq!((view.len(), view[0].access, view[0].deny), (1, BOTH, 0));
    // Its own access stands in the way of a new denial.
    assert_eq!(kit.open(&client, "o", &FILE, READ, READ).err(), Some(Status::SHARE_DENIED));
    // The same name is another owner for another client.
    assert!(kit.open(&other, "o", &FILE, READ, 0).expect("an open").stateid.other != one.other);
}

#[test]
fn an_exclusive_open_can_be_repeated_by_its_owner() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    kit.open(&client, "o", &FILE, BOTH, BOTH).expect("an open");
    assert_eq!(kit.open(&client, "o", &FILE, BOTH, BOTH).expect("an open").stateid.seqid, 2);
    assert_eq!(kit.open(&client, "p", &FILE, BOTH, BOTH).err(), Some(Status::SHARE_DENIED));
}

#[test]
fn a_downgrade_gives_back_what_others_want() {
    let mut kit = Kit::new();
    let (client, other) = (kit.client("a", 1), kit.client("b", 2));
    kit.open(&client, "o", &FILE, READ, 0).expect("an open");
    let both = kit.open(&client, "o", &FILE, BOTH, WRITE).err();
    assert_eq!(both, None);
    let stateid = kit.state.list_opens(0, 1).elements[0].stateid;
    assert_eq!(kit.open(&other, "o", &FILE, WRITE, 0).err(), Some(Status::SHARE_DENIED));
    assert_eq!(kit.downgrade(&client, &FILE, stateid, WRITE, 0), Err(Status::INVAL));
    assert_eq!(kit.downgrade(&client, &FILE, stateid, READ, WRITE), Err(Status::INVAL));
    assert_eq!(kit.downgrade(&client, &FILE, stateid, 0, 0), Err(Status::INVAL));
    let downgraded = kit.downgrade(&client, &FILE, stateid, READ, 0).expect("downgraded");
    assert_eq!((downgraded.other, downgraded.seqid), (stateid.other, stateid.seqid + 1));
    assert!(kit.open(&other, "o", &FILE, WRITE, 0).is_ok());
    assert_eq!(kit.downgrade(&client, &FILE, downgraded, BOTH, WRITE), Err(Status::INVAL));
    kit.state.files.check();
}

#[test]
fn an_open_that_is_taken_back_leaves_what_was_before() {
    let mut kit = Kit::new();
    let (client, other) = (kit.client("a", 1), kit.client("b", 2));
    let new = kit.open(&client, "o", &FILE, BOTH, BOTH).expect("an open");
    kit.state.undo_open(&new);
    assert_eq!((kit.state.totals(kit.now).holdings.opens, kit.released()), (0, vec![FILE]));
    let one = kit.open(&client, "o", &FILE, READ, 0).expect("an open");
    let two = kit.open(&client, "o", &FILE, WRITE, 0).expect("an open");
    kit.state.undo_open(&two);
    assert!(kit.open(&other, "o", &FILE, READ, WRITE).is_ok());
    assert_eq!(kit.close(&client, &FILE, one.stateid), Ok(Stateid::INVALID));
    // What the owner has opened since is not taken back.
    let one = kit.open(&client, "o", &OTHER_FILE, READ, 0).expect("an open");
    kit.open(&client, "o", &OTHER_FILE, READ, 0).expect("an open");
    kit.state.undo_open(&one);
    kit.state.files.check();
    assert_eq!(kit.state.totals(kit.now).holdings.opens, 2);
}

#[test]
fn the_version_of_a_stateid_counts() {
    let mut kit = Kit::new();
    let (client, other) = (kit.client("a", 1), kit.client("b", 2));
    let one = kit.open(&client, "o", &FILE, READ, 0).expect("an open").stateid;
    let two = kit.open(&client, "o", &FILE, READ, 0).expect("an open").stateid;
    let version = |seqid| Stateid { seqid, ..two };
    let test = |client: &super::kit::Client, stateid| kit.state.test_stateid(client.reference, &[stateid])[0];
    assert_eq!((test(&client, two), test(&client, version(0))), (Ok(()), Ok(())));
    assert_eq!((test(&client, one), test(&client, version(3))), (Err(Status::OLD_STATEID), Err(Status::BAD_STATEID)));
    assert_eq!(test(&other, two), Err(Status::BAD_STATEID));
    for bit in [3, 7, 11] {
        let mut changed = two;
        changed.other[bit] ^= 4;
        assert_eq!(test(&client, changed), Err(Status::BAD_STATEID), "byte {bit}");
    }
    for special in [Stateid::ANONYMOUS, Stateid::READ_BYPASS, Stateid::CURRENT, Stateid::INVALID] {
        assert_eq!(test(&client, special), Err(Status::BAD_STATEID));
    }
    assert_eq!(kit.close(&client, &OTHER_FILE, two), Err(Status::BAD_STATEID));
    assert_eq!(kit.close(&client, &FILE, one), Err(Status::OLD_STATEID));
    assert_eq!(kit.state.free_stateid(client.reference, &two), Err(Status::LOCKS_HELD));
    assert_eq!(kit.close(&client, &FILE, version(0)), Ok(Stateid::INVALID));
    assert_eq!(kit.close(&client, &FILE, two), Err(Status::BAD_STATEID));
    assert_eq!(kit.state.free_stateid(client.reference, &two), Err(Status::BAD_STATEID));
}

#[test]
fn versions_wrap_to_one() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let one = kit.open(&client, "o", &FILE, READ, 0).expect("an open").stateid;
    kit.state.files.set_seqid(&one, u32::MAX);
    let next = kit.open(&client, "o", &FILE, READ, 0).expect("an open").stateid;
    assert_eq!(next.seqid, 1);
    let last = Stateid { seqid: u32::MAX, ..one };
    assert_eq!(kit.state.test_stateid(client.reference, &[last, next]), [Err(Status::OLD_STATEID), Ok(())]);
}

#[test]
fn io_follows_the_access_of_the_open() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let (reads, writes) = (IoAccess::Read, IoAccess::Write);
    let read = kit.open(&client, "r", &FILE, READ, 0).expect("an open").stateid;
    let write = kit.open(&client, "w", &FILE, WRITE, 0).expect("an open").stateid;
    let mut io = |file: &FileKey, stateid: Stateid, access| {
        kit.state.check_io(client.reference, USER, file, &stateid, access, kit.now)
    };
    assert_eq!(io(&FILE, read, reads), Ok(Io::Open));
    assert_eq!(io(&FILE, read, writes), Err(Status::OPENMODE));
    assert_eq!(io(&FILE, write, writes), Ok(Io::Open));
    assert_eq!(io(&FILE, write, reads), Ok(Io::OpenForWriting));
    assert_eq!(io(&OTHER_FILE, read, reads), Err(Status::BAD_STATEID));
    assert_eq!(io(&FILE, Stateid { seqid: 9, ..read }, reads), Err(Status::BAD_STATEID));
    for special in [Stateid::ANONYMOUS, Stateid::READ_BYPASS] {
        assert_eq!((io(&FILE, special, reads), io(&FILE, special, writes)), (Ok(Io::Special), Ok(Io::Special)));
    }
}

/// A stateid can be guessed or shared: another user of the client has no right by it.
#[test]
fn an_open_gives_its_right_to_the_user_that_opened_the_file() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let arguments = |access| open_arguments("o", access, 0, OpenClaim::Filehandle);
    let open = kit.open_as(&client, 1, &arguments(BOTH), &FILE).expect("an open").stateid;
    let lock = kit.lock(&client, open, "l", LockType::Write, (0, 1)).expect("a lock");
    let io = |kit: &mut Kit, user, stateid, access| {
        kit.state.check_io(client.reference, user, &FILE, &Stateid { seqid: 0, ..stateid }, access, kit.now)
    };
    for access in [IoAccess::Read, IoAccess::Write] {
        for stateid in [open, lock] {
            assert_eq!(io(&mut kit, 1, stateid, access), Ok(Io::Open));
            assert_eq!(io(&mut kit, 2, stateid, access), Ok(Io::OpenOfOther));
        }
    }
    // An open of two users gives it to none; taken back, it is of the first one again.
    let second = kit.open_as(&client, 2, &arguments(READ), &FILE).expect("an open");
    for user in [1, 2] {
        assert_eq!(io(&mut kit, user, open, IoAccess::Read), Ok(Io::OpenOfOther));
    }
    kit.state.undo_open(&second);
    assert_eq!(io(&mut kit, 1, open, IoAccess::Read), Ok(Io::Open));
    let again = kit.open_as(&client, 1, &arguments(READ), &FILE).expect("an open").stateid;
    let left = kit.downgrade(&client, &FILE, again, READ, 0).expect("downgraded");
    assert_eq!(io(&mut kit, 1, left, IoAccess::Read), Ok(Io::Open));
}

#[test]
fn io_without_an_open_is_locked_by_what_is_denied() {
    for (deny, read, write) in [(READ, false, true), (WRITE, true, false), (BOTH, false, false)] {
        let mut kit = Kit::new();
        let (client, other) = (kit.client("a", 1), kit.client("b", 2));
        kit.open(&client, "o", &FILE, BOTH, deny).expect("an open");
        let locked = |is_free: bool| if is_free { Ok(()) } else { Err(Status::LOCKED) };
        let state = &mut kit.state;
        assert_eq!(state.check_anonymous_io(&FILE, IoAccess::Read, kit.now), locked(read));
        assert_eq!(state.check_anonymous_io(&FILE, IoAccess::Write, kit.now), locked(write));
        let mut io =
            |stateid, access| state.check_io(other.reference, USER, &FILE, &stateid, access, kit.now).map(|_| ());
        assert_eq!(io(Stateid::ANONYMOUS, IoAccess::Write), locked(write));
        assert_eq!(io(Stateid::READ_BYPASS, IoAccess::Read), Ok(()));
        assert_eq!(io(Stateid::READ_BYPASS, IoAccess::Write), locked(write));
        let removed = if write { Ok(()) } else { Err(Status::FILE_OPEN) };
        assert_eq!(kit.state.check_remove(&FILE, kit.now), removed);
        assert_eq!(kit.state.check_remove(&OTHER_FILE, kit.now), Ok(()));
    }
}

#[test]
fn reading_by_an_open_for_writing_respects_the_denials_of_others_only() {
    let mut kit = Kit::new();
    let (client, other) = (kit.client("a", 1), kit.client("b", 2));
    let own = kit.open(&client, "o", &FILE, WRITE, READ).expect("an open").stateid;
    let read = |kit: &mut Kit, client: &super::kit::Client, stateid| {
        kit.state.check_io(client.reference, USER, &FILE, &stateid, IoAccess::Read, kit.now)
    };
    assert_eq!(read(&mut kit, &client, own), Ok(Io::OpenForWriting));
    let others = kit.open(&other, "o", &FILE, WRITE, 0).expect("an open").stateid;
    assert_eq!(read(&mut kit, &other, others), Err(Status::LOCKED));
}

#[test]
fn opens_and_names_of_owners_are_limited() {
    let mut kit = Kit::with(Limits { opens: 3, owner_bytes: 12, client_share: 1, ..Limits::default() });
    let client = kit.client("a", 1);
    let file = |file| FileKey { share: 1, file };
    let opened: Vec<_> = (0..3).map(|number| kit.open(&client, "owner", &file(number), READ, 0)).collect();
    assert!(opened.iter().all(Result::is_ok));
    assert_eq!(kit.open(&client, "owner", &file(3), READ, 0).err(), Some(Status::DELAY));
    assert!(kit.open(&client, "owner", &file(2), WRITE, 0).is_ok(), "adds nothing");
    kit.close(&client, &file(0), opened[0].as_ref().expect("an open").stateid).expect("closed");
    assert_eq!(kit.open(&client, "too long", &file(3), READ, 0).err(), Some(Status::DELAY));
    assert!(kit.open(&client, "shorter", &file(3), READ, 0).is_ok());
    assert_eq!((kit.state.totals(kit.now).owner_bytes, kit.released()), (12, vec![file(0)]));
}

#[test]
fn files_whose_hold_was_not_given_back_are_limited() {
    let mut kit = Kit::with(Limits { opens: 3, client_share: 1, ..Limits::default() });
    let client = kit.client("a", 1);
    let file = |file| FileKey { share: 1, file };
    for number in 0..3 {
        let stateid = kit.open(&client, "o", &file(number), READ, 0).expect("an open").stateid;
        kit.close(&client, &file(number), stateid).expect("closed");
    }
    assert_eq!(kit.open(&client, "o", &file(3), READ, 0).err(), Some(Status::DELAY));
    assert_eq!(kit.released().len(), 3);
    assert!(kit.open(&client, "o", &file(3), READ, 0).is_ok());
}

#[test]
fn a_client_gets_its_share_of_opens_and_names_and_leaves_the_rest_to_others() {
    let mut kit = Kit::with(Limits { opens: 8, owner_bytes: 40, ..Limits::default() });
    let (a, b) = (kit.client("a", 1), kit.client("b", 2));
    let file = |file| FileKey { share: 1, file };
    for number in 0..2 {
        assert!(kit.open(&a, "o", &file(number), READ, 0).is_ok());
    }
    assert_eq!(kit.open(&a, "o", &file(2), READ, 0).err(), Some(Status::DELAY));
    assert_eq!(kit.open(&b, "eleven byte", &file(2), READ, 0).err(), Some(Status::DELAY));
    assert!(kit.open(&b, "ten bytes.", &file(2), READ, 0).is_ok());
    assert_eq!(kit.open(&b, "p", &file(3), READ, 0).err(), Some(Status::DELAY));
}

#[test]
fn reserved_room_is_taken_until_the_reservation_ends() {
    let mut kit = Kit::with(Limits { opens: 2, client_share: 1, ..Limits::default() });
    let (one, two) = (kit.client("a", 1), kit.client("b", 1));
    let request = |kit: &mut Kit, owner: &str| {
        let arguments = open_arguments(owner, READ, 0, OpenClaim::Filehandle);
        kit.state.prepare_open(one.reference, &arguments, kit.now).expect("a valid OPEN")
    };
    let first = request(&mut kit, "o");
    let reserved = kit.state.reserve_open(one.reference, &first, kit.now).expect("room");
    assert!(kit.open(&two, "o", &FILE, READ, 0).is_ok());
    assert_eq!(kit.open(&two, "p", &FILE, READ, 0).err(), Some(Status::DELAY));
    let second = request(&mut kit, "p");
    assert_eq!(kit.state.reserve_open(one.reference, &second, kit.now).err(), Some(Status::DELAY));
    kit.state.files.check();
    kit.state.end_reservation(reserved);
    assert!(kit.state.open(one.reference, USER, &first, &OTHER_FILE, kit.now).is_ok());
    kit.state.files.check();
    assert_eq!(kit.state.totals(kit.now).owner_bytes, 2);
}
