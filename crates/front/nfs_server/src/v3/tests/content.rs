//! READLINK, READ, WRITE, COMMIT.

use super::{F_BYTES, content, do_set, unchanged, with_f};
use crate::reservations::Access;
use crate::testing::{Bench, S, UNSET, any, bad, encoded, entry, good, mode};
use nfs::v3::{
    CommitArguments, CommitOk, Filehandle, NewAttributes, ReadArguments, Request, Stable, Status,
    SymbolicLinkArguments, WriteArguments,
};
use onc_rpc::message::AcceptStatus;
use vfs::FileId;

fn commit(bench: &Bench, file: &Filehandle, offset_bytes: u64, count_bytes: u32) -> CommitOk {
    let arguments = CommitArguments { file: file.clone(), offset_bytes, count_bytes };
    good!(bench.v3(&Request::Commit(arguments)), Commit)
}

fn read_request(file: &Filehandle, offset_bytes: u64, count_bytes: u32) -> Request {
    Request::Read(ReadArguments { file: file.clone(), offset_bytes, count_bytes })
}

/// E123
#[test]
fn a_link_is_read_as_it_was_stored() {
    let (bench, root, f) = with_f();
    let target = &b"../\xff there"[..];
    let arguments = SymbolicLinkArguments { entry: entry(&root, "L"), attributes: mode(0o777), target: target.into() };
    let link = good!(bench.v3(&Request::SymbolicLink(arguments)), SymbolicLink).file;
    let link = link.unwrap_or_else(|| panic!("no handle"));
    let read = good!(bench.v3(&Request::ReadLink(link.clone())), ReadLink);
    assert_eq!((&read.target[..], read.attributes), (target, Some(bench.attributes(&link))));
    for other in [f, root] {
        let (status, attributes) = bad!(bench.v3(&Request::ReadLink(other.clone())), ReadLink);
        assert_eq!((status, attributes), (Status::INVAL, Some(bench.attributes(&other))));
    }
    // Neither is a link read or written like a file.
    assert_eq!(bench.status(&read_request(&link, 0, 1)), Some(Status::INVAL));
}

/// E124, E125, E127
#[test]
fn the_end_of_a_file_is_told() {
    let (bench, _, f) = with_f();
    for (offset, count, length, eof) in [
        (0, 4096, 4096, false),
        (36_864, 8192, 4196, true),
        (36_864, 4196, 4196, true),
        (36_864, 4195, 4195, false),
        (F_BYTES, 10, 0, true),
        (F_BYTES, 0, 0, true),
        (u64::MAX, 4096, 0, true),
        (100, 0, 0, false),
    ] {
        let read = bench.read(&f, offset, count);
        assert_eq!((read.count_bytes, read.eof, read.data.len()), (length, eof, length as usize), "{offset} {count}");
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content().len());
        assert_eq!(&read.data[..], &content()[start..start + length as usize]);
        assert_eq!(read.attributes, Some(bench.attributes(&f)));
    }
}

/// E129
#[test]
fn a_read_beyond_the_limit_is_cut() {
    let (bench, _, f) = with_f();
    do_set(&bench, &f, NewAttributes { size_bytes: Some(4 << 20), ..UNSET });
    let read = bench.read(&f, 0, 2 << 20);
    assert_eq!((read.count_bytes, read.eof), (1 << 20, false));
    assert_eq!(read.data[..41_060], content());
    assert!(read.data[41_060..].iter().all(|byte| *byte == 0));
    assert!(bench.read(&f, 3 << 20, u32::MAX).eof);
}

/// E131
#[test]
fn a_directory_has_no_content() {
    let (bench, root, _) = with_f();
    let before = bench.attributes(&root);
    let (status, attributes) = bad!(bench.v3(&read_request(&root, 0, 10)), Read);
    assert_eq!((status, attributes.map(|found| found.fileid)), (Status::ISDIR, Some(before.fileid)));
    let (status, wcc) = bad!(bench.write(&root, 0, b"x", Stable::FileSync), Write);
    assert_eq!((status, wcc), (Status::ISDIR, unchanged(&before)));
    let arguments = CommitArguments { file: root.clone(), offset_bytes: 0, count_bytes: 0 };
    let (status, wcc) = bad!(bench.v3(&Request::Commit(arguments)), Commit);
    assert_eq!((status, wcc), (Status::ISDIR, unchanged(&before)));
}

