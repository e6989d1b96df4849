//! Nexus side of one connection: its nexus, its commands and functions in flight, and the orders
//! of other parts of the array.

use super::super::admission::{Arrived, Wait};
use super::super::clock;
#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, leaves_out};
use super::Iscsi;
use super::execute::Execution;
use super::messages::{Completion, Dispatch, FunctionCompletion, Instruction};
use super::registry::{Member, Order};
use super::task_management::manage;
use iscsi::connection::{CloseReason, TaskHandle, TaskManagement};
use media::Media;
use qos::Class;
use scsi_target::{Request, TaskAttribute};
use std::rc::Rc;
use std::task::Context;
use tokio::sync::oneshot;
use unit::AbortFlag;

/// Nexus side of one connection.
pub(super) struct NexusTasks<M: Media + 'static> {
    iscsi: Rc<Iscsi<M>>,
    member: Rc<Member>,
    execution: Execution,
    /// Orders to abort that the connection side has not answered, by number.
    aborts: Vec<(u64, oneshot::Sender<bool>)>,
    next_abort: u64,
}

impl<M: Media + 'static> NexusTasks<M> {
    pub fn new(iscsi: Rc<Iscsi<M>>, member: Rc<Member>) -> Self {
        Self { iscsi, member, execution: Execution::default(), aborts: Vec::new(), next_abort: 0 }
    }

    pub fn iscsi(&self) -> &Rc<Iscsi<M>> {
        &self.iscsi
    }

    pub fn member(&self) -> &Rc<Member> {
        &self.member
    }

    /// Starts a command.
    pub fn start(&mut self, command: Dispatch) {
        let member = &self.member;
        let Some(nexus) = member.nexus.get() else {
            debug_assert!(false, "a command outside of a normal session");
            return;
        };
        member.commands.set(member.commands.get() + 1);
        member.last_io.set(Some(clock::now()));
        member.written_bytes.set(member.written_bytes.get() + command.data_out.len() as u64);
        let target = Rc::clone(&self.iscsi.target);
        let wait = self.wait_for_limits(&command);
        let Dispatch { task, lun, arrival, .. } = command;
        let abort = AbortFlag::default();
        let request = Request {
            cdb: command.cdb,
            data_out: command.data_out,
            expected_data_in: command.expected_data_in,
            attribute: command.attribute,
            expected_data_out: command.expected_data_out,
            abort: abort.clone(),
        };
        let Some(wait) = wait else {
            let execute = async move { target.execute_arrived(nexus, lun, arrival, request).await };
            self.execution.start(task, abort, execute);
            return;
        };
        #[cfg(feature = "simulation")]
        let place = leaves_out(Mutation::WaitsOutside).then(|| {
            let unit = arrival.volume.and_then(|volume| self.iscsi.reactor.units.get(volume));
            unit.map(|unit| unit.writes.enter())
        });
        let waits = request.abort.clone();
        self.execution.start(task, abort, async move {
            wait.or_abort(&waits).await;
            #[cfg(feature = "simulation")]
            drop(place);
            // One that was aborted meanwhile ends there, without a place in the task set.
            target.execute_arrived(nexus, lun, arrival, request).await
        });
    }

    /// Asks the limits of the host and the volume for a command. `None`: it may begin.
    fn wait_for_limits(&self, command: &Dispatch) -> Option<Wait> {
        let admissions = &self.iscsi.reactor.admissions;
        if admissions.is_idle() {
            return None;
        }
        let host = self.member.host.share.borrow().as_ref()?.host();
        let Dispatch { cdb, attribute, arrival, expected_data_out, .. } = command;
        let limited = self.iscsi.target.limited(cdb, *attribute, *arrival, *expected_data_out);
        let volume = arrival.volume?;
        let (class, bytes) = limited.map_or((Class::Behind, 0), |limited| (limited.class, limited.bytes));
        let ordered = *attribute == TaskAttribute::Ordered;
        admissions.arrive(Arrived {
            host,
            volume,
            class,
            ordered,
            bytes,
            #[cfg(feature = "simulation")]
            connection: Some(self.member.id),
        })
    }

    /// Starts a task management function. It waits for the end of the tasks that it names.
    pub fn function(&mut self, request: TaskManagement) {
        let Some(nexus) = self.member.nexus.get() else {
            debug_assert!(false, "a function outside of a normal session");
            return;
        };
        let (iscsi, member) = (Rc::clone(&self.iscsi), self.member.id);
        self.execution.abort(&request.tasks);
        let (done, own) = oneshot::channel();
        let any = !request.tasks.is_empty();
        self.execution.wait_for(request.tasks, any, done);
        let TaskManagement { handle, function, lun, present, .. } = request;
        self.execution.start_function(async move {
            let _none_or_done = own.await;
            (handle, manage(&iscsi, member, nexus, function, lun, present).await)
        });
    }

    /// Signals all commands that their responses are not needed.
    pub fn abort_all(&mut self) {
        self.execution.abort_all();
    }

    /// Takes the orders to the connection.
    pub fn take_instructions(&mut self) -> Vec<Instruction> {
        let orders = self.member.orders.take();
        orders.into_iter().map(|order| self.instruction(order)).collect()
    }

    fn instruction(&mut self, order: Order) -> Instruction {
        match order {
            Order::Close => Instruction::Close,
            Order::Leave(seconds) => Instruction::Leave(seconds),
            Order::GiveWay => Instruction::GiveWay,
            Order::Move(executor) => Instruction::Move(executor),
            Order::Share(share) => Instruction::Share(share),
            Order::Abort(volumes, done) => {
                let number = self.next_abort;
                self.next_abort += 1;
                self.aborts.push((number, done));
                Instruction::Abort { number, volumes }
            }
        }
    }

    /// Answers an order to abort once none of the tasks, which have ended for the initiator, is
    /// running.
    pub fn aborted(&mut self, number: u64, tasks: Vec<TaskHandle>, any: bool) {
        let Some(position) = self.aborts.iter().position(|(other, _)| *other == number) else { return };
        let (_, done) = self.aborts.swap_remove(position);
        self.execution.abort(&tasks);
        self.execution.wait_for(tasks, any, done);
    }

    /// Asks all connections to give way.
    pub fn ask_to_give_way(&self) {
        self.iscsi.reactor.shortage.ask_to_give_way();
    }

    /// Counts the end of the connection, and logs a protocol error once in a while.
    pub fn closing(&self, reason: &CloseReason) {
        let count = self.iscsi.registry.closed.count(reason, clock::now());
        if let (Some(count), CloseReason::ProtocolError(what)) = (count, reason) {
            tracing::warn!(peer = %self.member.peer, what, count, "connection dropped: protocol error");
        }
    }

    /// Notes that the transport is closed: responses are not needed.
    pub fn ended(&mut self) {
        self.abort_all();
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::NexusAfterDrain) {
            self.iscsi.registry.leave(&self.member);
        }
    }

    /// Answers an order to abort for the commands that the reactor has.
    #[cfg(feature = "simulation")]
    pub fn aborted_in_reactor(&mut self, number: u64) {
        self.aborted(number, self.execution.tasks(), true);
    }

    /// Returns the next finished command.
    pub fn poll_completion(&mut self, context: &mut Context<'_>) -> Option<Completion> {
        let completion = self.execution.poll_finished(context)?;
        let member = &self.member;
        member.read_bytes.set(member.read_bytes.get() + completion.response.data_in.len() as u64);
        Some(completion)
    }

    /// Returns the next finished function.
    pub fn poll_function(&mut self, context: &mut Context<'_>) -> Option<FunctionCompletion> {
        self.execution.poll_function(context)
    }

    /// Ends the nexus, and the connection for all others, after its last command and function.
    pub async fn end(self) {
        let (iscsi, member) = (&self.iscsi, &self.member);
        if let Some(nexus) = member.nexus.take() {
            iscsi.target.stop_background_of(nexus).await;
            iscsi.target.detach_nexus(nexus);
        }
        for order in member.orders.take() {
            if let Order::Abort(_, done) = order {
                let _gone = done.send(false);
            }
        }
        iscsi.registry.leave(member);
    }
}
