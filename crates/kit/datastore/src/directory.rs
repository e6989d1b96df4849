//! Files: created, locked, renamed, touched and deleted. The directory is one table of records. A
//! host takes its lock to create or rename a file.

use crate::datastore::Datastore;
use crate::disk::COMMITTING;
use crate::error::DatastoreError;
use crate::format::{File, FileId, NAME_BYTES, Pointer, state};
use crate::geometry::DIRECTORY_LOCK;
use crate::lock::{Held, LOCK_PATIENCE};
use crate::map::BlockMap;
use crate::records::{DiskFormat, id_of};
use crate::sector::Loaded;
use data_mover::Device;
use std::time::Duration;
use zerocopy::FromZeros;

/// A file whose lock this host has.
#[derive(Debug)]
pub(crate) struct LockedFile {
    pub(crate) record: Loaded<File>,
    held: Held,
}

impl LockedFile {
    pub(crate) fn id(&self) -> FileId {
        id_of(&self.record)
    }

    /// Version of the lock: incremented each time the lock is taken or released.
    pub(crate) fn lock_version(&self) -> u64 {
        self.held.version()
    }

    /// Whether the lock was taken over from a dead host.
    pub(crate) fn was_taken_over(&self) -> bool {
        self.held.taken_over
    }
}

/// Result of an attempt to create a file.
enum Created {
    File(Box<LockedFile>),
    /// Another host or task is creating a file of this name, in this record.
    Busy(u32),
}

/// State of a file name in the directory.
enum NameState {
    Free,
    InUse,
    /// A file of this name is being created, in this record.
    BeingCreated(u32),
}

fn check_name(name: &str) -> Result<(), DatastoreError> {
    let fine = (1..=NAME_BYTES).contains(&name.len())
        && !name.starts_with('/')
        && !name.ends_with('/')
        && !name.chars().any(char::is_control);
    if fine { Ok(()) } else { Err(DatastoreError::Name(name.into())) }
}

impl<D: Device> Datastore<D> {
    /// Takes the lock of a file, and finishes operations that a dead host left half done.
    pub(crate) async fn lock_file(&self, name: &str, patience: Duration) -> Result<LockedFile, DatastoreError> {
        loop {
            let number = self.find(name).await?;
            if let Some(file) = self.lock_record(number, name, patience).await? {
                if file.record.value.name() == name {
                    return Ok(file);
                }
                self.unlock(file).await?;
            }
            // The file was deleted or renamed while this host waited for the lock; another file may
            // have the name now.
            self.names.borrow_mut().remove(name);
        }
    }

    /// Takes the lock of a record; `None` when its file no longer exists.
    pub(crate) async fn lock_record(
        &self,
        number: u32,
        name: &str,
        patience: Duration,
    ) -> Result<Option<LockedFile>, DatastoreError> {
        self.lock_record_in(number, name, patience, &[state::LIVE]).await
    }

    /// Like [`Self::lock_record`], for a file in one of these states.
    pub(crate) async fn lock_record_in(
        &self,
        number: u32,
        name: &str,
        patience: Duration,
        states: &[u8],
    ) -> Result<Option<LockedFile>, DatastoreError> {
        let locked = || DatastoreError::Locked { name: name.into(), host: self.host.name.clone() };
        if !self.open.borrow_mut().insert(number) {
            return Err(locked());
        }
        let result = self.lock_record_here(number, name, patience, states).await;
        if !matches!(result, Ok(Some(_))) {
            self.open.borrow_mut().remove(&number);
        }
        result
    }

    async fn lock_record_here(
        &self,
        number: u32,
        name: &str,
        patience: Duration,
        states: &[u8],
    ) -> Result<Option<LockedFile>, DatastoreError> {
        let held = self.acquire(self.store.geometry.lock(number), name, patience).await?;
        let record = self.record(number).await?;
        let mut file = LockedFile { record, held };
        if file.held.taken_over {
            self.finish(&mut file).await?;
        }
        if states.contains(&file.record.value.state) {
            return Ok(Some(file));
        }
        self.release(file.held).await?;
        Ok(None)
    }

