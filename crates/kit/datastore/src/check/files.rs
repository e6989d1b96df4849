//! Checks of the file records against each other, and of the pointers of each file.

use super::{Claims, Report, Tables};
use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::{Allocation, File, FileId, POINTERS, Pointer, Pointers, state};
use crate::geometry::{DIRECT_BLOCKS, DIRECT_SECTORS, ROOT_SECTORS};
use crate::records::DiskFormat;
use crate::sector::{Loaded, SECTOR_BYTES};
use data_mover::Device;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Blocks that a file points to.
#[derive(Default)]
struct Pointed {
    /// Blocks by number in the file, as the allocation table counts it.
    blocks: BTreeMap<u32, u32>,
    /// Numbers whose pointers are unknown because their sectors are damaged.
    unknown: Vec<Range<u32>>,
}

impl Pointed {
    fn is_unknown(&self, index: u32) -> bool {
        self.unknown.iter().any(|range| range.contains(&index))
    }
}

/// Number of the first pointer in a sector of a run.
fn first_of(sector: usize) -> u32 {
    u32::try_from(sector * POINTERS).unwrap_or(u32::MAX)
}

impl<D: Device> Datastore<D> {
    /// Checks names, locks and parents.
    pub(super) fn check_records(&self, tables: &Tables, report: &mut Report) {
        let mut names = BTreeSet::new();
        for record in tables.records.iter().flatten() {
            let file = &record.value;
            let name = file.name();
            if let Some(Some(lock)) = tables.locks.get(record.number as usize)
                && tables.is_dead(&lock.value)
            {
                report.leftover(format!("the lock of record {} belongs to a dead host", record.number));
            }
            match file.state {
                state::FREE => continue,
                state::LIVE | state::PARTIAL => {}
                state::CREATING | state::DELETING => {
                    report.leftover(format!("{name} is half created or half deleted"));
                    continue;
                }
                other => {
                    report.problem(format!("record {}: unknown state {other}", record.number));
                    continue;
                }
            }
            if !names.insert(name.clone()) {
                report.problem(format!("two files have the name {name}"));
            }
            if DiskFormat::unpack(file.format).is_none() {
                report.problem(format!("{name} has the unknown format {}", file.format));
            }
            if !file.size.get().is_multiple_of(SECTOR_BYTES as u64) {
                report.problem(format!("{name} has {} bytes, not a multiple of 512", file.size.get()));
            }
            check_parents(tables, record, &name, report);
        }
    }

    /// Checks the pointers of a file against the allocation table.
    pub(super) async fn check_map(
        &self,
        id: FileId,
        file: &File,
        claimed: &Claims,
        report: &mut Report,
    ) -> Result<(), DatastoreError> {
        let (name, size) = (file.name(), file.size.get());
        let blocks = self.blocks_for(size);
        if self.check_room(size).is_err() {
            report.problem(format!("{name} has {size} bytes, more than a file can have"));
        }
        let pointed = self.pointed(id, &name, claimed, report).await?;
        for (index, block) in &pointed.blocks {
            let own = claimed.get(index).is_some_and(|claims| claims.contains(block));
            match (own, self.is_behind(*index, blocks)) {
                (true, false) => {}
                (true, true) => report.leftover(format!("{name}: block {block} at index {index} is behind the end")),
                (false, behind) => {
                    let behind = if behind { ", behind the end," } else { "" };
                    report.problem(format!("{name}: block {block} at index {index}{behind} is not allocated to it"));
                }
            }
        }
        for (index, claims) in claimed.iter().filter(|(index, _)| !pointed.is_unknown(**index)) {
            for block in claims.iter().filter(|block| pointed.blocks.get(index) != Some(*block)) {
                report.leftover(format!("{name}: block {block} is claimed, but no pointer leads to it"));
            }
        }
        if file.state == state::LIVE && DiskFormat::unpack(file.format) == Some(DiskFormat::EagerZeroedThick) {
            let there = pointed.blocks.range(..blocks.min(Allocation::POINTER_BLOCK)).count() as u64;
            let unknown: u64 = pointed
                .unknown
                .iter()
                .map(|range| u64::from(range.end.min(blocks)) - u64::from(range.start.min(blocks)))
                .sum();
            let holes = u64::from(blocks).saturating_sub(there + unknown);
            if holes > 0 {
                report.problem(format!("{name} is eagerzeroedthick, but {holes} of its blocks are missing"));
            }
        }
        Ok(())
    }

