//! Accounting of storage offload: what each primitive did for each volume, how long it took, and why it was refused.
//!
//! A refusal is never silent: each command of the four primitives that does not complete leaves an entry with its reason in a bounded
//! log, and so does one that completes without the benefit (a copy that had to move data, an UNMAP below the mapping unit). A
//! miscompare of COMPARE AND WRITE is ordinary contention and only counted.

use crate::persistent_reservations::StoreError;
use crate::sense::{CopyCause, Fault, TokenFault};
use block::{BlockError, VolumeId};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// An offload primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Primitive {
    /// COMPARE AND WRITE.
    Ats,
    /// EXTENDED COPY.
    Xcopy,
    /// WRITE SAME.
    Zero,
    /// UNMAP.
    Unmap,
}

impl Primitive {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// All of them, in the order of every table.
    pub const ALL: [Self; Self::COUNT] = [Self::Ats, Self::Xcopy, Self::Zero, Self::Unmap];

    /// The name in counters, log and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ats => "ats",
            Self::Xcopy => "xcopy",
            Self::Zero => "zero",
            Self::Unmap => "unmap",
        }
    }

    pub(crate) fn of_mut<T>(self, table: &mut [T; Self::COUNT]) -> &mut T {
        let [ats, xcopy, zero, unmap] = table;
        match self {
            Self::Ats => ats,
            Self::Xcopy => xcopy,
            Self::Zero => zero,
            Self::Unmap => unmap,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Latencies in buckets that double: bucket `i` counts those below 2^i microseconds that no smaller bucket counts; the last counts
/// everything longer too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// Counts, not cumulative.
    pub buckets: [u64; Self::BUCKETS],
    /// Number of latencies.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub sum_ns: u64,
}

impl LatencyHistogram {
    /// Number of buckets: the last begins at 2^26 µs, about a minute.
    pub const BUCKETS: usize = 28;

    /// Upper bound of a bucket in microseconds, exclusive.
    pub const fn upper_bound_us(bucket: u32) -> u64 {
        1 << bucket
    }

    pub(crate) fn record(&mut self, latency_ns: u64) {
        let us = latency_ns / 1000;
        let bucket = usize::try_from(u64::BITS - us.leading_zeros()).unwrap_or(usize::MAX).min(Self::BUCKETS - 1);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
    }

    /// The upper bound in microseconds of the bucket that holds the given quantile (0 to 1); 0 when nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> u64 {
        let mut below = 0u64;
        for (bucket, count) in (0u32..).zip(self.buckets) {
            below += count;
            if count > 0 && below as f64 >= quantile * self.count as f64 {
                return Self::upper_bound_us(bucket);
            }
        }
        0
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { buckets: [0; Self::BUCKETS], count: 0, sum_ns: 0 }
    }
}

/// Counters of one primitive on one volume, since the logical unit was added. `commands` is the sum of `ok`, `refused`, `miscompares`
/// and `errors`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffloadStatistics {
    /// Commands that were not answered with a unit attention.
    pub commands: u64,
    /// Completed with GOOD status.
    pub ok: u64,
    /// Refused.
    pub refused: u64,
    /// COMPARE AND WRITE whose compare failed.
    pub miscompares: u64,
    /// Failed by the medium.
    pub errors: u64,
    /// Bytes of the volume that completed commands worked on.
    pub bytes: u64,
    /// Bytes that the host did not have to move: both ways for a copy, one way less the payload for WRITE SAME.
    pub host_bytes_avoided: u64,
    /// EXTENDED COPY: bytes that share storage with their source now.
    pub cloned_bytes: u64,
    /// EXTENDED COPY: bytes that were read and written.
    pub copied_bytes: u64,
    /// UNMAP: bytes in whole mapping units.
    pub deallocated_bytes: u64,
    /// UNMAP: bytes at the edges, which read as zeros but may stay allocated.
    pub unaligned_bytes: u64,
    /// From admission to completion.
    pub latency: LatencyHistogram,
    /// Why commands were refused or failed; adds up to `refused` + `errors`.
    pub refusals: ReasonCounts,
    /// Why commands completed without the benefit; each of them is counted in `ok` too.
    pub ineffective: ReasonCounts,
}

