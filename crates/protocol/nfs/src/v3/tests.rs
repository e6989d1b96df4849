//! Procedures of NFSv3 and MOUNT against bytes by hand, after RFC 1813; and made-up values there
//! and back.

use bytes::Bytes;
use hex_literal::hex;
use onc_rpc::CallError;
use xdr::{Problem, Random, Reader, Sample, Writer};

use super::*;
use crate::mount;

fn written(write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::default();
    write(&mut writer);
    writer.into_bytes()
}

fn request(procedure: u32, bytes: &[u8]) -> Result<Request, CallError> {
    let mut reader = Reader::strict(Bytes::copy_from_slice(bytes));
    let request = Request::decode(procedure, &mut reader)?;
    reader.finish()?;
    Ok(request)
}

fn results(procedure: u32, bytes: &[u8]) -> Result<Results, CallError> {
    let mut reader = Reader::strict(Bytes::copy_from_slice(bytes));
    let results = Results::decode(procedure, &mut reader)?;
    reader.finish()?;
    Ok(results)
}

fn is_request(expected: Request, bytes: &[u8]) {
    assert_eq!(written(|writer| expected.encode(writer)), bytes, "{}", expected.name());
    assert_eq!(request(expected.procedure(), bytes), Ok(expected));
}

fn are_results(expected: Results, bytes: &[u8]) {
    assert_eq!(written(|writer| expected.encode(writer)), bytes, "{expected:?}");
    assert_eq!(results(expected.procedure(), bytes), Ok(expected));
}

fn garbage(procedure: u32, bytes: &[u8]) -> Problem {
    match request(procedure, bytes) {
        Err(CallError::GarbageArguments(error)) => error.problem,
        other => panic!("{other:?}"),
    }
}

fn attributes() -> Attributes {
    let time = |seconds| Time { seconds, nanoseconds: 9 };
    Attributes {
        kind: FileType::Regular,
        mode: 0o644,
        links: 1,
        uid: 2,
        gid: 3,
        size_bytes: 41_060,
        used_bytes: 45_056,
        device: Device { major: 5, minor: 1 },
        fsid: 6,
        fileid: 7,
        accessed: time(0x10),
        modified: time(0x11),
        changed: time(0xffff_ffff),
    }
}

const ATTRIBUTES: [u8; 84] = hex!(
    "00000001 000001a4 00000001 00000002 00000003 000000000000a064 000000000000b000"
    "00000005 00000001 0000000000000006 0000000000000007 0000001000000009 0000001100000009 ffffffff00000009"
);

#[test]
fn attributes_have_the_bytes_of_the_standard() {
    are_results(Results::GetAttributes(Ok(attributes())), &[&hex!("00000000")[..], &ATTRIBUTES].concat());
    are_results(Results::GetAttributes(Err(Status::STALE)), &hex!("00000046"));
    let arguments = SetAttributesArguments {
        file: "fh".into(),
        attributes: NewAttributes {
            mode: Some(0o600),
            uid: None,
            gid: Some(4),
            size_bytes: Some(1),
            accessed: SetTime::ServerTime,
            modified: SetTime::ClientTime(Time { seconds: 1, nanoseconds: 2 }),
        },
        guard: Some(Time { seconds: 3, nanoseconds: 4 }),
    };
    is_request(
        Request::SetAttributes(arguments),
        &hex!(
            "00000002 66680000 00000001 00000180 00000000 00000001 00000004 00000001 0000000000000001"
            "00000001 00000002 00000001 00000002 00000001 00000003 00000004"
        ),
    );
    let wcc = WccData {
        before: Some(WccAttributes {
            size_bytes: 1,
            modified: Time { seconds: 2, nanoseconds: 3 },
            changed: Time { seconds: 4, nanoseconds: 5 },
        }),
        after: None,
    };
    are_results(
        Results::SetAttributes(Err(Failure { status: Status::NOT_SYNC, details: wcc })),
        &hex!("00002712 00000001 0000000000000001 00000002 00000003 00000004 00000005 00000000"),
    );
}

