//! State of the publication, on the owner's side.

use super::view::{Count, Delta};
use crate::events::view::AlertView;
use crate::facts::PoolFacts;
use crate::jobs::view::JobView;
use crate::live::ConnectionCounters;
use pool::ObjectId;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Sender;
use uuid::Uuid;

/// Facts sent last, for comparison before the next publication.
#[derive(Default)]
pub(crate) struct Publisher {
    /// Channel to the mirror; absent until a mirror exists.
    pub(super) to: RefCell<Option<Sender<Vec<Delta>>>>,
    pub(super) pool: RefCell<Option<PoolFacts>>,
    pub(super) connections: RefCell<Option<ConnectionCounters>>,
    pub(super) held: RefCell<qos::Report>,
    pub(super) alerts: RefCell<Vec<AlertView>>,
    pub(super) jobs: RefCell<BTreeMap<Uuid, JobView>>,
    pub(super) captures: RefCell<Vec<ObjectId>>,
    /// Objects and units that changed and are not published yet, in the order of their changes.
    pub(super) waiting: RefCell<VecDeque<Waiting>>,
    pub(super) counts: RefCell<BTreeMap<Vec<ObjectId>, Count>>,
    /// True if a volume or share was deleted since the last publication.
    pub(super) content_deleted: Cell<bool>,
    /// Number of the last event.
    pub(super) last_event: Cell<u64>,
}

/// Fact to publish: what it is when its turn comes.
#[derive(Clone, Copy)]
pub(super) enum Waiting {
    Object(ObjectId),
    Unit(ObjectId),
}

impl Publisher {
    pub(super) fn is_connected(&self) -> bool {
        self.to.borrow().is_some()
    }

    /// Sends changes; a mirror that was dropped ignores them.
    pub(super) fn send(&self, deltas: Vec<Delta>) {
        if let Some(to) = &*self.to.borrow()
            && !deltas.is_empty()
        {
            let _without_mirror = to.send(deltas);
        }
    }
}
