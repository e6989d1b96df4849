//! OPEN, CLOSE, OPEN_DOWNGRADE, and what opens mean for other operations.

use super::kit::{Kit, OBJECT, end, get, go, lookup, read, set, write};
use crate::access::{Hosts, Rule, Rules};
use crate::{Access, Opens};
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::io::{ReadArguments, WriteArguments};
use nfs::v4::names::{CreateType, RenameArguments};
use nfs::v4::offload::CloneArguments;
use nfs::v4::open::{
    CloseArguments, CreateHow, Delegation, DelegationType, DowngradeArguments, ExclusiveCreate, OpenArguments,
    OpenClaim, OpenHow, OpenOk, WhyNoDelegation, result, share_access, share_deny,
};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, Stable, StateOwner, Stateid, Status};
use vfs::FileSystem;

const READ: u32 = share_access::READ;
const WRITE: u32 = share_access::WRITE;
const BOTH: u32 = share_access::BOTH;

fn arguments(claim: OpenClaim, how: OpenHow, share_access: u32, share_deny: u32) -> Operation {
    let owner = StateOwner { client: 0, owner: "owner".into() };
    Operation::Open(Box::new(OpenArguments { seqid: 0, share_access, share_deny, owner, how, claim }))
}

/// OPEN of a name that exists.
pub(super) fn open(name: &str, access: u32, deny: u32) -> Operation {
    arguments(OpenClaim::Null(name.into()), OpenHow::NoCreate, access, deny)
}

fn create(name: &str, how: CreateHow, access: u32) -> Operation {
    arguments(OpenClaim::Null(name.into()), OpenHow::Create(how), access, 0)
}

fn opened(kit: &Kit, operation: Operation) -> Result<OpenOk, Status> {
    match kit.at("s", [operation]) {
        Outcome::Open(results) => results.map(|ok| *ok),
        other => panic!("{other:?}"),
    }
}

pub(super) fn stateid(kit: &Kit, operation: Operation) -> Stateid {
    opened(kit, operation).unwrap_or_else(|status| panic!("{status}")).stateid
}

pub(super) fn close(stateid: Stateid) -> Operation {
    Operation::Close(CloseArguments { seqid: 0, stateid })
}

fn read_as(stateid: Stateid) -> Operation {
    Operation::Read(ReadArguments { stateid, offset_bytes: 0, count_bytes: 4 })
}

fn write_as(stateid: Stateid) -> Operation {
    Operation::Write(WriteArguments { stateid, offset_bytes: 0, stable: Stable::FileSync, data: b"data"[..].into() })
}

fn mode(mode: u32) -> Fattr {
    Fattr::new([Attribute::Mode(mode)])
}

#[test]
fn an_open_is_granted_without_delegation() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let ok = opened(&kit, open("f", READ, 0)).unwrap_or_else(|status| panic!("{status}"));
    assert_eq!((ok.stateid.seqid, ok.flags, ok.set), (1, result::LOCKTYPE_POSIX, Bitmap::EMPTY));
    assert_eq!((ok.change.atomic, ok.change.before), (true, ok.change.after));
    assert_eq!(ok.delegation, Delegation::None);
    let wish = opened(&kit, open("f", READ | share_access::WANT_NO_DELEGATION, 0)).map(|ok| ok.delegation);
    assert_eq!(wish, Ok(Delegation::NoneExtended(WhyNoDelegation::NOT_WANTED)));
    let outcomes = kit.run(go("s").into_iter().chain([open("f", READ, 0), Operation::GetFilehandle]));
    assert_eq!(outcomes.last(), Some(&Outcome::GetFilehandle(Ok(kit.handle("s/f")))));
}

#[test]
fn an_open_creates_as_asked() {
    let kit = Kit::new();
    let attributes = Fattr::new([Attribute::Mode(0o640), Attribute::Size(0)]);
    let ok = opened(&kit, create("f", CreateHow::Unchecked(attributes.clone()), BOTH));
    let ok = ok.unwrap_or_else(|status| panic!("{status}"));
    assert!(ok.change.atomic && ok.change.before < ok.change.after);
    assert_eq!(ok.set, Bitmap::new([4, 33]));
    assert_eq!(kit.attribute("s/f", 33), Attribute::Mode(0o640));
    kit.write("s/f", 0, b"content");
    // It exists: it is truncated, and its other attributes stay.
    let again = Fattr::new([Attribute::Mode(0o600), Attribute::Size(0)]);
    assert_eq!(opened(&kit, create("f", CreateHow::Unchecked(again), BOTH)).map(|ok| ok.set), Ok(Bitmap::new([4])));
    assert_eq!(kit.attributes("s/f", &[4, 33]), [Attribute::Size(0), Attribute::Mode(0o640)]);
    kit.write("s/f", 0, b"content");
    assert!(opened(&kit, create("f", CreateHow::Unchecked(mode(0o600)), READ)).is_ok());
    assert_eq!(kit.attribute("s/f", 4), Attribute::Size(7));
    assert_eq!(opened(&kit, create("f", CreateHow::Guarded(attributes), READ)), Err(Status::EXIST));
}

