//! Calls: headers, credentials, programs. The numbers are rows of the facts about the wire.

use super::*;
use crate::access::Rule;
use crate::testing::{
    Bench, HIDDEN, RO, S, SETTINGS, UNSET, any, bad, bytes_of, encoded, entry, good, mode, ready, record, reply_of,
    results_of, status_of, success, sys,
};
use nfs::mount;
use nfs::v3::{AccessArguments, CreateArguments, CreateHow, Request, Status, access};
use onc_rpc::auth::{AuthStat, AuthSys, Flavor};
use std::task::{Context as Task, Poll, Waker};
use xdr::Xdr;

const NFS: u32 = nfs::PROGRAM;
const RANGE_3_4: AcceptStatus = AcceptStatus::ProgramMismatch(VersionRange { low: 3, high: 4 });

/// Credential with these bytes.
fn raw(flavor: Flavor, body: &[u8]) -> OpaqueAuth {
    OpaqueAuth { flavor, body: body.into() }
}

fn null(bench: &Bench) -> Call {
    bench.header(NFS, 3, 0)
}

fn auth_error(bench: &Bench, credential: OpaqueAuth, verifier: OpaqueAuth) -> Option<AuthStat> {
    match bench.reply(&Call { credential, verifier, ..null(bench) }, &[]).0 {
        ReplyBody::Denied(Rejection::AuthError(status)) => Some(status),
        ReplyBody::Accepted(Accepted { status: AcceptStatus::Success, .. }) => None,
        other => panic!("{other:?}"),
    }
}

/// B1
#[test]
fn null_is_answered_in_every_program_without_a_credential() {
    let bench = Bench::new();
    bench.credential.replace(OpaqueAuth::none());
    for (program, version) in [(NFS, 3), (NFS, 4), (mount::PROGRAM, 3), (100_000, 2), (100_000, 3), (100_000, 4)] {
        let call = bench.header(program, version, 0);
        let (body, reader) = bench.reply(&call, &[]);
        let accepted = Accepted { verifier: OpaqueAuth::none(), status: AcceptStatus::Success };
        assert_eq!(body, ReplyBody::Accepted(accepted), "{program} {version}");
        assert_eq!(reader.remaining_bytes(), 0);
    }
}

/// B9
#[test]
fn a_reply_goes_to_the_back_channel() {
    let bench = Bench::new();
    let reply = Reply::accepted(0x0bad, AcceptStatus::Success);
    let record = encoded(|writer| {
        reply.encode(writer);
        writer.u32(5);
    });
    assert_eq!(bench.take(record), Answer::BackChannel { reply, results: Bytes::from_static(&[0, 0, 0, 5]) });
    assert_eq!(bench.accepted(NFS, 3, 0, &[]), AcceptStatus::Success);
}

#[test]
fn what_is_no_message_closes_the_connection() {
    let bench = Bench::new();
    let (neither, cut) = ([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 1]);
    for bytes in [&[0; 4][..], &neither, &cut, &[0; 8]] {
        assert_eq!(bench.take(Bytes::copy_from_slice(bytes)), Answer::Close, "{bytes:?}");
    }
}

/// B11
#[test]
fn another_version_of_rpc_is_denied() {
    let bench = Bench::new();
    let call = null(&bench);
    let mut bytes = record(&call, &[]).to_vec();
    bytes[11] = 3;
    let (body, _) = reply_of(call.xid, bench.take(bytes.into()));
    assert_eq!(body, ReplyBody::Denied(Rejection::RpcMismatch(VersionRange { low: 2, high: 2 })));
}

/// B12, B13, B14, B15
#[test]
fn programs_versions_and_procedures_that_are_not_there() {
    let bench = Bench::new();
    assert_eq!(bench.accepted(100_999, 1, 0, &[]), AcceptStatus::ProgramUnavailable);
    assert_eq!(bench.accepted(NFS, 2, 0, &[]), RANGE_3_4);
    assert_eq!(bench.accepted(NFS, 5, 0, &[]), RANGE_3_4);
    let only_3 = AcceptStatus::ProgramMismatch(VersionRange { low: 3, high: 3 });
    assert_eq!(bench.accepted(mount::PROGRAM, 1, 0, &[]), only_3);
    let unavailable = AcceptStatus::ProcedureUnavailable;
    assert_eq!(bench.accepted(NFS, 3, 22, &[]), unavailable);
    assert_eq!(bench.accepted(NFS, 4, 2, &[]), unavailable);
    assert_eq!(bench.accepted(mount::PROGRAM, 3, 6, &[]), unavailable);
    assert_eq!(bench.accepted(100_000, 2, 6, &[]), unavailable);
    assert_eq!(bench.accepted(100_000, 3, 9, &[]), unavailable);
}

