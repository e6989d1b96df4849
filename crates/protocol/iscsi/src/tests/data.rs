//! Data transfer: immediate, unsolicited and solicited Data-Out, Data-In pieces, residuals, digests, memory limits.

use bytes::Bytes;

use super::pair::{INITIATOR, LUN, Pair, TARGET, TestDirectory, pattern, read10, write10};
use crate::connection::{self, CloseReason};
use crate::framing::Pdu;
use crate::initiator::{Config, Event, TransferRequest};
use crate::pdu::{
    self, DataIn, DataOut, Opcode, R2t, RESERVED_TAG, RawHeader, RejectReason, ScsiCommand, ScsiResponse,
    TaskManagementFunction,
};

fn r2ts(pair: &Pair) -> Vec<(u32, u32)> {
    let is_r2t = |pdu: &&Pdu| pdu.header[0] == Opcode::R2T.0;
    let fields = |pdu: &Pdu| {
        let header = R2t::from_wire(&pdu.header);
        (header.buffer_offset.get(), header.desired_data_transfer_length.get())
    };
    pair.sent.iter().filter(is_r2t).map(fields).collect()
}

/// Writes and reads back under every combination of the keys that shape transfers, at several
/// sizes, also one byte at a time.
#[test]
fn every_negotiated_shape_carries_data() {
    for initial_r2t in [false, true] {
        for immediate_data in [false, true] {
            for (first_burst, max_burst) in [(512, 512), (1024, 4096), (65_536, 262_144)] {
                for digest in ["None", "CRC32C"] {
                    let mut config = Config::new(INITIATOR, TARGET);
                    config.initial_r2t = initial_r2t;
                    config.immediate_data = immediate_data;
                    config.first_burst_length = first_burst;
                    config.max_burst_length = max_burst;
                    config.max_outstanding_r2t = 4;
                    config.max_recv_data_segment_length = 1536;
                    config.header_digest = digest.into();
                    config.data_digest = digest.into();
                    let mut target = connection::Config::default();
                    target.limits.max_recv_data_segment_length = 1024;
                    let mut pair = Pair::logged_in_with(config, target);
                    for (blocks, step) in [(1, 1), (2, 13), (3, 1), (16, 997), (200, usize::MAX)] {
                        pair.step = step;
                        let data = pattern(usize::from(blocks) * 512);
                        let written = pair.run(&write10(5, blocks), TransferRequest::Out(data.clone()));
                        assert_eq!((written.status, written.residual), (0, 0));
                        let read = pair.run(&read10(5, blocks), TransferRequest::In(u32::from(blocks) * 512));
                        assert_eq!((read.status, read.residual), (0, 0));
                        assert_eq!(read.data_in, data);
                    }
                    assert_eq!(pair.closed, None);
                }
            }
        }
    }
}

/// Conformance check 167: 34 blocks as 8 KiB immediate and 9216 bytes unsolicited.
#[test]
fn immediate_and_unsolicited_without_r2t() {
    let mut target = connection::Config::default();
    target.limits.max_recv_data_segment_length = 8192;
    let mut pair = Pair::logged_in_with(Config::new(INITIATOR, TARGET), target);
    let data = pattern(34 * 512);
    let done = pair.run(&write10(0, 34), TransferRequest::Out(data.clone()));
    assert_eq!((done.status, done.residual), (0, 0));
    assert_eq!(pair.sent_opcodes(), [Opcode::SCSI_RESPONSE]);
    assert_eq!(pair.sent[0].header[1], pdu::FINAL);
    assert_eq!(pair.medium[..34 * 512], data);
}

/// Conformance check 168: data beyond FirstBurstLength is solicited in pieces of at most
/// MaxBurstLength.
#[test]
fn beyond_first_burst_r2ts_ask_for_the_rest() {
    let mut pair = Pair::logged_in();
    let data = pattern(700 * 1024);
    let done = pair.run(&write10(0, 1400), TransferRequest::Out(data.clone()));
    assert_eq!((done.status, done.residual), (0, 0));
    assert_eq!(r2ts(&pair), [(262_144, 262_144), (524_288, 192_512)]);
    assert_eq!(pair.medium[..data.len()], data);
}

#[test]
fn outstanding_r2ts_are_bounded() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.initial_r2t = true;
    config.immediate_data = false;
    config.max_burst_length = 4096;
    config.first_burst_length = 4096;
    config.max_outstanding_r2t = 3;
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    let mut input = bytes::BytesMut::new();
    pair.command(&write10(0, 64), TransferRequest::Out(pattern(64 * 512)));
    while let Some(chunk) = pair.initiator.poll_output() {
        input.extend_from_slice(&chunk);
    }
    pair.target.handle_input(pair.now, &mut input, &pair.directory);
    let mut r2t_bytes = 0;
    while let Some(chunk) = pair.target.poll_output() {
        r2t_bytes += chunk.len();
    }
    assert_eq!(r2t_bytes, 3 * 48);
}

