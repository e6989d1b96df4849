//! What hosts look at and use in their sessions, as `control` knows it.

use super::Iscsi;
use super::registry::Member;
use control::{PrimitiveSeen, SessionSeen, UnitSeen};
use jiff::{SignedDuration, Timestamp};
use media::Media;
use pool::ObjectId;
use scsi_target::{SCSI_PRIMITIVES, Seen};

impl<M: Media + 'static> Iscsi<M> {
    /// What the host of a session has looked at and used; nothing without a nexus.
    pub(super) fn seen(&self, member: &Member, now: Timestamp) -> SessionSeen {
        let Some(nexus) = member.nexus.get() else { return SessionSeen::default() };
        let observed = self.target.observed(nexus);
        if observed.changes == 0 {
            return SessionSeen::default();
        }
        let now_ns = self.target.monotonic_ns();
        let time = |at_ns: u64| {
            let ago = i64::try_from(now_ns.saturating_sub(at_ns)).unwrap_or(i64::MAX);
            now.saturating_sub(SignedDuration::from_nanos(ago)).unwrap_or(Timestamp::MIN)
        };
        let primitive = |(primitive, of): (_, scsi_target::PrimitiveUse)| PrimitiveSeen {
            primitive,
            succeeded: of.succeeded_ns.map(time),
            refused: of.refused.map(|(at, reason)| (time(at), reason)),
        };
        SessionSeen {
            capacity: observed.capacity_ns.map(time),
            block_limits: observed.block_limits_ns.map(time),
            provisioning: observed.provisioning_ns.map(time),
            third_party_copy: observed.third_party_copy_ns.map(time),
            first_io: observed.first_io_ns.map(time),
            primitives: SCSI_PRIMITIVES.into_iter().zip(observed.primitives).map(primitive).collect(),
            units: observed.units.iter().map(unit).collect(),
        }
    }
}

fn unit(of: &scsi_target::UnitSeen) -> UnitSeen {
    let has = |seen| of.seen.has(seen);
    let primitives =
        |ended: fn(_) -> Seen| SCSI_PRIMITIVES.into_iter().filter(|primitive| has(ended(*primitive))).collect();
    UnitSeen {
        object: ObjectId(of.volume.0),
        lun: of.lun,
        capacity: has(Seen::CAPACITY),
        block_limits: has(Seen::BLOCK_LIMITS),
        provisioning: has(Seen::PROVISIONING),
        third_party_copy: has(Seen::THIRD_PARTY_COPY),
        transferred: has(Seen::READ) || has(Seen::WRITE),
        succeeded: primitives(Seen::succeeded),
        refused: primitives(Seen::refused),
    }
}
