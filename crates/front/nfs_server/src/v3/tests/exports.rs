//! Shares and rules, as the procedures meet them.

use super::{do_set, set, unchanged, with_f};
use crate::access::{Hosts, Rule};
use crate::testing::{Bench, HIDDEN, RO, S, UNSET, any, bad, bytes_of, entry, good, mode};
use nfs::v3::{
    CreateArguments, CreateHow, LinkArguments, MakeDirectoryArguments, MakeNode, MakeNodeArguments, ReadArguments,
    RenameArguments, Request, Stable, Status, SymbolicLinkArguments, WccData, WriteArguments,
};
use vfs::{Anonymous, FileId, Squash};

/// E103
#[test]
fn a_handle_is_of_no_use_without_a_rule() {
    let bench = Bench::new();
    let root = bench.root(HIDDEN);
    assert_eq!(bench.status(&Request::GetAttributes(root.clone())), Some(Status::ACCES));
    let (status, attributes) = bad!(bench.v3(&Request::Lookup(entry(&root, "x"))), Lookup);
    assert_eq!((status, attributes), (Status::ACCES, None));
    let (status, wcc) = bad!(bench.v3(&set(&root, mode(0), None)), SetAttributes);
    assert_eq!((status, wcc), (Status::ACCES, WccData { before: None, after: None }));
    bench.client([10, 9, 9, 9], 700);
    assert_eq!(bench.status(&Request::GetAttributes(root)), None);
}

#[test]
fn a_share_that_version_3_does_not_serve_is_denied() {
    let (bench, _, f) = with_f();
    bench.change_share(S, |share| share.protocols.v3 = false);
    assert_eq!(bench.status(&Request::GetAttributes(f)), Some(Status::ACCES));
}

#[test]
fn handles_of_other_epochs_and_withdrawn_shares_are_stale() {
    let (bench, _, f) = with_f();
    bench.change_share(S, |share| share.epoch = 2);
    assert_eq!(bench.status(&Request::GetAttributes(f.clone())), Some(Status::STALE));
    bench.change_share(S, |share| share.epoch = 1);
    assert_eq!(bench.status(&Request::GetAttributes(f.clone())), None);
    assert!(bench.shares.borrow_mut().withdraw(S, vfs::Timestamp::default()));
    assert_eq!(bench.status(&Request::GetAttributes(f.clone())), Some(Status::STALE));
    let unknown = bench.handle(S + 100, FileId(1));
    assert_eq!(bench.status(&Request::GetAttributes(unknown)), Some(Status::STALE));
}

/// E195
#[test]
fn a_read_only_export_refuses_every_change() {
    let (bench, ..) = with_f();
    let root = bench.root(RO);
    let f = bench.lookup(&root, "F").file;
    let at = || entry(&root, "new");
    let requests = [
        set(&f, mode(0), None),
        Request::Write(WriteArguments {
            file: f.clone(),
            offset_bytes: 0,
            stable: Stable::FileSync,
            data: b"x"[..].into(),
        }),
        Request::Create(CreateArguments { entry: at(), how: CreateHow::Unchecked(UNSET) }),
        Request::MakeDirectory(MakeDirectoryArguments { entry: at(), attributes: UNSET }),
        Request::SymbolicLink(SymbolicLinkArguments { entry: at(), attributes: UNSET, target: b"t"[..].into() }),
        Request::MakeNode(MakeNodeArguments { entry: at(), what: MakeNode::Fifo(UNSET) }),
        Request::Remove(entry(&root, "F")),
        Request::RemoveDirectory(entry(&root, "F")),
        Request::Rename(RenameArguments { from: entry(&root, "F"), to: at() }),
        Request::Link(LinkArguments { file: f.clone(), entry: at() }),
    ];
    let old = (bench.attributes(&root), bench.attributes(&f));
    for request in &requests {
        assert!(super::super::changed(request).is_some());
        assert_eq!(bench.status(request), Some(Status::ROFS), "{request:?}");
    }
    assert_eq!((bench.attributes(&root), bench.attributes(&f)), old);
    let (status, wcc) = bad!(bench.v3(&requests[2]), Create);
    assert_eq!((status, wcc), (Status::ROFS, unchanged(&old.0)));
    // The procedures that change something are these.
    let random = random::Random::new(195);
    let changing: std::collections::BTreeSet<u32> = requests.iter().map(Request::procedure).collect();
    for _ in 0..1000 {
        let request = <Request as xdr::Sample>::sample(&random);
        assert_eq!(super::super::changed(&request).is_some(), changing.contains(&request.procedure()));
    }
}

/// E196
#[test]
fn squash_makes_callers_anonymous() {
    let bench = Bench::new();
    let root = bench.root(S);
    do_set(&bench, &root, mode(0o777));
    let anonymous = Anonymous { user: 300, group: 301 };
    for (squash, owners) in [(Squash::Root, [300, 1000]), (Squash::All, [300, 300])] {
        bench.change_share(S, |share| share.rules.0 = vec![Rule { squash, anonymous, ..Rule::new(Hosts::Any) }]);
        for (user, owner) in [0, 1000].into_iter().zip(owners) {
            bench.user(user);
            let file = bench.create(&root, &format!("{squash:?} {user}"));
            let found = bench.attributes(&file);
            assert_eq!((found.uid, found.gid == 301), (owner, owner == 300), "{squash:?} {user}");
        }
    }
    bench.credential.replace(onc_rpc::auth::OpaqueAuth::none());
    bench.change_share(S, |share| share.rules.0 = vec![Rule { anonymous, ..any() }]);
    assert_eq!(bench.attributes(&bench.create(&root, "none")).uid, 300);
}

/// E199: without clients of NFSv4 that could reclaim, nothing waits for the end of a grace period.
/// E119, D83
#[test]
fn handles_outlive_a_restart() {
    let (mut bench, root, f) = with_f();
    bench.restart(false);
    assert_eq!(bench.lookup(&root, "F").file, f);
    good!(bench.write(&f, 0, b"after", Stable::FileSync), Write);
    assert_eq!(&bench.read(&f, 0, 5).data[..], b"after");
}

#[test]
fn a_deleted_file_system_is_stale() {
    let (bench, _, f) = with_f();
    assert_eq!(bench.files.delete(), Ok(()));
    let read = Request::Read(ReadArguments { file: f, offset_bytes: 0, count_bytes: 1 });
    let (status, attributes) = bad!(bench.v3(&read), Read);
    assert_eq!((status, attributes), (Status::STALE, None));
}

/// E: handles have 1 to 64 bytes.
#[test]
fn handles_of_0_or_65_bytes_are_garbage() {
    let bench = Bench::new();
    let garbage = onc_rpc::message::AcceptStatus::GarbageArguments;
    for length in [0, 65] {
        let arguments = crate::testing::encoded(|writer| writer.opaque(&vec![1; length]));
        assert_eq!(bench.accepted(nfs::PROGRAM, 3, 1, &arguments), garbage);
    }
    let longest = nfs::v3::Filehandle::from(vec![1; 64]);
    assert_eq!(bytes_of(&longest).len(), 68);
    assert_eq!(bench.status(&Request::GetAttributes(longest)), Some(Status::BADHANDLE));
}
