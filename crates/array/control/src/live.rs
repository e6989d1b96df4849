//! Interface between `control` and the running array.
//!
//! Counters are snapshots: plain numbers copied at the call. Objects are identified by their
//! [`ObjectId`], so that renaming a volume does not touch the data path.

use crate::{Directory, UnitFacts};
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use pool::ObjectId;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use unit::{Ending, Primitive, ReservationType};
use uuid::Uuid;

/// Running target. All calls come from the thread that owns the pool; implementations must not call
/// back into `Control`.
pub trait Live {
    /// Publishes a durable change. `directory` is the state after the change; it is the same for
    /// all changes of one commit.
    fn publish(&self, change: &Change, directory: &Directory);
    /// Clears the commands of hosts on a volume whose content is about to be replaced. Ready when
    /// none of them can take effect any more.
    fn clear(&self, volume: ObjectId) -> LocalBoxFuture<'static, ()>;
    /// Ready when no command can take effect any more that the published changes forbid: commands
    /// on volumes that were revoked or rolled back.
    fn settled(&self) -> LocalBoxFuture<'static, ()>;
    /// Sessions in full feature phase, by number.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Drops a session and its connections. Returns false if no session has that number.
    fn drop_session(&self, id: u64) -> bool;
    /// Portals that accept connections, in the order of the configuration.
    fn portals(&self) -> Vec<Portal>;
    /// Sessions that began, ended (`None`) or received commands since the last call.
    fn take_changed_sessions(&self) -> Vec<(u64, Option<SessionInfo>)>;
    /// Statistics of a volume's unit since the start, and its reservations.
    fn unit(&self, volume: ObjectId) -> UnitFacts;
    /// Takes at most `most` volumes whose [`Live::unit`] may have changed since this last returned
    /// them.
    fn take_used_units(&self, most: usize) -> Vec<ObjectId>;
    /// Offload rows of recently deleted volumes.
    fn deleted_offload(&self) -> Vec<OffloadRow>;
    /// Refusals in memory from this number on, oldest first.
    fn refusals(&self, since: u64) -> Vec<Refusal>;
    /// Numbers of open connections and of ended ones by reason.
    fn connections(&self) -> ConnectionCounters;
    /// SCSI commands received in the open sessions: a number that changes while hosts are active.
    /// Called often.
    fn commands(&self) -> u64;
    /// Reason why the pool stopped, if it did.
    fn pool_stopped(&self) -> Option<String>;
}

/// Durable change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A volume was created; no initiator sees it yet.
    VolumeAdded {
        /// The volume.
        object: ObjectId,
    },
    /// A volume was deleted; no initiator saw it.
    VolumeRemoved {
        /// The volume.
        object: ObjectId,
    },
    /// A volume was renamed.
    VolumeRenamed {
        /// The volume.
        object: ObjectId,
    },
    /// A volume grew: unit attention CAPACITY DATA HAS CHANGED.
    VolumeResized {
        /// The volume.
        object: ObjectId,
        /// New size.
        size_bytes: u64,
    },
    /// A volume took over the content and size of its snapshot, possibly while in use: hosts must
    /// discard cached data.
    VolumeRolledBack {
        /// The volume.
        object: ObjectId,
        /// New size.
        size_bytes: u64,
    },
    /// A soft threshold was reached from below. It is reported again only after usage has fallen
    /// below it.
    ThresholdReached {
        /// Volume of the threshold; absent: threshold of the pool, which concerns every volume.
        object: Option<ObjectId>,
        /// Threshold level.
        level: Level,
    },
    /// The write cache was switched: unit attention MODE PARAMETERS CHANGED.
    WriteCacheChanged {
        /// The volume.
        object: ObjectId,
        /// True if on.
        enabled: bool,
    },
    /// An administrator changed thresholds, which a mode page shows: unit attention MODE PARAMETERS
    /// CHANGED.
    ThresholdsChanged {
        /// Volume of the thresholds; absent: those of the pool, which every volume shows.
        object: Option<ObjectId>,
    },
    /// A grant was added: unit attention REPORTED LUNS DATA HAS CHANGED for the sessions concerned.
    AccessGranted {
        /// The volume.
        object: ObjectId,
        /// Host; absent: every initiator.
        host: Option<Uuid>,
        /// Logical unit number.
        lun: u16,
    },
    /// A grant was revoked: its logical unit ends for the sessions concerned.
    AccessRevoked {
        /// The volume.
        object: ObjectId,
        /// Host; absent: every initiator.
        host: Option<Uuid>,
        /// Logical unit number.
        lun: u16,
    },
    /// Grants of a volume to host groups changed: the access of sessions of their hosts may differ.
    GroupAccessChanged {
        /// The volume.
        object: ObjectId,
    },
    /// Members of a host group changed: the access of sessions of its hosts may differ.
    HostGroupChanged {
        /// The group.
        group: Uuid,
    },
    /// A host was created, or its initiator names or credentials changed: the access of its
    /// sessions may differ. [`Directory::nexus`] has the new access.
    HostChanged {
        /// The host.
        host: Uuid,
    },
    /// Target port groups are about to change their states: their ports answer TRANSITION. One of
    /// the next two changes follows.
    PortGroupTransitionBegins {
        /// The groups.
        groups: Vec<u16>,
    },
    /// The states are unchanged: unit attention IMPLICIT ASYMMETRIC ACCESS STATE TRANSITION FAILED.
    PortGroupTransitionFailed,
    /// States, members or redirections changed as in the directory: unit attention ASYMMETRIC
    /// ACCESS STATE CHANGED for the sessions concerned.
    PortGroupsChanged,
    /// A host was deleted; it had neither grants nor sessions.
    HostRemoved {
        /// The host.
        host: Uuid,
    },
}

