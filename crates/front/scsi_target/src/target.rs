//! The SCSI target device: its logical units, attached nexuses and access, and the way of a command through it.

use crate::access::Access as AccessEntry;
use crate::background::Background;
use crate::command::{Command, DataDirection, Medium, Operation, UnitAttention};
use crate::commands;
use crate::invocation::{Arrival, Invocation, Reply, Request, Response};
use crate::limits::Limits;
use crate::logical_unit::{LogicalUnit, LogicalUnitConfig};
use crate::nexus::{ItlNexus, Nexus, NexusId, NexusInfo, NexusTable};
use crate::port_groups::{self, ExplicitChange, PortGroup, TargetPort, TargetPortGroup};
use crate::refusal;
use crate::sense::{self, Fault};
use crate::task_set::{TaskAttribute, TaskGuard, Wait};
use crate::tokens::Tokens;
use block::{BlockDevice, VolumeId};
use bytes::Bytes;
use scsi::{AdditionalSense, Cdb, LogicalUnitNumber, Status};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use unit::WorkingMemory;
use unit::{Io, IoLatency, IoStatistics};
use unit::{LogEntry, OffloadWork, Primitive, Reason, RefusalLog, VolumeOffload};
use unit::{Turn, UnitStore};

/// Time, for latencies and the refusal log.
pub trait Clock {
    /// Nanoseconds since some fixed moment; never goes back.
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
    clock: Rc<dyn Clock>,
    log: RefCell<RefusalLog>,
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

    /// Adds a logical unit, visible to nobody. One that has the same volume already is replaced together with its access.
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
        let nexus = self.nexuses.borrow_mut().insert(initiator_port.to_owned(), initiator, relative_target_port);
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

    // Commands.

