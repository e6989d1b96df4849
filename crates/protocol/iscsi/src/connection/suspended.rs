//! A connection between two threads: its state without shared memory for Data-Out, which belongs to
//! a thread.

use super::budget::DataOutBudget;
use super::numbering::CommandWindow;
use super::outbound::Outbound;
use super::tags::Tags;
use super::task_management::Functions;
use super::tasks::TaskTable;
use super::text_phase::TextPhase;
use super::timers::Timers;
use super::{Config, Connection, Counters, Delivery, Phase, SessionIdentity, login};
use crate::parameters::Parameters;
use std::collections::VecDeque;

/// Connection in full feature phase that has no task, event or output. It can be sent to another
/// thread.
#[derive(Debug)]
pub struct Suspended {
    config: Config,
    identity: Option<SessionIdentity>,
    login_constants: login::Constants,
    parameters: Parameters,
    max_recv_data_segment_length: u32,
    outbound: Outbound,
    counters: Counters,
    window: CommandWindow,
    tags: Tags,
    text: TextPhase,
    timers: Timers,
}

impl Connection {
    /// Whether the connection is in full feature phase and has nothing to finish: no task (also
    /// none whose data is arriving or whose CmdSN is out of turn), no function, no event, no output.
    pub fn is_idle(&self) -> bool {
        self.is_full_feature()
            && self.tasks.len() == 0
            && self.functions.is_empty()
            && self.events.is_empty()
            && self.outbound.queued_bytes() == 0
    }

    /// Suspends a connection that [`Self::is_idle`]. Tasks would be lost.
    pub fn suspend(self) -> Suspended {
        Suspended {
            config: self.config,
            identity: self.identity,
            login_constants: self.login_constants,
            parameters: self.parameters,
            max_recv_data_segment_length: self.max_recv_data_segment_length,
            outbound: self.outbound,
            counters: self.counters,
            window: self.window,
            tags: self.tags,
            text: self.text,
            timers: self.timers,
        }
    }
}

impl Suspended {
    /// Continues. Memory for Data-Out has to be shared again
    /// ([`Connection::share_data_out_memory`]).
    pub fn resume(self) -> Connection {
        Connection {
            phase: Phase::FullFeature,
            identity: self.identity,
            login_constants: self.login_constants,
            parameters: self.parameters,
            max_recv_data_segment_length: self.max_recv_data_segment_length,
            outbound: self.outbound,
            events: VecDeque::new(),
            counters: self.counters,
            window: self.window,
            tasks: TaskTable::default(),
            delivery: Delivery::default(),
            functions: Functions::default(),
            tags: self.tags,
            data_out: DataOutBudget::new(self.config.max_data_out_bytes),
            text: self.text,
            timers: self.timers,
            config: self.config,
        }
    }
}

/// A suspended connection crosses threads.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Suspended>();
};
