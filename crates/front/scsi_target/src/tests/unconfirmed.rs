//! Command forms that a VMware host could send, but that have not been observed: each is accepted.
//! One test for each point about SCSI; `iscsi` has the tests for its keys.

use super::extended_copy::list_between;
use super::*;
use scsi::provisioning::unmap_parameter_list;

fn send_copy(path: &Path<'_>, list: &[u8]) -> Response {
    path.data_out(&cdb16(0x83, 0, 0, u32::try_from(list.len()).unwrap()), list)
}

/// LIST ID USAGE and LIST IDENTIFIER, the priority, DC and CAT, and either logical unit as receiver
/// of the EXTENDED COPY.
#[test]
fn a_copy_in_any_dress() {
    let array = Array::new();
    let (source, destination) = (array.on(array.a, 0), array.on(array.a, 1));
    source.write(0, &pattern(7, 64));
    for (usage, id) in [(0b00, 0), (0b00, 9), (0b10, 0), (0b10, 200), (0b11, 0)] {
        for priority in [0, 1, 7] {
            for flags in 0..4 {
                for receiver in [source, destination] {
                    let mut list = list_between([10, 11], 64, 0, 128);
                    list[0] = id;
                    list[1] = usage << 3 | priority;
                    // The segment follows a header of 16 and two descriptors of 32 bytes.
                    list[16 + 64 + 1] |= flags;
                    destination.write(128, &pattern(0, 64));
                    assert_good(&send_copy(&receiver, &list));
                    assert_eq!(destination.read(128, 64), pattern(7, 64), "{usage:02b} {id} {priority} {flags:02b}");
                }
            }
        }
    }
}

/// 3PC of standard INQUIRY data, VPD page 8Fh and the operating parameters all announce third-party
/// copies.
#[test]
fn third_party_copies_are_announced_everywhere() {
    let array = Array::new();
    let path = array.lun0();
    assert_eq!(path.command(&[0x12, 0, 0, 0, 96, 0]).data_in[5] & 0x08, 0x08);
    let pages = path.command(&[0x12, 1, 0x00, 0, 255, 0]).data_in;
    assert!(pages[4..].contains(&0x8f), "{pages:02x?}");
    let parameters = path.command(&cdb16(0x84, 0x03, 0, 1024)).data_in;
    // SNLID: a host need not use list identifiers.
    assert_eq!(parameters[4] & 1, 1);
}

/// UNMAP and NDOB of WRITE SAME, its 10-byte form, and counts up to the announced maximum.
#[test]
fn zeros_in_any_dress() {
    let array = Array::new();
    let path = array.lun0();
    let largest = u64::from_be_bytes(path.command(&[0x12, 1, 0xb0, 0, 255, 0]).data_in[36..44].try_into().unwrap());
    for blocks in [1, 8, 2048, largest.min(BLOCKS)] {
        for flags in [0x00, 0x01, 0x08, 0x09] {
            path.write(0, &pattern(3, 1));
            let data = if flags & 1 == 1 { Vec::new() } else { pattern(0, 1) };
            assert_good(&path.data_out(&cdb16(0x93, flags, 0, u32::try_from(blocks).unwrap()), &data));
            assert_eq!(path.read(0, 1), pattern(0, 1), "{flags:02x} {blocks}");
        }
        for flags in [0x00, 0x08] {
            let [high, low] = u16::try_from(blocks.min(0xffff)).unwrap().to_be_bytes();
            path.write(0, &pattern(3, 1));
            assert_good(&path.data_out(&[0x41, flags, 0, 0, 0, 0, 0, high, low, 0], &pattern(0, 1)));
            assert_eq!(path.read(0, 1), pattern(0, 1), "short form, {flags:02x} {blocks}");
        }
    }
}

/// UNMAP with various numbers of descriptors and of blocks.
#[test]
fn unmaps_of_any_shape() {
    let array = Array::new();
    let path = array.lun0();
    let page = path.command(&[0x12, 1, 0xb0, 0, 255, 0]).data_in;
    let number = |at: usize| u32::from_be_bytes(page[at..at + 4].try_into().unwrap());
    let (blocks, descriptors) = (number(20), number(24));
    for (count, each) in [(1, 1), (1, 2048), (1, 409_600), (100, 8), (descriptors, 8)] {
        let each = each.min(blocks).min(u32::try_from(BLOCKS).unwrap() / count);
        path.write(0, &pattern(5, 8));
        let ranges: Vec<_> = (0..count).map(|index| (u64::from(index * each), each)).collect();
        let list = unmap_parameter_list(&ranges);
        let [high, low] = u16::try_from(list.len()).unwrap().to_be_bytes();
        assert_good(&path.data_out(&[0x42, 0, 0, 0, 0, 0, 0, high, low, 0], &list));
        assert_eq!(path.read(0, 1), pattern(0, 1), "{count} of {each}");
    }
}

/// Optional commands of hosts all work.
#[test]
fn commands_that_a_host_may_use() {
    let array = Array::new();
    let path = array.lun0();
    assert_good(&path.command(&cdb16(0xa3, 0x0c, 0, 0)[..12]));
    assert_good(&path.command(&[0x4d, 0, 0x4c, 0, 0, 0, 0, 0, 255, 0]));
    assert_good(&path.command(&cdb16(0x9e, 0x12, 0, 24)));
    assert_good(&path.command(&[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_good(&path.command(&cdb16(0x91, 0, 0, 0)));
}

/// Every form of EXTENDED COPY is listed as supported: with a short list identifier, with a long
/// one, and by tokens.
#[test]
fn every_form_of_a_copy_is_supported() {
    let array = Array::new();
    let path = array.lun0();
    for action in [0x00, 0x01, 0x10, 0x11] {
        let mut cdb = cdb16(0xa3, 0x0c, 0, 0);
        // REPORTING OPTIONS 010b: this operation code with this service action.
        (cdb[2], cdb[3], cdb[5], cdb[9]) = (0x02, 0x83, action, 255);
        let data = path.command(&cdb[..12]).data_in;
        assert_eq!(data[1] & 0x07, 0x03, "service action {action:02x}h is supported as the standard says");
    }
}

/// HISUP and D_SENSE: LUNs have one level and sense data has fixed format; a request for the other
/// form is answered.
#[test]
fn sense_and_addresses_in_either_form() {
    let array = Array::new();
    let path = array.lun0();
    assert_eq!(path.command(&[0x12, 0, 0, 0, 96, 0]).data_in[3] & 0x10, 0, "HISUP");
    let control = path.command(&[0x1a, 0, 0x0a, 0, 255, 0]).data_in;
    assert_eq!(control[12 + 2] & 0x04, 0, "fixed format, which every host reads");
    let fixed = path.command(&[0x03, 0, 0, 0, 252, 0]).data_in;
    assert_eq!(fixed[0] & 0x7f, 0x70);
    // SPC-4 §6.39: DESC without support for descriptor format is an invalid field, and changes nothing.
    assert_field(&path.command(&[0x03, 1, 0, 0, 252, 0]), true, 1);
}
