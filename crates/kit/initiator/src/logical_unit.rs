//! A logical unit found at a LUN of a session.

use crate::cdb;
use crate::parameter_data::{Capacity, designator, long, naa, narrow, provisioning, text, word};
use crate::sense::Sense;
use crate::session::{Session, SessionError};
use bytes::Bytes;
use data_mover::{Device, DeviceError, Extent, Identity, Limits};
use iscsi::initiator::{Completion, TransferRequest};
use std::ops::Range;
use std::time::Duration;
use thiserror::Error;

mod device;

const GOOD: u8 = 0x00;
const CHECK_CONDITION: u8 = 0x02;
const BUSY: u8 = 0x08;
const RESERVATION_CONFLICT: u8 = 0x18;
const TASK_SET_FULL: u8 = 0x28;
const UNIT_ATTENTION: u8 = 0x06;

/// Largest number of retries after BUSY, TASK SET FULL or a unit attention.
const MAX_RETRIES: u32 = 200;
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// Reason why no logical unit was found.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProbeError {
    /// The session failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A mandatory command failed.
    #[error("LUN {lun}: {error}")]
    Command {
        /// LUN, as in the URL.
        lun: u16,
        /// Error of the command.
        error: DeviceError,
    },
    /// No logical unit, or no disk, is at the LUN.
    #[error("there is no disk at LUN {lun} (peripheral qualifier and device type {found:02x}h)")]
    NoDisk {
        /// LUN, as in the URL.
        lun: u16,
        /// Byte 0 of the INQUIRY data.
        found: u8,
    },
    /// READ CAPACITY returns an unusable block length.
    #[error(
        "LUN {lun}: READ CAPACITY reports logical blocks of {bytes} bytes; the length must be a power of two from 512 to 65536"
    )]
    BlockLength {
        /// LUN, as in the URL.
        lun: u16,
        /// Block length in bytes.
        bytes: u32,
    },
    /// READ CAPACITY returns an impossible capacity.
    #[error(
        "LUN {lun}: READ CAPACITY reports {last} as the last block, of {block_bytes} bytes each; a disk has less than 8 EiB"
    )]
    Capacity {
        /// LUN, as in the URL.
        lun: u16,
        /// LBA of the last block.
        last: u64,
        /// Block length in bytes.
        block_bytes: u32,
    },
    /// The answer is malformed.
    #[error("LUN {lun}: the response to {command} is too short")]
    Malformed {
        /// LUN, as in the URL.
        lun: u16,
        /// Name of the command.
        command: &'static str,
    },
}

/// A logical unit of a session.
#[derive(Clone)]
pub struct LogicalUnit {
    session: Session,
    lun: [u8; 8],
    identity: Identity,
    designator: Option<String>,
    /// LBPME and LBPRZ of READ CAPACITY (16).
    thin: bool,
    reads_zeros: bool,
}

const STATUS_BYTES: u32 = 8 + 255 * 16;

impl LogicalUnit {
    /// Finds the logical unit at a LUN, and reads its identity.
    pub async fn find(session: &Session, lun: u16) -> Result<Self, ProbeError> {
        let command_error = |error| ProbeError::Command { lun, error };
        let malformed = |command| ProbeError::Malformed { lun, command };
        let [high, low] = lun.to_be_bytes();
        let mut unit = Self {
            session: session.clone(),
            lun: [if lun > 255 { 0x40 | high & 0x3f } else { 0 }, low, 0, 0, 0, 0, 0, 0],
            identity: Identity {
                blocks: 0,
                block_bytes: 512,
                naa: None,
                array: String::new(),
                limits: Limits::default(),
            },
            designator: None,
            thin: false,
            reads_zeros: false,
        };
        let inquiry = unit.inquiry(None).await.map_err(command_error)?;
        let [kind, ..] = *inquiry else { return Err(malformed("INQUIRY")) };
        if kind != 0 {
            return Err(ProbeError::NoDisk { lun, found: kind });
        }
        unit.identity.array = format!("{} {}", text(inquiry.get(8..16)), text(inquiry.get(16..32)));
        let capacity = unit.run("READ CAPACITY", cdb::read_capacity16(), TransferRequest::In(32)).await;
        let capacity = capacity.map_err(command_error)?;
        let Some(capacity) = Capacity::parse(&capacity) else { return Err(malformed("READ CAPACITY")) };
        let Capacity { last, block_bytes, thin, reads_zeros } = capacity;
        // All users of a unit divide by the block length and multiply by the number of blocks.
        if !capacity.has_usable_blocks() {
            return Err(ProbeError::BlockLength { lun, bytes: block_bytes });
        }
        let Some(blocks) = capacity.blocks() else { return Err(ProbeError::Capacity { lun, last, block_bytes }) };
        (unit.identity.blocks, unit.identity.block_bytes) = (blocks, block_bytes);
        (unit.thin, unit.reads_zeros) = (thin, reads_zeros);
        // These pages are optional.
        let page = unit.page(0x83).await.map_err(command_error)?.unwrap_or_default();
        unit.identity.naa = naa(&page);
        unit.designator = designator(&page);
        unit.identity.limits = unit.limits().await.map_err(command_error)?;
        Ok(unit)
    }

