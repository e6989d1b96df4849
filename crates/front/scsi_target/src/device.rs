//! SCSI target device: its logical units, attached nexuses and access grants.

mod access;
mod background;
mod invocation;
pub(crate) mod persistent_reservations;
pub(crate) mod port_groups;
mod task_management;
mod thresholds;

pub use access::{AccessError, Grant};
pub(crate) use background::Work;
pub(crate) use invocation::Invocation;
pub use invocation::{Arrival, Request, Response};
pub use task_management::TaskManagementError;

use crate::charges::{Charges, OffloadLimits};
use crate::limits::Limits;
use crate::logical_unit::{LogicalUnit, LogicalUnitConfig};
use crate::nexus::{Nexus, NexusInfo, NexusTable};
use crate::nexus_id::NexusId;
use crate::observed::Observed;
use crate::tokens::Tokens;
use access::AccessTable;
use background::Background;
use block::{BlockDevice, VolumeId};
use port_groups::{ExplicitChange, PortGroup, TargetPort, TargetPortGroup};
use scsi::AdditionalSense;
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use unit::{ClientId, FairLock, Units};

/// Identity of the target device, equal on every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetIdentity {
    /// iSCSI name.
    pub name: String,
    /// Target port groups, by identifier.
    pub groups: Vec<TargetPortGroup>,
    /// The target ports.
    pub ports: Vec<TargetPort>,
}

/// Parameters of [`ScsiTarget::new`].
#[derive(Clone)]
pub struct TargetOptions {
    /// Name, groups and ports.
    pub identity: TargetIdentity,
    /// Announced and enforced limits.
    pub limits: Limits,
    /// Permits initiators to change access states (explicit asymmetric access, TPGS = 11b).
    /// Otherwise SET TARGET PORT GROUPS does not exist.
    pub explicit_access: bool,
    /// Random key, new for every run, with which ROD tokens are authenticated.
    pub token_key: [u8; 32],
}

/// A SCSI target device over block devices of type `D`. Used from one thread.
pub struct ScsiTarget<D> {
    identity: RefCell<TargetIdentity>,
    limits: Limits,
    /// Units of the array. A logical unit is one of them as SCSI shows it.
    units: Rc<Units<D>>,
    logical_units: RefCell<BTreeMap<VolumeId, Rc<LogicalUnit<D>>>>,
    nexuses: RefCell<NexusTable<D>>,
    access: RefCell<AccessTable>,
    /// Initiators may change access states (SET TARGET PORT GROUPS).
    explicit_access: bool,
    tokens: Tokens<D>,
    background: Background<D>,
    explicit_change: RefCell<Option<ExplicitChange>>,
    /// One SET TARGET PORT GROUPS at a time.
    port_group_lock: FairLock,
    /// Groups as they were last set; empty until then.
    settled: RefCell<Vec<PortGroup>>,
    charges: Charges,
}

impl<D> ScsiTarget<D> {
    /// Units of the array.
    pub(crate) fn units(&self) -> &Units<D> {
        &self.units
    }

    /// Announced and enforced limits.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// ROD tokens.
    pub(crate) fn tokens(&self) -> &Tokens<D> {
        &self.tokens
    }

    /// Sets the limits that offloaded work meets. The first call counts.
    pub fn limit_offload(&self, limits: impl OffloadLimits + 'static) {
        self.charges.set(Box::new(limits));
    }

    /// Limits that offloaded work meets.
    pub(crate) fn charges(&self) -> &Charges {
        &self.charges
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
        self.units.clock().monotonic_ns()
    }

    /// Attached I_T nexus.
    pub(crate) fn nexus(&self, nexus: NexusId) -> Option<Rc<Nexus<D>>> {
        self.nexuses.borrow().get(nexus)
    }
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Creates a target without logical units, for units of `units`.
    pub fn new(units: Rc<Units<D>>, options: TargetOptions) -> Self {
        Self {
            identity: RefCell::new(options.identity),
            limits: options.limits,
            units,
            logical_units: RefCell::default(),
            nexuses: RefCell::default(),
            access: RefCell::default(),
            explicit_access: options.explicit_access,
            tokens: Tokens::new(options.token_key),
            background: Background::default(),
            explicit_change: RefCell::default(),
            port_group_lock: FairLock::default(),
            settled: RefCell::default(),
            charges: Charges::default(),
        }
    }

    // Logical units.

    /// Adds a logical unit, visible to no initiator. An existing one of the same volume is removed
    /// first, together with its access grants.
    pub fn add_logical_unit(&self, config: LogicalUnitConfig<D>) {
        let unit = LogicalUnit::new(config);
        self.remove_logical_unit(unit.volume());
        self.logical_units.borrow_mut().insert(unit.volume(), Rc::new(unit));
    }

