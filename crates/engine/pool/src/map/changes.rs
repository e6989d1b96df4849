//! Changes of the catalog: objects are created, cloned, resized, rolled back and deleted, documents
//! are stored. A list of changes is applied atomically.

use crate::catalog::object::{Object, Protection};
use crate::catalog::stream;
use crate::geometry::{blocks_for, level_for, page_span};
use crate::interface::ObjectKind;
use crate::interface::range::BlockNumber;
use crate::interface::{CatalogChange, ObjectId, Reservation};
use crate::map::Map;
use crate::map::page::Entry;
use crate::map::page::Page;
use crate::space::Stream;
use media::BlockAddress;
use std::collections::BTreeMap;
use std::rc::Rc;
impl Map {
    /// Number of bytes by which the stored documents grow.
    pub(crate) fn growth_of_documents(&self, changes: &[CatalogChange]) -> u64 {
        let mut after: BTreeMap<&str, u64> = BTreeMap::new();
        for change in changes {
            match change {
                CatalogChange::PutDocument { key, value } => {
                    after.insert(key, stream::document_bytes(key.len(), value.len()));
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

    /// Plans a catalog change. False if data is missing.
    pub(crate) fn plan_catalog(&mut self, changes: &[CatalogChange]) -> bool {
        let mut complete = true;
        for (at, change) in changes.iter().enumerate() {
            match change {
                CatalogChange::CloneObject { source, .. } | CatalogChange::Rollback { source, .. } => {
                    if let Some(root) = self.root_of(*source)
                        && !root.is_empty()
                    {
                        self.need_counts(root.address);
                    }
                }
                CatalogChange::Resize { id, size_bytes } => {
                    // Pages above the root, one for each level. Growth needs nothing else, so an
                    // object created in the same list may grow too.
                    self.need.allocations += 4;
                    let Some(o) = self.objects.get(*id) else { continue };
                    let (old, new) = (blocks_for(o.size_bytes), blocks_for(*size_bytes));
                    if new < old {
                        // A clone earlier in the list shares every page that this resize has to
                        // own.
                        let shared = changes[..at]
                            .iter()
                            .any(|other| matches!(other, CatalogChange::CloneObject { source, .. } if source == id));
                        complete &= self.plan_pieces_as(*id, BlockNumber::new(new), old - new, shared);
                    }
                }
                _ => {}
            }
        }
        complete
    }

    /// Applies catalog changes that were validated and planned.
    pub(crate) fn assign_catalog(&mut self, changes: &[CatalogChange]) -> Option<()> {
        self.pages.disown();
        for change in changes {
            match change {
                CatalogChange::CreateVolume { id, size_bytes } => {
                    self.objects.insert(Object::new(*id, *size_bytes));
                }
                CatalogChange::CreateCapture { id, size_bytes } => {
                    self.objects.insert(Object { kind: ObjectKind::Capture, ..Object::new(*id, *size_bytes) });
                }
                CatalogChange::CloneObject { source, id, kind } => {
                    let source = self.share_tree(*source)?;
                    // The clone has the content of the source, and none of its other properties.
                    self.objects.insert(Object {
                        kind: *kind,
                        parent: Some(source.id),
                        root: source.root,
                        root_crc: source.root_crc,
                        level: source.level,
                        mapped: source.mapped,
                        ..Object::new(*id, source.size_bytes)
                    });
                }
                CatalogChange::DeleteObject { id } => {
                    let object = self.objects.remove(*id)?;
                    self.allotments.remove(*id);
                    self.drop_tree(object.pointer(), object.mapped);
                }
                CatalogChange::Resize { id, size_bytes } => {
                    let (old, new) = (blocks_for(self.objects.get(*id)?.size_bytes), blocks_for(*size_bytes));
                    if new < old {
                        self.assign_zero(*id, BlockNumber::new(new), old - new)?;
                    }
                    while self.objects.get(*id)?.level < level_for(new) {
                        self.raise_root(*id)?;
                    }
                    self.objects.adjust(*id, |object| object.resize(*size_bytes))?;
                }
                CatalogChange::SetWriteCache { id, enabled } => {
                    self.objects.adjust(*id, |object| object.write_cache = *enabled)?;
                }
                CatalogChange::SetZeroDetection { id, enabled } => {
                    self.objects.adjust(*id, |object| object.zero_detection = *enabled)?;
                }
                CatalogChange::SetCeiling { id, ceiling_bytes } => {
                    self.objects.adjust(*id, |object| object.ceiling_bytes = *ceiling_bytes)?;
                }
                CatalogChange::Lock { id, until } => {
                    self.objects.adjust(*id, |object| object.protection = Protection::Locked(*until))?;
                }
                CatalogChange::Unlock { id, .. } => self.objects.adjust(*id, |object| {
                    if object.locked_until().is_some() {
                        object.protection = Protection::None;
                    }
                })?,
                CatalogChange::SetReplica { id, enabled } => {
                    let protection = if *enabled { Protection::Replica } else { Protection::None };
                    self.objects.adjust(*id, |object| object.protection = protection)?;
                }
                CatalogChange::SetReservation { id, reservation } => self.reserve(*id, *reservation)?,
                CatalogChange::Rollback { id, source } => self.roll_back(*id, *source)?,
                CatalogChange::PutDocument { key, value } => {
                    self.documents.put(key, value.clone());
                }
                CatalogChange::DeleteDocument { key } => self.documents.delete(key),
            }
        }
        Some(())
    }

    fn reserve(&mut self, id: ObjectId, reservation: Option<Reservation>) -> Option<()> {
        // Shared blocks are not counted for an object without a promise.
        self.objects.adjust(id, |object| {
            match (reservation, object.tracked) {
                (Some(_), true) => {}
                (Some(_), false) => object.raise_shared(u64::MAX, u64::MAX),
                (None, _) => (object.shared, object.pages_due) = (0, 0),
            }
            object.reservation = reservation;
            object.tracked = reservation.is_some();
            object.deficit = 0;
        })
    }

    fn roll_back(&mut self, id: ObjectId, source: ObjectId) -> Option<()> {
        let source = self.share_tree(source)?;
        let old = self.objects.get(id)?.into_owned();
        self.allotments.remove(id);
        self.drop_tree(old.pointer(), old.mapped);
        self.objects.adjust(id, |object| {
            (object.root, object.level, object.root_crc) = (source.root, source.level, source.root_crc);
            (object.mapped, object.size_bytes) = (source.mapped, source.size_bytes);
            if object.tracked {
                object.raise_shared(u64::MAX, u64::MAX);
            }
        })?;
        self.objects.note_more_shared(id, u64::MAX, u64::MAX);
        Some(())
    }

    /// Adds a reference to an object's whole tree, for another object; returns the object in its
    /// state at that time.
    fn share_tree(&mut self, id: ObjectId) -> Option<Object> {
        self.objects.more_shared(id, u64::MAX, u64::MAX)?;
        self.allotments.share_all(id, self.objects.read(id, Object::overwrite_percent)?);
        let mut object = self.objects.get(id)?.into_owned();
        object.root_crc = self.pages.completed(object.pointer()).crc;
        if !object.root.is_none() {
            // An earlier change in the list may own paths to it.
            self.pages.disown();
            self.space.increment(object.root)?;
        }
        Some(object)
    }

    /// Puts a new root above the old one.
    fn raise_root(&mut self, id: ObjectId) -> Option<()> {
        let object = self.objects.get(id)?.into_owned();
        let level = object.level + 1;
        if object.root.is_none() {
            return self.objects.raise_root(id, BlockAddress::NONE, level);
        }
        // The number of mapped blocks comes from the object table; on a damaged disk it may be
        // arbitrary.
        if !(1..=page_span(object.level)).contains(&object.mapped) {
            return None;
        }
        let address = self.space.allocate(Stream::Metadata)?;
        self.space.increment(address)?;
        self.count_metadata(1, 0);
        let mut page = Page::empty(level, self.pages.epoch(), address, id);
        let root = self.pages.completed(object.pointer());
        page.entries[0] = Entry::child(level, root.address, object.mapped, root.crc);
        page.set_mapped(object.mapped);
        self.pages.insert_dirty(address, Rc::new(page));
        self.objects.page_given(id)?;
        self.objects.raise_root(id, address, level)
    }
}
