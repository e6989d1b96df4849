//! Array in memory for tests: a catalog over maps, a running target that records changes, a
//! stepping clock and deterministic bytes. Content of volumes is not modelled; the test sets
//! `mapped_bytes`.

pub mod environment;
pub mod limits;
pub mod live;
pub mod rollbacks;

use bytes::Bytes;
use pool::{
    BlockId, CEILING_UNIT_BYTES, Catalog, CatalogChange, CheckReport, CheckStep, Growth, Incident, MAX_CEILING_BYTES,
    ObjectId, ObjectInfo, ObjectKind, Place, PoolError, PoolSpace, Reshare, ReshareStep, Revision, ScanStep,
};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;

/// Catalog over maps. Commits are atomic.
#[derive(Debug)]
pub struct MemoryCatalog {
    state: RefCell<State>,
    next_object: Cell<u64>,
    /// Size of the pool.
    pub size_bytes: Cell<u64>,
    /// Error of the next commit.
    pub fail_next: RefCell<Option<PoolError>>,
    /// Commits until a simulated power loss: later ones never return and have no effect. `None`: no
    /// power loss.
    pub crash_after: Cell<Option<u64>>,
    /// True if counts of unique bytes do not finish.
    pub counting: Cell<bool>,
    /// Zeros that a step of a reclaim finds, by object and start offset of the step; equal content that a step of a
    /// reshare finds, of which half becomes free.
    pub zeros: RefCell<BTreeMap<(u64, u64), u64>>,
    /// Bad places that verification finds.
    pub bad: RefCell<Vec<Place>>,
    /// Result of the next [`Catalog::take_incidents`].
    pub incidents: RefCell<Vec<Incident>>,
    /// Error of the next step of a reclaim after its object was deleted; absent: no such object.
    pub gone: RefCell<Option<PoolError>>,
    /// Objects whose map cannot be traversed.
    pub damaged: RefCell<BTreeSet<u64>>,
    /// True if the storage below the pool is full.
    pub full_below: Cell<bool>,
    /// Objects of which no copy has room.
    pub no_room: RefCell<BTreeSet<u64>>,
    /// Offer to free space.
    pub offer: MemoryOffer,
    /// True if a growth waits, as for a long checkpoint.
    pub growth_waits: Cell<bool>,
    /// Largest number of objects that one call has returned.
    pub most_listed: Cell<usize>,
    /// Number of objects that all calls have returned.
    pub listed: Cell<usize>,
    checked: Cell<u64>,
    told_objects: RefCell<BTreeMap<u64, ObjectInfo>>,
    changes: Cell<u64>,
}

/// Offer to free space.
#[derive(Debug, Default)]
pub struct MemoryOffer {
    /// Last [`Catalog::offer_space`].
    pub is_made: Cell<bool>,
    /// Result of the next [`Catalog::take_space_wanted`].
    pub is_wanted: Cell<bool>,
}

/// Bytes covered by one scan step.
const STEP_BYTES: u64 = 1 << 20;
/// Steps of a check.
const CHECK_STEPS: u64 = 4;
/// Size of every added device.
const DEVICE_BYTES: u64 = 8 << 30;

fn step(size_bytes: u64, offset_bytes: u64) -> ScanStep {
    let end = size_bytes.min(offset_bytes + STEP_BYTES);
    ScanStep {
        next: (end < size_bytes).then_some(end),
        scanned_bytes: end.saturating_sub(offset_bytes),
        ..ScanStep::default()
    }
}

/// Empty object.
const fn new_object(id: ObjectId, kind: ObjectKind, size_bytes: u64) -> ObjectInfo {
    ObjectInfo {
        id,
        kind,
        parent: None,
        size_bytes,
        mapped_bytes: 0,
        write_cache: false,
        zero_detection: true,
        reservation: None,
        promised_bytes: 0,
        ceiling_bytes: None,
        locked_until: None,
        is_replica: false,
    }
}

#[derive(Clone, Debug, Default)]
struct State {
    objects: BTreeMap<u64, ObjectInfo>,
    documents: BTreeMap<String, Bytes>,
}

impl Default for MemoryCatalog {
    fn default() -> Self {
        Self {
            state: RefCell::default(),
            next_object: Cell::new(1),
            size_bytes: Cell::new(64 << 30),
            fail_next: RefCell::default(),
            crash_after: Cell::default(),
            counting: Cell::new(false),
            zeros: RefCell::default(),
            bad: RefCell::default(),
            incidents: RefCell::default(),
            gone: RefCell::default(),
            damaged: RefCell::default(),
            full_below: Cell::new(false),
            no_room: RefCell::default(),
            offer: MemoryOffer::default(),
            growth_waits: Cell::new(false),
            most_listed: Cell::new(0),
            listed: Cell::new(0),
            checked: Cell::new(0),
            told_objects: RefCell::default(),
            changes: Cell::default(),
        }
    }
}

