//! Task table of a connection: a slab, accessed by handle directly and by Initiator Task Tag
//! through an index.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::directory::Arrival;
use super::transfer::Transfer;
use crate::pdu::TaskAttribute;

/// Identifier of one task of one connection. A handle of an ended task matches no later task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskHandle {
    slot: u32,
    generation: u32,
}

/// Progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskState {
    /// An earlier CmdSN has not arrived.
    Held,
    /// In order; Data-Out is arriving, or the task waits behind an ORDERED one.
    Receiving,
    /// Complete and in order; waits until the Data-In of earlier tasks has been sent.
    Ready,
    /// The device server has the task.
    Delivered,
}

#[derive(Debug)]
pub(super) struct Task {
    pub initiator_task_tag: u32,
    pub lun: [u8; 8],
    pub arrival: Arrival,
    pub cdb: [u8; 16],
    pub attribute: TaskAttribute,
    pub immediate: bool,
    pub read: bool,
    pub write: bool,
    /// Expected Data Transfer Length: of Data-Out if `write`, else of Data-In.
    pub expected: u32,
    /// Bytes of Data-In that the initiator has room for.
    pub expected_data_in: u32,
    /// Position in CmdSN order among all tasks of the connection.
    pub sequence: u64,
    pub state: TaskState,
    /// Ended by a task management function; no response will be sent.
    pub aborted: bool,
    /// Data-Out.
    pub transfer: Transfer,
    /// Bytes of the Data-In budget held.
    pub data_in_charge: usize,
}

impl Task {
    /// Whether all tasks before it have to be delivered first, and it before all later ones.
    pub fn is_ordered(&self) -> bool {
        self.attribute == TaskAttribute::ORDERED && !self.immediate
    }
}

/// Hasher of Initiator Task Tags. The initiator chooses these; bad ones slow down only its own
/// connection.
#[derive(Default)]
pub(super) struct TagHasher(u64);

impl Hasher for TagHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        let product = (self.0 ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ (product >> 32);
    }
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    task: Option<Task>,
}

/// Slab of tasks with an index by tag.
#[derive(Debug, Default)]
pub(super) struct TaskTable {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_tag: HashMap<u32, u32, BuildHasherDefault<TagHasher>>,
}

impl TaskTable {
    pub fn len(&self) -> usize {
        self.by_tag.len()
    }

    /// Inserts a task; its tag must not be in use.
    pub fn insert(&mut self, task: Task) -> TaskHandle {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        self.by_tag.insert(task.initiator_task_tag, slot);
        let mut generation = 0;
        if let Some(entry) = self.slots.get_mut(slot as usize) {
            generation = entry.generation;
            entry.task = Some(task);
        }
        TaskHandle { slot, generation }
    }

    pub fn get_mut(&mut self, handle: TaskHandle) -> Option<&mut Task> {
        let slot = self.slots.get_mut(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        slot.task.as_mut()
    }

    pub fn get(&self, handle: TaskHandle) -> Option<&Task> {
        let slot = self.slots.get(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        slot.task.as_ref()
    }

    pub fn find(&self, initiator_task_tag: u32) -> Option<TaskHandle> {
        let &slot = self.by_tag.get(&initiator_task_tag)?;
        let generation = self.slots.get(slot as usize)?.generation;
        Some(TaskHandle { slot, generation })
    }

    /// Removes a task, which invalidates its handle, after passing it to the closure.
    pub fn remove<R>(&mut self, handle: TaskHandle, last_look: impl FnOnce(&mut Task) -> R) -> Option<R> {
        let slot = self.slots.get_mut(handle.slot as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        let task = slot.task.as_mut()?;
        let initiator_task_tag = task.initiator_task_tag;
        let result = last_look(task);
        slot.task = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(handle.slot);
        self.by_tag.remove(&initiator_task_tag);
        Some(result)
    }

    /// All tasks, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.slots.iter().filter_map(|slot| slot.task.as_ref())
    }

    /// Handles of all tasks, in CmdSN order.
    pub fn handles(&self) -> Vec<TaskHandle> {
        let mut all: Vec<(u64, TaskHandle)> = self
            .slots
            .iter()
            .zip(0_u32..)
            .filter_map(|(slot, index)| {
                let task = slot.task.as_ref()?;
                Some((task.sequence, TaskHandle { slot: index, generation: slot.generation }))
            })
            .collect();
        all.sort_unstable_by_key(|(sequence, _)| *sequence);
        all.into_iter().map(|(_, handle)| handle).collect()
    }
}