#[test]
fn an_exclusive_creation_is_repeated_with_its_verifier_alone() {
    let kit = Kit::new();
    let with = |verifier| {
        let create = ExclusiveCreate { verifier: [verifier; 8], attributes: mode(0o600) };
        CreateHow::ExclusiveWithAttributes(create)
    };
    assert!(opened(&kit, create("f", with(1), BOTH)).is_ok());
    let handle = kit.handle("s/f");
    assert_eq!(opened(&kit, create("f", with(1), BOTH)).map(|ok| ok.stateid.seqid), Ok(2));
    assert_eq!(opened(&kit, create("f", with(2), BOTH)), Err(Status::EXIST));
    assert_eq!((kit.handle("s/f"), kit.attribute("s/f", 33)), (handle, Attribute::Mode(0o600)));
    assert!(opened(&kit, create("g", CreateHow::Exclusive([3; 8]), BOTH)).is_ok());
    assert_eq!(opened(&kit, create("g", CreateHow::Exclusive([4; 8]), BOTH)), Err(Status::EXIST));
    let bad = ExclusiveCreate { verifier: [5; 8], attributes: Fattr::new([Attribute::Fileid(1)]) };
    assert_eq!(opened(&kit, create("h", CreateHow::ExclusiveWithAttributes(bad), BOTH)), Err(Status::INVAL));
    assert_eq!(kit.status_at("s", lookup("h")), Err(Status::NOENT));
}

/// A verifier is no secret: with the one of an existing file, another user gets what the mode permits.
#[test]
fn the_verifier_of_a_file_of_another_user_gives_no_access() {
    let kit = Kit::new();
    assert_eq!(kit.status_at("s", set(Stateid::ANONYMOUS, [Attribute::Mode(0o777)])), Ok(()));
    let with = |mode_bits| {
        let create = ExclusiveCreate { verifier: [1; 8], attributes: mode(mode_bits) };
        CreateHow::ExclusiveWithAttributes(create)
    };
    for (name, mode_bits, reads) in [("secret", 0o600, Err(Status::ACCESS)), ("public", 0o644, Ok(()))] {
        kit.user.set(1000);
        assert!(opened(&kit, create(name, with(mode_bits), BOTH)).is_ok());
        let file = kit.handle(&format!("s/{name}"));
        kit.user.set(1001);
        for how in [with(mode_bits), CreateHow::Exclusive([1; 8])] {
            let open = |access| opened(&kit, create(name, how.clone(), access)).map(|_| ());
            assert_eq!((open(BOTH), open(WRITE)), (Err(Status::ACCESS), Err(Status::ACCESS)), "{name}");
            assert_eq!(open(READ), reads, "{name}");
        }
        assert_eq!(kit.handle(&format!("s/{name}")), file);
    }
    // Its creator repeats a lost OPEN, whatever the mode that it has chosen.
    kit.user.set(1000);
    assert!(opened(&kit, create("sealed", with(0), BOTH)).is_ok());
    let again = stateid(&kit, create("sealed", with(0), BOTH));
    assert_eq!(kit.status_at("s/sealed", write_as(again)), Ok(()));
}

