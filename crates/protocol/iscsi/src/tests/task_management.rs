//! Task management (K.5 checks 143 to 147): no response for an aborted task, and none after the
//! function's own.

use bytes::Bytes;

use super::pair::{INITIATOR, LUN, Pair, TARGET, pattern, read10, request, write10};
use crate::connection::{self, MissingTaskResponse};
use crate::initiator::{Config, Event, TransferRequest};
use crate::pdu::{
    self, DataOut, Opcode, RESERVED_TAG, ScsiCommand, TaskManagementFunction as Function, TaskManagementRequest,
    TaskManagementResponse as Answer,
};

fn answers(pair: &mut Pair) -> Vec<Answer> {
    pair.drive();
    let answer = |event: &Event| match event {
        Event::TaskManagement { response, .. } => Some(*response),
        _ => None,
    };
    pair.events.iter().filter_map(answer).collect()
}

#[test]
fn an_aborted_task_gets_no_response() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    let tag = pair.command(&write10(0, 8), TransferRequest::Out(pattern(4096)));
    pair.drive();
    pair.initiator.task_management(Function::ABORT_TASK, LUN, Some(tag));
    assert_eq!(answers(&mut pair), []);
    let command = pair.commands.pop().unwrap();
    let function = pair.functions.pop().unwrap();
    assert_eq!(function.function, Function::ABORT_TASK);
    assert_eq!(function.tasks, [command.task]);
    assert!(pair.target.outstanding_tasks().is_empty());
    assert!(!pair.answer(&command), "the device server finished it all the same");
    pair.target.respond_task_management(function.handle, Answer::COMPLETE);
    assert_eq!(answers(&mut pair), [Answer::COMPLETE]);
    assert_eq!(pair.sent_opcodes(), [Opcode::TASK_MANAGEMENT_RESPONSE]);
    // The tag may be reused at once.
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::FINAL | 1, tag));
    header.cmd_sn = pair.initiator.take_cmd_sn().into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
    pair.drive();
    assert_eq!(pair.commands.len(), 1);
}

/// ABORT TASK of a write that waits for its data: the device server never gets it, and the data is
/// dropped silently.
#[test]
fn a_task_without_its_data_is_dropped() {
    let mut pair = Pair::logged_in();
    let tag = 80;
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::WRITE, tag));
    header.cmd_sn = pair.initiator.take_cmd_sn().into();
    header.cdb[..10].copy_from_slice(&write10(0, 2));
    header.expected_data_transfer_length = 1024.into();
    pair.initiator.send_pdu(header.to_wire(), pattern(512));
    pair.initiator.task_management(Function::ABORT_TASK, LUN, Some(tag));
    assert_eq!(answers(&mut pair), [Answer::COMPLETE]);
    assert!(pair.functions[0].tasks.is_empty());
    let mut late = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, pdu::FINAL, tag));
    late.target_transfer_tag = RESERVED_TAG.into();
    late.buffer_offset = 512.into();
    pair.initiator.send_pdu(late.to_wire(), pattern(512));
    pair.drive();
    assert_eq!(pair.sent_opcodes(), [Opcode::TASK_MANAGEMENT_RESPONSE]);
    assert!(pair.closed.is_none() && pair.medium.iter().all(|byte| *byte == 0));
}

/// K.5 checks 144 and 145.
#[test]
fn a_finished_task() {
    let vmware = "iqn.1998-01.com.vmware:esx01-4f";
    for (initiator, setting, expected) in [
        (INITIATOR, MissingTaskResponse::ByInitiatorName, Answer::TASK_DOES_NOT_EXIST),
        (vmware, MissingTaskResponse::ByInitiatorName, Answer::COMPLETE),
        (vmware, MissingTaskResponse::TaskDoesNotExist, Answer::TASK_DOES_NOT_EXIST),
        (INITIATOR, MissingTaskResponse::FunctionComplete, Answer::COMPLETE),
    ] {
        let config = connection::Config { missing_task_response: setting, ..connection::Config::default() };
        let mut pair = Pair::logged_in_with(Config::new(initiator, TARGET), config);
        let tag = pair.command(&[0; 6], TransferRequest::None);
        pair.drive();
        assert!(pair.completion(tag).is_some());
        pair.initiator.task_management(Function::ABORT_TASK, LUN, Some(tag));
        assert_eq!(answers(&mut pair), [expected]);
    }
}

