//! Path of a command through the target: logical unit at its LUN, place in the task set, checks in
//! the order in which the standards report their failures (SPC-4 §4.5, SAM-5 §5.14), execution, and
//! accounting.

use crate::command::{Command, DataDirection, Medium, UnitAttention};
use crate::commands::{self, Row};
use crate::device::{Arrival, Invocation, Request, Response, ScsiTarget, port_groups};
use crate::limits::Limits;
use crate::logical_unit::LogicalUnit;
use crate::nexus::{ItlNexus, Nexus};
use crate::nexus_id::NexusId;
use crate::refusal;
use crate::reply::Reply;
use crate::sense::{self, Fault};
use crate::task_set::{TaskAttribute, TaskGuard, Wait};
use block::BlockDevice;
use bytes::Bytes;
use scsi::{Cdb, LogicalUnitNumber, Status};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use unit::{Ending, Holder, LogEntry, OffloadWork, Primitive, Reason, ReservationHolder, Unit};

/// Nexus and logical unit that a command addresses.
struct Addressed<D> {
    nexus: Rc<Nexus<D>>,
    path: Rc<ItlNexus<D>>,
}

/// Bytes of Data-Out that a command needs of a logical unit of this size.
pub(crate) fn data_out_bytes(limits: &Limits, block_count: u64, cdb: &Cdb, expected: u32) -> u32 {
    let Ok(row) = commands::find(cdb) else { return 0 };
    let command = row.command;
    if !command.takes_data() || row.validate(cdb).is_err() {
        return 0;
    }
    let wanted = command.data_out_bytes(cdb, limits, block_count);
    u32::try_from(wanted).unwrap_or(u32::MAX).min(expected)
}

