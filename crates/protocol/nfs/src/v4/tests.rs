//! Compounds, operations and attributes against bytes by hand, after the XDR of RFC 7863 and RFC
//! 8276; and made-up values there and back.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use bytes::Bytes;
use hex_literal::hex;
use onc_rpc::auth::AuthSys;
use xdr::{Opaque, Problem, Random, Reader, Sample, Writer, Xdr};

use super::attributes::{ATTRIBUTES, Attribute, AttributeError, Direction, Fattr, SetTime};
use super::callback::{CallbackOperation, CallbackOutcome, OffloadArguments, OffloadFailure};
use super::compound::{Arguments, Call, CompoundOperation, CompoundOutcome, ILLEGAL, Reply, Results, Tag};
use super::locks::{LockDenied, LockFailure, LockType};
use super::offload::{CopyFailure, CopyRequirements};
use super::operations::{Class, Needs, OPERATIONS, Operation, Outcome, UNSERVED};
use super::*;

const SEEDS: u64 = 3000;

fn written(write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::default();
    write(&mut writer);
    writer.into_bytes()
}

fn operation(bytes: &[u8]) -> Operation {
    let mut reader = Reader::strict(Bytes::copy_from_slice(bytes));
    let operation = Operation::decode(2, &mut reader).unwrap();
    reader.finish().unwrap();
    operation
}

fn is_operation(expected: Operation, bytes: &[u8]) {
    assert_eq!(written(|writer| expected.encode(writer)), bytes, "{expected:?}");
    assert_eq!(operation(bytes), expected);
}

fn is_outcome(expected: Outcome, bytes: &[u8]) {
    assert_eq!(written(|writer| expected.encode(writer)), bytes, "{expected:?}");
    let mut reader = Reader::strict(Bytes::copy_from_slice(bytes));
    assert_eq!(Outcome::decode(&mut reader), Ok(expected));
    reader.finish().unwrap();
}

fn stateid(seqid: u32) -> Stateid {
    Stateid { seqid, other: *b"abcdefghijkl" }
}

/// `stateid(1)` on the wire.
const STATEID: [u8; 16] = hex!("00000001 6162636465666768696a6b6c");

fn arguments(bytes: &[u8]) -> Arguments<Operation> {
    Arguments::decode(Bytes::copy_from_slice(bytes)).unwrap()
}

/// SEQUENCE, PUTFH, GETATTR of minor version 2.
fn compound() -> (Vec<Operation>, Vec<u8>) {
    let sequence = session::SequenceArguments {
        session: *b"0123456789abcdef",
        sequence: 1,
        slot: 2,
        highest_slot: 3,
        cache_this: true,
    };
    let wanted = Bitmap::new([1, 4, 33, 78]);
    let operations = vec![
        Operation::Sequence(sequence),
        Operation::PutFilehandle("fh".into()),
        Operation::GetAttributes(attributes::GetAttributesArguments { wanted }),
    ];
    let bytes = hex!(
        "00000003 61626300 00000002 00000003" // tag abc, minor 2, three operations
        "00000035 30313233343536373839616263646566 00000001 00000002 00000003 00000001"
        "00000016 00000002 66680000"
        "00000009 00000003 00000012 00000002 00004000"
    );
    (operations, bytes.to_vec())
}

#[test]
fn a_compound_has_the_bytes_of_the_standard() {
    let (operations, bytes) = compound();
    let encoded = written(|writer| {
        let mut call = Call::start(writer, &"abc".into(), 2);
        operations.iter().for_each(|operation| call.push(writer, operation));
        call.finish(writer);
    });
    assert_eq!(encoded, &bytes[..]);
    let mut arguments = arguments(&bytes);
    assert_eq!((&*arguments.tag, arguments.minor, arguments.count), (&b"abc"[..], 2, 3));
    let decoded: Vec<_> = std::iter::from_fn(|| arguments.next_operation()).map(Result::unwrap).collect();
    assert_eq!(decoded, operations);
}

