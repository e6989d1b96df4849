//! Content of files: COMMIT, READ, WRITE; READ_PLUS, SEEK, IO_ADVISE (RFC 7862).

use xdr::{Array, Opaque, types};

use super::{Bitmap, Stable, Stateid, Verifier};

/// Most segments of one READ_PLUS that are decoded.
pub const MAX_SEGMENTS: u32 = 65_536;

types! {
    /// `COMMIT4args` (§18.3).
    struct CommitArguments {
        /// First byte.
        offset_bytes: u64,
        /// Length; 0 stands for all up to the end.
        count_bytes: u32,
    }

    /// `READ4args` (§18.22) and `READ_PLUS4args` (RFC 7862 §15.10).
    struct ReadArguments {
        /// Open, lock, delegation or a special stateid.
        stateid: Stateid,
        /// First byte.
        offset_bytes: u64,
        /// Length.
        count_bytes: u32,
    }

    /// `READ4resok` (§18.22).
    struct ReadOk {
        /// Whether the data reaches the end of the file.
        eof: bool,
        /// Data.
        data: Opaque<{ u32::MAX }>,
    }

    /// `WRITE4args` (§18.32).
    struct WriteArguments {
        /// Open, lock, delegation or a special stateid.
        stateid: Stateid,
        /// First byte.
        offset_bytes: u64,
        /// How durable the write has to be.
        stable: Stable,
        /// Data.
        data: Opaque<{ u32::MAX }>,
    }

    /// `WRITE4resok` (§18.32).
    struct WriteOk {
        /// Number of bytes written.
        count_bytes: u32,
        /// How durable they are.
        committed: Stable,
        /// Changes when unstable data may have been lost.
        verifier: Verifier,
    }

    /// Part of a file: `read_plus_content` (RFC 7862 §15.10).
    union Segment {
        /// Data.
        0 => Data(data: SegmentData),
        /// Hole.
        1 => Hole(hole: SegmentHole),
    }

    /// `data4` (RFC 7862 §15.10).
    struct SegmentData {
        /// First byte.
        offset_bytes: u64,
        /// Data.
        data: Opaque<{ u32::MAX }>,
    }

    /// `data_info4` (RFC 7862 §15.10).
    struct SegmentHole {
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u64,
    }

    /// `read_plus_res4` (RFC 7862 §15.10).
    struct ReadPlusOk {
        /// Whether the segments reach the end of the file.
        eof: bool,
        /// Segments.
        segments: Array<Segment, MAX_SEGMENTS>,
    }

    /// What SEEK looks for: `data_content4` (RFC 7862 §15.11). Other numbers are refused with
    /// `UNION_NOTSUPP` by the server.
    codes Content {
        /// Data.
        DATA = 0,
        /// Hole.
        HOLE = 1,
    }

    /// `SEEK4args` (RFC 7862 §15.11).
    struct SeekArguments {
        /// Open, lock, delegation or a special stateid.
        stateid: Stateid,
        /// Where the search begins.
        offset_bytes: u64,
        /// What is wanted.
        what: Content,
    }

    /// `seek_res4` (RFC 7862 §15.11).
    struct SeekOk {
        /// Whether there is nothing of it before the end.
        eof: bool,
        /// Where it begins.
        offset_bytes: u64,
    }

    /// `IO_ADVISE4args` (RFC 7862 §15.5).
    struct AdviseArguments {
        /// Open, lock, delegation or a special stateid.
        stateid: Stateid,
        /// First byte.
        offset_bytes: u64,
        /// Length; 0 stands for all up to the end.
        count_bytes: u64,
        /// Hints: numbers of `IO_ADVISE_type4`.
        hints: Bitmap,
    }
}
