//! Check of a whole datastore: reads everything and reports problems. Run it while no host changes
//! the datastore. Operations that hosts have not finished are reported apart from problems. A
//! damaged sector is named, and the check continues with the rest.

mod files;
mod header;

use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::{Allocation, Allocations, File, FileId, Heartbeat, Lock, state};
use crate::geometry::DIRECTORY_LOCK;
use crate::sector::{self, Loaded, Payload};
use data_mover::{Device, DeviceError};
use std::collections::BTreeMap;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files found.
    pub files: u64,
    /// Allocated blocks, including blocks of pointers.
    pub blocks: u64,
    /// Problems, one sentence each.
    pub problems: Vec<String>,
    /// Leftovers of hosts that died or could not finish an operation; the host that takes over
    /// tidies them up. Blocks claimed and not pointed to or behind the end of a disk, files half
    /// created or half deleted, locks.
    pub leftovers: Vec<String>,
}

impl Report {
    fn problem(&mut self, words: impl Into<String>) {
        self.problems.push(words.into());
    }

    fn leftover(&mut self, words: impl Into<String>) {
        self.leftovers.push(words.into());
    }
}

/// Blocks of a file by their number in it. A number has two blocks when a host claimed one and
/// died, and another host claimed a second one.
type Claims = BTreeMap<u32, Vec<u32>>;

/// All sectors of three kinds; `None` for a damaged one.
struct Tables {
    slots: Vec<Option<Loaded<Heartbeat>>>,
    locks: Vec<Option<Loaded<Lock>>>,
    records: Vec<Option<Loaded<File>>>,
}

impl Tables {
    fn record(&self, number: u32) -> Option<&Loaded<File>> {
        self.records.get(number as usize)?.as_ref()
    }

    /// Whether the lock's owner is dead. A damaged heartbeat slot counts as alive, because its
    /// owner is unknown.
    fn is_dead(&self, lock: &Lock) -> bool {
        let Some(owner) = lock.owner() else { return false };
        match self.slots.get(owner.slot as usize) {
            Some(Some(slot)) => slot.value.live == 0 || slot.value.generation.get() != owner.generation,
            Some(None) => false,
            None => true,
        }
    }
}

impl<D: Device> Datastore<D> {
    /// Checks the whole datastore.
    pub async fn check(&self) -> Result<Report, DatastoreError> {
        let mut report = Report::default();
        let geometry = self.store.geometry;
        self.check_headers(&mut report).await?;
        let tables = Tables {
            slots: self.each(geometry.heartbeat(0), geometry.hosts, "heartbeat slot", &mut report).await?,
            locks: self.each(geometry.lock(0), geometry.files, "the lock of record", &mut report).await?,
            records: self.each(geometry.file(0), geometry.files, "record", &mut report).await?,
        };
        let directory = self.each::<Lock>(DIRECTORY_LOCK, 1, "the lock of the directory, number", &mut report).await?;
        if directory.iter().flatten().any(|lock| tables.is_dead(&lock.value)) {
            report.leftover("the lock of the directory belongs to a dead host");
        }
        let mut owned = self.check_allocations(&tables, &mut report).await?;
        self.check_records(&tables, &mut report);
        for record in tables.records.iter().flatten() {
            let file = &record.value;
            if !matches!(file.state, state::LIVE | state::PARTIAL) {
                continue;
            }
            report.files += 1;
            let id = FileId { record: record.number, generation: file.generation.get() };
            self.check_map(id, file, &owned.remove(&id).unwrap_or_default(), &mut report).await?;
        }
        Ok(report)
    }

    /// Decodes sectors one by one. A damaged sector is reported as a problem and becomes `None`;
    /// `what` precedes its number in the report.
    async fn each<T: Payload>(
        &self,
        lba: u64,
        count: u32,
        what: &str,
        report: &mut Report,
    ) -> Result<Vec<Option<Loaded<T>>>, DatastoreError> {
        let mut all = Vec::new();
        for (number, (lba, image)) in (0..).zip(self.store.read_run(lba, count.into()).await?) {
            if self.store.mover.is_interrupted() {
                return Err(DeviceError::Interrupted.into());
            }
            all.push(match sector::decode::<T>(lba, image) {
                Ok(loaded) => Some(Loaded { number, ..loaded }),
                Err(DatastoreError::Damaged { lba, what: why }) => {
                    report.problem(format!("{what} {number}, sector {lba}: {why}"));
                    None
                }
                Err(error) => return Err(error),
            });
        }
        Ok(all)
    }

    /// Collects the blocks of each file.
    async fn check_allocations(
        &self,
        tables: &Tables,
        report: &mut Report,
    ) -> Result<BTreeMap<FileId, Claims>, DatastoreError> {
        let geometry = self.store.geometry;
        let (first, count) = (geometry.allocation(0), geometry.allocation_sectors());
        let sectors = self.each::<Allocations>(first, count, "allocation sector", report).await?;
        let mut owned: BTreeMap<FileId, Claims> = BTreeMap::new();
        let entries = sectors.iter().flat_map(|loaded| match loaded {
            Some(loaded) => loaded.value.entries.map(|entry| Some(entry.get())),
            None => [None; crate::format::ALLOCATIONS],
        });
        for (block, value) in (0..geometry.blocks).zip(entries) {
            let Some(value) = value.filter(|value| *value != 0) else { continue };
            report.blocks += 1;
            let Some(allocation) = Allocation::unpack(value) else {
                report.problem(format!("block {block} is not free, but belongs to no file"));
                continue;
            };
            let missing = tables.records.get(allocation.record as usize).is_none_or(Option::is_some);
            let record = tables.record(allocation.record).filter(|record| record.value.state != state::FREE);
            let id = record.map(|record| FileId { record: record.number, generation: record.value.generation.get() });
            match id.filter(|id| allocation.is_of(*id)) {
                Some(id) => owned.entry(id).or_default().entry(allocation.index).or_default().push(block),
                None if missing => report.problem(format!("block {block} belongs to a missing file")),
                // The record is damaged, and was reported already.
                None => {}
            }
        }
        Ok(owned)
    }
}
