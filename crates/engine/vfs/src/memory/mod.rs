//! File system in memory: complete, for tests of protocols, and the reference of what the contract means.
//!
//! A [`MemoryEngine`] is a pool of blocks with file systems that share them. It has snapshots,
//! roll-back, restarts with and without a crash, a bounded capacity, and breaks a rule on demand
//! ([`Lie`]). Calls complete at their first poll, unless they are told to wait.

mod attributes;
mod blocks;
mod engine;
mod files;
mod lies;
mod names;
mod ranges;
mod state;
mod steps;
#[cfg(test)]
mod tests;

pub use engine::MemoryEngine;
pub use lies::Lie;
pub use ranges::Ranges;

use crate::{
    Attributes, Call, Capacity, Changed, Content, Cookie, Copied, Created, Expect, FileId, FileSystem, FileSystemId,
    Found, FsError, Limits, LinkTarget, Linked, Listing, Name, New, Payload, Place, Removed, Removes, Renamed, Seek,
    SetAttributes, SetXattr, Sought, Source, Space, Stability, Timestamp, WriteVerifier, XattrName,
};
use blocks::{BLOCK_BYTES, Owner};
use bytes::Bytes;
use files::From;
use state::{ROOT, State};
use std::ops::Range;

/// Limits of the engine's file systems on a pool.
pub(crate) const LIMITS: Limits = Limits {
    grain_bytes: BLOCK_BYTES as u32,
    file_bytes: 1 << 44,
    io_bytes: 1 << 20,
    move_bytes: 16 << 20,
    listed_entries: 128,
    links: 65_000,
    xattr_bytes: 65_536,
    xattr_names: 256,
};

/// Handle of a file system; clones share it.
#[derive(Clone, Debug)]
pub struct MemoryFileSystem {
    engine: MemoryEngine,
    id: FileSystemId,
}

impl MemoryFileSystem {
    const fn owner(&self, file: FileId) -> Owner {
        (self.id, file)
    }

    /// Executes a call that changes nothing durable.
    async fn view<T>(&self, view: impl FnOnce(&mut State) -> Result<T, FsError>) -> Result<T, FsError> {
        self.engine.pause().await;
        self.engine.view(view)
    }

    /// Executes a durable change.
    async fn change<T>(&self, change: impl FnOnce(&mut State) -> Result<T, FsError>) -> Result<T, FsError> {
        self.engine.pause().await;
        self.engine.gate().await;
        let result = self.engine.view(change)?;
        self.engine.make_durable();
        Ok(result)
    }

    fn source(&self, source: &Source<'_, Self>) -> Result<From, FsError> {
        let Source { file_system, file, offset_bytes, length_bytes } = source;
        if !self.engine.is(&file_system.engine) {
            return Err(FsError::ForeignSource);
        }
        Ok(From { file: file_system.owner(*file), offset_bytes: *offset_bytes, length_bytes: *length_bytes })
    }

    /// Checks what comes before the range of a call.
    async fn change_range(
        &self,
        call: Call<'_>,
        file: FileId,
        range: Result<Range<u64>, FsError>,
        change: impl FnOnce(&mut State, Owner, Range<u64>) -> Result<Changed, FsError>,
    ) -> Result<Changed, FsError> {
        let owner = self.owner(file);
        self.change(|state| {
            state.changeable(call, owner)?;
            change(state, owner, range?)
        })
        .await
    }
}

/// Range that is not empty, and lies in the largest file.
fn range(offset_bytes: u64, length_bytes: u64) -> Result<Range<u64>, FsError> {
    if length_bytes == 0 {
        return Err(FsError::BadRange);
    }
    Ok(offset_bytes..LIMITS.end(offset_bytes, length_bytes)?)
}

impl FileSystem for MemoryFileSystem {
    fn id(&self) -> FileSystemId {
        self.id
    }

