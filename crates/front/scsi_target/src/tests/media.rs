use super::*;
use block::BlockDevice;
use hex_literal::hex;

#[test]
fn every_form_of_read_and_write_reaches_its_blocks() {
    let array = Array::new();
    let path = array.lun0();
    assert_good(&path.data_out(&hex!("0a 00 00 01 01 00"), &pattern(1, 1)));
    assert_good(&path.data_out(&hex!("2a 00 00000002 00 0001 00"), &pattern(2, 1)));
    assert_good(&path.data_out(&hex!("aa 00 00000003 00000001 00 00"), &pattern(3, 1)));
    assert_good(&path.data_out(&hex!("8a 00 0000000000000004 00000001 00 00"), &pattern(4, 1)));
    let expected = [pattern(1, 1), pattern(2, 1), pattern(3, 1), pattern(4, 1)].concat();
    assert_eq!(path.command(&hex!("08 00 00 01 04 00")).data_in, expected);
    assert_eq!(path.command(&hex!("28 00 00000001 00 0004 00")).data_in, expected);
    assert_eq!(path.command(&hex!("a8 00 00000001 00000004 00 00")).data_in, expected);
    assert_eq!(path.read(1, 4), expected);
    // In the 6-byte form a count of 0 means 256 blocks.
    assert_eq!(path.command(&hex!("08 00 00 01 00 00")).transfer_bytes, 256 * 512);
    let io = array.unit(10).statistics.io();
    assert_eq!((io.writes, io.written_bytes, io.reads), (4, 2048, 5));
    let latency = array.unit(10).statistics.latency();
    assert_eq!((latency.read.count, latency.write.count), (5, 4));
    // The test clock advances by 1 µs between two readings.
    assert_eq!(latency.read.sum_ns, 5_000);
    assert_eq!(array.unit(10).statistics.commands_in_flight(), 0);
}

#[test]
fn the_end_of_the_medium_is_exact() {
    let array = Array::new();
    let path = array.lun0();
    path.write(BLOCKS - 1, &pattern(9, 1));
    assert_eq!(path.read(BLOCKS - 1, 1), pattern(9, 1));
    for (lba, count) in [(BLOCKS, 1), (BLOCKS - 1, 2), (u64::MAX, 1), (1 << 63, 1), (BLOCKS + 1, 0)] {
        assert_check(&path.command(&cdb16(0x88, 0, lba, count)), 0x05, 0x21, 0x00);
        assert_check(&path.data_out(&cdb16(0x8a, 0, lba, count), &[]), 0x05, 0x21, 0x00);
        assert_check(&path.command(&cdb16(0x8f, 0, lba, count)), 0x05, 0x21, 0x00);
        assert_check(&path.command(&cdb16(0x90, 0, lba, count)), 0x05, 0x21, 0x00);
        assert_check(&path.command(&cdb16(0x91, 0, lba, count)), 0x05, 0x21, 0x00);
    }
    assert_good(&path.command(&cdb16(0x88, 0, BLOCKS, 0)));
}

#[test]
fn a_transfer_above_the_limit_is_refused_and_asks_for_no_data() {
    let array = Array::new();
    let cdb = cdb16(0x8a, 0, 0, 0x8001);
    assert_field(&array.lun0().data_out_expecting(&cdb, &[], 0x8001 * 512), true, 10);
    let lun = [0; 8];
    assert_eq!(array.target.data_out_bytes(array.a, lun, &cdb, u32::MAX), 0);
    let cdb = cdb16(0x8a, 0, 0, 0x8000);
    assert_eq!(array.target.data_out_bytes(array.a, lun, &cdb, u32::MAX), 0x8000 * 512);
    assert_eq!(array.target.data_out_bytes(array.a, lun, &cdb, 700), 700);
    assert_eq!(array.target.data_out_bytes(array.a, [0, 9, 0, 0, 0, 0, 0, 0], &cdb, 700), 0);
}

#[test]
fn protection_bits_are_refused() {
    let array = Array::new();
    for opcode in [0x88, 0x8a, 0x8f, 0x8e, 0x93, 0x89] {
        let response = array.lun0().command(&cdb16(opcode, 0x20, 0, 1));
        assert_field(&response, true, 1);
        assert_eq!(response.sense[15], 0xcd);
    }
}

#[test]
fn reads_move_what_the_initiator_expects_and_report_what_they_have() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(7, 2));
    for (expected, returned) in [(0u32, 0), (200, 512), (512, 512), (10_000, 1024)] {
        let response = path.data_in(&hex!("28 00 00000000 00 0002 00"), expected);
        assert_good(&response);
        assert_eq!((response.data_in.len(), response.transfer_bytes), (returned, 1024));
    }
}