    /// Session to the unit.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Designator that identifies the logical unit on any path: `naa.6001…` or `eui.…`; `None` when
    /// it reports none.
    pub fn designator(&self) -> Option<&str> {
        self.designator.as_deref()
    }

    /// LBPME: the unit is thin.
    pub fn is_thin(&self) -> bool {
        self.thin
    }

    /// LBPRZ: unmapped blocks read as zeros.
    pub fn reads_zeros(&self) -> bool {
        self.reads_zeros
    }

    /// Like [`Self::find`], for a host that will lock by COMPARE AND WRITE. If the unit announces
    /// the command, block 0 is written over itself with it, which changes nothing. If the unit does
    /// not know the command after all (tgt announces 128 blocks), [`Limits::compare_and_write`]
    /// becomes 0.
    pub async fn find_to_lock(session: &Session, lun: u16) -> Result<Self, ProbeError> {
        let mut unit = Self::find(session, lun).await?;
        if unit.identity.limits.compare_and_write > 0
            && !unit.supports_compare_and_write().await.map_err(|error| ProbeError::Command { lun, error })?
        {
            unit.identity.limits.compare_and_write = 0;
        }
        Ok(unit)
    }

    /// Whether the unit knows the command. Errors such as a reservation or a write protection do
    /// not show that it does not.
    async fn supports_compare_and_write(&self) -> Result<bool, DeviceError> {
        let block = match self.read_blocks(0, 1).await {
            Ok(block) => block,
            Err(error) if error.is_lost() => return Err(error),
            Err(_) => return Ok(true),
        };
        match self.compare_and_write(0, block.clone(), block).await {
            Err(error) if error.is_lost() => Err(error),
            Err(DeviceError::NotSupported(_)) => Ok(false),
            Ok(_) | Err(_) => Ok(true),
        }
    }

    async fn limits(&self) -> Result<Limits, DeviceError> {
        let mut limits = Limits::default();
        let supported = self.page(0x00).await?.unwrap_or_default();
        let has = |page: u8| supported.get(4..).unwrap_or_default().contains(&page);
        if has(0xb0)
            && let Some(page) = self.page(0xb0).await?
        {
            limits.compare_and_write = page.get(5).copied().map_or(0, u32::from);
            limits.unmap = word(&page, 20).unwrap_or(0);
            limits.unmap_descriptors = narrow(word(&page, 24).unwrap_or(0));
            limits.unmap_granularity = narrow(word(&page, 28).unwrap_or(0));
            limits.write_same = long(&page, 36).filter(|blocks| *blocks > 0).unwrap_or(u64::from(u32::MAX));
        }
        if has(0xb2)
            && let Some(page) = self.page(0xb2).await?
            // LBPU
            && page.get(5).is_some_and(|flags| flags & 0x80 == 0)
        {
            limits.unmap = 0;
        }
        let parameters = cdb::receive_copy_results(3, 0, 1024);
        match self.run("RECEIVE COPY RESULTS", parameters, TransferRequest::In(1024)).await {
            Ok(answer) => {
                limits.copy_segments = u16::try_from(word(&answer, 8).unwrap_or(0) & 0xffff).unwrap_or(0);
                let bytes = word(&answer, 16).unwrap_or(0);
                let block_bytes = u64::from(self.identity.block_bytes.max(1));
                // 0: no limit except that of the descriptor.
                limits.copy_segment = if bytes == 0 { u64::from(u16::MAX) } else { bytes / block_bytes };
            }
            Err(error) if error.is_lost() => return Err(error),
            Err(_) => {}
        }
        Ok(limits)
    }

    /// Mapped extents among these blocks, at most `limit` blocks, and whether these are all. `None`
    /// when the unit does not report them.
    ///
    /// Errors: those of later requests, and a lost connection; a refusal of the first one returns
    /// `None`.
    pub async fn mapped(&self, of: Range<u64>, limit: u64) -> Result<Option<(Vec<Extent>, bool)>, DeviceError> {
        let (mut found, mut extents) = (0, Vec::<Extent>::new());
        let mut take = |Extent { lba, blocks }| {
            let taken = blocks.min(limit - found);
            found += taken;
            match extents.last_mut() {
                Some(last) if last.lba + last.blocks == lba => last.blocks += taken,
                _ if taken > 0 => extents.push(Extent { lba, blocks: taken }),
                _ => {}
            }
            taken == blocks
        };
        let all = self.each_mapped(of, &mut take).await?;
        Ok(all.map(|all| (extents, all)))
    }