    /// Bytes of Data-Out that the command wants before it is executed, at most `expected` (what the transport announced). 0 for a
    /// command that will be refused for its CDB, so that nothing is buffered for it.
    pub fn data_out_bytes(&self, nexus: NexusId, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32 {
        let Some(path) = self.path(nexus, lun) else { return 0 };
        let cdb = Cdb(*cdb);
        let Ok(command) = Command::find(&cdb) else { return 0 };
        if command.data != DataDirection::Out || command.validate(&cdb).is_err() {
            return 0;
        }
        let wanted = commands::data_out_bytes(command, &cdb, &self.limits, path.unit.block_count());
        u32::try_from(wanted).unwrap_or(u32::MAX).min(expected)
    }

    fn path(&self, nexus: NexusId, lun: [u8; 8]) -> Option<Rc<ItlNexus<D>>> {
        self.nexuses.borrow().get(nexus)?.at(LogicalUnitNumber::decode(lun)?)
    }

    /// What stands at a LUN now, for [`Self::execute_arrived`].
    pub fn arrival(&self, nexus: NexusId, lun: [u8; 8]) -> Arrival {
        let path = self.path(nexus, lun);
        path.map_or_else(Arrival::default, |path| Arrival {
            volume: Some(path.unit.volume()),
            content_generation: path.unit.content_generation(),
        })
    }

    /// Executes a command that came a moment ago. `request.data_out` holds what [`Self::data_out_bytes`] asked for (more is ignored).
    pub fn execute(&self, nexus: NexusId, lun: [u8; 8], request: Request) -> impl Future<Output = Response> {
        self.execute_arrived(nexus, lun, self.arrival(nexus, lun), request)
    }

    /// Executes a command whose Data-Out took its time. It is for what stood at its LUN when it came:
    ///
    /// * LOGICAL UNIT NOT SUPPORTED, when something else stands there by now.
    /// * COMMANDS CLEARED BY DEVICE SERVER for Data-Out that was sent before a sanitize operation began, or a roll-back.
    #[expect(clippy::manual_async_fn, reason = "an async fn would keep its arguments twice")]
    pub fn execute_arrived(
        &self,
        nexus: NexusId,
        lun: [u8; 8],
        arrival: Arrival,
        request: Request,
    ) -> impl Future<Output = Response> {
        async move {
            let cdb = Cdb(request.cdb);
            let nexus = self.nexuses.borrow().get(nexus);
            let Some(nexus) = nexus else { return Self::failure(&Fault::LogicalUnitNotSupported, 0) };
            let lun = LogicalUnitNumber::decode(lun);
            let path = lun.and_then(|lun| nexus.at(lun));
            if path.as_ref().map(|path| path.unit.volume()) != arrival.volume {
                return Self::failure(&Fault::LogicalUnitNotSupported, 0);
            }
            let Some(path) = path else {
                return match commands::without_logical_unit(&nexus, lun, &cdb) {
                    Ok(reply) => Self::success(reply),
                    Err(fault) => Self::failure(&fault, 0),
                };
            };
            if request.attribute == TaskAttribute::Invalid {
                return Self::failure(&Fault::InvalidTaskAttribute, 0);
            }
            // Before anything that awaits: places are taken in the order in which commands come.
            let (place, turn) = path.unit.task_set.enter(request.attribute);
            if !matches!(turn, Wait::Now) {
                let abort = request.abort.clone();
                Box::pin(poll_fn(move |context| {
                    if abort.is_set_or_wakes(context.waker()) { Poll::Ready(()) } else { turn.poll(context) }
                }))
                .await;
                if request.abort.is_set() {
                    return Self::failure(&Fault::TaskAborted, 0);
                }
                if !nexus.sees(&path.unit) {
                    return Self::failure(&Fault::LogicalUnitNotSupported, 0);
                }
            }
            let command = Command::find(&cdb);
            let kept = matches!(command, Ok(command) if command.unit_attention == UnitAttention::Kept);
            if !kept && let Some(attention) = path.take_attention() {
                return Self::failure(&Fault::UnitAttention(attention), 0);
            }
            let command = command.and_then(|command| {
                if !self.implements(command.operation) {
                    return Err(Fault::InvalidOperationCode);
                }
                port_groups::check(&nexus, command.operation).map(|()| command)
            });
            let command = match command {
                Ok(command) => command,
                Err(fault) => return Self::failure(&fault, 0),
            };
            if command.data == DataDirection::Out
                && let Err(fault) = path.unit.check_content(arrival.content_generation)
            {
                return Self::failure(&fault, 0);
            }
            let _in_flight = path.unit.statistics.enter();
            let io = match command.operation {
                Operation::Read => Some(Io::Read),
                Operation::Write | Operation::WriteAndVerify | Operation::OrWrite | Operation::WriteAtomic => {
                    Some(Io::Write)
                }
                _ => None,
            };
            let is_timed = command.offload.is_some() || io.is_some();
            let started_ns = if is_timed { self.clock.monotonic_ns() } else { 0 };
            let result = self.run(&nexus, &path.unit, command, cdb, request, place).await;
            if !is_timed {
                return match result {
                    Ok(reply) => Self::success(reply),
                    Err((fault, transfer_bytes)) => Self::failure(&fault, transfer_bytes),
                };
            }
            let latency_ns = self.clock.monotonic_ns().saturating_sub(started_ns);
            let origin = command.offload.map(|primitive| Origin { primitive, command, nexus: &nexus, latency_ns });
            match result {
                Ok(reply) => {
                    if let Some(io) = io {
                        path.unit.statistics.record_latency(io, latency_ns);
                    }
                    if let Some(origin) = &origin {
                        self.account_success(origin, &path.unit, &reply);
                    }
                    Self::success(reply)
                }
                Err((fault, transfer_bytes)) => {
                    if let Some(origin) = &origin {
                        self.account_failure(origin, &path.unit, &fault);
                    }
                    Self::failure(&fault, transfer_bytes)
                }
            }
        }
    }

    /// Admits and executes. A fault comes with the bytes that the command wanted to move.
    async fn run(
        &self,
        nexus: &Nexus<D>,
        unit: &LogicalUnit<D>,
        command: &'static Command,
        cdb: Cdb,
        request: Request,
        place: TaskGuard,
    ) -> Result<Reply, (Fault, u64)> {
        let admitted = Self::admit(nexus, unit, command, &cdb);
        let wanted_bytes = || match command.data {
            DataDirection::Out => commands::data_out_bytes(command, &cdb, &self.limits, unit.block_count()),
            DataDirection::In | DataDirection::None => 0,
        };
        let admitted = admitted.and_then(|()| Self::check_direction(command, &request, wanted_bytes));
        admitted.map_err(|fault| (fault, wanted_bytes()))?;
        // From the reservation check to here nothing awaits, so a RESERVE either refuses this command or waits for it.
        let _in_flight = command.is_write_in_flight().then(|| unit.writes.enter());
        let content_generation = unit.content_generation();
        let place = RefCell::new(Some(place));
        let call = Invocation { target: self, nexus, unit, command, cdb, request, content_generation, place };
        commands::execute(&call).await.map_err(|fault| (fault, wanted_bytes()))
    }

    fn admit(nexus: &Nexus<D>, unit: &LogicalUnit<D>, command: &Command, cdb: &Cdb) -> Result<(), Fault> {
        unit.check_access(nexus, command.access_of(cdb))?;
        command.validate(cdb)?;
        if !command.works_while_sanitizing() {
            unit.sanitize.check()?;
        }
        match command.medium {
            Medium::NotNeeded => Ok(()),
            Medium::Present => unit.check_present(),
            Medium::Writable => unit.check_writable(),
        }
    }

    /// Refuses a command whose Data-Out the transport would not bring: nothing would be stored. (Data-In that is not fetched harms
    /// nobody, and libiscsi's tests expect GOOD.) An expected
    /// length of 0 is no contradiction, but a residual overflow of everything (RFC 7143 §11.4.5).
    fn check_direction(command: &Command, request: &Request, wanted_bytes: impl FnOnce() -> u64) -> Result<(), Fault> {
        let (data_in, data_out) = (request.expected_data_in > 0, request.expected_data_out > 0);
        let contradicts = match command.data {
            DataDirection::Out => data_in && !data_out && wanted_bytes() > 0,
            DataDirection::In | DataDirection::None => false,
        };
        if contradicts { Err(Fault::WrongDirection) } else { Ok(()) }
    }

    fn success(reply: Reply) -> Response {
        Response {
            status: Status::GOOD.0,
            sense: reply.sense.map(|sense| sense.encode()).unwrap_or_default(),
            data_in: reply.data_in,
            transfer_bytes: reply.transfer_bytes,
        }
    }

    fn failure(fault: &Fault, transfer_bytes: u64) -> Response {
        let outcome = sense::outcome(fault);
        Response { status: outcome.status.0, sense: outcome.sense_bytes(), data_in: Bytes::new(), transfer_bytes }
    }

    // Offload accounting.

    fn account_success(&self, origin: &Origin<'_, D>, receiver: &Rc<LogicalUnit<D>>, reply: &Reply) {
        let work = reply.offload.as_deref();
        let unit = work.and_then(|work| work.volume).and_then(|volume| self.unit(volume));
        let unit = unit.as_ref().unwrap_or(receiver);
        unit.statistics.account(origin.primitive, |statistics| {
            statistics.commands += 1;
            statistics.ok += 1;
            statistics.latency.record(origin.latency_ns);
            if let Some(work) = work {
                statistics.add(work);
                if let Some((reason, _)) = &work.not_offloaded {
                    statistics.ineffective.add(*reason);
                }
            }
        });
        if let Some((reason, detail)) = work.and_then(|work| work.not_offloaded.as_ref()) {
            self.write_log(origin, unit, *reason, detail.clone());
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }

    /// Accounts what an operation did whose command was answered, and counted, before.
    pub(crate) fn account_background(&self, call: &Invocation<'_, D>, result: Result<&OffloadWork, &Fault>) {
        let Some(primitive) = call.command.offload else { return };
        let origin = Origin { primitive, command: call.command, nexus: call.nexus, latency_ns: 0 };
        match result {
            Ok(work) => {
                let unit = work.volume.and_then(|volume| self.unit(volume));
                unit.as_deref().unwrap_or(call.unit).statistics.account(primitive, |statistics| statistics.add(work));
            }
            Err(fault) => {
                if let Some(reason) = refusal::reason(fault) {
                    self.write_log(&origin, call.unit, reason, refusal::detail(fault));
                }
            }
        }
    }

    fn account_failure(&self, origin: &Origin<'_, D>, unit: &LogicalUnit<D>, fault: &Fault) {
        let reason = refusal::reason(fault);
        unit.statistics.account(origin.primitive, |statistics| {
            statistics.commands += 1;
            statistics.latency.record(origin.latency_ns);
            if let Some(reason) = reason {
                statistics.refusals.add(reason);
            }
            match reason {
                None => statistics.miscompares += 1,
                Some(Reason::MediaError | Reason::PoolStopped) => statistics.errors += 1,
                Some(_) => statistics.refused += 1,
            }
        });
        if let Some(reason) = reason {
            self.write_log(origin, unit, reason, refusal::detail(fault));
        }
    }

    fn write_log(&self, origin: &Origin<'_, D>, unit: &LogicalUnit<D>, reason: Reason, detail: String) {
        self.log.borrow_mut().push(LogEntry {
            sequence: 0,
            unix_ms: self.clock.unix_ms(),
            volume: unit.volume(),
            volume_name: unit.name().to_string(),
            initiator: origin.nexus.initiator.to_string(),
            primitive: origin.primitive,
            command: origin.command.name,
            reason,
            detail,
        });
    }
}

/// Where an offload command came from, and how long it took.
struct Origin<'a, D> {
    primitive: Primitive,
    command: &'static Command,
    nexus: &'a Nexus<D>,
    latency_ns: u64,
}