/// One 4 KiB WRITE: its data is a view of the receive buffer.
#[test]
fn immediate_data_is_not_copied() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    let data = pattern(4096);
    pair.command(&write10(0, 8), TransferRequest::Out(data.clone()));
    let mut input = bytes::BytesMut::new();
    while let Some(chunk) = pair.initiator.poll_output() {
        input.extend_from_slice(&chunk);
    }
    let range = input.as_ptr_range();
    pair.target.handle_input(pair.now, &mut input, &pair.directory);
    let Some(connection::Event::Command(command)) = pair.target.poll_event() else { panic!() };
    assert_eq!(command.data_out, data);
    assert!(range.contains(&command.data_out.as_ptr()));
}

/// Conformance check 170, limited by MaxRecvDataSegmentLength and MaxBurstLength.
#[test]
fn data_in_is_cut_to_the_initiators_limits() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.max_recv_data_segment_length = 131_072;
    config.max_burst_length = 196_608;
    config.first_burst_length = 65_536;
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    pair.medium.copy_from_slice(&pattern(super::pair::MEDIUM_BYTES));
    let done = pair.run(&read10(0, 768), TransferRequest::In(393_216));
    assert_eq!(done.data_in, pattern(393_216));
    let headers: Vec<DataIn> = pair.sent.iter().map(|pdu| DataIn::from_wire(&pdu.header)).collect();
    let shape: Vec<(u8, u32, u32)> =
        headers.iter().map(|h| (h.flags, h.buffer_offset.get(), h.data_segment_length.get())).collect();
    assert_eq!(
        shape,
        [
            (0, 0, 131_072),
            (pdu::FINAL, 131_072, 65_536),
            (0, 196_608, 131_072),
            (pdu::FINAL | pdu::STATUS, 327_680, 65_536)
        ]
    );
}

/// Residuals for reads and writes, conformance checks 171 and 172 and the tables of libiscsi's residual tests.
#[test]
fn residuals_are_exact() {
    let mut pair = Pair::logged_in();
    pair.medium.fill(0xA5);
    let cases: &[(u32, u16, i64)] =
        &[(512, 1, 0), (0, 1, -512), (10_000, 1, 10_000 - 512), (200, 1, 200 - 512), (512, 2, -512), (1024, 0, 1024)];
    for &(expected, blocks, residual) in cases {
        let read = pair.run(&read10(0, blocks), TransferRequest::In(expected));
        assert_eq!((read.status, read.residual), (0, residual), "READ of {blocks} blocks, {expected} bytes expected");
        assert_eq!(read.data_in.len() as u32, expected.min(u32::from(blocks) * 512));

        let data = Bytes::from(vec![0x5A; expected as usize]);
        let write = pair.run(&write10(100, blocks), TransferRequest::Out(data));
        assert_eq!(
            (write.status, write.residual),
            (0, residual),
            "WRITE of {blocks} blocks, {expected} bytes expected"
        );
    }
    // Data in a direction that the command does not have counts as not transferred.
    let read = pair.run(&read10(0, 1), TransferRequest::Out(Bytes::from(vec![0; 512])));
    assert_eq!((read.status, read.residual), (0, 512));
    // Never more is written than the CDB says, nor than the initiator sent.
    assert!(pair.medium[100 * 512..101 * 512].iter().all(|byte| *byte == 0x5A));
    assert!(pair.medium[101 * 512..102 * 512].iter().all(|byte| *byte == 0xA5));

    let inquiry = pair.run(&[0x12, 0, 0, 0, 255, 0], TransferRequest::In(255));
    assert_eq!((inquiry.status, inquiry.residual, inquiry.data_in.len()), (0, 219, 36));
    // TEST UNIT READY with a data direction.
    assert_eq!(pair.run(&[0; 6], TransferRequest::In(64)).residual, 64);
    let unknown = pair.run(&[0xC1], TransferRequest::In(64));
    assert_eq!((unknown.status, unknown.residual), (2, 64));
    assert_eq!((unknown.sense[2], unknown.sense[12]), (5, 0x20));
    // READ flagged as a write, like libiscsi's Read10Invalid.
    let odd = pair.run(&read10(0, 1), TransferRequest::Out(pattern(512)));
    assert_eq!((odd.status, odd.data_in.len()), (0, 0));
}

