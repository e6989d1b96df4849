//! CDBs and parameter lists as bytes (SPC-4, SBC-3). Builders for the commands of the kit; a test
//! that needs a malformed command changes the bytes.

/// A CDB padded to 16 bytes.
pub type Cdb = [u8; 16];

/// Copies a short CDB.
pub fn padded(bytes: &[u8]) -> Cdb {
    let mut cdb = [0; 16];
    for (to, from) in cdb.iter_mut().zip(bytes) {
        *to = *from;
    }
    cdb
}

fn with_lba_and_count(opcode: u8, flags: u8, lba: u64, count: u32) -> Cdb {
    let mut cdb = [0; 16];
    cdb[0] = opcode;
    cdb[1] = flags;
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&count.to_be_bytes());
    cdb
}

fn with_length_at(mut cdb: Cdb, at: usize, length: u32) -> Cdb {
    for (to, from) in cdb.iter_mut().skip(at).zip(length.to_be_bytes()) {
        *to = from;
    }
    cdb
}

/// TEST UNIT READY, SPC-4 §6.47.
pub fn test_unit_ready() -> Cdb {
    [0; 16]
}

/// INQUIRY, SPC-4 §6.6; `page` selects a VPD page.
pub fn inquiry(page: Option<u8>, allocation_length: u16) -> Cdb {
    let [high, low] = allocation_length.to_be_bytes();
    padded(&[0x12, u8::from(page.is_some()), page.unwrap_or(0), high, low, 0])
}

/// MODE SENSE (6) of the current values of a page, without block descriptors, SPC-4 §6.13.
pub fn mode_sense6(page: u8) -> Cdb {
    padded(&[0x1A, 0x08, page, 0, 0xFF, 0])
}

/// MODE SELECT (6) of pages in page format, not saved, SPC-4 §6.11.
pub fn mode_select6(parameter_list_length: u8) -> Cdb {
    padded(&[0x15, 0x10, 0, 0, parameter_list_length, 0])
}

/// READ CAPACITY (16), SBC-3 §5.16.
pub fn read_capacity16() -> Cdb {
    with_length_at(padded(&[0x9E, 0x10]), 10, 32)
}

/// REPORT LUNS, SPC-4 §6.33.
pub fn report_luns(allocation_length: u32) -> Cdb {
    with_length_at(padded(&[0xA0]), 6, allocation_length)
}

/// READ (16), SBC-3 §5.12.
pub fn read16(lba: u64, blocks: u32) -> Cdb {
    with_lba_and_count(0x88, 0, lba, blocks)
}

/// WRITE (16), SBC-3 §5.33.
pub fn write16(lba: u64, blocks: u32, force_unit_access: bool) -> Cdb {
    with_lba_and_count(0x8A, if force_unit_access { 0x08 } else { 0 }, lba, blocks)
}

/// SYNCHRONIZE CACHE (16), SBC-3 §5.23; zero blocks for all.
pub fn synchronize_cache16(lba: u64, blocks: u32) -> Cdb {
    with_lba_and_count(0x91, 0, lba, blocks)
}

/// COMPARE AND WRITE, SBC-3 §5.2. Data-Out is the compare image and then the write image.
pub fn compare_and_write(lba: u64, blocks: u8) -> Cdb {
    let mut cdb = with_lba_and_count(0x89, 0, lba, 0);
    cdb[13] = blocks;
    cdb
}

/// WRITE SAME (16), SBC-3 §5.46. With `no_data_out` (NDOB) the block is zeros and not sent.
pub fn write_same16(lba: u64, blocks: u32, unmap: bool, no_data_out: bool) -> Cdb {
    with_lba_and_count(0x93, u8::from(unmap) << 3 | u8::from(no_data_out), lba, blocks)
}

/// UNMAP, SBC-3 §5.28.
pub fn unmap(parameter_list_length: u16) -> Cdb {
    let [high, low] = parameter_list_length.to_be_bytes();
    padded(&[0x42, 0, 0, 0, 0, 0, 0, high, low, 0])
}

