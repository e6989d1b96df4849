//! The store of channels, conditions and messages.

use crate::management_store::{ManagementStore, Record, Records, parse};
use notification::{Change, EndedKey};
use redb::TableDefinition;

/// Records by kind and id.
const RECORDS: Records = TableDefinition::new("notification");

/// Open store.
#[derive(Clone)]
pub(super) struct Store(ManagementStore);

impl Store {
    /// Reads the records.
    pub(super) fn open(store: ManagementStore) -> anyhow::Result<(Self, Vec<Change>)> {
        let records = store.read(RECORDS, record)?;
        Ok((Self(store), records))
    }

    /// Stores changes in one transaction. They are durable on return. `replaces`: they are all records.
    pub(super) fn write(&self, changes: &[Change], replaces: bool) -> anyhow::Result<()> {
        let records = changes.iter().map(stored).collect::<anyhow::Result<Vec<Record>>>()?;
        self.0.write(RECORDS, &records, replaces)
    }
}

fn stored(change: &Change) -> anyhow::Result<Record> {
    Ok(match change {
        Change::PutChannel(channel) => (format!("channel/{}", channel.id), Some(serde_json::to_string(channel)?)),
        Change::RemoveChannel(id) => (format!("channel/{id}"), None),
        Change::PutCondition(condition) => {
            (format!("condition/{}", condition.id), Some(serde_json::to_string(condition)?))
        }
        Change::RemoveCondition(id) => (format!("condition/{id}"), None),
        Change::PutEnded(ended) => (key_of_end(ended.key()), Some(serde_json::to_string(ended)?)),
        Change::RemoveEnded(key) => (key_of_end(*key), None),
        Change::PutDelivery(delivery) => {
            (format!("delivery/{}", delivery.id()), Some(serde_json::to_string(delivery)?))
        }
        Change::RemoveDelivery(id) => (format!("delivery/{id}"), None),
    })
}

/// Key of an alert that has ended. Several ends of one alert differ in their times.
fn key_of_end((ended, alert): EndedKey) -> String {
    format!("ended/{:030}/{alert}", ended.as_nanosecond())
}

/// Record of a key.
fn record(key: &str, value: &str) -> anyhow::Result<Change> {
    match key.split('/').next() {
        Some("channel") => Ok(Change::PutChannel(parse(key, value)?)),
        Some("condition") => Ok(Change::PutCondition(parse(key, value)?)),
        Some("ended") => Ok(Change::PutEnded(parse(key, value)?)),
        Some("delivery") => Ok(Change::PutDelivery(parse(key, value)?)),
        _ => anyhow::bail!("the record {key} is of an unknown kind"),
    }
}