    /// Releases the lock.
    pub(crate) async fn unlock(&self, mut file: LockedFile) -> Result<(), DatastoreError> {
        let number = file.record.number;
        if self.untidy.borrow_mut().remove(&number) {
            // An error is ignored: tidying up finishes the rest.
            let _finished = self.finish(&mut file).await;
        }
        let result = self.release(file.held).await;
        self.open.borrow_mut().remove(&number);
        result
    }

    /// Updates the record of a file whose lock this host has.
    pub(crate) async fn change(
        &self,
        file: &mut LockedFile,
        change: impl FnOnce(&mut File),
    ) -> Result<(), DatastoreError> {
        let mut value = file.record.value;
        change(&mut value);
        value.modified = self.store.mover.clock().unix_seconds().into();
        if self.store.swap(&mut file.record, value).await? {
            return Ok(());
        }
        self.store.lease.evicted.set(true);
        Err(DatastoreError::Evicted)
    }

    /// Frees the blocks of a file, and its record.
    pub(crate) async fn remove(&self, file: &mut LockedFile) -> Result<(), DatastoreError> {
        if file.record.value.state != state::DELETING {
            self.change(file, |file| file.state = state::DELETING).await?;
        }
        // Pointers are cleared first: a block must not go to another file while a pointer leads to
        // it. The blocks are then found in the allocation table.
        BlockMap::new(file.id()).clear(self).await?;
        let blocks = self.blocks_of(file.id()).await?;
        if !blocks.is_empty() {
            self.free(file.id(), &blocks).await?;
        }
        let name = file.record.value.name();
        self.change(file, |file| {
            let generation = file.generation;
            *file = File::new_zeroed();
            file.generation = generation;
        })
        .await?;
        self.names.borrow_mut().remove(&name);
        Ok(())
    }

    /// Checks that no disk or interrupted copy has this name; changes nothing. Another host may
    /// take the name right afterwards.
    pub async fn check_vacant(&self, name: &str) -> Result<(), DatastoreError> {
        check_name(name)?;
        let record =
            self.records().await?.into_iter().find(|record| {
                matches!(record.value.state, state::LIVE | state::PARTIAL) && record.value.name() == name
            });
        match record.map(|record| record.value.state) {
            None => Ok(()),
            Some(state::PARTIAL) => Err(DatastoreError::Partial(name.into())),
            Some(_) => Err(DatastoreError::Exists(name.into())),
        }
    }

    /// Refuses a size that exceeds the largest file.
    pub(crate) fn check_room(&self, size: u64) -> Result<(), DatastoreError> {
        let geometry = self.store.geometry;
        if size.div_ceil(geometry.block_bytes()) <= geometry.max_file_blocks() {
            return Ok(());
        }
        let most = geometry.max_file_blocks() * geometry.block_bytes();
        Err(DatastoreError::Unsuitable(format!("{size} bytes: a file has at most {most}")))
    }

    /// Creates a record in state `CREATING` under the lock of the directory, and takes the record's
    /// lock.
    pub(crate) async fn create_record(
        &self,
        name: &str,
        format: DiskFormat,
        size: u64,
        parent: Option<FileId>,
    ) -> Result<LockedFile, DatastoreError> {
        check_name(name)?;
        self.check_room(size)?;
        loop {
            let one = self.directory.lock().await;
            let held = self.acquire(DIRECTORY_LOCK, "the directory", LOCK_PATIENCE).await?;
            let created = self.create_in_directory(name, format, size, parent).await;
            let released = self.release(held).await;
            drop(one);
            let created = created?;
            released?;
            match created {
                Created::File(file) => return Ok(*file),
                Created::Busy(number) => self.finish_file(number, name).await?,
            }
        }
    }