    /// Removes a logical unit and all access to it: commands get LOGICAL UNIT NOT SUPPORTED.
    /// Commands in flight keep the unit until they are done. False when there is no such logical
    /// unit.
    pub fn remove_logical_unit(&self, volume: VolumeId) -> bool {
        let removed = self.logical_units.borrow_mut().remove(&volume).is_some();
        if removed {
            self.tokens.cancel_of(volume);
            self.revoke_all(volume);
        }
        removed
    }

    /// Ends the ROD tokens of a volume whose content is being made unreadable.
    pub fn content_discarded(&self, volume: VolumeId) {
        self.tokens.cancel_of(volume);
    }

    /// Raises CAPACITY DATA HAS CHANGED on every nexus that sees the volume.
    pub fn resized(&self, volume: VolumeId) {
        self.raise_where(volume, AdditionalSense::CAPACITY_DATA_HAS_CHANGED, |_| true);
    }

    /// Raises MODE PARAMETERS CHANGED on every nexus that sees the volume (`None`: any volume),
    /// because an administrator changed its soft thresholds.
    pub fn thresholds_changed(&self, volume: Option<VolumeId>) {
        let volumes: Vec<VolumeId> = self.logical_units.borrow().keys().copied().collect();
        for unit in volumes.into_iter().filter(|unit| volume.is_none_or(|volume| volume == *unit)) {
            self.mode_parameters_changed(unit);
        }
    }

    /// Raises MODE PARAMETERS CHANGED on every nexus that sees the volume, because an administrator
    /// switched its write cache, and INQUIRY DATA HAS CHANGED for V_SUP of the Extended INQUIRY
    /// Data VPD page.
    pub fn write_cache_changed(&self, volume: VolumeId) {
        self.mode_parameters_changed(volume);
        self.raise_where(volume, AdditionalSense::INQUIRY_DATA_HAS_CHANGED, |_| true);
    }

    /// Raises MODE PARAMETERS CHANGED on every nexus that sees the volume.
    pub fn mode_parameters_changed(&self, volume: VolumeId) {
        self.raise_where(volume, AdditionalSense::MODE_PARAMETERS_CHANGED, |_| true);
    }

    pub(crate) fn logical_unit(&self, volume: VolumeId) -> Option<Rc<LogicalUnit<D>>> {
        self.logical_units.borrow().get(&volume).cloned()
    }

    // I_T nexuses.

    /// Attaches an I_T nexus: an initiator port (`initiator_port` includes the ISID) through a target port. Its first
    /// command on each logical unit meets POWER ON, RESET, OR BUS DEVICE RESET OCCURRED. Session reinstatement
    /// detaches the old nexus first.
    pub fn attach_nexus(&self, initiator_port: &str, initiator: &str, relative_target_port: u16) -> NexusId {
        let registrant = persistent_reservations::registrant(initiator_port, relative_target_port);
        let nexus =
            self.nexuses.borrow_mut().insert(initiator_port.to_owned(), initiator, relative_target_port, registrant);
        nexus.set_access_state(self.port_state(relative_target_port).1);
        self.refresh_view(&nexus, false);
        for path in nexus.view() {
            path.raise(AdditionalSense::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED);
        }
        nexus.id
    }

    /// Detaches an I_T nexus: its reservation, prevention of removal and copy results are removed;
    /// its persistent-reservation registrations stay. Its commands must have ended before, see also
    /// [`Self::stop_background_of`].
    pub fn detach_nexus(&self, nexus: NexusId) {
        let removed = self.nexuses.borrow_mut().remove(nexus);
        if let Some(removed) = removed {
            let _ending = removed.copies.abort_background(None);
            for unit in self.logical_units.borrow().values() {
                unit.forget(nexus);
            }
        }
    }

    /// Nexus of a client; `None` when it is not attached.
    pub fn nexus_of(&self, client: ClientId) -> Option<NexusInfo> {
        let nexus = self.nexuses.borrow().get(NexusId::of_client(client)?)?;
        Some(nexus.info())
    }

    /// What the host of a nexus has looked at and used. Empty if the nexus is not attached.
    pub fn observed(&self, nexus: NexusId) -> Observed {
        self.nexuses.borrow().get(nexus).map(|nexus| nexus.observed()).unwrap_or_default()
    }

    /// Number of observations of a nexus, [`Observed::changes`]; 0 if it is not attached.
    pub fn observations_made(&self, nexus: NexusId) -> u64 {
        self.nexuses.borrow().get(nexus).map_or(0, |nexus| nexus.observations.made())
    }

    /// Nanoseconds since a fixed instant: the clock of [`Observed`].
    pub fn monotonic_ns(&self) -> u64 {
        self.now_ns()
    }

    /// All attached nexuses.
    #[cfg(test)]
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
                if path.unit().volume() == volume {
                    path.raise(attention);
                }
            }
        }
    }
}
