//! Reads everything and says what is wrong. To be run while no host changes the datastore; what hosts are in the middle of is told apart
//! from what is wrong.

use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::{Allocation, FileId, Heartbeat, Lock, Pointer, state};
use crate::map::BlockMap;
use data_mover::{Device, DeviceError};
use std::collections::{BTreeMap, BTreeSet};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that are there.
    pub files: u64,
    /// Blocks that files have, and blocks of pointers.
    pub blocks: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
    /// What dead hosts left, which is tidied up by whoever takes over: blocks claimed and not pointed to, files half made or half deleted, locks.
    pub leftovers: Vec<String>,
}

impl<D: Device> Datastore<D> {
    /// Checks the whole datastore.
    pub async fn check(&self) -> Result<Report, DatastoreError> {
        let mut report = Report::default();
        let geometry = self.store.geometry;
        let slots = self.store.load_run::<Heartbeat>(geometry.heartbeat(0), geometry.hosts.into()).await?;
        let locks = self.store.load_run::<Lock>(geometry.lock(0), geometry.files.into()).await?;
        let records = self.records().await?;
        let mut owned: BTreeMap<FileId, BTreeMap<u32, u32>> = BTreeMap::new();
        let ids: BTreeMap<(u32, u16), FileId> = records
            .iter()
            .filter(|record| record.value.state != state::FREE)
            .map(|record| {
                let id = FileId { record: record.number, generation: record.value.generation.get() };
                ((id.record, (id.generation & 0xffff) as u16), id)
            })
            .collect();
        for (block, allocation) in self.allocations().await? {
            report.blocks += 1;
            match ids.get(&(allocation.record, allocation.generation)) {
                Some(id) => {
                    if owned.entry(*id).or_default().insert(allocation.index, block).is_some() {
                        report.leftovers.push(format!("block {block} is claimed for a place that has another one"));
                    }
                }
                None => report.problems.push(format!("block {block} is of a file that is not there")),
            }
        }
        let mut names = BTreeSet::new();
        for record in &records {
            let file = &record.value;
            let id = FileId { record: record.number, generation: file.generation.get() };
            let name = file.name();
            if let Some(owner) = locks.get(record.number as usize).and_then(|lock| lock.value.owner()) {
                let alive = slots
                    .get(owner.slot as usize)
                    .is_some_and(|slot| slot.value.live != 0 && slot.value.generation.get() == owner.generation);
                if !alive {
                    report.leftovers.push(format!("the lock of record {} is that of a dead host", record.number));
                }
            }
            match file.state {
                state::FREE => continue,
                state::LIVE | state::PARTIAL => {}
                _ => {
                    report.leftovers.push(format!("{name} is half made or half deleted"));
                    continue;
                }
            }
            report.files += 1;
            if !names.insert(name.clone()) {
                report.problems.push(format!("there are two files {name}"));
            }
            if let Some(parent) = file.parent() {
                let below = records.get(parent.record as usize).map(|record| record.value);
                let there = below.is_some_and(|below| {
                    below.state == state::LIVE && below.generation.get() == parent.generation && below.frozen != 0
                });
                if !there {
                    report.problems.push(format!("{name} is based on a disk that is not there"));
                }
            }
            let claimed = owned.remove(&id).unwrap_or_default();
            self.check_map(id, &name, file.size.get(), &claimed, &mut report).await?;
        }
        Ok(report)
    }

    async fn check_map(
        &self,
        id: FileId,
        name: &str,
        size: u64,
        claimed: &BTreeMap<u32, u32>,
        report: &mut Report,
    ) -> Result<(), DatastoreError> {
        let map = BlockMap::new(id);
        let mut pointed = BTreeMap::new();
        if self.check_room(size).is_err() {
            report.problems.push(format!("{name} has {size} bytes, more than a file can have"));
        }
        let most = u32::try_from(self.store.geometry.max_file_blocks()).unwrap_or(u32::MAX);
        for index in 0..self.blocks_for(size).min(most) {
            if self.store.mover.is_interrupted() {
                return Err(DeviceError::Interrupted.into());
            }
            match map.get(self, index).await {
                Ok(Pointer::Hole) => {}
                Ok(Pointer::Data(block) | Pointer::ToBeZeroed(block)) => {
                    pointed.insert(index, block);
                }
                Err(error @ DatastoreError::Damaged { .. }) => report.problems.push(format!("{name}: {error}")),
                Err(error) => return Err(error),
            }
        }
        for root in 0..crate::geometry::ROOTS {
            if let Some(block) = map.root(self, root).await? {
                pointed.insert(Allocation::POINTER_BLOCK + root, block);
            }
        }
        for (index, block) in &pointed {
            if claimed.get(index) != Some(block) {
                report.problems.push(format!("{name}: block {block} at place {index} is not its own"));
            }
        }
        for (index, block) in claimed {
            if !pointed.contains_key(index) {
                report.leftovers.push(format!("{name}: block {block} is claimed and not pointed to"));
            }
        }
        Ok(())
    }
}