    /// Looks up who has a name: no file, a file, or a file that a living host is creating.
    async fn look_up(&self, records: &[Loaded<File>], name: &str) -> Result<NameState, DatastoreError> {
        for record in records.iter().filter(|record| record.value.name() == name) {
            match record.value.state {
                state::LIVE => return Ok(NameState::InUse),
                state::PARTIAL => return Err(DatastoreError::Partial(name.into())),
                state::CREATING if self.open.borrow().contains(&record.number) => {
                    return Ok(NameState::BeingCreated(record.number));
                }
                state::CREATING => match self.lock_free_record(record.number).await? {
                    Some(garbage) => self.unlock(garbage).await?,
                    None => return Ok(NameState::BeingCreated(record.number)),
                },
                _ => {}
            }
        }
        Ok(NameState::Free)
    }

    async fn create_in_directory(
        &self,
        name: &str,
        format: DiskFormat,
        size: u64,
        parent: Option<FileId>,
    ) -> Result<Created, DatastoreError> {
        let records = self.records().await?;
        match self.look_up(&records, name).await? {
            NameState::Free => {}
            NameState::InUse => return Err(DatastoreError::Exists(name.into())),
            NameState::BeingCreated(number) => return Ok(Created::Busy(number)),
        }
        let files = self.store.geometry.files;
        for record in records {
            // Records of half-done files are reusable once their locks are free; the lock is held
            // while a host creates or deletes the file.
            let open = self.open.borrow().contains(&record.number);
            if matches!(record.value.state, state::LIVE | state::PARTIAL) || open {
                continue;
            }
            let mut file = match self.lock_free_record(record.number).await {
                Ok(Some(file)) => file,
                Ok(None) => continue,
                // The remains of the old file cannot be freed now; other records may do.
                Err(error) if error.is_of_one_file() => continue,
                Err(error) => return Err(error),
            };
            let now = self.store.mover.clock().unix_seconds();
            let created = self
                .change(&mut file, |file| {
                    let generation = file.generation.get().wrapping_add(1);
                    *file = File::new_zeroed();
                    file.state = state::CREATING;
                    file.format = format.pack();
                    file.generation = generation.into();
                    file.size = size.into();
                    file.created = now.into();
                    file.set_name(name);
                    file.set_parent(parent);
                })
                .await;
            match created {
                Ok(()) => return Ok(Created::File(Box::new(file))),
                Err(error) => {
                    self.open.borrow_mut().remove(&record.number);
                    return Err(error);
                }
            }
        }
        Err(DatastoreError::TooManyFiles(files))
    }

    /// Takes the lock of a record without a file; `None` when another host has it.
    pub(crate) async fn lock_free_record(&self, number: u32) -> Result<Option<LockedFile>, DatastoreError> {
        self.open.borrow_mut().insert(number);
        let result = self.lock_free_record_here(number).await;
        if !matches!(result, Ok(Some(_))) {
            self.open.borrow_mut().remove(&number);
        }
        result
    }

