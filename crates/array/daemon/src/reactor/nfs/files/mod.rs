//! Files of the shares as administration sees them ([`LiveFiles`]), over the file systems that the NFS server has
//! open.

mod description;
mod path;
mod refusal;

use super::Nfs;
use super::file_system::ShareFiles;
use super::service::timestamp;
use control::{
    CapturedFile, FileAttributes, FileCall, FileError, FileInfo, FileListing, FilePart, FilePlace, FileRange,
    FileRefusal, FileSource, LiveFiles,
};
use description::{info, list};
use files::{Object, WholeSource};
use media::Media;
use path::{Target, locate, locate_new, regular};
use pool_files::{Captured, capture_file};
use refusal::refused;
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use vfs::{Attributes, Call, Caller, FileSystem, FsError, Place, SetAttributes};

/// Permission bits of a file whose content is that of a volume.
const MODE_OF_VOLUME: u16 = 0o600;

/// Change of the space of a range.
#[derive(Clone, Copy)]
enum SpaceChange {
    Reserve,
    Punch,
}

/// Files of all shares.
pub(in super::super) struct AllFiles<M: Media + 'static>(pub Rc<Nfs<M>>);

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
            let length = length_of(range, &found, &at)?;
            let changed = match change {
                SpaceChange::Reserve => files.allocate(call, found.file, range.offset_bytes, length).await,
                SpaceChange::Punch => files.deallocate(call, found.file, range.offset_bytes, length).await,
            };
            let after = changed.map_err(|error| of_range(error, range, &at))?.after;
            info(&*files, &at, &after, true).await
        })
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
            let created = match source {
                FileSource::File(from) => {
                    let theirs = all.open(&from)?;
                    let file = regular(&*theirs, call, &from).await?.file;
                    let whole = WholeSource::File { files: &*theirs, file };
                    files.create_sharing(call, place, &set, whole).await
                }
                FileSource::Volume { object, size_bytes } => {
                    let set = SetAttributes {
                        mode: set.mode.or(Some(MODE_OF_VOLUME)),
                        user: set.user.or(Some(directory.user)),
                        group: set.group.or(Some(directory.group)),
                        ..set
                    };
                    let whole = WholeSource::Object { object: Object(object.0), size_bytes };
                    files.create_sharing(call, place, &set, whole).await
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
            let captured = capture_file(&files, call, file).await;
            let Captured { capture, size_bytes } = captured.map_err(|error| refused(error, &at.shown))?;
            Ok(CapturedFile { capture, size_bytes })
        })
    }

    fn reserve(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo> {
        self.change_space(at, range, SpaceChange::Reserve)
    }

    fn punch(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo> {
        self.change_space(at, range, SpaceChange::Punch)
    }
}

fn invalid(range: FileRange, at: &FilePlace) -> FileError {
    let FileRange { offset_bytes, length_bytes } = range;
    FileError::InvalidRange { path: at.shown.clone(), offset_bytes, length_bytes: length_bytes.unwrap_or_default() }
}

/// Length of a range that is not empty.
fn length_of(range: FileRange, file: &Attributes, at: &FilePlace) -> Result<u64, FileError> {
    let length = range.length_bytes.unwrap_or(file.size_bytes.saturating_sub(range.offset_bytes));
    if length == 0 { Err(invalid(range, at)) } else { Ok(length) }
}

/// Refusal of a change of a range.
fn of_range(error: FsError, range: FileRange, at: &FilePlace) -> FileRefusal {
    match error {
        FsError::BadRange => invalid(range, at).into(),
        error => refused(error, &at.shown),
    }
}
