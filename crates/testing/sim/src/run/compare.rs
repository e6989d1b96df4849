//! Comparison of engine and model: the pool's check, space, documents, and the content of objects.

use super::{PATIENCE, Run, words};
use crate::model::{BLOCK_SECTORS, CHUNK_SECTORS, Model, bytes_of, first_difference};
use media::Disk;
use pool::{Failure, Incident, ObjectId, ObjectKind, Operation, Output};
use random::{Random, combine};
use std::collections::BTreeSet;

/// Sectors per read when content is compared.
const COMPARED_SECTORS: u64 = 1024;

impl Run {
    /// Compares engine and model: everything if `full`, otherwise changes and a sample of the rest.
    pub(crate) fn compare(&mut self, full: bool, number: u64) -> Result<(), String> {
        if self.troubled {
            self.disk.clear_faults();
        }
        self.check(full)?;
        let ids: Vec<_> = self.model.objects.keys().copied().map(ObjectId).collect();
        if ids != self.core.object_ids() {
            return Err(format!("objects: recovered {:?}, expected {ids:?}", self.core.object_ids()));
        }
        let new = self.core.new_object_id();
        if ids.last().is_some_and(|last| new <= *last) {
            return Err(format!("object id {new} is offered although {ids:?} exist"));
        }
        self.see_incidents();
        self.compare_space()?;
        let documents: Vec<_> = self.core.documents().iter().map(|(key, value)| (key.as_str(), &value[..])).collect();
        let expected: Vec<_> = self.model.documents.iter().map(|(key, value)| (key.as_str(), &value[..])).collect();
        if documents != expected {
            return Err("the documents are not what they were".into());
        }
        let random = Random::new(combine(self.world.seed, number) ^ 0x0063_6865_636b);
        for id in ids {
            self.compare_properties(id.0)?;
            self.compare_allotments(id.0)?;
            self.compare_content(id.0, full, &random)?;
        }
        self.touched.clear();
        self.touched_objects.clear();
        Ok(())
    }

    /// Runs the pool's own check, which must be clean unless something was damaged.
    fn check(&mut self, full: bool) -> Result<(), String> {
        match self.core.check(full, &mut |_| {}) {
            Ok(report) if report.is_clean() || self.damaged => Ok(()),
            Ok(report) => {
                let findings: Vec<_> = report.findings.iter().take(6).cloned().collect();
                Err(format!("check: {} findings: {}", report.count, findings.join("; ")))
            }
            Err(_) if self.damaged => Ok(()),
            Err(error) => Err(format!("check: {error}")),
        }
    }

    /// Takes the pool's incidents; true if it gave up metadata.
    pub(super) fn see_incidents(&mut self) -> bool {
        let mut gave_up = false;
        for incident in self.core.take_incidents() {
            if let Incident::Metadata(reason) = incident {
                gave_up = true;
                self.counts_lost |= self.damaged && reason.starts_with("reference counts of segment");
            }
        }
        gave_up
    }

    fn compare_space(&self) -> Result<(), String> {
        let space = self.core.space();
        // Only the root records a growth, and a flush without effect may lose it; later
        // reservations may have been made from it.
        let growth_lost = space.size_bytes < self.grown_bytes;
        if space.used_bytes + space.free_bytes != space.size_bytes
            || (self.core.overdrawn_blocks() > 0 && !growth_lost && !self.counts_lost)
            || (growth_lost && !self.damaged)
        {
            return Err(format!(
                "the space does not add up, {} blocks overdrawn: {space:?}",
                self.core.overdrawn_blocks()
            ));
        }
        Ok(())
    }

    fn compare_properties(&self, id: u64) -> Result<(), String> {
        let Some(info) = self.core.object(ObjectId(id)) else { return Err(format!("object {id} vanished")) };
        let Some(object) = self.model.objects.get(&id) else { return Ok(()) };
        // Counts below a damaged page are not compared, because changes there are skipped.
        let counted = !self.model.stores_zeros && !self.damaged;
        let mapped = if counted { info.mapped_bytes / 4096 } else { object.mapped };
        let size = info.size_bytes / 512;
        let parent = info.parent.map_or(0, |parent| parent.0);
        let snapshot = info.kind != ObjectKind::Volume;
        let reserved = info.reservation.map(|reservation| reservation.overwrite_percent);
        let ceiling = info.ceiling_bytes.map(|bytes| bytes / 4096);
        let locked = info.locked_until.map(pool::Hour::get);
        let found = (size, mapped, info.write_cache, snapshot, parent, (reserved, ceiling, locked, info.is_replica));
        let expected = (
            object.sectors,
            object.mapped,
            object.write_cache,
            object.snapshot,
            object.parent,
            (object.reserved, object.ceiling, object.locked, object.replica),
        );
        if found != expected {
            return Err(format!(
                "object {id}: (sectors, mapped blocks, write cache, snapshot, parent, (reserved, ceiling in blocks, hour of the lock, replica)) are {found:?}, expected {expected:?}"
            ));
        }
        Ok(())
    }

