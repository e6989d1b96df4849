//! A malicious target must not make an initiator send or work without end.

use bytes::BytesMut;

use super::pair::{INITIATOR, Pair, TARGET, pattern, write10};
use crate::connection;
use crate::framing::{Digests, Output};
use crate::initiator::{Config, Event, Initiator, TransferRequest};
use crate::pdu::{self, LogoutReason, Opcode, RESERVED_TAG};

fn say(initiator: &mut Initiator, header: pdu::RawHeader, text: &[u8]) -> usize {
    let mut output = Output::default();
    output.push_slice(header, text, Digests::default());
    let mut input = BytesMut::from(&output.next_chunk().unwrap()[..]);
    initiator.handle_input(&mut input);
    std::iter::from_fn(|| initiator.poll_output()).map(|chunk| chunk.len()).sum()
}

/// Bug: if the target never ended the operational stage, the initiator sent another request each
/// time, without end.
#[test]
fn a_login_without_end_is_given_up() {
    let mut initiator = Initiator::new(Config::new(INITIATOR, TARGET), [0; 32]);
    let header = pdu::blank(Opcode::LOGIN_RESPONSE.0, 0x04, 0);
    for _ in 0..300 {
        say(&mut initiator, header, &[]);
    }
    let last = std::iter::from_fn(|| initiator.poll_event()).last();
    assert_eq!(last, Some(Event::ProtocolError("too many login responses")));
}

/// Bug: one R2T of 48 bytes got a whole burst, and the next one for the same range another.
#[test]
fn data_that_was_asked_for_once_is_sent_once() {
    let config = Config { initial_r2t: true, immediate_data: false, ..Config::new(INITIATOR, TARGET) };
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    let tag = pair.command(&write10(0, 64), TransferRequest::Out(pattern(32_768)));
    let _command: Vec<_> = std::iter::from_fn(|| pair.initiator.poll_output()).collect();
    let mut header = pdu::blank(Opcode::R2T.0, pdu::FINAL, tag);
    header[44..48].copy_from_slice(&32_768_u32.to_be_bytes());
    assert!(say(&mut pair.initiator, header, &[]) >= 32_768);
    assert_eq!(say(&mut pair.initiator, header, &[]), 0);
    assert_eq!(pair.initiator.poll_event(), Some(Event::ProtocolError("R2Ts for more than the transfer")));
}

/// Text Responses that are not final and carry no text.
#[test]
fn a_list_of_targets_without_end_is_given_up() {
    let mut pair = Pair::logged_in();
    pair.initiator.send_targets("");
    for stat_sn in 0..20_000_u32 {
        continued(&mut pair.initiator, stat_sn, 8, &[]);
    }
    assert_eq!(pair.initiator.poll_event(), Some(Event::ProtocolError("the list of targets is too long")));
    // Likewise, with the maximum of text in each response.
    let mut pair = Pair::logged_in();
    pair.initiator.send_targets("");
    for stat_sn in 0..17_u32 {
        continued(&mut pair.initiator, stat_sn, 8, &[b'x'; 262_144]);
    }
    assert_eq!(pair.initiator.poll_event(), Some(Event::ProtocolError("the list of targets is too long")));
}

/// Sends a Text Response to the first request that is not final; `window`: number of commands that
/// the window permits.
fn continued(initiator: &mut Initiator, stat_sn: u32, window: u32, text: &[u8]) -> usize {
    let mut header = pdu::blank(Opcode::TEXT_RESPONSE.0, 0, 1);
    header[20..24].copy_from_slice(&9_u32.to_be_bytes());
    header[24..28].copy_from_slice(&stat_sn.to_be_bytes());
    header[32..36].copy_from_slice(&initiator.cmd_sn().wrapping_add(window).wrapping_sub(1).to_be_bytes());
    say(initiator, header, text)
}

/// Bug: each unsolicited response became a list of targets, and all of them were kept.
#[test]
fn text_that_nobody_asked_for_ends_the_connection() {
    let header = pdu::blank(Opcode::TEXT_RESPONSE.0, pdu::FINAL, 1);
    let expected = Some(Event::ProtocolError("an unsolicited text response"));
    let mut pair = Pair::logged_in();
    say(&mut pair.initiator, header, b"TargetName=iqn.x:t\0");
    assert_eq!(pair.initiator.poll_event(), expected);
    assert!(!pair.initiator.is_full_feature());
    // One response for each request; with another tag, none.
    let mut pair = Pair::logged_in();
    pair.initiator.send_targets("");
    say(&mut pair.initiator, header, b"TargetName=iqn.x:t\0");
    assert!(matches!(pair.initiator.poll_event(), Some(Event::Targets(targets)) if targets.len() == 1));
    say(&mut pair.initiator, header, b"TargetName=iqn.x:t\0");
    assert_eq!(pair.initiator.poll_event(), expected);
    let mut pair = Pair::logged_in();
    pair.initiator.send_targets("");
    say(&mut pair.initiator, pdu::blank(Opcode::TEXT_RESPONSE.0, pdu::FINAL, 2), b"");
    assert_eq!(pair.initiator.poll_event(), expected);
}

