//! The SCSI target device: its logical units, attached nexuses and access, and the way of a command through it.

pub(crate) mod access;
pub(crate) mod background;
pub(crate) mod invocation;
pub(crate) mod persistent_reservations;
pub(crate) mod port_groups;
pub(crate) mod task_management;
pub(crate) mod thresholds;

pub use access::{AccessError, Grant};
pub(crate) use background::Work;
pub(crate) use invocation::Invocation;
pub use invocation::{Arrival, Request, Response};
pub use task_management::TaskManagementError;

use crate::device::access::Access as AccessEntry;
use crate::device::background::Background;
use crate::limits::Limits;
use crate::logical_unit::{LogicalUnit, LogicalUnitConfig};
use crate::nexus::{Nexus, NexusInfo, NexusTable};
use crate::nexus_id::NexusId;
use crate::device::port_groups::{ExplicitChange, PortGroup, TargetPort, TargetPortGroup};
use crate::tokens::Tokens;
use block::{BlockDevice, VolumeId};
use scsi::AdditionalSense;
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use unit::{
    IoLatency, IoStatistics, LogEntry, Primitive, Reason, RefusalLog, Turn, UnitStore, VolumeOffload, WorkingMemory,
};

/// Time, for latencies and the refusal log.
pub trait Clock {
    /// Nanoseconds since a fixed instant; never goes back.
    fn monotonic_ns(&self) -> u64;
    /// Milliseconds since 1970-01-01 00:00 UTC.
    fn unix_ms(&self) -> u64;
}

/// Who the target device is. The same on every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetIdentity {
    /// iSCSI name.
    pub name: String,
    /// Target port groups, by identifier.
    pub groups: Vec<TargetPortGroup>,
    /// The target ports.
    pub ports: Vec<TargetPort>,
}

/// What a target is made of.
#[derive(Clone)]
pub struct TargetOptions {
    /// Names.
    pub identity: TargetIdentity,
    /// Announced and enforced limits.
    pub limits: Limits,
    /// Time.
    pub clock: Rc<dyn Clock>,
    /// Entries that the refusal log keeps.
    pub refusal_log_entries: usize,
    /// The rest of the array, for what units ask of it.
    pub store: Rc<dyn UnitStore>,
    /// Initiators may change access states (explicit asymmetric access, TPGS = 11b). Otherwise SET TARGET PORT GROUPS does not exist.
    pub explicit_access: bool,
    /// Random bytes that no other run has, with which ROD tokens are authenticated.
    pub token_key: [u8; 32],
}

/// A SCSI target device over block devices of type `D`. Used from one thread.
pub struct ScsiTarget<D> {
    pub(crate) identity: RefCell<TargetIdentity>,
    pub(crate) limits: Limits,
    pub(crate) units: RefCell<BTreeMap<VolumeId, Rc<LogicalUnit<D>>>>,
    pub(crate) nexuses: RefCell<NexusTable<D>>,
    pub(crate) access: RefCell<Vec<AccessEntry>>,
    pub(crate) store: Rc<dyn UnitStore>,
    /// Initiators may change access states (SET TARGET PORT GROUPS).
    pub(crate) explicit_access: bool,
    pub(crate) tokens: Tokens<D>,
    pub(crate) background: Background<D>,
    pub(crate) working_memory: WorkingMemory,
    pub(crate) explicit_change: RefCell<Option<ExplicitChange>>,
    /// One SET TARGET PORT GROUPS at a time.
    pub(crate) port_group_turn: Turn,
    /// The groups as they were last set; empty until then.
    pub(crate) settled: RefCell<Vec<PortGroup>>,
    pub(crate) clock: Rc<dyn Clock>,
    pub(crate) log: RefCell<RefusalLog>,
}

impl<D> ScsiTarget<D> {
    /// Announced and enforced limits.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// ROD tokens.
    pub(crate) fn tokens(&self) -> &Tokens<D> {
        &self.tokens
    }

