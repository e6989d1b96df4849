//! Files of the shares as administration sees them ([`LiveFiles`]), over the file systems that the NFS server has
//! open.

mod description;
mod path;
mod refusal;

use super::Nfs;
use super::file_system::ShareFiles;
use super::service::timestamp;
use block::BlockDevice;
use control::{
    CapturedFile, FileAttributes, FileCall, FileInfo, FileListing, FilePart, FilePlace, FileRange, FileRefusal,
    FileSource, LiveFiles,
};
use description::{info, list};
use files::{Object, WholeSource};
use media::Media;
use nfs_server::{Offloaded, Refusal, work};
use path::{Target, locate, locate_new, regular};
use pool_files::{Captured, capture_file};
use refusal::refused;
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use unit::{OffloadClient, OffloadWork, Primitive};
use vfs::{Call, Caller, Changed, Created, FileSystem, FsError, Place, SetAttributes};

/// Permission bits of a file whose content is that of a volume.
const MODE_OF_VOLUME: u16 = 0o600;

/// Primitives of the calls, with the operations of NFS that have the same effect.
const CLONE: (Primitive, &str) = (Primitive::Clone, "CLONE");
const RESERVE: (Primitive, &str) = (Primitive::Reserve, "ALLOCATE");
const PUNCH: (Primitive, &str) = (Primitive::Free, "DEALLOCATE");

/// Change of the space of a range.
#[derive(Clone, Copy)]
enum SpaceChange {
    Reserve,
    Punch,
}

/// Files of all shares.
pub(crate) struct AllFiles<M: Media + 'static>(pub Rc<Nfs<M>>);

impl<M: Media + 'static> fmt::Debug for AllFiles<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AllFiles")
    }
}

impl<M: Media + 'static> Clone for AllFiles<M> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<M: Media + 'static> AllFiles<M> {
    /// File system of a place.
    fn open(&self, place: &FilePlace) -> Result<Rc<ShareFiles<M>>, FileRefusal> {
        let reactor = &self.0.reactor;
        let record = reactor.directory().share_of(place.share).cloned().ok_or(FileRefusal::Gone)?;
        Ok(match place.snapshot {
            None => self.0.file_system(&record),
            Some(snapshot) => self.0.snapshot_file_system(&record, snapshot),
        })
    }

    /// Runs a call of the administration on the file system of a place.
    fn run<T: 'static, W: Future<Output = Result<T, FileRefusal>>>(
        &self,
        place: FilePlace,
        work: impl FnOnce(Self, Rc<ShareFiles<M>>, FilePlace) -> W + 'static,
    ) -> FileCall<T> {
        let all = self.clone();
        Box::pin(async move {
            let files = all.open(&place)?;
            work(all, files, place).await
        })
    }

    /// Changes the space of a range that is not empty.
    fn change_space(&self, at: FilePlace, range: FileRange, change: SpaceChange) -> FileCall<FileInfo> {
        self.run(at, async move |all, files, at| {
            let caller = Caller::root();
            let call = Call::new(&caller, all.now());
            let found = regular(&*files, call, &at).await?;
            let (offset, length) = (range.offset_bytes, range.length_in(found.size_bytes, &at.shown)?);
            let changed = match change {
                SpaceChange::Reserve => {
                    let reserving = files.allocate(call, found.file, offset, length);
                    all.counted(&at, RESERVE, reserving, |_| work::reserved(length)).await
                }
                SpaceChange::Punch => {
                    let grain = files.limits().grain_bytes.into();
                    let punching = files.deallocate(call, found.file, offset, length);
                    let freed = |of: &Changed| work::freed(offset, length, of.after.size_bytes, grain);
                    all.counted(&at, PUNCH, punching, freed).await
                }
            };
            let after = changed.map_err(|error| of_range(error, range, &at))?.after;
            info(&*files, &at, &after, true).await
        })
    }

    /// Executes an offload operation on a place, and counts it as one of an NFS client. `work`: of its result.
    async fn counted<T>(
        &self,
        at: &FilePlace,
        (primitive, operation): (Primitive, &'static str),
        executed: impl Future<Output = Result<T, FsError>>,
        work: impl FnOnce(&T) -> OffloadWork,
    ) -> Result<T, FsError> {
        let statistics = self.0.statistics();
        let begun_ns = statistics.now_ns();
        let result = executed.await;
        let duration_ns = statistics.now_ns().saturating_sub(begun_ns);
        let object = at.snapshot.unwrap_or(at.share);
        let counted = self.0.service.shares().borrow().by_object(object.0).and_then(|share| share.counted.clone());
        // The share may have been deleted since the operation began.
        let Some(counted) = counted else { return result };
        let work = result.as_ref().map(work);
        let outcome = match &work {
            Ok(work) => Ok(work),
            Err(error) => Err(Refusal::of_error(&format!("file {}", at.shown), error)),
        };
        let ended = Offloaded { client: OffloadClient::Api, primitive, operation, duration_ns, result: outcome };
        statistics.offloaded(&counted, ended);
        result
    }

    /// Time of a call.
    fn now(&self) -> vfs::Timestamp {
        timestamp(self.0.reactor.environment.now())
    }
}