/// Bug: the requests for the rest of a list waited for a window that never opened.
#[test]
fn a_list_of_targets_goes_on_when_it_was_asked_for_the_rest() {
    let mut pair = Pair::logged_in();
    pair.initiator.send_targets("");
    let first: usize = std::iter::from_fn(|| pair.initiator.poll_output()).map(|chunk| chunk.len()).sum();
    assert!(first > 48);
    pair.initiator.take_cmd_sn();
    while pair.initiator.cmd_sn() <= pair.initiator.max_cmd_sn() {
        pair.initiator.take_cmd_sn();
    }
    assert_eq!(continued(&mut pair.initiator, 1, 0, b"x"), 0);
    assert_eq!(pair.initiator.poll_event(), None);
    assert_eq!(continued(&mut pair.initiator, 2, 0, b"x"), 0);
    assert_eq!(pair.initiator.poll_event(), Some(Event::ProtocolError("an unsolicited text response")));
}

#[test]
fn a_logout_that_nobody_asked_for_ends_the_connection() {
    let mut header = pdu::blank(Opcode::LOGOUT_RESPONSE.0, pdu::FINAL, 1);
    // Recovery is not supported: the connection stays open.
    header[2] = 2;
    let expected = Some(Event::ProtocolError("an unsolicited logout response"));
    let mut pair = Pair::logged_in();
    say(&mut pair.initiator, header, &[]);
    assert_eq!(pair.initiator.poll_event(), expected);
    let mut pair = Pair::logged_in();
    pair.initiator.logout(LogoutReason::REMOVE_FOR_RECOVERY);
    say(&mut pair.initiator, header, &[]);
    assert!(matches!(pair.initiator.poll_event(), Some(Event::LoggedOut(_))));
    say(&mut pair.initiator, header, &[]);
    assert_eq!(pair.initiator.poll_event(), expected);
}

/// Bug: for a target that sent pings and did not read, the answers accumulated.
#[test]
fn pings_without_end_are_given_up_when_the_answers_are_not_read() {
    let mut header = pdu::blank(Opcode::NOP_IN.0, pdu::FINAL, RESERVED_TAG);
    header[20..24].copy_from_slice(&9_u32.to_be_bytes());
    // Pings whose answers are read are answered, each with 48 bytes, whatever other output is
    // queued.
    let mut pair = Pair::logged_in();
    pair.command(&write10(0, 64), TransferRequest::Out(pattern(32_768)));
    assert!(say(&mut pair.initiator, header, &[]) > 32_768);
    for _ in 0..10_000 {
        assert_eq!(say(&mut pair.initiator, header, &[]), 48);
    }
    assert_eq!(pair.initiator.poll_event(), None);
    let mut output = Output::default();
    output.push_header(header, Digests::default());
    let ping = output.next_chunk().unwrap();
    let mut input = BytesMut::from(&ping.repeat(10_000)[..]);
    pair.initiator.handle_input(&mut input);
    let expected = Event::ProtocolError("too many pings whose answers are not read");
    assert_eq!(pair.initiator.poll_event(), Some(expected));
    assert!(std::iter::from_fn(|| pair.initiator.poll_output()).map(|chunk| chunk.len()).sum::<usize>() < 16 << 10);
}

/// Responses to abandoned commands may arrive late; nothing of them is kept.
#[test]
fn what_answers_nothing_is_passed_over() {
    let mut pair = Pair::logged_in();
    for opcode in [Opcode::NOP_IN, Opcode::TASK_MANAGEMENT_RESPONSE, Opcode::SCSI_RESPONSE, Opcode::DATA_IN] {
        let mut header = pdu::blank(opcode.0, pdu::FINAL, 77);
        header[20..24].copy_from_slice(&RESERVED_TAG.to_be_bytes());
        say(&mut pair.initiator, header, &[]);
    }
    assert_eq!(pair.initiator.poll_event(), None);
    assert!(pair.initiator.is_full_feature());
    let tag = pair.initiator.nop_out(pattern(8));
    pair.drive();
    assert_eq!(pair.events, [Event::Pong { initiator_task_tag: tag, data: pattern(8) }]);
}
