//! CmdSN, StatSN and the window (conformance checks 165 and 166), ordering, immediate commands.

use bytes::Bytes;

use super::pair::{INITIATOR, Pair, TARGET, pattern, read10, request, write10};
use crate::connection;
use crate::initiator::{Config, Event, TransferRequest};
use crate::pdu::{self, NopIn, NopOut, Opcode, RESERVED_TAG, RejectReason, ScsiCommand, TaskAttribute};

/// Sends a TEST UNIT READY with the given numbers.
fn send(pair: &mut Pair, tag: u32, cmd_sn: u32, opcode_bits: u8) {
    let opcode = Opcode::SCSI_COMMAND.0 | opcode_bits;
    let mut header = ScsiCommand::from_wire(&pdu::blank(opcode, pdu::FINAL | 1, tag));
    header.cmd_sn = cmd_sn.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
}

#[test]
fn outside_the_window_commands_are_dropped() {
    let mut pair = Pair::logged_in();
    let (cmd_sn, max) = (pair.initiator.cmd_sn(), pair.initiator.max_cmd_sn());
    assert_eq!(max.wrapping_sub(cmd_sn) + 1, 128);
    for outside in [cmd_sn.wrapping_sub(1), max.wrapping_add(1), cmd_sn.wrapping_add(0x8000_0000)] {
        send(&mut pair, 77, outside, 0);
        pair.drive();
        assert!(pair.sent.is_empty() && pair.closed.is_none());
    }
    assert_eq!(pair.target.counters().commands_dropped, 3);
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0);
}

#[test]
fn commands_out_of_order_wait_for_their_turn() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    let first = pair.initiator.cmd_sn();
    for offset in [3, 1, 1, 2] {
        send(&mut pair, 100 + offset, first + offset, 0);
        pair.drive();
        assert!(pair.commands.is_empty());
    }
    assert_eq!(pair.target.counters().commands_dropped, 1, "the one that came twice");
    send(&mut pair, 100, first, 0);
    pair.drive();
    assert_eq!(pair.commands.len(), 4);
    let tasks: Vec<_> = pair.commands.iter().map(|command| command.task).collect();
    assert_eq!(pair.target.outstanding_tasks().iter().map(|(task, _)| *task).collect::<Vec<_>>(), tasks);
    let commands = std::mem::take(&mut pair.commands);
    for command in &commands {
        assert!(pair.answer(command));
        assert!(!pair.answer(command), "a handle answers once");
    }
    pair.drive();
    let tags: Vec<u32> =
        pair.sent.iter().map(|pdu| u32::from_be_bytes(pdu.header[16..20].try_into().unwrap())).collect();
    assert_eq!(tags, [100, 101, 102, 103]);
}

#[test]
fn a_write_out_of_order_gets_its_data_and_waits() {
    let mut pair = Pair::logged_in();
    let first = pair.initiator.take_cmd_sn();
    let write = pair.command(&write10(0, 2), TransferRequest::Out(pattern(1024)));
    let long = pair.command(&write10(8, 1200), TransferRequest::Out(pattern(600 * 1024)));
    let nop = pair.initiator.take_cmd_sn();
    let mut header = NopOut::from_wire(&pdu::blank(Opcode::NOP_OUT.0, pdu::FINAL, 500));
    header.target_transfer_tag = RESERVED_TAG.into();
    header.cmd_sn = nop.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::from_static(b"ping"));
    pair.drive();
    assert!(pair.sent.is_empty());
    send(&mut pair, 400, first, 0);
    pair.drive();
    assert!(pair.completion(write).is_some() && pair.completion(long).is_some());
    assert!(pair.events.contains(&Event::Pong { initiator_task_tag: 500, data: Bytes::from_static(b"ping") }));
}

