//! SCSI commands as methods of a session: send, wait, and turn a status that is not GOOD into an error with its sense
//! data.

use bytes::Bytes;
use iscsi::initiator::{Completion, TransferRequest};
use thiserror::Error;

use crate::cdb::{self, CopySegment};
use crate::initiator::{Session, SessionError};
use crate::sense::Sense;

/// Size of a logical block in bytes.
pub const BLOCK_BYTES: usize = 512;

/// SCSI status GOOD.
pub const GOOD: u8 = 0x00;
/// SCSI status CHECK CONDITION.
pub const CHECK_CONDITION: u8 = 0x02;
/// SCSI status BUSY.
pub const BUSY: u8 = 0x08;
/// SCSI status RESERVATION CONFLICT.
pub const RESERVATION_CONFLICT: u8 = 0x18;
/// SCSI status TASK SET FULL.
pub const TASK_SET_FULL: u8 = 0x28;

/// Reason why a command failed.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The session failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The command ended with a status that is not GOOD.
    #[error("{command}: status {status:02x}h{}", .sense.map(|sense| format!(", sense {sense}")).unwrap_or_default())]
    Status {
        /// Name of the command.
        command: &'static str,
        /// SCSI status.
        status: u8,
        /// Sense data.
        sense: Option<Sense>,
    },
    /// The answer is malformed.
    #[error("{command}: {what}")]
    Malformed {
        /// Name of the command.
        command: &'static str,
        /// Description of the error.
        what: &'static str,
    },
}

/// Turns a completion into its Data-In, or an error when the status is not GOOD.
pub fn check(command: &'static str, completion: Completion) -> Result<Bytes, CommandError> {
    if completion.response != 0 {
        return Err(CommandError::Malformed { command, what: "target failure" });
    }
    if completion.status != GOOD {
        let sense = Sense::parse(&completion.sense);
        return Err(CommandError::Status { command, status: completion.status, sense });
    }
    Ok(completion.data_in)
}

/// Result of a COMPARE AND WRITE that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Equal, and written.
    Written,
    /// Different; contains INFORMATION of the sense data, the offset of the first difference in
    /// bytes.
    Miscompare(Option<u64>),
}

/// Distinguishes a miscompare from a failure.
pub fn compared(completion: Completion) -> Result<Compared, CommandError> {
    match check("COMPARE AND WRITE", completion) {
        Ok(_) => Ok(Compared::Written),
        Err(CommandError::Status {
            sense: Some(Sense { key: Sense::MISCOMPARE, code: 0x1D, qualifier: 0, information }),
            ..
        }) => Ok(Compared::Miscompare(information)),
        Err(error) => Err(error),
    }
}

/// Data of READ CAPACITY (16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Number of logical blocks.
    pub blocks: u64,
    /// Size of a logical block in bytes.
    pub block_bytes: u32,
    /// LBPME.
    pub thin: bool,
    /// LBPRZ.
    pub reads_zeros: bool,
}

fn blocks_of(data: &[u8]) -> u32 {
    u32::try_from(data.len() / BLOCK_BYTES).unwrap_or(u32::MAX)
}

impl Session {
    /// Runs a command and checks its status.
    pub fn run(
        &mut self,
        command: &'static str,
        cdb: cdb::Cdb,
        transfer: TransferRequest,
    ) -> Result<Bytes, CommandError> {
        check(command, self.execute(cdb, transfer)?)
    }

    /// TEST UNIT READY.
    pub fn test_unit_ready(&mut self) -> Result<(), CommandError> {
        self.run("TEST UNIT READY", cdb::test_unit_ready(), TransferRequest::None).map(drop)
    }

    /// Clears unit attentions, of which a new session has some.
    pub fn clear_unit_attentions(&mut self) -> Result<(), CommandError> {
        for _ in 0..16 {
            match self.test_unit_ready() {
                Err(CommandError::Status { sense: Some(Sense { key: Sense::UNIT_ATTENTION, .. }), .. }) => {}
                other => return other,
            }
        }
        Err(CommandError::Malformed { command: "TEST UNIT READY", what: "too many unit attentions in a row" })
    }

    /// INQUIRY; `page` selects a VPD page.
    pub fn inquiry(&mut self, page: Option<u8>) -> Result<Bytes, CommandError> {
        self.run("INQUIRY", cdb::inquiry(page, 4096), TransferRequest::In(4096))
    }

