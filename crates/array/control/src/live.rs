//! What the running array tells `control` and is told by it.
//!
//! The counters here are snapshots: plain numbers copied when asked for. Objects are named by their [`ObjectId`], so that renaming a
//! volume does not touch the data path.

use crate::Directory;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use pool::ObjectId;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use unit::{Primitive, ReservationType};
use uuid::Uuid;

/// The running target. All calls come from the thread that owns the pool, and must not call back into `Control`.
pub trait Live {
    /// Something changed and is durable. `directory` is the state after the change; it is the same for all changes of one commit.
    fn publish(&self, change: &Change, directory: &Directory);
    /// Clears what hosts have under way on a volume, whose content is about to become another at once. Ready when none of it has an effect any more.
    fn clear(&self, volume: ObjectId) -> LocalBoxFuture<'static, ()>;
    /// Ready when nothing has an effect any more that hosts may not do since the changes which were published: what they had under way on volumes that were
    /// taken from them, or rolled back.
    fn settled(&self) -> LocalBoxFuture<'static, ()>;
    /// Sessions in full feature phase, by number.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Drops a session and its connections. False when there is none of that number.
    fn drop_session(&self, id: u64) -> bool;
    /// Portals that accept connections, in the order of the configuration.
    fn portals(&self) -> Vec<Portal>;
    /// One row per volume and primitive that was used since the start.
    fn offload_statistics(&self) -> Vec<OffloadRow>;
    /// The newest `limit` refusals that are still kept, oldest first.
    fn offload_log(&self, limit: usize) -> Vec<Refusal>;
    /// One row per volume that was read or written since the start.
    fn volume_counters(&self) -> Vec<VolumeCounters>;
    /// Connections, and how they ended.
    fn connections(&self) -> ConnectionCounters;
    /// Registrations and reservation of a volume; nothing when there is no such volume.
    fn reservations(&self, volume: ObjectId) -> Reservations;
    /// SCSI commands received in the sessions that there are: a number that changes while hosts are active. Asked for often.
    fn commands(&self) -> u64;
    /// Why the pool stopped, if it did.
    fn pool_stopped(&self) -> Option<String>;
}

/// A durable change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A volume was made; nobody sees it yet.
    VolumeAdded {
        /// The volume.
        object: ObjectId,
    },
    /// A volume is gone; nobody saw it.
    VolumeRemoved {
        /// The volume.
        object: ObjectId,
    },
    /// A volume grew: unit attention CAPACITY DATA HAS CHANGED.
    VolumeResized {
        /// The volume.
        object: ObjectId,
        /// Its new size.
        size_bytes: u64,
    },
    /// A volume took over the content and size of its snapshot while it may be in use: hosts must forget what they know of it.
    VolumeRolledBack {
        /// The volume.
        object: ObjectId,
        /// Its size now.
        size_bytes: u64,
    },
    /// A soft threshold was reached from below. It is told once until the use has fallen below it again.
    ThresholdReached {
        /// The volume whose threshold it is; absent: the pool's, which concerns every volume.
        object: Option<ObjectId>,
        /// Which threshold.
        level: Level,
    },
    /// The write cache was switched: unit attention MODE PARAMETERS CHANGED.
    WriteCacheChanged {
        /// The volume.
        object: ObjectId,
        /// On or off.
        enabled: bool,
    },
    /// An administrator set other thresholds, which a mode page shows: unit attention MODE PARAMETERS CHANGED.
    ThresholdsChanged {
        /// The volume whose they are; absent: the pool's, which every volume shows.
        object: Option<ObjectId>,
    },
    /// A grant: unit attention REPORTED LUNS DATA HAS CHANGED for the sessions concerned.
    AccessGranted {
        /// The volume.
        object: ObjectId,
        /// The host; absent: every initiator.
        host: Option<Uuid>,
        /// Logical unit number.
        lun: u16,
    },
    /// A grant was taken back: its logical unit ends for the sessions concerned.
    AccessRevoked {
        /// The volume.
        object: ObjectId,
        /// The host; absent: every initiator.
        host: Option<Uuid>,
        /// Logical unit number.
        lun: u16,
    },
    /// Members of a host group, or grants to it, changed: what sessions of its hosts see may differ.
    HostGroupChanged {
        /// The group.
        group: Uuid,
    },
    /// A host was made or its initiator names or credentials changed: what its sessions see may differ. Ask [`Directory::nexus`].
    HostChanged {
        /// The host.
        host: Uuid,
    },
    /// Target port groups are about to change their states: their ports answer TRANSITION. What follows is one of the next two.
    PortGroupTransitionBegins {
        /// The groups.
        groups: Vec<u16>,
    },
    /// The states are what they were: unit attention IMPLICIT ASYMMETRIC ACCESS STATE TRANSITION FAILED.
    PortGroupTransitionFailed,
    /// States, members or redirections are as the directory says: unit attention ASYMMETRIC ACCESS STATE CHANGED for whom it concerns.
    PortGroupsChanged,
    /// A host is gone; it had neither grants nor sessions.
    HostRemoved {
        /// The host.
        host: Uuid,
    },
}

