//! `share clone`: a new share with the content of another one, or of a snapshot of one.

use super::create::FIRST_EPOCH;
use crate::condition::Noun;
use crate::control::Control;
use crate::difference::Difference;
use crate::directory::Directory;
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::record::Document;
use crate::request::Request;
use crate::shares::ShareView;
use crate::shares::error::ShareError;
use crate::shares::record::ShareRecord;
use crate::volumes::record::SourceRecord;
use pool::{CatalogChange, ObjectId, ObjectKind};

/// Clones a share. The clone shares all blocks with its source, has the protocols and the quota of it,
/// its own filehandles and no export rules. An existing name is refused: the request is for the content of
/// the source at this time.
#[derive(Clone, Debug)]
pub struct ShareClone {
    /// Share by name or id, or snapshot of one as in `SnapshotShow`.
    pub source: String,
    /// Name, unique among shares and volumes.
    pub name: String,
}

/// Source of a clone.
struct Source {
    record: SourceRecord,
    object: ObjectId,
    /// The share, or that of the snapshot.
    share: ShareRecord,
}

impl Request for ShareClone {
    type Reply = ShareView;
    const NAME: &'static str = "share-clone";

    async fn run(&self, control: &Control) -> Result<ShareView, ControlError> {
        check_name(Noun::Share, &self.name)?;
        let _changes = control.lock_changes().await;
        let source = find_source(&control.directory(), &self.source)?;
        let existing = control.directory().share(&self.name).ok().map(|existing| existing.created);
        if let Some(created) = existing {
            let (name, difference) = (self.name.clone(), Some(Difference::Created(created)));
            return Err(ControlError::Exists { noun: Noun::Share, name, difference });
        }
        control.directory().check_name_free(&self.name)?;
        let object = control.catalog().new_object_id();
        let record = ShareRecord {
            id: new_id(&**control.environment()),
            object,
            name: self.name.clone(),
            fsid: control.new_fsid(),
            epoch: FIRST_EPOCH,
            created: control.environment().now(),
            source: Some(source.record),
            ..source.share.clone()
        };
        let clone = CatalogChange::CloneObject { source: source.object, id: object, kind: ObjectKind::Volume };
        let mut changes = vec![clone];
        if let Some(ceiling_bytes) = control.object(source.share.object)?.ceiling_bytes {
            changes.push(CatalogChange::SetCeiling { id: object, ceiling_bytes: Some(ceiling_bytes) });
        }
        changes.push(record.put()?);
        control.commit(changes, vec![record.clone().into()], &[Change::ShareAdded { object }]).await?;
        let mut view = control.show_share(record).await?;
        view.warnings = control.space_warnings();
        Ok(view)
    }

    fn event(&self, _view: &ShareView) -> Option<Draft> {
        let message = format!("share {} created as a clone of {}", self.name, self.source);
        Some(Draft::info("share-created", &self.name, message))
    }
}

/// Finds the source: a share by name or id, else a snapshot of one.
fn find_source(directory: &Directory, name: &str) -> Result<Source, ControlError> {
    if let Ok(share) = directory.share(name) {
        let (record, share) = (SourceRecord::Share(share.id), share.clone());
        return Ok(Source { record, object: share.object, share });
    }
    if directory.volume(name).is_ok() {
        return Err(ShareError::SourceIsVolume { name: name.to_owned() }.into());
    }
    match directory.snapshot(name) {
        Ok(snapshot) => match directory.share_by_id(snapshot.volume) {
            Some(share) => {
                let record = SourceRecord::Snapshot(snapshot.id);
                Ok(Source { record, object: snapshot.object, share: share.clone() })
            }
            None => Err(ShareError::SourceIsVolume { name: directory.full_name(snapshot) }.into()),
        },
        Err(ControlError::NotFound { noun: Noun::Snapshot, name }) if !name.contains('@') => {
            Err(ControlError::NotFound { noun: Noun::Share, name })
        }
        Err(error) => Err(error),
    }
}
