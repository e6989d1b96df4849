//! [`Device`] for a logical unit, by SCSI commands.

use super::{LogicalUnit, lost};
use crate::cdb::{self, CopySegment};
use crate::parameter_data::narrow;
use bytes::Bytes;
use data_mover::{Compared, CopyDescriptor, Device, DeviceError, Extent, Gate, Identity, LbaStatus};
use iscsi::initiator::TransferRequest;
use iscsi::pdu::{TaskManagementFunction, TaskManagementResponse};

impl Device for LogicalUnit {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.read_blocks(extent.lba, narrow(extent.blocks)).await
    }

    async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        let blocks = narrow(data.len() as u64 / u64::from(self.identity.block_bytes));
        self.run("WRITE", cdb::write16(lba, blocks, false), TransferRequest::Out(data)).await.map(drop)
    }

    async fn compare_and_write(&self, lba: u64, expected: Bytes, new: Bytes) -> Result<Compared, DeviceError> {
        let blocks = expected.len() / self.identity.block_bytes as usize;
        let cdb = cdb::compare_and_write(lba, u8::try_from(blocks).unwrap_or(u8::MAX));
        let data = Bytes::from([expected, new].concat());
        match self.run("COMPARE AND WRITE", cdb, TransferRequest::Out(data)).await {
            Ok(_) => Ok(Compared::Written),
            // MISCOMPARE DURING VERIFY OPERATION
            Err(DeviceError::Refused { sense: data_mover::Sense { key: 0xe, code: 0x1d, qualifier: 0 }, .. }) => {
                Ok(Compared::Miscompare)
            }
            Err(error) => Err(error),
        }
    }

    async fn write_zeros(&self, extent: Extent, unmap: bool) -> Result<(), DeviceError> {
        let cdb = cdb::write_same16(extent.lba, narrow(extent.blocks), unmap && self.thin && self.reads_zeros, false);
        let block = Bytes::from(vec![0; self.identity.block_bytes as usize]);
        self.run("WRITE SAME", cdb, TransferRequest::Out(block)).await.map(drop)
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), DeviceError> {
        let ranges: Vec<_> = extents.iter().map(|extent| (extent.lba, narrow(extent.blocks))).collect();
        let list = cdb::unmap_list(&ranges);
        let cdb = cdb::unmap(u16::try_from(list.len()).unwrap_or(u16::MAX));
        self.run("UNMAP", cdb, TransferRequest::Out(list.into())).await.map(drop)
    }

    async fn extended_copy(&self, source: &[u8; 16], segments: &[CopyDescriptor]) -> Result<(), DeviceError> {
        let Some(own) = self.identity.naa else { return Err(DeviceError::NotSupported("EXTENDED COPY")) };
        let segments: Vec<_> = segments
            .iter()
            .map(|segment| CopySegment {
                source: 0,
                destination: 1,
                source_lba: segment.source_lba,
                destination_lba: segment.destination_lba,
                blocks: segment.blocks,
            })
            .collect();
        let list = cdb::extended_copy_list(&[*source, own], &segments);
        let cdb = cdb::extended_copy(narrow(list.len() as u64));
        self.run("EXTENDED COPY", cdb, TransferRequest::Out(list.into())).await.map(drop)
    }

    async fn lba_status(&self, lba: u64) -> Result<Vec<LbaStatus>, DeviceError> {
        if !(self.thin && self.reads_zeros) {
            return Err(DeviceError::NotSupported("GET LBA STATUS with LBPRZ"));
        }
        let runs = self.provisioning(lba).await?;
        Ok(runs.into_iter().map(|(extent, status)| LbaStatus { extent, mapped: !matches!(status, 1 | 2) }).collect())
    }

    async fn reserve(&self) -> Result<(), DeviceError> {
        self.run("RESERVE", cdb::padded(&[0x16]), TransferRequest::None).await.map(drop)
    }

    async fn release(&self) -> Result<(), DeviceError> {
        self.run("RELEASE", cdb::padded(&[0x17]), TransferRequest::None).await.map(drop)
    }

    async fn read_reserved(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.read_over(extent.lba, narrow(extent.blocks), false).await
    }

    async fn write_reserved(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        let blocks = narrow(data.len() as u64 / u64::from(self.identity.block_bytes));
        self.run_over("WRITE", cdb::write16(lba, blocks, false), TransferRequest::Out(data), false).await.map(drop)
    }

    async fn reset(&self) -> Result<(), DeviceError> {
        let function = TaskManagementFunction::LOGICAL_UNIT_RESET;
        match self.session.manage_tasks(function, self.lun).await.map_err(lost)? {
            TaskManagementResponse::COMPLETE => Ok(()),
            _ => Err(DeviceError::NotSupported("LOGICAL UNIT RESET")),
        }
    }

    /// Applies to the whole session, and so to all its logical units.
    fn only_while(&self, gate: Gate) {
        self.session.only_while(gate);
    }
}