#[test]
fn results_of_a_compound_have_the_bytes_of_the_standard() {
    let bytes = hex!(
        "00000002 00000003 61626300 00000002" // NOENT, tag, two results
        "00000018 00000000 0000000f 00000002"
    );
    let encoded = written(|writer| {
        let mut reply = Reply::<Operation>::start(writer, &"abc".into());
        reply.push(writer, &Outcome::PutRootFilehandle(Ok(())));
        reply.push(writer, &Outcome::Lookup(Err(Status::NOENT)));
        reply.finish(writer, Ok(()));
    });
    assert_eq!(encoded, &bytes[..]);
    let mut results = Results::<Operation>::decode(Reader::strict(encoded)).unwrap();
    assert_eq!((results.status, results.count), (Err(Status::NOENT), 2));
    assert_eq!(results.next_outcome(), Some(Ok(Outcome::PutRootFilehandle(Ok(())))));
    assert_eq!(results.next_outcome(), Some(Ok(Outcome::Lookup(Err(Status::NOENT)))));
    assert_eq!(results.next_outcome(), None);
    results.finish().unwrap();
}

/// Facts 200 and 203.
#[test]
fn a_compound_without_operations_and_one_of_another_minor_version() {
    let mut empty = arguments(&hex!("00000000 00000001 00000000"));
    assert_eq!((empty.count, empty.next_operation()), (0, None));
    let encoded = written(|writer| {
        Reply::<Operation>::start(writer, &Tag::default()).finish(writer, Err(Status::MINOR_VERS_MISMATCH));
    });
    assert_eq!(encoded, &hex!("00002725 00000000 00000000")[..]);
}

/// Facts 204, 205, 208 and 209.
#[test]
fn operations_that_are_illegal_or_not_served() {
    let first = |minor, code: u32| {
        let bytes = written(|writer| {
            Tag::default().encode(writer);
            [minor, 2, code, 0].into_iter().for_each(|number| writer.u32(number));
        });
        let mut arguments = arguments(&bytes);
        let first = arguments.next_operation().unwrap();
        assert!(arguments.next_operation().is_none(), "the compound goes on behind {first:?}");
        first.unwrap()
    };
    for (minor, code) in [(1, 0), (1, 2), (2, 76), (2, ILLEGAL), (1, 71), (1, 59), (1, 72), (1, 61), (2, u32::MAX)] {
        assert_eq!(first(minor, code), Operation::Illegal { code });
        assert!(CompoundOperation::ends_the_compound(&Operation::Illegal { code }));
    }
    for code in [7, 20, 30, 35, 36, 39, 46, 48, 50, 54, 61] {
        let operation = first(2, code);
        assert!(matches!(operation, Operation::Unserved { code: found, .. } if found == code), "{operation:?}");
        is_outcome(Outcome::failed(code, Status::NOTSUPP), &[&code.to_be_bytes()[..], &hex!("00002714")].concat());
    }
    is_outcome(Outcome::failed(2, Status::OP_ILLEGAL), &hex!("0000273c 0000273c"));
}

/// Fact 206: the operations before the one that cannot be decoded are there.
#[test]
fn an_operation_that_cannot_be_decoded_ends_the_compound() {
    let (operations, bytes) = compound();
    for length in 0..bytes.len() {
        let cut = Arguments::<Operation>::decode(Bytes::copy_from_slice(&bytes[..length]));
        let Ok(mut cut) = cut else {
            assert!(length < 16, "fact 17: only tag, minor version and count are garbage");
            continue;
        };
        let mut whole = 0;
        let error = loop {
            match cut.next_operation() {
                Some(Ok(operation)) => assert_eq!(operation, operations[whole]),
                Some(Err(error)) => break error,
                None => panic!("{length}: the compound is whole"),
            }
            whole += 1;
        };
        assert!(cut.next_operation().is_none());
        let code = written(|writer| operations[whole].encode(writer)).first_chunk().copied().map(u32::from_be_bytes);
        assert!(Some(error.code) == code || error.code == ILLEGAL, "{length}: {error}");
    }
    let many = [&bytes[..12], &hex!("ffffffff"), &bytes[16..]].concat();
    let mut many = arguments(&many);
    assert_eq!((0..3).filter(|_| matches!(many.next_operation(), Some(Ok(_)))).count(), 3);
    assert_eq!(many.next_operation().unwrap().unwrap_err().code, ILLEGAL);
}

