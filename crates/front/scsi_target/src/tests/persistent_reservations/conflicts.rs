//! Conflicts: every row of the command table against every type and role, compared with the
//! standards' tables.

use super::*;
use crate::commands::commands;
use unit::ReservationClass;

/// Classes of the tables in SPC-4 and SBC-3, by opcode and service action. Written a second time,
/// by hand.
fn expected(opcode: u8, service_action: Option<u8>, write_exclusive: bool, let_in: bool) -> bool {
    match (opcode, service_action) {
        // INQUIRY, REQUEST SENSE, REPORT LUNS, LOG SENSE, READ CAPACITY, REPORT TARGET PORT GROUPS, TEST UNIT READY.
        (0x12 | 0x03 | 0xa0 | 0x4d | 0x25 | 0x00, _) | (0x9e, Some(0x10)) | (0xa3, Some(0x0a)) => true,
        // Commands with rules of their own: PERSISTENT RESERVE IN and OUT, RESERVE (6), RELEASE
        // (6).
        (0x5e | 0x5f | 0x16 | 0x17, _) => true,
        // READ, VERIFY, PRE-FETCH, READ DEFECT DATA, GET LBA STATUS, POPULATE TOKEN, RECEIVE ROD TOKEN INFORMATION.
        (0x83, Some(0x10)) | (0x84, Some(0x07)) => let_in || write_exclusive,
        (0x37 | 0xb7 | 0x08 | 0x28 | 0xa8 | 0x88 | 0x2f | 0xaf | 0x8f | 0x34 | 0x90, _) | (0x9e, Some(0x12)) => {
            let_in || write_exclusive
        }
        _ => let_in,
    }
}

#[test]
fn every_row_is_let_in_as_the_tables_say() {
    for row in commands() {
        for kind in TYPES {
            let array = Array::explicit();
            let (a, a2, b) = (array.lun0(), array.on(array.a2, 0), array.on(array.b, 0));
            register(&a, 1);
            register(&a2, 2);
            assert_good(&out(&a, RESERVE, kind, 1, 0));
            for (path, role) in [(a, "holder"), (a2, "registrant"), (b, "unregistered")] {
                let let_in = role == "holder" || role == "registrant" && kind >= 5;
                let mut cdb = [0; 16];
                cdb[0] = row.opcode;
                cdb[1] = row.service_action.unwrap_or(0);
                if row.opcode == 0x1e {
                    cdb[4] = 1; // PREVENT
                }
                if row.opcode == 0x1b {
                    cdb[4] = 0x04; // stop, NO_FLUSH
                }
                let permitted = path.command(&cdb).status != RESERVATION_CONFLICT;
                let own_rules = matches!(row.opcode, 0x16 | 0x17);
                let write_exclusive = matches!(kind, 1 | 5 | 7);
                let wanted =
                    if own_rules { let_in } else { expected(row.opcode, row.service_action, write_exclusive, let_in) };
                // Other tests check the PERSISTENT RESERVE OUT commands, which this fixture sends
                // itself.
                if row.opcode != 0x5f {
                    assert_eq!(permitted, wanted, "{} by the {role} under type {kind}", row.name);
                }
            }
        }
    }
}

#[test]
fn starting_and_allowing_removal_conflict_with_nothing() {
    let array = Array::new();
    register(&array.lun0(), 1);
    assert_good(&out(&array.lun0(), RESERVE, 3, 1, 0));
    let b = array.on(array.b, 0);
    assert_good(&b.command(&hex!("1b 00 0000 01 00")));
    assert_conflict(&b.command(&hex!("1b 00 0000 00 00")));
    assert_conflict(&b.command(&hex!("1b 00 0000 11 00")));
    assert_good(&b.command(&hex!("1e 00 0000 00 00")));
    assert_conflict(&b.command(&hex!("1e 00 0000 01 00")));
    assert_eq!(array.unit(10).statistics.io().reservation_conflicts, 3);
}