#[test]
fn writes_store_what_the_initiator_sends_and_report_what_they_wanted() {
    let array = Array::new();
    let path = array.lun0();
    let write = hex!("2a 00 00000000 00 0002 00");
    path.write(0, &pattern(b'a', 2));
    // No Data-Out: GOOD with an overflow of two blocks.
    let response = path.data_out_expecting(&write, &[], 0);
    assert_good(&response);
    assert_eq!(response.transfer_bytes, 1024);
    assert_eq!(path.read(0, 2), pattern(b'a', 2));
    // One block of two.
    let response = path.data_out(&write, &pattern(b'b', 1));
    assert_good(&response);
    assert_eq!(response.transfer_bytes, 1024);
    assert_eq!(path.read(0, 2), [pattern(b'b', 1), pattern(b'a', 1)].concat());
    // A partial block.
    let response = path.data_out(&write, &[b'c'; 200]);
    assert_check(&response, 0x05, 0x0e, 0x03);
    assert_eq!(response.transfer_bytes, 1024);
    assert_eq!(path.read(0, 2), [pattern(b'b', 1), pattern(b'a', 1)].concat());
    // More Data-Out than the command takes.
    let response = path.data_out(&hex!("2a 00 00000000 00 0001 00"), &pattern(b'd', 4));
    assert_good(&response);
    assert_eq!(response.transfer_bytes, 512);
    assert_eq!(path.read(0, 2), [pattern(b'd', 1), pattern(b'a', 1)].concat());
    // Announced but not delivered.
    let response = path.data_out_expecting(&write, &pattern(b'e', 1), 1024);
    assert_check(&response, 0x0b, 0x4b, 0x00);
}

#[test]
fn force_unit_access_is_durable_both_ways() {
    let array = Array::new();
    let path = array.lun0();
    assert_good(&path.data_out(&cdb16(0x8a, 0x08, 0, 1), &pattern(1, 1)));
    assert_eq!(array.volumes[0].forced_writes(), 1);
    assert_good(&path.command(&cdb16(0x88, 0x18, 0, 1)));
    assert_eq!(array.volumes[0].flushes(), 0);
    array.volumes[0].set_write_cache(true);
    assert_good(&path.command(&cdb16(0x88, 0x18, 0, 1)));
    assert_eq!(array.volumes[0].flushes(), 1);
}

#[test]
fn a_read_error_names_its_block() {
    let array = Array::new();
    array.volumes[0].set_bad_block(Some(5));
    let response = array.lun0().command(&cdb16(0x88, 0, 4, 2));
    assert_check(&response, 0x03, 0x11, 0x00);
    assert_eq!(response.sense[..7], hex!("f0 00 03 00 00 00 05"));
    assert_eq!(response.transfer_bytes, 0);
    assert_check(&array.lun0().command(&hex!("2f 00 00000004 00 0002 00")), 0x03, 0x11, 0x00);
}

#[test]
fn a_full_pool_fails_new_blocks_only() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 1));
    array.volumes[0].set_full(true);
    assert_check(&path.data_out(&cdb16(0x8a, 0, 8, 1), &pattern(2, 1)), 0x07, 0x27, 0x07);
    path.write(0, &pattern(3, 1));
    assert_eq!(path.read(0, 1), pattern(3, 1));
    array.volumes[0].set_full(false);
    path.write(8, &pattern(2, 1));
}

#[test]
fn verify_compares_as_bytchk_says() {
    let array = Array::new();
    let path = array.lun0();
    let data = [pattern(1, 1), pattern(2, 1), pattern(2, 1)].concat();
    path.write(0, &data);
    assert_good(&path.command(&hex!("2f 00 00000000 00 0003 00")));
    assert_good(&path.data_out(&hex!("2f 02 00000000 00 0003 00"), &data));
    assert_good(&path.data_out(&hex!("af 06 00000001 00000002 00 00"), &pattern(2, 1)));
    let mut wrong = data.clone();
    wrong[1000] ^= 1;
    let response = path.data_out(&hex!("8f 02 0000000000000000 00000003 00 00"), &wrong);
    assert_check(&response, 0x0e, 0x1d, 0x00);
    assert_eq!(response.sense[3..7], 1000u32.to_be_bytes());
    let response = path.data_out(&hex!("2f 06 00000000 00 0003 00"), &pattern(1, 1));
    assert_check(&response, 0x0e, 0x1d, 0x00);
    assert_eq!(response.sense[3..7], 512u32.to_be_bytes());
    assert_field(&path.command(&hex!("2f 04 00000000 00 0001 00")), true, 1);
    // BYTCHK = 00b takes no data, even when the initiator sends some.
    let response = path.data_out(&hex!("2f 00 00000000 00 0001 00"), &pattern(9, 1));
    assert_good(&response);
    assert_eq!(response.transfer_bytes, 0);
}