/// Fact 222: what is too long gives way to a status, and earlier results stay.
#[test]
fn results_that_are_too_long_are_replaced() {
    let encoded = written(|writer| {
        let mut reply = Reply::<Operation>::start(writer, &Tag::default());
        reply.push(writer, &Outcome::PutRootFilehandle(Ok(())));
        let data = Opaque::from(vec![1; 100_000]);
        reply.push(writer, &Outcome::Read(Ok(io::ReadOk { eof: false, data })));
        assert!(writer.length_bytes() > 100_000);
        reply.replace(writer, &Outcome::failed(25, Status::REP_TOO_BIG));
        reply.finish(writer, Ok(()));
    });
    assert_eq!(encoded, &hex!("00002752 00000000 00000002 00000018 00000000 00000019 00002752")[..]);
}

#[test]
fn sessions_have_the_bytes_of_the_standard() {
    let owner = session::ClientOwner { verifier: *b"verifier", owner: "host".into() };
    let exchange = session::ExchangeIdArguments {
        owner,
        flags: session::exchange_id::SUPPORTS_MOVED_REFERRAL | session::exchange_id::BIND_PRINCIPAL_STATEID,
        protection: session::StateProtection::None,
        implementation: Some(session::ImplementationId {
            domain: "d".into(),
            name: "n".into(),
            date: Time { seconds: -1, nanoseconds: 5 },
        }),
    };
    is_operation(
        Operation::ExchangeId(Box::new(exchange)),
        &hex!(
            "0000002a 7665726966696572 00000004 686f7374 00000101 00000000"
            "00000001 00000001 64000000 00000001 6e000000 ffffffffffffffff 00000005"
        ),
    );
    let channel = |requests| session::ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: 0x101000,
        max_response_bytes: 0x101000,
        max_cached_response_bytes: 0x1800,
        max_operations: 8,
        max_requests: requests,
        rdma_reads: None,
    };
    let credential = AuthSys { stamp: 1, machine_name: "h".into(), uid: 2, gid: 3, gids: vec![].into() };
    let create = session::CreateSessionArguments {
        client: 0x0102_0304_0506_0708,
        sequence: 9,
        flags: session::create_session::CONNECTION_BACK_CHANNEL,
        fore_channel: channel(64),
        back_channel: channel(16),
        callback_program: 0x4000_0000,
        callback_security: vec![session::CallbackSecurity::Sys(credential)].into(),
    };
    is_operation(
        Operation::CreateSession(Box::new(create)),
        &hex!(
            "0000002b 0102030405060708 00000009 00000002"
            "00000000 00101000 00101000 00001800 00000008 00000040 00000000"
            "00000000 00101000 00101000 00001800 00000008 00000010 00000000"
            "40000000 00000001 00000001 00000001 00000001 68000000 00000002 00000003 00000000"
        ),
    );
    is_outcome(
        Outcome::TestStateid(Ok(vec![Ok(()), Err(Status::BAD_STATEID)].into())),
        &hex!("00000037 00000000 00000002 00000000 00002729"),
    );
    let bind = session::BindArguments {
        session: *b"0123456789abcdef",
        direction: session::WantedDirection::BackOrBoth,
        rdma: false,
    };
    is_operation(Operation::BindConnection(bind), &hex!("00000029 30313233343536373839616263646566 00000007 00000000"));
}

/// Facts 32 and 258: an array of at most one element, and the limit of owners.
#[test]
fn arrays_and_owners_beyond_their_limits_are_errors() {
    let exchange = |owner: usize, implementations: u32| {
        let bytes = written(|writer| {
            writer.u32(42);
            writer.u64(0);
            writer.opaque(&vec![1; owner]);
            writer.u64(0);
            writer.u32(implementations);
            (0..implementations).for_each(|_| (0..5).for_each(|_| writer.u32(0)));
        });
        Operation::decode(2, &mut Reader::new(bytes))
    };
    assert!(exchange(1024, 1).is_ok());
    let error = exchange(1025, 0).unwrap_err();
    assert_eq!((error.code, error.error.problem), (42, Problem::TooLong { found: 1025, maximum: 1024 }));
    assert_eq!(error.error.what, "ClientOwner.owner");
    assert_eq!(exchange(3, 2).unwrap_err().error.problem, Problem::NotBoolean { found: 2 });
}

