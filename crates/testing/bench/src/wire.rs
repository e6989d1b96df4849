//! The few iSCSI PDUs and SCSI commands that a load needs, as bytes (RFC 7143 §11, SBC-3 §5, SPC-4 §6).
//!
//! The kit does not use the array's own protocol crates: an error that both ends share would go unseen, and a load client that costs
//! little processor time leaves more of a small machine to the server that is measured.

/// Length of a basic header segment.
pub(crate) const HEADER_BYTES: usize = 48;
/// Reserved value of Initiator Task Tag and Target Transfer Tag.
pub(crate) const NO_TAG: u32 = 0xffff_ffff;

/// Opcodes of the PDUs in use (RFC 7143 §11.2.1.2).
pub(crate) mod opcode {
    pub(crate) const NOP_OUT: u8 = 0x00;
    pub(crate) const SCSI_COMMAND: u8 = 0x01;
    pub(crate) const LOGIN_REQUEST: u8 = 0x03;
    pub(crate) const DATA_OUT: u8 = 0x05;
    pub(crate) const NOP_IN: u8 = 0x20;
    pub(crate) const SCSI_RESPONSE: u8 = 0x21;
    pub(crate) const LOGIN_RESPONSE: u8 = 0x23;
    pub(crate) const DATA_IN: u8 = 0x25;
    pub(crate) const R2T: u8 = 0x31;
    /// Bit of the first byte: immediate delivery.
    pub(crate) const IMMEDIATE: u8 = 0x40;
}

/// A basic header segment, read and written by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header(pub(crate) [u8; HEADER_BYTES]);

impl Header {
    /// All zeros but for the opcode byte and the flags.
    pub(crate) fn new(opcode: u8, flags: u8) -> Self {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = opcode;
        bytes[1] = flags;
        Self(bytes)
    }

    /// Opcode without the bit for immediate delivery.
    pub(crate) fn opcode(&self) -> u8 {
        self.0[0] & 0x3f
    }

    /// The second byte.
    pub(crate) fn flags(&self) -> u8 {
        self.0[1]
    }

    /// Status of a SCSI Response, or of a Data-In with the S bit.
    pub(crate) fn status(&self) -> u8 {
        self.0[3]
    }

    /// Bytes of additional header segments that follow.
    pub(crate) fn additional_bytes(&self) -> usize {
        usize::from(self.0[4]) * 4
    }

    /// Length of the data segment without its padding.
    pub(crate) fn data_bytes(&self) -> usize {
        usize::from(self.0[5]) << 16 | usize::from(self.0[6]) << 8 | usize::from(self.0[7])
    }

    /// Length of the data segment with its padding to four bytes.
    pub(crate) fn padded_data_bytes(&self) -> usize {
        self.data_bytes().next_multiple_of(4)
    }

    /// Sets the length of the data segment, which has at most 2^24 − 1 bytes.
    pub(crate) fn set_data_bytes(&mut self, length: usize) {
        self.0[5] = (length >> 16 & 0xff) as u8;
        self.0[6] = (length >> 8 & 0xff) as u8;
        self.0[7] = (length & 0xff) as u8;
    }

    /// Four bytes at `offset` (at most 44), big-endian.
    pub(crate) fn word(&self, offset: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[offset..offset + 4]);
        u32::from_be_bytes(bytes)
    }

    /// Sets four bytes at `offset` (at most 44).
    pub(crate) fn set_word(&mut self, offset: usize, value: u32) {
        self.0[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Sets the eight bytes of the LUN field: peripheral device addressing, LUN 0 to 255.
    pub(crate) fn set_lun(&mut self, lun: u8) {
        self.0[8..16].copy_from_slice(&[0, lun, 0, 0, 0, 0, 0, 0]);
    }
}

/// A SCSI command with its data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Command {
    /// The command descriptor block.
    pub(crate) cdb: [u8; 16],
    /// Data-Out; empty when there is none.
    pub(crate) data_out: std::rc::Rc<[u8]>,
    /// Length of the Data-In that is expected.
    pub(crate) data_in_bytes: u32,
}

/// Eight bytes of LBA at byte 2 and four bytes of count at byte 10, as all the 16-byte block commands have them.
fn block_cdb(operation: u8, flags: u8, lba: u64, count: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = operation;
    cdb[1] = flags;
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&count.to_be_bytes());
    cdb
}

/// READ (16), SBC-3 §5.11, of `count` blocks of 512 bytes.
pub(crate) fn read(lba: u64, count: u32) -> Command {
    Command { cdb: block_cdb(0x88, 0, lba, count), data_out: [].into(), data_in_bytes: count.saturating_mul(512) }
}

/// WRITE (16), SBC-3 §5.34; `data` has `count` blocks of 512 bytes.
pub(crate) fn write(lba: u64, count: u32, data: std::rc::Rc<[u8]>) -> Command {
    Command { cdb: block_cdb(0x8a, 0, lba, count), data_out: data, data_in_bytes: 0 }
}

/// COMPARE AND WRITE, SBC-3 §5.2, of one block; `data` is the verify block and then the write block.
pub(crate) fn compare_and_write(lba: u64, data: std::rc::Rc<[u8]>) -> Command {
    let mut cdb = block_cdb(0x89, 0, lba, 0);
    cdb[13] = 1;
    Command { cdb, data_out: data, data_in_bytes: 0 }
}

