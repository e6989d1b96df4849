//! Memory that one connection holds and waits for: its accounts in both directions, its waiting
//! commands, and the decision to close a connection whose host moves no data.

use super::super::clock;
use super::memory::{Account, DataMemory};
use super::movement::Movement;
use super::registry::Member;
use block::VolumeId;
use iscsi::connection::{Command, Connection, DataOutMemory, TaskHandle};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Time that a connection waits for memory before it asks others to give way.
const GIVE_WAY_FIRST: Duration = Duration::from_secs(1);
/// Interval of repeated requests to give way.
const GIVE_WAY_INTERVAL: Duration = Duration::from_secs(5);
/// Time for which refused data counts as waiting: the host sends its command again.
const REFUSED: Duration = Duration::from_secs(30);

/// The memory of one connection.
pub(super) struct Ration {
    data_in: Account,
    data_out: Rc<Account>,
    /// Commands that wait for memory for their Data-In, and those behind them.
    waiting: VecDeque<Command>,
    /// The most Data-In of one command, in bytes.
    max_transfer_bytes: u32,
    /// Queued Data-In: output position after its last byte, and the bytes of `data_in` held until
    /// then.
    unsent: VecDeque<(u64, usize)>,
    /// Instant of the next request to give way; set while this connection waits for memory.
    give_way_at: Option<Instant>,
    /// End of the time for which refused data counts as waiting.
    refused_until: Option<Instant>,
    data_in_movement: Movement,
    data_out_movement: Movement,
}

impl Ration {
    pub fn new(
        data_in: &Rc<DataMemory>,
        data_out: &Rc<DataMemory>,
        member: &Rc<Member>,
        max_transfer_bytes: u32,
    ) -> Self {
        Self {
            data_in: Account::new(data_in.clone(), member.clone()),
            data_out: Rc::new(Account::new(data_out.clone(), member.clone())),
            waiting: VecDeque::new(),
            max_transfer_bytes,
            unsent: VecDeque::new(),
            give_way_at: None,
            refused_until: None,
            data_in_movement: Movement::default(),
            data_out_movement: Movement::default(),
        }
    }

    /// Account of data from the host, for the protocol core.
    pub fn data_out(&self) -> Rc<Account> {
        self.data_out.clone()
    }

    /// Bytes of memory for Data-In that a command takes.
    pub fn needed_bytes(&self, command: &Command) -> usize {
        command.expected_data_in.min(self.max_transfer_bytes) as usize
    }

    /// Takes memory for a command and returns it, or keeps the command until there is memory, behind those that wait already.
    pub fn admit(&mut self, command: Command) -> Option<Command> {
        if self.waiting.is_empty() && self.data_in.take(self.needed_bytes(&command), true) {
            return Some(command);
        }
        self.waiting.push_back(command);
        None
    }

    /// The next command that waited and has memory now.
    pub fn next_admitted(&mut self) -> Option<Command> {
        let needed_bytes = self.needed_bytes(self.waiting.front()?);
        self.data_in.take(needed_bytes, true).then(|| self.waiting.pop_front()).flatten()
    }

    /// Brings places in the lines for memory, and the time to ask others to give way, up to date.
    pub fn update(&mut self, core: &mut Connection) {
        if core.waits_for_data_out_memory() {
            core.data_out_memory_available();
        }
        if self.waiting.is_empty() && self.data_in.waits() {
            self.data_in.withdraw();
        }
        if self.data_out.waits() && !core.waits_for_data_out_memory() {
            self.data_out.withdraw();
        }
        let now = clock::now();
        if self.data_out.was_refused() {
            self.refused_until = now.checked_add(REFUSED);
        }
        self.refused_until = self.refused_until.filter(|until| *until > now);
        let waits = self.data_in.waits() || self.data_out.waits() || self.refused_until.is_some();
        if !waits {
            self.give_way_at = None;
        } else if self.give_way_at.is_none() {
            self.give_way_at = now.checked_add(GIVE_WAY_FIRST);
        }
    }

    /// Accounts for a queued response: the memory of its Data-In stays held until output position
    /// `end` is written; the rest of the command's memory is released.
    pub fn responded(&mut self, held: usize, data_in_bytes: usize, end: u64) {
        if data_in_bytes > 0 {
            self.unsent.push_back((end, data_in_bytes));
        }
        self.data_in.give_back(held - data_in_bytes, 0);
    }

    /// Releases the memory of Data-In up to a written output position.
    pub fn written(&mut self, position: u64) {
        while let Some((end, held)) = self.unsent.front().copied()
            && end <= position
        {
            self.unsent.pop_front();
            self.data_in.give_back(held, 0);
        }
    }

    /// Waiting commands on a volume.
    pub fn waiting_on(&self, volume: VolumeId) -> impl Iterator<Item = TaskHandle> + '_ {
        self.waiting.iter().filter(move |command| volume_of(command) == Some(volume)).map(|command| command.task)
    }

    /// Drops waiting commands that were aborted.
    pub fn forget(&mut self, tasks: &[TaskHandle]) {
        self.waiting.retain(|command| !tasks.contains(&command.task));
    }

    /// Drops all waiting commands.
    pub fn forget_all(&mut self) {
        self.waiting.clear();
    }

    /// Leaves the memory queues when the connection has ended.
    pub fn leave(&mut self) {
        self.waiting.clear();
        self.data_in.withdraw();
    }

    /// Whether the initiator holds memory that others wait for and does not move its data: the reason to close the connection.
    /// `written`: bytes written to the socket. `has_output`: output waits for the initiator.
    pub fn stalled(&mut self, core: &Connection, written: u64, has_output: bool) -> Option<&'static str> {
        let now = clock::now();
        let reads_nothing = has_output
            && self.data_in.is_beyond_share()
            && self.data_in_movement.is_stalled(now, written, self.data_in.held_bytes());
        let received = core.counters().data_out_bytes;
        let sends_nothing = core.awaits_data_out()
            && self.data_out.is_beyond_share()
            && self.data_out_movement.is_stalled(now, received, self.data_out.held_bytes());
        match (reads_nothing, sends_nothing) {
            (true, _) => Some("does not read"),
            (_, true) => Some("does not send"),
            _ => None,
        }
    }

    /// Instant of the next request to give way.
    pub fn give_way_at(&self) -> Option<Instant> {
        self.give_way_at
    }

    /// True if a request to give way is due; schedules the next one.
    pub fn asks_to_give_way(&mut self, now: Instant) -> bool {
        let due = self.give_way_at.is_some_and(|at| at <= now);
        if due {
            self.give_way_at = now.checked_add(GIVE_WAY_INTERVAL);
        }
        due
    }
}

/// The volume that a command is for.
pub(super) fn volume_of(command: &Command) -> Option<VolumeId> {
    command.arrival.logical_unit.map(VolumeId)
}
