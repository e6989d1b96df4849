//! `share rollback`: a share takes over the content of one of its snapshots.

use crate::condition::Noun;
use crate::control::Control;
use crate::directory::Directory;
use crate::effect::{Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::{Change, ShareRollbackError};
use crate::names::check_name;
use crate::request::Request;
use crate::shares::ShareView;
use crate::shares::error::ShareError;
use crate::shares::record::ShareRecord;
use crate::snapshots::fate_of_content;
use crate::snapshots::record::SnapshotRecord;
use pool::CatalogChange;

/// Rolls a share back to a snapshot. Clients keep their mounts: files that are in the snapshot have
/// its content, and all others are stale.
#[derive(Clone, Debug, Default)]
pub struct ShareRollback {
    /// Name or id of the share.
    pub share: String,
    /// Name of one of its snapshots, or as in `SnapshotShow`.
    pub snapshot: String,
    /// Name of a snapshot to take first of the present content. It stays if the roll-back fails.
    pub keep: Option<String>,
}

impl Request for ShareRollback {
    type Reply = ShareView;
    const NAME: &'static str = "share-rollback";

    /// The file system changes its content in a transaction of its own, so that numbers of files and
    /// change values are not given twice.
    async fn run(&self, control: &Control) -> Result<ShareView, ControlError> {
        let _changes = control.lock_changes().await;
        control.check_expectation()?;
        let Plan { share, snapshot, kept } = self.plan(control)?;
        if let Some((record, changes)) = kept {
            let published = [Change::ShareChanged { object: share.object }];
            control.commit(changes.into(), vec![record.into()], &published).await?;
        }
        match control.live().roll_back_share(share.object, snapshot.object).await {
            Ok(()) => {
                // The record is as it was, but its content is another one: it gets a new tag.
                control.apply(vec![share.clone().into()]);
                control.show_share(share).await
            }
            Err(ShareRollbackError::NotOpen) => Err(ShareError::NotOpen { name: share.name }.into()),
            Err(ShareRollbackError::Quota) => {
                Err(ShareError::QuotaExceeded { needed_bytes: None, available_bytes: None }.into())
            }
            Err(ShareRollbackError::Pool(error)) => Err(control.pool_error(error)),
        }
    }

    fn event(&self, view: &ShareView) -> Option<Draft> {
        let name = &view.record.name;
        let kept = self.keep.as_ref().map(|kept| format!("; its content before is in snapshot {kept}"));
        let message = format!("share {name} rolled back to snapshot {}{}", self.snapshot, kept.unwrap_or_default());
        Some(Draft::info("share-rolled-back", name, message))
    }
}

/// A roll-back that is possible.
struct Plan {
    share: ShareRecord,
    snapshot: SnapshotRecord,
    /// Snapshot of the present content, and the changes that take it.
    kept: Option<(SnapshotRecord, [CatalogChange; 2])>,
}

impl ShareRollback {
    /// Checks the roll-back as far as `control` can, and plans it.
    fn plan(&self, control: &Control) -> Result<Plan, ControlError> {
        let share = control.directory().share(&self.share)?.clone();
        let snapshot = find_snapshot(&control.directory(), &share, &self.snapshot)?;
        let mut kept = None;
        if let Some(name) = self.keep.clone() {
            check_name(Noun::Snapshot, &name)?;
            kept = Some(control.new_snapshot(share.object, share.id, name)?);
        }
        Ok(Plan { share, snapshot, kept })
    }
}

impl Rehearsed for ShareRollback {
    /// Its bytes stay unknown: the file system merges what the snapshot lacks, such as numbers of files, into it.
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let Plan { share, snapshot, kept } = self.plan(control)?;
        let why = "files that the snapshot lacks become stale there";
        let rehearsal = Rehearsal::default().breaks_users(control.export_users(share.id), why);
        let kept = kept.as_ref().map(|(record, _)| record);
        let rehearsal = rehearsal.warns_all([fate_of_content(&share.name, &snapshot, kept)]);
        // The file system alone knows what of the snapshot it keeps; it compares that with the quota as it writes it.
        Ok(match control.object(share.object)?.ceiling_bytes {
            Some(quota) => {
                let quota = text::size::format(quota);
                let message = format!(
                    "the roll-back is refused if the content of the snapshot is more than the quota of {quota} allows; \
                     a dry run cannot say whether it is"
                );
                rehearsal.warns("quota-not-checked", message)
            }
            None => rehearsal,
        })
    }
}

/// Finds a snapshot of the share by its short name, its full name or its id.
fn find_snapshot(directory: &Directory, share: &ShareRecord, name: &str) -> Result<SnapshotRecord, ControlError> {
    let own = directory.snapshot_of(share.id, name);
    let named = || directory.snapshot(name).ok().filter(|snapshot| snapshot.volume == share.id);
    own.or_else(named).cloned().ok_or_else(|| {
        let name = if name.contains('@') { name.to_owned() } else { format!("{}@{name}", share.name) };
        ControlError::NotFound { noun: Noun::Snapshot, name }
    })
}