    /// NAA designator of the logical unit, from VPD page 83h. A shorter one is padded with zeros.
    pub fn naa_designator(&mut self) -> Result<[u8; 16], CommandError> {
        let page = self.inquiry(Some(0x83))?;
        let malformed = |what| CommandError::Malformed { command: "INQUIRY", what };
        let mut rest = page.get(4..).ok_or_else(|| malformed("VPD page 83h is too short"))?;
        while let [code_set, kind, _, length, tail @ ..] = rest {
            let (designator, next) = tail
                .split_at_checked(usize::from(*length))
                .ok_or_else(|| malformed("a designator of VPD page 83h is cut off"))?;
            if kind & 0x3F == 0x03 && code_set & 0x0F == 1 && designator.len() <= 16 {
                let mut naa = [0; 16];
                naa[..designator.len()].copy_from_slice(designator);
                return Ok(naa);
            }
            rest = next;
        }
        Err(malformed("VPD page 83h has no NAA designator of the logical unit"))
    }

    /// Sets or clears SWP in the Control mode page (SPC-4 §7.5.8): the logical unit refuses every write while it is
    /// set.
    pub fn set_software_write_protect(&mut self, protect: bool) -> Result<(), CommandError> {
        const CONTROL: u8 = 0x0A;
        const SWP: u8 = 0x08;
        let command = "MODE SENSE (6)";
        let data = self.run(command, cdb::mode_sense6(CONTROL), TransferRequest::In(255))?;
        let mut list = data.to_vec();
        let (Some(header), true) = (list.first_chunk_mut::<4>(), data.len() >= 9) else {
            return Err(CommandError::Malformed { command, what: "no Control mode page" });
        };
        // MODE DATA LENGTH and the device-specific parameter are reserved in MODE SELECT; so is PS
        // of the page.
        *header = [0; 4];
        if let Some(page_code) = list.get_mut(4) {
            *page_code &= 0x3F;
        }
        if let Some(flags) = list.get_mut(8) {
            *flags = if protect { *flags | SWP } else { *flags & !SWP };
        }
        let length = u8::try_from(list.len()).unwrap_or(u8::MAX);
        self.run("MODE SELECT (6)", cdb::mode_select6(length), TransferRequest::Out(list.into())).map(drop)
    }

    /// READ CAPACITY (16).
    pub fn read_capacity(&mut self) -> Result<Capacity, CommandError> {
        let data = self.run("READ CAPACITY", cdb::read_capacity16(), TransferRequest::In(32))?;
        let short = CommandError::Malformed { command: "READ CAPACITY", what: "answer is too short" };
        let (Some(last), Some(length), Some(flags)) = (data.get(..8), data.get(8..12), data.get(14)) else {
            return Err(short);
        };
        let (Ok(last), Ok(length)) = (last.try_into(), length.try_into()) else {
            return Err(short);
        };
        Ok(Capacity {
            blocks: u64::from_be_bytes(last).saturating_add(1),
            block_bytes: u32::from_be_bytes(length),
            thin: flags & 0x80 != 0,
            reads_zeros: flags & 0x40 != 0,
        })
    }

    /// READ (16).
    pub fn read16(&mut self, lba: u64, blocks: u32) -> Result<Bytes, CommandError> {
        let bytes = blocks.saturating_mul(BLOCK_BYTES as u32);
        let data = self.run("READ", cdb::read16(lba, blocks), TransferRequest::In(bytes))?;
        if data.len() == bytes as usize {
            Ok(data)
        } else {
            Err(CommandError::Malformed { command: "READ", what: "GOOD with less data than asked for" })
        }
    }

    /// WRITE (16).
    pub fn write16(&mut self, lba: u64, data: Bytes) -> Result<(), CommandError> {
        self.run("WRITE", cdb::write16(lba, blocks_of(&data), false), TransferRequest::Out(data)).map(drop)
    }

    /// SYNCHRONIZE CACHE (16) of all blocks.
    pub fn synchronize_cache(&mut self) -> Result<(), CommandError> {
        self.run("SYNCHRONIZE CACHE", cdb::synchronize_cache16(0, 0), TransferRequest::None).map(drop)
    }

    /// COMPARE AND WRITE; both images have the same length.
    pub fn compare_and_write(&mut self, lba: u64, compare: &[u8], write: &[u8]) -> Result<Compared, CommandError> {
        let blocks = u8::try_from(compare.len() / BLOCK_BYTES).unwrap_or(u8::MAX);
        let data = Bytes::from([compare, write].concat());
        compared(self.execute(cdb::compare_and_write(lba, blocks), TransferRequest::Out(data))?)
    }