/// RFC 7143 §11.6.1: a command is aborted before it arrives.
#[test]
fn a_task_yet_to_come() {
    let mut pair = Pair::logged_in();
    let missing = pair.initiator.take_cmd_sn();
    let to_abort = pair.initiator.take_cmd_sn();
    let opcode = Opcode::TASK_MANAGEMENT_REQUEST.0 | pdu::IMMEDIATE;
    let mut header = TaskManagementRequest::from_wire(&pdu::blank(opcode, pdu::FINAL | Function::ABORT_TASK.0, 90));
    header.referenced_task_tag = 55.into();
    header.ref_cmd_sn = to_abort.into();
    header.cmd_sn = pair.initiator.cmd_sn().into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
    assert_eq!(answers(&mut pair), [Answer::COMPLETE]);
    for (tag, cmd_sn) in [(55, to_abort), (54, missing)] {
        let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::FINAL | 1, tag));
        header.cmd_sn = cmd_sn.into();
        pair.initiator.send_pdu(header.to_wire(), Bytes::new());
    }
    pair.drive();
    assert_eq!(pair.sent_opcodes(), [Opcode::TASK_MANAGEMENT_RESPONSE, Opcode::SCSI_RESPONSE]);
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0);
}

fn abort_task(pair: &mut Pair, tag: u32, ref_cmd_sn: u32, cmd_sn: u32) {
    let opcode = Opcode::TASK_MANAGEMENT_REQUEST.0 | pdu::IMMEDIATE;
    let mut header = TaskManagementRequest::from_wire(&pdu::blank(opcode, pdu::FINAL | Function::ABORT_TASK.0, 90));
    header.referenced_task_tag = tag.into();
    header.ref_cmd_sn = ref_cmd_sn.into();
    header.cmd_sn = cmd_sn.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
}

/// RFC 7143 §11.6.1 also applies to the command that all later ones wait for; otherwise the session
/// would wait permanently.
#[test]
fn the_next_task_that_never_comes() {
    let mut pair = Pair::logged_in();
    let missing = pair.initiator.take_cmd_sn();
    let later = pair.initiator.take_cmd_sn();
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::FINAL | 1, 54));
    header.cmd_sn = later.into();
    pair.initiator.send_pdu(header.to_wire(), Bytes::new());
    abort_task(&mut pair, 55, missing, later.wrapping_add(1));
    assert_eq!(answers(&mut pair), [Answer::COMPLETE]);
    assert_eq!(pair.sent_opcodes(), [Opcode::TASK_MANAGEMENT_RESPONSE, Opcode::SCSI_RESPONSE]);
    assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0);
}

/// A CmdSN that is not before that of the function is unused: a later command with it must not be
/// dropped.
#[test]
fn a_task_that_was_not_sent_does_not_exist() {
    let mut pair = Pair::logged_in();
    let next = pair.initiator.cmd_sn();
    for ahead in [0, 5] {
        abort_task(&mut pair, 55, next.wrapping_add(ahead), next);
    }
    assert_eq!(answers(&mut pair), [Answer::TASK_DOES_NOT_EXIST; 2]);
    for _ in 0..8 {
        assert_eq!(pair.run(&[0; 6], TransferRequest::None).status, 0);
    }
}

/// Reset by another session: tasks that wait for their data end as well, and the rest of their data
/// is dropped.
#[test]
fn a_write_that_waits_for_its_data_is_discarded() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    let mut write = |tag: u32, flags: u8| {
        let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, flags, tag));
        header.cmd_sn = pair.initiator.take_cmd_sn().into();
        header.cdb[..10].copy_from_slice(&write10(0, 2));
        header.expected_data_transfer_length = 1024.into();
        pair.initiator.send_pdu(header.to_wire(), pattern(512));
    };
    // The second command is ORDERED, and the third, which is complete, waits for it.
    write(80, pdu::WRITE | 1);
    write(81, pdu::WRITE | 2);
    let whole = pair.command(&write10(0, 2), TransferRequest::Out(pattern(1024)));
    pair.drive();
    assert!(pair.commands.is_empty());
    assert!(!pair.target.discard_receiving(|unit| unit != Pair::LOGICAL_UNIT));
    assert!(pair.target.discard_receiving(|unit| unit == Pair::LOGICAL_UNIT));
    for tag in [80, 81] {
        let mut late = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, pdu::FINAL, tag));
        late.target_transfer_tag = RESERVED_TAG.into();
        late.buffer_offset = 512.into();
        pair.initiator.send_pdu(late.to_wire(), pattern(512));
    }
    pair.drive();
    assert!(pair.commands.is_empty() && pair.completion(whole).is_none() && pair.closed.is_none());
    pair.serve = true;
    assert_eq!(pair.run(&write10(0, 2), TransferRequest::Out(pattern(1024))).status, 0);
}