/// A write of more than one burst of which the device server wants little: all unsolicited data is
/// received, the rest never solicited.
#[test]
fn surplus_data_is_dropped() {
    let mut pair = Pair::logged_in();
    let done = pair.run(&write10(0, 1), TransferRequest::Out(pattern(600_000)));
    assert_eq!((done.status, done.residual), (0, 600_000 - 512));
    assert_eq!(r2ts(&pair), []);
    assert_eq!(pair.medium[..512], pattern(512));
}

fn data_out_header(tag: u32, transfer_tag: u32, data_sn: u32, offset: u32, last: bool) -> RawHeader {
    let flags = if last { pdu::FINAL } else { 0 };
    let mut header = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, flags, tag));
    header.target_transfer_tag = transfer_tag.into();
    header.data_sn = data_sn.into();
    header.buffer_offset = offset.into();
    header.to_wire()
}

/// Sends a WRITE of two blocks that announces unsolicited data.
fn announce_write(pair: &mut Pair, tag: u32, expected: u32) {
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::WRITE, tag));
    header.cmd_sn = pair.initiator.take_cmd_sn().into();
    header.cdb[..10].copy_from_slice(&write10(100, 2));
    header.expected_data_transfer_length = expected.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
}

/// DataSN, Buffer Offset, final, bytes.
type Piece = (u32, u32, bool, usize);

fn send_pieces(pair: &mut Pair, tag: u32, transfer_tag: u32, pieces: &[Piece]) {
    for &(data_sn, offset, last, length) in pieces {
        pair.initiator.send_pdu(data_out_header(tag, transfer_tag, data_sn, offset, last), pattern(length));
    }
    pair.drive();
}

/// Status of each SCSI Response sent, with the residual, sense key and additional sense code.
fn scsi_responses(pair: &Pair) -> Vec<(u8, u32, [u8; 3])> {
    let responses = pair.sent.iter().filter(|pdu| pdu.header[0] == Opcode::SCSI_RESPONSE.0);
    let facts = responses.map(|pdu| {
        let header = ScsiResponse::from_wire(&pdu.header);
        let sense = pdu.data.get(2..20).map_or([0; 3], |sense| [sense[2], sense[12], sense[13]]);
        (header.status, header.residual_count.get(), sense)
    });
    facts.collect()
}

/// Conformance check 169 and libiscsi's iSCSIdatasn, which reconnects with other keys if the
/// connection is closed, and then no longer sends Data-Out: a sequence out of order ends its task,
/// stores nothing, and leaves the connection open.
#[test]
fn data_out_of_order_ends_the_task() {
    let cases: &[&[Piece]] = &[
        &[(0, 0, false, 512), (0, 512, true, 512)],
        &[(27, 0, true, 1024)],
        &[(0xFFFF_FFFF, 0, true, 1024)],
        &[(1, 0, false, 512), (0, 512, true, 512)],
        &[(0, 0, false, 512), (1, 0, true, 512)],
        &[(0, 512, true, 512)],
    ];
    for case in cases {
        let mut pair = Pair::logged_in();
        announce_write(&mut pair, 50, 1024);
        send_pieces(&mut pair, 50, RESERVED_TAG, case);
        assert_eq!(scsi_responses(&pair), [(2, 1024, [0x0B, 0x47, 0x05])], "{case:?}");
        assert_eq!(pair.target.counters().data_out_sequence_errors, 1);
        assert!(pair.medium.iter().all(|byte| *byte == 0));
        // The tag is free for a new task.
        pair.sent.clear();
        announce_write(&mut pair, 50, 1024);
        send_pieces(&mut pair, 50, RESERVED_TAG, &[(0, 0, false, 512), (1, 512, true, 512)]);
        assert_eq!(scsi_responses(&pair), [(0, 0, [0; 3])], "{case:?}");
        assert_eq!(pair.closed, None);
    }
}

/// The response waits for the end of the data in flight (RFC 7143 §7.8), and no R2T requests more.
#[test]
fn a_task_that_lost_data_ends_after_its_last_data() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.max_burst_length = 1024;
    config.first_burst_length = 512;
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::WRITE | pdu::FINAL, 51));
    header.cmd_sn = pair.initiator.take_cmd_sn().into();
    header.cdb[..10].copy_from_slice(&write10(100, 8));
    header.expected_data_transfer_length = 4096.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
    pair.drive();
    assert_eq!(r2ts(&pair), [(0, 1024)]);
    let transfer_tag = R2t::from_wire(&pair.sent[0].header).target_transfer_tag.get();
    send_pieces(&mut pair, 51, transfer_tag, &[(1, 0, false, 512)]);
    assert_eq!(scsi_responses(&pair), []);
    send_pieces(&mut pair, 51, transfer_tag, &[(2, 512, true, 512)]);
    assert_eq!(scsi_responses(&pair), [(2, 4096, [0x0B, 0x47, 0x05])]);
    assert_eq!(r2ts(&pair).len(), 1);
    assert_eq!(pair.closed, None);
    assert_eq!(pair.run(&write10(0, 8), TransferRequest::Out(pattern(4096))).status, 0);
}

