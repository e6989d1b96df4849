//! COMPOUND: order, limits, sizes.

use super::kit::{Kit, accepted, compound_results, decoded, get, go, lookup, read};
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::compound::ILLEGAL;
use nfs::v4::names::CreateType;
use nfs::v4::offload::RangeArguments;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{ClientOwner, ExchangeIdArguments, StateProtection};
use nfs::v4::{Stateid, Status};
use onc_rpc::message::{AcceptStatus, Accepted, ReplyBody};

#[test]
fn a_compound_without_operations_succeeds() {
    let kit = Kit::new();
    for minor in [1, 2] {
        kit.minor.set(minor);
        assert_eq!(kit.run_alone(&[]), (Ok(()), Vec::new()));
    }
}

#[test]
fn other_minor_versions_are_refused_before_anything_else() {
    let kit = Kit::new();
    for minor in [0, 3, 50, u32::MAX] {
        kit.minor.set(minor);
        let illegal = Operation::Illegal { code: 0 };
        assert_eq!(kit.run_alone(&[illegal]), (Err(Status::MINOR_VERS_MISMATCH), Vec::new()));
        let answer = kit.send(kit.call(1, &kit.arguments(b"\xff", &[])));
        assert_eq!(compound_results(accepted(answer)).0, Err(Status::MINOR_VERS_MISMATCH));
    }
}

#[test]
fn a_tag_is_echoed_and_has_to_be_text() {
    let kit = Kit::new();
    let run = |tag: &[u8]| compound_results(accepted(kit.send(kit.call(1, &kit.arguments(tag, &[])))));
    let text = "a\u{e4}\0b".as_bytes();
    let (status, tag, _) = run(text);
    assert_eq!((status, &*tag), (Ok(()), text));
    let (status, tag, outcomes) = run(b"\xc3");
    assert_eq!((status, &*tag, outcomes), (Err(Status::INVAL), &b"\xc3"[..], Vec::new()));
}

#[test]
fn a_compound_whose_head_is_cut_is_garbage() {
    let kit = Kit::new();
    let arguments = kit.arguments(b"abcd", &[]);
    for length in 0..arguments.len() {
        let (body, _) = decoded(kit.send(kit.call(1, &arguments[..length])));
        let garbage = matches!(body, ReplyBody::Accepted(Accepted { status: AcceptStatus::GarbageArguments, .. }));
        assert!(garbage, "{length}");
    }
}

#[test]
fn an_operation_that_there_is_not_ends_the_compound() {
    let kit = Kit::new();
    for code in [0, 2, 76, ILLEGAL] {
        let outcomes = kit.run([Operation::Illegal { code }, Operation::PutRootFilehandle]);
        assert_eq!(outcomes, [Outcome::Illegal(Status::OP_ILLEGAL)], "{code}");
    }
}

#[test]
fn minor_version_1_lacks_the_operations_of_2() {
    let kit = Kit::new();
    let allocate = RangeArguments { stateid: Stateid::ANONYMOUS, offset_bytes: 0, length_bytes: 1 };
    let operations = [Operation::PutRootFilehandle, Operation::Allocate(allocate)];
    kit.minor.set(1);
    assert_eq!(kit.run(operations.clone()).last(), Some(&Outcome::Illegal(Status::OP_ILLEGAL)));
    kit.minor.set(2);
    assert_eq!(kit.status(operations), Err(Status::ROFS));
}

#[test]
fn operations_that_are_not_implemented_are_not_supported() {
    let kit = Kit::new();
    for code in [7, 20, 30, 35, 36, 39, 46, 48, 50, 54, 61] {
        let operation = Operation::Unserved { code, arguments: vec![0; 16].into() };
        let outcomes = kit.run([operation, Operation::PutRootFilehandle]);
        assert_eq!(outcomes, [Outcome::Unserved { code, status: Status::NOTSUPP }], "{code}");
    }
}

#[test]
fn operations_before_one_that_cannot_be_decoded_are_executed() {
    let kit = Kit::new();
    let create = |name: &str| {
        let attributes = nfs::v4::attributes::Fattr::none();
        let arguments = nfs::v4::names::CreateArguments { kind: CreateType::Directory, name: name.into(), attributes };
        Operation::Create(Box::new(arguments))
    };
    let operations = [kit.next_sequence(), Operation::PutRootFilehandle, lookup("s"), create("made"), create("cut")];
    let whole = kit.arguments(b"", &operations);
    let answer = kit.send(kit.call(1, &whole[..whole.len() - 12]));
    let (status, _, outcomes) = compound_results(accepted(answer));
    assert_eq!((status, outcomes.len()), (Err(Status::BADXDR), 5));
    assert!(matches!(outcomes.last(), Some(Outcome::Create(Err(Status::BADXDR)))));
    assert_eq!(kit.status(go("s/made")), Ok(()));
    assert_eq!(kit.status(go("s/made").into_iter().chain([lookup("cut")])), Err(Status::NOENT));
}

#[test]
fn a_count_without_operations_is_bad_xdr() {
    let kit = Kit::new();
    let mut arguments = kit.arguments(b"", &[kit.next_sequence()]).to_vec();
    arguments[8..12].copy_from_slice(&3_u32.to_be_bytes());
    let (status, _, outcomes) = compound_results(accepted(kit.send(kit.call(1, &arguments))));
    assert_eq!((status, outcomes.len()), (Err(Status::BADXDR), 2));
    assert_eq!(outcomes.last(), Some(&Outcome::Illegal(Status::BADXDR)));
}

#[test]
fn a_failure_ends_the_compound_with_its_status() {
    let kit = Kit::new();
    let outcomes = kit.run([Operation::PutRootFilehandle, lookup("nothing"), Operation::GetFilehandle]);
    assert_eq!(outcomes.len(), 2);
    assert_eq!(outcomes.last().map(CompoundOutcome::status), Some(Err(Status::NOENT)));
}