/// Soft thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Time to do something.
    Warning,
    /// High time.
    Critical,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Number, unique since the start.
    pub id: u64,
    /// The initiator's name.
    pub initiator: String,
    /// Portal of its leading connection.
    pub portal: SocketAddr,
    /// Relative target port identifier of that portal.
    pub target_port: u16,
    /// Where that connection comes from.
    pub peer_address: SocketAddr,
    /// When it reached full feature phase.
    pub since: Timestamp,
    /// When its last SCSI command arrived.
    pub last_io: Option<Timestamp>,
    /// SCSI commands received.
    pub commands: u64,
    /// Data-In bytes sent.
    pub read_bytes: u64,
    /// Data-Out bytes received.
    pub written_bytes: u64,
}

/// Connections to the portals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounters {
    /// With a session of a host.
    pub with_session: u64,
    /// Without: logging in, or there for discovery.
    pub without_session: u64,
    /// Most sessions.
    pub max_sessions: u64,
    /// Most connections without a session.
    pub max_without_session: u64,
    /// Closed to make room for others, since the start.
    pub displaced: u64,
    /// Logins refused, since the start.
    pub logins_failed: u64,
    /// Logins refused because there were enough sessions, since the start.
    pub sessions_full: u64,
    /// Closed because the login took too long, since the start.
    pub login_timeouts: u64,
    /// Closed because the initiator broke the protocol, since the start.
    pub protocol_errors: u64,
}

/// Registrations and reservation of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservations {
    /// I_T nexuses registered by PERSISTENT RESERVE OUT, logged in or not.
    pub registrations: Vec<Registration>,
    /// Type of the persistent reservation, when there is one.
    pub reservation_type: Option<ReservationType>,
    /// APTPL: all this outlives a loss of power.
    pub persistent: bool,
    /// PRGENERATION.
    pub generation: u32,
    /// Who has reserved it by RESERVE (6); its `key` is 0.
    pub reserved_by: Option<Registration>,
    /// Commands refused with RESERVATION CONFLICT since the start.
    pub conflicts: u64,
}

/// A registration of an I_T nexus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Initiator name.
    pub initiator: String,
    /// ISID.
    pub isid: u64,
    /// Relative target port identifier.
    pub target_port: u16,
    /// Reservation key.
    pub key: u64,
    /// It holds the reservation.
    pub holder: bool,
}

/// A network portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Where it listens.
    pub listen: SocketAddr,
    /// `ADDRESS:PORT` for hosts: never an unspecified address.
    pub advertised: String,
}