    /// Name, groups and ports.
    pub(crate) fn identity(&self) -> Ref<'_, TargetIdentity> {
        self.identity.borrow()
    }

    /// Whether initiators may change access states (SET TARGET PORT GROUPS).
    pub(crate) fn explicit_access(&self) -> bool {
        self.explicit_access
    }

    /// Nanoseconds since a fixed instant.
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }

    /// Attached I_T nexus.
    pub(crate) fn nexus(&self, nexus: NexusId) -> Option<Rc<Nexus<D>>> {
        self.nexuses.borrow().get(nexus)
    }
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// A target without logical units.
    pub fn new(options: TargetOptions) -> Self {
        Self {
            identity: RefCell::new(options.identity),
            limits: options.limits,
            units: RefCell::default(),
            nexuses: RefCell::default(),
            access: RefCell::default(),
            store: options.store,
            explicit_access: options.explicit_access,
            tokens: Tokens::new(options.token_key),
            background: Background::default(),
            working_memory: WorkingMemory::new(options.limits.working_bytes),
            explicit_change: RefCell::default(),
            port_group_turn: Turn::default(),
            settled: RefCell::default(),
            clock: options.clock,
            log: RefCell::new(RefusalLog::new(options.refusal_log_entries)),
        }
    }

    /// Sets the target's iSCSI name, when it is known only after the target was made.
    pub fn set_name(&self, name: &str) {
        name.clone_into(&mut self.identity.borrow_mut().name);
    }

    // Logical units.

    /// Adds a logical unit, visible to no initiator. One that has the same volume already is replaced together with its access.
    pub fn add_logical_unit(&self, config: LogicalUnitConfig<D>) {
        let unit = LogicalUnit::new(config);
        self.remove_logical_unit(unit.volume());
        self.units.borrow_mut().insert(unit.volume(), Rc::new(unit));
    }

    /// Puts another device behind a logical unit (after a roll-back, for instance): identity, access and reservation stay, every nexus
    /// learns that the capacity may have changed. False when there is no such logical unit.
    pub fn replace_device(&self, volume: VolumeId, device: D) -> bool {
        let Some(unit) = self.unit(volume) else { return false };
        unit.replace_device(device);
        self.resized(volume);
        true
    }

    /// Removes a logical unit and all access to it: commands get LOGICAL UNIT NOT SUPPORTED. Commands in flight keep the device until
    /// they are done. False when there is no such logical unit.
    pub fn remove_logical_unit(&self, volume: VolumeId) -> bool {
        let removed = self.units.borrow_mut().remove(&volume);
        if let Some(unit) = &removed {
            unit.sanitize.abandon();
            self.tokens.cancel_of(volume);
            self.access.borrow_mut().retain(|entry| entry.volume != volume);
            self.refresh_views();
        }
        removed.is_some()
    }

    /// Gives the volume another name in counters and log.
    pub fn rename(&self, volume: VolumeId, name: &str) {
        if let Some(unit) = self.unit(volume) {
            unit.rename(name);
        }
    }

    /// The volume's size changed: every nexus that sees it gets CAPACITY DATA HAS CHANGED.
    pub fn resized(&self, volume: VolumeId) {
        self.raise_where(volume, AdditionalSense::CAPACITY_DATA_HAS_CHANGED, |_| true);
    }

    /// The soft thresholds of a volume, or without one of all, were set by an administrator: every nexus gets MODE PARAMETERS CHANGED.
    pub fn thresholds_changed(&self, volume: Option<VolumeId>) {
        let volumes: Vec<VolumeId> = self.units.borrow().keys().copied().collect();
        for unit in volumes.into_iter().filter(|unit| volume.is_none_or(|volume| volume == *unit)) {
            self.mode_parameters_changed(unit);
        }
    }

    /// The volume's write cache was switched by an administrator: every nexus gets MODE PARAMETERS CHANGED, and INQUIRY DATA HAS CHANGED for V_SUP of the
    /// Extended INQUIRY Data VPD page.
    pub fn write_cache_changed(&self, volume: VolumeId) {
        self.mode_parameters_changed(volume);
        self.raise_where(volume, AdditionalSense::INQUIRY_DATA_HAS_CHANGED, |_| true);
    }

    /// The volume's mode parameters are other ones now: every nexus gets MODE PARAMETERS CHANGED.
    pub fn mode_parameters_changed(&self, volume: VolumeId) {
        self.raise_where(volume, AdditionalSense::MODE_PARAMETERS_CHANGED, |_| true);
    }

    /// The I_T nexus that has reserved the volume with RESERVE.
    pub fn reservation_holder(&self, volume: VolumeId) -> Option<NexusId> {
        self.unit(volume)?.reserved_by()
    }

    /// Reads and writes of a volume.
    pub fn io_statistics(&self, volume: VolumeId) -> Option<IoStatistics> {
        Some(self.unit(volume)?.statistics.io())
    }

    /// How long a volume's reads and writes took.
    pub fn io_latency(&self, volume: VolumeId) -> Option<IoLatency> {
        Some(self.unit(volume)?.statistics.latency())
    }

    /// Commands that a volume's logical unit is working on now, of any kind.
    pub fn commands_in_flight(&self, volume: VolumeId) -> Option<u64> {
        Some(self.unit(volume)?.statistics.commands_in_flight())
    }

    /// Offload counters of every volume and primitive, by volume.
    pub fn offload_statistics(&self) -> Vec<VolumeOffload> {
        let units = self.units.borrow();
        let each = units.values().flat_map(|unit| {
            let name = unit.name().to_string();
            Primitive::ALL.into_iter().zip(unit.statistics.offload()).map(move |(primitive, statistics)| {
                VolumeOffload { volume: unit.volume(), name: name.clone(), primitive, statistics }
            })
        });
        each.collect()
    }

    /// The refusal log's entries with a sequence number of at least `since`, oldest first.
    pub fn refusals(&self, since: u64) -> Vec<LogEntry> {
        self.log.borrow().since(since)
    }

    /// Entries ever written to the refusal log.
    pub fn refusals_total(&self) -> u64 {
        self.log.borrow().total()
    }

    /// Entries ever written, by primitive and reason; zeros are left out.
    pub fn refusals_by_reason(&self) -> Vec<(Primitive, Reason, u64)> {
        self.log.borrow().by_reason()
    }

    pub(crate) fn unit(&self, volume: VolumeId) -> Option<Rc<LogicalUnit<D>>> {
        self.units.borrow().get(&volume).cloned()
    }

    // I_T nexuses.

    /// Attaches an I_T nexus: an initiator port (`initiator_port` includes the ISID) through a target port. Its first command on each
    /// logical unit meets POWER ON, RESET, OR BUS DEVICE RESET OCCURRED. Session reinstatement detaches the old nexus first.
    pub fn attach_nexus(&self, initiator_port: &str, initiator: &str, relative_target_port: u16) -> NexusId {
        let registrant = persistent_reservations::registrant(initiator_port, relative_target_port);
        let nexus =
            self.nexuses.borrow_mut().insert(initiator_port.to_owned(), initiator, relative_target_port, registrant);
        nexus.access_state.set(self.port_state(relative_target_port).1);
        self.refresh_view(&nexus, false);
        for path in nexus.view() {
            path.raise(AdditionalSense::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED);
        }
        nexus.id
    }

    /// Detaches an I_T nexus: its reservation, prevention of removal and copy results are gone, what it
    /// has registered for persistent reservations stays. Its commands have to be done before, see also [`Self::stop_background_of`].
    pub fn detach_nexus(&self, nexus: NexusId) {
        let removed = self.nexuses.borrow_mut().remove(nexus);
        if let Some(removed) = removed {
            let _they_end_at_their_next_step = removed.copies.abort_background(None);
            for unit in self.units.borrow().values() {
                unit.forget(nexus);
            }
        }
    }

    /// Every attached nexus.
    pub fn nexus_list(&self) -> Vec<NexusInfo> {
        self.nexuses.borrow().all().iter().map(|nexus| nexus.info()).collect()
    }

    /// Queues a unit attention on every nexus that sees the volume and for which `wanted` holds.
    pub(crate) fn raise_where(&self, volume: VolumeId, attention: AdditionalSense, wanted: impl Fn(NexusId) -> bool) {
        for nexus in self.nexuses.borrow().all() {
            if !wanted(nexus.id) {
                continue;
            }
            for path in nexus.view() {
                if path.unit.volume() == volume {
                    path.raise(attention);
                }
            }
        }
    }
}