/// Level of a soft threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Action is needed soon.
    Warning,
    /// Action is needed now.
    Critical,
}

/// Session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Number, unique since the start.
    pub id: u64,
    /// Name of the initiator.
    pub initiator: String,
    /// Portal of its leading connection.
    pub portal: SocketAddr,
    /// Relative target port identifier of that portal.
    pub target_port: u16,
    /// Remote address of that connection.
    pub peer_address: SocketAddr,
    /// Time at which it reached full feature phase.
    pub since: Timestamp,
    /// Arrival time of its last SCSI command.
    pub last_io: Option<Timestamp>,
    /// SCSI commands received.
    pub commands: u64,
    /// Data-In bytes sent.
    pub read_bytes: u64,
    /// Data-Out bytes received.
    pub written_bytes: u64,
}

/// Counters of connections to the portals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounters {
    /// Connections with a session of a host.
    pub with_session: u64,
    /// Connections without one: in login, or for discovery.
    pub without_session: u64,
    /// Largest number of sessions.
    pub max_sessions: u64,
    /// Largest number of connections without a session.
    pub max_without_session: u64,
    /// Connections closed to make room for others, since the start.
    pub displaced: u64,
    /// Logins refused, since the start.
    pub logins_failed: u64,
    /// Logins refused at the session limit, since the start.
    pub sessions_full: u64,
    /// Connections closed because the login timed out, since the start.
    pub login_timeouts: u64,
    /// Connections closed for a protocol error, since the start.
    pub protocol_errors: u64,
}

/// Registrations and reservation of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservations {
    /// I_T nexuses registered by PERSISTENT RESERVE OUT, logged in or not.
    pub registrations: Vec<Registration>,
    /// Type of the persistent reservation, if there is one.
    pub reservation_type: Option<ReservationType>,
    /// APTPL: all this survives a power loss.
    pub persistent: bool,
    /// PRGENERATION.
    pub generation: u32,
    /// Holder of a RESERVE (6) reservation; its `key` is 0.
    pub reserved_by: Option<Registration>,
    /// Commands refused with RESERVATION CONFLICT since the start.
    pub conflicts: u64,
}

/// Registration of an I_T nexus.
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
    /// True if it holds the reservation.
    pub holder: bool,
}

/// Network portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Listening address.
    pub listen: SocketAddr,
    /// `ADDRESS:PORT` for hosts: never an unspecified address.
    pub advertised: String,
}

/// Counters of one primitive on one volume. `commands = ok + refused + miscompares + errors + those
/// in flight`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadRow {
    /// Destination volume.
    pub volume: ObjectId,
    /// Name of the volume; of a deleted volume, its last one.
    pub name: String,
    /// The primitive.
    pub primitive: Primitive,
    /// Commands received.
    pub commands: u64,
    /// Successful commands.
    pub ok: u64,
    /// Commands refused with a reason.
    pub refused: u64,
    /// Commands with an unequal comparison.
    pub miscompares: u64,
    /// Commands that failed inside the array.
    pub errors: u64,
    /// Bytes addressed by the commands.
    pub bytes: u64,
    /// Bytes that the host did not have to transfer.
    pub host_bytes_avoided: u64,
    /// Bytes copied by sharing.
    pub cloned_bytes: u64,
    /// Bytes copied by reading and writing.
    pub copied_bytes: u64,
    /// Bytes unmapped in whole mapping units.
    pub deallocated_bytes: u64,
    /// Bytes unmapped at the edges: they read as zeros and may stay allocated.
    pub unaligned_bytes: u64,
    /// Time from arrival to status.
    pub latency: Histogram,
    /// Refusals by reason; their counts add up to `refused`.
    pub refusals: Vec<RefusalCount>,
    /// Failures by reason; their counts add up to `errors`.
    pub failures: Vec<RefusalCount>,
    /// Commands that succeeded without the benefit, by reason: a copy that had to move data, an
    /// UNMAP below the mapping unit.
    pub ineffective: Vec<RefusalCount>,
}

/// Number of occurrences of a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    /// Stable name.
    pub reason_code: &'static str,
    /// Text of the reason.
    pub reason: &'static str,
    /// Number of occurrences.
    pub count: u64,
}

/// Command that was refused, failed, or succeeded without the benefit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Number of the entry.
    pub sequence: u64,
    /// Time.
    pub time: Timestamp,
    /// The volume addressed.
    pub volume: ObjectId,
    /// Name of the volume at that time.
    pub volume_name: String,
    /// Name of the initiator.
    pub initiator: String,
    /// The primitive.
    pub primitive: Primitive,
    /// Outcome.
    pub ending: Ending,
    /// Stable name of the reason.
    pub reason_code: &'static str,
    /// Text of the reason.
    pub reason: &'static str,
    /// Relevant values of the command.
    pub detail: String,
}

/// Counters of reads and writes of one volume.
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

/// Latency histogram in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Buckets by ascending upper bound. Samples above the last bound are in `above`.
    pub buckets: Vec<Bucket>,
    /// Samples above the last bound.
    pub above: u64,
    /// Sum of all samples.
    pub sum_us: u64,
}

/// Bucket of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Largest sample of this bucket.
    pub upper_us: u64,
    /// Number of samples in this bucket alone.
    pub count: u64,
}

impl Histogram {
    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).fold(self.above, u64::saturating_add)
    }

    /// Mean; 0 if there are no samples.
    pub fn average_us(&self) -> u64 {
        self.sum_us.checked_div(self.count()).unwrap_or(0)
    }

    /// Upper bound of the bucket with the sample at `per_mille` thousandths; the last bound for
    /// samples above it; 0 if there are no samples.
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
