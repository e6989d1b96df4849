//! NOP, logout, shutdown, timeouts (conformance checks 164, 175, 176).

use std::time::Duration;

use bytes::Bytes;

use super::pair::{INITIATOR, Pair, TARGET, pattern, read10};
use crate::connection::{self, CloseReason};
use crate::initiator::{Config, Event, TransferRequest};
use crate::pdu::{self, RESERVED_TAG};
use crate::pdu::{
    AsyncEvent, LoginStatus, LogoutReason, LogoutRequest, LogoutResponse, LogoutResponseCode, NopIn, Opcode,
};

#[test]
fn pings_come_back() {
    let mut pair = Pair::logged_in();
    let tag = pair.initiator.nop_out(pattern(8192));
    pair.drive();
    assert_eq!(pair.events, [Event::Pong { initiator_task_tag: tag, data: pattern(8192) }]);

    let config = Config { max_recv_data_segment_length: 512, ..Config::new(INITIATOR, TARGET) };
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    let tag = pair.initiator.nop_out(pattern(8192));
    pair.drive();
    assert_eq!(pair.events, [Event::Pong { initiator_task_tag: tag, data: pattern(512) }]);
}

/// A connection that changes threads continues its session: numbers, digests and parameters stay.
#[test]
fn a_suspended_connection_continues_its_session() {
    let digests =
        Config { header_digest: "CRC32C".into(), data_digest: "CRC32C".into(), ..Config::new(INITIATOR, TARGET) };
    for config in [Config::new(INITIATOR, TARGET), digests] {
        let mut pair = Pair::logged_in_with(config, connection::Config::default());
        pair.medium = pattern(super::pair::MEDIUM_BYTES).to_vec();
        for lba in 0..5 {
            let read = pair.run(&read10(lba, 3), TransferRequest::In(3 * 512));
            assert_eq!((read.status, read.data_in.len()), (0, 3 * 512));
            assert!(pair.target.is_idle());
            let other = connection::Connection::new(pair.now, connection::Config::default(), [0; 32]);
            pair.target = std::mem::replace(&mut pair.target, other).suspend().resume();
            assert_eq!(pair.target.identity().map(|identity| identity.tsih), Some(7));
        }
        assert_eq!(pair.closed, None);
    }
}

#[test]
fn a_connection_with_a_task_or_output_is_not_idle() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    pair.command(&read10(0, 1), TransferRequest::In(512));
    pair.drive();
    assert!(!pair.target.is_idle(), "the device server has it");
    let command = pair.commands.remove(0);
    assert!(pair.answer(&command));
    assert!(!pair.target.is_idle(), "its response is not written");
    pair.drive();
    assert!(pair.target.is_idle());
}

#[test]
fn a_nop_out_without_tag_is_not_answered() {
    let mut pair = Pair::logged_in();
    let mut header = crate::pdu::NopOut::from_wire(&pdu::blank(0x40, pdu::FINAL, RESERVED_TAG));
    header.target_transfer_tag = RESERVED_TAG.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::from_static(b"hello"));
    pair.drive();
    assert!(pair.sent.is_empty() && pair.closed.is_none());
}

#[test]
fn a_silent_initiator_is_pinged_and_then_dropped() {
    let mut pair = Pair::logged_in();
    for _ in 0..3 {
        let due = pair.target.poll_timeout().unwrap();
        assert_eq!(due, pair.now + Duration::from_secs(30));
        pair.advance(Duration::from_secs(30)); // a ping was sent and answered
        let ping = NopIn::from_wire(&pair.sent.pop().unwrap().header);
        assert_eq!(ping.initiator_task_tag.get(), RESERVED_TAG);
        assert_ne!(ping.target_transfer_tag.get(), RESERVED_TAG);
        assert_eq!(pair.closed, None);
    }
    pair.now += Duration::from_secs(30);
    pair.target.handle_timeout(pair.now);
    while pair.target.poll_output().is_some() {} // the ping is lost
    assert_eq!(pair.target.poll_timeout(), Some(pair.now + Duration::from_secs(30)));
    pair.advance(Duration::from_secs(29));
    assert_eq!(pair.closed, None);
    pair.advance(Duration::from_secs(1));
    assert_eq!(pair.closed, Some(CloseReason::KeepaliveTimeout));
}

