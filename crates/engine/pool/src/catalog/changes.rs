//! Changes of the catalog: objects are created, cloned, resized, rolled back and deleted, documents are put. One record holds a list of them, all
//! or none.

use crate::catalog::object::Object;
use crate::catalog::{is_user_object, stream};
use crate::core::Core;
use crate::core::admission::{Ask, Purpose, SMALL_BYTES, TABLE_PATH};
use crate::core::operation::broken;
use crate::geometry::{blocks_for, level_for, page_span};
use crate::interface::operation::{MAX_DOCUMENT_BYTES, MAX_VOLUME_BYTES, Output};
use crate::interface::{CatalogChange, ObjectKind, PoolError};
use crate::log::record;
use crate::map::page::Entry;
use crate::schedule::step::{Progress, Step};
use crate::space::Stream;
use media::{BLOCK_BYTES, Media};
use std::collections::BTreeMap;

impl<M: Media> Core<M> {
    pub(crate) fn catalog_step(&mut self, changes: &[CatalogChange], progress: &mut Progress) -> Step {
        if let Err(error) = self.validate(changes) {
            return Step::Fail(error.into());
        }
        let bytes = record::catalog_bytes(changes);
        if !self.log.could_fit(bytes) {
            return Step::Fail(PoolError::BadDocument { key: "(all changes of one commit)".into(), bytes }.into());
        }
        if !self.plan_catalog(changes) || !self.need.is_empty() {
            return Step::Wait;
        }
        // What only takes away, and a document that replaces one no smaller, must work in a full pool.
        let creates = |c: &&CatalogChange| {
            matches!(
                c,
                CatalogChange::CreateVolume { .. }
                    | CatalogChange::CreateCapture { .. }
                    | CatalogChange::CloneObject { .. }
            )
        };
        let created = changes.iter().filter(creates).count() as u64;
        let growth = self.growth_of_documents(changes);
        let deletes = changes.iter().any(|c| matches!(c, CatalogChange::DeleteObject { .. }));
        // A document takes its space when the next checkpoint writes the store anew.
        let stored = bytes as u64 / BLOCK_BYTES as u64 + 1;
        let promise = self.promise_of_changes(changes);
        let blocks = self.need.allocations + TABLE_PATH * (created + 1) + stored;
        let ask = if deletes || (created == 0 && growth == 0) {
            let purpose = if promise == 0 { Purpose::Freeing } else { Purpose::Growing };
            Ask { passing: blocks, promise, purpose, ..Ask::default() }
        } else {
            let small = created == 0 && promise == 0 && growth <= SMALL_BYTES as u64;
            let purpose = if small { Purpose::Locking } else { Purpose::Growing };
            Ask { lasting: blocks, promise, purpose, ..Ask::default() }
        };
        if let Err(step) = self.room(ask, progress) {
            return step;
        }
        if !self.log_takes(bytes) {
            return Step::LogFull;
        }
        if self.assign_catalog(changes).is_none() {
            self.stop("the map contradicts itself (catalog)");
            return broken();
        }
        let mut shared = Vec::new();
        for change in changes {
            if let CatalogChange::SetReservation { id, reservation: Some(_) } = change
                && let Some(object) = self.objects.get(id.0)
            {
                shared.push((id.0, object.shared, object.pages_due));
            }
        }
        self.log.append(|out| record::encode_catalog(out, changes, &shared));
        Step::Durable(Output::Done)
    }

    /// Bytes by which the stored documents become longer.
    fn growth_of_documents(&self, changes: &[CatalogChange]) -> u64 {
        let mut after: BTreeMap<&str, u64> = BTreeMap::new();
        for change in changes {
            match change {
                CatalogChange::PutDocument { key, value } => {
                    after.insert(key, stream::document_bytes(key, value));
                }
                CatalogChange::DeleteDocument { key } => {
                    after.insert(key, 0);
                }
                _ => {}
            }
        }
        let before: u64 = after.keys().map(|key| self.documents.bytes_of(key)).sum();
        after.values().sum::<u64>().saturating_sub(before)
    }

