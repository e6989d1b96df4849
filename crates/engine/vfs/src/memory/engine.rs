//! Engine of the file systems in memory: what they share, and what tests do to it.

use super::MemoryFileSystem;
use super::blocks::{BLOCK_BYTES, Blocks, Owner};
use super::lies::Lie;
use super::ranges::Ranges;
use super::state::{Body, Directory, Inode, ROOT, Share, State};
use crate::{
    Attributes, Capacity, ChangeValue, Device, FileId, FileSystemId, FsError, Kind, SpaceReason, Timestamp,
    WriteVerifier,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Blocks of a pool that was not limited: 1 TiB.
const CAPACITY_BLOCKS: u64 = (1 << 40) / BLOCK_BYTES;

/// Most files of one file system, unless limited.
const MOST_FILES: u64 = 1 << 24;

#[derive(Debug)]
struct Inner {
    state: RefCell<State>,
    /// State before the first change that is not durable, if there is one.
    durable: RefCell<Option<State>>,
    crashes: Cell<bool>,
    verifier: Cell<u64>,
    unreadable: Cell<Option<Owner>>,
    stutters: Cell<bool>,
    held: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

/// Pool of blocks in memory with its file systems. Clones are one engine.
#[derive(Clone, Debug)]
pub struct MemoryEngine(Rc<Inner>);

impl Default for MemoryEngine {
    fn default() -> Self {
        Self::new(None)
    }
}

impl MemoryEngine {
    /// Creates an engine without file systems, which breaks a rule or none.
    pub fn new(lie: Option<Lie>) -> Self {
        let state = State {
            shares: BTreeMap::new(),
            blocks: Blocks::default(),
            promising: Default::default(),
            capacity_blocks: CAPACITY_BLOCKS,
            undo: Vec::new(),
            lie,
        };
        Self(Rc::new(Inner {
            state: RefCell::new(state),
            durable: RefCell::default(),
            crashes: Cell::default(),
            verifier: Cell::new(1),
            unreadable: Cell::default(),
            stutters: Cell::default(),
            held: Cell::default(),
            waiting: RefCell::default(),
        }))
    }

    /// Creates an empty file system, whose root belongs to user and group 0 and has mode 0755.
    pub fn create(&self, now: Timestamp) -> MemoryFileSystem {
        let root = Attributes {
            file: ROOT,
            kind: Kind::Directory,
            mode: 0o755,
            links: 2,
            user: 0,
            group: 0,
            size_bytes: 0,
            used_bytes: 0,
            device: Device::default(),
            change: ChangeValue(1),
            accessed: now,
            modified: now,
            changed: now,
            born: now,
        };
        let body = Body::Directory(Directory::new(ROOT));
        let inode = Inode { attributes: root, verifier: None, xattrs: BTreeMap::new(), body };
        self.add(Share {
            files: BTreeMap::from([(ROOT, inode)]),
            next_file: 16,
            change: 1,
            read_only: false,
            quota_blocks: None,
            most_files: MOST_FILES,
            holds: BTreeMap::new(),
        })
    }

    fn add(&self, share: Share) -> MemoryFileSystem {
        let mut state = self.0.state.borrow_mut();
        let id = FileSystemId(state.shares.last_key_value().map_or(1, |(last, _)| last.0 + 1));
        state.shares.insert(id, share);
        drop(state);
        self.make_durable();
        MemoryFileSystem { engine: self.clone(), id }
    }

    /// From now on keeps what a crash would leave, which costs a copy of everything for the first unstable
    /// write after a durable change.
    pub fn expect_crashes(&self) {
        self.0.crashes.set(true);
    }

    /// Limits the pool to what it holds and promises now, and `free_bytes`.
    pub fn leave(&self, free_bytes: u64) {
        let mut state = self.0.state.borrow_mut();
        state.capacity_blocks = state.taken() + free_bytes / BLOCK_BYTES;
    }

    /// Makes reads of a file fail.
    pub fn set_unreadable(&self, file_system: &MemoryFileSystem, file: Option<FileId>) {
        self.0.unreadable.set(file.map(|file| (file_system.id, file)));
    }

    /// Makes each call wait for a second poll.
    pub fn stutter(&self) {
        self.0.stutters.set(true);
    }

    /// Holds changing calls back, before they take effect, until called with `false`.
    pub fn hold_back(&self, held: bool) {
        self.0.held.set(held);
        for waker in self.0.waiting.take() {
            waker.wake();
        }
    }

    /// Restarts the engine: holds end, and after a crash everything is gone that was not durable. Handles
    /// of file systems stay valid.
    pub fn restart(&self, crash: bool) {
        let mut state = self.0.state.borrow_mut();
        if crash && let Some(mut found) = self.0.durable.take() {
            for (id, share) in &mut found.shares {
                let Some(lost) = state.shares.get(id) else { continue };
                share.next_file = lost.next_file;
                if !state.lies(Lie::ChangeValuesRepeat) {
                    share.change = lost.change;
                }
            }
            *state = found;
        }
        if !state.lies(Lie::VerifierStays) {
            self.0.verifier.update(|verifier| verifier + 1);
        }
        state.shares.values_mut().for_each(|share| share.holds.clear());
        if state.lies(Lie::RestartDropsUnnamed) {
            let shares: Vec<FileSystemId> = state.shares.keys().copied().collect();
            shares.into_iter().for_each(|share| drop(state.drop_unheld(share)));
        }
        drop(state);
        self.make_durable();
    }

    /// True if both are one engine.
    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn lies(&self, lie: Lie) -> bool {
        self.0.state.borrow().lies(lie)
    }

    pub(super) fn write_verifier(&self) -> WriteVerifier {
        WriteVerifier(self.0.verifier.get())
    }

    pub(super) fn check_readable(&self, file: Owner) -> Result<(), FsError> {
        match self.0.unreadable.get() {
            Some(unreadable) if unreadable == file => Err(FsError::ReadFailed { file: file.1, offset_bytes: Some(0) }),
            _ => Ok(()),
        }
    }

    pub(super) fn view<T>(&self, view: impl FnOnce(&mut State) -> Result<T, FsError>) -> Result<T, FsError> {
        view(&mut self.0.state.borrow_mut())
    }

    /// Keeps the state of now for a crash, unless an older one is kept: the next change is not durable.
    pub(super) fn keep(&self) {
        if self.0.crashes.get() {
            self.0.durable.borrow_mut().get_or_insert_with(|| self.0.state.borrow().clone());
        }
    }

    /// Makes all changes durable: by a commit, or because a durable change comes after them.
    pub(super) fn make_durable(&self) {
        self.0.durable.take();
    }

    pub(super) async fn pause(&self) {
        if self.0.stutters.get() {
            crate::pause().await;
        }
    }

    pub(super) async fn gate(&self) {
        poll_fn(|context| {
            if !self.0.held.get() {
                return Poll::Ready(());
            }
            self.0.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl MemoryFileSystem {
    /// Engine of the file system.
    pub fn engine(&self) -> &MemoryEngine {
        &self.engine
    }

    /// Limits the bytes that all files together use and are promised.
    pub fn set_quota(&self, bytes: Option<u64>) {
        self.settings(|share| share.quota_blocks = bytes.map(|bytes| bytes / BLOCK_BYTES));
    }

    /// Refuses changes, or no longer.
    pub fn set_read_only(&self, read_only: bool) {
        self.settings(|share| share.read_only = read_only);
    }

    /// Limits the number of files, the root among them.
    pub fn set_most_files(&self, most_files: u64) {
        self.settings(|share| share.most_files = most_files);
    }

    /// Deletes the file system.
    pub fn delete(&self) -> Result<(), FsError> {
        self.engine.view(|state| {
            let files: Vec<FileId> = state.share(self.id)?.files.keys().copied().collect();
            for file in files {
                state.step(self.id, SpaceReason::Pool, |state| state.unmap_all((self.id, file)))?;
            }
            state.shares.remove(&self.id);
            Ok(())
        })?;
        self.engine.make_durable();
        Ok(())
    }

    fn settings(&self, set: impl FnOnce(&mut Share)) {
        let _ = self.engine.view(|state| state.share_mut(self.id).map(set));
        self.engine.make_durable();
    }

    /// Takes a snapshot: a read-only file system with the same files, under the same identities. Files without a
    /// name, holds and promises are not part of it. [`SpaceReason::Promise`]: there is no space for the
    /// promises to files whose content becomes shared.
    pub fn snapshot(&self) -> Result<Self, FsError> {
        let mut share = self.engine.view(|state| state.share(self.id).cloned())?;
        share.files.retain(|_, inode| inode.attributes.links > 0);
        share.holds.clear();
        let contents = share.files.iter_mut().filter_map(|(file, inode)| {
            let mapping = inode.mapping_mut()?;
            mapping.allocated = Ranges::default();
            Some((*file, std::mem::take(&mut mapping.blocks)))
        });
        let contents: Vec<_> = contents.collect();
        share.read_only = false;
        let snapshot = self.engine.add(share);
        let taken = self.engine.view(|state| {
            state.step(snapshot.id, SpaceReason::Promise, |state| {
                for (file, blocks) in contents {
                    for (index, id) in blocks {
                        state.assign((snapshot.id, file), index, Some(id));
                    }
                }
            })?;
            state.share_mut(snapshot.id)?.read_only = !state.lies(Lie::SnapshotsAreWritable);
            Ok(())
        });
        if taken.is_err() {
            snapshot.delete()?;
        }
        self.engine.make_durable();
        taken.map(|()| snapshot)
    }

    /// Gives the file system the content of a snapshot. Identities of files that are gone stay unused, and all
    /// files change. Promises and holds end.
    pub fn roll_back(&self, to: &Self) -> Result<(), FsError> {
        let own = self.engine.view(|state| state.share(self.id).cloned())?;
        let fresh = to.snapshot()?;
        self.delete()?;
        self.engine.view(|state| {
            let mut share = state.share(fresh.id)?.clone();
            (share.read_only, share.quota_blocks, share.most_files) = (own.read_only, own.quota_blocks, own.most_files);
            share.next_file = own.next_file;
            if !state.lies(Lie::RollBackRestoresChangeValues) {
                share.change = own.change;
                for (file, inode) in &mut share.files {
                    let last = own.files.get(file).map_or(inode.attributes.changed, |inode| inode.attributes.changed);
                    share.change += 1;
                    inode.attributes.change = ChangeValue(share.change);
                    inode.attributes.changed = inode.attributes.changed.max(last).next();
                }
            }
            // The blocks keep their places: they move with the files.
            state.shares.remove(&fresh.id);
            state.shares.insert(self.id, share);
            Ok(())
        })?;
        self.engine.make_durable();
        Ok(())
    }
}

impl State {
    pub(super) fn capacity(&self, id: FileSystemId) -> Result<Capacity, FsError> {
        let share = self.share(id)?;
        let pool_free = self.capacity_blocks.saturating_sub(self.taken());
        let (total, free) = match share.quota_blocks {
            None => (self.capacity_blocks, pool_free),
            Some(quota) => (quota, quota.saturating_sub(self.used_by(id)).min(pool_free)),
        };
        let files = share.files.len() as u64;
        Ok(Capacity {
            total_bytes: total * BLOCK_BYTES,
            free_bytes: free * BLOCK_BYTES,
            available_bytes: free * BLOCK_BYTES,
            used_bytes: self.used_by(id) * BLOCK_BYTES,
            files: share.most_files,
            free_files: share.most_files.saturating_sub(files),
        })
    }
}
