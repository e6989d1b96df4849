//! What a host has looked at and used in its session.

use super::*;
use crate::{SCSI_PRIMITIVES, Seen};
use hex_literal::hex;
use unit::{Primitive, Reason};

const READ_CAPACITY_16: [u8; 16] = hex!("9e 10 0000000000000000 00000020 00 00");

fn of(array: &Array, nexus: NexusId) -> crate::Observed {
    array.target.observed(nexus)
}

/// Observations about the logical unit at a LUN.
fn seen(array: &Array, lun: u16) -> Seen {
    of(array, array.a).units.iter().find(|unit| unit.lun == lun).map(|unit| unit.seen).unwrap_or_default()
}

#[test]
fn looks_and_transfers_are_known_for_each_session_and_logical_unit() {
    let array = Array::new();
    assert_eq!(of(&array, array.a), crate::Observed::default(), "nothing yet");
    assert_good(&array.lun0().command(&READ_CAPACITY_16));
    for page in [0xb0, 0xb2, 0x8f] {
        assert_good(&array.lun0().command(&[0x12, 1, page, 0, 0xff, 0]));
    }
    // A page that announces nothing, and one that does not exist.
    assert_good(&array.lun0().command(&[0x12, 1, 0x83, 0, 0xff, 0]));
    assert_eq!(array.lun0().command(&[0x12, 1, 0xb7, 0, 0xff, 0]).status, CHECK_CONDITION);
    let looked = of(&array, array.a);
    assert_eq!(looked.changes, 4);
    let times = [looked.capacity_ns, looked.block_limits_ns, looked.provisioning_ns, looked.third_party_copy_ns];
    assert!(times.is_sorted() && times[0].is_some(), "{looked:?}");
    assert_eq!(looked.first_io_ns, None);
    assert_good(&array.lun0().data_out(&cdb16(0x8a, 0, 0, 1), &pattern(1, 1)));
    assert_good(&array.lun0().data_out(&cdb16(0x8a, 0, 0, 1), &pattern(1, 1)));
    let all = Seen::CAPACITY | Seen::BLOCK_LIMITS | Seen::PROVISIONING | Seen::THIRD_PARTY_COPY | Seen::WRITE;
    assert_eq!(seen(&array, 0), all);
    assert_eq!(seen(&array, 1), Seen::default(), "nobody looked at LUN 1");
    let written = of(&array, array.a);
    assert!(written.first_io_ns.is_some() && written.changes == 5, "the second write costs nothing: {written:?}");
    assert_eq!(of(&array, array.b), crate::Observed::default(), "another session");
}

#[test]
fn the_last_end_of_a_primitive_is_known_with_its_reason() {
    let array = Array::new();
    let zero = SCSI_PRIMITIVES.iter().position(|primitive| *primitive == Primitive::Zero).unwrap();
    let (good, bad) = (Seen::succeeded(Primitive::Zero), Seen::refused(Primitive::Zero));
    // Beyond the end of the volume.
    let beyond = hex!("93 01 0000000010000000 00000008 00 00");
    assert_eq!(array.lun0().command(&beyond).status, CHECK_CONDITION);
    let refused = of(&array, array.a).primitives[zero];
    assert_eq!(refused.refused.map(|(_, reason)| reason), Some(Reason::OutOfRange));
    assert!(refused.succeeded_ns.is_none() && seen(&array, 0).has(bad) && !seen(&array, 0).has(good));
    assert_good(&array.lun0().data_out_expecting(&hex!("93 01 0000000000000000 00000008 00 00"), &[], 0));
    assert!(of(&array, array.a).primitives[zero].succeeded_ns > refused.refused.map(|(at, _)| at));
    assert!(seen(&array, 0).has(good) && !seen(&array, 0).has(bad));
    // A miscompare is an answer: ATS works.
    let compare = array
        .lun0()
        .data_out(&hex!("89 00 0000000000000000 000000 01 00 00"), &[pattern(2, 1), pattern(3, 1)].concat());
    assert_eq!(compare.status, CHECK_CONDITION);
    assert!(seen(&array, 0).has(Seen::succeeded(Primitive::Ats)));
}