/// The end of an ORDERED command that waits for its data must not deliver the next aborted one to
/// the device server.
#[test]
fn a_task_set_with_an_ordered_task_ends_whole() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::WRITE | 2, 80));
    header.cmd_sn = pair.initiator.take_cmd_sn().into();
    header.cdb[..10].copy_from_slice(&write10(0, 2));
    header.expected_data_transfer_length = 1024.into();
    pair.initiator.send_pdu(header.to_wire(), pattern(512));
    pair.command(&write10(0, 2), TransferRequest::Out(pattern(1024)));
    pair.initiator.task_management(Function::ABORT_TASK_SET, LUN, None);
    pair.drive();
    let function = pair.functions.pop().unwrap();
    assert!(pair.commands.is_empty() && function.tasks.is_empty());
}

#[test]
fn resets_name_the_tasks_they_end() {
    for (function, of_other_lun) in [
        (Function::ABORT_TASK_SET, false),
        (Function::CLEAR_TASK_SET, false),
        (Function::LOGICAL_UNIT_RESET, false),
        (Function::TARGET_WARM_RESET, true),
        (Function::TARGET_COLD_RESET, true),
    ] {
        let mut pair = Pair::logged_in();
        pair.serve = false;
        for lun in [0, 1, 0] {
            let mut request = request(&read10(0, 1), TransferRequest::In(512));
            request.lun[1] = lun;
            pair.initiator.command(request);
        }
        pair.drive();
        pair.initiator.task_management(function, LUN, None);
        pair.drive();
        let tasks: Vec<_> = pair.commands.iter().map(|command| command.task).collect();
        let expected = if of_other_lun { tasks.clone() } else { vec![tasks[0], tasks[2]] };
        assert_eq!(pair.functions[0].tasks, expected, "{function:?}");
        assert_eq!(pair.functions[0].lun, LUN);
        // The function does not affect a command after it.
        pair.command(&read10(0, 1), TransferRequest::In(512));
        pair.drive();
        pair.target.respond_task_management(pair.functions[0].handle, Answer::COMPLETE);
        let survivors = pair.target.outstanding_tasks().len();
        assert_eq!(survivors, if of_other_lun { 1 } else { 2 }, "{function:?}");
        assert_eq!(answers(&mut pair), [Answer::COMPLETE]);
    }
}

/// K.5 checks 146 and 147.
#[test]
fn other_answers() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    pair.initiator.task_management(Function::LOGICAL_UNIT_RESET, [0, 9, 0, 0, 0, 0, 0, 0], None);
    pair.drive();
    pair.target.respond_task_management(pair.functions[0].handle, Answer::LUN_DOES_NOT_EXIST);
    pair.initiator.task_management(Function::TASK_REASSIGN, LUN, Some(1));
    pair.initiator.task_management(Function(42), LUN, None);
    assert_eq!(answers(&mut pair), [Answer::LUN_DOES_NOT_EXIST, Answer::REASSIGN_NOT_SUPPORTED, Answer::NOT_SUPPORTED]);
    pair.target.respond_task_management(pair.functions[0].handle, Answer::COMPLETE);
    assert_eq!(answers(&mut pair).len(), 3, "a function is answered once");
}

#[test]
fn tasks_of_another_connections_reset() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    pair.command(&read10(0, 1), TransferRequest::In(512));
    pair.drive();
    let command = pair.commands.pop().unwrap();
    assert!(pair.target.discard(command.task));
    assert!(!pair.target.discard(command.task));
    assert!(!pair.answer(&command));
    pair.drive();
    assert!(pair.sent.is_empty());
}

// RFC 7144: QUERY TASK, QUERY TASK SET, I_T NEXUS RESET, QUERY ASYNCHRONOUS EVENT.