/// B13
#[test]
fn settings_choose_the_programs() {
    let bench = Bench::with(Settings { v3: false, portmap: false, ..SETTINGS });
    let only_4 = AcceptStatus::ProgramMismatch(VersionRange { low: 4, high: 4 });
    assert_eq!(bench.accepted(NFS, 3, 0, &[]), only_4);
    assert_eq!(bench.accepted(mount::PROGRAM, 3, 0, &[]), AcceptStatus::ProgramUnavailable);
    assert_eq!(bench.accepted(100_000, 2, 0, &[]), AcceptStatus::ProgramUnavailable);
    let without_4 = Rpc::<_, Infallible>::new(SETTINGS, Rc::clone(&bench.shares), None);
    let call = bench.header(NFS, 4, 0);
    let answer = ready(without_4.take(record(&call, &[]), &bench.connection.get(), bench.moment()));
    let only_3 = AcceptStatus::ProgramMismatch(VersionRange { low: 3, high: 3 });
    assert_eq!(answer, header(&Reply::accepted(call.xid, only_3)));
}

/// B16, B29
#[test]
fn arguments_that_cannot_be_decoded_are_garbage() {
    let bench = Bench::new();
    let handle = bytes_of(&bench.root(S));
    for arguments in [&handle[..handle.len() - 1], &[], &[0, 0, 0, 0], &[0, 0, 0, 65], &[0xff; 4]] {
        assert_eq!(bench.accepted(NFS, 3, 1, arguments), AcceptStatus::GarbageArguments, "{arguments:?}");
    }
    let name = [&handle[..], &[0xff; 4], b"abcd"].concat();
    assert_eq!(bench.accepted(NFS, 3, 3, &name), AcceptStatus::GarbageArguments);
    assert_eq!(bench.accepted(NFS, 4, 1, &[]), AcceptStatus::GarbageArguments);
    assert_eq!(bench.accepted(NFS, 3, 1, &handle), AcceptStatus::Success);
}

/// B30
#[test]
fn padding_may_have_any_bytes() {
    let bench = Bench::new();
    let mut arguments = bytes_of(&entry(&bench.root(S), ".")).to_vec();
    let last = arguments.len() - 1;
    arguments[last] = 7;
    assert_eq!(bench.accepted(NFS, 3, 3, &arguments), AcceptStatus::Success);
}

/// B31, E153
#[test]
fn booleans_and_numbers_outside_their_range_are_garbage() {
    let bench = Bench::new();
    let directory = bytes_of(&entry(&bench.root(S), "new"));
    let file = bytes_of(&bench.root(S));
    let garbage = |procedure, arguments: &[&[u8]]| {
        let status = bench.accepted(NFS, 3, procedure, &arguments.concat());
        assert_eq!(status, AcceptStatus::GarbageArguments, "{procedure}");
    };
    let words = |words: &[u32]| encoded(|writer| words.iter().for_each(|word| writer.u32(*word)));
    garbage(2, &[&file, &words(&[2, 0, 0, 0, 0, 0, 0, 0])]); // mode follows: neither yes nor no
    garbage(2, &[&file, &words(&[0, 0, 0, 0, 3, 0, 0])]); // time_how 3
    garbage(8, &[&directory, &words(&[3])]); // createhow 3
    garbage(7, &[&file, &words(&[0, 0, 4, 3, 4, 0])]); // stable_how 3
    garbage(11, &[&directory, &words(&[9])]); // ftype 9
    assert_eq!(bench.status(&Request::Lookup(entry(&bench.root(S), "new"))), Some(Status::NOENT));
}

/// B19
#[test]
fn the_sixteenth_group_counts() {
    let bench = Bench::new();
    let file = bench.create(&bench.root(S), "f");
    let set = nfs::v3::NewAttributes { mode: Some(0o640), gid: Some(116), ..UNSET };
    let arguments = nfs::v3::SetAttributesArguments { file: file.clone(), attributes: set, guard: None };
    assert_eq!(bench.status(&Request::SetAttributes(arguments)), None);
    let request = Request::Access(AccessArguments { file, access: access::READ });
    for (groups, expected) in [(101..117, access::READ), (100..116, 0)] {
        bench.credential.replace(sys(1000, &groups.collect::<Vec<_>>()));
        assert_eq!(good!(bench.v3(&request), Access).access, expected);
    }
}

