//! The contract: [`FileSystem`].

use crate::{
    Attributes, Call, Capacity, Changed, Content, Cookie, Copied, Created, Expect, FileId, FileSystemId, Found,
    FsError, Limits, LinkTarget, Linked, Listing, Name, New, Payload, Place, Removed, Removes, Renamed, Seek,
    SetAttributes, Sought, Source, Space, Stability, Timestamp, WriteVerifier, XattrName,
};
use bytes::Bytes;

/// Reaction of [`FileSystem::set_xattr`] to a name that exists or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetXattr {
    /// Sets it in both cases.
    Either,
    /// [`FsError::XattrExists`] if it exists.
    Create,
    /// [`FsError::NoXattr`] if it does not.
    Replace,
}

/// A file system.
///
/// **Who checks what.** The caller has checked its own rules: exports, opens, locks. The file system
/// checks that the file exists ([`FsError::Stale`]), kinds, mode bits ([`crate::policy`]), names
/// against its entries, ranges and limits. Identifiers and ranges may be any values. Errors are found in
/// this order: read-only file system, missing file, kind, permission, ranges, names, space.
///
/// **One step.** Each call takes effect at one instant between call and return, and is atomic against
/// every other call. A failed call has changed nothing; [`FsError::Stopped`] alone leaves that open.
/// Attributes in a result are those of that instant; [`Changed`] has those just before it.
///
/// **Durability.** When a changing call returns, its effect is durable, except a write with
/// [`Stability::Unstable`] and access times. Changes become durable in the order in which they took
/// effect: after a crash the file system is the result of the first n changes, all acknowledged durable
/// ones among them. A call that takes effect later is durable later, so a caller that acts on something
/// not yet durable never gets an acknowledgement that outlives it.
///
/// **Identity.** A [`FileId`] names one file for the life of the file system; it is never reused, not
/// after the file was deleted, not after a crash, a restart, or a roll-back to a snapshot.
///
/// **Change.** Each change of a file gives it a larger [`crate::ChangeValue`] and a later
/// [`Attributes::changed`]. Values of lost changes are not reused. Access times are no change.
///
/// **Content.** Bytes that were never written are zero, and so are those behind the end: a file that
/// grows shows no old bytes. A grain of zeros is not stored, so it reads as a hole.
///
/// **Dropping a future** does not undo a call that took effect. It may leave space in use until
/// [`FileSystem::delete_abandoned`].
pub trait FileSystem {
    /// Identity of the file system.
    fn id(&self) -> FileSystemId;

    /// The root directory. It exists always, and is its own parent.
    fn root(&self) -> FileId;

    /// Limits.
    fn limits(&self) -> Limits;

    /// True when every change is refused with [`FsError::ReadOnly`] (a snapshot).
    fn read_only(&self) -> bool;

    /// Verifier of unstable writes: constant while the file system is open, another after each start.
    fn write_verifier(&self) -> WriteVerifier;

    /// Space and files of the file system. Follows each change at once.
    async fn capacity(&self) -> Result<Capacity, FsError>;

    // ---- Names