/// Parameter list of UNMAP: LBA and number of blocks of each range.
pub fn unmap_list(ranges: &[(u64, u32)]) -> Vec<u8> {
    let descriptors = u16::try_from(ranges.len() * 16).unwrap_or(u16::MAX);
    let mut list = Vec::with_capacity(8 + ranges.len() * 16);
    list.extend_from_slice(&descriptors.saturating_add(6).to_be_bytes());
    list.extend_from_slice(&descriptors.to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    for (lba, blocks) in ranges {
        list.extend_from_slice(&lba.to_be_bytes());
        list.extend_from_slice(&blocks.to_be_bytes());
        list.extend_from_slice(&[0; 4]);
    }
    list
}

/// GET LBA STATUS, SBC-3 §5.4.
pub fn get_lba_status(lba: u64, allocation_length: u32) -> Cdb {
    let mut cdb = with_lba_and_count(0x9E, 0x12, lba, 0);
    cdb[10..14].copy_from_slice(&allocation_length.to_be_bytes());
    cdb
}

/// EXTENDED COPY (LID1), SPC-4 §6.3.
pub fn extended_copy(parameter_list_length: u32) -> Cdb {
    with_length_at(padded(&[0x83, 0x00]), 10, parameter_list_length)
}

/// RECEIVE COPY RESULTS with the given service action, SPC-4 §6.24 to §6.27.
pub fn receive_copy_results(service_action: u8, list_identifier: u8, allocation_length: u32) -> Cdb {
    with_length_at(padded(&[0x84, service_action & 0x1F, list_identifier]), 10, allocation_length)
}

/// One block to block segment of an EXTENDED COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySegment {
    /// Index of the source among the CSCD descriptors.
    pub source: u16,
    /// Index of the destination among the CSCD descriptors.
    pub destination: u16,
    /// First block of the source.
    pub source_lba: u64,
    /// First block of the destination.
    pub destination_lba: u64,
    /// Number of blocks.
    pub blocks: u16,
}

/// Parameter list of EXTENDED COPY (LID1) as ESXi sends it: LIST ID USAGE 11b, identification CSCD descriptors (E4h)
/// with NAA designators, block to block segments (02h), 512-byte blocks.
pub fn extended_copy_list(designators: &[[u8; 16]], segments: &[CopySegment]) -> Vec<u8> {
    let mut list = vec![0x00, 0x18];
    list.extend_from_slice(&u16::try_from(designators.len() * 32).unwrap_or(u16::MAX).to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    list.extend_from_slice(&u32::try_from(segments.len() * 28).unwrap_or(u32::MAX).to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    for designator in designators {
        list.extend_from_slice(&[0xE4, 0, 0, 0, 0x01, 0x03, 0x00, 0x10]);
        list.extend_from_slice(designator);
        list.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0x02, 0x00]);
    }
    for segment in segments {
        list.extend_from_slice(&[0x02, 0, 0, 0x18]);
        list.extend_from_slice(&segment.source.to_be_bytes());
        list.extend_from_slice(&segment.destination.to_be_bytes());
        list.extend_from_slice(&[0, 0]);
        list.extend_from_slice(&segment.blocks.to_be_bytes());
        list.extend_from_slice(&segment.source_lba.to_be_bytes());
        list.extend_from_slice(&segment.destination_lba.to_be_bytes());
    }
    list
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    #[test]
    fn bytes_of_the_commands() {
        assert_eq!(inquiry(Some(0x83), 0x1234), hex!("12 01 83 1234 00 00000000000000000000"));
        assert_eq!(read_capacity16(), hex!("9e 10 0000000000000000 00000020 0000"));
        assert_eq!(read16(0x1122, 8), hex!("88 00 0000000000001122 00000008 0000"));
        assert_eq!(write16(1, 2, true), hex!("8a 08 0000000000000001 00000002 0000"));
        assert_eq!(compare_and_write(0x14000, 1), hex!("89 00 0000000000014000 000000 01 00 00"));
        assert_eq!(write_same16(5, 2048, true, true), hex!("93 09 0000000000000005 00000800 0000"));
        assert_eq!(unmap(24), hex!("42 00 00000000 00 0018 00 000000000000"));
        assert_eq!(unmap_list(&[(16, 8)]), hex!("0016 0010 00000000 0000000000000010 00000008 00000000"));
        assert_eq!(receive_copy_results(3, 0, 0x4000), hex!("84 03 00 00000000000000 00004000 0000"));
        assert_eq!(get_lba_status(9, 24), hex!("9e 12 0000000000000009 00000018 0000"));
        assert_eq!(report_luns(256), hex!("a0 00 00000000 00000100 000000000000"));
    }

    /// Example of a 4 MiB copy between two logical units.
    #[test]
    fn extended_copy_between_two_logical_units() {
        let (source, destination) = ([0x61; 16], [0x62; 16]);
        let segment = CopySegment { source: 0, destination: 1, source_lba: 3, destination_lba: 4, blocks: 8192 };
        let list = extended_copy_list(&[source, destination], &[segment]);
        assert_eq!(extended_copy(list.len() as u32), hex!("83 00 0000000000000000 0000006c 0000"));
        assert_eq!(list[..16], hex!("00 18 0040 00000000 0000001c 00000000"));
        assert_eq!(list[16..24], hex!("e4 00 0000 01 03 00 10"));
        assert_eq!(list[40..48], hex!("00000000 00 000200"));
        assert_eq!(list[80..], hex!("02 00 0018 0000 0001 0000 2000 0000000000000003 0000000000000004"));
    }
}
