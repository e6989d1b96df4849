//! A target that means harm must not make an initiator send or work without end.

use bytes::BytesMut;

use super::pair::{INITIATOR, Pair, TARGET, pattern, write10};
use crate::framing::{Digests, Output};
use crate::initiator::{Config, Event, Initiator, TransferRequest};
use crate::pdu::{self, Opcode};
use crate::target;

fn say(initiator: &mut Initiator, header: pdu::RawHeader, text: &[u8]) -> usize {
    let mut output = Output::default();
    output.push_slice(header, text, Digests::default());
    let mut input = BytesMut::from(&output.next_chunk().unwrap()[..]);
    initiator.handle_input(&mut input);
    std::iter::from_fn(|| initiator.poll_output()).map(|chunk| chunk.len()).sum()
}

/// It never said that it was done with the operational stage, and the initiator asked once more, for ever.
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

/// One R2T of 48 bytes got a whole burst; the next one for the same range another.
#[test]
fn data_that_was_asked_for_once_is_sent_once() {
    let config = Config { initial_r2t: true, immediate_data: false, ..Config::new(INITIATOR, TARGET) };
    let mut pair = Pair::logged_in_with(config, target::Config::default());
    let tag = pair.command(&write10(0, 64), TransferRequest::Out(pattern(32_768)));
    let _command: Vec<_> = std::iter::from_fn(|| pair.initiator.poll_output()).collect();
    let mut header = pdu::blank(Opcode::R2T.0, pdu::FINAL, tag);
    header[44..48].copy_from_slice(&32_768_u32.to_be_bytes());
    assert!(say(&mut pair.initiator, header, &[]) >= 32_768);
    assert_eq!(say(&mut pair.initiator, header, &[]), 0);
    assert_eq!(pair.initiator.poll_event(), Some(Event::ProtocolError("R2Ts for more than the transfer")));
}

/// Text Responses that are not final and bring nothing.
#[test]
fn a_list_of_targets_without_end_is_given_up() {
    let mut pair = Pair::logged_in();
    pair.initiator.send_targets("");
    let mut header = pdu::blank(Opcode::TEXT_RESPONSE.0, 0, 5);
    header[20..24].copy_from_slice(&9_u32.to_be_bytes());
    for stat_sn in 0..20_000_u32 {
        header[24..28].copy_from_slice(&stat_sn.to_be_bytes());
        header[32..36].copy_from_slice(&(pair.initiator.cmd_sn() + 8).to_be_bytes());
        say(&mut pair.initiator, header, &[]);
    }
    assert_eq!(pair.initiator.poll_event(), Some(Event::ProtocolError("the list of targets is too long")));
}