    /// Looks a name up. Needs execute permission for the directory.
    async fn lookup(&self, call: Call<'_>, directory: FileId, name: &Name) -> Result<Found, FsError>;

    /// Parent of a directory; the root's is the root. Needs execute permission for the directory.
    async fn parent(&self, call: Call<'_>, directory: FileId) -> Result<Attributes, FsError>;

    /// Lists entries behind a cookie: the first ones by cookie, at least one unless none follows, at most
    /// `most` (≥ 1) and [`Limits::listed_entries`]. Needs read permission for the directory.
    ///
    /// * `after` is any value, not only the cookie of an entry that exists.
    /// * An entry that exists from the first to the last call of a listing is listed exactly once,
    ///   whatever changes beside it. One that is created or removed meanwhile, at most once.
    /// * `attributes`: whether entries have them. That needs no permission beyond the listing's.
    async fn read_directory(
        &self,
        call: Call<'_>,
        directory: FileId,
        after: Cookie,
        most: usize,
        attributes: bool,
    ) -> Result<Listing, FsError>;

    /// Creates a file, or returns the one that exists ([`crate::Exclusive`]). Needs write and execute
    /// permission for the directory; execute permission is enough if the file exists.
    ///
    /// * The new file, its attributes, its name and the directory's change are one step.
    /// * [`FsError::NotOwner`]: attributes that the caller could not set on its own file.
    async fn create(&self, call: Call<'_>, directory: FileId, name: &Name, new: &New) -> Result<Created, FsError>;

    /// Gives a file one more name. Not for directories ([`FsError::IsDirectory`]), and not for a file
    /// without a name ([`FsError::NotFound`]).
    async fn link(&self, call: Call<'_>, file: FileId, to: Place<'_>) -> Result<Linked, FsError>;

    /// Removes a name, and with the last one the file: at once, or when its last hold ends. Its content is
    /// freed in the background; [`Self::capacity`] counts it as free at once.
    ///
    /// * [`FsError::NotEmpty`]: a directory with entries.
    /// * `expect`: checked before the kind; [`FsError::NotFound`] comes first.
    async fn remove(
        &self,
        call: Call<'_>,
        from: Place<'_>,
        removes: Removes,
        expect: Expect,
    ) -> Result<Removed, FsError>;

    /// Moves a file from one name to another, and replaces the file that has the other name. The
    /// replacement is atomic: at every instant the other name leads to the old file or to the new one.
    ///
    /// * Both names lead to one file: a success that changes nothing.
    /// * A directory replaces an empty directory only ([`FsError::NotDirectory`],
    ///   [`FsError::NotEmpty`]), another file no directory ([`FsError::IsDirectory`]).
    /// * [`FsError::IntoItself`]: the new name lies in the directory itself or below it.
    /// * A directory that gets another parent needs write permission for itself.
    /// * `expect`: about the new name.
    async fn rename(&self, call: Call<'_>, from: Place<'_>, to: Place<'_>, expect: Expect) -> Result<Renamed, FsError>;

    /// Target of a symbolic link, as stored. [`FsError::WrongKind`], and [`FsError::IsDirectory`], for
    /// other files. Needs no permission.
    async fn read_link(&self, file: FileId) -> Result<(LinkTarget, Attributes), FsError>;

    // ---- Holds

    /// Holds a regular file: without a name it continues to exist until [`Self::release`] was called as
    /// often as this. Holds do not outlive a run; files without a name that were held do, until
    /// [`Self::drop_unheld`]. Needs no permission.
    async fn hold(&self, file: FileId) -> Result<Attributes, FsError>;

    /// Ends one hold. The last one of a file without a name deletes it. Without a hold:
    /// [`FsError::Stale`].
    async fn release(&self, file: FileId) -> Result<(), FsError>;

    /// Deletes all files that have neither a name nor a hold. A start leaves such files, so that those
    /// who held them can do so again; the caller ends that time. Returns the number of deleted files.
    async fn drop_unheld(&self) -> Result<u64, FsError>;

    /// Deletes the files without a name that dropped calls needed while they lasted, and those that a call
    /// could not delete at its end. Calls in progress keep theirs. The caller repeats this at least every few
    /// seconds. Returns the number of deleted files. After an error the next call begins with another file.
    async fn delete_abandoned(&self) -> Result<u64, FsError>;

    // ---- Attributes

    /// Attributes. Needs no permission.
    async fn attributes(&self, file: FileId) -> Result<Attributes, FsError>;

    /// Sets attributes, all or none ([`crate::policy::set_attributes`]).
    ///
    /// * `guard`: [`FsError::GuardMismatch`] if the file's [`Attributes::changed`] is another.
    /// * A call that sets nothing changes nothing.
    async fn set_attributes(
        &self,
        call: Call<'_>,
        file: FileId,
        set: &SetAttributes,
        guard: Option<Timestamp>,
    ) -> Result<Changed, FsError>;

    /// Space of a file. Its `freed_bytes` may need a walk of everything that is mapped.
    async fn space(&self, file: FileId) -> Result<Space, FsError>;

    // ---- Content of regular files. Other kinds: `IsDirectory`, `WrongKind`.

    /// Reads content, as much as there is: less than `length_bytes` only up to the end of the file. A
    /// start behind the end is a success without content. At most [`Limits::io_bytes`].
    async fn read(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u32,
    ) -> Result<Content, FsError>;

    /// Writes all of the data or nothing, at any offset; the file grows if needed. At most
    /// [`Limits::io_bytes`]. A write of no bytes changes nothing, not even times.
    async fn write(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        data: Payload,
        stability: Stability,
    ) -> Result<Changed, FsError>;

    /// Makes all changes durable that took effect before, of this file at least.
    async fn commit(&self, file: FileId) -> Result<Attributes, FsError>;

    /// Looks for data or a hole. [`FsError::BeyondEnd`]: the start is not inside the file. Holes and
    /// data begin at multiples of the grain, or at the start.
    async fn seek(&self, call: Call<'_>, file: FileId, offset_bytes: u64, what: Seek) -> Result<Sought, FsError>;

    /// Makes the range read as zeros, and frees what it can; allocations stay. The file grows if needed.
    /// The cost does not depend on the length. An empty range is [`FsError::BadRange`].
    async fn zero(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError>;

    /// Promises space for every grain that the range touches: later writes to the range do not fail
    /// because the pool is full, also after clones and snapshots. The file grows if needed; its content stays. Clones
    /// that would break a promise are refused. An empty range is [`FsError::BadRange`].
    async fn allocate(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError>;

    /// Makes the part of the range inside the file read as zeros, frees its whole grains and ends their
    /// promises. The size stays. The range may reach beyond the largest file, but not beyond 64 bits; an empty
    /// range is [`FsError::BadRange`].
    async fn deallocate(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError>;

    /// Replaces a range of the file by a range of the source, which then share storage: all or nothing,
    /// at one instant. Holes become holes. The file grows if needed.
    ///
    /// * Offsets and length are multiples of [`Limits::grain_bytes`] ([`FsError::Misaligned`]); the
    ///   length may also end with the source. Then the rest of the last grain of the destination is
    ///   zero.
    /// * Checked in this order: the source's range ([`FsError::BeyondEnd`]), the destination's end, for one
    ///   file [`FsError::Overlap`], alignment.
    /// * Allocations of the destination stay. Promises of both sides grow where content becomes shared;
    ///   if there is no space for that, [`SpaceReason::Promise`](crate::SpaceReason::Promise).
    /// * Needs the right to read the source. The source does not change.
    /// * A clone may take many steps, if offsets differ modulo large powers of two. The destination changes in the last
    ///   one, at one instant; what it gets is the source as of an earlier instant of the call. Meanwhile the file
    ///   system of the destination uses up to twice the length more than before the call. [`FsError::Replaced`]: it
    ///   was rolled back between two steps.
    /// * An empty range is a success that changes nothing, wherever it lies inside the source.
    async fn clone_range(
        &self,
        call: Call<'_>,
        source: Source<'_, Self>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Changed, FsError>
    where
        Self: Sized;

    /// Like [`Self::clone_range`], for any offsets and lengths: unaligned edges are copied as bytes. If
    /// the offsets differ modulo the grain, all is, at least 1 MiB and at most [`Limits::move_bytes`] in one call: then
    /// `done_bytes` is less than the length, and the caller continues.
    async fn copy_range(
        &self,
        call: Call<'_>,
        source: Source<'_, Self>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Copied, FsError>
    where
        Self: Sized;

    // ---- Extended attributes of regular files and directories. Other kinds: `WrongKind`. They need
    // read permission, or write permission; nothing about them is part of the content.

    /// Value of an extended attribute. [`FsError::NoXattr`]: there is none.
    async fn xattr(&self, call: Call<'_>, file: FileId, name: &XattrName) -> Result<Bytes, FsError>;

    /// Sets an extended attribute. [`FsError::XattrsTooLarge`]: beyond [`Limits::xattr_bytes`] or
    /// [`Limits::xattr_names`].
    async fn set_xattr(
        &self,
        call: Call<'_>,
        file: FileId,
        name: &XattrName,
        value: Bytes,
        how: SetXattr,
    ) -> Result<Changed, FsError>;

    /// Names of all extended attributes, ascending.
    async fn xattr_names(&self, call: Call<'_>, file: FileId) -> Result<Vec<XattrName>, FsError>;

    /// Removes an extended attribute.
    async fn remove_xattr(&self, call: Call<'_>, file: FileId, name: &XattrName) -> Result<Changed, FsError>;
}