#[test]
fn a_task_that_lost_data_can_be_aborted() {
    let mut pair = Pair::logged_in();
    announce_write(&mut pair, 50, 1024);
    send_pieces(&mut pair, 50, RESERVED_TAG, &[(7, 0, false, 512)]);
    pair.initiator.task_management(TaskManagementFunction::LOGICAL_UNIT_RESET, LUN, None);
    pair.drive();
    send_pieces(&mut pair, 50, RESERVED_TAG, &[(8, 512, true, 512)]);
    assert_eq!(scsi_responses(&pair), []);
    assert_eq!(pair.sent_opcodes(), [Opcode::TASK_MANAGEMENT_RESPONSE]);
    assert_eq!(pair.closed, None);
}

/// Data-Out that was neither solicited nor announced requires session recovery.
#[test]
fn data_out_beyond_the_transfer_ends_the_connection() {
    let cases: &[&[Piece]] =
        &[&[(0, 0, false, 1024), (1, 1024, true, 512)], &[(0, 1024, true, 512)], &[(0, 0xFFFF_FF00, true, 512)]];
    for case in cases {
        let mut pair = Pair::logged_in();
        announce_write(&mut pair, 50, 1024);
        send_pieces(&mut pair, 50, RESERVED_TAG, case);
        assert!(matches!(pair.closed, Some(CloseReason::ProtocolError(_))), "{case:?}: {:?}", pair.closed);
        let rejected = |event: &Event| matches!(event, Event::Rejected { reason: RejectReason::PROTOCOL_ERROR, .. });
        assert!(pair.events.iter().any(rejected), "{case:?}");
        assert!(pair.medium.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn data_out_with_a_wrong_transfer_tag_ends_the_connection() {
    let mut pair = Pair::logged_in();
    announce_write(&mut pair, 50, 1024);
    pair.initiator.send_pdu(data_out_header(50, 0x1234, 0, 0, true), pattern(1024));
    pair.drive();
    assert!(matches!(pair.closed, Some(CloseReason::ProtocolError(_))));
}

#[test]
fn data_out_for_no_task_is_rejected() {
    let mut pair = Pair::logged_in();
    pair.initiator.send_pdu(data_out_header(99, RESERVED_TAG, 0, 0, true), pattern(512));
    pair.drive();
    assert!(matches!(pair.events.as_slice(), [Event::Rejected { reason: RejectReason::PROTOCOL_ERROR, .. }]));
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0);
}

#[test]
fn commands_that_break_the_rules_of_data_are_rejected() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.immediate_data = false;
    config.initial_r2t = true;
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    // Immediate data although ImmediateData=No.
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::FINAL | pdu::WRITE, 60));
    header.cmd_sn = pair.initiator.take_cmd_sn().into();
    header.cdb[..10].copy_from_slice(&write10(0, 1));
    header.expected_data_transfer_length = 512.into();
    pair.initiator.send_pdu(header.to_wire(), pattern(512));
    // Unsolicited data announced although InitialR2T=Yes; the data that follows is dropped
    // silently.
    announce_write(&mut pair, 61, 1024);
    pair.initiator.send_pdu(data_out_header(61, RESERVED_TAG, 0, 0, true), pattern(1024));
    pair.drive();
    assert_eq!(pair.events.len(), 2);
    assert!(pair.events.iter().all(|event| matches!(event, Event::Rejected { .. })));
    pair.events.clear();
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0);
}

/// With a budget of 1 MiB, sixteen writes of 512 KiB wait for each other and all finish.
#[test]
fn memory_for_data_out_is_bounded() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.initial_r2t = true;
    config.immediate_data = false;
    let target = connection::Config { max_data_out_bytes: 1 << 20, ..connection::Config::default() };
    let mut pair = Pair::logged_in_with(config, target);
    pair.serve = false;
    let data = pattern(512 * 1024);
    let tags: Vec<u32> = (0..16).map(|_| pair.command(&write10(0, 1024), TransferRequest::Out(data.clone()))).collect();
    for _ in 0..8 {
        pair.drive();
        let commands = std::mem::take(&mut pair.commands);
        assert_eq!(commands.len(), 2, "two fit into the budget");
        for command in commands {
            assert_eq!(command.data_out, data);
            assert!(pair.answer(&command));
        }
    }
    pair.drive();
    assert!(tags.iter().all(|tag| pair.completion(*tag).is_some_and(|done| done.status == 0)));
}