    fn validate(&self, changes: &[CatalogChange]) -> Result<(), PoolError> {
        let mut created = std::collections::BTreeSet::new();
        let mut deleted = std::collections::BTreeSet::new();
        let mut resized = std::collections::BTreeSet::new();
        // Sizes that changes before this one in the list gave to objects, in bytes.
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        for change in changes {
            let exists = |id: u64| {
                is_user_object(id)
                    && (self.objects.get(id).is_some() || created.contains(&id))
                    && !deleted.contains(&id)
            };
            let must_exist = |id: u64| if exists(id) { Ok(()) } else { Err(PoolError::NoSuchObject(id)) };
            let size = |size_bytes: u64| {
                if size_bytes == 0 || !size_bytes.is_multiple_of(512) || size_bytes > MAX_VOLUME_BYTES {
                    Err(PoolError::BadSize { size_bytes, max_bytes: MAX_VOLUME_BYTES })
                } else {
                    Ok(())
                }
            };
            match change {
                CatalogChange::CreateVolume { id, .. }
                | CatalogChange::CreateCapture { id, .. }
                | CatalogChange::CloneObject { id, .. }
                    if id.0 >= stream::MAX_OBJECT =>
                {
                    // The object table is as long as it can be.
                    return Err(PoolError::PoolFull);
                }
                CatalogChange::CreateVolume { id, size_bytes } | CatalogChange::CreateCapture { id, size_bytes } => {
                    size(*size_bytes)?;
                    if exists(id.0) || deleted.contains(&id.0) || !is_user_object(id.0) {
                        return Err(PoolError::ObjectExists(id.0));
                    }
                    created.insert(id.0);
                    sizes.insert(id.0, *size_bytes);
                }
                CatalogChange::CloneObject { source, id, .. } => {
                    must_exist(source.0)?;
                    if exists(id.0) || deleted.contains(&id.0) || !is_user_object(id.0) {
                        return Err(PoolError::ObjectExists(id.0));
                    }
                    created.insert(id.0);
                    sizes.insert(id.0, self.size_after(source.0, &sizes));
                }
                CatalogChange::DeleteObject { id } => {
                    must_exist(id.0)?;
                    deleted.insert(id.0);
                }
                CatalogChange::Resize { id, size_bytes } => {
                    must_exist(id.0)?;
                    size(*size_bytes)?;
                    // A volume may end inside a block only while what lies behind its end has never been written.
                    let shrinks = self.objects.get(id.0).is_some_and(|o| o.size_bytes > *size_bytes);
                    if shrinks && !size_bytes.is_multiple_of(BLOCK_BYTES as u64) {
                        return Err(PoolError::BadSize { size_bytes: *size_bytes, max_bytes: MAX_VOLUME_BYTES });
                    }
                    if !resized.insert(id.0) {
                        // What the second one takes away depends on the first, so it could not be planned.
                        return Err(PoolError::BadSize { size_bytes: *size_bytes, max_bytes: MAX_VOLUME_BYTES });
                    }
                    if created.contains(&id.0) && self.size_after(id.0, &sizes) > *size_bytes {
                        // Taking blocks away has to be planned on a map, and this one does not exist yet.
                        return Err(PoolError::ObjectExists(id.0));
                    }
                    sizes.insert(id.0, *size_bytes);
                }
                CatalogChange::SetWriteCache { id, .. } | CatalogChange::SetZeroDetection { id, .. } => {
                    must_exist(id.0)?;
                }
                CatalogChange::SetReservation { id, reservation } => {
                    must_exist(id.0)?;
                    let percent = reservation.map_or(0, |reservation| reservation.overwrite_percent);
                    if percent > 100 {
                        return Err(PoolError::BadReservation { percent });
                    }
                }
                CatalogChange::Rollback { id, source } => {
                    must_exist(id.0)?;
                    must_exist(source.0)?;
                    if created.contains(&id.0) || created.contains(&source.0) {
                        // Their maps do not exist yet.
                        return Err(PoolError::ObjectExists(id.0));
                    }
                }
                CatalogChange::PutDocument { key, value } => {
                    if key.len() > 255 || value.len() > MAX_DOCUMENT_BYTES {
                        return Err(PoolError::BadDocument { key: key.clone(), bytes: value.len() });
                    }
                }
                CatalogChange::DeleteDocument { .. } => {}
            }
        }
        Ok(())
    }

    /// Size of an object in bytes: as a list of changes has set it so far, or else as it is.
    fn size_after(&self, id: u64, sizes: &BTreeMap<u64, u64>) -> u64 {
        let present = || self.objects.get(id).map_or(0, |object| object.size_bytes);
        sizes.get(&id).copied().unwrap_or_else(present)
    }

    /// Plans a catalog change. False when something is missing.
    pub(crate) fn plan_catalog(&mut self, changes: &[CatalogChange]) -> bool {
        let mut complete = true;
        for (at, change) in changes.iter().enumerate() {
            match change {
                CatalogChange::CloneObject { source, .. } | CatalogChange::Rollback { source, .. } => {
                    if let Some((root, _, _)) = self.root_of(source.0)
                        && root != 0
                    {
                        self.need_counts(root);
                    }
                }
                CatalogChange::Resize { id, size_bytes } => {
                    // Pages above the root, as many as there are levels. Growth needs nothing else, so that an object
                    // created in the same list may grow too.
                    self.need.allocations += 4;
                    let Some(o) = self.objects.get(id.0) else { continue };
                    let (old, new) = (blocks_for(o.size_bytes), blocks_for(*size_bytes));
                    if new < old {
                        // A clone before it in the list shares every page that it has to own.
                        let shared = changes[..at]
                            .iter()
                            .any(|other| matches!(other, CatalogChange::CloneObject { source, .. } if source == id));
                        complete &= self.plan_pieces_as(id.0, new, old - new, shared);
                    }
                }
                _ => {}
            }
        }
        complete
    }