/// E132, E133
#[test]
fn permission_to_read_and_write() {
    let (bench, _, f) = with_f();
    let read = read_request(&f, 0, 10);
    for (owner, bits, user, may_read, may_write) in [
        (0, 0o600, 1000, false, false),
        (0, 0o601, 1000, true, false),
        (0, 0o604, 1000, true, false),
        (0, 0o602, 1000, false, true),
        (1000, 0, 1000, true, true),
        (1000, 0, 0, true, true),
    ] {
        bench.user(0);
        do_set(&bench, &f, NewAttributes { mode: Some(bits), uid: Some(owner), ..UNSET });
        bench.user(user);
        let expected = |may: bool| if may { None } else { Some(Status::ACCES) };
        assert_eq!(bench.status(&read), expected(may_read), "{bits:o} {user}");
        let written = crate::testing::status_of(&bench.write(&f, 0, b"x", Stable::FileSync));
        assert_eq!(written, expected(may_write), "{bits:o} {user}");
    }
}

/// E134, E188
#[test]
fn writes_are_as_durable_as_was_asked() {
    let (bench, _, f) = with_f();
    let mut verifiers = vec![commit(&bench, &f, 0, 0).verifier];
    for (stable, committed) in [
        (Stable::Unstable, Stable::Unstable),
        (Stable::DataSync, Stable::FileSync),
        (Stable::FileSync, Stable::FileSync),
    ] {
        let old = bench.attributes(&f);
        let written = good!(bench.write(&f, F_BYTES, b"more", stable), Write);
        assert_eq!((written.count_bytes, written.committed), (4, committed));
        assert_eq!(written.wcc, super::changed(&old, &bench.attributes(&f)));
        verifiers.push(written.verifier);
    }
    for (offset, count) in [(0, 0), (1 << 40, 7), (u64::MAX, u32::MAX)] {
        let committed = commit(&bench, &f, offset, count);
        assert_eq!(committed.wcc, unchanged(&bench.attributes(&f)));
        verifiers.push(committed.verifier);
    }
    assert!(verifiers.iter().all(|verifier| *verifier == verifiers[0]));
}

/// E135, E136, E83 of handles: D83
#[test]
fn a_crash_loses_what_was_not_committed_and_changes_the_verifier() {
    let (mut bench, _, f) = with_f();
    bench.engine.expect_crashes();
    let first = good!(bench.write(&f, 0, b"kept", Stable::Unstable), Write).verifier;
    assert_eq!(commit(&bench, &f, 0, 0).verifier, first);
    good!(bench.write(&f, 0, b"lost", Stable::Unstable), Write);
    bench.restart(true);
    assert_eq!(&bench.read(&f, 0, 4).data[..], b"kept");
    assert_ne!(commit(&bench, &f, 0, 0).verifier, first);
}

/// E137
#[test]
fn a_count_is_the_length_of_the_data() {
    let (bench, _, f) = with_f();
    let arguments = encoded(|writer| {
        writer.opaque(&f);
        writer.u64(0);
        writer.u32(5);
        writer.u32(2);
        writer.opaque(b"four");
    });
    assert_eq!(bench.accepted(nfs::PROGRAM, 3, 7, &arguments), AcceptStatus::GarbageArguments);
    assert_eq!(bench.read(&f, 0, 4).data[..], content()[..4]);
}

/// E138
#[test]
fn a_write_beyond_the_limit_is_cut() {
    let (bench, _, f) = with_f();
    let written = good!(bench.write(&f, 0, &vec![7; (1 << 20) + 9], Stable::FileSync), Write);
    assert_eq!((written.count_bytes, bench.attributes(&f).size_bytes), (1 << 20, 1 << 20));
}

/// E139
#[test]
fn a_write_ends_within_the_largest_file() {
    let (bench, _, f) = with_f();
    for offset in [(1 << 44) - 3, 1 << 44, u64::MAX - 1] {
        let old = bench.attributes(&f);
        let (status, wcc) = bad!(bench.write(&f, offset, b"four", Stable::FileSync), Write);
        assert_eq!((status, wcc), (Status::FBIG, unchanged(&old)), "{offset}");
    }
    good!(bench.write(&f, (1 << 44) - 4, b"four", Stable::FileSync), Write);
}

/// E140
#[test]
fn an_empty_write_changes_nothing() {
    let (bench, _, f) = with_f();
    let old = bench.attributes(&f);
    let written = good!(bench.write(&f, 1 << 30, b"", Stable::FileSync), Write);
    assert_eq!((written.count_bytes, written.wcc), (0, unchanged(&old)));
}

