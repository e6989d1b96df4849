//! SendTargets (conformance check 163).

use super::pair::{INITIATOR, Pair, TARGET, TestDirectory};
use crate::connection::{self, CloseReason, SessionType, TargetRecord};
use crate::initiator::{Config, Event, TransferRequest};
use crate::pdu::{self, Opcode};

fn discovery(directory: TestDirectory, room: u32) -> Pair {
    let config = Config { max_recv_data_segment_length: room, ..Config::discovery(INITIATOR) };
    let mut pair = Pair::with(config, connection::Config::default(), directory);
    pair.drive();
    assert_eq!(pair.events, [Event::LoggedIn { tsih: 7, target_portal_group_tag: None }]);
    assert_eq!(pair.opened.as_ref().unwrap().session_type, SessionType::Discovery);
    pair.events.clear();
    pair.sent.clear();
    pair
}

fn ask(pair: &mut Pair, value: &str) -> Vec<TargetRecord> {
    pair.initiator.send_targets(value);
    pair.drive();
    match pair.events.pop() {
        Some(Event::Targets(targets)) => targets,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_one_and_none() {
    let mut pair = discovery(TestDirectory::default(), 8192);
    let all = ask(&mut pair, "All");
    assert_eq!(all, pair.directory.targets);
    assert_eq!(
        pair.sent[0].data,
        "TargetName=iqn.2026-01.org.example:t0\0TargetAddress=192.0.2.1:3260,1\0\
         TargetAddress=[2001:db8::1]:3260,2\0TargetName=iqn.2026-01.org.example:t1\0\
         TargetAddress=192.0.2.1:3260,1\0TargetAddress=[2001:db8::1]:3260,2\0"
            .as_bytes()
    );
    assert_eq!(ask(&mut pair, TARGET), [all[0].clone()]);
    assert_eq!(ask(&mut pair, "iqn.2026-01.org.example:unknown"), []);
    assert_eq!(ask(&mut pair, ""), [], "Reject: there is no target of this session");
}

#[test]
fn a_long_list_spans_responses() {
    let targets: Vec<TargetRecord> = (0..2000)
        .map(|i| TargetRecord {
            name: format!("iqn.2026-01.org.example:t{i}"),
            addresses: vec![format!("192.0.2.{}:3260,1", i % 250)],
        })
        .collect();
    let mut pair = discovery(TestDirectory { targets: targets.clone(), ..TestDirectory::default() }, 512);
    pair.step = 333;
    assert_eq!(ask(&mut pair, "All"), targets);
    assert!(pair.sent.len() > 200);
    assert!(pair.sent.iter().all(|pdu| pdu.data.len() <= 512));
    let continued = pdu::CONTINUE;
    let (last, others) = pair.sent.split_last().unwrap();
    assert!(others.iter().all(|pdu| pdu.header[1] == continued && pdu.header[20..24] != [0xFF; 4]));
    assert_eq!((last.header[1], &last.header[20..24]), (pdu::FINAL, &[0xFF; 4][..]));
}

#[test]
fn in_a_normal_session_only_the_own_target() {
    let mut pair = Pair::logged_in();
    assert_eq!(ask(&mut pair, ""), [pair.directory.targets[0].clone()]);
    assert_eq!(ask(&mut pair, TARGET), [pair.directory.targets[0].clone()]);
    assert_eq!(ask(&mut pair, "iqn.2026-01.org.example:t1"), []);
    assert_eq!(ask(&mut pair, "All"), []);
}

#[test]
fn no_scsi_in_a_discovery_session() {
    let mut pair = discovery(TestDirectory::default(), 8192);
    pair.command(&[0; 6], TransferRequest::None);
    pair.drive();
    assert!(matches!(pair.closed, Some(CloseReason::ProtocolError(_))));
    assert_eq!(pair.sent_opcodes(), [Opcode::REJECT]);
}
