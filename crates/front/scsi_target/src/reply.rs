//! Result of a command that completed.

use bytes::Bytes;
use scsi::FixedSense;
use unit::OffloadWork;

/// Result of a command that completed with GOOD status.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub data_in: Bytes,
    pub transfer_bytes: u64,
    pub offload: Option<Box<OffloadWork>>,
    /// Sense data returned with GOOD status.
    pub sense: Option<FixedSense>,
}

impl Reply {
    /// No data returned, no data moved.
    pub fn good() -> Self {
        Self::default()
    }

    /// Parameter data, cut to the allocation length.
    pub fn parameter_data(data: Vec<u8>, allocation_length: impl Into<u64>) -> Self {
        let allocation_length = usize::try_from(allocation_length.into()).unwrap_or(usize::MAX);
        let data_in = Bytes::from(scsi::truncate(data, allocation_length));
        let transfer_bytes = data_in.len() as u64;
        Self { data_in, transfer_bytes, ..Self::default() }
    }

    /// Block data; the command's full length is `transfer_bytes`.
    pub fn blocks(data_in: Bytes, transfer_bytes: u64) -> Self {
        Self { data_in, transfer_bytes, ..Self::default() }
    }

    /// GOOD after Data-Out of this length.
    pub fn took(transfer_bytes: u64) -> Self {
        Self { transfer_bytes, ..Self::default() }
    }

    /// Adds the work of an offload.
    pub fn offloaded(mut self, work: OffloadWork) -> Self {
        self.offload = Some(Box::new(work));
        self
    }
}