impl<D: BlockDevice + 'static> ScsiTarget<D> {
    /// Bytes of Data-Out that the command needs before it is executed, at most `expected` (the
    /// announced length). 0 for a command whose CDB will be refused, so that nothing is buffered
    /// for it.
    pub fn data_out_bytes(&self, nexus: NexusId, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32 {
        let Some(path) = self.path(nexus, lun) else { return 0 };
        data_out_bytes(self.limits(), path.unit().block_count(), &Cdb(*cdb), expected)
    }

    fn path(&self, nexus: NexusId, lun: [u8; 8]) -> Option<Rc<ItlNexus<D>>> {
        self.nexus(nexus)?.at(LogicalUnitNumber::decode(lun)?)
    }

    /// Logical unit that is at a LUN now, for [`Self::execute_arrived`].
    pub fn arrival(&self, nexus: NexusId, lun: [u8; 8]) -> Arrival {
        let path = self.path(nexus, lun);
        path.map_or_else(Arrival::default, |path| Arrival {
            volume: Some(path.unit().volume()),
            content_generation: path.unit().content_generation(),
        })
    }

    /// Executes a command that has just arrived. `request.data_out` holds the bytes that
    /// [`Self::data_out_bytes`] asked for (more are ignored).
    pub fn execute(&self, nexus: NexusId, lun: [u8; 8], request: Request) -> impl Future<Output = Response> {
        self.execute_arrived(nexus, lun, self.arrival(nexus, lun), request)
    }

    /// Executes a command after its Data-Out has arrived. The command is for the logical unit that
    /// was at its LUN when the command arrived:
    ///
    /// * LOGICAL UNIT NOT SUPPORTED: another logical unit is there now.
    /// * COMMANDS CLEARED BY DEVICE SERVER: the Data-Out was sent before a sanitize operation or a
    ///   roll-back.
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
            let at = match self.address(nexus, lun, arrival, &cdb) {
                Ok(at) => at,
                Err(response) => return response,
            };
            // First, before any await: places are taken in the order in which commands arrive.
            let begun = match Self::enter_task_set(&at, &request) {
                Ok((place, None)) => Ok(place),
                Ok((place, Some(wait))) => wait.await.map(|()| place),
                Err(fault) => Err(fault),
            };
            let row = commands::find(&cdb);
            let counted = row.as_ref().ok().map(|row| row.command).filter(|command| command.is_timed());
            let accepted = begun.and_then(|place| Ok((place, self.accept(&at, row, arrival)?)));
            let started_ns = if counted.is_some() { self.now_ns() } else { 0 };
            let result = match accepted {
                Ok((place, row)) => {
                    let _in_flight = at.path.unit().statistics.enter();
                    self.run(&at.nexus, &at.path.logical_unit, row, request, place).await
                }
                Err(fault) => Err((fault, 0)),
            };
            if let Some(command) = counted {
                self.account(&at, command, started_ns, &result);
            }
            match result {
                Ok(reply) => Self::success(reply),
                Err((fault, transfer_bytes)) => Self::failure(&fault, transfer_bytes),
            }
        }
    }

    /// Finds the logical unit that the command addresses. `Err`: the response where there is none.
    fn address(&self, nexus: NexusId, lun: [u8; 8], arrival: Arrival, cdb: &Cdb) -> Result<Addressed<D>, Response> {
        let refused = || Self::failure(&Fault::LogicalUnitNotSupported, 0);
        let nexus = self.nexus(nexus).ok_or_else(refused)?;
        let lun = LogicalUnitNumber::decode(lun);
        let path = lun.and_then(|lun| nexus.at(lun));
        if path.as_ref().map(|path| path.unit().volume()) != arrival.volume {
            return Err(refused());
        }
        match path {
            Some(path) => Ok(Addressed { nexus, path }),
            None => Err(match commands::without_logical_unit(&nexus, lun, cdb) {
                Ok(reply) => Self::success(reply),
                Err(fault) => Self::failure(&fault, 0),
            }),
        }
    }

    /// Takes the command's place in the task set, and returns a future if the command has to wait.
    #[expect(clippy::type_complexity, reason = "the future has no other name")]
    fn enter_task_set<'a>(
        at: &'a Addressed<D>,
        request: &Request,
    ) -> Result<(TaskGuard, Option<std::pin::Pin<Box<dyn Future<Output = Result<(), Fault>> + 'a>>>), Fault> {
        // A function in the same batch of PDUs may end a command before it begins.
        if request.abort.is_set() {
            return Err(Fault::TaskAborted);
        }
        if request.attribute == TaskAttribute::Invalid {
            return Err(Fault::InvalidTaskAttribute);
        }
        let (place, wait) = at.path.logical_unit.task_set.enter(request.attribute);
        if matches!(wait, Wait::Now) {
            return Ok((place, None));
        }
        let abort = request.abort.clone();
        let waited = async move {
            poll_fn(
                |context| {
                    if abort.is_set_or_wakes(context.waker()) { Poll::Ready(()) } else { wait.poll(context) }
                },
            )
            .await;
            if abort.is_set() {
                return Err(Fault::TaskAborted);
            }
            if at.nexus.sees(&at.path.logical_unit) { Ok(()) } else { Err(Fault::LogicalUnitNotSupported) }
        };
        Ok((place, Some(Box::pin(waited))))
    }

    /// Returns the row of a command that may begin. A pending unit attention is reported first; then
    /// the table, the port's state and the content generation of the Data-Out are checked.
    fn accept(
        &self,
        at: &Addressed<D>,
        row: Result<&'static Row, Fault>,
        arrival: Arrival,
    ) -> Result<&'static Row, Fault> {
        let kept = matches!(row, Ok(row) if row.command.unit_attention == UnitAttention::Kept);
        if !kept && let Some(attention) = at.path.take_attention() {
            return Err(Fault::UnitAttention(attention));
        }
        let row = row?;
        let command = row.command;
        if !self.has(command) {
            return Err(Fault::InvalidOperationCode);
        }
        port_groups::check(&at.nexus, command)?;
        if command.takes_data() {
            at.path.logical_unit.check_content(arrival.content_generation)?;
        }
        Ok(row)
    }

    /// Admits and executes. A fault is returned with the bytes that the command wanted to move.
    async fn run(
        &self,
        nexus: &Nexus<D>,
        logical_unit: &LogicalUnit<D>,
        row: &'static Row,
        request: Request,
        place: TaskGuard,
    ) -> Result<Reply, (Fault, u64)> {
        let (command, cdb) = (row.command, Cdb(request.cdb));
        let wanted_bytes = || command.data_out_bytes(&cdb, self.limits(), logical_unit.unit().block_count());
        let admitted = Self::admit(nexus, logical_unit, row, &cdb);
        let admitted = admitted.and_then(|()| Self::check_direction(command, &request, wanted_bytes));
        admitted.map_err(|fault| (fault, wanted_bytes()))?;
        // From the reservation check to here nothing awaits, so a RESERVE either refuses this command or waits for it.
        let _in_flight = command.awaited.then(|| logical_unit.unit().writes.enter());
        let content_generation = logical_unit.unit().content_generation();
        let call = Invocation::new(self, nexus, logical_unit, command, request, content_generation, Some(place));
        commands::execute(row, &call).await.map_err(|fault| (fault, wanted_bytes()))
    }

    fn admit(nexus: &Nexus<D>, logical_unit: &LogicalUnit<D>, row: &Row, cdb: &Cdb) -> Result<(), Fault> {
        let command = row.command;
        nexus.check_reservation(logical_unit, command.reservation_class_of(cdb))?;
        row.validate(cdb)?;
        if !command.while_sanitizing {
            logical_unit.unit().sanitize.check()?;
        }
        match command.medium {
            Medium::NotNeeded => Ok(()),
            Medium::Present => logical_unit.check_present(),
            Medium::Writable => logical_unit.check_writable(),
        }
    }

    /// Refuses a command whose Data-Out the transport would not deliver: nothing would be stored.
    /// (Data-In that is not fetched does no harm, and libiscsi's tests expect GOOD.) An expected
    /// length of 0 is not a contradiction; the whole length is then residual overflow (RFC 7143
    /// §11.4.5).
    fn check_direction(command: &Command, request: &Request, wanted_bytes: impl FnOnce() -> u64) -> Result<(), Fault> {
        let (data_in, data_out) = (request.expected_data_in > 0, request.expected_data_out > 0);
        let contradicts = match command.data {
            DataDirection::Out(_) => data_in && !data_out && wanted_bytes() > 0,
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

    /// Counts a command in the statistics, unless a pending unit attention was reported in its place: that
    /// says nothing about the command (SAM-5 §5.14).
    fn account(
        &self,
        at: &Addressed<D>,
        command: &'static Command,
        started_ns: u64,
        result: &Result<Reply, (Fault, u64)>,
    ) {
        let latency_ns = self.now_ns().saturating_sub(started_ns);
        if let (Ok(_), Some(io)) = (result, command.io) {
            at.path.unit().statistics.record_latency(io, latency_ns);
            at.nexus.observations.transferred(&at.path.seen, io, started_ns.saturating_add(latency_ns));
        }
        let Some(primitive) = command.offload else { return };
        let origin = Origin { primitive, command, nexus: &at.nexus, latency_ns };
        let now_ns = started_ns.saturating_add(latency_ns);
        match result {
            Ok(reply) => {
                at.nexus.observations.used(&at.path.seen, primitive, None, now_ns);
                self.account_success(&origin, at.path.unit(), reply);
            }
            Err((Fault::UnitAttention(_), _)) => {}
            Err((fault, _)) => {
                let reason = refusal::reason(fault);
                if reason.is_none() || reason.is_some_and(|reason| reason.ending() == Ending::Refused) {
                    // A miscompare has no reason: the primitive works.
                    at.nexus.observations.used(&at.path.seen, primitive, reason, now_ns);
                }
                self.account_failure(&origin, at.path.unit(), fault);
            }
        }
    }

    fn account_success(&self, origin: &Origin<'_, D>, receiver: &Unit<D>, reply: &Reply) {
        let work = reply.offload.as_deref();
        let unit = work.and_then(|work| work.volume).and_then(|volume| self.logical_unit(volume));
        let unit = unit.as_ref().map_or(receiver, |logical_unit| logical_unit.unit());
        unit.statistics.account(origin.primitive, |statistics| statistics.succeeded(origin.latency_ns, work));
        if let Some((reason, detail)) = work.and_then(|work| work.not_offloaded.as_ref()) {
            let logged = Logged { ending: Ending::Ineffective, reason: *reason, holder: None, detail: detail.clone() };
            self.write_log(origin, unit, work.map_or(0, |work| work.bytes), logged);
        }
    }

    /// Counts the work of a background operation, whose command was answered and counted before.
    pub(crate) fn account_background(&self, call: &Invocation<'_, D>, result: Result<&OffloadWork, &Fault>) {
        let Some(primitive) = call.command.offload else { return };
        let origin = Origin { primitive, command: call.command, nexus: call.nexus, latency_ns: 0 };
        match result {
            Ok(work) => {
                let unit = work.volume.and_then(|volume| self.logical_unit(volume));
                unit.as_deref()
                    .unwrap_or(call.logical_unit)
                    .unit()
                    .statistics
                    .account(primitive, |statistics| statistics.add(work));
            }
            Err(fault) => {
                if let Some(logged) = self.logged(fault) {
                    self.write_log(&origin, call.unit(), 0, logged);
                }
            }
        }
    }

    fn account_failure(&self, origin: &Origin<'_, D>, unit: &Unit<D>, fault: &Fault) {
        let reason = refusal::reason(fault);
        unit.statistics.account(origin.primitive, |statistics| statistics.not_succeeded(origin.latency_ns, reason));
        if let Some(logged) = self.logged(fault) {
            self.write_log(origin, unit, 0, logged);
        }
    }

    /// What the log says of a fault; `None` for what is not a refusal.
    fn logged(&self, fault: &Fault) -> Option<Logged> {
        let reason = refusal::reason(fault)?;
        let holder = match refusal::holder(fault) {
            Some(Holder::Registrant(holder)) => Some(holder.clone()),
            Some(Holder::Client(volume, client)) => {
                let named = |initiator| ReservationHolder { volume: *volume, initiator, registration: None };
                self.nexus_of(*client).map(|nexus| named(nexus.initiator))
            }
            None => None,
        };
        Some(Logged { ending: reason.ending(), reason, holder, detail: refusal::detail(fault) })
    }

    fn write_log(&self, origin: &Origin<'_, D>, unit: &Unit<D>, bytes: u64, logged: Logged) {
        let Logged { ending, reason, holder, detail } = logged;
        self.units().log_refusal(LogEntry {
            sequence: 0,
            count: 0,
            first_unix_ms: 0,
            unix_ms: 0,
            volume: unit.volume(),
            volume_name: unit.name().to_string(),
            snapshot: None,
            initiator: origin.nexus.initiator.to_string(),
            primitive: origin.primitive,
            command: origin.command.name,
            ending,
            reason,
            holder,
            bytes,
            detail,
        });
    }
}

/// Outcome of a command in the log.
struct Logged {
    ending: Ending,
    reason: Reason,
    holder: Option<ReservationHolder>,
    detail: String,
}

/// Source of an offload command, with its latency.
struct Origin<'a, D> {
    primitive: Primitive,
    command: &'static Command,
    nexus: &'a Nexus<D>,
    latency_ns: u64,
}