#[test]
fn opens_and_locks_have_the_bytes_of_the_standard() {
    let owner = || StateOwner { client: 7, owner: "o".into() };
    let create = open::ExclusiveCreate { verifier: *b"verifier", attributes: Fattr::new([Attribute::Mode(0o644)]) };
    let arguments = open::OpenArguments {
        seqid: 0,
        share_access: open::share_access::BOTH | open::share_access::WANT_NO_DELEGATION,
        share_deny: open::share_deny::WRITE,
        owner: owner(),
        how: open::OpenHow::Create(open::CreateHow::ExclusiveWithAttributes(create)),
        claim: open::OpenClaim::Null("a".into()),
    };
    is_operation(
        Operation::Open(Box::new(arguments)),
        &hex!(
            "00000012 00000000 00000403 00000002 0000000000000007 00000001 6f000000"
            "00000001 00000003 7665726966696572 00000002 00000000 00000002 00000004 000001a4"
            "00000000 00000001 61000000"
        ),
    );
    let opened = open::OpenOk {
        stateid: stateid(1),
        change: ChangeInfo { atomic: true, before: 1, after: 2 },
        flags: open::result::LOCKTYPE_POSIX,
        set: Bitmap::new([33]),
        delegation: open::Delegation::NoneExtended(open::WhyNoDelegation::NOT_SUPPORTED_FILE_TYPE),
    };
    is_outcome(
        Outcome::Open(Ok(Box::new(opened))),
        &[
            &hex!("00000012 00000000")[..],
            &STATEID,
            &hex!("00000001 0000000000000001 0000000000000002 00000004 00000002 00000000 00000002 00000003 00000003"),
        ]
        .concat(),
    );
    let lock = locks::LockArguments {
        kind: LockType::WriteWaiting,
        reclaim: false,
        offset_bytes: 1,
        length_bytes: u64::MAX,
        locker: locks::Locker::Existing(locks::ExistingLockOwner { stateid: stateid(1), seqid: 0 }),
    };
    is_operation(
        Operation::Lock(Box::new(lock)),
        &[
            &hex!("0000000c 00000004 00000000 0000000000000001 ffffffffffffffff 00000000")[..],
            &STATEID,
            &hex!("00000000"),
        ]
        .concat(),
    );
    let denied = LockDenied { offset_bytes: 1, length_bytes: 2, kind: LockType::Read, owner: owner() };
    let details = hex!("0000271a 0000000000000001 0000000000000002 00000001 0000000000000007 00000001 6f000000");
    let lock = Outcome::Lock(Err(LockFailure::Denied(denied.clone())));
    assert_eq!(lock.status(), Err(Status::DENIED));
    is_outcome(lock, &[&hex!("0000000c")[..], &details].concat());
    is_outcome(Outcome::LockTest(Err(LockFailure::Denied(denied))), &[&hex!("0000000d")[..], &details].concat());
    is_outcome(Outcome::LockTest(Ok(())), &hex!("0000000d 00000000"));
    is_outcome(Outcome::failed(12, Status::GRACE), &hex!("0000000c 0000271d"));
}

#[test]
fn reads_and_writes_have_the_bytes_of_the_standard() {
    let write =
        io::WriteArguments { stateid: stateid(1), offset_bytes: 4096, stable: Stable::DataSync, data: "hello".into() };
    is_operation(
        Operation::Write(write),
        &[&hex!("00000026")[..], &STATEID, &hex!("0000000000001000 00000001 00000005 68656c6c6f000000")].concat(),
    );
    is_outcome(
        Outcome::Read(Ok(io::ReadOk { eof: true, data: "abc".into() })),
        &hex!("00000019 00000000 00000001 00000003 61626300"),
    );
    let segments = vec![
        io::Segment::Data(io::SegmentData { offset_bytes: 0, data: "ab".into() }),
        io::Segment::Hole(io::SegmentHole { offset_bytes: 2, length_bytes: 4094 }),
    ];
    is_outcome(
        Outcome::ReadPlus(Ok(io::ReadPlusOk { eof: false, segments: segments.into() })),
        &hex!(
            "00000044 00000000 00000000 00000002"
            "00000000 0000000000000000 00000002 61620000 00000001 0000000000000002 0000000000000ffe"
        ),
    );
    // Fact 700: another content reaches the server, which answers UNION_NOTSUPP.
    let seek = io::SeekArguments { stateid: stateid(1), offset_bytes: 5, what: io::Content(2) };
    is_operation(
        Operation::Seek(seek),
        &[&hex!("00000045")[..], &STATEID, &hex!("0000000000000005 00000002")].concat(),
    );
}

