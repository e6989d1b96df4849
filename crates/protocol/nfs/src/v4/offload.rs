//! Space and offload, RFC 7862: ALLOCATE, DEALLOCATE, CLONE, COPY, OFFLOAD_CANCEL, OFFLOAD_STATUS,
//! WRITE_SAME.

use std::num::NonZeroU32;

use xdr::{Array, Failure, Reader, Writer, Xdr, XdrError, types};

use super::{Done, HasStatus, NetworkAddress, Stable, Stateid, Status, Text, Verifier};

/// Most source servers of a COPY that are decoded.
const MAX_SERVERS: u32 = 64;

types! {
    /// `ALLOCATE4args` (RFC 7862 §15.1) and `DEALLOCATE4args` (§15.4).
    struct RangeArguments {
        /// Open for writing, or a special stateid.
        stateid: Stateid,
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u64,
    }

    /// `CLONE4args` (RFC 7862 §15.13).
    struct CloneArguments {
        /// State of the source, which is the saved handle.
        source_stateid: Stateid,
        /// State of the destination, which is the current handle.
        destination_stateid: Stateid,
        /// First byte of the source.
        source_offset_bytes: u64,
        /// First byte of the destination.
        destination_offset_bytes: u64,
        /// Length; 0 stands for all up to the end of the source.
        count_bytes: u64,
    }

    /// Server of a copy between servers: `netloc4` (RFC 7862 §4.10.2).
    union ServerLocation {
        /// Name.
        1 => Name(name: Text),
        /// URL.
        2 => Url(url: Text),
        /// Address.
        3 => Address(address: NetworkAddress),
    }

    /// `COPY4args` (RFC 7862 §15.2).
    struct CopyArguments {
        /// State of the source, which is the saved handle.
        source_stateid: Stateid,
        /// State of the destination, which is the current handle.
        destination_stateid: Stateid,
        /// First byte of the source.
        source_offset_bytes: u64,
        /// First byte of the destination.
        destination_offset_bytes: u64,
        /// Length; 0 stands for all up to the end of the source.
        count_bytes: u64,
        /// Whether the bytes must be copied in order.
        consecutive: bool,
        /// Whether the reply must come after the copy.
        synchronous: bool,
        /// Where the source is; none if it is on this server.
        source_servers: Array<ServerLocation, MAX_SERVERS>,
    }

    /// `write_response4` (RFC 7862 §4.10.1).
    struct WriteResponse {
        /// Name of the copy, if it goes on.
        callback: Option<Stateid>,
        /// Number of bytes so far.
        count_bytes: u64,
        /// How durable they are.
        committed: Stable,
        /// Changes when unstable data may have been lost.
        verifier: Verifier,
    }

    /// How a server copies: `copy_requirements4` (RFC 7862 §15.2).
    struct CopyRequirements {
        /// In order.
        consecutive: bool,
        /// Before it answers.
        synchronous: bool,
    }

    /// `COPY4resok` (RFC 7862 §15.2).
    struct CopyOk {
        /// What was written.
        response: WriteResponse,
        /// How it was or is copied.
        requirements: CopyRequirements,
    }

    /// `OFFLOAD_STATUS4resok` (RFC 7862 §15.9).
    struct OffloadStatusOk {
        /// Number of bytes copied.
        count_bytes: u64,
        /// Outcome, if the copy has ended.
        complete: Option<Done>,
    }

    /// Blocks to write: `app_data_block4` (RFC 7862 §8.1).
    struct DataBlocks {
        /// First byte in the file.
        offset_bytes: u64,
        /// Length of a block.
        block_bytes: u64,
        /// Number of blocks.
        block_count: u64,
        /// Position of the block number in a block; 2^64 - 1 stands for none.
        number_offset_bytes: u64,
        /// Number of the first block.
        first_number: u32,
        /// Position of the pattern in a block.
        pattern_offset_bytes: u64,
        /// Pattern.
        pattern: Text,
    }

    /// `WRITE_SAME4args` (RFC 7862 §15.12).
    struct WriteSameArguments {
        /// Open for writing, or a special stateid.
        stateid: Stateid,
        /// How durable the write has to be.
        stable: Stable,
        /// What is written.
        blocks: DataBlocks,
    }
}

/// Why a COPY was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyFailure {
    /// `OFFLOAD_NO_REQS`: the requirements cannot be met; these could.
    NoRequirements(CopyRequirements),
    /// Any other status.
    Other(Status),
}

impl Failure for CopyFailure {
    fn code(&self) -> NonZeroU32 {
        match self {
            Self::NoRequirements(_) => Status::OFFLOAD_NO_REQS.code(),
            Self::Other(status) => status.code(),
        }
    }
    fn encode_details(&self, writer: &mut Writer) {
        if let Self::NoRequirements(possible) = self {
            possible.encode(writer);
        }
    }
    fn decode_details(code: NonZeroU32, reader: &mut Reader) -> Result<Self, XdrError> {
        match Status::decode_details(code, reader)? {
            Status::OFFLOAD_NO_REQS => CopyRequirements::decode(reader).map(Self::NoRequirements),
            status => Ok(Self::Other(status)),
        }
    }
}

impl HasStatus for CopyFailure {
    fn status(&self) -> Result<(), Status> {
        match self {
            Self::NoRequirements(_) => Err(Status::OFFLOAD_NO_REQS),
            Self::Other(status) => Err(*status),
        }
    }
    fn failed(status: Status) -> Self {
        Self::Other(status)
    }
}

#[cfg(any(test, feature = "testing"))]
impl xdr::Sample for CopyFailure {
    fn sample(random: &xdr::Random) -> Self {
        match Status::sample(random) {
            Status::OFFLOAD_NO_REQS => Self::NoRequirements(xdr::Sample::sample(random)),
            _ if random.chance(20) => Self::NoRequirements(xdr::Sample::sample(random)),
            status => Self::Other(status),
        }
    }
}