impl OffloadStatistics {
    pub(crate) fn add(&mut self, work: &OffloadWork) {
        self.bytes += work.bytes;
        self.host_bytes_avoided += work.host_bytes_avoided;
        self.cloned_bytes += work.cloned_bytes;
        self.copied_bytes += work.copied_bytes;
        self.deallocated_bytes += work.deallocated_bytes;
        self.unaligned_bytes += work.unaligned_bytes;
    }
}

/// What one command did.
#[derive(Clone, Debug, Default)]
pub(crate) struct OffloadWork {
    /// The volume that it is accounted under, when not the one that received the command.
    pub volume: Option<VolumeId>,
    pub bytes: u64,
    pub host_bytes_avoided: u64,
    pub cloned_bytes: u64,
    pub copied_bytes: u64,
    pub deallocated_bytes: u64,
    pub unaligned_bytes: u64,
    /// Why the command brought no benefit, although it completed.
    pub not_offloaded: Option<(Reason, String)>,
}

/// Counters of one primitive on one volume, with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeOffload {
    /// The volume.
    pub volume: VolumeId,
    /// Its name.
    pub name: String,
    /// The primitive.
    pub primitive: Primitive,
    /// The counters.
    pub statistics: OffloadStatistics,
}

/// Why an offload command was refused, or brought no benefit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A field of the CDB is not supported.
    InvalidField,
    /// A descriptor of the parameter list is malformed or not supported.
    BadDescriptor,
    /// The parameter list or the Data-Out has the wrong length.
    BadLength,
    /// A count is above the announced limit.
    OverLimit,
    /// A segment does not start or end on a block.
    Misaligned,
    /// Everything was below the mapping unit: nothing could be deallocated.
    BelowGrain,
    /// Blocks beyond the end of a volume.
    OutOfRange,
    /// A copy names a volume that the initiator may not see, or that does not exist.
    NotGranted,
    /// Another I_T nexus holds a reservation.
    ReservedByAnother,
    /// The volume is write protected.
    WriteProtected,
    /// The medium is ejected.
    MediumNotPresent,
    /// A copy with the same list identifier is running.
    ListIdInUse,
    /// The pool is full.
    NoSpace,
    /// The volume was deleted.
    VolumeGone,
    /// A ROD token is forged, expired, cancelled, deleted or another initiator's.
    InvalidToken,
    /// Another command aborted it.
    Aborted,
    /// Stored data could not be read.
    MediaError,
    /// The pool stopped.
    PoolStopped,
}