#[test]
fn offload_has_the_bytes_of_the_standard() {
    let clone = offload::CloneArguments {
        source_stateid: stateid(1),
        destination_stateid: Stateid::CURRENT,
        source_offset_bytes: 4096,
        destination_offset_bytes: 0,
        count_bytes: 8192,
    };
    is_operation(
        Operation::Clone(clone),
        &[
            &hex!("00000047")[..],
            &STATEID,
            &hex!("00000001 000000000000000000000000 0000000000001000 0000000000000000 0000000000002000"),
        ]
        .concat(),
    );
    let address = NetworkAddress { network_id: "tcp".into(), address: "1.2.3.4.8.1".into() };
    let copy = offload::CopyArguments {
        source_stateid: stateid(1),
        destination_stateid: Stateid::READ_BYPASS,
        source_offset_bytes: 0,
        destination_offset_bytes: 0,
        count_bytes: 0,
        consecutive: true,
        synchronous: false,
        source_servers: vec![offload::ServerLocation::Address(address)].into(),
    };
    is_operation(
        Operation::Copy(Box::new(copy)),
        &[
            &hex!("0000003c")[..],
            &STATEID,
            &[0xff; 16],
            &[0; 24],
            &hex!("00000001 00000000 00000001 00000003 00000003 74637000 0000000b 312e322e332e342e382e3100"),
        ]
        .concat(),
    );
    let requirements = CopyRequirements { consecutive: true, synchronous: false };
    is_outcome(
        Outcome::Copy(Err(CopyFailure::NoRequirements(requirements))),
        &hex!("0000003c 0000276e 00000001 00000000"),
    );
    is_outcome(
        Outcome::OffloadStatus(Ok(offload::OffloadStatusOk { count_bytes: 9, complete: Some(Ok(())) })),
        &hex!("00000043 00000000 0000000000000009 00000001 00000000"),
    );
    let blocks = offload::DataBlocks {
        offset_bytes: 0,
        block_bytes: 4096,
        block_count: 8,
        number_offset_bytes: u64::MAX,
        first_number: 1,
        pattern_offset_bytes: 16,
        pattern: "p".into(),
    };
    let same = offload::WriteSameArguments { stateid: stateid(1), stable: Stable::FileSync, blocks };
    is_operation(
        Operation::WriteSame(Box::new(same)),
        &[
            &hex!("00000046")[..],
            &STATEID,
            &hex!(
                "00000002 0000000000000000 0000000000001000 0000000000000008 ffffffffffffffff 00000001"
                "0000000000000010 00000001 70000000"
            ),
        ]
        .concat(),
    );
}

/// RFC 8276 §8.4.
#[test]
fn extended_attributes_have_the_bytes_of_the_standard() {
    let set = xattr::SetArguments { option: xattr::SetOption::Replace, name: "a".into(), value: "value".into() };
    is_operation(Operation::SetXattr(set), &hex!("00000049 00000002 00000001 61000000 00000005 76616c7565000000"));
    is_outcome(
        Outcome::ListXattrs(Ok(xattr::ListOk { cookie: 3, names: vec!["a".into()].into(), eof: true })),
        &hex!("0000004a 00000000 0000000000000003 00000001 00000001 61000000 00000001"),
    );
    is_outcome(Outcome::GetXattr(Err(Status::NOXATTR)), &hex!("00000048 0000276f"));
}

