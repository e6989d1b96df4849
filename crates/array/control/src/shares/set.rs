//! `share set`: changes of a share, all or none.

use super::create::check_protocols;
use crate::condition::Noun;
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::record::Document;
use crate::request::Request;
use crate::shares::ShareView;
use crate::shares::error::ShareError;
use crate::shares::record::Protocols;

/// Changes a share; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct ShareSet {
    /// Name or id.
    pub share: String,
    /// New name, which is also that of the mount point.
    pub name: Option<String>,
    /// Protocols that serve the share.
    pub protocols: Option<Protocols>,
    /// True to make the filehandles of all clients stale.
    pub new_handles: bool,
}

impl Request for ShareSet {
    type Reply = ShareView;
    const NAME: &'static str = "share-set";

    async fn run(&self, control: &Control) -> Result<ShareView, ControlError> {
        let _changes = control.lock_changes().await;
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
        if self.new_handles {
            let exhausted = || ShareError::NoFurtherHandles { name: record.name.clone() };
            record.epoch = record.epoch.checked_add(1).ok_or_else(exhausted)?;
        }
        if record != before {
            let published = [Change::ShareChanged { object: record.object }];
            control.commit(vec![record.put()?], vec![record.clone().into()], &published).await?;
        }
        control.show_share(record).await
    }

    fn event(&self, view: &ShareView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.name.as_ref().map(|name| format!("renamed to {name}")));
        changes.extend(self.protocols.map(|protocols| format!("protocols {}", protocols.name())));
        changes.extend(self.new_handles.then(|| "new filehandles".to_owned()));
        let message = format!("share {} changed: {}", self.share, changes.join(", "));
        Some(Draft::info("share-changed", &view.record.name, message))
    }
}
