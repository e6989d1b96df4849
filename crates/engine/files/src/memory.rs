//! State of a share in memory, for one run: counters below the stored high waters, holds, access times, hints. An
//! attempt reads it and collects its changes as [`Effects`], which take effect with the transaction.

use crate::engine::Object;
use crate::layout::address::Class;
use crate::layout::super_block::SuperBlock;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vfs::{FileId, Timestamp};

/// Attributes of the root directory until it is first changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// Mode bits.
    pub mode: u16,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Creation of the share; the times of the root.
    pub born: Timestamp,
}

/// Numbers that are given out: each below its high water, which is stored and durable.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    next_file: u64,
    file_high: u64,
    next_change: u64,
    change_high: u64,
    /// Latest time of a change in this run.
    latest: Timestamp,
}

/// Most access times that are kept in memory.
pub(crate) const MOST_ACCESSED: usize = 4096;

/// State in memory.
#[derive(Debug)]
pub(crate) struct Memory {
    object: Object,
    root: Root,
    read_only: bool,
    counters: Cell<Counters>,
    holds: RefCell<FxHashMap<FileId, u64>>,
    /// Files without a name whose calls have ended. Each has the hold of its call until it is deleted.
    abandoned: RefCell<VecDeque<FileId>>,
    accessed: RefCell<FxHashMap<FileId, Timestamp>>,
    /// Directories that got another parent.
    moves: Cell<u64>,
    /// Super block as it is stored, when it was read.
    super_block: Cell<Option<SuperBlock>>,
    /// For each class with a bitmap: no smaller region is free, as far as is known.
    hints: Cell<[u64; Class::ALLOCATED.len()]>,
}

/// Changes of the state in memory that belong to an attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// File numbers taken.
    files: u64,
    /// Change values taken.
    changes: u64,
    latest: Timestamp,
    holds: SmallVec<[(FileId, bool); 2]>,
    accessed: SmallVec<[(FileId, Option<Timestamp>); 4]>,
    /// Directories that get another parent.
    moves: u64,
    super_block: bool,
    hints: SmallVec<[(usize, u64); 2]>,
}

impl Effects {
    /// True if nothing changes.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { files, changes, latest, holds, accessed, moves, super_block, hints } = self;
        let counts = *files == 0 && *changes == 0 && *moves == 0 && *latest == Timestamp::default() && !super_block;
        counts && holds.is_empty() && accessed.is_empty() && hints.is_empty()
    }

    /// Takes a hold, or ends one.
    pub(crate) fn hold(&mut self, file: FileId, takes: bool) {
        self.holds.push((file, takes));
    }

    /// Sets an access time in memory, or forgets it because the inode has it.
    pub(crate) fn access(&mut self, file: FileId, time: Option<Timestamp>) {
        self.accessed.push((file, time));
    }

    /// Notes that a directory gets another parent.
    pub(crate) const fn move_directory(&mut self) {
        self.moves += 1;
    }

    /// Notes that the super block changes.
    pub(crate) const fn change_super_block(&mut self) {
        self.super_block = true;
    }

    pub(crate) fn hint(&mut self, class: Class, region: u64) {
        self.hints.push((index_of(class), region));
    }

    pub(crate) fn changed_at(&mut self, time: Timestamp) {
        self.latest = self.latest.max(time);
    }
}

fn index_of(class: Class) -> usize {
    Class::ALLOCATED.into_iter().position(|of| of == class).unwrap_or(0)
}

impl Memory {
    pub(crate) fn new(object: Object, root: Root, read_only: bool) -> Self {
        Self {
            object,
            root,
            read_only,
            counters: Cell::default(),
            holds: RefCell::default(),
            abandoned: RefCell::default(),
            accessed: RefCell::default(),
            moves: Cell::default(),
            super_block: Cell::default(),
            hints: Cell::default(),
        }
    }

    /// Object of the share.
    pub(crate) const fn object(&self) -> Object {
        self.object
    }

    /// Attributes of the root until it is first changed.
    pub(crate) const fn root(&self) -> Root {
        self.root
    }

    /// Whether every change is refused.
    pub(crate) const fn read_only(&self) -> bool {
        self.read_only
    }

    /// The next number of a file; `None` when the high water is reached.
    pub(crate) fn next_file(&self, effects: &mut Effects) -> Option<FileId> {
        let Counters { next_file, file_high, .. } = self.counters.get();
        let number = next_file + effects.files;
        effects.files += 1;
        (number < file_high).then_some(FileId(number))
    }

