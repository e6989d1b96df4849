//! What deleting several volumes, shares and snapshots together would free: more than the sum of each alone where
//! they share blocks with each other, and never what others share with them.

use crate::condition::Noun;
use crate::control::Control;
use crate::directory::Directory;
use crate::error::ControlError;
use crate::pools::unique::Patience;
use crate::request::Request;
use pool::ObjectId;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Largest number of objects in a request.
const MAX_OBJECTS: usize = 256;
/// Largest number of sets whose counts are kept: those that take longer than a request waits go on with the next one.
const MAX_KEPT: usize = 8;

/// Counts the bytes that deleting volumes, shares and snapshots together would free. Changes nothing.
#[derive(Clone, Debug)]
pub struct SpaceWhatIf {
    /// Names or ids, 1 to 256; a repeated one counts once.
    pub delete: Vec<String>,
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
        let found: Vec<(ObjectId, Uuid, String)> = {
            let directory = control.directory();
            self.delete.iter().map(|name| find(&directory, name)).collect::<Result<_, _>>()?
        };
        let objects: Vec<ObjectId> =
            found.iter().map(|(object, _, _)| *object).collect::<BTreeSet<_>>().into_iter().collect();
        let mut patience = control.patience();
        let freed_bytes = control.freed_by(&objects, &mut patience).await?;
        let mut each = Vec::with_capacity(found.len());
        let mut named = BTreeSet::new();
        for (object, id, name) in found {
            if named.insert(object) {
                control.count(&[object], &mut patience).await;
                each.push((id, name, control.last_count(&[object])));
            }
        }
        Ok(WhatIfView { freed_bytes, each })
    }
}

impl Control {
    /// Counts the bytes that become free when these objects are deleted together; absent while they are being counted.
    /// `objects`: sorted, each once.
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

/// Object, id and name of a volume, share or snapshot.
fn find(directory: &Directory, name: &str) -> Result<(ObjectId, Uuid, String), ControlError> {
    if let Ok(volume) = directory.volume(name) {
        return Ok((volume.object, volume.id, volume.name.clone()));
    }
    if let Ok(share) = directory.share(name) {
        return Ok((share.object, share.id, share.name.clone()));
    }
    let missing = |error| match error {
        ControlError::NotFound { .. } if !name.contains('@') => {
            ControlError::NotFound { noun: Noun::Volume, name: name.to_owned() }
        }
        other => other,
    };
    let snapshot = directory.snapshot(name).map_err(missing)?;
    Ok((snapshot.object, snapshot.id, name.to_owned()))
}
