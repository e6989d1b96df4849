//! Memory that one connection holds and waits for: its accounts in both directions, its waiting
//! commands, and the decision to close a connection whose host moves no data.

use super::super::clock;
use super::movement::Movement;
use super::{Account, DataMemory};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Time that a connection waits for memory before it asks others to give way.
const GIVE_WAY_FIRST: Duration = Duration::from_secs(1);
/// Interval of repeated requests to give way.
const GIVE_WAY_INTERVAL: Duration = Duration::from_secs(5);
/// Time for which refused data counts as waiting: the host sends its command again.
const REFUSED: Duration = Duration::from_secs(30);

/// Command of a protocol that may wait for memory.
pub(crate) trait Queued {
    /// Most bytes of data that the host has room for.
    fn data_in_bytes(&self) -> u32;
}

/// Progress of a connection's data, as its protocol reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// Bytes written to the socket.
    pub written: u64,
    /// Output waits for the host.
    pub has_output: bool,
    /// Bytes of data received.
    pub received: u64,
    /// The host has to send before its commands can continue.
    pub awaits_data: bool,
}

/// Memory of one connection, and its commands `C` that wait for memory.
pub(crate) struct Ration<C> {
    data_in: Account,
    data_out: Rc<Account>,
    /// Commands that wait for Data-In memory, and commands queued behind them.
    waiting: VecDeque<C>,
    /// Largest Data-In of one command in bytes.
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

impl<C: Queued> Ration<C> {
    pub fn new(
        data_in: &Rc<DataMemory>,
        data_out: &Rc<DataMemory>,
        wake: &Rc<Notify>,
        max_transfer_bytes: u32,
    ) -> Self {
        Self {
            data_in: Account::new(data_in.clone(), wake.clone()),
            data_out: Rc::new(Account::new(data_out.clone(), wake.clone())),
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

    /// Bytes of Data-In memory that a command needs.
    pub fn needed_bytes(&self, command: &C) -> usize {
        command.data_in_bytes().min(self.max_transfer_bytes) as usize
    }

    /// Takes memory for a command and returns the command, or queues it behind those that wait
    /// already.
    pub fn admit(&mut self, command: C) -> Option<C> {
        if self.waiting.is_empty() && self.data_in.take(self.needed_bytes(&command), true) {
            return Some(command);
        }
        self.waiting.push_back(command);
        None
    }

    /// Returns the next waiting command that has been granted memory.
    pub fn next_admitted(&mut self) -> Option<C> {
        let needed_bytes = self.needed_bytes(self.waiting.front()?);
        self.data_in.take(needed_bytes, true).then(|| self.waiting.pop_front()).flatten()
    }

    /// Updates the connection's places in the memory queues and the instant of the next request to
    /// give way. `waits_for_data_out`: commands still wait for memory for data from the host.
    pub fn update(&mut self, waits_for_data_out: bool) {
        if self.waiting.is_empty() && self.data_in.waits() {
            self.data_in.withdraw();
        }
        if self.data_out.waits() && !waits_for_data_out {
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
        self.data_in.give_back(held - data_in_bytes);
    }

    /// Takes memory for output that no command asked for. If false, there is none now. [`Self::queued`] follows.
    pub fn takes_output(&self, bytes: usize) -> bool {
        self.data_in.take_unsolicited(bytes)
    }

    /// Accounts for queued output that no command asked for: its memory stays held until output position `end` is
    /// written.
    pub fn queued(&mut self, bytes: usize, end: u64) {
        self.unsent.push_back((end, bytes));
    }

    /// Releases the memory of Data-In up to a written output position.
    pub fn written(&mut self, position: u64) {
        while let Some((end, held)) = self.unsent.front().copied()
            && end <= position
        {
            self.unsent.pop_front();
            self.data_in.give_back(held);
        }
    }

    /// Waiting commands.
    pub fn waiting(&self) -> impl Iterator<Item = &C> {
        self.waiting.iter()
    }

    /// Drops waiting commands that were aborted.
    pub fn forget(&mut self, aborted: impl Fn(&C) -> bool) {
        self.waiting.retain(|command| !aborted(command));
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

    /// Returns the reason to close the connection if its host holds memory that others wait for and
    /// moves no data.
    pub fn stalled(&mut self, moved: Moved) -> Option<&'static str> {
        let now = clock::now();
        let reads_nothing = moved.has_output
            && self.data_in.is_beyond_share()
            && self.data_in_movement.is_stalled(now, moved.written, self.data_in.held_bytes());
        let sends_nothing = moved.awaits_data
            && self.data_out.is_beyond_share()
            && self.data_out_movement.is_stalled(now, moved.received, self.data_out.held_bytes());
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