    /// Calls `each` for the runs of mapped blocks, in order, until it returns false. Returns
    /// whether these were all; `None` when the unit does not report them.
    ///
    /// Errors: those of later requests, and a lost connection; a refusal of the first one returns
    /// `None`.
    pub async fn each_mapped(
        &self,
        of: Range<u64>,
        each: &mut dyn FnMut(Extent) -> bool,
    ) -> Result<Option<bool>, DeviceError> {
        let mut at = of.start;
        while at < of.end {
            let runs = match self.provisioning(at).await {
                Ok(runs) => runs,
                Err(error) if error.is_lost() => return Err(error),
                Err(_) if at == of.start => return Ok(None),
                Err(error) => return Err(error),
            };
            for (Extent { lba, blocks }, status) in runs.into_iter().take_while(|(run, _)| run.lba < of.end) {
                at = (lba + blocks).min(of.end);
                let blocks = at - lba;
                // 1 is deallocated, 2 anchored.
                if status != 0 {
                    continue;
                }
                if !each(Extent { lba, blocks }) {
                    return Ok(Some(false));
                }
            }
        }
        Ok(Some(true))
    }

    /// TEST UNIT READY.
    pub async fn is_ready(&self) -> Result<(), DeviceError> {
        self.run("TEST UNIT READY", cdb::test_unit_ready(), TransferRequest::None).await.map(drop)
    }

    /// READ of `blocks` blocks.
    pub async fn read_blocks(&self, lba: u64, blocks: u32) -> Result<Bytes, DeviceError> {
        self.read_over(lba, blocks, true).await
    }

    async fn read_over(&self, lba: u64, blocks: u32, attentions: bool) -> Result<Bytes, DeviceError> {
        let bytes = blocks.saturating_mul(self.identity.block_bytes);
        let data = self.run_over("READ", cdb::read16(lba, blocks), TransferRequest::In(bytes), attentions).await?;
        match data.len() == bytes as usize {
            true => Ok(data),
            false => Err(DeviceError::Lost("READ ended with GOOD and less data than requested".into())),
        }
    }

    /// INQUIRY.
    pub async fn inquiry(&self, page: Option<u8>) -> Result<Bytes, DeviceError> {
        self.run("INQUIRY", cdb::inquiry(page, 4096), TransferRequest::In(4096)).await
    }