#[test]
fn names_have_the_bytes_of_the_standard() {
    let create = names::CreateArguments {
        kind: names::CreateType::Link("to".into()),
        name: "a".into(),
        attributes: Fattr::none(),
    };
    is_operation(
        Operation::Create(Box::new(create)),
        &hex!("00000006 00000005 00000002 746f0000 00000001 61000000 00000000 00000000"),
    );
    // Fact 369: a regular file reaches the server, which answers BADTYPE.
    let bytes = hex!("00000006 00000001 00000001 61000000 00000000 00000000");
    assert!(matches!(operation(&bytes), Operation::Create(create) if create.kind == names::CreateType::Other(1)));
    let entry = names::Entry { cookie: 256, name: "a".into(), attributes: Fattr::new([Attribute::Fileid(7)]) };
    is_outcome(
        Outcome::ReadDirectory(Ok(names::ReadDirectoryOk {
            verifier: *b"verifier",
            entries: vec![entry].into(),
            eof: true,
        })),
        &hex!(
            "0000001a 00000000 7665726966696572 00000001 0000000000000100 00000001 61000000"
            "00000001 00100000 00000008 0000000000000007 00000000 00000001"
        ),
    );
    is_outcome(
        Outcome::SecurityInformation(Ok(vec![names::SecurityFlavor::Other(1)].into())),
        &hex!("00000021 00000000 00000001 00000001"),
    );
    // Fact 551: the set of attributes is there in failures, too.
    is_outcome(Outcome::failed(34, Status::INVAL), &hex!("00000022 00000016 00000000"));
    // Fact 352: a handle of 0 bytes is decoded, one of 129 is not.
    assert_eq!(operation(&hex!("00000016 00000000")), Operation::PutFilehandle(Filehandle::default()));
    let long = [&hex!("00000016 00000081")[..], &[0; 132]].concat();
    let error = Operation::decode(1, &mut Reader::new(long.into())).unwrap_err();
    assert_eq!((error.code, error.error.problem), (22, Problem::TooLong { found: 129, maximum: 128 }));
}

#[test]
fn callbacks_have_the_bytes_of_the_standard() {
    let response =
        offload::WriteResponse { callback: None, count_bytes: 9, committed: Stable::FileSync, verifier: *b"verifier" };
    let done = |outcome| OffloadArguments { file: "fh".into(), stateid: stateid(1), outcome };
    let compound = |operation: &CallbackOperation| {
        written(|writer| {
            let mut call = Call::start(writer, &Tag::default(), 2);
            call.push(writer, operation);
            call.finish(writer);
        })
    };
    let head = hex!("00000000 00000002 00000000 00000001 0000000f 00000002 66680000");
    let good = CallbackOperation::Offload(Box::new(done(Ok(response))));
    let bytes = [&head[..], &STATEID, &hex!("00000000 00000000 0000000000000009 00000002 7665726966696572")].concat();
    assert_eq!(compound(&good), &bytes[..]);
    let failure = OffloadFailure { status: Status::NOSPC, copied_bytes: 5 };
    let bad = CallbackOperation::Offload(Box::new(done(Err(failure))));
    let bytes = [&head[..], &STATEID, &hex!("0000001c 0000000000000005")].concat();
    assert_eq!(compound(&bad), &bytes[..]);
    let mut arguments = Arguments::<CallbackOperation>::decode(bytes.into()).unwrap();
    assert_eq!(arguments.next_operation(), Some(Ok(bad)));
    assert_eq!(arguments.next_operation(), None);
    let outcome = CallbackOutcome::failed(11, Status::DELAY);
    assert_eq!(written(|writer| outcome.encode(writer)), &hex!("0000000b 00002718")[..]);
}

/// Facts 540, 541 and 542.
#[test]
fn bitmaps_are_short_when_written_and_may_be_padded() {
    let set = Bitmap::new([0, 33, 78, 300]);
    let bytes = hex!("00000003 00000001 00000002 00004000");
    assert_eq!(written(|writer| set.encode(writer)), &bytes[..]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [0, 33, 78]);
    assert_eq!(written(|writer| Bitmap::EMPTY.encode(writer)), &hex!("00000000")[..]);
    let decoded = |bytes: &[u8]| Bitmap::decode(&mut Reader::new(Bytes::copy_from_slice(bytes)));
    for words in [8, 12] {
        let padded = [&[0, 0, 0, words], &bytes[4..], &vec![0; 4 * usize::from(words - 3)]].concat();
        assert_eq!(decoded(&padded), Ok(set));
    }
    let high = decoded(&[&hex!("00000007")[..], &[0; 24], &hex!("00000100")].concat()).unwrap();
    assert_eq!(format!("{high:?}"), "{200}");
    let beyond = [&hex!("00000009")[..], &[0; 32], &hex!("00000001")].concat();
    assert_eq!(decoded(&beyond).unwrap_err().problem, Problem::TooMany { found: 9, maximum: 8 });
    assert!(matches!(decoded(&hex!("3fffffff 00000000")).unwrap_err().problem, Problem::Truncated { .. }));
    let mut some = Bitmap::new([1, 2, 3]);
    some.remove(2);
    assert_eq!(some.intersection(&Bitmap::new([2, 3])), Bitmap::new([3]));
    assert_eq!(some.difference(&Bitmap::new([2, 3])), Bitmap::new([1]));
    assert!(Bitmap::new([256]).is_empty() && !some.contains(u32::MAX));
}

