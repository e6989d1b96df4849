//! Memory for the Data-Out of a connection, and the queue of tasks that wait for it.

use super::tasks::TaskHandle;
use super::transfer::{DataOutBuffer, Memory, Transfer};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::rc::Rc;

/// Memory for Data-Out that connections share. Bytes are only counted, not allocated.
pub trait DataOutMemory: std::fmt::Debug {
    /// Books bytes for a task that can wait. If false, the connection is remembered: the shell
    /// calls [`data_out_memory_available`](super::Connection::data_out_memory_available) when there
    /// may be room for it. `oldest`: all other tasks of the connection may have to wait for this
    /// one, which depends on no other, so that its bytes will be returned.
    fn take(&self, bytes: usize, oldest: bool) -> bool;
    /// Books bytes of unsolicited data. If false, the data has to be dropped.
    fn take_unsolicited(&self, bytes: usize) -> bool;
    /// Returns bytes booked with [`Self::take`] and with [`Self::take_unsolicited`].
    fn give_back(&self, granted_bytes: usize, unasked_bytes: usize);
    /// Whether short data that has arrived may stay in the receive buffer, which it keeps alive as a
    /// whole; else it is copied. If true, it counts until [`Self::left_place`].
    fn stays_in_place(&self) -> bool;
    /// Short data in receive buffers is no longer needed, this many times.
    fn left_place(&self, count: usize);
    /// Removes the connection from the waiters.
    fn withdraw(&self);
}

/// Length from which data always stays in its receive buffer: it is a large part of it.
const LONG_BYTES: usize = 64 << 10;

/// Shared memory of the Data-Out of a command that the shell has. It is given back when this is
/// dropped, which the shell does when it drops the data: the task may end long before, with a reset
/// or with its connection.
#[derive(Debug)]
pub struct HeldDataOut {
    shared: Rc<dyn DataOutMemory>,
    granted_bytes: usize,
    unasked_bytes: usize,
    in_place: bool,
}

impl Drop for HeldDataOut {
    fn drop(&mut self) {
        self.shared.give_back(self.granted_bytes, self.unasked_bytes);
        if self.in_place {
            self.shared.left_place(1);
        }
    }
}

/// Data-Out memory of one connection.
#[derive(Debug)]
pub(super) struct DataOutBudget {
    limit: usize,
    reserved: usize,
    /// Tasks that wait for memory, sorted by CmdSN order, which is the number.
    waiting: VecDeque<(u64, TaskHandle)>,
    shared: Option<Rc<dyn DataOutMemory>>,
    /// Bytes booked of `shared`: solicited, and unsolicited.
    booked: (usize, usize),
    /// Number of transfers whose short data is in a receive buffer.
    in_place: usize,
}

impl DataOutBudget {
    pub fn new(limit: usize) -> Self {
        Self { limit, reserved: 0, waiting: VecDeque::new(), shared: None, booked: (0, 0), in_place: 0 }
    }

    pub fn share(&mut self, shared: Rc<dyn DataOutMemory>) {
        self.shared = Some(shared);
    }

    /// Queues a task for memory, in CmdSN order.
    pub fn queue(&mut self, sequence: u64, handle: TaskHandle) {
        let place = self.waiting.partition_point(|(other, _)| *other < sequence);
        self.waiting.insert(place, (sequence, handle));
    }

    /// Oldest task in the queue.
    pub fn first_waiting(&self) -> Option<(u64, TaskHandle)> {
        self.waiting.front().copied()
    }

    /// Removes the oldest task from the queue.
    pub fn remove_first_waiting(&mut self) {
        self.waiting.pop_front();
    }

    /// Tasks in the queue.
    pub fn waiting(&self) -> impl Iterator<Item = TaskHandle> {
        self.waiting.iter().map(|(_, handle)| *handle)
    }

    /// Returns all memory: the tasks have ended. Commands that the shell has keep theirs.
    pub fn clear(&mut self) {
        if let Some(shared) = &self.shared {
            shared.give_back(self.booked.0, self.booked.1);
            shared.left_place(self.in_place);
            shared.withdraw();
        }
        *self = Self { shared: self.shared.take(), ..Self::new(self.limit) };
    }

    fn charge(&mut self, transfer: &mut Transfer, bytes: usize) {
        let memory = transfer.memory_mut();
        self.reserved += bytes.saturating_sub(memory.charge);
        memory.charge = memory.charge.max(bytes);
    }

    /// Books memory for data that has arrived. False when the shared memory has no room for it.
    fn charge_unsolicited(&mut self, transfer: &mut Transfer, bytes: usize) -> bool {
        let more = bytes.saturating_sub(transfer.memory().charge);
        if more > 0 {
            if self.shared.as_ref().is_some_and(|shared| !shared.take_unsolicited(more)) {
                return false;
            }
            self.booked.1 += more;
            self.charge(transfer, bytes);
        }
        true
    }

