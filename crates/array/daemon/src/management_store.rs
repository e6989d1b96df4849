//! The file `STATE_DIR/management.redb`: records of the management plane as JSON, by kind and id. Each part of the
//! management plane has a table of its own in it.

use anyhow::Context;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::Arc;

/// Name of the file, in the state directory.
pub(crate) const FILE_NAME: &str = "management.redb";

/// Records as JSON, by kind and id.
pub(crate) type Records = TableDefinition<'static, &'static str, &'static str>;

/// A record: its key, and its JSON as it is to be; absent: it is removed.
pub(crate) type Record = (String, Option<String>);

/// Open file.
#[derive(Clone)]
pub(crate) struct ManagementStore(Arc<Database>);

impl ManagementStore {
    /// Opens or creates the file.
    pub(crate) fn open(state_dir: &Path) -> anyhow::Result<Self> {
        let path = state_dir.join(FILE_NAME);
        let database = Database::create(&path).with_context(|| format!("cannot use {}", path.display()))?;
        Ok(Self(Arc::new(database)))
    }

    /// Reads all records of a table, in the order of their keys. Creates a table that an earlier release did not have.
    pub(crate) fn read<T>(
        &self,
        table: Records,
        read: impl Fn(&str, &str) -> anyhow::Result<T>,
    ) -> anyhow::Result<Vec<T>> {
        let load = || -> anyhow::Result<Vec<T>> {
            let transaction = self.0.begin_write()?;
            drop(transaction.open_table(table)?);
            transaction.commit()?;
            let table = self.0.begin_read()?.open_table(table)?;
            let mut records = Vec::new();
            for entry in table.iter()? {
                let (key, value) = entry?;
                records.push(read(key.value(), value.value())?);
            }
            Ok(records)
        };
        load().with_context(|| format!("cannot use {FILE_NAME} in the state directory"))
    }

    /// Stores records in one transaction. They are durable on return. `replaces`: they are all that the table has then.
    pub(crate) fn write(&self, table: Records, records: &[Record], replaces: bool) -> anyhow::Result<()> {
        let transaction = self.0.begin_write()?;
        let mut open = transaction.open_table(table)?;
        if replaces {
            open.retain(|_, _| false)?;
        }
        for (key, value) in records {
            match value {
                Some(value) => drop(open.insert(key.as_str(), value.as_str())?),
                None => drop(open.remove(key.as_str())?),
            }
        }
        drop(open);
        Ok(transaction.commit()?)
    }
}

/// Reads the value of a record.
pub(crate) fn parse<T: DeserializeOwned>(key: &str, value: &str) -> anyhow::Result<T> {
    serde_json::from_str(value).with_context(|| format!("the record {key} cannot be read"))
}