#[test]
fn only_regular_files_are_opened() {
    let kit = Kit::new();
    kit.directory("s", "d");
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    assert_eq!(kit.create("s", "p", CreateType::Fifo).status(), Ok(()));
    let status = |name| opened(&kit, open(name, READ, 0)).err();
    assert_eq!(status("d"), Some(Status::ISDIR));
    assert_eq!(status("l"), Some(Status::SYMLINK));
    assert_eq!(status("p"), Some(Status::WRONG_TYPE));
    assert_eq!(status("nothing"), Some(Status::NOENT));
    assert_eq!(status(".."), Some(Status::BADNAME));
    assert_eq!(kit.status_at("s/d", arguments(OpenClaim::Filehandle, OpenHow::NoCreate, READ, 0)), Err(Status::ISDIR));
    assert_eq!(opened(&kit, create("d", CreateHow::Unchecked(mode(0o600)), READ)), Err(Status::ISDIR));
    // In the pseudo root there are directories alone.
    assert_eq!(kit.status_at("", open("s", READ, 0)), Err(Status::ISDIR));
    assert_eq!(kit.status_at("", open("x", READ, 0)), Err(Status::NOENT));
    assert_eq!(kit.status_at("", create("x", CreateHow::Unchecked(mode(0o600)), READ)), Err(Status::ROFS));
}

#[test]
fn a_file_is_opened_by_its_handle() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let by_handle = |how| arguments(OpenClaim::Filehandle, how, READ, 0);
    assert_eq!(kit.status_at("s/f", by_handle(OpenHow::NoCreate)), Ok(()));
    let creates = OpenHow::Create(CreateHow::Unchecked(Fattr::none()));
    assert_eq!(kit.status_at("s/f", by_handle(creates)), Err(Status::INVAL));
}

#[test]
fn bits_of_share_reservations_are_checked() {
    let kit = Kit::new();
    kit.file("f", b"x");
    for (access, deny) in [(0, 0), (4, 0), (READ, 4)] {
        assert_eq!(opened(&kit, open("f", access, deny)), Err(Status::INVAL), "{access} {deny}");
    }
}

#[test]
fn opens_of_two_clients_deny_each_other() {
    let kit = Kit::new();
    let f = kit.file("f", b"x");
    let held = stateid(&kit, open("f", BOTH, share_deny::BOTH));
    kit.join("client-1", true);
    for access in [READ, WRITE, BOTH] {
        assert_eq!(opened(&kit, open("f", access, 0)), Err(Status::SHARE_DENIED));
    }
    assert_eq!(kit.status_at("s/f", read(0, 1)), Err(Status::LOCKED));
    assert_eq!(kit.status_at("s/f", write(0, b"x")), Err(Status::LOCKED));
    assert_eq!(kit.status_at("s/f", set(Stateid::ANONYMOUS, [Attribute::Size(0)])), Err(Status::LOCKED));
    let bypass = Operation::Read(ReadArguments { stateid: Stateid::READ_BYPASS, offset_bytes: 0, count_bytes: 1 });
    assert_eq!(kit.status_at("s/f", bypass), Ok(()));
    let truncates = Fattr::new([Attribute::Size(0)]);
    assert_eq!(opened(&kit, create("f", CreateHow::Unchecked(truncates), READ)), Err(Status::SHARE_DENIED));
    let file = kit.file("g", b"");
    assert!(!kit.server.denies(OBJECT, file, Access::Write));
    assert!(kit.server.permits_removal(OBJECT, file) && !kit.server.permits_removal(OBJECT, f));
    kit.who.set(0);
    assert_eq!(kit.status_at("s/f", close(held)), Ok(()));
    kit.who.set(1);
    assert!(opened(&kit, open("f", BOTH, share_deny::WRITE)).is_ok());
    assert_eq!(kit.attribute("s/f", 4), Attribute::Size(1));
}

#[test]
fn a_truncation_needs_that_others_permit_writing() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let _ = stateid(&kit, open("f", READ, share_deny::WRITE));
    kit.join("client-1", true);
    let truncates = CreateHow::Unchecked(Fattr::new([Attribute::Size(0)]));
    assert_eq!(opened(&kit, create("f", truncates, READ)), Err(Status::SHARE_DENIED));
    assert_eq!(kit.attribute("s/f", 4), Attribute::Size(1));
}

#[test]
fn the_source_of_a_clone_has_the_saved_stateid() {
    let kit = Kit::new();
    kit.file("f", b"content");
    kit.file("g", b"");
    let clone = CloneArguments {
        source_stateid: Stateid::CURRENT,
        destination_stateid: Stateid::ANONYMOUS,
        source_offset_bytes: 0,
        destination_offset_bytes: 0,
        count_bytes: 0,
    };
    let from = go("s").into_iter().chain([open("f", READ, 0), Operation::SaveFilehandle]);
    assert_eq!(kit.status(from.chain(go("s/g")).chain([Operation::Clone(clone)])), Ok(()));
    assert_eq!(kit.read("s/g", 0, 10).0, b"content");
}