    /// A VPD page; `None` when the unit does not have it.
    pub async fn page(&self, page: u8) -> Result<Option<Bytes>, DeviceError> {
        match self.inquiry(Some(page)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_lost() => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// GET LBA STATUS from `lba` on: adjacent runs of blocks, the first beginning at `lba`, with
    /// their provisioning status: 0 mapped or unknown, 1 deallocated, 2 anchored. At least one run;
    /// fewer than all when they do not fit one answer.
    ///
    /// Errors: [`DeviceError::NotSupported`] also when the answer has no usable run.
    pub async fn provisioning(&self, lba: u64) -> Result<Vec<(Extent, u8)>, DeviceError> {
        let command = cdb::get_lba_status(lba, STATUS_BYTES);
        let answer = self.run("GET LBA STATUS", command, TransferRequest::In(STATUS_BYTES)).await?;
        let runs = provisioning(&answer, lba, self.identity.blocks);
        match runs.is_empty() {
            true => Err(DeviceError::NotSupported("GET LBA STATUS")),
            false => Ok(runs),
        }
    }

    /// Sends a command and returns its Data-In. Retries after BUSY, TASK SET FULL and unit
    /// attentions.
    pub async fn run(
        &self,
        command: &'static str,
        cdb: [u8; 16],
        transfer: TransferRequest,
    ) -> Result<Bytes, DeviceError> {
        self.run_over(command, cdb, transfer, true).await
    }

    /// Like [`Self::run`]. Unless `attentions` is set, a unit attention is not retried, and returns
    /// [`DeviceError::ReservationConflict`].
    async fn run_over(
        &self,
        command: &'static str,
        cdb: [u8; 16],
        transfer: TransferRequest,
        attentions: bool,
    ) -> Result<Bytes, DeviceError> {
        let mut retries = 0;
        loop {
            let sent = self.session.execute(self.lun, cdb, transfer.clone()).await;
            let completion = sent.map_err(lost)?;
            let again = match completion.status {
                BUSY | TASK_SET_FULL => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                    true
                }
                CHECK_CONDITION => {
                    let attention = Sense::parse(&completion.sense).is_some_and(|sense| sense.key == UNIT_ATTENTION);
                    if attention && !attentions {
                        return Err(DeviceError::ReservationConflict);
                    }
                    attention
                }
                _ => false,
            };
            if !again || retries == MAX_RETRIES {
                return outcome(command, completion, is_content(&cdb));
            }
            retries += 1;
        }
    }
}

/// Error of a session that broke before the answer.
fn lost(error: SessionError) -> DeviceError {
    match error {
        SessionError::Timeout { .. } => DeviceError::TimedOut(error.to_string()),
        _ => DeviceError::Lost(error.to_string()),
    }
}

/// Whether the command is WRITE or COMPARE AND WRITE. For parameter lists, targets report residuals
/// by their own rules (tgt for UNMAP).
fn is_content(cdb: &[u8; 16]) -> bool {
    matches!(cdb, [0x8a | 0x89, ..])
}

/// Data-In of a good command, or its error. With `sent`, the target must have taken all Data-Out.
fn outcome(command: &'static str, completion: Completion, sent: bool) -> Result<Bytes, DeviceError> {
    if completion.response != 0 {
        return Err(DeviceError::Lost(format!("{command}: target failure")));
    }
    match completion.status {
        // The effect on the remaining data is unknown.
        GOOD if sent && completion.residual != 0 => {
            Err(DeviceError::Lost(format!("{command} ended with GOOD, but without all of its data")))
        }
        GOOD => Ok(completion.data_in),
        RESERVATION_CONFLICT => Err(DeviceError::ReservationConflict),
        CHECK_CONDITION => match Sense::parse(&completion.sense) {
            Some(Sense { key: 7, code: 0x27, qualifier: 7, .. }) => Err(DeviceError::Full),
            Some(Sense { key: 5, code: 0x20, qualifier: 0, .. }) => Err(DeviceError::NotSupported(command)),
            Some(Sense { key, code, qualifier, .. }) => {
                Err(DeviceError::Refused { command, sense: data_mover::Sense { key, code, qualifier } })
            }
            None => Err(DeviceError::Status { command, status: CHECK_CONDITION }),
        },
        status => Err(DeviceError::Status { command, status }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::tests::run;

    /// Regression: code divided by a block length of 0, and overflowed on absurd capacities.
    #[test]
    fn a_unit_of_an_absurd_size_is_not_found() {
        for (last, block_bytes, message) in [
            (
                7_u64,
                0_u32,
                "LUN 3: READ CAPACITY reports logical blocks of 0 bytes; the length must be a power of two from 512 to 65536",
            ),
            (
                7,
                520,
                "LUN 3: READ CAPACITY reports logical blocks of 520 bytes; the length must be a power of two from 512 to 65536",
            ),
            (
                u64::MAX,
                512,
                "LUN 3: READ CAPACITY reports 18446744073709551615 as the last block, of 512 bytes each; a disk has less than 8 EiB",
            ),
            (
                1 << 54,
                4096,
                "LUN 3: READ CAPACITY reports 18014398509481984 as the last block, of 4096 bytes each; a disk has less than 8 EiB",
            ),
            (7, 4096, ""),
        ] {
            run(|session, seen| async move {
                let capacity = [&last.to_be_bytes()[..], &block_bytes.to_be_bytes(), &[0; 20]].concat();
                seen.answers.replace([(0x12, vec![0; 96]), (0x9e, capacity)].into());
                match LogicalUnit::find(&session, 3).await {
                    Ok(unit) => assert_eq!((unit.identity.blocks, unit.identity.block_bytes, message), (8, 4096, "")),
                    Err(error) => assert_eq!(error.to_string(), message),
                }
            });
        }
    }

    /// Regression: a WRITE of which the target took half counted as successful.
    #[test]
    fn good_for_a_part_of_the_data_is_no_success() {
        let completion = |residual| Completion {
            initiator_task_tag: 1,
            response: 0,
            status: GOOD,
            sense: Bytes::new(),
            data_in: Bytes::new(),
            residual,
        };
        assert!(outcome("WRITE", completion(0), true).is_ok());
        assert!(matches!(outcome("WRITE", completion(512), true), Err(error) if error.is_lost()));
        assert!(outcome("WRITE", completion(-512), true).is_err());
        // Less Data-In than requested is allowed.
        assert!(outcome("INQUIRY", completion(4000), false).is_ok());
    }
}
