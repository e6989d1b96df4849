use super::compare_and_write::statistics;
use super::*;
use scsi::provisioning::unmap_parameter_list;
use unit::{Ending, Primitive, Reason};

fn unmap(path: &Path<'_>, list: &[u8]) -> Response {
    let [high, low] = u16::try_from(list.len()).unwrap().to_be_bytes();
    path.data_out(&[0x42, 0, 0, 0, 0, 0, 0, high, low, 0], list)
}

#[test]
fn deallocates_and_reads_zeros() {
    let array = Array::new();
    let path = array.lun0();
    path.write(2048, &pattern(1, 2048));
    assert_good(&unmap(&path, &unmap_parameter_list(&[(2048, 2048)])));
    assert_eq!(path.read(2048, 2048), pattern(0, 2048));
    assert_eq!(array.volumes[0].mapped_blocks(), 0);
    let status = path.command(&cdb16(0x9e, 0x12, 2048, 24)).data_in;
    assert_eq!(status[20], 1);
    let counters = statistics(&array, 10, Primitive::Unmap);
    assert_eq!((counters.ok, counters.bytes, counters.deallocated_bytes), (1, 1 << 20, 1 << 20));
    assert_eq!(counters.host_bytes_avoided, 0);
}

#[test]
fn takes_as_many_descriptors_as_announced() {
    let array = Array::new();
    let path = array.lun0();
    let ranges: Vec<_> = (0..257).map(|index| (index * 8, 8)).collect();
    path.write(0, &pattern(1, 257 * 8));
    let response = unmap(&path, &unmap_parameter_list(&ranges));
    assert_field(&response, false, 2);
    assert_eq!(array.volumes[0].mapped_blocks(), 257 * 8);
    assert_good(&unmap(&path, &unmap_parameter_list(&ranges[..256])));
    assert_eq!(array.volumes[0].mapped_blocks(), 8);
    assert_eq!(array.units.refusals(0)[0].reason, Reason::OverLimit);
}

#[test]
fn the_sum_of_blocks_is_limited() {
    let limits = Limits { unmap_blocks: 2048, ..Limits::default() };
    let array = Array::with(Profile::default(), limits);
    assert_field(&unmap(&array.lun0(), &unmap_parameter_list(&[(0, 2048), (4096, 1)])), false, 16);
    assert_good(&unmap(&array.lun0(), &unmap_parameter_list(&[(0, 2048)])));
}

#[test]
fn nothing_to_do_is_a_success() {
    let array = Array::new();
    let path = array.lun0();
    assert_good(&unmap(&path, &[]));
    assert_good(&unmap(&path, &unmap_parameter_list(&[])));
    assert_good(&unmap(&path, &unmap_parameter_list(&[(BLOCKS, 0), (0, 0)])));
    assert_eq!(array.volumes[0].calls(), 0);
    assert_eq!(array.units.refusals(0).len(), 0);
}

#[test]
fn a_bad_descriptor_undoes_the_good_ones() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 8));
    let response = unmap(&path, &unmap_parameter_list(&[(0, 8), (BLOCKS - 1, 2)]));
    assert_check(&response, 0x05, 0x21, 0x00);
    assert_eq!(path.read(0, 8), pattern(1, 8));
    assert_check(&unmap(&path, &unmap_parameter_list(&[(u64::MAX, 1)])), 0x05, 0x21, 0x00);
}

#[test]
fn short_lists_are_length_errors() {
    let array = Array::new();
    let path = array.lun0();
    let list = unmap_parameter_list(&[(0, 8)]);
    for length in [1, 4, 7, 8, 23] {
        assert_check(&unmap(&path, &list[..length]), 0x05, 0x1a, 0x00);
    }
    // Bytes beyond a multiple of 16 are ignored.
    let mut odd = list.clone();
    odd.extend_from_slice(&[0xff; 7]);
    odd[3] = 16 + 7;
    assert_good(&unmap(&path, &odd));
    // ANCHOR.
    assert_field(&path.data_out(&[0x42, 1, 0, 0, 0, 0, 0, 0, 24, 0], &list), true, 1);
}

#[test]
fn unaligned_ranges_spare_their_neighbours_and_are_told() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 32));
    assert_good(&unmap(&path, &unmap_parameter_list(&[(1, 7)])));
    assert_eq!(path.read(0, 9), [pattern(1, 1), pattern(0, 7), pattern(1, 1)].concat());
    let log = array.units.refusals(0);
    assert_eq!((log[0].reason, log[0].primitive), (Reason::BelowGrain, Primitive::Unmap));
    assert_good(&unmap(&path, &unmap_parameter_list(&[(12, 14)])));
    let counters = statistics(&array, 10, Primitive::Unmap);
    assert_eq!((counters.ok, counters.refused), (2, 0));
    assert_eq!((counters.deallocated_bytes, counters.unaligned_bytes), (8 * 512, 13 * 512));
    assert_eq!(array.units.refusals(0).len(), 1);
    assert_eq!(counters.ineffective.given().collect::<Vec<_>>(), [(Reason::BelowGrain, 1)]);
    assert_eq!(log[0].ending, Ending::Ineffective);
    assert_eq!(counters.refusals.given().count(), 0);
}

/// Bug: counts by reason were taken from the log, and shrank when it dropped its oldest entries.
#[test]
fn counts_of_refusals_outlive_the_log() {
    let array = Array::new();
    let path = array.lun0();
    let beyond = unmap_parameter_list(&[(BLOCKS, 1)]);
    let mut entries = 0;
    for round in 1..=3_000 {
        assert_check(&unmap(&path, &beyond), 0x05, 0x21, 0x00);
        entries = array.units.refusals(0).len();
        if entries < round {
            break;
        }
    }
    unmap(&path, &beyond);
    let counters = statistics(&array, 10, Primitive::Unmap);
    assert!(counters.refused > entries as u64);
    assert_eq!(counters.refusals.given().collect::<Vec<_>>(), [(Reason::OutOfRange, counters.refused)]);
}