#[test]
fn an_owner_that_opens_again_has_the_union() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let first = stateid(&kit, open("f", READ, 0));
    assert_eq!(kit.status_at("s/f", write_as(first)), Err(Status::OPENMODE));
    let second = stateid(&kit, open("f", WRITE, 0));
    assert_eq!((second.other, second.seqid), (first.other, 2));
    assert_eq!(kit.status_at("s/f", write_as(second)), Ok(()));
    assert_eq!(kit.status_at("s/f", read_as(first)), Err(Status::OLD_STATEID));
    let downgrade = |share_access| {
        let arguments =
            DowngradeArguments { stateid: Stateid { seqid: 0, ..second }, seqid: 0, share_access, share_deny: 0 };
        kit.at("s/f", [Operation::Downgrade(arguments)])
    };
    match downgrade(READ) {
        Outcome::Downgrade(Ok(third)) => {
            assert_eq!(third.seqid, 3);
            assert_eq!(kit.status_at("s/f", write_as(third)), Err(Status::OPENMODE));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(downgrade(BOTH).status(), Err(Status::INVAL));
}

#[test]
fn a_closed_open_is_a_bad_stateid() {
    let kit = Kit::new();
    kit.file("f", b"x");
    kit.file("g", b"x");
    let stateid = stateid(&kit, open("f", BOTH, 0));
    assert_eq!(kit.status_at("s/g", read_as(stateid)), Err(Status::BAD_STATEID));
    let closed = kit.at("s/f", [close(stateid)]);
    assert_eq!(closed, Outcome::Close(Ok(Stateid::INVALID)));
    assert_eq!(kit.status_at("s/f", read_as(stateid)), Err(Status::BAD_STATEID));
    assert_eq!(kit.status_at("s/f", close(stateid)), Err(Status::BAD_STATEID));
    assert_eq!(kit.status_at("", close(stateid)), Err(Status::BAD_STATEID));
}

#[test]
fn permissions_are_checked_at_the_open_and_not_after_it() {
    let kit = Kit::new();
    kit.file("f", b"x");
    assert_eq!(kit.status_at("s/f", set(Stateid::ANONYMOUS, [Attribute::Owner("1000".into())])), Ok(()));
    kit.user.set(1000);
    let held = stateid(&kit, open("f", BOTH, 0));
    assert_eq!(kit.status_at("s/f", set(Stateid::ANONYMOUS, [Attribute::Mode(0)])), Ok(()));
    assert_eq!(kit.status_at("s/f", read_as(held)), Ok(()));
    assert_eq!(kit.status_at("s/f", write_as(held)), Ok(()));
    // The owner's privilege is about content: an open follows the bits.
    assert_eq!(opened(&kit, open("f", READ, 0)), Err(Status::ACCESS));
    kit.user.set(1001);
    assert_eq!(opened(&kit, open("f", WRITE, 0)), Err(Status::ACCESS));
    // A file that the open creates is open for writing whatever its mode.
    kit.user.set(0);
    assert_eq!(kit.status_at("s", set(Stateid::ANONYMOUS, [Attribute::Mode(0o777)])), Ok(()));
    kit.user.set(1001);
    let new = stateid(&kit, create("new", CreateHow::Guarded(mode(0o400)), BOTH));
    assert_eq!(kit.status_at("s/new", write_as(new)), Ok(()));
}

#[test]
fn an_open_that_fails_leaves_no_hold() {
    let kit = Kit::new();
    let file = kit.file("f", b"x");
    kit.user.set(1000);
    assert_eq!(opened(&kit, open("f", WRITE, 0)), Err(Status::ACCESS));
    kit.user.set(0);
    assert_eq!(end(kit.fs.release(file)), Err(vfs::FsError::Stale));
    let held = stateid(&kit, open("f", BOTH, 0));
    let _ = stateid(&kit, open("f", READ, 0));
    assert_eq!(kit.status_at("s/f", close(Stateid { seqid: 0, ..held })), Ok(()));
    assert_eq!(end(kit.fs.release(file)), Err(vfs::FsError::Stale));
}

#[test]
fn an_open_for_writing_needs_an_export_that_can_be_written() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let rule = Rule { read_only: true, squash: vfs::Squash::None, ..Rule::new(Hosts::Any) };
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![rule]));
    assert!(opened(&kit, open("f", READ, 0)).is_ok());
    assert_eq!(opened(&kit, open("f", WRITE, 0)), Err(Status::ROFS));
    assert_eq!(opened(&kit, create("new", CreateHow::Unchecked(mode(0o600)), READ)), Err(Status::ROFS));
    let truncates = Fattr::new([Attribute::Size(0)]);
    assert_eq!(opened(&kit, create("f", CreateHow::Unchecked(truncates), READ)), Err(Status::ROFS));
}