#[test]
fn reads_and_writes_have_the_bytes_of_the_standard() {
    is_request(
        Request::Read(ReadArguments { file: "fh".into(), offset_bytes: 4096, count_bytes: 8 }),
        &hex!("00000002 66680000 0000000000001000 00000008"),
    );
    are_results(
        Results::Read(Ok(ReadOk { attributes: None, count_bytes: 3, eof: true, data: "abc".into() })),
        &hex!("00000000 00000000 00000003 00000001 00000003 61626300"),
    );
    is_request(
        Request::Write(WriteArguments {
            file: "fh".into(),
            offset_bytes: 1,
            stable: Stable::FileSync,
            data: "hello".into(),
        }),
        &hex!("00000002 66680000 0000000000000001 00000005 00000002 00000005 68656c6c6f000000"),
    );
    let wcc = WccData { before: None, after: None };
    are_results(
        Results::Write(Ok(WriteOk { wcc, count_bytes: 5, committed: Stable::Unstable, verifier: *b"verifier" })),
        &hex!("00000000 00000000 00000000 00000005 00000000 7665726966696572"),
    );
}

#[test]
fn names_have_the_bytes_of_the_standard() {
    let entry = || DirectoryEntry { directory: "fh".into(), name: "a.img".into() };
    let bytes = hex!("00000002 66680000 00000005 612e696d67000000");
    is_request(Request::Lookup(entry()), &bytes);
    is_request(
        Request::Create(CreateArguments { entry: entry(), how: CreateHow::Exclusive(*b"verifier") }),
        &[&bytes[..], &hex!("00000002 7665726966696572")].concat(),
    );
    let empty = NewAttributes {
        mode: None,
        uid: None,
        gid: None,
        size_bytes: None,
        accessed: SetTime::DontChange,
        modified: SetTime::DontChange,
    };
    is_request(
        Request::SymbolicLink(SymbolicLinkArguments { entry: entry(), attributes: empty.clone(), target: "to".into() }),
        &[&bytes[..], &[0; 24], &hex!("00000002 746f0000")].concat(),
    );
    let device = NewDevice { attributes: empty, device: Device { major: 5, minor: 1 } };
    is_request(
        Request::MakeNode(MakeNodeArguments { entry: entry(), what: MakeNode::Character(device) }),
        &[&bytes[..], &hex!("00000004"), &[0; 24], &hex!("00000005 00000001")].concat(),
    );
    let created = CreateOk {
        file: Some("fh".into()),
        attributes: Some(attributes()),
        wcc: WccData { before: None, after: None },
    };
    are_results(
        Results::Create(Ok(created)),
        &[&hex!("00000000 00000001 00000002 66680000 00000001")[..], &ATTRIBUTES, &[0; 8]].concat(),
    );
}

#[test]
fn directories_have_the_bytes_of_the_standard() {
    is_request(
        Request::ReadDirectoryPlus(ReadDirectoryPlusArguments {
            directory: "fh".into(),
            cookie: 5,
            verifier: [0; 8],
            directory_count_bytes: 512,
            max_count_bytes: 32_768,
        }),
        &hex!("00000002 66680000 0000000000000005 0000000000000000 00000200 00008000"),
    );
    let entry = |name: &str, cookie| EntryPlus {
        fileid: 7,
        name: name.into(),
        cookie,
        attributes: None,
        handle: Some("fh".into()),
    };
    are_results(
        Results::ReadDirectoryPlus(Ok(ReadDirectoryPlusOk {
            attributes: None,
            verifier: *b"verifier",
            entries: vec![entry(".", 1), entry("..", 2)].into(),
            eof: true,
        })),
        &hex!(
            "00000000 00000000 7665726966696572"
            "00000001 0000000000000007 00000001 2e000000 0000000000000001 00000000 00000001 00000002 66680000"
            "00000001 0000000000000007 00000002 2e2e0000 0000000000000002 00000000 00000001 00000002 66680000"
            "00000000 00000001"
        ),
    );
}