impl<M: Media + 'static> LiveFiles for AllFiles<M> {
    fn list(&self, at: FilePlace, part: FilePart) -> FileCall<FileListing> {
        self.run(at, async move |all, files, at| {
            let caller = Caller::root();
            list(&*files, Call::new(&caller, all.now()), &at, part).await
        })
    }

    fn show(&self, at: FilePlace) -> FileCall<FileInfo> {
        self.run(at, async move |all, files, at| {
            let caller = Caller::root();
            let found = locate(&*files, Call::new(&caller, all.now()), &at).await?;
            info(&*files, &at, &found, true).await
        })
    }

    fn create(&self, at: FilePlace, source: FileSource, attributes: FileAttributes) -> FileCall<FileInfo> {
        self.run(at, async move |all, files, at| {
            let caller = Caller::root();
            let call = Call::new(&caller, all.now());
            let Target { directory, name } = locate_new(&*files, call, &at).await?;
            let owner = attributes.owner.unzip();
            let set =
                SetAttributes { mode: attributes.mode, user: owner.0, group: owner.1, ..SetAttributes::default() };
            let place = Place { directory: directory.file, name: &name };
            let cloned = |created: &Created| work::cloned(created.file.size_bytes);
            let created = match source {
                FileSource::File(from) => {
                    let theirs = all.open(&from)?;
                    let file = regular(&*theirs, call, &from).await?.file;
                    let whole = WholeSource::File { files: &*theirs, file };
                    all.counted(&at, CLONE, files.create_sharing(call, place, &set, whole), cloned).await
                }
                FileSource::Volume { object, size_bytes } => {
                    let set = SetAttributes {
                        mode: set.mode.or(Some(MODE_OF_VOLUME)),
                        user: set.user.or(Some(directory.user)),
                        group: set.group.or(Some(directory.group)),
                        ..set
                    };
                    let whole = WholeSource::Object { object: Object(object.0), size_bytes };
                    all.counted(&at, CLONE, files.create_sharing(call, place, &set, whole), cloned).await
                }
            };
            let created = created.map_err(|error| refused(error, &at.shown))?;
            info(&*files, &at, &created.file, true).await
        })
    }

    fn capture(&self, at: FilePlace) -> FileCall<CapturedFile> {
        self.run(at, async move |all, files, at| {
            let caller = Caller::root();
            let call = Call::new(&caller, all.now());
            let file = regular(&*files, call, &at).await?.file;
            let cloned = |captured: &Captured| work::cloned(captured.size_bytes);
            let captured = all.counted(&at, CLONE, capture_file(&files, call, file), cloned).await;
            let Captured { capture, size_bytes } = captured.map_err(|error| refused(error, &at.shown))?;
            let object = all.0.reactor.pool.volume(capture);
            Ok(CapturedFile::new(capture, size_bytes, move || object.discard()))
        })
    }

    fn reserve(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo> {
        self.change_space(at, range, SpaceChange::Reserve)
    }

    fn punch(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo> {
        self.change_space(at, range, SpaceChange::Punch)
    }
}

/// Refusal of a change of a range.
fn of_range(error: FsError, range: FileRange, at: &FilePlace) -> FileRefusal {
    match error {
        FsError::BadRange => range.impossible(&at.shown).into(),
        error => refused(error, &at.shown),
    }
}