fn with_query_functions() -> Pair {
    let mut config = Config::new(INITIATOR, TARGET);
    config.more_keys.push(("iSCSIProtocolLevel".into(), "2".into()));
    Pair::logged_in_with(config, connection::Config::default())
}

#[test]
fn query_functions_need_their_protocol_level() {
    let functions =
        [Function::QUERY_TASK, Function::QUERY_TASK_SET, Function::I_T_NEXUS_RESET, Function::QUERY_ASYNCHRONOUS_EVENT];
    let mut pair = Pair::logged_in();
    for function in functions {
        pair.initiator.task_management(function, LUN, Some(1));
    }
    assert_eq!(answers(&mut pair), [Answer::NOT_SUPPORTED; 4]);
    assert!(pair.functions.is_empty());
}

#[test]
fn query_task_tells_whether_it_is_there() {
    let mut pair = with_query_functions();
    pair.serve = false;
    let tag = pair.command(&write10(0, 8), TransferRequest::Out(pattern(4096)));
    pair.drive();
    pair.initiator.task_management(Function::QUERY_TASK, LUN, Some(tag));
    pair.initiator.task_management(Function::QUERY_TASK, LUN, Some(tag + 1000));
    assert_eq!(answers(&mut pair), [Answer::SUCCEEDED, Answer::COMPLETE]);
    // The query has not changed the task.
    let command = pair.commands.pop().unwrap();
    assert!(pair.answer(&command));
    pair.drive();
    assert_eq!(pair.completion(tag).unwrap().status, 0);
    pair.events.clear();
    pair.initiator.task_management(Function::QUERY_TASK, LUN, Some(tag));
    assert_eq!(answers(&mut pair), [Answer::COMPLETE]);
}

#[test]
fn query_task_set_and_asynchronous_event_ask_the_task_manager() {
    let mut pair = with_query_functions();
    pair.serve = false;
    pair.command(&read10(0, 1), TransferRequest::In(512));
    pair.drive();
    pair.initiator.task_management(Function::QUERY_TASK_SET, LUN, None);
    pair.initiator.task_management(Function::QUERY_TASK_SET, [0, 1, 0, 0, 0, 0, 0, 0], None);
    pair.initiator.task_management(Function::QUERY_ASYNCHRONOUS_EVENT, LUN, None);
    pair.drive();
    let asked: Vec<_> = pair.functions.iter().map(|function| (function.present, function.tasks.len())).collect();
    assert_eq!(asked, [(true, 0), (false, 0), (true, 0)]);
    let handle = pair.functions[2].handle;
    pair.target.respond_task_management_with(handle, Answer::SUCCEEDED, [0x06, 0x2a, 0x06]);
    assert_eq!(answers(&mut pair), [Answer::SUCCEEDED]);
    let response = pair.sent.last().unwrap();
    assert_eq!((response.header[2], &response.header[8..11]), (7, &[0x06, 0x2a, 0x06][..]));
    // No task is affected.
    assert_eq!(pair.target.outstanding_tasks().len(), 1);
}

#[test]
fn nexus_reset_ends_every_task_of_the_session() {
    let mut pair = with_query_functions();
    pair.serve = false;
    for _ in 0..3 {
        pair.command(&read10(0, 1), TransferRequest::In(512));
    }
    pair.drive();
    pair.initiator.task_management(Function::I_T_NEXUS_RESET, LUN, None);
    pair.drive();
    assert_eq!(pair.functions[0].tasks.len(), 3);
    pair.target.respond_task_management(pair.functions[0].handle, Answer::COMPLETE);
    assert_eq!(answers(&mut pair), [Answer::COMPLETE]);
    assert_eq!(pair.sent_opcodes(), [Opcode::TASK_MANAGEMENT_RESPONSE]);
}

/// A reset with a LUN in one format ends tasks that were sent with it in another.
#[test]
fn formats_of_a_lun_are_told_to_be_the_same() {
    let mut pair = Pair::logged_in();
    pair.serve = false;
    pair.command(&read10(0, 1), TransferRequest::In(512));
    pair.drive();
    pair.initiator.task_management(Function::ABORT_TASK_SET, [0x40, 0, 0, 0, 0, 0, 0, 0], None);
    pair.drive();
    assert_eq!((pair.functions[0].lun, pair.functions[0].tasks.len()), (LUN, 1));
    assert!(pair.functions[0].present);
}
