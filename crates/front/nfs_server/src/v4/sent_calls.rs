//! Calls of the server that clients have not answered.

use nfs::v4::callback::SequenceArguments;
use nfs_state::CallbackId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Most calls of one callback that an answer may come to.
const MOST_CALLS: usize = 4;

/// A call that was sent.
#[derive(Debug)]
pub(super) struct Expected {
    pub id: CallbackId,
    pub connection: u64,
    pub sequence: SequenceArguments,
}

/// Calls that were sent and not answered, by transaction id.
#[derive(Debug, Default)]
pub(super) struct Sent {
    last_xid: Cell<u32>,
    expected: RefCell<BTreeMap<u32, Expected>>,
}

impl Sent {
    /// Notes a call, and returns its transaction id. The reply to an earlier call of the same request answers it too;
    /// a reply to another request of the callback is too late.
    pub fn add(&self, call: Expected) -> u32 {
        let xid = self.last_xid.get().wrapping_add(1);
        self.last_xid.set(xid);
        let mut expected = self.expected.borrow_mut();
        expected.retain(|_, other| other.id != call.id || other.sequence == call.sequence);
        let earlier: Vec<u32> = expected.iter().filter(|(_, other)| other.id == call.id).map(|(xid, _)| *xid).collect();
        if let Some(first) = earlier.first().filter(|_| earlier.len() >= MOST_CALLS) {
            expected.remove(first);
        }
        expected.insert(xid, call);
        xid
    }

    /// Forgets the calls of other callbacks.
    pub fn retain(&self, is_pending: impl Fn(CallbackId) -> bool) {
        self.expected.borrow_mut().retain(|_, call| is_pending(call.id));
    }

    /// The call that a reply answers.
    pub fn take(&self, xid: u32, connection: u64) -> Option<Expected> {
        let mut expected = self.expected.borrow_mut();
        expected.get(&xid).filter(|call| call.connection == connection)?;
        expected.remove(&xid)
    }
}