impl Reason {
    /// How many there are.
    pub const COUNT: usize = 18;
    /// All of them, in their order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::InvalidField,
        Self::BadDescriptor,
        Self::BadLength,
        Self::OverLimit,
        Self::Misaligned,
        Self::BelowGrain,
        Self::OutOfRange,
        Self::NotGranted,
        Self::ReservedByAnother,
        Self::WriteProtected,
        Self::MediumNotPresent,
        Self::ListIdInUse,
        Self::NoSpace,
        Self::VolumeGone,
        Self::InvalidToken,
        Self::Aborted,
        Self::MediaError,
        Self::PoolStopped,
    ];

    /// A stable code for counters and API.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidField => "invalid-field",
            Self::BadDescriptor => "bad-descriptor",
            Self::BadLength => "bad-length",
            Self::OverLimit => "over-limit",
            Self::Misaligned => "misaligned",
            Self::BelowGrain => "below-grain",
            Self::OutOfRange => "out-of-range",
            Self::NotGranted => "not-granted",
            Self::ReservedByAnother => "reserved-by-another",
            Self::WriteProtected => "write-protected",
            Self::MediumNotPresent => "medium-not-present",
            Self::ListIdInUse => "list-id-in-use",
            Self::NoSpace => "no-space",
            Self::VolumeGone => "volume-gone",
            Self::InvalidToken => "invalid-token",
            Self::Aborted => "aborted",
            Self::MediaError => "media-error",
            Self::PoolStopped => "pool-stopped",
        }
    }

    /// The reason of a fault; `None` for a miscompare, which is no refusal.
    pub(crate) fn of(fault: &Fault) -> Option<Self> {
        Some(match fault {
            Fault::Miscompare { .. } => return None,
            Fault::InvalidOperationCode
            | Fault::InvalidFieldInCdb(_)
            | Fault::InvalidRelease
            | Fault::SavingNotSupported
            | Fault::SanitizeExitRestricted
            | Fault::MediumRemovalPrevented
            | Fault::InvalidTaskAttribute
            | Fault::NotAccessible(_)
            | Fault::SetTargetPortGroupsFailed(_)
            | Fault::UnitAttention(_) => Self::InvalidField,
            Fault::InvalidFieldInParameterList(_)
            | Fault::UnsupportedCscd { .. }
            | Fault::UnsupportedSegment { .. }
            | Fault::InlineData { .. } => Self::BadDescriptor,
            Fault::ParameterListLength { .. }
            | Fault::DataOutLength { .. }
            | Fault::PartialBlock { .. }
            | Fault::WrongDirection
            | Fault::DataOutMissing { .. } => Self::BadLength,
            Fault::AboveLimit { .. }
            | Fault::TooManyCscds { .. }
            | Fault::TooManySegments { .. }
            | Fault::InsufficientResources
            | Fault::NoResourcesForToken
            | Fault::InsufficientRegistrationResources => Self::OverLimit,
            Fault::TaskAborted => Self::Aborted,
            Fault::Token(_) => Self::InvalidToken,
            Fault::SegmentGranularity { .. } => Self::Misaligned,
            Fault::OutOfRange { .. } | Fault::Block(BlockError::OutOfRange { .. }) => Self::OutOfRange,
            Fault::ReservationConflict => Self::ReservedByAnother,
            Fault::SoftwareWriteProtected | Fault::Block(BlockError::ReadOnly) => Self::WriteProtected,
            Fault::MediumNotPresent | Fault::SanitizeInProgress { .. } | Fault::SanitizeFailed => {
                Self::MediumNotPresent
            }
            Fault::ListIdInUse { .. } => Self::ListIdInUse,
            Fault::LogicalUnitNotSupported | Fault::Block(BlockError::Gone) => Self::VolumeGone,
            Fault::NoResourcesForRod => Self::NoSpace,
            Fault::Block(BlockError::PoolFull) | Fault::ReservationsNotStored(StoreError::NoRoom) => Self::NoSpace,
            Fault::Block(BlockError::ReadFailed { .. }) => Self::MediaError,
            Fault::Block(BlockError::PoolStopped { .. }) | Fault::ReservationsNotStored(StoreError::Failed) => {
                Self::PoolStopped
            }
            Fault::CopyAborted { cause, .. } => match cause {
                CopyCause::NoSuchCscd { .. } | CopyCause::WrongDeviceType { .. } => Self::BadDescriptor,
                CopyCause::NotVisible { .. } => Self::NotGranted,
                CopyCause::Source(fault) | CopyCause::Destination(fault) => return Self::of(fault),
            },
        })
    }
}

impl Reason {
    /// The reason in plain words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::InvalidField => "a field of the command is not supported",
            Self::BadDescriptor => "a descriptor is malformed or not supported",
            Self::BadLength => "the parameter list or data has the wrong length",
            Self::OverLimit => "above the announced limit",
            Self::Misaligned => "not aligned",
            Self::BelowGrain => "smaller than the 4 KiB mapping unit",
            Self::OutOfRange => "beyond the end of the volume",
            Self::NotGranted => "the volume is not granted to this initiator",
            Self::ReservedByAnother => "reserved by another initiator",
            Self::WriteProtected => "the volume is write protected",
            Self::MediumNotPresent => "the medium is ejected",
            Self::ListIdInUse => "the copy list identifier is in use",
            Self::NoSpace => "the pool is full",
            Self::VolumeGone => "the volume no longer exists",
            Self::InvalidToken => "the token cannot be used",
            Self::Aborted => "another command aborted it",
            Self::MediaError => "stored data could not be read",
            Self::PoolStopped => "the pool stopped after a media error",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.words())
    }
}

/// How often each reason was given, since the logical unit was added. Unlike the log it forgets nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReasonCounts([u64; Reason::COUNT]);

impl ReasonCounts {
    pub(crate) fn add(&mut self, reason: Reason) {
        if let Some(count) = self.0.get_mut(reason as usize) {
            *count += 1;
        }
    }

