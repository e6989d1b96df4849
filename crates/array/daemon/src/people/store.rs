//! The store of users, tokens and sign-ins: `STATE_DIR/management.redb`.

use anyhow::Context;
use identity::Change;
use redb::{Database, ReadableDatabase, ReadableTable, Table, TableDefinition};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::Arc;

/// Name of the file, in the state directory.
pub(super) const FILE_NAME: &str = "management.redb";
/// Records as JSON, by kind and id.
const RECORDS: TableDefinition<'_, &str, &str> = TableDefinition::new("records");
/// Key of the settings.
const SETTINGS: &str = "settings";

/// Open store.
#[derive(Clone)]
pub(super) struct Store(Arc<Database>);

impl Store {
    /// Opens or creates the file, and returns its records.
    pub(super) fn open(state_dir: &Path) -> anyhow::Result<(Self, Vec<Change>)> {
        let path = state_dir.join(FILE_NAME);
        let open = || -> anyhow::Result<(Self, Vec<Change>)> {
            let database = Database::create(&path)?;
            let transaction = database.begin_write()?;
            drop(transaction.open_table(RECORDS)?);
            transaction.commit()?;
            let table = database.begin_read()?.open_table(RECORDS)?;
            let mut records = Vec::new();
            for entry in table.iter()? {
                let (key, value) = entry?;
                records.push(record(key.value(), value.value())?);
            }
            Ok((Self(Arc::new(database)), records))
        };
        open().with_context(|| format!("cannot use {}", path.display()))
    }

    /// Stores changes in one transaction. They are durable on return.
    pub(super) fn write(&self, changes: &[Change]) -> anyhow::Result<()> {
        let transaction = self.0.begin_write()?;
        let mut table = transaction.open_table(RECORDS)?;
        changes.iter().try_for_each(|change| put(&mut table, change))?;
        drop(table);
        Ok(transaction.commit()?)
    }
}

fn put(table: &mut Table<'_, &str, &str>, change: &Change) -> anyhow::Result<()> {
    let (key, value) = match change {
        Change::PutUser(user) => (format!("user/{}", user.id), Some(serde_json::to_string(user)?)),
        Change::RemoveUser(id) => (format!("user/{id}"), None),
        Change::PutToken(token) => (format!("token/{}", token.id), Some(serde_json::to_string(token)?)),
        Change::RemoveToken(id) => (format!("token/{id}"), None),
        Change::PutSignIn(sign_in) => (format!("sign-in/{}", sign_in.id), Some(serde_json::to_string(sign_in)?)),
        Change::RemoveSignIn(id) => (format!("sign-in/{id}"), None),
        Change::PutSettings(settings) => (SETTINGS.to_owned(), Some(serde_json::to_string(settings)?)),
    };
    match value {
        Some(value) => drop(table.insert(key.as_str(), value.as_str())?),
        None => drop(table.remove(key.as_str())?),
    }
    Ok(())
}

/// Record of a key.
fn record(key: &str, value: &str) -> anyhow::Result<Change> {
    fn parse<T: DeserializeOwned>(key: &str, value: &str) -> anyhow::Result<T> {
        serde_json::from_str(value).with_context(|| format!("the record {key} cannot be read"))
    }
    match key.split('/').next() {
        Some("user") => Ok(Change::PutUser(parse(key, value)?)),
        Some("token") => Ok(Change::PutToken(parse(key, value)?)),
        Some("sign-in") => Ok(Change::PutSignIn(parse(key, value)?)),
        Some(SETTINGS) => Ok(Change::PutSettings(parse(key, value)?)),
        _ => anyhow::bail!("the record {key} is of an unknown kind"),
    }
}
