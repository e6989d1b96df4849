use super::*;
use std::pin::Pin;
use unit::{OffloadStatistics, Primitive, Reason};

pub(super) fn statistics(array: &Array, volume: u64, primitive: Primitive) -> OffloadStatistics {
    let all = array.units.offload();
    let found = all.into_iter().find(|entry| entry.volume == VolumeId(volume) && entry.primitive == primitive);
    found.map(|entry| entry.statistics).unwrap_or_default()
}

#[test]
fn writes_when_the_medium_is_as_expected() {
    let array = Array::new();
    let path = array.lun0();
    // Blocks never written compare as zeros, the last block included.
    for lba in [0, BLOCKS - 1] {
        let response = path.compare_and_write(lba, &pattern(0, 1), &pattern(1, 1));
        assert_good(&response);
        assert_eq!(response.transfer_bytes, 1024);
        assert_eq!(path.read(lba, 1), pattern(1, 1));
    }
    let ats = statistics(&array, 10, Primitive::Ats);
    assert_eq!((ats.commands, ats.ok, ats.bytes, ats.host_bytes_avoided), (2, 2, 1024, 0));
    assert_eq!(ats.latency.count, 2);
}

#[test]
fn reports_offset_of_first_difference() {
    let array = Array::new();
    let path = array.lun0();
    path.write(3, &pattern(1, 1));
    let mut compare = pattern(1, 1);
    compare[485] = 9;
    let response = path.compare_and_write(3, &compare, &pattern(2, 1));
    assert_check(&response, 0x0e, 0x1d, 0x00);
    assert_eq!(response.sense, hex_literal::hex!("f0 00 0e 00 00 01 e5 0a 00 00 00 00 1d 00 00 00 00 00"));
    assert_eq!(path.read(3, 1), pattern(1, 1));
    let ats = statistics(&array, 10, Primitive::Ats);
    assert_eq!((ats.commands, ats.miscompares, ats.refused), (1, 1, 0));
    assert_eq!(array.units.refusals(0).len(), 0);
}

#[test]
fn refuses_more_blocks_than_announced() {
    let array = Array::new();
    assert_field(&array.lun0().compare_and_write(0, &pattern(0, 2), &pattern(1, 2)), true, 13);
    let log = array.units.refusals(0);
    assert_eq!(log.len(), 1);
    assert_eq!(
        (log[0].primitive, log[0].reason, log[0].command),
        (Primitive::Ats, Reason::OverLimit, "COMPARE AND WRITE")
    );
    assert_eq!(log[0].detail, "2 asked for, limit 1 (CDB byte 13)");
    assert_eq!((log[0].initiator.as_str(), log[0].volume_name.as_str()), ("iqn.a", "v10"));
    let wide = Array::with(Profile::default(), Limits { compare_and_write_blocks: 255, ..Limits::default() });
    assert_good(&wide.lun0().compare_and_write(0, &pattern(0, 255), &pattern(1, 255)));
    assert_eq!(wide.lun0().read(254, 1), pattern(1, 1));
}

#[test]
fn refuses_blocks_beyond_the_end() {
    let array = Array::new();
    assert_check(&array.lun0().compare_and_write(BLOCKS, &pattern(0, 1), &pattern(1, 1)), 0x05, 0x21, 0x00);
    assert_eq!(array.units.refusals(0)[0].reason, Reason::OutOfRange);
}

#[test]
fn wants_exactly_twice_its_blocks() {
    let array = Array::new();
    let path = array.lun0();
    let mut cdb = cdb16(0x89, 0, 0, 0);
    cdb[13] = 1;
    for bytes in [0, 512, 1023, 1025, 2048] {
        let response = path.data_out(&cdb, &vec![0; bytes]);
        assert_eq!((response.status, response.sense[2]), (CHECK_CONDITION, 0x05), "{bytes}");
    }
    // No blocks and no data: a success without effect. No blocks with data: a length error.
    cdb[13] = 0;
    assert_good(&path.data_out(&cdb, &[]));
    assert_eq!(path.data_out(&cdb, &[0; 512]).sense[2], 0x05);
    assert_eq!(array.volumes[0].calls(), 0);
}

#[test]
fn honours_dpo_and_fua() {
    let array = Array::new();
    let mut cdb = cdb16(0x89, 0x18, 0, 0);
    cdb[13] = 1;
    assert_good(&array.lun0().data_out(&cdb, &[pattern(0, 1), pattern(1, 1)].concat()));
    assert_eq!(array.volumes[0].forced_writes(), 1);
}

#[test]
fn a_full_pool_fails_an_unmapped_block_only() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 1));
    array.volumes[0].set_full(true);
    assert_good(&path.compare_and_write(0, &pattern(1, 1), &pattern(2, 1)));
    assert_check(&path.compare_and_write(9, &pattern(0, 1), &pattern(2, 1)), 0x07, 0x27, 0x07);
    assert_eq!(array.units.refusals(0)[0].reason, Reason::NoSpace);
}

#[test]
fn one_of_many_racing_initiators_wins() {
    let array = Array::new();
    for round in 0u8..50 {
        array.volumes[0].hold(true);
        let mut commands: Vec<Pin<Box<dyn Future<Output = Response> + '_>>> = Vec::new();
        for nexus in [array.a, array.a2, array.b, array.a] {
            let mut cdb = cdb16(0x89, 0, 5, 0);
            cdb[13] = 1;
            let data = Bytes::from([pattern(round, 1), pattern(round + 1, 1)].concat());
            commands.push(Box::pin(array.on(nexus, 0).request(&cdb, data, 0, 1024)));
        }
        for command in &mut commands {
            assert!(command.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        array.volumes[0].hold(false);
        let responses: Vec<_> = commands.into_iter().map(run).collect();
        assert_eq!(responses.iter().filter(|response| response.status == GOOD).count(), 1);
        for response in responses.iter().filter(|response| response.status != GOOD) {
            assert_check(response, 0x0e, 0x1d, 0x00);
        }
    }
    assert_eq!(array.lun0().read(5, 1), pattern(50, 1));
}
