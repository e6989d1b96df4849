//! One host: checks the results of its former lives, and then runs random operations until it is
//! interrupted or killed.

use super::journal::{Entry, Journal, Operation};
use super::model::{Model, offset, sector};
use crate::error::DiskError;
use crate::kit::Kit;
use bytes::Bytes;
use data_mover::{Device, DeviceError};
use datastore::{Datastore, DatastoreError, DiskFormat, DiskOptions, FileInfo};
use initiator::url::Url;
use random::Random;
use random::sector::Content;
use serde_json::{Value, json};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Exit status of a host that had to stop because it could not renew its heartbeat, or lost the
/// array. It counts as dead, not as an error.
pub const EVICTED: u8 = 75;
/// Time for which a command of a killed host may still be in flight.
const IN_FLIGHT: Duration = Duration::from_secs(4);

/// Runs until [`data_mover::DataMover::interrupt`]. Returns words, JSON and the exit status.
pub async fn host(
    kit: &Kit,
    url: &Url,
    name: &str,
    journal: &Path,
    seed: u64,
) -> Result<(String, Value, u8), DiskError> {
    let (mut journal, entries) = Journal::open(journal)?;
    let mut model = Model::replay(&entries);
    let store = kit.datastore(url).await?;
    let lived = live(&store, name, &mut journal, &mut model, seed).await;
    let operations: u64 = model.operations.values().sum();
    let words = |end: &str| format!("{name}: life {}, {operations} operations so far, {end}", model.lives);
    match lived {
        Ok(()) => Ok((words("stopped"), json!({ "operations": operations }), 0)),
        Err(StormError::Wrong(error)) => Err(error),
        Err(StormError::Gone(error)) => Ok((
            words(&format!("considered dead: {error}")),
            json!({ "operations": operations, "error": error.to_string() }),
            EVICTED,
        )),
    }
}

/// Reason why a life ended by itself.
#[derive(Debug)]
pub(super) enum StormError {
    /// The datastore is not in the expected state.
    Wrong(DiskError),
    /// The host lost its heartbeat or its array; its next life determines the result of the last
    /// operation.
    Gone(DatastoreError),
}

impl From<DiskError> for StormError {
    fn from(error: DiskError) -> Self {
        Self::Wrong(error)
    }
}

impl From<DatastoreError> for StormError {
    fn from(error: DatastoreError) -> Self {
        match error {
            DatastoreError::Evicted
            | DatastoreError::LeaseExpired(_)
            | DatastoreError::Reserved
            | DatastoreError::Device(
                DeviceError::Lost(_)
                | DeviceError::TimedOut(_)
                | DeviceError::Interrupted
                | DeviceError::ReservationConflict,
            ) => Self::Gone(error),
            error => Self::Wrong(DiskError::Wrong(error.to_string())),
        }
    }
}

pub(super) async fn live<D: Device>(
    store: &Rc<Datastore<D>>,
    name: &str,
    journal: &mut Journal,
    model: &mut Model,
    seed: u64,
) -> Result<(), StormError> {
    let mut note = |model: &mut Model, entry: Entry| {
        journal.write(&entry)?;
        model.enter(&entry);
        Ok::<_, DiskError>(())
    };
    note(model, Entry::Life)?;
    let stopped = || store.mover().is_interrupted();
    let random = Random::new(seed ^ model.lives << 32);
    if model.lives > 1 {
        store.mover().clock().sleep(IN_FLIGHT).await;
        if let Some(pending) = model.pending.clone() {
            let found = resolve(store, model, &pending).await?;
            note(model, found)?;
        }
        for (name, disk) in model.disks.iter().filter(|(name, _)| !model.is_mixture(name)) {
            if stopped() {
                return Ok(());
            }
            compare(store, name, disk).await?;
        }
    }
    while !stopped() {
        let operation = model.choose(name, &random);
        note(model, Entry::Begin(operation.clone()))?;
        match execute(store, &operation).await {
            Ok(()) => note(model, Entry::Done)?,
            Err(error) if is_refusal(&operation, &error) => note(model, Entry::Undone)?,
            // The journal stays as it is: the next life, or the verdict, determines the result.
            Err(DatastoreError::Device(DeviceError::Interrupted)) => return Ok(()),
            Err(error) => {
                let error = StormError::from(error);
                return Err(match error {
                    StormError::Wrong(error) => StormError::Wrong(DiskError::Wrong(format!("{operation:?}: {error}"))),
                    gone => gone,
                });
            }
        }
    }
    Ok(())
}

/// Whether an operation was refused before it took effect, because of other hosts' operations.
fn is_refusal(operation: &Operation, error: &DatastoreError) -> bool {
    match error {
        DatastoreError::Locked { .. } => true,
        DatastoreError::Exists(_) | DatastoreError::NoSuchFile(_) => matches!(operation, Operation::Move { .. }),
        _ => false,
    }
}