    /// Reasons that were given, and how often.
    pub fn given(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// The particulars of a fault, in words.
pub(crate) fn detail(fault: &Fault) -> String {
    let field = |at: &scsi::FieldPointer| match (at.area, at.bit) {
        (scsi::FieldArea::Cdb, Some(bit)) => format!("CDB byte {} bit {bit}", at.byte),
        (scsi::FieldArea::Cdb, None) => format!("CDB byte {}", at.byte),
        (scsi::FieldArea::ParameterList, _) => format!("parameter list byte {}", at.byte),
        (scsi::FieldArea::SegmentDescriptor, _) => format!("segment descriptor byte {}", at.byte),
    };
    match fault {
        Fault::InvalidFieldInCdb(at) | Fault::InvalidFieldInParameterList(at) => field(at),
        Fault::AboveLimit { requested, limit, at } => format!("{requested} asked for, limit {limit} ({})", field(at)),
        Fault::ParameterListLength { given_bytes, needed_bytes } => {
            format!("parameter list of {given_bytes} bytes, {needed_bytes} needed")
        }
        Fault::DataOutLength { expected_bytes, needed_bytes, .. } => {
            format!("{expected_bytes} bytes of data announced, {needed_bytes} needed")
        }
        Fault::WrongDirection => "the transport was told to move data the other way".to_owned(),
        Fault::PartialBlock { expected_bytes } => format!("{expected_bytes} bytes are no whole blocks"),
        Fault::DataOutMissing { arrived_bytes, needed_bytes } => {
            format!("{arrived_bytes} bytes of data arrived, {needed_bytes} needed")
        }
        Fault::OutOfRange { lba, count, device_blocks } => {
            format!("blocks {lba}+{count}, the volume has {device_blocks}")
        }
        Fault::ListIdInUse { list_id } => format!("list identifier {list_id}"),
        Fault::TooManyCscds { count, limit } => {
            format!("{count} copy source and destination descriptors, limit {limit}")
        }
        Fault::TooManySegments { count, limit } => format!("{count} segment descriptors, limit {limit}"),
        Fault::UnsupportedCscd { descriptor_type, at } | Fault::UnsupportedSegment { descriptor_type, at } => {
            format!("descriptor type {descriptor_type:02x}h at {}", field(at))
        }
        Fault::InlineData { bytes } => format!("{bytes} bytes of inline data"),
        Fault::Token(fault) => token_detail(*fault).to_owned(),
        Fault::SegmentGranularity { at } => format!("not a whole number of blocks ({})", field(at)),
        Fault::CopyAborted { segment, cause } => match cause {
            CopyCause::NoSuchCscd { index, .. } => {
                format!("segment {segment} names descriptor {index}, not in the list")
            }
            CopyCause::NotVisible { index, .. } => {
                format!("segment {segment}: no granted volume has the designator of descriptor {index}")
            }
            CopyCause::WrongDeviceType { index } => {
                format!("segment {segment}: device type or block length of descriptor {index}")
            }
            CopyCause::Source(fault) => format!("segment {segment}, source: {}", detail(fault)),
            CopyCause::Destination(fault) => format!("segment {segment}, destination: {}", detail(fault)),
        },
        Fault::Block(error) => error.to_string(),
        Fault::SanitizeInProgress { .. } => "a sanitize operation is in progress".to_owned(),
        Fault::SanitizeFailed => "a sanitize operation has failed".to_owned(),
        Fault::InvalidOperationCode
        | Fault::LogicalUnitNotSupported
        | Fault::Miscompare { .. }
        | Fault::ReservationConflict
        | Fault::InvalidRelease
        | Fault::InsufficientRegistrationResources
        | Fault::ReservationsNotStored(_)
        | Fault::UnitAttention(_)
        | Fault::SoftwareWriteProtected
        | Fault::NotAccessible(_)
        | Fault::SetTargetPortGroupsFailed(_)
        | Fault::InvalidTaskAttribute
        | Fault::MediumNotPresent
        | Fault::MediumRemovalPrevented
        | Fault::TaskAborted
        | Fault::InsufficientResources
        | Fault::NoResourcesForRod
        | Fault::NoResourcesForToken
        | Fault::SanitizeExitRestricted
        | Fault::SavingNotSupported => Reason::of(fault).map(|reason| reason.to_string()).unwrap_or_default(),
    }
}

fn token_detail(fault: TokenFault) -> &'static str {
    match fault {
        TokenFault::UnsupportedType => "its ROD type is not supported",
        TokenFault::InvalidLength => "its length is wrong",
        TokenFault::Unknown => "there is no such token for this initiator",
        TokenFault::Corrupt => "it was not made by this array, or was changed",
        TokenFault::Revoked => "the source is not granted to the initiator any more",
        TokenFault::Expired => "it has expired",
        TokenFault::Cancelled => "its source was deleted, or the pool needed the space",
        TokenFault::Deleted => "it was used with DEL_TKN",
    }
}

/// An entry of the refusal log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Counts entries from 0, without gaps.
    pub sequence: u64,
    /// When, in milliseconds since 1970 (UTC).
    pub unix_ms: u64,
    /// The volume that received the command.
    pub volume: VolumeId,
    /// Its name at the time.
    pub volume_name: String,
    /// Name of the initiator.
    pub initiator: String,
    /// Which primitive.
    pub primitive: Primitive,
    /// The command, by the standard's name.
    pub command: &'static str,
    /// Why.
    pub reason: Reason,
    /// Particulars in words.
    pub detail: String,
}