#[test]
fn limits_of_a_file_system_have_the_bytes_of_the_standard() {
    let information = FileSystemInformation {
        attributes: None,
        max_read_bytes: 1 << 20,
        preferred_read_bytes: 1 << 20,
        read_multiple_bytes: 4096,
        max_write_bytes: 1 << 20,
        preferred_write_bytes: 1 << 20,
        write_multiple_bytes: 4096,
        preferred_read_directory_bytes: 32_768,
        max_file_bytes: 1 << 44,
        time_delta: Time { seconds: 0, nanoseconds: 1 },
        properties: properties::LINK | properties::SYMLINK | properties::HOMOGENEOUS | properties::CANSETTIME,
    };
    are_results(
        Results::FileSystemInformation(Ok(information)),
        &hex!(
            "00000000 00000000 00100000 00100000 00001000 00100000 00100000 00001000 00008000"
            "0000100000000000 00000000 00000001 0000001b"
        ),
    );
}

/// Fact 15.
#[test]
fn the_procedures_are_those_of_the_standard() {
    let numbers: Vec<u32> = Request::PROCEDURES.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..22).collect::<Vec<_>>());
    assert_eq!(request(22, &[]), Err(CallError::ProcedureUnavailable { procedure: 22 }));
    assert_eq!(mount::Request::PROCEDURES.len(), 6);
}

/// Fact 16 and the rule of handles: 1 to 64 bytes.
#[test]
fn handles_that_are_cut_off_empty_or_too_long_are_garbage() {
    let handle = hex!("00000040");
    let whole = [&handle[..], &[1; 64]].concat();
    assert!(request(1, &whole).is_ok());
    for length in 0..whole.len() {
        assert!(matches!(garbage(1, &whole[..length]), Problem::Truncated { .. }), "{length}");
    }
    assert_eq!(garbage(1, &hex!("00000000")), Problem::TooShort { found: 0, minimum: 1 });
    let long = [&hex!("00000041")[..], &[1; 68]].concat();
    assert_eq!(garbage(1, &long), Problem::TooLong { found: 65, maximum: 64 });
}

/// Facts 29, 31, 137 and 153.
#[test]
fn numbers_that_there_are_not_are_garbage() {
    let entry = hex!("00000002 66680000 00000001 61000000");
    let with = |more: &[u8]| [&entry[..], more].concat();
    assert_eq!(garbage(8, &with(&hex!("00000003"))), Problem::NoSuchValue { found: 3 });
    assert_eq!(garbage(11, &with(&hex!("00000009"))), Problem::NoSuchValue { found: 9 });
    let times = [&entry[..8], &[0; 16], &hex!("00000003")].concat();
    assert_eq!(garbage(2, &times), Problem::NoSuchValue { found: 3 });
    let boolean = [&entry[..8], &hex!("00000002")].concat();
    assert_eq!(garbage(2, &boolean), Problem::NotBoolean { found: 2 });
    let name = [&entry[..8], &hex!("ffffffff")].concat();
    assert_eq!(garbage(3, &name), Problem::Truncated { wanted: 0xffff_ffff, found: 0 });
    let write = |count: u8, stable: u8| {
        [&entry[..8], &[0; 8], &[0, 0, 0, count, 0, 0, 0, stable], &hex!("00000002 61620000")].concat()
    };
    assert!(request(7, &write(2, 2)).is_ok());
    assert_eq!(garbage(7, &write(1, 2)), Problem::Inconsistent { found: 1, wanted: 2 });
    assert_eq!(garbage(7, &write(2, 3)), Problem::NoSuchValue { found: 3 });
}

