//! The store of users, tokens and sign-ins.

use crate::management_store::{ManagementStore, Record, Records, parse};
use identity::Change;
use redb::TableDefinition;

/// Records by kind and id.
const RECORDS: Records = TableDefinition::new("records");
/// Key of the settings.
const SETTINGS: &str = "settings";

/// Open store.
#[derive(Clone)]
pub(super) struct Store(ManagementStore);

impl Store {
    /// Reads the records.
    pub(super) fn open(store: ManagementStore) -> anyhow::Result<(Self, Vec<Change>)> {
        let records = store.read(RECORDS, record)?;
        Ok((Self(store), records))
    }

    /// Stores changes in one transaction. They are durable on return.
    pub(super) fn write(&self, changes: &[Change]) -> anyhow::Result<()> {
        let records = changes.iter().map(stored).collect::<anyhow::Result<Vec<Record>>>()?;
        self.0.write(RECORDS, &records, false)
    }
}

fn stored(change: &Change) -> anyhow::Result<Record> {
    Ok(match change {
        Change::PutUser(user) => (format!("user/{}", user.id), Some(serde_json::to_string(user)?)),
        Change::RemoveUser(id) => (format!("user/{id}"), None),
        Change::PutToken(token) => (format!("token/{}", token.id), Some(serde_json::to_string(token)?)),
        Change::RemoveToken(id) => (format!("token/{id}"), None),
        Change::PutSignIn(sign_in) => (format!("sign-in/{}", sign_in.id), Some(serde_json::to_string(sign_in)?)),
        Change::RemoveSignIn(id) => (format!("sign-in/{id}"), None),
        Change::PutSettings(settings) => (SETTINGS.to_owned(), Some(serde_json::to_string(settings)?)),
    })
}

/// Record of a key.
fn record(key: &str, value: &str) -> anyhow::Result<Change> {
    match key.split('/').next() {
        Some("user") => Ok(Change::PutUser(parse(key, value)?)),
        Some("token") => Ok(Change::PutToken(parse(key, value)?)),
        Some("sign-in") => Ok(Change::PutSignIn(parse(key, value)?)),
        Some(SETTINGS) => Ok(Change::PutSettings(parse(key, value)?)),
        _ => anyhow::bail!("the record {key} is of an unknown kind"),
    }
}