/// B20, B21, B23, B25, B26
#[test]
fn credentials_are_checked() {
    let bench = Bench::new();
    let unix = |name: usize, groups: usize| {
        encoded(|writer| {
            writer.u32(0);
            writer.opaque(&vec![b'm'; name]);
            writer.u32(0);
            writer.u32(0);
            writer.count(groups);
            (0..groups).for_each(|_| writer.u32(5));
        })
    };
    let none = OpaqueAuth::none;
    let with = |body: &[u8]| auth_error(&bench, raw(Flavor::SYS, body), none());
    assert_eq!(with(&unix(6, 16)), None);
    assert_eq!(with(&unix(6, 17)), Some(AuthStat::BADCRED));
    assert_eq!(with(&unix(255, 0)), None);
    assert_eq!(with(&unix(256, 0)), Some(AuthStat::BADCRED));
    assert_eq!(with(&unix(6, 2)[..20]), Some(AuthStat::BADCRED));
    assert_eq!(with(&[0; 404]), Some(AuthStat::BADCRED));
    for flavor in [Flavor::RPCSEC_GSS, Flavor(99), Flavor::SHORT] {
        assert_eq!(auth_error(&bench, raw(flavor, &[]), none()), Some(AuthStat::BADCRED), "{flavor:?}");
    }
    for verifier in [raw(Flavor::NONE, &[0; 4]), raw(Flavor::SYS, &[])] {
        assert_eq!(auth_error(&bench, sys(0, &[]), verifier), Some(AuthStat::BADVERF));
    }
}

/// B27, B28
#[test]
fn a_probe_for_tls_is_told_that_there_is_none() {
    let bench = Bench::new();
    bench.credential.replace(OpaqueAuth::tls());
    let call = null(&bench);
    match bench.reply(&call, &[]).0 {
        ReplyBody::Accepted(Accepted { verifier, status: AcceptStatus::Success }) => {
            assert!(!verifier.offers_tls() && verifier == OpaqueAuth::none());
        }
        other => panic!("{other:?}"),
    }
    let other = bench.header(NFS, 3, 1);
    assert_eq!(bench.denied(&other), Rejection::AuthError(AuthStat::BADCRED));
}

/// B39, without the socket: as many replies as calls.
#[test]
fn every_call_has_a_reply() {
    let bench = Bench::new();
    let random = random::Random::new(39);
    for _ in 0..10_000 {
        let program = [NFS, mount::PROGRAM, 100_000, 7][random.index(4)];
        let call = bench.header(program, random.index(6) as u32, random.index(25) as u32);
        let arguments = if random.index(2) == 0 {
            encoded(|writer| <Request as xdr::Sample>::sample(&random).encode(writer))
        } else {
            std::iter::repeat_with(|| random.byte()).take(4 * random.index(30)).collect::<Vec<_>>().into()
        };
        bench.reply(&call, &arguments);
    }
}

/// B39
#[test]
fn requests_of_any_content_about_real_files_have_results() {
    let bench = Bench::new();
    let random = random::Random::new(40);
    let mut done = 0;
    for _ in 0..20_000 {
        let request = <Request as xdr::Sample>::sample(&random);
        let mut arguments = encoded(|writer| request.encode(writer)).to_vec();
        // Real handles in place of the made-up ones, where their length permits it.
        let handle = bytes_of(&bench.root([S, RO][random.index(2)]));
        if let Ok(old) = nfs::v3::Filehandle::decode(&mut Reader::new(arguments.clone().into())) {
            arguments.splice(..bytes_of(&old).len(), handle.iter().copied());
            done += 1;
        }
        let call = bench.header(NFS, 3, request.procedure());
        bench.reply(&call, &arguments);
    }
    assert!(done > 10_000);
}

/// B40
#[test]
fn a_rule_may_want_a_privileged_port() {
    let bench = Bench::new();
    let root = bench.root(S);
    bench.client([10, 0, 0, 1], 1024);
    assert_eq!(bench.status(&Request::GetAttributes(root.clone())), None);
    bench.change_share(S, |share| share.rules.0 = vec![Rule { privileged_port: true, ..any() }]);
    assert_eq!(bench.status(&Request::GetAttributes(root.clone())), Some(Status::ACCES));
    bench.client([10, 0, 0, 1], 1023);
    assert_eq!(bench.status(&Request::GetAttributes(root)), None);
}

#[test]
fn a_datagram_reaches_portmap_alone() {
    let bench = Bench::new();
    bench.connection.set(Connection { transport: Transport::Udp, ..bench.connection.get() });
    assert_eq!(bench.accepted(100_000, 2, 0, &[]), AcceptStatus::Success);
    for (program, version) in [(NFS, 3), (NFS, 4), (mount::PROGRAM, 3)] {
        assert_eq!(bench.accepted(program, version, 0, &[]), AcceptStatus::ProgramUnavailable);
    }
}