#[test]
fn the_window_stays_open_for_128_commands_and_closes_before_memory_runs_out() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    for _ in 0..1000 {
        pair.command(&read10(0, 1), TransferRequest::In(512));
    }
    pair.drive();
    assert_eq!(pair.commands.len(), 128);
    for _ in 0..4 {
        // Each answer to a ping reports the window to the initiator.
        pair.initiator.nop_out(Bytes::new());
        pair.drive();
    }
    pair.events.clear();
    assert_eq!(pair.commands.len(), 512);
    let window = |pair: &Pair| pair.initiator.max_cmd_sn().wrapping_sub(pair.initiator.cmd_sn()).wrapping_add(1);
    assert_eq!(window(&pair), 0);
    let mut answered = 0;
    while answered < 1000 {
        let commands = std::mem::take(&mut pair.commands);
        assert!(!commands.is_empty());
        answered += commands.len();
        for command in commands {
            assert!(pair.answer(&command));
        }
        pair.drive();
    }
    assert_eq!(pair.events.len(), 1000);
    assert_eq!(window(&pair), 128);

    let mut pair = Pair::logged_in();
    pair.serve = false;
    for sent in 0..128 {
        pair.command(&read10(0, 1), TransferRequest::In(512));
        pair.drive();
        pair.initiator.nop_out(Bytes::new());
        pair.drive();
        assert!(window(&pair) >= 128, "after {sent}");
    }
}

#[test]
fn numbers_wrap() {
    let mut pair = Pair::logged_in();
    pair.serve = true;
    // Simulates 2^32 commands by a login with a high CmdSN.
    let mut raw = super::login::Raw::new(super::pair::TestDirectory::default());
    let names = format!("InitiatorName={INITIATOR} TargetName={TARGET} ");
    raw.login_with(0x87, &names, |header| header.cmd_sn = 0xFFFF_FFFE.into());
    for (index, cmd_sn) in [0xFFFF_FFFE_u32, 0xFFFF_FFFF, 0, 1].into_iter().enumerate() {
        let mut header = NopOut::from_wire(&pdu::blank(Opcode::NOP_OUT.0, pdu::FINAL, index as u32));
        header.cmd_sn = cmd_sn.into();
        header.target_transfer_tag = RESERVED_TAG.into();
        let answers = raw.send(header.to_wire(), b"");
        let answer = NopIn::from_wire(&answers[0].header);
        assert_eq!(answer.exp_cmd_sn.get(), cmd_sn.wrapping_add(1));
        assert_eq!(answer.max_cmd_sn.get(), cmd_sn.wrapping_add(128));
    }
}

#[test]
fn immediate_commands_pass_and_are_limited() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    let cmd_sn = pair.initiator.cmd_sn();
    for tag in 200..233 {
        send(&mut pair, tag, cmd_sn, pdu::IMMEDIATE);
    }
    pair.drive();
    assert_eq!(pair.commands.len(), 32);
    assert!(pair.commands.iter().all(|command| command.immediate));
    assert!(matches!(
        pair.events.as_slice(),
        [Event::Rejected { reason: RejectReason::IMMEDIATE_COMMAND_REJECT, header }]
            if header[16..20] == 232_u32.to_be_bytes()
    ));
    let commands = std::mem::take(&mut pair.commands);
    commands.iter().for_each(|command| assert!(pair.answer(command)));
    send(&mut pair, 300, cmd_sn, pdu::IMMEDIATE);
    pair.drive();
    assert_eq!(pair.commands.len(), 1);
}

#[test]
fn a_tag_in_use_is_rejected() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    for _ in 0..2 {
        let cmd_sn = pair.initiator.take_cmd_sn();
        send(&mut pair, 90, cmd_sn, 0);
    }
    pair.drive();
    assert!(matches!(pair.events.as_slice(), [Event::Rejected { reason: RejectReason::TASK_IN_PROGRESS, .. }]));
    assert_eq!(pair.commands.len(), 1);
    pair.serve = true;
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0, "the CmdSN of the rejected command was used up");
}

