//! Memory of the reactor for Data-Out, as the protocol core asks for it.

use super::super::memory::{Account, Queued};
use iscsi::connection::{Command, DataOutMemory};
use std::rc::Rc;

/// Account of one connection for Data-Out.
#[derive(Debug)]
pub(super) struct DataOut(pub Rc<Account>);

impl DataOutMemory for DataOut {
    fn take(&self, bytes: usize, oldest: bool) -> bool {
        self.0.take(bytes, oldest)
    }

    fn take_unsolicited(&self, bytes: usize) -> bool {
        self.0.take_unsolicited(bytes)
    }

    fn give_back(&self, granted_bytes: usize, unasked_bytes: usize) {
        self.0.give_back(granted_bytes + unasked_bytes);
    }

    fn stays_in_place(&self) -> bool {
        self.0.stays_in_place()
    }

    fn left_place(&self, count: usize) {
        self.0.left_place(count);
    }

    fn withdraw(&self) {
        self.0.withdraw();
    }
}

impl Queued for Command {
    fn data_in_bytes(&self) -> u32 {
        self.expected_data_in
    }
}