/// The last entries, and how many there were.
#[derive(Debug)]
pub(crate) struct RefusalLog {
    entries: VecDeque<LogEntry>,
    capacity: usize,
    total: u64,
    by_reason: BTreeMap<(Primitive, Reason), u64>,
}

impl RefusalLog {
    pub fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), capacity, total: 0, by_reason: BTreeMap::new() }
    }

    /// Appends an entry, whose sequence number is set here, and drops the oldest when the log is full.
    pub fn push(&mut self, mut entry: LogEntry) {
        entry.sequence = self.total;
        self.total += 1;
        *self.by_reason.entry((entry.primitive, entry.reason)).or_default() += 1;
        self.entries.push_back(entry);
        while self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }

    pub fn since(&self, sequence: u64) -> Vec<LogEntry> {
        self.entries.iter().filter(|entry| entry.sequence >= sequence).cloned().collect()
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn by_reason(&self) -> Vec<(Primitive, Reason, u64)> {
        self.by_reason.iter().map(|((primitive, reason), count)| (*primitive, *reason, *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_doubling_buckets() {
        let mut histogram = LatencyHistogram::default();
        for ns in [0, 999, 1_000, 1_999, 2_000, 1_000_000, u64::MAX] {
            histogram.record(ns);
        }
        assert_eq!(histogram.buckets.get(..3), Some(&[2, 2, 1][..]));
        assert_eq!(histogram.buckets.get(10), Some(&1));
        assert_eq!(histogram.buckets.last(), Some(&1));
        assert_eq!(histogram.quantile_us(0.5), 2);
    }

    #[test]
    fn every_reason_has_its_own_count() {
        let mut counts = ReasonCounts::default();
        for (times, reason) in (1u64..).zip(Reason::ALL) {
            (0..times).for_each(|_| counts.add(reason));
        }
        let given: Vec<_> = counts.given().collect();
        assert_eq!(given, Reason::ALL.into_iter().zip(1..).collect::<Vec<_>>());
    }

    #[test]
    fn the_log_keeps_the_newest_and_counts_all() {
        let mut log = RefusalLog::new(2);
        for detail in ["a", "b", "c"] {
            log.push(LogEntry {
                sequence: 0,
                unix_ms: 0,
                volume: VolumeId(1),
                volume_name: String::new(),
                initiator: String::new(),
                primitive: Primitive::Unmap,
                command: "UNMAP",
                reason: Reason::OverLimit,
                detail: detail.into(),
            });
        }
        let kept: Vec<_> = log.since(0).into_iter().map(|entry| (entry.sequence, entry.detail)).collect();
        assert_eq!(kept, [(1, "b".to_owned()), (2, "c".to_owned())]);
        assert_eq!(log.total(), 3);
        assert_eq!(log.by_reason(), [(Primitive::Unmap, Reason::OverLimit, 3)]);
    }
}
