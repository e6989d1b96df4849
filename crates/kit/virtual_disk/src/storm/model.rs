//! Expected content of the datastore according to one host's journal.

use super::journal::{Entry, Operation};
use super::{COUNTERS, SHARED, TEMPLATE};
use random::Random;
use random::sector::{SECTOR_BYTES, Stamp};
use std::collections::BTreeMap;

/// Distance between two slots in bytes; not a multiple of a block.
const STRIDE_BYTES: u64 = 392 * 512;
/// Largest number of disks per host.
const MAX_DISKS: usize = 8;
/// Sizes of disks, in MiB.
const SIZES_MIB: std::ops::Range<u64> = 1..24;

/// A disk of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) size: u64,
    /// Last stamp written, by slot; 0, like a missing slot, means zeros.
    pub(crate) stamps: BTreeMap<u64, u64>,
    /// Name of the disk below.
    pub(crate) base: Option<String>,
    /// A commit of this disk was interrupted: the disk below mixes two states, and this one can
    /// only be committed again.
    pub(crate) half_committed: bool,
}

impl Disk {
    /// Number of sectors that may be written.
    pub(crate) fn slots(&self) -> u64 {
        self.size.div_ceil(STRIDE_BYTES)
    }
}

/// Offset of a slot in bytes.
pub(crate) fn offset(slot: u64) -> u64 {
    slot * STRIDE_BYTES
}

/// Content of a slot; stamp 0 is zeros.
pub(crate) fn sector(slot: u64, stamp: u64) -> Vec<u8> {
    match stamp {
        0 => vec![0; SECTOR_BYTES],
        generation => Stamp { seed: 0, offset: offset(slot), generation }.sector().to_vec(),
    }
}

/// Changes of a shared object: certain ones, and possible further ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) sure: u64,
    pub(crate) perhaps: u64,
}

/// Expected content of the datastore according to one host's journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    /// Disks of the host, by name.
    pub(crate) disks: BTreeMap<String, Disk>,
    /// Changes of shared files and disks, by name.
    pub(crate) counts: BTreeMap<String, Count>,
    /// Operation that has begun, with no result yet.
    pub(crate) pending: Option<Operation>,
    /// Operations begun, by kind.
    pub(crate) operations: BTreeMap<&'static str, u64>,
    /// Number of processes of the host so far.
    pub(crate) lives: u64,
    next: u64,
}

impl Operation {
    /// Kind of the operation.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Touch { .. } => "touch",
            Self::Add { .. } => "lock and add",
            Self::Move { .. } => "move",
            Self::Create { .. } => "create",
            Self::Grow { .. } => "grow",
            Self::Write { .. } => "write",
            Self::Delete { .. } => "delete",
            Self::Rename { .. } => "rename",
            Self::Snapshot { .. } => "snapshot",
            Self::LinkedClone { .. } => "linked clone",
            Self::Commit { .. } => "commit",
        }
    }

    /// Whether other hosts change the same file, so that its state afterwards does not show the
    /// result.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Touch { .. } | Self::Add { .. } | Self::Move { .. })
    }
}

impl Model {
    /// Builds the model from a journal.
    pub(crate) fn replay(entries: &[Entry]) -> Self {
        let mut model = Self::default();
        for entry in entries {
            model.enter(entry);
        }
        model
    }