/// WRITE SAME (16), SBC-3 §5.43, of `count` blocks with the one block of `data`.
pub(crate) fn write_same(lba: u64, count: u32, data: std::rc::Rc<[u8]>) -> Command {
    Command { cdb: block_cdb(0x93, 0, lba, count), data_out: data, data_in_bytes: 0 }
}

/// INQUIRY, SPC-4 §6.6, of a vital product data page.
pub(crate) fn inquiry_page(page: u8) -> Command {
    let mut cdb = [0; 16];
    cdb[..6].copy_from_slice(&[0x12, 1, page, 0, 255, 0]);
    Command { cdb, data_out: [].into(), data_in_bytes: 255 }
}

/// TEST UNIT READY, SPC-4 §6.47.
pub(crate) fn test_unit_ready() -> Command {
    Command::default()
}

/// EXTENDED COPY (LID1), SPC-4 §6.4, with one segment descriptor 02h between two logical units that are named by their NAA designators.
/// List identifier usage 11b: the copy manager keeps nothing about the command.
pub(crate) fn extended_copy(
    source: &[u8; 16],
    destination: &[u8; 16],
    source_lba: u64,
    destination_lba: u64,
    count: u16,
) -> Command {
    const DESCRIPTORS_BYTES: u16 = 2 * 32;
    const SEGMENT_BYTES: u32 = 28;
    let mut list = Vec::with_capacity(16 + 64 + 28);
    list.extend_from_slice(&[0, 0x18]);
    list.extend_from_slice(&DESCRIPTORS_BYTES.to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    list.extend_from_slice(&SEGMENT_BYTES.to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    for designator in [source, destination] {
        // E4h identification descriptor: direct access device, binary NAA designator of the logical unit, 512-byte blocks.
        list.extend_from_slice(&[0xe4, 0, 0, 0, 1, 3, 0, 16]);
        list.extend_from_slice(designator);
        list.extend_from_slice(&[0, 0, 0, 0, 0, 0, 2, 0]);
    }
    // DC = 1: the count is that of the destination.
    list.extend_from_slice(&[0x02, 0x02, 0, 0x18, 0, 0, 0, 1, 0, 0]);
    list.extend_from_slice(&count.to_be_bytes());
    list.extend_from_slice(&source_lba.to_be_bytes());
    list.extend_from_slice(&destination_lba.to_be_bytes());
    let mut cdb = [0; 16];
    cdb[0] = 0x83;
    let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
    cdb[10..14].copy_from_slice(&length.to_be_bytes());
    Command { cdb, data_out: list.into(), data_in_bytes: 0 }
}

/// The 16-byte NAA designator of the logical unit in VPD page 83h (SPC-4 §7.8.6); `None` when there is none.
pub(crate) fn naa_designator(page: &[u8]) -> Option<[u8; 16]> {
    let mut rest = page.get(4..)?;
    while let [code_set, kind, _, length, ..] = *rest {
        let designator = rest.get(4..4 + usize::from(length))?;
        if code_set & 0x0f == 1 && kind & 0x3f == 0x03 && designator.len() == 16 {
            return designator.try_into().ok();
        }
        rest = rest.get(4 + usize::from(length)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_commands_have_their_fields_where_the_standard_says() {
        let command = read(0x0102_0304_0506_0708, 8);
        assert_eq!(command.cdb, [0x88, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 8, 0, 0]);
        assert_eq!(command.data_in_bytes, 4096);
        let command = compare_and_write(5, vec![0; 1024].into());
        assert_eq!(command.cdb, [0x89, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn extended_copy_has_two_targets_and_a_segment() {
        let command = extended_copy(&[0x61; 16], &[0x62; 16], 1, 2, 8192);
        assert_eq!(command.data_out.len(), 108);
        assert_eq!(command.cdb[13], 108);
        assert_eq!(command.data_out[..16], [0, 0x18, 0, 64, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 0]);
        assert_eq!(command.data_out[16..24], [0xe4, 0, 0, 0, 1, 3, 0, 16]);
        assert_eq!(command.data_out[44..48], [0, 0, 2, 0]);
        let segment = [2, 2, 0, 0x18, 0, 0, 0, 1, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2];
        assert_eq!(command.data_out[80..], segment);
    }

    #[test]
    fn the_designator_of_the_logical_unit_is_found() {
        let mut page = vec![0, 0x83, 0, 36, 2, 1, 0, 4, b'a', b'b', b'c', b'd', 1, 3, 0, 16];
        page.extend_from_slice(&[0x6a; 16]);
        assert_eq!(naa_designator(&page), Some([0x6a; 16]));
        page.truncate(20);
        assert_eq!(naa_designator(&page), None);
        assert_eq!(naa_designator(&[]), None);
    }

    #[test]
    fn headers_read_what_they_wrote() {
        let mut header = Header::new(opcode::SCSI_COMMAND, 0x81);
        header.set_data_bytes(0x01_02_03);
        header.set_lun(7);
        header.set_word(16, 0xdead_beef);
        assert_eq!((header.data_bytes(), header.padded_data_bytes()), (0x01_02_03, 0x01_02_04));
        assert_eq!(header.word(16), 0xdead_beef);
        assert_eq!(header.0[8..16], [0, 7, 0, 0, 0, 0, 0, 0]);
    }
}