/// E142
#[test]
fn a_full_pool_and_a_quota_are_told_apart() {
    let (bench, _, f) = with_f();
    let full = |status| {
        let old = bench.attributes(&f);
        let (found, wcc) = bad!(bench.write(&f, 1 << 20, &vec![7; 1 << 20], Stable::FileSync), Write);
        assert_eq!((found, wcc), (status, unchanged(&old)));
    };
    bench.files.set_quota(Some(1 << 20));
    full(Status::DQUOT);
    bench.files.set_quota(None);
    bench.engine.leave(8192);
    full(Status::NOSPC);
}

#[test]
fn damaged_content_is_an_error() {
    let (bench, _, f) = with_f();
    let id = FileId(bench.attributes(&f).fileid);
    bench.engine.set_unreadable(&bench.files, Some(id));
    let (status, attributes) = bad!(bench.v3(&read_request(&f, 0, 10)), Read);
    assert_eq!((status, attributes), (Status::IO, Some(bench.attributes(&f))));
}

/// E198
#[test]
fn share_reservations_hold_for_calls_without_an_open() {
    let (bench, root, f) = with_f();
    let id = FileId(bench.attributes(&f).fileid);
    let old = bench.attributes(&f);
    bench.v4.0.borrow_mut().push((S, id, Access::Write));
    let (status, wcc) = bad!(bench.write(&f, 0, b"x", Stable::Unstable), Write);
    assert_eq!((status, wcc), (Status::JUKEBOX, unchanged(&old)));
    let truncated = NewAttributes { size_bytes: Some(0), ..UNSET };
    super::refuses_set(&bench, &f, truncated.clone(), Status::JUKEBOX);
    let how = nfs::v3::CreateHow::Unchecked(truncated);
    let create = Request::Create(nfs::v3::CreateArguments { entry: entry(&root, "F"), how });
    assert_eq!(bench.status(&create), Some(Status::JUKEBOX));
    bench.read(&f, 0, 1);
    do_set(&bench, &f, mode(0o600));
    bench.v4.0.replace(vec![(S, id, Access::Read)]);
    assert_eq!(bench.status(&read_request(&f, 0, 1)), Some(Status::JUKEBOX));
    good!(bench.write(&f, 0, b"x", Stable::Unstable), Write);
}

/// A pool that has stopped leaves the outcome open: the client hears nothing, and repeats the call.
#[test]
fn a_change_of_unknown_outcome_has_no_reply() {
    // The memory file system does not stop; the rule is one function.
    let stopped = super::super::failure::Reason::from(vfs::FsError::Stopped { reason: String::new() });
    assert_eq!(super::super::failure::status(&stopped), Err(super::super::failure::Unknown));
    let outcome: super::super::failure::Outcome<(), ()> = Err(stopped.with(()));
    assert_eq!(super::super::failure::settle(outcome), Err(super::super::failure::Unknown));
}

#[test]
fn a_file_of_several_extents_is_one_piece_of_data() {
    let (bench, _, f) = with_f();
    good!(bench.write(&f, 100_000, b"behind a hole", Stable::FileSync), Write);
    let mut expected = content();
    expected.resize(100_000, 0);
    expected.extend(b"behind a hole");
    assert_eq!(bench.read(&f, 0, 1 << 20).data[..], expected);
    let request =
        Request::Write(WriteArguments { file: f, offset_bytes: 3, stable: Stable::FileSync, data: b"yz"[..].into() });
    bench.change_share(S, |share| share.rules.0 = vec![any()]);
    assert_eq!(bench.status(&request), None);
}

#[test]
fn reads_and_writes_are_counted_by_share() {
    let now_ns = std::cell::Cell::new(0);
    let clock = move || now_ns.replace(now_ns.get() + 3_000);
    let statistics = std::rc::Rc::new(crate::Statistics::new(Box::new(clock), Box::new(|_| {})));
    let bench = Bench::new().measured(std::rc::Rc::clone(&statistics));
    let counted = crate::Counted { share: statistics.published(crate::testing::S, "s"), snapshot: None };
    bench.change_share(crate::testing::S, |share| share.counted = Some(counted));
    let root = bench.root(crate::testing::S);
    let f = bench.create(&root, "F");
    good!(bench.write(&f, 0, &[1; 5000], Stable::FileSync), Write);
    assert_eq!(bench.read(&f, 4000, 9000).count_bytes, 1000);
    let (status, _) = bad!(bench.v3(&read_request(&root, 0, 1)), Read);
    assert_eq!(status, Status::ISDIR);
    let io = statistics.share(crate::testing::S).map(|share| (share.unit.io(), share.unit.latency().read.sum_ns));
    let expected =
        unit::IoStatistics { reads: 1, read_bytes: 1000, writes: 1, written_bytes: 5000, ..Default::default() };
    assert_eq!(io, Some((expected, 3_000)));
}