#[test]
fn verify_compares_ranges_longer_than_its_buffer() {
    let array = Array::new();
    let path = array.lun0();
    let mut data = pattern(1, 0x900);
    path.write(0, &data);
    assert_good(&path.data_out(&hex!("2f 02 00000000 00 0900 00"), &data));
    data[0x8ff * 512 + 3] = 2;
    let response = path.data_out(&hex!("2f 02 00000000 00 0900 00"), &data);
    assert_eq!(response.sense[3..7], (0x8ff * 512 + 3u32).to_be_bytes());
    let response = path.data_out(&hex!("2f 06 00000000 00 0900 00"), &pattern(1, 1));
    assert_good(&response);
}

#[test]
fn write_and_verify_stores_durably() {
    let array = Array::new();
    let path = array.lun0();
    assert_good(&path.data_out(&hex!("2e 02 00000000 00 0001 00"), &pattern(1, 1)));
    assert_good(&path.data_out(&hex!("ae 00 00000001 00000001 00 00"), &pattern(2, 1)));
    assert_good(&path.data_out(&hex!("8e 12 0000000000000002 00000001 00 00"), &pattern(3, 1)));
    assert_eq!(path.read(0, 3), [pattern(1, 1), pattern(2, 1), pattern(3, 1)].concat());
    assert_eq!(array.volumes[0].forced_writes(), 3);
    assert_field(&path.data_out(&hex!("2e 04 00000000 00 0001 00"), &pattern(1, 1)), true, 1);
}

#[test]
fn caches_are_flushed_and_fetched() {
    let array = Array::new();
    let path = array.lun0();
    assert_good(&path.command(&hex!("35 02 00000000 00 0000 00")));
    assert_good(&path.command(&hex!("91 00 0000000000000000 00000000 00 00")));
    assert_eq!(array.volumes[0].flushes(), 2);
    assert_good(&path.command(&hex!("34 02 00000000 03 0010 00")));
    assert_good(&path.command(&hex!("90 00 0000000000000000 00000000 00 00")));
}

#[test]
fn a_read_only_volume_refuses_every_write() {
    let array = Array::new();
    let path = array.lun0();
    array.volumes[0].set_read_only(true);
    let sense = path.command(&hex!("1a 00 3f 00 ff 00")).data_in;
    assert_eq!(sense[2], 0x90);
    let block = pattern(1, 1);
    let unmap = scsi::provisioning::unmap_parameter_list(&[(0, 8)]);
    for (cdb, data) in [
        (cdb(&hex!("0a 00 00 00 01 00")), block.as_slice()),
        (cdb(&hex!("2a 00 00000000 00 0001 00")), &block),
        (cdb16(0x8a, 0, 0, 1), &block),
        (cdb(&hex!("2e 00 00000000 00 0001 00")), &block),
        (cdb(&hex!("41 00 00000000 00 0001 00")), &block),
        (cdb(&hex!("41 08 00000000 00 0001 00")), &[]),
        (cdb16(0x93, 0, 0, 1), &block),
        (cdb(&hex!("42 00 00000000 00 0018 00")), &unmap),
        (cdb(&hex!("89 00 0000000000000000 000000 01 00 00")), &pattern(0, 2)),
    ] {
        assert_check(&path.data_out(&cdb, data), 0x07, 0x27, 0x00);
    }
    assert_good(&path.command(&cdb16(0x88, 0, 0, 1)));
    assert_eq!(array.volumes[0].calls(), 0);
}

#[test]
fn a_fixed_medium_cannot_be_ejected() {
    let array = Array::new();
    let path = array.lun0();
    assert_field(&path.command(&hex!("1b 01 00 00 02 00")), true, 4);
    assert_good(&path.command(&hex!("1b 00 00 00 00 00")));
    assert_eq!(array.volumes[0].flushes(), 1);
    assert_good(&path.command(&hex!("1b 00 00 00 04 00")));
    assert_good(&path.command(&hex!("1b 00 00 00 01 00")));
    assert_good(&path.command(&hex!("1b 00 00 00 30 00")));
    assert_field(&path.command(&hex!("1b 00 00 00 f0 00")), true, 4);
    assert_good(&path.command(&[0; 6]));
}