#[test]
fn a_compound_begins_with_a_sequence() {
    let kit = Kit::new();
    let (status, outcomes) = kit.run_alone(&[Operation::PutRootFilehandle, Operation::GetFilehandle]);
    assert_eq!((status, outcomes.len()), (Err(Status::OP_NOT_IN_SESSION), 1));
    let (first, second) = (kit.next_sequence(), kit.next_sequence());
    let (status, outcomes) = kit.run_alone(&[first, second]);
    assert_eq!((status, outcomes.len()), (Err(Status::SEQUENCE_POS), 2));
}

#[test]
fn an_operation_without_session_is_alone() {
    let kit = Kit::new();
    let owner = ClientOwner { verifier: [0; 8], owner: "owner".into() };
    let arguments = ExchangeIdArguments { owner, flags: 0, protection: StateProtection::None, implementation: None };
    let exchange = Operation::ExchangeId(Box::new(arguments));
    for alone in [exchange, Operation::DestroySession([0; 16]), Operation::DestroyClientId(1)] {
        let (status, outcomes) = kit.run_alone(&[alone, Operation::PutRootFilehandle]);
        assert_eq!((status, outcomes.len()), (Err(Status::NOT_ONLY_OP), 1));
    }
}

#[test]
fn limits_of_the_session_are_those_of_operations_and_request() {
    let kit = Kit::new();
    kit.sessions.operations.set(2);
    let operations = [kit.next_sequence(), Operation::PutRootFilehandle, Operation::GetFilehandle];
    let (status, outcomes) = kit.run_alone(&operations);
    assert_eq!((status, outcomes.len()), (Err(Status::TOO_MANY_OPS), 1));
    kit.sessions.request_bytes.set(512);
    let long = lookup(&"n".repeat(600));
    let (status, outcomes) = kit.run_alone(&[kit.next_sequence(), long]);
    assert_eq!((status, outcomes.len()), (Err(Status::REQ_TOO_BIG), 1));
}

#[test]
fn without_a_handle_operations_fail() {
    let kit = Kit::new();
    let none = Err(Status::NOFILEHANDLE);
    for operation in
        [get(&[1]), Operation::GetFilehandle, Operation::SaveFilehandle, Operation::LookupParent, read(0, 1)]
    {
        assert_eq!(kit.status([operation]), none);
    }
    assert_eq!(kit.status([Operation::RestoreFilehandle]), none);
    let link = Operation::Link("name".into());
    assert_eq!(kit.status([Operation::PutRootFilehandle, link]), none);
}

#[test]
fn a_retry_gets_the_same_results_and_changes_nothing() {
    let kit = Kit::new();
    let remove = || Operation::Remove("d".into());
    kit.sessions.cache_this.set(true);
    kit.directory("s", "d");
    let first = kit.at("s", [remove()]);
    assert_eq!(first.status(), Ok(()));
    let operations: Vec<_> = [kit.same_sequence()].into_iter().chain(go("s")).chain([remove()]).collect();
    let (status, outcomes) = kit.run_alone(&operations);
    assert_eq!((status, outcomes.last()), (Ok(()), Some(&first)));
}

#[test]
fn a_reply_that_is_too_long_ends_with_that_status() {
    let kit = Kit::new();
    let all: Vec<u32> = (0..82).filter(|number| ![48, 54, 74, 81].contains(number)).collect();
    kit.sessions.response_bytes.set(300);
    let outcomes = kit.run([Operation::PutRootFilehandle, get(&[1]), get(&all), Operation::GetFilehandle]);
    assert_eq!(outcomes.len(), 3);
    assert_eq!(outcomes.last(), Some(&Outcome::GetAttributes(Err(Status::REP_TOO_BIG))));
    kit.sessions.response_bytes.set(4096);
    kit.sessions.cached_bytes.set(300);
    assert_eq!(kit.status([Operation::PutRootFilehandle, get(&all)]), Ok(()));
    kit.sessions.cache_this.set(true);
    let too_big = Err(Status::REP_TOO_BIG_TO_CACHE);
    assert_eq!(kit.status([Operation::PutRootFilehandle, get(&all)]), too_big);
}

#[test]
fn a_change_whose_results_do_not_fit_is_not_made() {
    let kit = Kit::new();
    kit.directory("s", "d");
    let mut refused = 0;
    for limit in 100..240 {
        kit.sessions.response_bytes.set(limit);
        let operations: Vec<_> = go("s").into_iter().chain([Operation::Remove("d".into())]).collect();
        let sequence = kit.next_sequence();
        let answer = kit.send(kit.call(1, &kit.arguments(b"tag", &[&[sequence], &operations[..]].concat())));
        let crate::Answer::Reply(chunks) = &answer else { panic!("{answer:?}") };
        let length: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        let (status, _, outcomes) = compound_results(accepted(answer));
        match status {
            Ok(()) => assert!(length <= limit),
            Err(Status::REP_TOO_BIG) => refused += usize::from(outcomes.len() == 4),
            Err(status) => panic!("{status}"),
        }
        kit.sessions.response_bytes.set(4096);
        assert_eq!(kit.status(go("s/d")).is_ok(), status.is_err(), "{limit}");
        if status.is_ok() {
            kit.directory("s", "d");
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_read_is_cut_to_the_room_of_the_reply() {
    let kit = Kit::new();
    kit.file("f", &[7; 10_000]);
    kit.sessions.response_bytes.set(2048);
    let (data, eof) = kit.read("s/f", 0, u32::MAX);
    assert!((1500..2048).contains(&data.len()) && !eof, "{}", data.len());
}