/// Facts 119, 120, 158 and 159: these reach the server, which has a status for them.
#[test]
fn odd_names_and_kinds_are_decoded() {
    for name in [vec![b'x'; 256], vec![], b"a/b\0".to_vec(), vec![0xff]] {
        let entry = DirectoryEntry { directory: "fh".into(), name: name.into() };
        let bytes = written(|writer| Request::Lookup(entry.clone()).encode(writer));
        assert_eq!(request(3, &bytes), Ok(Request::Lookup(entry)));
    }
    let entry = hex!("00000002 66680000 00000001 61000000");
    for kind in [1, 2, 5] {
        assert!(request(11, &[&entry[..], &[0, 0, 0, kind]].concat()).is_ok());
    }
}

/// Facts 70, 77, 78 and 80; RFC 1813 appendix I.
#[test]
fn mount_has_the_bytes_of_the_standard() {
    let request = mount::Request::Mount("/s".into());
    let bytes = hex!("00000002 2f730000");
    assert_eq!(written(|writer| request.encode(writer)), &bytes[..]);
    assert_eq!(mount::Request::decode(1, &mut Reader::new(Bytes::copy_from_slice(&bytes))), Ok(request));
    let mounted = mount::Mounted { handle: "fh".into(), flavors: vec![onc_rpc::auth::Flavor::SYS].into() };
    let results = mount::Results::Mount(Ok(mounted));
    let bytes = hex!("00000000 00000002 66680000 00000001 00000001");
    assert_eq!(written(|writer| results.encode(writer)), &bytes[..]);
    let refused = mount::Results::Mount(Err(mount::Status::ACCES));
    assert_eq!(written(|writer| refused.encode(writer)), &hex!("0000000d")[..]);
    let exports =
        mount::Results::Export(vec![mount::Export { directory: "/s".into(), groups: vec!["*".into()].into() }].into());
    let bytes = hex!("00000001 00000002 2f730000 00000001 00000001 2a000000 00000000 00000000");
    assert_eq!(written(|writer| exports.encode(writer)), &bytes[..]);
    assert_eq!(mount::Results::decode(5, &mut Reader::new(Bytes::copy_from_slice(&bytes))), Ok(exports));
    let long = written(|writer| writer.opaque(&[b'/'; 1025]));
    assert!(matches!(mount::Request::decode(1, &mut Reader::new(long)), Err(CallError::GarbageArguments(_))));
}

#[test]
fn every_procedure_survives_the_way_there_and_back() {
    for seed in 0..2000 {
        let random = Random::new(seed);
        let request = Request::sample(&random);
        let bytes = written(|writer| request.encode(writer));
        assert_eq!(super::tests::request(request.procedure(), &bytes), Ok(request), "seed {seed}");
        let results = Results::sample(&random);
        let bytes = written(|writer| results.encode(writer));
        assert_eq!(super::tests::results(results.procedure(), &bytes), Ok(results), "seed {seed}");
        let mount = mount::Results::sample(&random);
        let mut reader = Reader::strict(written(|writer| mount.encode(writer)));
        assert_eq!(mount::Results::decode(mount.procedure(), &mut reader), Ok(mount), "seed {seed}");
        assert_eq!(reader.finish(), Ok(()));
    }
}

#[test]
fn every_procedure_that_ends_early_is_refused() {
    for seed in 0..200 {
        let random = Random::new(seed);
        let request = Request::sample(&random);
        let bytes = written(|writer| request.encode(writer));
        let results = Results::sample(&random);
        let results_bytes = written(|writer| results.encode(writer));
        for length in 0..bytes.len() {
            assert!(super::tests::request(request.procedure(), &bytes[..length]).is_err(), "seed {seed}: {length}");
        }
        for length in 0..results_bytes.len().min(500) {
            let cut = &results_bytes[..length];
            assert!(super::tests::results(results.procedure(), cut).is_err(), "seed {seed}: {length}");
        }
    }
}

#[test]
fn statuses_have_names() {
    assert!(Status::ALL.is_sorted());
    assert_eq!(format!("{} {:?}", Status::NOT_SYNC, Status::new(4)), "NOT_SYNC Some(status 4)");
    assert_eq!((Status::new(0), Status::JUKEBOX.number()), (None, 10008));
    assert_eq!(mount::Status::ALL.len(), 9);
}