/// Unsolicited data is accepted above the budget, but the tasks then finish one after the other.
#[test]
fn partly_sent_writes_above_the_budget_finish() {
    let target = connection::Config { max_data_out_bytes: 600 * 1024, ..connection::Config::default() };
    let mut pair = Pair::logged_in_with(Config::new(INITIATOR, TARGET), target);
    let data = pattern(512 * 1024);
    let tags: Vec<u32> = (0..16).map(|_| pair.command(&write10(0, 1024), TransferRequest::Out(data.clone()))).collect();
    pair.drive();
    assert!(tags.iter().all(|tag| pair.completion(*tag).is_some_and(|done| done.status == 0)));
    assert_eq!(pair.medium[..data.len()], data);
}

/// Commands wait while too much Data-In is queued, and continue when it has been sent.
#[test]
fn memory_for_data_in_is_bounded() {
    let target = connection::Config { max_data_in_bytes: 1 << 20, ..connection::Config::default() };
    let mut pair = Pair::logged_in_with(Config::new(INITIATOR, TARGET), target);
    pair.serve = false;
    let tags: Vec<u32> = (0..16).map(|_| pair.command(&read10(0, 1024), TransferRequest::In(524_288))).collect();
    let mut answered = 0;
    while answered < tags.len() {
        pair.drive();
        let commands = std::mem::take(&mut pair.commands);
        assert!((1..=2).contains(&commands.len()), "{}", commands.len());
        answered += commands.len();
        for command in commands {
            assert!(pair.answer(&command));
        }
    }
    pair.drive();
    assert!(tags.iter().all(|tag| pair.completion(*tag).is_some()));
}

#[test]
fn a_corrupt_header_ends_the_connection() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.header_digest = "CRC32C".into();
    config.data_digest = "CRC32C".into();
    for at in [0, 16, 40, 49] {
        let mut pair = Pair::logged_in_with(config.clone(), connection::Config::default());
        pair.command(&write10(0, 1), TransferRequest::Out(pattern(512)));
        while let Some(chunk) = pair.initiator.poll_output() {
            pair.to_target.extend_from_slice(&chunk);
        }
        pair.to_target[at] ^= 1;
        pair.drive();
        assert_eq!(pair.closed, Some(CloseReason::DigestError));
        assert!(pair.events.is_empty());
    }
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    pair.command(&write10(0, 1), TransferRequest::Out(pattern(512)));
    while let Some(chunk) = pair.initiator.poll_output() {
        pair.to_target.extend_from_slice(&chunk);
    }
    pair.to_target[100] ^= 1;
    pair.drive();
    assert_eq!(pair.closed, Some(CloseReason::DigestError));
    assert!(matches!(pair.events.as_slice(), [Event::Rejected { reason: RejectReason::DATA_DIGEST_ERROR, .. }]));
    assert!(pair.medium.iter().all(|byte| *byte == 0));
}

/// A bidirectional command gets the data that it expects to send, and a response for both
/// directions.
#[test]
fn bidirectional_commands_are_answered() {
    let mut pair = Pair::with(Config::new(INITIATOR, TARGET), connection::Config::default(), TestDirectory::default());
    pair.drive();
    let flags = pdu::FINAL | pdu::READ | pdu::WRITE;
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, flags, 70));
    header.cmd_sn = pair.initiator.take_cmd_sn().into();
    header.lun = LUN;
    header.cdb[..10].copy_from_slice(&write10(0, 1));
    header.expected_data_transfer_length = 512.into();
    let mut raw = header.to_wire().to_vec();
    raw[4] = 2;
    raw[6] = 2;
    raw.extend_from_slice(&[0, 5, 2, 0, 0, 0, 1, 0]);
    raw.extend_from_slice(&pattern(512));
    pair.initiator.send_raw(raw.into());
    pair.sent.clear();
    pair.drive();
    let response = pdu::ScsiResponse::from_wire(&pair.sent[0].header);
    assert_eq!(response.flags, pdu::FINAL | pdu::BIDIRECTIONAL_UNDERFLOW);
    assert_eq!(response.bidirectional_residual_count.get(), 256);
}