impl MemoryCatalog {
    /// Sets the mapped bytes of an object.
    pub fn set_mapped(&self, object: ObjectId, mapped_bytes: u64) {
        self.changes.set(self.changes.get() + 1);
        if let Some(info) = self.state.borrow_mut().objects.get_mut(&object.0) {
            info.mapped_bytes = mapped_bytes;
        }
    }

    /// Errors: `Damaged` if the object is in `damaged`.
    fn walk(&self, object: ObjectId) -> Result<(), PoolError> {
        if self.damaged.borrow().contains(&object.0) {
            return Err(PoolError::Damaged(format!("block {} is not a map page", 4000 + object.0)));
        }
        Ok(())
    }

    /// Adds volumes of 4 KiB without `control`, as an older change that the pool reports no more.
    pub fn add_objects(&self, count: u64) {
        let mut state = self.state.borrow_mut();
        for _ in 0..count {
            let id = self.new_object_id();
            let info = ObjectInfo { mapped_bytes: 4096, ..new_object(id, ObjectKind::Volume, 4096) };
            state.objects.insert(id.0, info);
            self.told_objects.borrow_mut().insert(id.0, info);
        }
    }

    /// Stores a document without `control`.
    pub fn put_document(&self, key: &str, value: &str) {
        self.state.borrow_mut().documents.insert(key.to_owned(), Bytes::from(value.to_owned()));
    }
}

impl State {
    fn apply(&mut self, change: CatalogChange) -> Result<(), PoolError> {
        match change {
            CatalogChange::CreateVolume { id, size_bytes } => {
                self.insert(new_object(id, ObjectKind::Volume, size_bytes))
            }
            CatalogChange::CreateCapture { id, size_bytes } => {
                self.insert(new_object(id, ObjectKind::Capture, size_bytes))
            }
            CatalogChange::CloneObject { source, id, kind } => {
                let parent = *self.object(source)?;
                let thin = ObjectInfo {
                    reservation: None,
                    promised_bytes: 0,
                    ceiling_bytes: None,
                    locked_until: None,
                    is_replica: false,
                    zero_detection: true,
                    ..parent
                };
                self.insert(ObjectInfo { id, kind, parent: Some(source), write_cache: false, ..thin })
            }
            CatalogChange::DeleteObject { id } => match self.object(id)?.locked_until {
                Some(until) => Err(PoolError::Locked { object: id, until }),
                None => {
                    self.objects.remove(&id.0);
                    Ok(())
                }
            },
            CatalogChange::Resize { id, size_bytes } => {
                self.object(id)?.size_bytes = size_bytes;
                Ok(())
            }
            CatalogChange::SetWriteCache { id, enabled } => {
                self.object(id)?.write_cache = enabled;
                Ok(())
            }
            CatalogChange::SetReservation { id, reservation } => {
                let info = self.object(id)?;
                info.reservation = reservation;
                info.promised_bytes = reservation.map_or(0, |_| info.size_bytes.saturating_sub(info.mapped_bytes));
                Ok(())
            }
            CatalogChange::SetZeroDetection { id, enabled } => {
                self.object(id)?.zero_detection = enabled;
                Ok(())
            }
            CatalogChange::SetCeiling { id, ceiling_bytes } => {
                let valid =
                    |bytes: u64| bytes > 0 && bytes <= MAX_CEILING_BYTES && bytes.is_multiple_of(CEILING_UNIT_BYTES);
                if !ceiling_bytes.is_none_or(valid) {
                    let (unit_bytes, max_bytes) = (CEILING_UNIT_BYTES, MAX_CEILING_BYTES);
                    let ceiling_bytes = ceiling_bytes.unwrap_or(0);
                    return Err(PoolError::BadCeiling { ceiling_bytes, unit_bytes, max_bytes });
                }
                self.object(id)?.ceiling_bytes = ceiling_bytes;
                Ok(())
            }
            CatalogChange::Lock { id, until } => {
                let info = self.object(id)?;
                match info.locked_until {
                    _ if info.kind != ObjectKind::Snapshot => Err(PoolError::NoSnapshot(id)),
                    Some(later) if later > until => Err(PoolError::Locked { object: id, until: later }),
                    _ => {
                        info.locked_until = Some(until);
                        Ok(())
                    }
                }
            }
            CatalogChange::Unlock { id, now } => {
                let info = self.object(id)?;
                match info.locked_until {
                    Some(until) if until > now => Err(PoolError::Locked { object: id, until }),
                    _ => {
                        info.locked_until = None;
                        Ok(())
                    }
                }
            }
            CatalogChange::SetReplica { id, enabled } => {
                let info = self.object(id)?;
                if info.kind != ObjectKind::Volume {
                    return Err(PoolError::NoVolume(id));
                }
                info.is_replica = enabled;
                Ok(())
            }
            CatalogChange::Rollback { id, source } => {
                let ObjectInfo { size_bytes, mapped_bytes, .. } = *self.object(source)?;
                let info = self.object(id)?;
                (info.size_bytes, info.mapped_bytes) = (size_bytes, mapped_bytes);
                Ok(())
            }
            CatalogChange::PutDocument { key, value } => {
                self.documents.insert(key, value);
                Ok(())
            }
            CatalogChange::DeleteDocument { key } => {
                self.documents.remove(&key);
                Ok(())
            }
        }
    }