    /// Applies catalog changes that were validated and planned.
    pub(crate) fn assign_catalog(&mut self, changes: &[CatalogChange]) -> Option<()> {
        self.owned.clear();
        for change in changes {
            match change {
                CatalogChange::CreateVolume { id, size_bytes } => {
                    self.objects.insert(Object::new(id.0, *size_bytes));
                }
                CatalogChange::CreateCapture { id, size_bytes } => {
                    self.objects.insert(Object { kind: ObjectKind::Capture, ..Object::new(id.0, *size_bytes) });
                }
                CatalogChange::CloneObject { source, id, kind } => {
                    let source = self.share_tree(source.0)?;
                    // What it holds is the source's, and nothing else of it.
                    self.objects.insert(Object {
                        kind: *kind,
                        parent: source.id,
                        root: source.root,
                        root_crc: source.root_crc,
                        level: source.level,
                        mapped: source.mapped,
                        ..Object::new(id.0, source.size_bytes)
                    });
                }
                CatalogChange::DeleteObject { id } => {
                    let object = self.objects.remove(id.0)?;
                    self.drop_tree((object.root, object.level, object.root_crc), object.mapped);
                }
                CatalogChange::Resize { id, size_bytes } => {
                    let (old, new) = (blocks_for(self.objects.get(id.0)?.size_bytes), blocks_for(*size_bytes));
                    if new < old {
                        self.assign_zero(id.0, new, old - new)?;
                    }
                    while self.objects.get(id.0)?.level < level_for(new) {
                        self.raise_root(id.0)?;
                    }
                    self.objects.adjust(id.0, |object| object.resize(*size_bytes))?;
                }
                CatalogChange::SetWriteCache { id, enabled } => {
                    self.objects.adjust(id.0, |object| object.write_cache = *enabled)?;
                }
                CatalogChange::SetZeroDetection { id, enabled } => {
                    self.objects.adjust(id.0, |object| object.zero_detection = *enabled)?;
                }
                CatalogChange::SetReservation { id, reservation } => {
                    // What is shared has not been counted while nothing was promised.
                    self.objects.adjust(id.0, |object| {
                        match (reservation, object.tracked) {
                            (Some(_), true) => {}
                            (Some(_), false) => object.share(u64::MAX, u64::MAX),
                            (None, _) => (object.shared, object.pages_due) = (0, 0),
                        }
                        object.reservation = *reservation;
                        object.tracked = reservation.is_some();
                        object.deficit = 0;
                    })?;
                }
                CatalogChange::Rollback { id, source } => {
                    let source = self.share_tree(source.0)?;
                    let old = self.objects.get(id.0)?.clone();
                    self.drop_tree((old.root, old.level, old.root_crc), old.mapped);
                    self.objects.adjust(id.0, |object| {
                        (object.root, object.level, object.root_crc) = (source.root, source.level, source.root_crc);
                        (object.mapped, object.size_bytes) = (source.mapped, source.size_bytes);
                        if object.tracked {
                            object.share(u64::MAX, u64::MAX);
                        }
                    })?;
                    self.objects.note_more_shared(id.0, u64::MAX, u64::MAX);
                }
                CatalogChange::PutDocument { key, value } => {
                    self.documents.put(key, value.clone());
                }
                CatalogChange::DeleteDocument { key } => self.documents.delete(key),
            }
        }
        Some(())
    }

    /// Adds a reference to an object's whole tree, for another object; returns the object as it is then.
    fn share_tree(&mut self, id: u64) -> Option<Object> {
        self.objects.more_shared(id, u64::MAX, u64::MAX)?;
        let object = self.objects.get(id)?.clone();
        if object.root != 0 {
            // A change before this one in the list may have made paths to it owned.
            self.owned.clear();
            self.space.increment(object.root)?;
        }
        Some(object)
    }

    /// Puts a new root above the old one.
    fn raise_root(&mut self, id: u64) -> Option<()> {
        let object = self.objects.get(id)?.clone();
        let level = object.level + 1;
        if object.root == 0 {
            return self.objects.raise_root(id, 0, level);
        }
        // The object table says how many blocks the old root maps; on a damaged disk that may be anything.
        if !(1..=page_span(object.level)).contains(&object.mapped) {
            return None;
        }
        let address = self.space.allocate(Stream::Metadata)?;
        self.space.increment(address)?;
        self.count_metadata(1, 0);
        let mut page = crate::map::page::Page::empty(level, self.epoch, address, id);
        page.entries[0] = Entry::child(object.root, object.mapped, object.root_crc);
        page.set_mapped(object.mapped);
        self.insert_page(address, std::rc::Rc::new(page));
        self.dirty_pages.push((level, address));
        self.objects.page_given(id)?;
        self.objects.raise_root(id, address, level)
    }
}
