//! Memory that the connections of all protocols share, and how those that wait for some ask others to give
//! way.

use super::memory::{Budget, DataMemory, parts};
use super::wire::ReceiveBuffer;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Memory of all threads for data in flight, from and to hosts.
#[derive(Clone, Debug)]
pub(super) struct Budgets {
    /// For data to hosts.
    pub data_in: Arc<Budget>,
    /// For data from hosts.
    pub data_out: Arc<Budget>,
}

impl Budgets {
    /// Budgets of an array with a limit of memory.
    pub fn new(memory_bytes: u64) -> Self {
        let [data_in, data_out, kept] =
            [parts::DATA_IN, parts::DATA_OUT, parts::RECEIVE_BUFFERS].map(|part| part.of(memory_bytes));
        Self { data_in: Budget::new(data_in, 0), data_out: Budget::new(data_out, kept) }
    }
}

/// Memory that the connections of one thread share.
#[derive(Clone, Debug)]
pub(super) struct SharedMemory {
    /// For data in flight to hosts.
    pub data_in: Rc<DataMemory>,
    /// For data in flight from hosts.
    pub data_out: Rc<DataMemory>,
    /// For bytes just received.
    pub received: ReceiveBuffer,
}

impl SharedMemory {
    /// Memory of one thread, of the budgets of all.
    pub fn new(budgets: &Budgets) -> Self {
        let [data_in, data_out] = [&budgets.data_in, &budgets.data_out].map(|budget| DataMemory::new(budget.clone()));
        Self { data_in, data_out, received: ReceiveBuffer::default() }
    }

    /// Lets connections that wait for memory of other threads try again.
    pub fn retry(&self) -> [JoinHandle<()>; 2] {
        [&self.data_in, &self.data_out].map(|memory| {
            let memory = Rc::clone(memory);
            tokio::task::spawn_local(async move { memory.retry().await })
        })
    }
}

/// Way from a connection that waits for memory to the connections of all protocols.
#[derive(Default)]
pub(super) struct Shortage(RefCell<Vec<Box<dyn Fn()>>>);

impl Shortage {
    /// Adds a protocol. `ask`: asks its connections to give way.
    pub fn add(&self, ask: impl Fn() + 'static) {
        self.0.borrow_mut().push(Box::new(ask));
    }

    /// Asks all connections to give way.
    pub fn ask_to_give_way(&self) {
        self.0.borrow().iter().for_each(|ask| ask());
    }
}