    /// Reads all pointers of a file, including those behind its end.
    async fn pointed(
        &self,
        id: FileId,
        name: &str,
        claimed: &Claims,
        report: &mut Report,
    ) -> Result<Pointed, DatastoreError> {
        let geometry = self.store.geometry;
        let mut pointed = Pointed::default();
        let what = format!("{name}: pointer sector");
        let direct = self.each(geometry.direct(id.record, 0), DIRECT_SECTORS, &what, report).await?;
        self.take(&direct, 0, &mut pointed, report);
        let what = format!("{name}: sector of pointers to pointers");
        let roots = self.each(geometry.roots(id.record, 0), ROOT_SECTORS, &what, report).await?;
        self.take(&roots, Allocation::POINTER_BLOCK, &mut pointed, report);
        for (sector, _) in roots.iter().enumerate().filter(|(_, root)| root.is_none()) {
            let first = |sector| DIRECT_BLOCKS + first_of(sector).saturating_mul(geometry.blocks_in_root());
            pointed.unknown.push(first(sector)..first(sector + 1));
        }
        let blocks: Vec<(u32, u32)> =
            pointed.blocks.range(Allocation::POINTER_BLOCK..).map(|(a, b)| (*a, *b)).collect();
        for (index, block) in blocks {
            let first = DIRECT_BLOCKS + (index - Allocation::POINTER_BLOCK) * geometry.blocks_in_root();
            if !claimed.get(&index).is_some_and(|claims| claims.contains(&block)) {
                // The block is not this file's, so its content says nothing.
                pointed.unknown.push(first..first + geometry.blocks_in_root());
                continue;
            }
            if first >= Allocation::POINTER_BLOCK {
                // Beyond the largest file.
                continue;
            }
            let what = format!("{name}: block of pointers {block}, sector");
            let sectors = self.each(geometry.block_lba(block), geometry.block_sectors, &what, report).await?;
            self.take(&sectors, first, &mut pointed, report);
        }
        Ok(pointed)
    }

    /// Adds the pointers of some sectors; `first` is the number of the first pointer.
    fn take(&self, sectors: &[Option<Loaded<Pointers>>], first: u32, pointed: &mut Pointed, report: &mut Report) {
        for (sector, loaded) in sectors.iter().enumerate() {
            let first = first + first_of(sector);
            let Some(loaded) = loaded else {
                pointed.unknown.push(first..first + first_of(1));
                continue;
            };
            for (index, entry) in (first..).zip(&loaded.value.entries) {
                match Pointer::unpack(entry.get()).block() {
                    Some(block) if block >= self.store.geometry.blocks => {
                        pointed.unknown.push(index..index + 1);
                        let lba = loaded.lba;
                        report
                            .problem(format!("sector {lba}: the pointer at index {index} leads out of the datastore"));
                    }
                    Some(block) => drop(pointed.blocks.insert(index, block)),
                    None => {}
                }
            }
        }
    }
}

/// Checks that the parent of a file exists, is frozen and is not based on the file itself.
fn check_parents(tables: &Tables, record: &Loaded<File>, name: &str, report: &mut Report) {
    let Some(parent) = record.value.parent() else { return };
    match tables.records.get(parent.record as usize) {
        Some(Some(below))
            if below.value.state == state::LIVE
                && below.value.generation.get() == parent.generation
                && below.value.frozen != 0 => {}
        // The record is damaged, and was reported already.
        Some(None) => return,
        _ => return report.problem(format!("{name} is based on a missing disk")),
    }
    // A circle is reported once, for its first record.
    let (mut at, mut seen) = (parent.record, BTreeSet::new());
    while at > record.number && seen.insert(at) {
        let Some(next) = tables.record(at).and_then(|record| record.value.parent()) else { return };
        at = next.record;
    }
    if at == record.number {
        report.problem(format!("{name} is based on itself through {} other disks", seen.len()));
    }
}