#[test]
fn a_compound_goes_to_version_4() {
    let bench = Bench::new();
    let call = bench.header(NFS, 4, 1);
    let mut reader = success(bench.reply(&call, b"compound"));
    assert_eq!(&reader.rest()[..], b"compound");
}

#[test]
fn a_machine_name_may_have_any_bytes() {
    let bench = Bench::new();
    let content = AuthSys { stamp: 9, machine_name: [0xff, 0][..].into(), uid: 5, gid: 5, gids: vec![].into() };
    assert_eq!(auth_error(&bench, OpaqueAuth::sys(&content), OpaqueAuth::none()), None);
}

/// Changing call that creates `name`, for tests of repetitions.
fn creation(bench: &Bench, name: &str) -> (Call, Bytes) {
    let how = CreateHow::Guarded(mode(0o644));
    let request = Request::Create(CreateArguments { entry: entry(&bench.root(S), name), how });
    (bench.header(NFS, 3, 8), encoded(|writer| request.encode(writer)))
}

/// E191
#[test]
fn a_repetition_from_another_port_gets_the_first_reply() {
    let bench = Bench::new();
    let (call, arguments) = creation(&bench, "f");
    let removal = (bench.header(NFS, 3, 12), bytes_of(&entry(&bench.root(S), "f")));
    for (call, arguments) in [(call, arguments), removal] {
        let first = bench.answer(&call, &arguments);
        assert_eq!(status_of(&results_of(call.procedure, call.xid, first.clone())), None);
        assert_eq!(chunks(bench.answer(&call, &arguments)), chunks(first.clone()));
        bench.client([10, 0, 0, 1], 999);
        assert_eq!(chunks(bench.answer(&call, &arguments)), chunks(first));
    }
    assert_eq!(bench.rpc.reply_counts(), ReplyCounts { repeated: 4, joined: 0, evicted: 0 });
    assert!(bench.rpc.kept_reply_bytes() > 0);
}

fn chunks(answer: Answer) -> Vec<u8> {
    match answer {
        Answer::Reply(chunks) => chunks.concat(),
        other => panic!("{other:?}"),
    }
}

/// E191, E193
#[test]
fn another_host_user_transaction_or_content_is_another_call() {
    let bench = Bench::new();
    let (call, arguments) = creation(&bench, "f");
    let status = |call: &Call, arguments: &[u8]| status_of(&results_of(8, call.xid, bench.answer(call, arguments)));
    assert_eq!((status(&call, &arguments), status(&call, &arguments)), (None, None));
    let exists = Some(Status::EXIST);
    bench.client([10, 0, 0, 2], 700);
    assert_eq!(status(&call, &arguments), exists);
    bench.client([10, 0, 0, 1], 700);
    assert_eq!(status(&Call { credential: sys(1000, &[]), ..call.clone() }, &arguments), exists);
    assert_eq!(status(&Call { xid: call.xid + 100, ..call.clone() }, &arguments), exists);
    let (_, other) = creation(&bench, "g");
    assert_eq!(status(&call, &other), None);
    let mut longer = arguments.to_vec();
    longer.extend([0; 4]);
    assert_eq!(status(&call, &longer), exists);
}

#[test]
fn what_changes_nothing_is_executed_again() {
    let bench = Bench::new();
    let call = bench.header(NFS, 3, 3);
    let arguments = bytes_of(&entry(&bench.root(S), "f"));
    let first = chunks(bench.answer(&call, &arguments));
    bench.create(&bench.root(S), "f");
    assert_ne!(chunks(bench.answer(&call, &arguments)), first);
}

/// E194
#[test]
fn a_repetition_of_a_call_in_progress_gets_its_reply() {
    let bench = Bench::new();
    let (call, arguments) = creation(&bench, "f");
    let connection = bench.connection.get();
    bench.engine.hold_back(true);
    let task = &mut Task::from_waker(Waker::noop());
    let take = || Box::pin(bench.rpc.take(record(&call, &arguments), &connection, bench.moment()));
    let (mut first, mut second, mut third) = (take(), take(), take());
    for waiting in [&mut first, &mut second, &mut third] {
        assert_eq!(waiting.as_mut().poll(task), Poll::Pending);
    }
    assert_eq!(second.as_mut().poll(task), Poll::Ready(Answer::Nothing));
    bench.engine.hold_back(false);
    assert_eq!(third.as_mut().poll(task), Poll::Pending);
    assert_eq!(first.as_mut().poll(task), Poll::Ready(Answer::Nothing));
    let Poll::Ready(answer) = third.as_mut().poll(task) else { panic!("the reply is there") };
    let results = results_of(8, call.xid, answer);
    assert_eq!(status_of(&results), None);
}