#[test]
fn any_pdu_is_a_sign_of_life() {
    let mut pair = Pair::logged_in();
    pair.now += Duration::from_secs(30);
    pair.target.handle_timeout(pair.now);
    while pair.target.poll_output().is_some() {}
    pair.now += Duration::from_secs(10);
    assert_eq!(pair.run(&read10(0, 1), TransferRequest::In(512)).status, 0);
    pair.advance(Duration::from_secs(29));
    assert_eq!(pair.closed, None);
}

#[test]
fn logout() {
    for reason in [LogoutReason::CLOSE_SESSION, LogoutReason::CLOSE_CONNECTION] {
        let mut pair = Pair::logged_in();
        pair.initiator.logout(reason);
        pair.drive();
        assert!(pair.logout);
        assert_eq!(pair.events, [Event::LoggedOut(LogoutResponseCode::CLOSED)]);
        assert_eq!(pair.closed, Some(CloseReason::LoggedOut));
        let header = LogoutResponse::from_wire(&pair.sent[0].header);
        assert_eq!((header.time2wait.get(), header.time2retain.get()), (2, 0));
    }
    let mut pair = Pair::logged_in();
    pair.initiator.logout(LogoutReason::REMOVE_FOR_RECOVERY);
    pair.drive();
    assert_eq!(pair.events.pop(), Some(Event::LoggedOut(LogoutResponseCode::RECOVERY_NOT_SUPPORTED)));
    let mut header = LogoutRequest::from_wire(&pdu::blank(0x46, 0x81, 5));
    header.cid = 99.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
    pair.drive();
    assert_eq!(pair.events.pop(), Some(Event::LoggedOut(LogoutResponseCode::CID_NOT_FOUND)));
    assert_eq!(pair.closed, None);
}

/// Conformance check 175.
#[test]
fn shutdown_asks_for_a_logout() {
    let mut pair = Pair::logged_in();
    pair.target.request_logout(pair.now, 3);
    pair.drive();
    let expected = Event::Async { event: AsyncEvent::LOGOUT_REQUESTED, parameter3: 3, data: Bytes::new() };
    assert_eq!(pair.events, [expected]);
    assert_eq!(pair.sent_opcodes(), [Opcode::ASYNC_MESSAGE]);
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0, "commands are still served");
    assert_eq!(pair.target.poll_timeout(), Some(pair.now + Duration::from_secs(3)));
    pair.advance(Duration::from_secs(3));
    assert_eq!(pair.closed, Some(CloseReason::LogoutTimeout));

    let mut pair = Pair::logged_in();
    pair.target.request_logout(pair.now, 3);
    pair.drive();
    pair.initiator.logout(LogoutReason::CLOSE_SESSION);
    pair.drive();
    assert_eq!(pair.closed, Some(CloseReason::LoggedOut));
}

#[test]
fn shutdown_during_login() {
    let mut pair = Pair::with(
        Config::new(INITIATOR, TARGET),
        connection::Config::default(),
        super::pair::TestDirectory::default(),
    );
    pair.target.request_logout(pair.now, 3);
    pair.drive();
    let failed = Event::LoginFailed { status: LoginStatus::SERVICE_UNAVAILABLE, target_address: None };
    assert_eq!(pair.events, [failed]);
}

#[test]
fn a_login_request_in_full_feature_phase_ends_the_connection() {
    let mut pair = Pair::logged_in();
    pair.initiator.send_pdu(pdu::blank(0x43, 0x87, 0), Bytes::new());
    pair.drive();
    assert!(matches!(pair.closed, Some(CloseReason::ProtocolError(_))));
    assert_eq!(pair.sent_opcodes(), [Opcode::REJECT]);
}

#[test]
fn a_closed_connection_does_nothing_more() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    pair.command(&read10(0, 1), TransferRequest::In(512));
    pair.drive();
    pair.target.close();
    let command = pair.commands.pop().unwrap();
    assert!(!pair.answer(&command));
    pair.command(&read10(0, 1), TransferRequest::In(512));
    pair.drive();
    assert_eq!(pair.closed, Some(CloseReason::Requested));
    assert!(pair.commands.is_empty() && pair.sent.is_empty());
    assert!(!pair.target.accept_session(1));
    pair.target.finish_logout();
    pair.target.request_logout(pair.now, 1);
    assert_eq!(pair.target.poll_output(), None);
}