#[test]
fn attributes_have_the_bytes_of_the_standard() {
    let attributes = [
        Attribute::Owner("1000".into()),
        Attribute::Type(FileType::Directory),
        Attribute::Size(5),
        Attribute::TimeModifySet(SetTime::ClientTime(Time { seconds: 1, nanoseconds: 2 })),
        Attribute::ReadError(Err(Status::ACCESS)),
    ];
    let fattr = Fattr::new(attributes.clone());
    let bytes = hex!(
        "00000002 00000812 00400010" // 1, 4, 11; 36, 54
        "00000028 00000002 0000000000000005 0000000d 00000004 31303030 00000001 0000000000000001 00000002"
    );
    assert_eq!(written(|writer| fattr.encode(writer)), &bytes[..]);
    let read = fattr.attributes().unwrap();
    let numbers: Vec<u32> = read.iter().map(Attribute::number).collect();
    assert_eq!(numbers, [1, 4, 11, 36, 54]);
    assert!(attributes.iter().all(|attribute| read.contains(attribute)));

    let mut writer = Writer::default();
    let wanted = Bitmap::new([1, 4, 11, 36, 54, 47, 90]);
    let set = Fattr::write(&mut writer, &wanted, |number| read.iter().find(|one| one.number() == number).cloned());
    assert_eq!(set, fattr.mask);
    let mut reader = Reader::strict(writer.into_bytes());
    assert_eq!(Fattr::decode(&mut reader), Ok(fattr));
    reader.finish().unwrap();
}

/// Facts 371, 550 and 552.
#[test]
fn attributes_that_are_unknown_cut_short_or_too_long() {
    let fattr =
        |numbers: &[u32], values: &[u8]| Fattr { mask: Bitmap::new(numbers.iter().copied()), values: values.into() };
    let unknown = fattr(&[4, 100], &[0; 12]).attributes().unwrap_err();
    assert_eq!((unknown, unknown.status()), (AttributeError::NotSupported { number: 100 }, Status::ATTRNOTSUPP));
    for length in 0..8 {
        let error = fattr(&[4], &[0; 8][..length]).attributes().unwrap_err();
        assert_eq!(error.status(), Status::BADXDR, "{length}");
        assert!(matches!(error, AttributeError::Malformed(error) if error.what == "size"));
    }
    let error = fattr(&[4], &[0; 12]).attributes().unwrap_err();
    assert!(matches!(error, AttributeError::Malformed(error) if error.problem == Problem::Trailing { found: 4 }));
    assert_eq!(Fattr::none().attributes(), Ok(vec![]));
}

#[test]
fn special_stateids_are_those_of_the_standard() {
    let bytes = |stateid: &Stateid| written(|writer| stateid.encode(writer));
    assert_eq!(bytes(&Stateid::ANONYMOUS), &[0; 16][..]);
    assert_eq!(bytes(&Stateid::READ_BYPASS), &[0xff; 16][..]);
    assert_eq!(bytes(&Stateid::CURRENT), &hex!("00000001 000000000000000000000000")[..]);
    assert_eq!(bytes(&Stateid::INVALID), &hex!("ffffffff 000000000000000000000000")[..]);
}

