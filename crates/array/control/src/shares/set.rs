//! `share set`: changes of a share, all or none.

use super::create::{check_protocols, check_quota};
use crate::condition::Noun;
use crate::control::Control;
use crate::effect::{Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::record::Document;
use crate::request::Request;
use crate::shares::ShareView;
use crate::shares::error::ShareError;
use crate::shares::record::{CopyPolicy, Protocols, ShareRecord};
use pool::{CatalogChange, ObjectInfo};

/// Changes a share; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct ShareSet {
    /// Name or id.
    pub share: String,
    /// New name, which is also that of the mount point.
    pub name: Option<String>,
    /// Protocols that serve the share.
    pub protocols: Option<Protocols>,
    /// Copy policy, for copies that begin from then on.
    pub copy: Option<CopyPolicy>,
    /// Largest space of the share: stored blocks and what is promised. A multiple of
    /// [`CEILING_UNIT_BYTES`](pool::CEILING_UNIT_BYTES); less than is used refuses growth alone. `Some(None)`: no
    /// quota.
    pub quota_bytes: Option<Option<u64>>,
    /// True to make the filehandles of all clients stale.
    pub new_handles: bool,
}

impl Request for ShareSet {
    type Reply = ShareView;
    const NAME: &'static str = "share-set";

    async fn run(&self, control: &Control) -> Result<ShareView, ControlError> {
        let _changes = control.lock_changes().await;
        let Plan { record, changes, published, .. } = self.plan(control)?;
        if !changes.is_empty() {
            control.commit(changes, vec![record.clone().into()], &published).await?;
        }
        control.show_share(record).await
    }

    fn event(&self, view: &ShareView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.name.as_ref().map(|name| format!("renamed to {name}")));
        changes.extend(self.protocols.map(|protocols| format!("protocols {}", protocols.name())));
        changes.extend(self.copy.map(|policy| format!("copy policy {}", policy.name())));
        changes.extend(self.quota_bytes.map(|quota| match quota {
            Some(bytes) => format!("quota {}", text::size::format(bytes)),
            None => "no quota".to_owned(),
        }));
        changes.extend(self.new_handles.then(|| "new filehandles".to_owned()));
        let message = format!("share {} changed: {}", self.share, changes.join(", "));
        Some(Draft::info("share-changed", &view.record.name, message))
    }
}

impl Rehearsed for ShareSet {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let Plan { before, record, present, .. } = self.plan(control)?;
        let name = &record.name;
        let users = || control.export_users(record.id);
        let mut rehearsal = Rehearsal::default();
        if record.name != before.name {
            let why = format!("it mounts /{name} from then on; a mount of /{} goes on until it ends", before.name);
            rehearsal = rehearsal.breaks_users(users(), &why);
        }
        let (now, then) = (before.protocols, record.protocols);
        if (now.v3 && !then.v3) || (now.v4 && !then.v4) {
            let why = format!("it may use the share by {} alone", record.protocols.name());
            rehearsal = rehearsal.breaks_users(users(), &why);
        }
        if self.new_handles {
            rehearsal = rehearsal.breaks_users(users(), "its open files become stale: it has to mount the share again");
        }
        if let Some(Some(quota)) = self.quota_bytes
            && present.ceiling_bytes != Some(quota)
        {
            let used = present.used_bytes();
            if used >= quota {
                let (used, quota) = (text::size::exact(used), text::size::exact(quota));
                let message =
                    format!("share {name} uses {used} of a quota of {quota}: writes that need space fail at once");
                rehearsal = rehearsal.warns("quota-used-up", message);
            }
        }
        Ok(rehearsal)
    }
}

/// A change that is possible.
struct Plan {
    before: ShareRecord,
    /// The share after the change.
    record: ShareRecord,
    /// Its object before.
    present: ObjectInfo,
    changes: Vec<CatalogChange>,
    published: Vec<Change>,
}

impl ShareSet {
    /// Checks the change, and plans it.
    fn plan(&self, control: &Control) -> Result<Plan, ControlError> {
        let before = control.directory().share(&self.share)?.clone();
        let mut record = before.clone();
        if let Some(name) = self.name.clone().filter(|name| *name != record.name) {
            check_name(Noun::Share, &name)?;
            control.directory().check_name_free(&name)?;
            record.name = name;
        }
        if let Some(protocols) = self.protocols {
            check_protocols(&record.name, protocols)?;
            record.protocols = protocols;
        }
        record.copy = self.copy.unwrap_or(record.copy);
        if self.new_handles {
            let exhausted = || ShareError::NoFurtherHandles { name: record.name.clone() };
            record.epoch = record.epoch.checked_add(1).ok_or_else(exhausted)?;
        }
        let object = record.object;
        let present = control.object(object)?;
        let (mut changes, mut published) = (Vec::new(), Vec::new());
        if record != before {
            changes.push(record.put()?);
            published.push(Change::ShareChanged { object });
        }
        if let Some(ceiling_bytes) = self.quota_bytes.filter(|ceiling| *ceiling != present.ceiling_bytes) {
            ceiling_bytes.map_or(Ok(()), check_quota)?;
            changes.push(CatalogChange::SetCeiling { id: object, ceiling_bytes });
        }
        Ok(Plan { before, record, present, changes, published })
    }
}
