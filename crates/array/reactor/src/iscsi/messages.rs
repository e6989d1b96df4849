//! Messages between the two sides of a connection: its *connection side* (socket, protocol, timers,
//! memory for data), and its *nexus side* (nexus, commands and functions in flight).
//!
//! They carry values only, so that a connection can run on another thread than the reactor. On the
//! reactor's own thread they are arguments and results of calls ([`NexusSide`](super::nexus_side::NexusSide)).

use super::super::quantum::HostShare;
use super::task_management::Managed;
use block::VolumeId;
use bytes::Bytes;
use iscsi::connection::{CloseReason, TaskHandle, TaskManagement, TaskManagementHandle};
use scsi_target::{Arrival, Response, TaskAttribute};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Command whose Data-Out has arrived, for the reactor. Each is answered by one [`Completion`], also
/// after its connection has ended or a function has aborted it.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub task: TaskHandle,
    pub lun: [u8; 8],
    /// Logical unit at the LUN when the command arrived.
    pub arrival: Arrival,
    pub cdb: [u8; 16],
    pub attribute: TaskAttribute,
    pub data_out: Bytes,
    /// Bytes of Data-In that the initiator has room for.
    pub expected_data_in: u32,
    /// Bytes of Data-Out that the initiator announced.
    pub expected_data_out: u32,
}

/// Command that can have no further effect, with its response.
#[derive(Debug)]
pub(super) struct Completion {
    pub task: TaskHandle,
    pub response: Response,
}

/// Task management function that is done.
#[derive(Debug)]
pub(super) struct FunctionCompletion {
    pub handle: TaskManagementHandle,
    pub result: Managed,
}

/// Request of another part of the array to the connection side.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Close.
    Close,
    /// Ask the initiator to log out within this number of seconds.
    Leave(u16),
    /// Close if this connection holds memory that others wait for and its initiator moves no data.
    GiveWay,
    /// End all tasks on the volumes without a response, and name them to the reactor
    /// ([`NexusSide::aborted`](super::nexus_side::NexusSide::aborted)) with this number.
    Abort { number: u64, volumes: Arc<BTreeSet<VolumeId>> },
    /// Move to the executor of this number at the next instant at which nothing is in flight.
    Move(usize),
    /// Its turns are those of another host from now on.
    Share(Arc<HostShare>),
}

/// Message of a connection side on another thread to its nexus side.
#[derive(Debug)]
pub(super) enum Report {
    Command(Dispatch),
    Function(TaskManagement),
    AbortAll,
    /// Answer to [`Instruction::Abort`].
    Aborted {
        number: u64,
        tasks: Vec<TaskHandle>,
        any: bool,
    },
    AskToGiveWay,
    Closing(CloseReason),
    /// The transport is closed.
    Ended,
    /// The last message: no command or function is in flight.
    Gone,
}

/// Message of a nexus side to its connection side on another thread.
#[derive(Debug)]
pub(super) enum Reply {
    Completion(Completion),
    Function(FunctionCompletion),
    Instruction(Instruction),
}