#[test]
fn the_current_stateid_follows_the_handle() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let current = Stateid::CURRENT;
    let at = |operations: Vec<Operation>| {
        let operations = go("s").into_iter().chain([open("f", BOTH, 0)]).chain(operations);
        kit.run(operations).pop().map(|last| last.status())
    };
    let size = set(current, [Attribute::Size(2)]);
    assert_eq!(at(vec![read_as(current), write_as(current), size, close(current)]), Some(Ok(())));
    assert_eq!(at(vec![close(current), read_as(current)]), Some(Err(Status::BAD_STATEID)));
    let put = Operation::PutFilehandle(kit.handle("s/f"));
    assert_eq!(at(vec![put, read_as(current)]), Some(Err(Status::BAD_STATEID)));
    let saved =
        vec![Operation::SaveFilehandle, Operation::PutRootFilehandle, Operation::RestoreFilehandle, read_as(current)];
    assert_eq!(at(saved), Some(Ok(())));
    let found = vec![Operation::PutRootFilehandle, lookup("s"), lookup("f"), read_as(current)];
    assert_eq!(at(found), Some(Err(Status::BAD_STATEID)));
    assert_eq!(at(vec![Operation::FreeStateid(current)]), Some(Err(Status::LOCKS_HELD)));
}

#[test]
fn stateids_are_tested() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let held = stateid(&kit, open("f", BOTH, 0));
    let stateids = vec![held, Stateid { seqid: 2, ..held }, Stateid::ANONYMOUS, Stateid { seqid: 1, other: [7; 12] }];
    match kit.last([Operation::TestStateid(stateids.into())]) {
        Outcome::TestStateid(Ok(found)) => {
            let bad = Err(Status::BAD_STATEID);
            assert_eq!(found[..], [Ok(()), bad, bad, bad]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_removed_file_is_there_until_its_last_close() {
    let kit = Kit::new();
    kit.file("f", b"content");
    let held = stateid(&kit, open("f", READ, 0));
    let handle = kit.handle("s/f");
    assert_eq!(kit.status_at("s", Operation::Remove("f".into())), Ok(()));
    let put = || Operation::PutFilehandle(handle.clone());
    assert_eq!(kit.status([put(), read_as(held)]), Ok(()));
    match kit.last([put(), get(&[35])]) {
        Outcome::GetAttributes(Ok(fattr)) => assert_eq!(fattr.attributes(), Ok(vec![Attribute::Links(0)])),
        other => panic!("{other:?}"),
    }
    assert_eq!(kit.status([put(), close(held)]), Ok(()));
    assert_eq!(kit.status([put(), get(&[35])]), Err(Status::STALE));
}

#[test]
fn a_file_whose_open_denies_writing_keeps_its_name() {
    let kit = Kit::new();
    kit.file("f", b"x");
    kit.file("g", b"x");
    let held = stateid(&kit, open("f", READ, share_deny::WRITE));
    kit.join("client-1", true);
    let rename = |old: &str, new: &str| {
        kit.between("s", "s", Operation::Rename(RenameArguments { old: old.into(), new: new.into() })).status()
    };
    assert_eq!(kit.status_at("s", Operation::Remove("f".into())), Err(Status::FILE_OPEN));
    assert_eq!(rename("g", "f"), Err(Status::FILE_OPEN));
    assert_eq!(rename("f", "f"), Ok(()));
    assert_eq!(rename("f", "h"), Ok(()));
    kit.who.set(0);
    assert_eq!(kit.status_at("s/h", close(held)), Ok(()));
    assert_eq!(rename("g", "h"), Ok(()));
}

#[test]
fn an_open_is_reclaimed_after_a_restart() {
    let kit = Kit::new();
    kit.file("f", b"content");
    let g = kit.file("g", b"content");
    let held = stateid(&kit, open("f", BOTH, 0));
    let handle = kit.handle("s/f");
    assert_eq!(kit.status_at("s", Operation::Remove("f".into())), Ok(()));
    let records: Vec<_> = std::iter::from_fn(|| kit.server.take_record_change())
        .filter_map(|change| match change {
            nfs_state::RecordChange::Write(record) => Some(record),
            nfs_state::RecordChange::Remove { .. } => None,
        })
        .collect();
    assert_eq!(records.len(), 1);
    kit.engine.restart(false);
    let again = Kit::without_client(kit.engine.clone(), records);
    again.publish("other", OBJECT + 9, &again.fs, super::kit::any());
    assert!(again.server.shares().borrow_mut().withdraw(OBJECT, again.now()));
    again.publish("s", OBJECT, &kit.fs, super::kit::any());
    again.join("client-0", false);
    // The grace period keeps what can be reclaimed, also from protocols without an open.
    assert_eq!(end(again.server.advance(again.uptime())), Ok(()));
    assert!(!again.server.permits_removal(OBJECT, g));
    let put = || Operation::PutFilehandle(handle.clone());
    assert_eq!(again.status([put(), read_as(held)]), Err(Status::BAD_STATEID));
    let reclaim = arguments(OpenClaim::Previous(DelegationType::None), OpenHow::NoCreate, READ, 0);
    let new = match again.last([put(), reclaim]) {
        Outcome::Open(Ok(ok)) => ok.stateid,
        other => panic!("{other:?}"),
    };
    assert_eq!(opened(&again, create("new", CreateHow::Unchecked(mode(0o600)), READ)), Err(Status::GRACE));
    assert_eq!(again.status([Operation::ReclaimComplete(false)]), Ok(()));
    assert_eq!(again.status([Operation::ReclaimComplete(false)]), Err(Status::COMPLETE_ALREADY));
    assert!(again.server.permits_removal(OBJECT, g));
    assert_eq!(end(again.server.advance(again.uptime())), Ok(()));
    assert_eq!(again.status([put(), read_as(new)]), Ok(()));
    assert_eq!(again.status([put(), close(new)]), Ok(()));
    assert_eq!(again.status([put(), get(&[1])]), Err(Status::STALE));
}

#[test]
fn a_file_that_is_not_reclaimed_goes_after_the_grace_period() {
    let kit = Kit::new();
    kit.file("f", b"content");
    let _ = stateid(&kit, open("f", BOTH, 0));
    let handle = kit.handle("s/f");
    assert_eq!(kit.status_at("s", Operation::Remove("f".into())), Ok(()));
    kit.engine.restart(false);
    let again = Kit::without_client(kit.engine.clone(), Vec::new());
    again.publish("s", OBJECT, &kit.fs, super::kit::any());
    again.join("client-0", true);
    let put = || Operation::PutFilehandle(handle.clone());
    assert_eq!(again.status([put(), get(&[1])]), Ok(()));
    assert_eq!(end(again.server.advance(again.uptime())), Ok(()));
    assert_eq!(again.status([put(), get(&[1])]), Err(Status::STALE));
}

/// The file was created, and its open refused for lack of room: a repetition found the file, and had `EXIST`.
#[test]
fn a_file_is_not_created_if_there_is_no_room_for_its_open() {
    let limits = nfs_state::Limits { opens: 2, client_share: 1, ..Default::default() };
    let kit = Kit::limited(vfs::memory::MemoryEngine::new(None), Vec::new(), limits);
    kit.join("client-0", true);
    let new = |name: &str| create(name, CreateHow::Guarded(mode(0o600)), BOTH);
    let as_owner = |owner: &str, name: &str| match new(name) {
        Operation::Open(open) => {
            Operation::Open(Box::new(OpenArguments { owner: StateOwner { client: 0, owner: owner.into() }, ..*open }))
        }
        other => other,
    };
    let first = stateid(&kit, as_owner("a", "one"));
    let _ = stateid(&kit, as_owner("b", "two"));
    assert_eq!(opened(&kit, as_owner("c", "three")), Err(Status::DELAY));
    assert_eq!(kit.status_at("s", lookup("three")), Err(Status::NOENT));
    // What fails after the reservation leaves none behind.
    assert_eq!(kit.status_at("s/one", close(first)), Ok(()));
    for _ in 0..3 {
        assert_eq!(opened(&kit, as_owner("c", "two")), Err(Status::EXIST));
    }
    assert!(opened(&kit, as_owner("c", "three")).is_ok());
    assert_eq!(kit.server.state().totals(kit.uptime()).holdings.opens, 2);
}
