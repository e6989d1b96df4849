use std::time::Duration;

use bytes::Bytes;
use iscsi::initiator::TransferRequest;
use iscsi::pdu::{LoginStatus, TaskManagementFunction, TaskManagementResponse};

use crate::cdb;
use crate::commands::{CommandError, Compared};
use crate::initiator::{Session, SessionError, SessionOptions};
use crate::sense::Sense;
use loads::faulty_target::{Array, BLOCKS, Fault, TARGET};
use random::sector::numbered;

fn connected(array: &Array) -> Session {
    let mut session = Session::connect(&array.url(0), &SessionOptions::default()).unwrap();
    session.clear_unit_attentions().unwrap();
    session
}

#[test]
fn every_command() {
    let array = Array::start(Fault::None);
    let mut session = connected(&array);
    let capacity = session.read_capacity().unwrap();
    assert_eq!((capacity.blocks, capacity.block_bytes, capacity.thin), (BLOCKS as u64, 512, true));
    let data: Bytes = (1..=2048_u64).flat_map(numbered).collect();
    session.write16(0, data.clone()).unwrap();
    assert_eq!(session.read16(0, 2048).unwrap(), data);
    assert_eq!(session.compare_and_write(0, &numbered(1), &numbered(9000)).unwrap(), Compared::Written);
    assert_eq!(session.compare_and_write(0, &numbered(1), &numbered(9001)).unwrap(), Compared::Miscompare(Some(6)));
    session.write_same16(10, 5, Some(Bytes::copy_from_slice(&numbered(7))), false).unwrap();
    assert_eq!(session.read16(14, 1).unwrap()[..], numbered(7));
    session.unmap(&[(20, 2), (30, 1)]).unwrap();
    assert_eq!(session.read16(21, 1).unwrap()[..], [0; 512]);
    let naa = session.naa_designator().unwrap();
    session.copy_blocks((&naa, 40), (&naa, 5000), 16).unwrap();
    assert_eq!(session.read16(5000, 16).unwrap(), data.slice(40 * 512..56 * 512));
    session.synchronize_cache().unwrap();
    match session.read16(BLOCKS as u64, 1) {
        Err(CommandError::Status { status: 2, sense: Some(Sense { key: 5, code: 0x21, .. }), .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(session.ping(Bytes::from_static(b"hello")).unwrap(), "hello");
    let reset = session.task_management(TaskManagementFunction::LOGICAL_UNIT_RESET, None).unwrap();
    assert_eq!(reset, TaskManagementResponse::COMPLETE);
    assert!(session.wire_bytes().0 > data.len() as u64);
    session.logout().unwrap();
}

#[test]
fn many_commands_at_once() {
    let array = Array::start(Fault::None);
    let mut session = connected(&array);
    let tags: Vec<u32> = (0..300_u64)
        .map(|block| {
            let data = Bytes::copy_from_slice(&numbered(block + 1));
            session.submit(cdb::write16(block, 1, false), TransferRequest::Out(data)).unwrap()
        })
        .collect();
    for tag in tags.iter().rev() {
        assert_eq!(session.wait(*tag).unwrap().status, 0);
    }
    assert_eq!(session.outstanding(), 0);
    for block in 0..300 {
        session.submit(cdb::read16(block, 1), TransferRequest::In(512)).unwrap();
    }
    for block in 0..300_u64 {
        assert_eq!(session.wait_any().unwrap().data_in[..], numbered(block + 1));
    }
    assert!(session.poll(Duration::ZERO).unwrap().is_none());
    // Large concurrent writes and reads, more than the sockets can hold.
    for at in 0..8 {
        let data = Bytes::from(vec![at as u8; 1 << 20]);
        session.submit(cdb::write16(at * 2048, 2048, false), TransferRequest::Out(data)).unwrap();
        session.submit(cdb::read16(at * 2048, 2048), TransferRequest::In(1 << 20)).unwrap();
    }
    for _ in 0..16 {
        assert_eq!(session.wait_any().unwrap().status, 0);
    }
}

#[test]
fn chap_digests_and_discovery() {
    let array = Array::start_with(Fault::None, true);
    let options = SessionOptions::default();
    let base = array.url(1).to_string();
    let with_user = base.replace("iscsi://", "iscsi://user%secret-secret@");
    let mutual =
        format!("{with_user}?target_user=array&target_password=another-secret&header_digest=crc32c&data_digest=crc32c");
    for url in [&with_user, &mutual] {
        let mut session = Session::connect(&url.parse().unwrap(), &options).unwrap();
        session.clear_unit_attentions().unwrap();
        session.write16(1, Bytes::copy_from_slice(&numbered(3))).unwrap();
        assert_eq!(session.read16(1, 1).unwrap()[..], numbered(3));
        assert_eq!(session.machine().parameters().header_digest, url.contains("digest"));
    }
    let targets = Session::discover(&with_user.parse().unwrap(), &options).unwrap();
    assert_eq!(targets[0].name, TARGET);
    for wrong in
        [base.clone(), base.replace("iscsi://", "iscsi://user%wrong-secret@"), mutual.replace("another", "third")]
    {
        match Session::connect(&wrong.parse().unwrap(), &options) {
            Err(SessionError::Login { status: LoginStatus::AUTHENTICATION_FAILURE, .. }) => {}
            other => panic!("{wrong}: {other:?}"),
        }
    }
}

#[test]
fn errors_of_the_connection() {
    let array = Array::start(Fault::None);
    let options = SessionOptions { timeout: Duration::from_millis(300), ..SessionOptions::default() };
    let mut unknown = array.url(0);
    unknown.target = "iqn.2026-01.org.example:unknown".into();
    let error = Session::connect(&unknown, &options).unwrap_err();
    assert!(error.to_string().contains("TARGET_NOT_FOUND"), "{error}");

    let mut session = connected(&array);
    array.crash();
    assert!(matches!(session.test_unit_ready(), Err(CommandError::Session(SessionError::Lost(_)))));

    // A listener that never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut url = array.url(0);
    url.port = silent.local_addr().unwrap().port();
    assert!(matches!(Session::connect(&url, &options), Err(SessionError::Timeout(_))));
    drop(silent);
    assert!(matches!(Session::connect(&url, &options), Err(SessionError::Connect { .. })));
}
