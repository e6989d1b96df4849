//! Subject of a probe: a logical unit over two sessions, with a few properties beyond those of
//! [`Device`].

use bytes::Bytes;
use data_mover::{Device, DeviceError, Extent, Identity};
use initiator::{LogicalUnit, cdb};
use iscsi::initiator::TransferRequest;

/// LOG SENSE of the cumulative values of page 0Ch, SPC-4 §6.8.
const LOG_SENSE: [u8; 10] = [0x4d, 0, 0x40 | 0x0c, 0, 0, 0, 0, 0, 64, 0];

/// A logical unit that can be probed.
pub(crate) trait Probed: Device {
    /// TCP payload of its session so far, both ways, in bytes.
    fn wire_bytes(&self) -> u64;

    /// LBPRZ.
    fn zeros_when_unmapped(&self) -> bool;

    /// VPD page B2h; `None` when the unit has none.
    async fn provisioning_page(&self) -> Result<Option<Bytes>, DeviceError>;

    /// Log page 0Ch, the logical block provisioning log page; `None` when the unit has none.
    async fn provisioning_log(&self) -> Result<Option<Bytes>, DeviceError>;

    /// Whether no block of an extent is mapped, according to GET LBA STATUS; `None` when the unit
    /// does not know the command.
    async fn is_unmapped(&self, extent: Extent) -> Result<Option<bool>, DeviceError>;
}

impl Probed for LogicalUnit {
    fn wire_bytes(&self) -> u64 {
        let counters = self.session().counters();
        counters.sent_bytes + counters.received_bytes
    }

    fn zeros_when_unmapped(&self) -> bool {
        self.reads_zeros()
    }

    async fn provisioning_page(&self) -> Result<Option<Bytes>, DeviceError> {
        self.page(0xb2).await
    }

    async fn provisioning_log(&self) -> Result<Option<Bytes>, DeviceError> {
        known(self.run("LOG SENSE", cdb::padded(&LOG_SENSE), TransferRequest::In(64)).await)
    }

    async fn is_unmapped(&self, extent: Extent) -> Result<Option<bool>, DeviceError> {
        let command = self.run("GET LBA STATUS", cdb::get_lba_status(extent.lba, 24), TransferRequest::In(24));
        let Some(answer) = known(command.await)? else { return Ok(None) };
        let (Some(count), Some(status)) = (answer.get(16..20), answer.get(20)) else { return Ok(None) };
        let count = count.try_into().map_or(0, u32::from_be_bytes);
        Ok(Some(status & 0x0f == 1 && u64::from(count) >= extent.blocks))
    }
}

/// Returns `None` for a command that the unit refuses.
fn known(answer: Result<Bytes, DeviceError>) -> Result<Option<Bytes>, DeviceError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_lost() => Err(error),
        Err(_) => Ok(None),
    }
}

/// The unit, and a second session to it for tests that need two hosts.
pub(crate) struct Subject<D = LogicalUnit> {
    pub(crate) unit: D,
    pub(crate) other: D,
}

impl<D: Device> Subject<D> {
    pub(crate) fn identity(&self) -> &Identity {
        self.unit.identity()
    }
}
