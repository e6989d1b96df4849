//! Configuration of a connection.

use crate::parameters::Limits;
use std::time::Duration;

/// Response to ABORT TASK for a task that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingTaskResponse {
    /// "Function complete" for initiators named `iqn.1998-01.com.vmware…`, which treat "task does
    /// not exist" as a defect of the target; "task does not exist" for all others.
    ByInitiatorName,
    /// "Task does not exist", RFC 7143 §11.6.1.
    TaskDoesNotExist,
    /// "Function complete".
    FunctionComplete,
}

/// Most Data-In that one command can return by default, in bytes.
pub const MAX_TRANSFER_BYTES: u32 = 16 << 20;

/// Settings of a connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// Limits for the negotiation.
    pub limits: Limits,
    /// Width of the CmdSN window while there is room for tasks. At least 1; hosts expect 128.
    pub command_window: u32,
    /// Most concurrent tasks. The window closes as they approach this. Also the limit of concurrent
    /// task management functions.
    pub max_tasks: u32,
    /// Most concurrent immediate SCSI commands; further ones are rejected.
    pub max_immediate_tasks: u32,
    /// Limit of Data-Out being assembled or used by tasks, in bytes; above it R2Ts wait. Also the
    /// most Data-Out of one command.
    pub max_data_out_bytes: usize,
    /// Limit of Data-In being read or queued, in bytes; above it SCSI commands wait. All other PDUs
    /// are received and answered.
    pub max_data_in_bytes: usize,
    /// Limit of queued output of any kind, in bytes, above which no input is taken: an initiator
    /// that does not read, not even answers to pings, has to read before it can request more. Also
    /// the limit of data in held PDUs other than SCSI commands.
    pub max_output_bytes: usize,
    /// Most Data-In that one command can return, in bytes: the largest reservation of a command in
    /// `max_data_in_bytes`.
    pub max_transfer_bytes: u32,
    /// Time from connection to full feature phase.
    pub login_timeout: Duration,
    /// Silence after which the initiator is pinged; zero disables it.
    pub keepalive_interval: Duration,
    /// Time after a ping in which any PDU has to arrive.
    pub keepalive_timeout: Duration,
    /// Response to ABORT TASK for a task that does not exist.
    pub missing_task_response: MissingTaskResponse,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            command_window: 128,
            max_tasks: 512,
            max_immediate_tasks: 32,
            max_data_out_bytes: 64 << 20,
            max_data_in_bytes: 64 << 20,
            max_output_bytes: 1 << 20,
            max_transfer_bytes: MAX_TRANSFER_BYTES,
            login_timeout: Duration::from_secs(15),
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(30),
            missing_task_response: MissingTaskResponse::ByInitiatorName,
        }
    }
}

impl Config {
    /// Number of commands that may arrive when there are `tasks` already.
    pub(super) fn window_width(&self, tasks: usize) -> u32 {
        let room = (self.max_tasks.max(1) as usize).saturating_sub(tasks);
        u32::try_from(room).unwrap_or(u32::MAX).min(self.command_window.max(1))
    }
}