/// An ORDERED command does not overtake a write whose data is still arriving, and no command
/// overtakes the ORDERED one.
#[test]
fn ordered_commands_keep_their_place() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.initial_r2t = true;
    config.immediate_data = false;
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    pair.serve = false;
    pair.command(&write10(0, 1), TransferRequest::Out(pattern(512)));
    for (cdb, attribute) in [
        (read10(1, 1), TaskAttribute::SIMPLE),
        (read10(2, 1), TaskAttribute::ORDERED),
        (read10(3, 1), TaskAttribute::SIMPLE),
        (read10(4, 1), TaskAttribute::HEAD_OF_QUEUE),
        (read10(5, 1), TaskAttribute::ORDERED),
        (read10(6, 1), TaskAttribute::SIMPLE),
    ] {
        let mut request = request(&cdb, TransferRequest::In(512));
        request.attribute = attribute;
        pair.initiator.command(request);
    }
    pair.drive();
    let order: Vec<u8> = pair.commands.iter().map(|command| command.cdb[5]).collect();
    assert_eq!(order, [1, 0, 2, 3, 4, 5, 6]);
}

#[test]
fn unknown_and_unsupported_pdus_are_rejected() {
    let mut pair = Pair::logged_in();
    let exp_cmd_sn = pair.initiator.cmd_sn();
    for (opcode, reason) in [
        (Opcode::SNACK_REQUEST.0, RejectReason::SNACK_REJECT),
        (0x1C, RejectReason::COMMAND_NOT_SUPPORTED),
        (0x0F, RejectReason::COMMAND_NOT_SUPPORTED),
        (Opcode::SCSI_RESPONSE.0, RejectReason::COMMAND_NOT_SUPPORTED),
    ] {
        let header = pdu::blank(opcode, pdu::FINAL, 33);
        pair.initiator.send_pdu(header, Bytes::new());
        pair.drive();
        assert_eq!(pair.events.pop(), Some(Event::Rejected { reason, header }), "{opcode:#x}");
    }
    assert_eq!(pair.initiator.cmd_sn(), exp_cmd_sn);
    assert_eq!(pair.target.counters().rejects, 4);
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0);
}

/// Input of an initiator that sends pings and does not read the answers is held back until it
/// reads.
#[test]
fn answers_that_nobody_reads_hold_back_input() {
    let mut pair = Pair::logged_in();
    let cmd_sn = pair.initiator.cmd_sn();
    let mut input = bytes::BytesMut::new();
    for tag in 0..200 {
        let mut header = NopOut::from_wire(&pdu::blank(Opcode::NOP_OUT.0 | pdu::IMMEDIATE, pdu::FINAL, tag));
        header.target_transfer_tag = RESERVED_TAG.into();
        header.cmd_sn = cmd_sn.into();
        pair.initiator.send_pdu(header.to_wire(), Bytes::from(vec![7; 65_536]));
    }
    while let Some(chunk) = pair.initiator.poll_output() {
        input.extend_from_slice(&chunk);
    }
    let most = connection::Config::default().max_output_bytes + 65_536 + 48;
    let mut rounds = 0;
    while !input.is_empty() {
        pair.target.handle_input(pair.now, &mut input, &pair.directory);
        assert!(pair.target.output_bytes() <= most, "{}", pair.target.output_bytes());
        assert_eq!(pair.target.is_input_held_back(), pair.target.output_bytes() >= most - 65_536 - 48);
        while pair.target.poll_output().is_some() {}
        rounds += 1;
    }
    assert!(rounds > 10, "{rounds}");
    assert!(!pair.target.is_input_held_back());
}

/// Pings that arrive before their turn are held, up to a limit.
#[test]
fn data_ahead_of_its_turn_is_bounded() {
    let mut pair = Pair::logged_in();
    let first = pair.initiator.cmd_sn();
    for offset in 1..=17 {
        assert_eq!(pair.closed, None, "{offset}");
        let mut header = NopOut::from_wire(&pdu::blank(Opcode::NOP_OUT.0, pdu::FINAL, offset));
        header.target_transfer_tag = RESERVED_TAG.into();
        header.cmd_sn = (first + offset).into();
        pair.initiator.send_pdu(header.to_wire(), Bytes::from(vec![7; 65_536]));
        pair.drive();
    }
    assert!(matches!(pair.closed, Some(connection::CloseReason::ProtocolError(_))));
}
