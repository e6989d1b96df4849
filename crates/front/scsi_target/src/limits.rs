//! Limits that the device server announces and enforces: one set of numbers, read by VPD pages B0h
//! and 8Fh, by RECEIVE COPY OPERATING PARAMETERS and by the commands.

use crate::copy_segments::IMPLEMENTED_DESCRIPTORS;
use scsi::third_party_copy::OperatingParameters;

/// OPTIMAL TRANSFER LENGTH, blocks (1 MiB).
pub(crate) const OPTIMAL_TRANSFER_BLOCKS: u32 = 0x800;

/// Limits of every logical unit of a target.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// MAXIMUM COMPARE AND WRITE LENGTH, blocks. VMFS uses 1.
    pub compare_and_write_blocks: u8,
    /// MAXIMUM TRANSFER LENGTH, blocks.
    pub transfer_blocks: u32,
    /// MAXIMUM WRITE SAME LENGTH, blocks.
    pub write_same_blocks: u32,
    /// MAXIMUM UNMAP LBA COUNT, blocks of one command.
    pub unmap_blocks: u32,
    /// MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT.
    pub unmap_descriptors: u32,
    /// Persistent-reservation registrations per logical unit.
    pub registrations: usize,
    /// Longest parameter list of PERSISTENT RESERVE OUT, bytes.
    pub persistent_reserve_out_bytes: u32,
    /// Limits of the copy manager.
    pub copy: OperatingParameters,
    /// Limits of ROD tokens.
    pub tokens: TokenLimits,
}

/// Limits of ROD tokens and of the commands that create and use them.
#[derive(Clone, Copy, Debug)]
pub struct TokenLimits {
    /// MAXIMUM RANGE DESCRIPTORS.
    pub ranges: u16,
    /// MAXIMUM TOKEN TRANSFER SIZE, blocks in all ranges together.
    pub blocks: u64,
    /// DEFAULT INACTIVITY TIMEOUT, seconds: a token that is not used for this long ends.
    pub default_inactivity_s: u32,
    /// MAXIMUM INACTIVITY TIMEOUT, seconds.
    pub maximum_inactivity_s: u32,
    /// MAXIMUM TOKEN LIFETIME, seconds, whether used or not.
    pub lifetime_s: u32,
    /// Most tokens of one initiator.
    pub of_initiator: usize,
    /// Most tokens of all initiators together.
    pub total: usize,
}

impl Limits {
    /// MAXIMUM ATOMIC TRANSFER LENGTH, blocks. A device stores the data of one call at one instant,
    /// so this is the transfer limit; TRANSFER LENGTH of WRITE ATOMIC (16) has 16 bits.
    pub(crate) fn atomic_blocks(&self) -> u32 {
        self.transfer_blocks.min(u32::from(u16::MAX))
    }

    // Limits as rows of the command table name them.

    pub(crate) fn transfer_limit(&self) -> u64 {
        u64::from(self.transfer_blocks)
    }

    pub(crate) fn write_same_limit(&self) -> u64 {
        u64::from(self.write_same_blocks)
    }

    pub(crate) fn atomic_limit(&self) -> u64 {
        u64::from(self.atomic_blocks())
    }

    pub(crate) fn compare_and_write_limit(&self) -> u64 {
        u64::from(self.compare_and_write_blocks)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            compare_and_write_blocks: 1,
            transfer_blocks: 0x8000,
            write_same_blocks: 0xffff,
            unmap_blocks: 0x10_0000,
            unmap_descriptors: 256,
            registrations: 256,
            persistent_reserve_out_bytes: 0x8000,
            copy: OperatingParameters {
                maximum_cscd_count: 64,
                maximum_segment_count: 64,
                maximum_descriptor_list_length: 64 * 32 + 64 * 28,
                maximum_segment_length: 0x01e0_0000,
                total_concurrent_copies: 0x00ff,
                maximum_concurrent_copies: 0xff,
                data_segment_granularity: 9,
                held_data_limit: 0x4000,
                held_data_granularity: 9,
                implemented_descriptors: IMPLEMENTED_DESCRIPTORS,
            },
            tokens: TokenLimits {
                ranges: 32,
                blocks: 1 << 25,
                default_inactivity_s: 60,
                maximum_inactivity_s: 600,
                lifetime_s: 3600,
                of_initiator: 128,
                total: 1024,
            },
        }
    }
}