type Taken<'a> = std::pin::Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// A call and its repetition, which wait for the file system.
fn call_and_repetition<'a>(
    bench: &'a Bench,
    connection: &'a Connection,
    record: &Bytes,
    task: &mut Task<'_>,
) -> [Taken<'a>; 2] {
    bench.engine.hold_back(true);
    [(), ()].map(|()| {
        let mut taken: Taken<'a> = Box::pin(bench.rpc.take(record.clone(), connection, bench.moment()));
        assert_eq!(taken.as_mut().poll(task), Poll::Pending);
        taken
    })
}

/// A repetition whose connection is gone leaves the reply to the earlier call.
#[test]
fn a_repetition_that_is_dropped_takes_no_reply() {
    let bench = Bench::new();
    let (call, arguments) = creation(&bench, "f");
    let connection = bench.connection.get();
    let task = &mut Task::from_waker(Waker::noop());
    let [mut first, second] = call_and_repetition(&bench, &connection, &record(&call, &arguments), task);
    drop(second);
    bench.engine.hold_back(false);
    assert!(matches!(first.as_mut().poll(task), Poll::Ready(Answer::Reply(_))));
}

/// An execution that is dropped is taken over by the repetition that waits.
#[test]
fn an_execution_that_is_dropped_is_begun_again() {
    let bench = Bench::new();
    let (call, arguments) = creation(&bench, "f");
    let connection = bench.connection.get();
    let task = &mut Task::from_waker(Waker::noop());
    let [first, mut second] = call_and_repetition(&bench, &connection, &record(&call, &arguments), task);
    drop(first);
    bench.engine.hold_back(false);
    let Poll::Ready(answer) = second.as_mut().poll(task) else { panic!("it is executed") };
    let results = results_of(8, call.xid, answer);
    assert_eq!(status_of(&results), None);
}

/// E198: what was refused for now is executed when it comes again.
#[test]
fn a_denied_call_is_not_kept() {
    let bench = Bench::new();
    let file = bench.create(&bench.root(S), "f");
    let id = FileId(bench.attributes(&file).fileid);
    let request = Request::Write(nfs::v3::WriteArguments {
        file,
        offset_bytes: 0,
        stable: nfs::v3::Stable::FileSync,
        data: b"data"[..].into(),
    });
    let call = bench.header(NFS, 3, 7);
    let arguments = encoded(|writer| request.encode(writer));
    bench.v4.0.borrow_mut().push((S, id, Access::Write));
    let results = |call: &Call| results_of(7, call.xid, bench.answer(call, &arguments));
    let (status, wcc) = bad!(results(&call), Write);
    assert_eq!(status, Status::JUKEBOX);
    assert_eq!(wcc.after.map(|after| after.size_bytes), Some(0));
    bench.v4.0.borrow_mut().clear();
    assert_eq!(good!(results(&call), Write).count_bytes, 4);
}

/// Hosts that may use no share cannot displace the replies to others.
#[test]
fn no_reply_is_kept_for_a_call_that_no_export_lets_in() {
    let bench = Bench::new();
    let (garbage, hidden) = (nfs::v3::Filehandle::from(&[7; 32][..]), bench.root(HIDDEN));
    let unknown = bench.handle(S + 100, FileId(1));
    for (directory, expected) in [(garbage, Status::BADHANDLE), (hidden, Status::ACCES), (unknown, Status::STALE)] {
        let call = bench.header(NFS, 3, 12);
        let arguments = bytes_of(&entry(&directory, "f"));
        for _ in 0..2 {
            let results = results_of(12, call.xid, bench.answer(&call, &arguments));
            assert_eq!(status_of(&results), Some(expected));
        }
    }
    assert_eq!((bench.rpc.kept_reply_bytes(), bench.rpc.reply_counts()), (0, ReplyCounts::default()));
    // A failure within an export is kept: the repetition must not remove a file that was created meanwhile.
    let call = bench.header(NFS, 3, 12);
    let arguments = bytes_of(&entry(&bench.root(S), "f"));
    let status = || status_of(&results_of(12, call.xid, bench.answer(&call, &arguments)));
    assert_eq!(status(), Some(Status::NOENT));
    bench.create(&bench.root(S), "f");
    assert_eq!(status(), Some(Status::NOENT));
}