/// One primitive on one volume. `commands = ok + refused + miscompares + errors + those in flight`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadRow {
    /// The volume that was written to.
    pub volume: ObjectId,
    /// The primitive.
    pub primitive: Primitive,
    /// Commands received.
    pub commands: u64,
    /// Done.
    pub ok: u64,
    /// Refused with a reason.
    pub refused: u64,
    /// Compared unequal.
    pub miscompares: u64,
    /// Failed inside the array.
    pub errors: u64,
    /// Bytes the commands were about.
    pub bytes: u64,
    /// Bytes the host did not have to move.
    pub host_bytes_avoided: u64,
    /// Copied by sharing.
    pub cloned_bytes: u64,
    /// Copied by reading and writing.
    pub copied_bytes: u64,
    /// Unmapped in whole mapping units.
    pub deallocated_bytes: u64,
    /// Unmapped at the edges: reads as zeros, may stay allocated.
    pub unaligned_bytes: u64,
    /// From arrival to status.
    pub latency: Histogram,
    /// Refusals and errors by reason; their counts add up to `refused` + `errors`.
    pub refusals: Vec<RefusalCount>,
    /// Commands that were done without the benefit, by reason: a copy that had to move data, an UNMAP below the mapping unit.
    pub ineffective: Vec<RefusalCount>,
}

/// How often a reason was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    /// Stable name.
    pub reason_code: &'static str,
    /// In words.
    pub reason: &'static str,
    /// How often.
    pub count: u64,
}

/// A refused command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Number of the entry.
    pub sequence: u64,
    /// When.
    pub time: Timestamp,
    /// The volume addressed.
    pub volume: ObjectId,
    /// The initiator's name.
    pub initiator: String,
    /// The primitive.
    pub primitive: Primitive,
    /// Stable name of the reason.
    pub reason_code: &'static str,
    /// The reason in words.
    pub reason: &'static str,
    /// The values that mattered.
    pub detail: String,
}

/// Reads and writes of one volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeCounters {
    /// The volume.
    pub volume: ObjectId,
    /// READ commands.
    pub reads: u64,
    /// WRITE commands.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Commands in flight.
    pub queue_depth: u64,
    /// Latency of READ commands.
    pub read_latency: Histogram,
    /// Latency of WRITE commands.
    pub write_latency: Histogram,
}

/// A latency histogram in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By ascending upper bound; what is above the last bound is in `above`.
    pub buckets: Vec<Bucket>,
    /// Samples above the last bound.
    pub above: u64,
    /// Sum of all samples.
    pub sum_us: u64,
}

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Largest sample of this bucket.
    pub upper_us: u64,
    /// Samples in this bucket alone.
    pub count: u64,
}

impl Histogram {
    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).fold(self.above, u64::saturating_add)
    }

    /// Mean; 0 without samples.
    pub fn average_us(&self) -> u64 {
        self.sum_us.checked_div(self.count()).unwrap_or(0)
    }

    /// Upper bound of the bucket that holds the sample at `per_mille` thousandths; the last bound for samples above it; 0 without samples.
    pub fn quantile_us(&self, per_mille: u64) -> u64 {
        let count = self.count();
        if count == 0 {
            return 0;
        }
        let rank = (u128::from(count) * u128::from(per_mille)).div_ceil(1000).max(1);
        let mut seen = 0_u128;
        let mut upper = 0;
        for bucket in &self.buckets {
            seen += u128::from(bucket.count);
            upper = bucket.upper_us;
            if seen >= rank {
                break;
            }
        }
        upper
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, Histogram};

    fn histogram(counts: &[(u64, u64)], above: u64, sum_us: u64) -> Histogram {
        let buckets = counts.iter().map(|&(upper_us, count)| Bucket { upper_us, count }).collect();
        Histogram { buckets, above, sum_us }
    }

    #[test]
    fn quantiles_name_the_bucket() {
        let latency = histogram(&[(10, 50), (100, 49), (1000, 1)], 0, 5000);
        assert_eq!((latency.quantile_us(500), latency.quantile_us(990), latency.quantile_us(1000)), (10, 100, 1000));
        assert_eq!(latency.average_us(), 50);
        assert_eq!(histogram(&[(10, 0)], 3, 60).quantile_us(500), 10);
        assert_eq!(Histogram::default().quantile_us(990), 0);
        assert_eq!(Histogram::default().average_us(), 0);
    }
}