    /// WRITE SAME (16); `None` as `block` means NDOB: zeros, with no block sent.
    pub fn write_same16(
        &mut self,
        lba: u64,
        blocks: u32,
        block: Option<Bytes>,
        unmap: bool,
    ) -> Result<(), CommandError> {
        let cdb = cdb::write_same16(lba, blocks, unmap, block.is_none());
        let transfer = block.map_or(TransferRequest::None, TransferRequest::Out);
        self.run("WRITE SAME", cdb, transfer).map(drop)
    }

    /// UNMAP of ranges, each an LBA and a number of blocks.
    pub fn unmap(&mut self, ranges: &[(u64, u32)]) -> Result<(), CommandError> {
        let list = cdb::unmap_list(ranges);
        let cdb = cdb::unmap(u16::try_from(list.len()).unwrap_or(u16::MAX));
        self.run("UNMAP", cdb, TransferRequest::Out(list.into())).map(drop)
    }

    /// EXTENDED COPY (LID1) with a parameter list.
    pub fn extended_copy(&mut self, list: Vec<u8>) -> Result<(), CommandError> {
        let cdb = cdb::extended_copy(u32::try_from(list.len()).unwrap_or(u32::MAX));
        self.run("EXTENDED COPY", cdb, TransferRequest::Out(list.into())).map(drop)
    }

    /// EXTENDED COPY of blocks between two logical units, given by their NAA designators.
    pub fn copy_blocks(
        &mut self,
        (source, source_lba): (&[u8; 16], u64),
        (destination, destination_lba): (&[u8; 16], u64),
        blocks: u16,
    ) -> Result<(), CommandError> {
        let segment = CopySegment { source: 0, destination: 1, source_lba, destination_lba, blocks };
        self.extended_copy(cdb::extended_copy_list(&[*source, *destination], &[segment]))
    }

    /// RECEIVE COPY RESULTS with a service action: 0 COPY STATUS, 3 OPERATING PARAMETERS, 4 FAILED SEGMENT DETAILS.
    pub fn receive_copy_results(&mut self, service_action: u8, list_identifier: u8) -> Result<Bytes, CommandError> {
        let cdb = cdb::receive_copy_results(service_action, list_identifier, 16_384);
        self.run("RECEIVE COPY RESULTS", cdb, TransferRequest::In(16_384))
    }

    /// GET LBA STATUS: (LBA, number of blocks, provisioning status) of each run.
    pub fn get_lba_status(&mut self, lba: u64) -> Result<Vec<(u64, u32, u8)>, CommandError> {
        let data = self.run("GET LBA STATUS", cdb::get_lba_status(lba, 4096), TransferRequest::In(4096))?;
        let descriptors = data.get(8..).unwrap_or_default();
        let run = |descriptor: &[u8]| {
            let lba = u64::from_be_bytes(descriptor.get(..8)?.try_into().ok()?);
            let blocks = u32::from_be_bytes(descriptor.get(8..12)?.try_into().ok()?);
            Some((lba, blocks, descriptor.get(12)? & 0x0F))
        };
        Ok(descriptors.chunks_exact(16).filter_map(run).collect())
    }

    /// RESERVE (6), SPC-2 §7.21; false when another initiator holds the reservation.
    pub fn reserve(&mut self) -> Result<bool, CommandError> {
        let completion = self.execute(cdb::padded(&[0x16]), TransferRequest::None)?;
        match completion.status {
            RESERVATION_CONFLICT => Ok(false),
            _ => check("RESERVE", completion).map(|_| true),
        }
    }

    /// RELEASE (6), SPC-2 §7.17.
    pub fn release(&mut self) -> Result<(), CommandError> {
        self.run("RELEASE", cdb::padded(&[0x17]), TransferRequest::None).map(drop)
    }

    /// REPORT LUNS.
    pub fn report_luns(&mut self) -> Result<Vec<[u8; 8]>, CommandError> {
        let data = self.run("REPORT LUNS", cdb::report_luns(16_384), TransferRequest::In(16_384))?;
        let luns = data.get(8..).unwrap_or_default().chunks_exact(8);
        Ok(luns.filter_map(|lun| lun.try_into().ok()).collect())
    }
}