    /// Books all memory that the task needs, if there is room. `oldest`: no older task is
    /// undelivered. `alone`: no delivered task will return memory.
    pub fn satisfy(&mut self, transfer: &mut Transfer, oldest: bool, alone: bool) -> bool {
        let wanted = transfer.wanted() as usize;
        let more = wanted.saturating_sub(transfer.memory().charge);
        if more == 0 {
            return true;
        }
        if self.reserved + more > self.limit && !(oldest && alone) {
            return false;
        }
        if self.shared.as_ref().is_some_and(|shared| !shared.take(more, oldest)) {
            return false;
        }
        self.booked.0 += more;
        transfer.memory_mut().granted += more;
        self.charge(transfer, wanted);
        true
    }

    /// Hands the shared memory of a task over to its command. In the limit of the connection it
    /// counts until [`Self::release`].
    pub fn hand_over(&mut self, transfer: &mut Transfer) -> Option<Rc<HeldDataOut>> {
        let shared = self.shared.clone()?;
        let Memory { charge, granted: granted_bytes, in_place, .. } = transfer.memory();
        let unasked_bytes = charge - granted_bytes;
        transfer.memory_mut().handed_over = true;
        self.booked.0 -= granted_bytes;
        self.booked.1 -= unasked_bytes;
        self.in_place -= usize::from(in_place);
        (charge > 0).then(|| Rc::new(HeldDataOut { shared, granted_bytes, unasked_bytes, in_place }))
    }

    /// Returns the memory that the task holds.
    pub fn release(&mut self, transfer: &mut Transfer) {
        transfer.take_buffer();
        let Memory { charge: held, granted, waits, handed_over, in_place } = transfer.memory();
        if held == 0 {
            return;
        }
        *transfer.memory_mut() = Memory { waits, ..Memory::default() };
        self.reserved -= held;
        if handed_over {
            return;
        }
        self.booked.0 -= granted;
        self.booked.1 -= held - granted;
        if let Some(shared) = &self.shared {
            shared.give_back(granted, held - granted);
            if in_place {
                self.in_place -= 1;
                shared.left_place(1);
            }
        }
    }

    /// Returns the whole data of a transfer as it is kept: in its receive buffer, or copied, so that
    /// short data of waiting commands does not keep many buffers alive.
    fn keep(&mut self, transfer: &mut Transfer, data: Bytes) -> Bytes {
        let Some(shared) = &self.shared else { return data };
        if data.len() >= LONG_BYTES {
            return data;
        }
        if !shared.stays_in_place() {
            return Bytes::copy_from_slice(&data);
        }
        self.in_place += 1;
        transfer.memory_mut().in_place = true;
        data
    }

    /// Appends data in order, up to the wanted length. False when there is no memory for
    /// unsolicited data: it is dropped, and the task cannot be executed.
    pub fn append(&mut self, transfer: &mut Transfer, data: &Bytes) -> bool {
        let wanted = transfer.wanted() as usize;
        let buffered = match transfer.buffer() {
            DataOutBuffer::Empty => 0,
            DataOutBuffer::Whole(_) => wanted,
            DataOutBuffer::Partial(buffer) => buffer.len(),
        };
        let piece = data.get(..wanted - buffered).unwrap_or(data);
        if piece.is_empty() {
            return true;
        }
        if piece.len() == wanted {
            let room = self.charge_unsolicited(transfer, wanted);
            if room {
                let kept = self.keep(transfer, data.slice(..wanted));
                transfer.set_buffer(DataOutBuffer::Whole(kept));
            }
            return room;
        }
        let needed = buffered + piece.len();
        if needed > transfer.memory().charge {
            // At least doubled each time, so that little is copied again.
            let grown = needed.max(2 * transfer.memory().charge).min(wanted);
            if !self.charge_unsolicited(transfer, grown) {
                return false;
            }
        }
        let mut buffer = match transfer.take_buffer() {
            DataOutBuffer::Partial(buffer) if buffer.capacity() >= needed => buffer,
            DataOutBuffer::Partial(buffer) => {
                let mut grown = BytesMut::with_capacity(transfer.memory().charge);
                grown.extend_from_slice(&buffer);
                grown
            }
            DataOutBuffer::Empty | DataOutBuffer::Whole(_) => BytesMut::with_capacity(transfer.memory().charge),
        };
        buffer.extend_from_slice(piece);
        transfer.set_buffer(DataOutBuffer::Partial(buffer));
        true
    }
}
