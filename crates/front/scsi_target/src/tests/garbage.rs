//! Random CDBs and parameter lists, half of them near-valid: no panic, always a response that a
//! transport can send.

use super::*;
use random::Random;
use scsi::rod_token;
use scsi::third_party_copy::{BlockToBlockSegment, IdentificationCscd, ParameterListHeader};
use zerocopy::IntoBytes;

/// Number that is small, at a limit, or random.
fn number(random: &Random) -> u64 {
    match random.below(5) {
        0 => random.below(32),
        1 => BLOCKS - random.below(4),
        2 => u64::MAX - random.below(4),
        3 => random.below(BLOCKS),
        _ => random.next(),
    }
}

fn random_cdb(random: &Random) -> [u8; 16] {
    let rows: Vec<_> = crate::commands::commands().collect();
    let mut cdb = [0; 16];
    if random.below(20) == 0 {
        cdb.fill_with(|| random.byte());
        return cdb;
    }
    let row = rows[usize::try_from(random.below(rows.len() as u64)).unwrap()];
    match row.cdb_usage.len() {
        16 => cdb = cdb16(0, 0, number(random), u32::try_from(number(random) & 0xffff_ffff).unwrap()),
        10 => {
            cdb[2..6].copy_from_slice(&number(random).to_be_bytes()[4..]);
            cdb[7..9].copy_from_slice(&number(random).to_be_bytes()[6..]);
        }
        _ => {
            for byte in &mut cdb[2..] {
                *byte = random.byte();
            }
        }
    }
    if random.below(3) == 0 {
        cdb[10..14].copy_from_slice(&u32::try_from(random.below(512)).unwrap().to_be_bytes());
    }
    cdb[0] = row.opcode;
    cdb[1] = random.byte();
    if random.below(8) != 0 {
        for (byte, usage) in cdb.iter_mut().zip(row.cdb_usage.iter().chain([0; 16].iter())) {
            *byte &= usage;
        }
        cdb[0] = row.opcode;
        if let Some(service_action) = row.service_action {
            cdb[1] = cdb[1] & 0xe0 | service_action;
        }
    }
    cdb
}

fn range(random: &Random) -> rod_token::BlockRange {
    rod_token::BlockRange::new(random.below(BLOCKS), u32::try_from(random.below(64)).unwrap())
}

fn random_data(random: &Random) -> Vec<u8> {
    let mut data = match random.below(7) {
        5 => {
            let ranges: Vec<_> = (0..random.below(36)).map(|_| range(random)).collect();
            rod_token::populate_token_list(random.byte() & 3, 0, rod_token::RodType::POINT_IN_TIME, &ranges)
        }
        6 => {
            let ranges: Vec<_> = (0..random.below(4)).map(|_| range(random)).collect();
            let token = if random.below(2) == 0 { rod_token::zero_token() } else { [random.byte(); 512] };
            rod_token::write_using_token_list(random.byte() & 3, number(random), &token, &ranges)
        }
        3 => {
            let keys = (random.below(3), random.below(3));
            let flags = if random.below(2) == 0 { 0 } else { random.byte() & 0x0d };
            let mut list = [&keys.0.to_be_bytes()[..], &keys.1.to_be_bytes(), &[0, 0, 0, 1, flags, 0, 0, 0]].concat();
            if random.below(3) == 0 {
                let id = scsi::persistent_reservation::TransportId::Device("iqn.a".into()).encode();
                list.extend(u32::try_from(id.len()).unwrap().to_be_bytes());
                list.extend(id);
            }
            list
        }
        0 => {
            let ranges: Vec<_> = (0..random.below(300))
                .map(|_| (number(random), u32::try_from(number(random) & 0xffff).unwrap()))
                .collect();
            scsi::provisioning::unmap_parameter_list(&ranges)
        }
        1 => {
            let cscds: Vec<_> =
                (0..random.below(4)).map(|_| IdentificationCscd::naa(&naa(9 + random.below(4)))).collect();
            let segments: Vec<_> = (0..random.below(5))
                .map(|_| {
                    let (from, to) = (number(random), number(random));
                    let ends = (random.below(4), random.below(4));
                    let count = u16::try_from(random.below(64)).unwrap();
                    BlockToBlockSegment::new(ends.0.try_into().unwrap(), ends.1.try_into().unwrap(), count, from, to)
                })
                .collect();
            let lengths = (cscds.as_bytes().len(), segments.as_bytes().len());
            let header = ParameterListHeader::new(
                random.byte() & 1,
                random.byte(),
                lengths.0.try_into().unwrap(),
                lengths.1.try_into().unwrap(),
            );
            [header.as_bytes(), cscds.as_bytes(), segments.as_bytes()].concat()
        }
        2 => vec![0; usize::try_from(random.below(6) * 512).unwrap()],
        _ => (0..random.below(300)).map(|_| random.byte()).collect(),
    };
    for _ in 0..random.below(4) {
        let length = data.len() as u64;
        if length > 0 {
            let at = usize::try_from(random.below(length)).unwrap();
            data[at] = random.byte();
        }
    }
    if random.below(4) == 0 {
        let length = random.below(data.len() as u64 + 1);
        data.truncate(length.try_into().unwrap());
    }
    data
}