#[test]
fn the_tables_are_those_of_the_standard() {
    let mut codes: Vec<u32> = OPERATIONS.iter().map(|row| row.code).collect();
    assert!(codes.is_sorted());
    codes.extend(UNSERVED.iter().map(|row| row.code));
    codes.sort_unstable();
    assert_eq!(codes, (3..=75).collect::<Vec<_>>());
    for row in OPERATIONS {
        assert_eq!(row.first_minor, if row.code < 59 { 1 } else { 2 }, "{}", row.name);
        let outcome = Outcome::failed(row.code, Status::DELAY);
        assert_eq!((outcome.code(), outcome.status()), (row.code, Err(Status::DELAY)), "{}", row.name);
    }
    let row = operation(&hex!("0000001f")).row().unwrap();
    assert_eq!((row.name, row.needs, row.class), ("RESTOREFH", Needs::Saved, Class::Plain));
    let alone: Vec<u32> = OPERATIONS.iter().filter(|row| row.class == Class::Alone).map(|row| row.code).collect();
    assert_eq!(alone, [41, 42, 43, 44, 57]);
    assert!(ATTRIBUTES.is_sorted_by_key(|row| row.number));
    let required: Vec<u32> = (0..12).chain([19, 75]).collect();
    assert!(required.iter().all(|number| attributes::row(*number).is_some()));
    assert_eq!(attributes::row(48).map(|row| row.direction), Some(Direction::Write));
    assert!(Status::ALL.is_sorted());
    assert_eq!((Status::XATTR2BIG.number(), Status::XATTR2BIG.name()), (10096, Some("XATTR2BIG")));
    assert!(size_of::<Operation>() <= 112, "{}", size_of::<Operation>());
}

/// Operations there and back, in a compound.
#[test]
fn every_operation_survives_the_way_there_and_back() {
    for seed in 0..SEEDS {
        let random = Random::new(seed);
        let operations: Vec<Operation> = (0..4).map(|_| Operation::sample(&random)).collect();
        let bytes = written(|writer| {
            let mut call = Call::start(writer, &Tag::sample(&random), 2);
            operations.iter().for_each(|operation| call.push(writer, operation));
            call.finish(writer);
        });
        let mut arguments = arguments(&bytes);
        let decoded: Vec<_> = std::iter::from_fn(|| arguments.next_operation()).map(Result::unwrap).collect();
        assert_eq!(decoded, operations, "seed {seed}");

        let outcomes: Vec<Outcome> = (0..4).map(|_| Outcome::sample(&random)).collect();
        let bytes = written(|writer| {
            let mut reply = Reply::<Operation>::start(writer, &Tag::default());
            outcomes.iter().for_each(|outcome| reply.push(writer, outcome));
            reply.finish(writer, Ok(()));
        });
        let mut results = Results::<Operation>::decode(Reader::strict(bytes)).unwrap();
        assert_eq!(results.status, outcomes[3].status());
        let decoded: Vec<_> = std::iter::from_fn(|| results.next_outcome()).map(Result::unwrap).collect();
        assert_eq!(decoded, outcomes, "seed {seed}");
        results.finish().unwrap();
    }
}

#[test]
fn callbacks_and_attributes_survive_the_way_there_and_back() {
    for seed in 0..SEEDS {
        let random = Random::new(seed);
        let operation = CallbackOperation::sample(&random);
        let mut reader = Reader::strict(written(|writer| operation.encode(writer)));
        assert_eq!(CallbackOperation::decode(2, &mut reader), Ok(operation), "seed {seed}");
        let outcome = CallbackOutcome::sample(&random);
        let mut reader = Reader::strict(written(|writer| outcome.encode(writer)));
        assert_eq!(CallbackOutcome::decode(&mut reader), Ok(outcome), "seed {seed}");
        let fattr = Fattr::new((0..20).map(|_| Attribute::sample(&random)));
        assert_eq!(Fattr::new(fattr.attributes().unwrap()), fattr, "seed {seed}");
    }
}

/// Truncated at every byte, an operation is an error; with any byte changed, it is an error or an
/// operation that is written again as it was read.
#[test]
fn hostile_operations_are_errors_or_operations() {
    for seed in 0..400 {
        let random = Random::new(seed);
        let operation = Operation::sample(&random);
        let bytes = written(|writer| operation.encode(writer)).to_vec();
        for length in 0..bytes.len().min(300) {
            let cut = Bytes::copy_from_slice(&bytes[..length]);
            assert!(Operation::decode(2, &mut Reader::new(cut)).is_err(), "seed {seed}: {operation:?} at {length}");
        }
        for at in 4..bytes.len().min(300) {
            let mut other = bytes.clone();
            other[at] ^= 1 << random.index(8);
            let mut reader = Reader::new(other.into());
            if let Ok(decoded) = Operation::decode(2, &mut reader) {
                let again = written(|writer| decoded.encode(writer));
                assert_eq!(Operation::decode(2, &mut Reader::strict(again)), Ok(decoded), "seed {seed} at {at}");
            }
        }
    }
}
