//! Accounting of storage offload: work, latency and refusals of each primitive on each volume.

use crate::latency::LatencyHistogram;
use crate::primitive::Primitive;
use crate::refusals::{Reason, ReasonCounts};
use block::VolumeId;
use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;

/// Counters of one primitive on one volume or share, since the start. `commands` = `ok` +
/// `refused` + `miscompares` + `errors`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffloadStatistics {
    /// Commands that reached the volume or share and were answered, without those in whose place a
    /// pending unit attention was reported.
    pub commands: u64,
    /// Commands that completed with GOOD status.
    pub ok: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// COMPARE AND WRITE whose compare failed.
    pub miscompares: u64,
    /// Commands that failed because of the medium.
    pub errors: u64,
    /// Bytes of the volume that completed commands processed.
    pub bytes: u64,
    /// Bytes that the host did not have to transfer: both ways for a copy, one way less the payload
    /// for WRITE SAME.
    pub host_bytes_avoided: u64,
    /// Copies: bytes that now share storage with their source.
    pub cloned_bytes: u64,
    /// Copies: bytes that were read and written.
    pub copied_bytes: u64,
    /// UNMAP, DEALLOCATE: bytes in whole mapping units.
    pub deallocated_bytes: u64,
    /// UNMAP, DEALLOCATE: bytes at the edges, which read as zeros but may stay allocated.
    pub unaligned_bytes: u64,
    /// Latency from admission to completion.
    pub latency: LatencyHistogram,
    /// Reasons of refusals; their sum is `refused`.
    pub refusals: ReasonCounts,
    /// Reasons of failures; their sum is `errors`.
    pub failures: ReasonCounts,
    /// Reasons why completed commands had no benefit; each of these commands is counted in `ok`
    /// too.
    pub ineffective: ReasonCounts,
}

impl OffloadStatistics {
    /// Adds the work of one command.
    pub fn add(&mut self, work: &OffloadWork) {
        self.bytes = self.bytes.saturating_add(work.bytes);
        self.host_bytes_avoided += work.host_bytes_avoided;
        self.cloned_bytes = self.cloned_bytes.saturating_add(work.cloned_bytes);
        self.copied_bytes = self.copied_bytes.saturating_add(work.copied_bytes);
        self.deallocated_bytes = self.deallocated_bytes.saturating_add(work.deallocated_bytes);
        self.unaligned_bytes = self.unaligned_bytes.saturating_add(work.unaligned_bytes);
    }

    /// Counts a command that succeeded, with its work if it is known.
    pub fn succeeded(&mut self, latency_ns: u64, work: Option<&OffloadWork>) {
        self.commands += 1;
        self.ok += 1;
        self.latency.record(latency_ns);
        let Some(work) = work else { return };
        self.add(work);
        if let Some((reason, _)) = &work.not_offloaded {
            self.ineffective.add(*reason);
        }
    }

    /// Counts a command that did not succeed. `None`: a COMPARE AND WRITE found other content.
    pub fn not_succeeded(&mut self, latency_ns: u64, reason: Option<Reason>) {
        self.commands += 1;
        self.latency.record(latency_ns);
        match reason {
            None => self.miscompares += 1,
            Some(reason) if reason.is_failure() => {
                self.errors += 1;
                self.failures.add(reason);
            }
            Some(reason) => {
                self.refused += 1;
                self.refusals.add(reason);
            }
        }
    }

    /// Adds the counters of another volume, share or client.
    pub fn merge(&mut self, other: &Self) {
        self.commands = self.commands.saturating_add(other.commands);
        self.ok = self.ok.saturating_add(other.ok);
        self.refused = self.refused.saturating_add(other.refused);
        self.miscompares = self.miscompares.saturating_add(other.miscompares);
        self.errors = self.errors.saturating_add(other.errors);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.host_bytes_avoided += other.host_bytes_avoided;
        self.cloned_bytes = self.cloned_bytes.saturating_add(other.cloned_bytes);
        self.copied_bytes = self.copied_bytes.saturating_add(other.copied_bytes);
        self.deallocated_bytes = self.deallocated_bytes.saturating_add(other.deallocated_bytes);
        self.unaligned_bytes = self.unaligned_bytes.saturating_add(other.unaligned_bytes);
        self.latency.merge(&other.latency);
        self.refusals.merge(&other.refusals);
        self.failures.merge(&other.failures);
        self.ineffective.merge(&other.ineffective);
    }
}

/// Offload counters of deleted volumes or shares, the oldest first; bounded.
#[derive(Debug, Default)]
pub struct DeletedOffload(VecDeque<VolumeOffload>);

impl DeletedOffload {
    /// Rows that are kept: those of at least 64 volumes or shares.
    const ROWS: usize = 64 * Primitive::COUNT;

    /// Adds the rows of a volume or share that was deleted.
    pub fn keep(&mut self, rows: Vec<VolumeOffload>) {
        self.0.extend(rows.into_iter().filter(|row| row.statistics.commands > 0));
        let surplus = self.0.len().saturating_sub(Self::ROWS);
        self.0.drain(..surplus);
    }

    /// All rows.
    pub fn rows(&self) -> Vec<VolumeOffload> {
        self.0.iter().cloned().collect()
    }
}

/// Work of one command.
#[derive(Clone, Debug, Default)]
pub struct OffloadWork {
    /// Volume whose counters get the work; `None`: the one that received the command.
    pub volume: Option<VolumeId>,
    /// Bytes of the volume that the command processed.
    pub bytes: u64,
    /// Bytes that the host did not have to transfer.
    pub host_bytes_avoided: u64,
    /// Bytes that now share storage with their source.
    pub cloned_bytes: u64,
    /// Bytes that were read and written.
    pub copied_bytes: u64,
    /// Bytes in whole mapping units that were deallocated.
    pub deallocated_bytes: u64,
    /// Bytes at the edges, which may stay allocated.
    pub unaligned_bytes: u64,
    /// Reason why the completed command had no benefit.
    pub not_offloaded: Option<(Reason, String)>,
}

/// Client of a share in statistics of offload. The order is that of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OffloadClient {
    /// Host, by its address in canonical form.
    Host(IpAddr),
    /// Requests to the array's own interface.
    Api,
    /// All clients that were not active lately, together.
    Others,
}

impl OffloadClient {
    /// Host with this address.
    pub fn host(address: IpAddr) -> Self {
        Self::Host(address.to_canonical())
    }
}

/// Address of the host, `api` or `others`.
impl fmt::Display for OffloadClient {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(address) => address.fmt(to),
            Self::Api => to.write_str("api"),
            Self::Others => to.write_str("others"),
        }
    }
}

/// Counters of one primitive on one volume or share, with names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeOffload {
    /// The volume or share.
    pub volume: VolumeId,
    /// Its name; after its deletion, its last name.
    pub name: String,
    /// True when it was deleted.
    pub deleted: bool,
    /// Primitive.
    pub primitive: Primitive,
    /// Counters.
    pub statistics: OffloadStatistics,
}