    fn object(&mut self, id: ObjectId) -> Result<&mut ObjectInfo, PoolError> {
        self.objects.get_mut(&id.0).ok_or(PoolError::NoSuchObject(id))
    }

    fn insert(&mut self, info: ObjectInfo) -> Result<(), PoolError> {
        match self.objects.insert(info.id.0, info) {
            Some(_) => Err(PoolError::ObjectExists(info.id)),
            None => Ok(()),
        }
    }
}

impl Catalog for MemoryCatalog {
    fn new_object_id(&self) -> ObjectId {
        let id = self.next_object.get();
        self.next_object.set(id + 1);
        ObjectId(id)
    }

    async fn commit(&self, changes: Vec<CatalogChange>) -> Result<(), PoolError> {
        if let Some(error) = self.fail_next.take() {
            return Err(error);
        }
        match self.crash_after.get() {
            None => {}
            Some(0) => std::future::pending().await,
            Some(commits) => self.crash_after.set(Some(commits - 1)),
        }
        let mut state = self.state.borrow().clone();
        let before: Vec<u64> = state.objects.keys().copied().collect();
        for change in changes {
            // Like the pool: freeing the end of a volume cannot be planned on a map that does not
            // exist yet.
            if let CatalogChange::Resize { id, size_bytes } = &change
                && state.objects.get(&id.0).is_some_and(|object| object.size_bytes > *size_bytes)
                && !before.contains(&id.0)
            {
                return Err(PoolError::ObjectExists(*id));
            }
            if let CatalogChange::CloneObject { source, .. } = &change
                && self.no_room.borrow().contains(&source.0)
            {
                return Err(PoolError::NoRoomForReservation { needed_bytes: 7, available_bytes: 5 });
            }
            state.apply(change)?;
        }
        self.state.replace(state);
        self.changes.set(self.changes.get() + 1);
        Ok(())
    }

    fn object(&self, id: ObjectId) -> Option<ObjectInfo> {
        self.state.borrow().objects.get(&id.0).copied()
    }

    fn objects_from(&self, from: ObjectId, most: usize) -> Vec<ObjectInfo> {
        let state = self.state.borrow();
        let objects: Vec<ObjectInfo> = state.objects.range(from.0..).take(most).map(|(_, info)| *info).collect();
        self.most_listed.set(self.most_listed.get().max(objects.len()));
        self.listed.set(self.listed.get() + objects.len());
        objects
    }

    fn captures(&self) -> Vec<ObjectId> {
        let state = self.state.borrow();
        state.objects.values().filter(|info| info.kind == ObjectKind::Capture).map(|info| info.id).collect()
    }

    fn last_object_id(&self) -> ObjectId {
        ObjectId(self.next_object.get() - 1)
    }

