//! Validation of a list of catalog changes, before anything is planned.

use crate::catalog::object::Object;
use crate::catalog::objects::Objects;
use crate::catalog::{is_user_object, stream};
use crate::interface::operation::{
    ADDRESS_SPACE_BYTES, CEILING_UNIT_BYTES, MAX_CEILING_BYTES, MAX_VOLUME_BYTES, is_ceiling, is_size,
};
use crate::interface::{CatalogChange, Hour, ObjectId, ObjectKind, PoolError};
use crate::mutations::{Mutation, leaves_out};
use media::BLOCK_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a logical block; sizes are multiples of it.
const LOGICAL_BLOCK_BYTES: u64 = 512;

impl Objects {
    /// Checks that the changes can be applied in order.
    pub fn validate(&self, changes: &[CatalogChange]) -> Result<(), PoolError> {
        let mut list = Validation {
            objects: self,
            created: BTreeSet::new(),
            read_only: BTreeMap::new(),
            locks: BTreeMap::new(),
            deleted: BTreeSet::new(),
            resized: BTreeSet::new(),
            sizes: BTreeMap::new(),
        };
        changes.iter().try_for_each(|change| list.validate(change))
    }
}

/// Effects of the changes validated so far.
struct Validation<'a> {
    objects: &'a Objects,
    created: BTreeSet<ObjectId>,
    /// New objects that are no volumes.
    read_only: BTreeMap<ObjectId, ObjectKind>,
    /// Locks that the changes so far have set or ended.
    locks: BTreeMap<ObjectId, Option<Hour>>,
    deleted: BTreeSet<ObjectId>,
    resized: BTreeSet<ObjectId>,
    /// New sizes of objects, in bytes.
    sizes: BTreeMap<ObjectId, u64>,
}

