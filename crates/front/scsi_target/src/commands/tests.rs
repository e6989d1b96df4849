//! The table of commands.

use super::*;
use crate::blocks::BLOCK;
use crate::command::{Medium, UnitAttention};
use crate::limits::Limits;
use unit::{AccessState, Io, ReservationClass};

#[test]
fn every_row_is_found_by_its_own_cdb() {
    for row in commands() {
        let mut cdb = [0; 16];
        cdb[0] = row.opcode;
        cdb[1] = row.service_action.unwrap_or(0);
        let found = find(&Cdb(cdb)).expect("each row is found").command;
        assert_eq!(found.name, row.name);
        assert!(row.validate(&Cdb(cdb)).is_ok(), "{}", row.name);
    }
}

#[test]
fn rows_are_in_alphabetical_order_and_well_formed() {
    let names: Vec<_> = commands().map(|row| row.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    for row in commands() {
        assert_eq!(row.cdb_usage.first(), Some(&row.opcode), "{}", row.name);
        assert!(matches!(row.cdb_usage.len(), 6 | 10 | 12 | 16), "{}", row.name);
        let length_by_group = match row.opcode >> 5 {
            0 => 6,
            1 | 2 => 10,
            4 => 16,
            _ => 12,
        };
        assert_eq!(row.cdb_usage.len(), length_by_group, "{}", row.name);
        if let Some(service_action) = row.service_action {
            assert_eq!(row.cdb_usage.get(1).map(|byte| byte & 0x1f), Some(service_action), "{}", row.name);
        }
    }
}

#[test]
fn the_facts_of_a_row_agree() {
    let by_steps = ["EXTENDED COPY", "SANITIZE", "WRITE USING TOKEN"];
    for row in commands() {
        let name = row.name;
        let (writes, needs_none) = (row.reservation_class == ReservationClass::Write, row.medium == Medium::NotNeeded);
        match row.io {
            Some(Io::Read) => {
                assert!(row.reservation_class == ReservationClass::Read && !row.takes_data() && !needs_none, "{name}")
            }
            Some(Io::Write) => assert!(writes && row.takes_data() && row.medium == Medium::Writable, "{name}"),
            None => {}
        }
        assert_eq!(row.awaited, writes && !by_steps.iter().any(|steps| name.starts_with(steps)), "{name}");
        assert!(row.offload.is_none() || row.takes_data(), "{name}");
        assert!(row.harmless.is_none() || row.reservation_class == ReservationClass::Control, "{name}");
        assert!(!row.while_sanitizing || needs_none, "{name}");
        assert!(row.works_down_to < AccessState::Transitioning || needs_none, "{name}");
        let alone = !matches!(row.without_unit, WithoutUnit::Refused);
        assert!(
            !alone || row.unit_attention == UnitAttention::Kept && row.reservation_class == ReservationClass::Always,
            "{name}"
        );
    }
}

/// No CDB makes the transport buffer more than one transfer of the largest size.
#[test]
fn no_cdb_asks_for_more_data_than_the_limits_allow() {
    let limits = Limits::default();
    let most = u64::from(limits.transfer_blocks) * BLOCK;
    for row in commands() {
        for fill in [0x00, 0x01, 0x55, 0x80, 0xff] {
            let mut cdb = [0; 16];
            cdb.iter_mut().zip(row.cdb_usage).for_each(|(byte, usage)| *byte = usage & fill);
            cdb[0] = row.opcode;
            cdb[1] = row.service_action.unwrap_or(cdb[1]);
            let bytes = row.data_out_bytes(&Cdb(cdb), &limits, u64::MAX);
            assert!(bytes <= most && (row.takes_data() || bytes == 0), "{}: {bytes}", row.name);
        }
    }
}

/// Sources: SPC-4 §5.15.2.4, the commands that ESXi sends to a standby port, and SBC-4 §4.11.2.
#[test]
fn rows_work_where_the_standards_say() {
    let starting = |words: &[&'static str]| -> Vec<&'static str> {
        let named = |row: &&Command| words.iter().any(|word| row.name.starts_with(word));
        commands().filter(named).map(|row| row.name).collect()
    };
    let down_to = |state: AccessState| -> Vec<&'static str> {
        commands().filter(|row| row.works_down_to == state).map(|row| row.name).collect()
    };
    let always = ["INQUIRY", "REPORT LUNS", "REPORT TARGET", "REQUEST SENSE", "SET TARGET"];
    assert_eq!(down_to(AccessState::Transitioning), starting(&always));
    let probes = ["MODE SENSE", "READ CAPACITY", "RELEASE", "REPORT SUPPORTED", "RESERVE", "TEST UNIT READY"];
    assert_eq!(down_to(AccessState::Unavailable), starting(&probes));
    let standby = ["LOG SENSE", "MODE SELECT", "PERSISTENT RESERVE", "SEND DIAGNOSTIC"];
    assert_eq!(down_to(AccessState::Standby), starting(&standby));
    assert_eq!(down_to(AccessState::ActiveOptimized), [""; 0]);
    let while_sanitizing: Vec<_> = commands().filter(|row| row.while_sanitizing).map(|row| row.name).collect();
    let reports = [&always[..], &["LOG SENSE", "MODE SENSE", "REPORT SUPPORTED", "SANITIZE"]].concat();
    assert_eq!(while_sanitizing, starting(&reports));
}

/// Counts of SBC-3 are compared with the limit of the row: what VPD page B0h announces.
#[test]
fn a_row_that_moves_blocks_has_a_limit() {
    let limits = Limits::default();
    for row in commands() {
        let moves =
            row.io.is_some() || ["VERIFY", "WRITE SAME", "COMPARE AND"].iter().any(|word| row.name.starts_with(word));
        assert_eq!(row.limit_blocks(&limits) < u64::MAX, moves, "{}", row.name);
    }
}

#[test]
fn a_reserved_bit_is_refused_with_its_position() {
    let mut cdb = [0; 16];
    cdb[0] = scsi::opcode::READ_16;
    cdb[1] = 0x20;
    let row = find(&Cdb(cdb)).expect("READ (16) is there").command;
    let Err(Fault::InvalidFieldInCdb(at)) = row.validate(&Cdb(cdb)) else { panic!("RDPROTECT was accepted") };
    assert_eq!(at, FieldPointer::cdb_bit(1, 5));
}

#[test]
fn the_mask_of_a_row_refuses_what_its_command_refuses() {
    for row in COMMANDS {
        for bit in 0..128 {
            let cdb = Cdb((1_u128 << bit).to_le_bytes());
            assert_eq!(row.validate(&cdb).is_ok(), row.command.validate(&cdb).is_ok(), "{} {bit}", row.command.name);
        }
    }
}

#[test]
fn an_unknown_service_action_is_an_invalid_field() {
    let mut cdb = [0; 16];
    cdb[0] = scsi::opcode::THIRD_PARTY_COPY_OUT;
    cdb[1] = 0x1f;
    assert!(matches!(find(&Cdb(cdb)), Err(Fault::InvalidFieldInCdb(_))));
    cdb[0] = 0xe7;
    assert!(matches!(find(&Cdb(cdb)), Err(Fault::InvalidOperationCode)));
}
