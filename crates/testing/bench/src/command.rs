//! Commands of the loads: a CDB with its data.

use bytes::Bytes;
use initiator::cdb::{self, Cdb, CopySegment};
use iscsi::initiator::TransferRequest;

/// A SCSI command.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) cdb: Cdb,
    pub(crate) transfer: TransferRequest,
}

impl Command {
    /// A command without data.
    pub(crate) fn without_data(cdb: Cdb) -> Self {
        Self { cdb, transfer: TransferRequest::None }
    }

    fn data_out(cdb: Cdb, data: Bytes) -> Self {
        Self { cdb, transfer: TransferRequest::Out(data) }
    }
}

/// TEST UNIT READY.
pub(crate) fn test_unit_ready() -> Command {
    Command::without_data(cdb::test_unit_ready())
}

/// INQUIRY of a VPD page.
pub(crate) fn inquiry_page(page: u8) -> Command {
    Command { cdb: cdb::inquiry(Some(page), 255), transfer: TransferRequest::In(255) }
}

/// READ (16) of `count` blocks of 512 bytes.
pub(crate) fn read(lba: u64, count: u32) -> Command {
    Command { cdb: cdb::read16(lba, count), transfer: TransferRequest::In(count.saturating_mul(512)) }
}

/// WRITE (16); `data` has `count` blocks of 512 bytes.
pub(crate) fn write(lba: u64, count: u32, data: Bytes) -> Command {
    Command::data_out(cdb::write16(lba, count, false), data)
}

/// COMPARE AND WRITE of one block; `data` is the verify block followed by the write block.
pub(crate) fn compare_and_write(lba: u64, data: Bytes) -> Command {
    Command::data_out(cdb::compare_and_write(lba, 1), data)
}

/// WRITE SAME (16) of `count` blocks with the one block of `data`.
pub(crate) fn write_same(lba: u64, count: u32, data: Bytes) -> Command {
    Command::data_out(cdb::write_same16(lba, count, false, false), data)
}

/// EXTENDED COPY (LID1) with one segment between two logical units named by NAA designators.
pub(crate) fn extended_copy(
    source: &[u8; 16],
    destination: &[u8; 16],
    source_lba: u64,
    destination_lba: u64,
    blocks: u16,
) -> Command {
    let segment = CopySegment { source: 0, destination: 1, source_lba, destination_lba, blocks };
    let list = cdb::extended_copy_list(&[*source, *destination], &[segment]);
    Command::data_out(cdb::extended_copy(u32::try_from(list.len()).unwrap_or(u32::MAX)), list.into())
}