    fn compare_content(&mut self, id: u64, full: bool, random: &Random) -> Result<(), String> {
        let Some(object) = self.model.objects.get(&id) else { return Ok(()) };
        let whole = full || self.touched_objects.contains(&id);
        let mut chunks: BTreeSet<u64> = object.chunks().filter(|_| whole || random.below(8) == 0).collect();
        chunks.extend(self.touched.range((id, 0)..(id + 1, 0)).map(|(_, index)| *index));
        let sectors = object.sectors;
        let mut at = None::<(u64, u64)>;
        for index in chunks {
            let start = index * CHUNK_SECTORS;
            let end = (start + CHUNK_SECTORS).min(sectors);
            at = match at {
                Some((from, to)) if to == start && end - from <= COMPARED_SECTORS => Some((from, end)),
                Some((from, to)) => {
                    self.compare_range(id, from, to)?;
                    Some((start, end))
                }
                None => Some((start, end)),
            };
        }
        match at {
            Some((from, to)) => self.compare_range(id, from, to),
            None => Ok(()),
        }
    }

    fn compare_range(&mut self, object: u64, from: u64, to: u64) -> Result<(), String> {
        if from >= to {
            return Ok(());
        }
        let result = self.now(Operation::Read {
            object: ObjectId(object),
            offset: from * 512,
            length: (to - from) as usize * 512,
        })?;
        match result {
            Ok(Output::Data(data)) => {
                let expected = self.model.values(object, from, to - from);
                match first_difference(&expected, &data) {
                    None => Ok(()),
                    Some(at) => Err(format!(
                        "object {object} sector {}: {} instead of {:016x}",
                        from + at as u64,
                        data.get(at * 512..at * 512 + 8).map(hex).unwrap_or_default(),
                        expected.get(at).copied().unwrap_or_default()
                    )),
                }
            }
            Err(_) if self.damaged => {
                self.report.failed += 1;
                // The rest of the range must be unchanged.
                if to - from > BLOCK_SECTORS {
                    let middle = from + ((to - from) / 2).next_multiple_of(BLOCK_SECTORS);
                    self.compare_range(object, from, middle.min(to))?;
                    return self.compare_range(object, middle.min(to), to);
                }
                self.unreadable.push((object, from));
                let expected = bytes_of(self.model.values(object, from, to - from).into_iter());
                match &self.blamed {
                    Some(blamed) if !blamed.starts_with(&expected) => {
                        Err(format!("object {object} sector {from} cannot be read, but another block was damaged"))
                    }
                    _ => Ok(()),
                }
            }
            Ok(other) => Err(format!("a read returned {other:?}")),
            Err(failure) => Err(format!("read of object {object} sectors {from}+{}: {}", to - from, words(&failure))),
        }
    }

    /// Runs one operation of the comparison to its end; no other is in flight.
    pub(crate) fn now(&mut self, operation: Operation) -> Result<Result<Output, Failure>, String> {
        let id = self.core.submit(operation);
        for _ in 0..PATIENCE {
            while let Some((found, result)) = self.core.poll_finished() {
                if found == id {
                    self.core.take_effects();
                    return Ok(result);
                }
            }
            self.disk.wait();
            self.core.pump(0);
        }
        Err("an operation never finishes".into())
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let word: [u8; 8] = bytes.try_into().unwrap_or_default();
    format!("{:016x}", u64::from_le_bytes(word))
}

/// Checks provisioning runs: consecutive from `start`, at most `limit`, alternating, and correct.
pub(super) fn check_provisioning(
    model: &Model,
    object: u64,
    start: u64,
    limit: u64,
    runs: &[block::ProvisioningExtent],
) -> Result<(), String> {
    let Some(of) = model.objects.get(&object).filter(|_| !model.stores_zeros) else { return Ok(()) };
    let mut at = start;
    let mut last = None;
    for run in runs {
        if run.extent.lba.0 != at || run.extent.count == 0 || last == Some(run.mapped) {
            return Err(format!("provisioning of object {object} from {start}: {runs:?}"));
        }
        last = Some(run.mapped);
        let end = at + run.extent.count;
        let (first, blocks) = (at / BLOCK_SECTORS, end.div_ceil(BLOCK_SECTORS));
        let wrong = if run.mapped {
            (first..blocks).find(|block| !of.is_mapped(*block))
        } else {
            let chunks = first / BLOCK_SECTORS..blocks.div_ceil(BLOCK_SECTORS);
            let stored = of.chunks().filter(|chunk| chunks.contains(chunk));
            stored
                .flat_map(|chunk| chunk * 8..chunk * 8 + 8)
                .find(|block| (first..blocks).contains(block) && of.is_mapped(*block))
        };
        if let Some(block) = wrong {
            return Err(format!(
                "provisioning of object {object}: block {block} is said to be {}",
                if run.mapped { "mapped" } else { "unmapped" }
            ));
        }
        at = end;
    }
    if runs.is_empty() || runs.len() as u64 > limit.max(1) || at > of.sectors {
        return Err(format!("provisioning of object {object} from {start}, at most {limit} runs: {runs:?}"));
    }
    Ok(())
}