    async fn lock_free_record_here(&self, number: u32) -> Result<Option<LockedFile>, DatastoreError> {
        let held = match self.acquire(self.store.geometry.lock(number), "a free record", Duration::ZERO).await {
            Ok(held) => held,
            Err(DatastoreError::Locked { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut file = LockedFile { record: self.record(number).await?, held };
        if matches!(file.record.value.state, state::CREATING | state::DELETING) {
            // The lock was free, or was a dead host's.
            if let Err(error) = self.remove(&mut file).await {
                // The record is left as it is for the next host.
                let _released = self.release(file.held).await;
                return Err(error);
            }
        }
        if file.record.value.state == state::FREE {
            return Ok(Some(file));
        }
        self.release(file.held).await?;
        Ok(None)
    }

    /// Publishes a filled file: it is visible from now on.
    pub(crate) async fn publish(&self, file: &mut LockedFile) -> Result<(), DatastoreError> {
        let publish = |file: &mut File| {
            file.state = state::LIVE;
            file.copied = 0.into();
            file.source = [0; 32];
        };
        self.change(file, publish).await?;
        self.names.borrow_mut().insert(file.record.value.name(), file.record.number);
        Ok(())
    }

    /// Abandons a file that could not be filled.
    pub(crate) async fn abandon(&self, mut file: LockedFile) -> Result<(), DatastoreError> {
        let removed = self.remove(&mut file).await;
        self.unlock(file).await?;
        removed
    }

    /// Creates a file that is never published, to own blocks for a short time.
    pub(crate) async fn create_scratch(&self) -> Result<LockedFile, DatastoreError> {
        self.create_record(&format!(".unmap-{}-{}", self.owner.slot, self.owner.generation), DiskFormat::Thin, 0, None)
            .await
    }

    pub(crate) async fn drop_scratch(&self, file: LockedFile) -> Result<(), DatastoreError> {
        self.abandon(file).await
    }

    /// Touches a file: takes its lock, updates the record and releases the lock, as a host does
    /// when it opens, closes or renews a file.
    pub async fn touch(&self, name: &str) -> Result<(), DatastoreError> {
        let mut file = self.lock_file(name, LOCK_PATIENCE).await?;
        let touched = self.change(&mut file, |file| file.touched = (file.touched.get() + 1).into()).await;
        self.unlock(file).await?;
        touched
    }

    /// Renames a file.
    pub async fn rename(&self, from: &str, to: &str) -> Result<(), DatastoreError> {
        check_name(to)?;
        let mut file = self.lock_file(from, LOCK_PATIENCE).await?;
        let renamed = self.rename_locked(&mut file, to).await;
        self.unlock(file).await?;
        renamed
    }

    async fn rename_locked(&self, file: &mut LockedFile, to: &str) -> Result<(), DatastoreError> {
        loop {
            let one = self.directory.lock().await;
            let held = self.acquire(DIRECTORY_LOCK, "the directory", LOCK_PATIENCE).await?;
            let renamed = self.rename_in_directory(file, to).await;
            let released = self.release(held).await;
            drop(one);
            let busy = renamed?;
            released?;
            match busy {
                None => return Ok(()),
                Some(number) => self.finish_file(number, to).await?,
            }
        }
    }

    /// Renames the file. If a file of the new name is being created, returns its record instead.
    async fn rename_in_directory(&self, file: &mut LockedFile, to: &str) -> Result<Option<u32>, DatastoreError> {
        match self.look_up(&self.records().await?, to).await? {
            NameState::Free => self.change(file, |file| file.set_name(to)).await.map(|()| None),
            NameState::InUse => Err(DatastoreError::Exists(to.into())),
            NameState::BeingCreated(number) => Ok(Some(number)),
        }
    }

    /// Deletes a file, and frees its blocks on the array.
    ///
    /// Errors: [`DatastoreError::HasChildren`], [`DatastoreError::Locked`].
    pub async fn delete(&self, name: &str) -> Result<(), DatastoreError> {
        let mut file = self.lock_file(name, LOCK_PATIENCE).await?;
        let deleted = self.delete_locked(&mut file).await;
        self.unlock(file).await?;
        deleted
    }

    pub(crate) async fn delete_locked(&self, file: &mut LockedFile) -> Result<(), DatastoreError> {
        if !self.settled_children(file.id()).await?.is_empty() {
            return Err(DatastoreError::HasChildren(file.record.value.name()));
        }
        if let Some(parent) = file.record.value.parent() {
            let below = self.record(parent.record).await?.value;
            if below.generation.get() == parent.generation && below.frozen == COMMITTING {
                return Err(Self::half_committed(&below.name()));
            }
        }
        self.remove(file).await
    }

    /// Children of a file whose lock this host has; no child can be added while it does. A child
    /// still in state `CREATING` was left by a dead host, because creating one requires this lock.
    /// It is removed.
    pub(crate) async fn settled_children(&self, id: FileId) -> Result<Vec<FileId>, DatastoreError> {
        for record in self.records().await? {
            if record.value.state == state::CREATING && record.value.parent() == Some(id) {
                self.finish_file(record.number, &record.value.name()).await?;
            }
        }
        self.children(id).await
    }

    /// Pointers to newly claimed blocks, for consecutive numbers from `first` on.
    pub(crate) fn pointers(first: u32, blocks: &[u32], of: fn(u32) -> Pointer) -> Vec<(u32, Pointer)> {
        (first..).zip(blocks).map(|(index, block)| (index, of(*block))).collect()
    }
}