    /// Applies one entry.
    pub(crate) fn enter(&mut self, entry: &Entry) {
        match entry {
            Entry::Life => self.lives += 1,
            Entry::Begin(operation) => {
                *self.operations.entry(operation.kind()).or_default() += 1;
                self.next += 1;
                self.pending = Some(operation.clone());
            }
            Entry::Done => {
                if let Some(operation) = self.pending.take() {
                    self.apply(&operation);
                }
            }
            Entry::Undone => {
                if let Some(Operation::Commit { disk }) = self.pending.take()
                    && let Some(disk) = self.disks.get_mut(&disk)
                {
                    disk.half_committed = true;
                }
            }
            Entry::Unknown => {
                if let Some(Operation::Touch { file: name } | Operation::Add { disk: name }) = self.pending.take() {
                    self.counts.entry(name).or_default().perhaps += 1;
                }
            }
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Touch { file: name } | Operation::Add { disk: name } => {
                self.counts.entry(name.clone()).or_default().sure += 1;
            }
            Operation::Move { .. } => {}
            Operation::Create { disk, size, .. } => {
                self.disks.insert(disk.clone(), Disk { size: *size, ..Disk::default() });
            }
            Operation::Grow { disk, size } => {
                if let Some(disk) = self.disks.get_mut(disk) {
                    disk.size = *size;
                }
            }
            Operation::Write { disk, slot, stamp } => {
                if let Some(disk) = self.disks.get_mut(disk) {
                    disk.stamps.insert(*slot, *stamp);
                }
            }
            Operation::Delete { disk } => {
                self.disks.remove(disk);
            }
            Operation::Rename { from, to } => {
                if let Some(disk) = self.disks.remove(from) {
                    self.disks.insert(to.clone(), disk);
                }
                for disk in self.disks.values_mut().filter(|disk| disk.base.as_ref() == Some(from)) {
                    disk.base = Some(to.clone());
                }
            }
            Operation::Snapshot { disk: base, name } | Operation::LinkedClone { base, name } => {
                let below = match self.disks.get(base) {
                    Some(below) => below.clone(),
                    None => Disk { size: TEMPLATE_BYTES, ..Disk::default() },
                };
                self.disks.insert(name.clone(), Disk { base: Some(base.clone()), half_committed: false, ..below });
            }
            Operation::Commit { disk } => {
                if let Some(top) = self.disks.remove(disk)
                    && let Some(below) = top.base.as_ref().and_then(|base| self.disks.get_mut(base))
                {
                    below.stamps = top.stamps;
                    below.size = below.size.max(top.size);
                }
            }
        }
    }

    /// Whether other disks are based on the disk.
    pub(crate) fn has_children(&self, name: &str) -> bool {
        self.disks.values().any(|disk| disk.base.as_deref() == Some(name))
    }

    /// Whether the disk mixes two states, and must not be read.
    pub(crate) fn is_mixture(&self, name: &str) -> bool {
        self.disks.values().any(|disk| disk.half_committed && disk.base.as_deref() == Some(name))
    }

    /// Chooses a valid next operation at random.
    pub(crate) fn choose(&self, host: &str, random: &Random) -> Operation {
        let pick = |names: &[&str]| -> String {
            let index = usize::try_from(random.below(names.len() as u64)).unwrap_or(0);
            names.get(index).copied().unwrap_or_default().to_owned()
        };
        let leaves: Vec<&str> = self.disks.keys().map(String::as_str).filter(|name| !self.has_children(name)).collect();
        let new = format!("{host}/disk-{}", self.next);
        let create = || Operation::Create {
            disk: new.clone(),
            format: pick(&["thin", "thin", "zeroedthick", "eagerzeroedthick"]),
            size: (SIZES_MIB.start + random.below(SIZES_MIB.end - SIZES_MIB.start)) << 20,
        };
        let kind = random.below(16);
        match kind {
            0..3 => return Operation::Touch { file: pick(&COUNTERS) },
            3..5 => return Operation::Add { disk: pick(&SHARED) },
            5 => {
                let [a, b] = super::MOVING.map(str::to_owned);
                return match random.below(2) {
                    0 => Operation::Move { from: a, to: b },
                    _ => Operation::Move { from: b, to: a },
                };
            }
            _ => {}
        }
        if leaves.is_empty() {
            return create();
        }
        let disk = pick(&leaves);
        let found = self.disks.get(&disk).cloned().unwrap_or_default();
        let full = self.disks.len() >= MAX_DISKS;
        match kind {
            6 | 7 if !full => create(),
            8 if !full => match random.below(2) {
                0 => Operation::LinkedClone { base: TEMPLATE.into(), name: new },
                _ => Operation::LinkedClone { base: disk, name: new },
            },
            9 | 10 if !full => Operation::Snapshot { disk, name: new },
            // Not into the template, which other hosts' clones are based on.
            11 | 12 if found.base.as_ref().is_some_and(|base| self.only_child(base)) => Operation::Commit { disk },
            13 if found.base.is_none() => Operation::Grow { disk, size: found.size + ((1 + random.below(4)) << 20) },
            14 => Operation::Rename { from: disk, to: new },
            6..9 | 15 if (full || random.below(2) == 0) && !found.half_committed => Operation::Delete { disk },
            _ => Operation::Write { disk, slot: random.below(found.slots()), stamp: self.next << 8 | 1 },
        }
    }

    fn only_child(&self, base: &str) -> bool {
        self.disks.contains_key(base)
            && self.disks.values().filter(|disk| disk.base.as_deref() == Some(base)).count() == 1
    }
}

/// Size of the shared template in bytes.
pub(crate) const TEMPLATE_BYTES: u64 = 16 << 20;