fn assert_valid(response: &Response, cdb: &[u8]) {
    match response.status {
        // G_SENSE returns sense data with GOOD status.
        GOOD => assert!(response.sense.is_empty() || response.sense[2] == 0x0f),
        CHECK_CONDITION => {
            assert!((18..=252).contains(&response.sense.len()), "{cdb:02x?}");
            assert_eq!(usize::from(response.sense[7]) + 8, response.sense.len(), "{cdb:02x?}");
            assert_ne!(response.sense[2], 0, "{cdb:02x?}");
        }
        RESERVATION_CONFLICT => assert!(response.sense.is_empty()),
        status => panic!("status {status:02x}h for {cdb:02x?}"),
    }
    assert!(response.data_in.len() as u64 <= response.transfer_bytes, "{cdb:02x?}");
}

#[test]
fn garbage_gets_a_valid_answer() {
    for seed in 1..=8u64 {
        let random = Random::new(seed);
        let profile =
            Profile { removable: seed % 2 == 0, write_same_to_end: seed % 3 == 0, physical_block_exponent: 3 };
        // Long ranges are truncated to keep the memory device fast.
        let limits = Limits { transfer_blocks: 64, write_same_blocks: 512, ..Limits::default() };
        let array = Array::with(profile, limits);
        // A sanitize operation would make every other command fail.
        array.store.error.set(Some(unit::StoreError::Failed));
        let mut background = std::pin::pin!(array.target.run_background());
        for _ in 0..4_000 {
            let _never_ends = background.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let nexus = [array.a, array.a2, array.b][usize::try_from(random.below(3)).unwrap()];
            let mut lun = LogicalUnitNumber(u16::try_from(random.below(3)).unwrap()).encode();
            if random.below(50) == 0 {
                lun = random.next().to_be_bytes();
            }
            let mut cdb = random_cdb(&random);
            let data = Bytes::from(random_data(&random));
            let length = u32::try_from(data.len()).unwrap();
            if random.below(2) == 0 {
                // Parameter list length that matches the data.
                match cdb[0] {
                    0x15 => cdb[4] = length.to_be_bytes()[3],
                    0x42 | 0x55 => cdb[7..9].copy_from_slice(&length.to_be_bytes()[2..]),
                    0x5f => cdb[5..9].copy_from_slice(&length.to_be_bytes()),
                    0x83 => cdb[10..14].copy_from_slice(&length.to_be_bytes()),
                    _ => {}
                }
            }
            let expected_out = if random.below(4) == 0 { u32::try_from(random.below(4096)).unwrap() } else { length };
            let expected_in = u32::try_from(number(&random) & 0xffff).unwrap();
            let path = Path { array: &array, nexus, lun };
            let response = run(path.request(&cdb, data, expected_in, expected_out));
            assert_valid(&response, &cdb);
        }
        let statistics = array.units.offload();
        for entry in &statistics {
            let counted = &entry.statistics;
            assert_eq!(
                counted.commands,
                counted.ok + counted.refused + counted.miscompares + counted.errors,
                "{:?}",
                entry.primitive
            );
        }
        let commands: u64 = statistics.iter().map(|entry| entry.statistics.commands).sum();
        assert!(commands > 100, "the generator reaches the offload commands");
        assert!(array.units.refusals(0).len() <= 1024);
    }
}

/// Every CDB that has a single bit outside the CDB usage data of its row.
#[test]
fn bits_outside_the_usage_are_refused_at_their_place() {
    let array = Array::explicit();
    for row in crate::commands::commands() {
        for bit in 8..row.cdb_usage.len() * 8 {
            let (byte, mask) = (bit / 8, 0x80u8 >> (bit % 8));
            let service_action = row.service_action.is_some() && byte == 1 && mask < 0x20;
            if service_action || row.cdb_usage[byte] & mask != 0 {
                continue;
            }
            let mut cdb = [0; 16];
            cdb[0] = row.opcode;
            cdb[1] = row.service_action.unwrap_or(0);
            cdb[byte] |= mask;
            let response = array.lun0().command(&cdb);
            assert_field(&response, true, u16::try_from(byte).unwrap());
            assert_eq!(response.sense[15] & 0x0f, 0x08 | u8::try_from(7 - bit % 8).unwrap(), "{}", row.name);
        }
    }
}
