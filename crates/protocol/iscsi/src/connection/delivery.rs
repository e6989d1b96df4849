//! Order in which tasks reach the device server: CmdSN order as far as task attributes require
//! (SAM-5 §8), and only while there is room for their Data-In.

use super::tasks::{Task, TaskState};
use super::{Command, Connection, Event, TaskHandle};
use crate::pdu::TaskAttribute;
use std::collections::VecDeque;

/// Counts of tasks on their way to the device server and of the Data-In that they may return.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    next_sequence: u64,
    /// Immediate tasks that have not ended.
    immediate_tasks: u32,
    /// Number of undelivered ORDERED tasks; at 0, tasks are delivered as their data completes.
    ordered_undelivered: u32,
    /// Bytes reserved for Data-In of delivered tasks.
    data_in_reserved: usize,
    /// Tasks that wait until other tasks' Data-In has been sent, oldest first; ended ones are
    /// skipped.
    ready: VecDeque<TaskHandle>,
}

impl Delivery {
    pub fn immediate_tasks(&self) -> u32 {
        self.immediate_tasks
    }

    /// Counts a task that has arrived.
    pub fn arrived(&mut self, task: &Task) {
        self.immediate_tasks += u32::from(task.immediate);
    }

    /// Begins a task whose CmdSN is in order.
    fn begin(&mut self, task: &mut Task) {
        task.state = TaskState::Receiving;
        task.sequence = self.next_sequence;
        self.next_sequence += 1;
        self.ordered_undelivered += u32::from(task.is_ordered());
    }

    /// Whether an ORDERED task is undelivered.
    fn is_ordered(&self) -> bool {
        self.ordered_undelivered > 0
    }

    /// Queues a task whose data is complete and whose turn has come.
    fn ready(&mut self, handle: TaskHandle, task: &mut Task) {
        task.state = TaskState::Ready;
        self.ordered_undelivered = self.ordered_undelivered.saturating_sub(u32::from(task.is_ordered()));
        self.ready.push_back(handle);
    }

    fn next_ready(&mut self) -> Option<TaskHandle> {
        self.ready.pop_front()
    }

    fn data_in_reserved(&self) -> usize {
        self.data_in_reserved
    }

    /// Reserves room for the Data-In of a task that the device server gets now.
    fn give(&mut self, task: &mut Task, max_transfer_bytes: u32) {
        task.state = TaskState::Delivered;
        task.data_in_charge = task.expected_data_in.min(max_transfer_bytes) as usize;
        self.data_in_reserved += task.data_in_charge;
    }

    /// Forgets a task that has ended. True if it was ORDERED and other tasks waited for it.
    fn remove(&mut self, task: &Task) -> bool {
        self.data_in_reserved -= task.data_in_charge;
        self.immediate_tasks = self.immediate_tasks.saturating_sub(u32::from(task.immediate));
        let waiting_ordered = task.is_ordered() && task.state == TaskState::Receiving && !task.aborted;
        self.ordered_undelivered = self.ordered_undelivered.saturating_sub(u32::from(waiting_ordered));
        waiting_ordered
    }

    /// Forgets all tasks: the connection has ended.
    pub fn clear(&mut self) {
        self.data_in_reserved = 0;
        self.ready = VecDeque::new();
    }
}

impl Connection {
    /// Starts a task when its CmdSN is in order.
    pub(super) fn begin_task(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        self.delivery.begin(task);
        self.continue_task(handle);
    }

    /// Requests more data for a task, or delivers it when its data is complete.
    pub(super) fn continue_task(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get(handle) else {
            return;
        };
        if task.state != TaskState::Receiving {
            return;
        }
        if task.transfer.is_lost() {
            if !task.transfer.awaits_data() {
                self.end_with_data_lost(handle);
            }
        } else if !task.transfer.is_complete() {
            self.request_data(handle);
        } else {
            if !self.delivery.is_ordered() {
                self.deliver(handle);
            } else {
                self.deliver_in_order();
            }
            // Another task may be the oldest now.
            self.serve_waiting();
        }
    }

    /// Delivers tasks while there are ORDERED ones: an ORDERED task only as the oldest, and no
    /// other task past it.
    fn deliver_in_order(&mut self) {
        let mut older_undelivered = false;
        for handle in self.tasks.handles() {
            let Some(task) = self.tasks.get(handle) else {
                continue;
            };
            if matches!(task.state, TaskState::Ready | TaskState::Delivered) || task.aborted {
                continue;
            }
            let ready = task.state == TaskState::Receiving && task.transfer.is_complete();
            let jumps = task.immediate || task.attribute == TaskAttribute::HEAD_OF_QUEUE;
            let ordered = task.is_ordered();
            if ready && (jumps || !ordered || !older_undelivered) {
                self.deliver(handle);
            } else if ordered {
                return;
            } else {
                older_undelivered |= !jumps;
            }
        }
    }

    fn deliver(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        self.delivery.ready(handle, task);
        self.deliver_ready();
    }

    /// Gives ready tasks to the shell, in order, as long as there is room for Data-In.
    pub(super) fn deliver_ready(&mut self) {
        while self.is_full_feature()
            && self.outbound.queued_bytes() + self.delivery.data_in_reserved() < self.config.max_data_in_bytes
            && let Some(handle) = self.delivery.next_ready()
        {
            self.give(handle);
        }
    }

    fn give(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        self.delivery.give(task, self.config.max_transfer_bytes);
        let data_out_memory = self.data_out.hand_over(&mut task.transfer);
        let data_out = task.transfer.take_data();
        let command = Command {
            task: handle,
            lun: task.lun,
            arrival: task.arrival,
            cdb: task.cdb,
            attribute: task.attribute,
            immediate: task.immediate,
            read: task.read,
            write: task.write,
            expected_data_transfer_length: task.expected,
            expected_data_in: task.expected_data_in,
            data_out,
            data_out_memory,
        };
        self.events.push_back(Event::Command(command));
    }

    /// Ends a task and returns the resources that it held.
    pub(super) fn remove_task(&mut self, handle: TaskHandle) {
        let data_out = &mut self.data_out;
        let delivery = &mut self.delivery;
        let facts = self.tasks.remove(handle, |task| {
            let unfinished = task.write && matches!(task.state, TaskState::Held | TaskState::Receiving);
            data_out.release(&mut task.transfer);
            (delivery.remove(task), unfinished.then_some(task.initiator_task_tag))
        });
        let Some((was_ordered, late_data)) = facts else {
            return;
        };
        if let Some(tag) = late_data {
            self.tags.discard(tag);
        }
        if was_ordered {
            self.deliver_in_order();
        }
        self.serve_waiting();
    }
}
