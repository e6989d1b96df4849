//! Results of third-party copies, kept per I_T nexus under their list identifier (SPC-4 §6.4.3). At most 256, one for each value of
//! the identifier.

use crate::sense::Fault;
use scsi::third_party_copy::CopyStatus;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What RECEIVE COPY STATUS and RECEIVE COPY FAILURE DETAILS report of one copy.
#[derive(Debug)]
pub(crate) struct CopyRecord {
    /// Running, or how it ended.
    pub status: Cell<CopyStatus>,
    /// Segments that were processed.
    pub segments: Cell<u16>,
    /// Bytes that were copied.
    pub bytes: Cell<u64>,
    /// Status code and sense data of the command, when it failed.
    pub failure: RefCell<Option<(u8, Vec<u8>)>>,
}

/// The records of one I_T nexus.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    records: RefCell<BTreeMap<u8, Rc<CopyRecord>>>,
}

/// A copy that runs under a list identifier. Dropped without [`Running::finish`], it leaves no record.
#[derive(Debug)]
pub(crate) struct Running<'a> {
    copies: &'a Copies,
    list_id: u8,
    record: Rc<CopyRecord>,
    finished: bool,
}

impl Copies {
    /// Starts a copy; `Fault::ListIdInUse` while another one runs under the identifier.
    pub fn start(&self, list_id: u8) -> Result<Running<'_>, Fault> {
        let mut records = self.records.borrow_mut();
        if records.get(&list_id).is_some_and(|record| record.status.get() == CopyStatus::InProgress) {
            return Err(Fault::ListIdInUse { list_id });
        }
        let record = Rc::new(CopyRecord {
            status: Cell::new(CopyStatus::InProgress),
            segments: Cell::new(0),
            bytes: Cell::new(0),
            failure: RefCell::new(None),
        });
        records.insert(list_id, Rc::clone(&record));
        Ok(Running { copies: self, list_id, record, finished: false })
    }

    /// The record of a list identifier.
    pub fn get(&self, list_id: u8) -> Option<Rc<CopyRecord>> {
        self.records.borrow().get(&list_id).cloned()
    }

    /// Discards a record that is not running.
    pub fn discard(&self, list_id: u8) {
        let mut records = self.records.borrow_mut();
        if records.get(&list_id).is_some_and(|record| record.status.get() != CopyStatus::InProgress) {
            records.remove(&list_id);
        }
    }

    /// Discards every record that is not running: a reset.
    pub fn clear(&self) {
        self.records.borrow_mut().retain(|_, record| record.status.get() == CopyStatus::InProgress);
    }
}

impl Running<'_> {
    /// Counts a finished segment.
    pub fn advance(&self, bytes: u64) {
        self.record.segments.set(self.record.segments.get().saturating_add(1));
        self.record.bytes.set(self.record.bytes.get().saturating_add(bytes));
    }

    /// Ends the copy. `hold` keeps the record for RECEIVE COPY RESULTS.
    pub fn finish(mut self, hold: bool, failure: Option<(u8, Vec<u8>)>) {
        self.finished = true;
        self.record.status.set(if failure.is_none() { CopyStatus::Completed } else { CopyStatus::Failed });
        self.record.failure.replace(failure);
        if !hold {
            self.copies.records.borrow_mut().remove(&self.list_id);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.copies.records.borrow_mut().remove(&self.list_id);
        }
    }
}