    fn document(&self, key: &str) -> Option<Bytes> {
        self.state.borrow().documents.get(key).cloned()
    }

    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)> {
        let state = self.state.borrow();
        let matching = state.documents.iter().filter(|(key, _)| key.starts_with(prefix));
        matching.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    async fn unique_bytes(&self, ids: &[ObjectId]) -> Result<u64, PoolError> {
        std::future::poll_fn(|_| if self.counting.get() { Poll::Pending } else { Poll::Ready(()) }).await;
        let state = self.state.borrow();
        let mut bytes = 0;
        for id in ids {
            self.walk(*id)?;
            let info = state.objects.get(&id.0).ok_or(PoolError::NoSuchObject(*id))?;
            let shared = info.parent.is_some() || state.objects.values().any(|other| other.parent == Some(*id));
            bytes += if shared { 0 } else { info.mapped_bytes };
        }
        Ok(bytes)
    }

    async fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> Result<ScanStep, PoolError> {
        let mut state = self.state.borrow_mut();
        let info = state.object(id).map_err(|error| self.gone.take().unwrap_or(error))?;
        let zeros = self.zeros.borrow_mut().remove(&(id.0, offset_bytes)).unwrap_or(0).min(info.mapped_bytes);
        info.mapped_bytes -= zeros;
        Ok(ScanStep { deallocated_bytes: zeros, ..step(info.size_bytes, offset_bytes) })
    }

    async fn reshare(&self, reshare: Reshare) -> Result<ReshareStep, PoolError> {
        let Reshare { object, with, offset, compare_only, .. } = reshare;
        let mut state = self.state.borrow_mut();
        state.object(with)?;
        let size_bytes = state.object(object)?.size_bytes;
        self.walk(object)?;
        let mut equal = self.zeros.borrow_mut();
        let found = match compare_only {
            true => equal.get(&(object.0, offset)).copied(),
            false => equal.remove(&(object.0, offset)),
        };
        let (found, step) = (found.unwrap_or(0), step(size_bytes, offset));
        Ok(ReshareStep {
            next: step.next,
            scanned_bytes: step.scanned_bytes,
            compared_bytes: found,
            shared_bytes: found,
            freed_bytes: found / 2,
            ..ReshareStep::default()
        })
    }

    async fn verify(&self, id: ObjectId, offset_bytes: u64, _anew: bool) -> Result<ScanStep, PoolError> {
        let mut state = self.state.borrow_mut();
        let step = step(state.object(id)?.size_bytes, offset_bytes);
        self.walk(id)?;
        let range = offset_bytes..step.next.unwrap_or(u64::MAX);
        let bad = self.bad.borrow();
        let bad = bad.iter().filter(|place| place.object == id && range.contains(&place.offset_bytes));
        Ok(ScanStep { bad: bad.copied().collect(), ..step })
    }

    async fn places_of(&self, blocks: Vec<BlockId>) -> Result<Vec<Place>, PoolError> {
        let bad = self.bad.borrow();
        Ok(bad.iter().filter(|place| blocks.contains(&place.block)).copied().collect())
    }

    async fn check_step(&self) -> Result<CheckStep, PoolError> {
        let done = self.checked.get() + 1;
        if let (2, Some(object)) = (done, self.damaged.borrow().first()) {
            return Err(PoolError::Damaged(format!("object {object}: block 7 is not a map page")));
        }
        let finished = done == CHECK_STEPS;
        self.checked.set(if finished { 0 } else { done });
        Ok(CheckStep { done, total: CHECK_STEPS, report: finished.then(CheckReport::default) })
    }

    fn abandon_check(&self) {
        self.checked.set(0);
    }

    async fn recount(&self, id: ObjectId) -> Result<(), PoolError> {
        self.state.borrow_mut().object(id).map(|_| ())
    }

    async fn grow(&self, growth: Growth) -> Result<(), PoolError> {
        if self.growth_waits.get() {
            std::future::pending::<()>().await;
        }
        match growth {
            Growth::Size(size_bytes) if size_bytes <= self.size_bytes.get() => {
                Err(PoolError::CannotGrow(format!("the pool has {} bytes already", self.size_bytes.get())))
            }
            Growth::Size(size_bytes) => {
                self.size_bytes.set(size_bytes);
                Ok(())
            }
            Growth::Device(_) => {
                self.size_bytes.set(self.size_bytes.get() + DEVICE_BYTES);
                Ok(())
            }
        }
    }

    fn take_incidents(&self) -> Vec<Incident> {
        self.incidents.take()
    }

    fn take_changed(&self, most: usize) -> Vec<ObjectId> {
        let now = &self.state.borrow().objects;
        let mut before = self.told_objects.borrow_mut();
        let changed = now.iter().filter(|(id, info)| before.get(id) != Some(info)).map(|(id, _)| *id);
        let deleted = before.keys().filter(|id| !now.contains_key(id)).copied();
        let changed: Vec<u64> = changed.chain(deleted).take(most).collect();
        for id in &changed {
            match now.get(id) {
                Some(info) => before.insert(*id, *info),
                None => before.remove(id),
            };
        }
        changed.into_iter().map(ObjectId).collect()
    }

    fn changes(&self) -> Revision {
        Revision { next_record: self.changes.get(), reclaimable_bytes: 0 }
    }

    fn space(&self) -> PoolSpace {
        let metadata_bytes = 64 << 20;
        let data: u64 = self
            .state
            .borrow()
            .objects
            .values()
            .filter(|info| info.parent.is_none())
            .map(|info| info.mapped_bytes)
            .sum();
        let size_bytes = self.size_bytes.get();
        let used_bytes = (metadata_bytes + data).min(size_bytes);
        let promised_bytes = self.state.borrow().objects.values().map(|info| info.promised_bytes).sum();
        let free_bytes = size_bytes - used_bytes;
        let full_below = self.full_below.get();
        PoolSpace {
            size_bytes,
            used_bytes,
            free_bytes,
            metadata_bytes,
            promised_bytes,
            reclaimable_bytes: 0,
            full_below,
        }
    }

    fn offer_space(&self, is_made: bool) {
        self.offer.is_made.set(is_made);
    }

    fn take_space_wanted(&self) -> bool {
        self.offer.is_wanted.take()
    }
}
