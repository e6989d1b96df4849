//! What deleting several volumes, shares, snapshots and objects in the trash together would free: more than the sum
//! of each alone where they share blocks with each other, and never what others share with them.

use crate::condition::Noun;
use crate::control::Control;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::pools::unique::Patience;
use crate::request::Request;
use pool::ObjectId;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Largest number of objects in a request.
const MAX_OBJECTS: usize = 256;
/// Largest number of sets whose counts are kept: those that take longer than a request waits go on with the next one.
const MAX_KEPT: usize = 8;

/// Counts the bytes that deleting volumes, shares, snapshots and objects in the trash together would free. Changes
/// nothing.
#[derive(Clone, Debug)]
pub struct SpaceWhatIf {
    /// Names or ids, 1 to 256; a repeated one counts once. An object in the trash is named by its id, and goes with
    /// its snapshots there.
    pub delete: Vec<String>,
    /// True if volumes and shares go with their snapshots.
    pub with_snapshots: bool,
}

/// What deleting would free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIfView {
    /// Bytes of all together; absent while they are being counted.
    pub freed_bytes: Option<u64>,
    /// Each alone, in the order of the request; absent bytes are being counted.
    pub each: Vec<(Uuid, String, Option<u64>)>,
}

impl Request for SpaceWhatIf {
    type Reply = WhatIfView;
    const NAME: &'static str = "space-what-if";

    async fn run(&self, control: &Control) -> Result<WhatIfView, ControlError> {
        if self.delete.is_empty() || self.delete.len() > MAX_OBJECTS {
            return Err(ControlError::InvalidQuery(format!("a request names 1 to {MAX_OBJECTS} objects")));
        }
        let found: Vec<Freed> =
            control.see(|facts| self.delete.iter().map(|name| self.find(facts, name)).collect::<Result<_, _>>())?;
        let objects: BTreeSet<ObjectId> = found.iter().flat_map(|freed| freed.objects.iter().copied()).collect();
        let objects: Vec<ObjectId> = objects.into_iter().collect();
        let mut patience = control.patience();
        let freed_bytes = control.freed_by(&objects, &mut patience).await?;
        let mut each = Vec::with_capacity(found.len());
        let mut named = BTreeSet::new();
        for Freed { id, name, objects } in found {
            if named.insert(id) {
                control.count(&objects, &mut patience).await;
                each.push((id, name, control.last_count(&objects)));
            }
        }
        Ok(WhatIfView { freed_bytes, each })
    }
}

impl Control {
    /// Counts the bytes that become free when these objects are deleted together; absent while they are being
    /// counted. `objects`: sorted, each once.
    pub(crate) async fn freed_by(
        &self,
        objects: &[ObjectId],
        patience: &mut Patience,
    ) -> Result<Option<u64>, ControlError> {
        let (counts, one) = (&self.pool().what_if, &self.pool().unique);
        let counted = match objects {
            [] => return Ok(Some(0)),
            [object] => {
                self.count(&[*object], patience).await;
                Ok(self.last_count(&[*object]))
            }
            several => counts.of(self.catalog(), &**self.environment(), several, patience).await,
        };
        if counts.len() > MAX_KEPT {
            counts.retain(|kept| kept == objects);
        }
        let bytes = counted.map_err(|error| self.pool_error(error))?;
        // An earlier count is that of another content.
        Ok(bytes.filter(|_| !one.is_running(objects) && !counts.is_running(objects)))
    }

    /// Number of sets whose counts are kept.
    #[cfg(test)]
    pub(crate) fn kept_what_ifs(&self) -> usize {
        self.pool().what_if.len()
    }
}

/// What deleting one name deletes.
struct Freed {
    id: Uuid,
    name: String,
    /// Sorted by id.
    objects: Vec<ObjectId>,
}

impl SpaceWhatIf {
    /// Finds a volume, share, snapshot, or an object in the trash.
    fn find(&self, facts: &dyn Facts, name: &str) -> Result<Freed, ControlError> {
        let directory = facts.directory();
        let content = |object, id| match self.with_snapshots {
            true => facts.content_objects(object, id),
            false => vec![object],
        };
        if let Ok(volume) = directory.volume(name) {
            let objects = content(volume.object, volume.id);
            return Ok(Freed { id: volume.id, name: volume.name.clone(), objects });
        }
        if let Ok(share) = directory.share(name) {
            return Ok(Freed { id: share.id, name: share.name.clone(), objects: content(share.object, share.id) });
        }
        if let Some(item) = Uuid::try_parse(name).ok().and_then(|id| directory.trash_by_id(id)) {
            let objects = facts.trash_objects_of(item);
            return Ok(Freed { id: item.what.id(), name: directory.trash_name(&item.what), objects });
        }
        let missing = |error| match error {
            ControlError::NotFound { .. } if !name.contains('@') => {
                ControlError::NotFound { noun: Noun::Volume, name: name.to_owned() }
            }
            other => other,
        };
        let snapshot = directory.snapshot(name).map_err(missing)?;
        Ok(Freed { id: snapshot.id, name: directory.full_name(snapshot), objects: vec![snapshot.object] })
    }
}