#[test]
fn classes_differ_only_where_the_standards_do() {
    use unit::ReservationType;
    use unit::reservations::Role;
    for kind in ReservationType::ALL {
        for role in [Role::Holder, Role::Registrant, Role::Unregistered] {
            let write = ReservationClass::Write.permits(kind, role);
            assert_eq!(ReservationClass::Control.permits(kind, role), write);
            assert_eq!(ReservationClass::Capability.permits(kind, role), write);
            assert!(!write || ReservationClass::Read.permits(kind, role), "who may write may read");
            assert!(ReservationClass::Condition.permits(kind, role) && ReservationClass::Always.permits(kind, role));
        }
    }
}

/// RESERVE and RELEASE of SPC-2 while there are registrations, CRH = 1 (SPC-4 §5.9).
#[test]
fn reserve_of_spc_2_succeeds_without_effect_for_those_who_are_let_in() {
    let (reserve, release) = (hex!("16 00 0000 00 00"), hex!("17 00 0000 00 00"));
    let array = Array::new();
    let (a, a2, b) = (array.lun0(), array.on(array.a2, 0), array.on(array.b, 0));
    register(&a, 1);
    register(&a2, 2);
    for path in [a, a2, b] {
        assert_conflict(&path.command(&reserve));
        assert_conflict(&path.command(&release));
    }
    for kind in TYPES {
        assert_good(&out(&a, RESERVE, kind, 1, 0));
        for (path, let_in) in [(a, true), (a2, kind >= 5), (b, false)] {
            for cdb in [reserve, release] {
                let response = path.command(&cdb);
                if let_in { assert_good(&response) } else { assert_conflict(&response) }
            }
        }
        assert_eq!(array.holder(10), None);
        assert_good(&out(&a, RELEASE, kind, 1, 0));
        array.settle(array.a2);
    }
    assert_good(&out(&a, CLEAR, 0, 1, 0));
    array.settle(array.a2);
    assert_good(&b.command(&reserve));
    assert_eq!(array.holder(10), Some(array.b));
}

/// EXTENDED COPY through LUN 0 while LUN 1 is reserved.
#[test]
fn copies_obey_at_both_ends() {
    use scsi::third_party_copy::{BlockToBlockSegment, IdentificationCscd, ParameterListHeader};
    use zerocopy::IntoBytes;
    let array = Array::new();
    array.lun0().write(0, &pattern(1, 8));
    let b1 = array.on(array.b, 1);
    register(&b1, 1);
    let copy = |from: u16, to: u16| {
        let cscds = [IdentificationCscd::naa(&naa(10)), IdentificationCscd::naa(&naa(11))];
        let segment = [BlockToBlockSegment::new(from, to, 8, 0, 64)];
        let lengths = (cscds.as_bytes().len(), segment.as_bytes().len());
        let header = ParameterListHeader::new(1, 0, lengths.0.try_into().unwrap(), lengths.1.try_into().unwrap());
        let list = [header.as_bytes(), cscds.as_bytes(), segment.as_bytes()].concat();
        let mut cdb = [0; 16];
        cdb[0] = 0x83;
        cdb[10..14].copy_from_slice(&u32::try_from(list.len()).unwrap().to_be_bytes());
        array.lun0().data_out(&cdb, &list)
    };
    for (kind, source) in
        [(1, GOOD), (3, CHECK_CONDITION), (5, GOOD), (6, CHECK_CONDITION), (7, GOOD), (8, CHECK_CONDITION)]
    {
        assert_good(&out(&b1, RESERVE, kind, 1, 0));
        assert_check(&copy(0, 1), 0x0a, 0x0d, 0x01);
        assert_eq!(array.volumes[1].mapped_blocks(), 0);
        let from = copy(1, 0);
        assert_eq!(from.status, source, "type {kind}");
        if source == CHECK_CONDITION {
            assert_check(&from, 0x0a, 0x0d, 0x01);
            assert_eq!(from.sense[18], RESERVATION_CONFLICT);
        }
        assert_good(&out(&b1, RELEASE, kind, 1, 0));
    }
    register(&array.lun0(), 2);
    register(&array.on(array.b, 0), 2);
    assert_good(&out(&array.on(array.b, 0), RESERVE, 1, 2, 0));
    assert_conflict(&copy(0, 1));
}
