//! What a connection on another thread knows of the array: the logical units of its nexus, and the
//! targets that it may list.
//!
//! The reactor replaces it before it confirms a change of access, size or content. The connection
//! compares one number for each command. The reactor checks each arrival again, so that a command
//! whose view is outdated is refused (`ScsiTarget::execute_arrived`).

use iscsi::connection::{Admission, Arrival, Directory, Refusal, TargetRecord};
use iscsi::pdu::LoginStatus;
use scsi_target::{LogicalUnitNumber, NexusView};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// View of one connection.
#[derive(Debug)]
pub(super) struct View {
    pub units: NexusView,
    pub targets: Vec<TargetRecord>,
}

/// The current view of one connection. The reactor writes, another thread reads.
#[derive(Debug)]
pub(super) struct PublishedView {
    /// Raised after each replacement.
    version: AtomicU64,
    current: Mutex<Arc<View>>,
}

impl PublishedView {
    pub fn new(view: View) -> Arc<Self> {
        Arc::new(Self { version: AtomicU64::new(0), current: Mutex::new(Arc::new(view)) })
    }

    fn lock(&self) -> MutexGuard<'_, Arc<View>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the view, unless it is as before.
    pub fn replace(&self, view: View) {
        let mut current = self.lock();
        if current.targets == view.targets && current.units.has_units_of(&view.units) {
            return;
        }
        *current = Arc::new(view);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// The protocol core's queries, answered from the published view.
pub(super) struct PublishedDirectory {
    published: Arc<PublishedView>,
    /// Version and view that were read last.
    seen: RefCell<(u64, Arc<View>)>,
}

impl PublishedDirectory {
    pub fn new(published: Arc<PublishedView>) -> Self {
        // The version first: a view that is replaced in between is read again.
        let version = published.version.load(Ordering::Acquire);
        let view = Arc::clone(&published.lock());
        Self { published, seen: RefCell::new((version, view)) }
    }

    fn with<T>(&self, ask: impl FnOnce(&View) -> T) -> T {
        let mut seen = self.seen.borrow_mut();
        let version = self.published.version.load(Ordering::Acquire);
        if version != seen.0 {
            *seen = (version, Arc::clone(&self.published.lock()));
        }
        ask(&seen.1)
    }
}

impl Directory for PublishedDirectory {
    fn targets(&self, _initiator_name: &str) -> Vec<TargetRecord> {
        self.with(|view| view.targets.clone())
    }

    /// Logins happen on the reactor's thread.
    fn admit(&self, _initiator_name: &str, _target_name: Option<&str>) -> Result<Admission, Refusal> {
        Err(Refusal::Status(LoginStatus::INVALID_DURING_LOGIN))
    }

    fn canonical_lun(&self, lun: [u8; 8]) -> [u8; 8] {
        LogicalUnitNumber::decode(lun).map_or(lun, LogicalUnitNumber::encode)
    }

    fn arrival(&self, lun: [u8; 8]) -> Arrival {
        let scsi_target::Arrival { volume, content_generation } = self.with(|view| view.units.arrival(lun));
        Arrival { logical_unit: volume.map(|volume| volume.0), content_generation }
    }

    fn data_out_bytes(&self, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32 {
        self.with(|view| view.units.data_out_bytes(lun, cdb, expected))
    }
}