#[test]
fn a_removable_medium_is_ejected_unless_a_nexus_prevents_it() {
    let array = Array::with(Profile { removable: true, ..Profile::default() }, Limits::default());
    let path = array.lun0();
    let other = array.on(array.b, 0);
    let (eject, load) = (hex!("1b 00 00 00 02 00"), hex!("1b 00 00 00 03 00"));
    let (prevent, allow) = (hex!("1e 00 00 00 01 00"), hex!("1e 00 00 00 00 00"));
    assert_eq!(path.command(&hex!("12 00 00 0024 00")).data_in[1], 0x80);
    assert_good(&path.command(&prevent));
    assert_check(&path.command(&eject), 0x05, 0x53, 0x02);
    assert_check(&other.command(&eject), 0x05, 0x53, 0x02);
    assert_good(&path.command(&allow));
    assert_good(&path.command(&eject));
    for cdb in [cdb(&[0; 6]), cdb16(0x88, 0, 0, 1), cdb16(0x9e, 0x10, 0, 32), cdb16(0x9e, 0x12, 0, 24)] {
        assert_check(&path.command(&cdb), 0x02, 0x3a, 0x00);
    }
    assert_check(&path.data_out(&cdb16(0x8a, 0, 0, 1), &pattern(1, 1)), 0x02, 0x3a, 0x00);
    assert_eq!(path.command(&hex!("03 00 0000 12 00")).data_in[12], 0x3a);
    assert_good(&path.command(&prevent));
    assert_check(&path.command(&load), 0x05, 0x53, 0x02);
    // The nexus that prevents removal is detached.
    array.target.detach_nexus(array.a);
    assert_good(&other.command(&load));
    assert_good(&other.command(&[0; 6]));
    assert_check(&array.on(array.a2, 0).command(&[0; 6]), 0x06, 0x28, 0x00);
    assert_field(&other.command(&hex!("1e 00 00 00 02 00")), true, 4);
}

#[test]
fn lba_status_reports_runs_from_the_given_block() {
    let array = Array::new();
    let path = array.lun0();
    path.write(8, &pattern(1, 8));
    let data = path.command(&cdb16(0x9e, 0x12, 4, 1024)).data_in;
    assert_eq!(
        data.as_ref(),
        hex!(
            "00000034 00000000
             0000000000000004 00000004 01 000000
             0000000000000008 00000008 00 000000
             0000000000000010 0001fff0 01 000000"
        )
    );
    let one = path.command(&cdb16(0x9e, 0x12, 9, 24)).data_in;
    assert_eq!(one.as_ref(), hex!("00000014 00000000 0000000000000009 00000007 00 000000"));
    for lba in [BLOCKS, BLOCKS + 1, 1 << 63, u64::MAX] {
        assert_check(&path.command(&cdb16(0x9e, 0x12, lba, 24)), 0x05, 0x21, 0x00);
    }
    array.volumes[1].resize(1 << 40);
    let long = array.on(array.a, 1).command(&cdb16(0x9e, 0x12, 0, 24)).data_in;
    assert_eq!(long[16..20], [0xff; 4]);
    assert_eq!(array.volumes[1].block_count(), 1 << 40);
}

/// The transport keeps one future for each command in flight, so each costs as much as a READ
/// needs.
#[test]
fn the_future_of_a_command_stays_small() {
    let array = Array::new();
    let future = array.lun0().request(&cdb16(0x88, 0, 0, 8), Bytes::new(), 4096, 0);
    assert!(size_of_val(&future) <= 1_024, "{} bytes", size_of_val(&future));
}

/// A write whose data was announced in the wrong direction stores nothing and reports an error.
#[test]
fn data_in_the_wrong_direction_is_refused() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(7, 1));
    let refused = run(path.request(&cdb16(0x8a, 0, 0, 1), Bytes::new(), 512, 0));
    assert_check(&refused, 0x05, 0x0e, 0x03);
    assert_eq!(refused.transfer_bytes, 512);
    assert_eq!(path.read(0, 1), pattern(7, 1));
    assert_good(&run(path.request(&cdb16(0x88, 0, 0, 1), pattern(1, 1).into(), 0, 512)));
    // An expected length of 0 is an overflow, not a contradiction; nor is there one in a command
    // without data.
    let overflow = run(path.request(&cdb16(0x88, 0, 0, 1), Bytes::new(), 0, 0));
    assert_eq!((overflow.status, overflow.transfer_bytes), (0, 512));
    assert_good(&run(path.request(&cdb16(0x8a, 0, 0, 0), Bytes::new(), 512, 0)));
}