/// Determines the result of an operation that had no recorded end.
pub(super) async fn resolve<D: Device>(
    store: &Rc<Datastore<D>>,
    model: &Model,
    operation: &Operation,
) -> Result<Entry, StormError> {
    if operation.is_shared() {
        return Ok(Entry::Unknown);
    }
    let files = store.list().await?;
    let there = |name: &str| files.iter().any(|file| file.name == name);
    let size = |name: &str| files.iter().find(|file: &&FileInfo| file.name == name).map(|file| file.size);
    let between = |what: String| {
        StormError::Wrong(DiskError::Wrong(format!("{operation:?} is neither complete nor without effect: {what}")))
    };
    let done = match operation {
        Operation::Touch { .. } | Operation::Add { .. } | Operation::Move { .. } => return Ok(Entry::Unknown),
        Operation::Create { disk: name, .. }
        | Operation::Snapshot { name, .. }
        | Operation::LinkedClone { name, .. } => there(name),
        Operation::Delete { disk } | Operation::Commit { disk } => !there(disk),
        Operation::Rename { from, to } => match (there(from), there(to)) {
            (true, false) => false,
            (false, true) => true,
            found => return Err(between(format!("{found:?}"))),
        },
        Operation::Grow { disk, size: new } => {
            let old = model.disks.get(disk).map(|disk| disk.size);
            match size(disk) {
                Some(found) if found == *new => true,
                found if found == old => false,
                found => return Err(between(format!("{found:?} bytes"))),
            }
        }
        Operation::Write { disk, slot, stamp } => {
            let old = model.disks.get(disk).and_then(|disk| disk.stamps.get(slot)).copied().unwrap_or(0);
            let open = store.open(disk).await?;
            let found = open.read(offset(*slot), 512).await;
            open.close().await?;
            let found = found?;
            match found {
                found if found == sector(*slot, *stamp) => true,
                found if found == sector(*slot, old) => false,
                _ => return Err(between(format!("slot {slot} holds other data"))),
            }
        }
    };
    Ok(if done { Entry::Done } else { Entry::Undone })
}

/// Errors unless a disk matches the journal.
pub(super) async fn compare<D: Device>(
    store: &Rc<Datastore<D>>,
    name: &str,
    disk: &super::model::Disk,
) -> Result<(), StormError> {
    let wrong = |what: String| Err(StormError::Wrong(DiskError::Wrong(format!("{name}: {what}"))));
    let open = match store.open_read(name).await {
        Ok(open) => open,
        Err(DatastoreError::NoSuchFile(_)) => return wrong("acknowledged, but missing".into()),
        Err(error) => return Err(error.into()),
    };
    let mut bad = None;
    if open.size() != disk.size {
        bad = Some(format!("{} bytes, not {}", open.size(), disk.size));
    }
    for slot in 0..disk.slots() {
        if bad.is_some() {
            break;
        }
        let stamp = disk.stamps.get(&slot).copied().unwrap_or(0);
        match open.read(offset(slot), 512).await {
            Ok(found) if found == sector(slot, stamp) => {}
            Ok(found) => {
                let found = Content::of(&found);
                bad = Some(format!("slot {slot} does not hold the acknowledged {stamp}: found {found}"));
            }
            Err(error) => {
                open.close().await?;
                return Err(error.into());
            }
        }
    }
    open.close().await?;
    bad.map_or(Ok(()), wrong)
}

fn format(name: &str) -> DiskFormat {
    match name {
        "thin" => DiskFormat::Thin,
        "eagerzeroedthick" => DiskFormat::EagerZeroedThick,
        _ => DiskFormat::ZeroedThick,
    }
}

async fn execute<D: Device>(store: &Rc<Datastore<D>>, operation: &Operation) -> Result<(), DatastoreError> {
    match operation {
        Operation::Touch { file } => store.touch(file).await,
        Operation::Add { disk } => {
            let open = store.open(disk).await?;
            let added = async {
                let old = open.read(0, 512).await?;
                let number = old.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
                let mut new = old.to_vec();
                for (to, from) in new.iter_mut().zip((number + 1).to_le_bytes()) {
                    *to = from;
                }
                open.write(0, Bytes::from(new)).await
            };
            let added = added.await;
            let closed = open.close().await;
            added.and(closed)
        }
        Operation::Move { from, to } | Operation::Rename { from, to } => store.rename(from, to).await,
        Operation::Create { disk, format: name, size } => {
            store.create_disk(disk, DiskOptions { format: format(name), size: *size }, &|_| ()).await
        }
        Operation::Grow { disk, size } => {
            let open = store.open(disk).await?;
            let grown = open.grow(*size, &|_| ()).await;
            let closed = open.close().await;
            grown.and(closed)
        }
        Operation::Write { disk, slot, stamp } => {
            let open = store.open(disk).await?;
            let written = open.write(offset(*slot), Bytes::from(sector(*slot, *stamp))).await;
            let closed = open.close().await;
            written.and(closed)
        }
        Operation::Delete { disk } => store.delete(disk).await,
        Operation::Snapshot { disk, name } => match store.open(disk).await?.snapshot(name).await {
            Ok(top) => top.close().await,
            Err((open, error)) => {
                open.close().await?;
                Err(error)
            }
        },
        Operation::LinkedClone { base, name } => store.create_linked_clone(base, name).await,
        Operation::Commit { disk } => match store.open(disk).await?.commit(&|_| ()).await {
            Ok(base) => base.close().await,
            Err((open, error)) => {
                open.close().await?;
                Err(error)
            }
        },
    }
}
