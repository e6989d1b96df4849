//! The reactor, as the connection side of a connection reaches it.

use super::super::quantum::HostShare;
use super::messages::{Completion, Dispatch, FunctionCompletion, Instruction};
use iscsi::connection::{CloseReason, Connection, Directory, SessionIdentity, TaskHandle, TaskManagement};
use std::sync::Arc;
use std::task::Context;

/// Nexus side of one connection, reached by calls or through messages. What is handed over takes
/// effect in the order of the calls: a function never passes a command (T4 in ARCHITECTURE.md).
pub(super) trait NexusSide {
    /// Answers of the array to the protocol core.
    fn directory(&self) -> &dyn Directory;

    /// Host of the session, once there is one.
    fn share(&self) -> Option<Arc<HostShare>>;

    /// Opens the session of a login that is complete, after the end of the sessions that it
    /// reinstates, or refuses it.
    fn session_opening(&mut self, core: &mut Connection, identity: SessionIdentity);
    /// Continues with that. True if something happened.
    fn poll_opening(&mut self, core: &mut Connection, context: &mut Context<'_>) -> bool;

    /// Whether the reactor takes no more commands for now. The task is woken when it does.
    fn is_full(&self, context: &mut Context<'_>) -> bool;
    /// Executes a command.
    fn start(&mut self, command: Dispatch);
    /// Executes a task management function, after the end of the tasks that it names.
    fn function(&mut self, request: TaskManagement);
    /// Ends all commands that can end early: their responses are not needed.
    fn abort_all(&mut self);
    /// Answers [`Instruction::Abort`]: these tasks have ended for the initiator. `any`: there were
    /// others, or these had not ended before.
    fn aborted(&mut self, number: u64, tasks: Vec<TaskHandle>, any: bool);
    /// Asks all connections to give way: this one waits for memory.
    fn ask_to_give_way(&mut self);
    /// Notes why the connection closes.
    fn closing(&mut self, reason: &CloseReason);
    /// Notes that the transport is closed. Commands and functions may still be in flight.
    fn ended(&mut self);

    /// Instructions that have come since the last call.
    fn take_instructions(&mut self) -> Vec<Instruction>;
    /// Next command that is done.
    fn poll_completion(&mut self, context: &mut Context<'_>) -> Option<Completion>;
    /// Next function that is done.
    fn poll_function(&mut self, context: &mut Context<'_>) -> Option<FunctionCompletion>;
}