impl Validation<'_> {
    fn validate(&mut self, change: &CatalogChange) -> Result<(), PoolError> {
        match change {
            CatalogChange::CreateVolume { id, size_bytes } | CatalogChange::CreateCapture { id, size_bytes } => {
                if matches!(change, CatalogChange::CreateCapture { .. }) {
                    self.read_only.insert(*id, ObjectKind::Capture);
                }
                self.create(*id, || valid_size(*size_bytes).map(|()| *size_bytes))
            }
            CatalogChange::CloneObject { source, id, kind } => {
                if *kind != ObjectKind::Volume {
                    self.read_only.insert(*id, *kind);
                }
                let size = self.size_after(*source);
                let exists = self.must_exist(*source);
                self.create(*id, || exists.map(|()| size))
            }
            CatalogChange::DeleteObject { id } => {
                self.must_exist(*id)?;
                if !leaves_out(Mutation::Locks) {
                    self.must_be_unlocked(*id)?;
                }
                self.deleted.insert(*id);
                Ok(())
            }
            CatalogChange::Resize { id, size_bytes } => self.resize(*id, *size_bytes),
            CatalogChange::SetWriteCache { id, .. } | CatalogChange::SetZeroDetection { id, .. } => {
                self.must_exist(*id)
            }
            CatalogChange::SetReservation { id, reservation } => {
                self.must_exist(*id)?;
                match reservation.map_or(0, |reservation| reservation.overwrite_percent) {
                    0..=100 => Ok(()),
                    percent => Err(PoolError::BadReservation { percent }),
                }
            }
            CatalogChange::SetCeiling { id, ceiling_bytes } => self.ceiling(*id, *ceiling_bytes),
            CatalogChange::Lock { id, until } => self.lock(*id, *until),
            CatalogChange::Unlock { id, now } => self.unlock(*id, *now),
            CatalogChange::SetReplica { id, .. } => {
                self.must_exist(*id)?;
                if self.kind(*id) == ObjectKind::Volume { Ok(()) } else { Err(PoolError::NoVolume(*id)) }
            }
            CatalogChange::Rollback { id, source } => {
                self.must_exist(*id)?;
                self.must_be_unlocked(*id)?;
                self.must_exist(*source)?;
                // The map of a new object does not exist yet.
                if self.created.contains(id) || self.created.contains(source) {
                    return Err(PoolError::ObjectExists(*id));
                }
                // An address space and a volume do not become one another.
                let [size_bytes, size_after] = [*id, *source].map(|object| self.size_after(object));
                match (size_bytes == ADDRESS_SPACE_BYTES) == (size_after == ADDRESS_SPACE_BYTES) {
                    true => Ok(()),
                    false => Err(bad_size(size_after)),
                }
            }
            CatalogChange::PutDocument { key, value } => match stream::is_document(key.len(), value.len()) {
                true => Ok(()),
                false => Err(PoolError::BadDocument { key: key.clone(), bytes: value.len() }),
            },
            CatalogChange::DeleteDocument { .. } => Ok(()),
        }
    }

    fn exists(&self, id: ObjectId) -> bool {
        (self.objects.user(id).is_some() || (is_user_object(id) && self.created.contains(&id)))
            && !self.deleted.contains(&id)
    }

    fn must_exist(&self, id: ObjectId) -> Result<(), PoolError> {
        if self.exists(id) { Ok(()) } else { Err(PoolError::NoSuchObject(id)) }
    }

    /// Kind of an object that exists.
    fn kind(&self, id: ObjectId) -> ObjectKind {
        let new = || self.read_only.get(&id).copied().unwrap_or(ObjectKind::Volume);
        self.objects.read(id, |object| object.kind).unwrap_or_else(new)
    }

    /// End of the lock of an object after the changes so far.
    fn lock_of(&self, id: ObjectId) -> Option<Hour> {
        let stored = || self.objects.read(id, Object::locked_until).flatten();
        self.locks.get(&id).copied().unwrap_or_else(stored)
    }

    fn must_be_unlocked(&self, id: ObjectId) -> Result<(), PoolError> {
        self.lock_of(id).map_or(Ok(()), |until| Err(PoolError::Locked { object: id, until }))
    }

    fn lock(&mut self, id: ObjectId, until: Hour) -> Result<(), PoolError> {
        self.must_exist(id)?;
        if self.kind(id) != ObjectKind::Snapshot {
            return Err(PoolError::NoSnapshot(id));
        }
        match self.lock_of(id) {
            Some(later) if later > until && !leaves_out(Mutation::LockEnds) => {
                Err(PoolError::Locked { object: id, until: later })
            }
            _ => {
                self.locks.insert(id, Some(until));
                Ok(())
            }
        }
    }

    fn unlock(&mut self, id: ObjectId, now: Hour) -> Result<(), PoolError> {
        self.must_exist(id)?;
        match self.lock_of(id) {
            Some(until) if until > now => Err(PoolError::Locked { object: id, until }),
            _ => {
                self.locks.insert(id, None);
                Ok(())
            }
        }
    }

    /// Size of an object in bytes after the changes so far.
    fn size_after(&self, id: ObjectId) -> u64 {
        self.sizes.get(&id).copied().unwrap_or_else(|| self.objects.length(id))
    }

    /// Validates a new object; `size` returns its size or why that is invalid.
    fn create(&mut self, id: ObjectId, size: impl FnOnce() -> Result<u64, PoolError>) -> Result<(), PoolError> {
        if id >= stream::MAX_OBJECT {
            // The object table has its maximal length.
            return Err(PoolError::PoolFull);
        }
        let size_bytes = size()?;
        if self.exists(id) || self.deleted.contains(&id) || !is_user_object(id) {
            return Err(PoolError::ObjectExists(id));
        }
        self.created.insert(id);
        self.sizes.insert(id, size_bytes);
        Ok(())
    }

    /// Validates a ceiling: writable address spaces have one.
    fn ceiling(&self, id: ObjectId, ceiling_bytes: Option<u64>) -> Result<(), PoolError> {
        self.must_exist(id)?;
        let writable = self.kind(id) == ObjectKind::Volume;
        let valid = ceiling_bytes.is_none_or(is_ceiling);
        match valid && writable && self.size_after(id) == ADDRESS_SPACE_BYTES {
            true => Ok(()),
            false => Err(PoolError::BadCeiling {
                ceiling_bytes: ceiling_bytes.unwrap_or(0),
                unit_bytes: CEILING_UNIT_BYTES,
                max_bytes: MAX_CEILING_BYTES,
            }),
        }
    }

    fn resize(&mut self, id: ObjectId, size_bytes: u64) -> Result<(), PoolError> {
        self.must_exist(id)?;
        self.must_be_unlocked(id)?;
        valid_size(size_bytes)?;
        let bad = bad_size(size_bytes);
        if [self.size_after(id), size_bytes].contains(&ADDRESS_SPACE_BYTES) {
            return Err(bad);
        }
        // A volume may end inside a block only if the blocks behind its end were never written.
        let shrinks = self.objects.length(id) > size_bytes;
        if shrinks && !size_bytes.is_multiple_of(BLOCK_BYTES as u64) {
            return Err(bad);
        }
        if !self.resized.insert(id) {
            // The second resize depends on the result of the first, so it could not be planned.
            return Err(bad);
        }
        if self.created.contains(&id) && self.size_after(id) > size_bytes {
            // Removing blocks has to be planned on a map, and this object has none yet.
            return Err(PoolError::ObjectExists(id));
        }
        self.sizes.insert(id, size_bytes);
        Ok(())
    }
}

fn valid_size(size_bytes: u64) -> Result<(), PoolError> {
    match size_bytes > 0 && size_bytes.is_multiple_of(LOGICAL_BLOCK_BYTES) && is_size(size_bytes) {
        true => Ok(()),
        false => Err(bad_size(size_bytes)),
    }
}

fn bad_size(size_bytes: u64) -> PoolError {
    PoolError::BadSize { size_bytes, max_bytes: MAX_VOLUME_BYTES }
}
