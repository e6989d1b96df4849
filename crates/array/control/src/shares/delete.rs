//! `share delete`: deletes a share that no host may use.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::directory::Edit;
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::record::Document;
use crate::request::Request;
use pool::CatalogChange;

/// Deletes a share without export rules. The reply is its name.
#[derive(Clone, Debug, Default)]
pub struct ShareDelete {
    /// Name or id.
    pub share: String,
}

impl Request for ShareDelete {
    type Reply = String;
    const NAME: &'static str = "share-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = control.directory().share(&self.share)?.clone();
        let users: Vec<User> = {
            let directory = control.directory();
            let exports = directory.exports_by_share(record.id);
            let user = |export: &crate::exports::record::ExportRecord| User {
                kind: UserKind::Access,
                description: directory.export_grantee(export.to).to_string(),
            };
            exports.map(user).collect()
        };
        if !users.is_empty() {
            return Err(ControlError::InUse { noun: Noun::Share, name: record.name, users });
        }
        let changes = vec![CatalogChange::DeleteObject { id: record.object }, record.delete()];
        let edits = vec![Edit::Share(record.id, None)];
        control.commit(changes, edits, &[Change::ShareRemoved { object: record.object }]).await?;
        Ok(record.name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        Some(Draft::info("share-deleted", name, format!("share {name} deleted")))
    }
}