    fn root(&self) -> FileId {
        ROOT
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn read_only(&self) -> bool {
        self.engine.view(|state| state.share(self.id).map(|share| share.read_only)) == Ok(true)
    }

    fn write_verifier(&self) -> WriteVerifier {
        self.engine.write_verifier()
    }

    async fn capacity(&self) -> Result<Capacity, FsError> {
        self.view(|state| state.capacity(self.id)).await
    }

    async fn lookup(&self, call: Call<'_>, directory: FileId, name: &Name) -> Result<Found, FsError> {
        self.view(|state| state.lookup(call, self.owner(directory), name)).await
    }

    async fn parent(&self, call: Call<'_>, directory: FileId) -> Result<Attributes, FsError> {
        self.view(|state| state.parent(call, self.owner(directory))).await
    }

    async fn read_directory(
        &self,
        call: Call<'_>,
        directory: FileId,
        after: Cookie,
        most: usize,
        attributes: bool,
    ) -> Result<Listing, FsError> {
        let most = most.min(LIMITS.listed_entries);
        self.view(|state| state.list(call, self.owner(directory), after, most, attributes)).await
    }

    async fn create(&self, call: Call<'_>, directory: FileId, name: &Name, new: &New) -> Result<Created, FsError> {
        self.change(|state| state.create(call, self.owner(directory), name, new, &LIMITS)).await
    }

    async fn link(&self, call: Call<'_>, file: FileId, to: Place<'_>) -> Result<Linked, FsError> {
        let directory = self.owner(to.directory);
        self.change(|state| state.link(call, self.owner(file), directory, to.name, &LIMITS)).await
    }

    async fn remove(
        &self,
        call: Call<'_>,
        from: Place<'_>,
        removes: Removes,
        expect: Expect,
    ) -> Result<Removed, FsError> {
        self.change(|state| state.remove(call, self.owner(from.directory), from.name, removes, expect)).await
    }

    async fn rename(&self, call: Call<'_>, from: Place<'_>, to: Place<'_>, expect: Expect) -> Result<Renamed, FsError> {
        self.change(|state| state.rename(call, self.id, (from, to), expect)).await
    }

    async fn read_link(&self, file: FileId) -> Result<(LinkTarget, Attributes), FsError> {
        self.view(|state| state.read_link(self.owner(file))).await
    }

    async fn hold(&self, file: FileId) -> Result<Attributes, FsError> {
        self.view(|state| state.hold(self.owner(file))).await
    }

    async fn release(&self, file: FileId) -> Result<(), FsError> {
        self.change(|state| state.release(self.owner(file))).await
    }

    async fn drop_unheld(&self) -> Result<u64, FsError> {
        self.change(|state| state.drop_unheld(self.id)).await
    }

    /// No call takes several steps.
    async fn delete_abandoned(&self) -> Result<u64, FsError> {
        Ok(0)
    }

    async fn attributes(&self, file: FileId) -> Result<Attributes, FsError> {
        self.view(|state| state.attributes(self.owner(file))).await
    }

    async fn set_attributes(
        &self,
        call: Call<'_>,
        file: FileId,
        set: &SetAttributes,
        guard: Option<Timestamp>,
    ) -> Result<Changed, FsError> {
        self.change(|state| state.set_attributes(call, self.owner(file), set, guard, &LIMITS)).await
    }

    async fn space(&self, file: FileId) -> Result<Space, FsError> {
        self.view(|state| state.space(self.owner(file))).await
    }

    async fn read(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u32,
    ) -> Result<Content, FsError> {
        self.engine.pause().await;
        self.engine.check_readable(self.owner(file))?;
        self.engine.view(|state| state.read(call, self.owner(file), offset_bytes, length_bytes, &LIMITS))
    }

    async fn write(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        data: Payload,
        stability: Stability,
    ) -> Result<Changed, FsError> {
        self.engine.pause().await;
        self.engine.gate().await;
        let durable = stability == Stability::Durable && !self.engine.lies(Lie::DurableIsUnstable);
        if !durable {
            self.engine.keep();
        }
        let written = self.engine.view(|state| state.write(call, self.owner(file), offset_bytes, &data, &LIMITS))?;
        if durable {
            self.engine.make_durable();
        }
        Ok(written)
    }

    async fn commit(&self, file: FileId) -> Result<Attributes, FsError> {
        self.engine.pause().await;
        self.engine.gate().await;
        let attributes = self.engine.view(|state| {
            let attributes = state.attributes(self.owner(file))?;
            FsError::need_file(attributes.kind).map(|()| attributes)
        })?;
        if !self.engine.lies(Lie::CommitsAreIgnored) {
            self.engine.make_durable();
        }
        Ok(attributes)
    }

    async fn seek(&self, call: Call<'_>, file: FileId, offset_bytes: u64, what: Seek) -> Result<Sought, FsError> {
        self.view(|state| state.seek(call, self.owner(file), offset_bytes, what)).await
    }

    async fn zero(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError> {
        let range = range(offset_bytes, length_bytes);
        self.change_range(call, file, range, |state, owner, range| state.zero(call, owner, range)).await
    }

    async fn allocate(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError> {
        let range = range(offset_bytes, length_bytes);
        self.change_range(call, file, range, |state, owner, range| state.allocate(call, owner, range)).await
    }

    async fn deallocate(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError> {
        let end = offset_bytes.checked_add(length_bytes).filter(|_| length_bytes > 0);
        let range = end.map(|end| offset_bytes..end).ok_or(FsError::BadRange);
        self.change_range(call, file, range, |state, owner, range| state.deallocate(call, owner, range)).await
    }

    async fn clone_range(
        &self,
        call: Call<'_>,
        source: Source<'_, Self>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Changed, FsError> {
        let from = self.source(&source)?;
        self.change(|state| state.clone_range(call, &from, self.owner(file), offset_bytes, &LIMITS)).await
    }

    async fn copy_range(
        &self,
        call: Call<'_>,
        source: Source<'_, Self>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Copied, FsError> {
        let from = self.source(&source)?;
        self.engine.check_readable(from.file)?;
        self.change(|state| state.copy_range(call, &from, self.owner(file), offset_bytes, &LIMITS)).await
    }

    async fn xattr(&self, call: Call<'_>, file: FileId, name: &XattrName) -> Result<Bytes, FsError> {
        self.view(|state| state.xattr(call, self.owner(file), name)).await
    }

    async fn set_xattr(
        &self,
        call: Call<'_>,
        file: FileId,
        name: &XattrName,
        value: Bytes,
        how: SetXattr,
    ) -> Result<Changed, FsError> {
        self.change(|state| state.set_xattr(call, self.owner(file), (name, &value), how, &LIMITS)).await
    }

    async fn xattr_names(&self, call: Call<'_>, file: FileId) -> Result<Vec<XattrName>, FsError> {
        self.view(|state| state.xattr_names(call, self.owner(file))).await
    }

    async fn remove_xattr(&self, call: Call<'_>, file: FileId, name: &XattrName) -> Result<Changed, FsError> {
        self.change(|state| state.remove_xattr(call, self.owner(file), name)).await
    }
}