    /// The next change value; `None` when the high water is reached.
    pub(crate) fn next_change(&self, effects: &mut Effects) -> Option<u64> {
        let Counters { next_change, change_high, .. } = self.counters.get();
        let value = next_change + effects.changes;
        effects.changes += 1;
        (value < change_high).then_some(value)
    }

    /// Takes note of high waters that are durable. What lies below those before may have been used by an
    /// earlier run.
    pub(crate) fn raise(&self, before: (u64, u64), after: (u64, u64)) {
        let mut counters = self.counters.get();
        if counters.file_high == 0 {
            (counters.next_file, counters.next_change) = before;
        }
        counters.file_high = counters.file_high.max(after.0);
        counters.change_high = counters.change_high.max(after.1);
        self.counters.set(counters);
    }

    /// Super block, if it was read and has not changed since.
    pub(crate) fn super_block(&self) -> Option<SuperBlock> {
        self.super_block.get()
    }

    /// Takes note of the stored super block.
    pub(crate) fn know_super_block(&self, stored: SuperBlock) {
        self.super_block.set(Some(stored));
    }

    /// Number of holds.
    pub(crate) fn holds(&self, file: FileId) -> u64 {
        self.holds.borrow().get(&file).copied().unwrap_or(0)
    }

    /// Notes that the call which holds a file without a name has ended.
    pub(crate) fn abandon(&self, file: FileId) {
        if self.holds(file) > 0 {
            self.abandoned.borrow_mut().push_back(file);
        }
    }

    /// The file to delete next.
    pub(crate) fn next_abandoned(&self) -> Option<FileId> {
        self.abandoned.borrow().front().copied()
    }

    /// Forgets a file that is deleted.
    pub(crate) fn forget_abandoned(&self, file: FileId) {
        self.abandoned.borrow_mut().retain(|abandoned| *abandoned != file);
    }

    /// Puts a file that could not be deleted behind the others.
    pub(crate) fn postpone_abandoned(&self, file: FileId) {
        let mut abandoned = self.abandoned.borrow_mut();
        if abandoned.front() == Some(&file) {
            abandoned.rotate_left(1);
        }
    }

    pub(crate) fn accessed(&self, file: FileId) -> Option<Timestamp> {
        self.accessed.borrow().get(&file).copied()
    }

    /// Some files whose access times are in memory alone.
    pub(crate) fn some_accessed(&self, most: usize) -> Vec<FileId> {
        let mut files: Vec<FileId> = self.accessed.borrow().keys().copied().collect();
        files.sort_unstable();
        files.truncate(most);
        files
    }

    /// Forgets all access times that are in memory alone.
    pub(crate) fn forget_accessed(&self) {
        self.accessed.take();
    }

    pub(crate) fn hint(&self, class: Class) -> u64 {
        self.hints.get().get(index_of(class)).copied().unwrap_or(0)
    }

    /// Number that grows when the parent of any directory changes.
    pub(crate) fn moves(&self) -> u64 {
        self.moves.get()
    }

    pub(crate) fn latest(&self) -> Timestamp {
        self.counters.get().latest
    }

    /// Begins another run: nothing is known.
    pub(crate) fn forget(&self) {
        let latest = self.latest();
        self.counters.set(Counters { latest, ..Counters::default() });
        self.holds.take();
        self.abandoned.take();
        self.accessed.take();
        self.moves.update(|moves| moves + 1);
        self.super_block.take();
        self.hints.take();
    }

    /// Makes the changes of a transaction.
    pub(crate) fn apply(&self, effects: &Effects) {
        let mut counters = self.counters.get();
        counters.next_file += effects.files;
        counters.next_change += effects.changes;
        counters.latest = counters.latest.max(effects.latest);
        self.counters.set(counters);
        if effects.super_block {
            self.super_block.take();
        }
        let mut holds = self.holds.borrow_mut();
        for (file, takes) in &effects.holds {
            let count = holds.entry(*file).or_default();
            *count = if *takes { *count + 1 } else { count.saturating_sub(1) };
            if *count == 0 {
                holds.remove(file);
            }
        }
        let mut accessed = self.accessed.borrow_mut();
        for (file, time) in &effects.accessed {
            match time {
                Some(_) if accessed.len() >= MOST_ACCESSED && !accessed.contains_key(file) => None,
                Some(time) => accessed.insert(*file, *time),
                None => accessed.remove(file),
            };
        }
        self.moves.update(|moves| moves + effects.moves);
        let mut hints = self.hints.get();
        for (class, region) in &effects.hints {
            if let Some(hint) = hints.get_mut(*class) {
                *hint = *region;
            }
        }
        self.hints.set(hints);
    }
}
