//! One file system under the steps of a simulation, and what can be seen of it. Files are named by handles, which are
//! the same for every file system that takes the same steps.

use super::steps::{Step, Target};
use bytes::Bytes;
use std::collections::BTreeMap;
use vfs::{
    Attributes, Call, Caller, Cookie, FileId, FileSystem, FsError, Kind, LinkTarget, Name, New, NewKind, Place,
    SetAttributes, SetXattr, Source, Stability, Timestamp, XattrName,
};

/// Number of a created file.
pub(crate) type Handle = usize;

/// What a caller sees of a file, without what file systems may decide.
pub(crate) type Seen = (Option<Handle>, Kind, u16, u32, u64, Timestamp, Timestamp);

/// A file system with the handles of its files.
pub(crate) struct World<F> {
    pub(crate) fs: F,
    pub(crate) ids: BTreeMap<Handle, FileId>,
    caller: Caller,
}

/// All that a walk finds: for each path its attributes, content, extended attributes.
pub(crate) type Image = BTreeMap<String, (Seen, u64, Vec<u8>, Vec<(Vec<u8>, Bytes)>)>;

/// Most bytes that a walk reads at a start and at an end of a file.
const READ_BYTES: u64 = 1 << 20;

pub(crate) fn name(number: u8) -> Name {
    let text = if number.is_multiple_of(5) { format!("{number}").repeat(80) } else { format!("n{number}") };
    Name::try_from(&text[..]).unwrap_or_else(|error| panic!("{error}"))
}

fn xattr_name(number: u8) -> XattrName {
    XattrName::try_from(&format!("x{number}")[..]).unwrap_or_else(|error| panic!("{error}"))
}

impl<F: FileSystem> World<F> {
    pub(crate) fn new(fs: F) -> Self {
        let ids = BTreeMap::from([(0, fs.root())]);
        Self { fs, ids, caller: Caller::root() }
    }

    fn id(&self, handle: Handle) -> FileId {
        self.ids.get(&handle).copied().unwrap_or(FileId(1 << 39))
    }

    fn handle(&self, file: FileId) -> Option<Handle> {
        self.ids.iter().find(|(_, id)| **id == file).map(|(handle, _)| *handle)
    }

    fn seen(&self, attributes: &Attributes) -> Seen {
        let Attributes { file, kind, mode, links, modified, changed, .. } = *attributes;
        let size = if kind == Kind::Directory { 0 } else { attributes.size_bytes };
        (self.handle(file), kind, mode, links, size, modified, changed)
    }

    /// Error with handles in the place of numbers.
    fn error(&self, error: FsError) -> String {
        match error {
            FsError::Exists { file, kind } => format!("exists {:?} {kind}", self.handle(file)),
            error => format!("{error:?}"),
        }
    }

    /// Takes a step. Returns what the caller sees.
    pub(crate) async fn take(&mut self, step: &Step) -> Result<Vec<Seen>, String> {
        let result = self.call(step).await;
        match result {
            Ok(attributes) => Ok(attributes.iter().map(|attributes| self.seen(attributes)).collect()),
            Err(error) => Err(self.error(error)),
        }
    }

    async fn call(&mut self, step: &Step) -> Result<Vec<Attributes>, FsError> {
        let caller = self.caller.clone();
        let call = Call::new(&caller, step.now);
        let id = |handle| self.id(handle);
        let fs = &self.fs;
        match &step.target {
            Target::Create { directory, name: text, kind, handle } => {
                let what = match kind {
                    Kind::Directory => NewKind::Directory,
                    Kind::Symlink => NewKind::Symlink(target(*text)?),
                    Kind::Fifo => NewKind::Fifo,
                    _ => NewKind::File { exclusive: vfs::Exclusive::No, hold: *text == 3 },
                };
                let attributes = SetAttributes { mode: Some(0o600), ..Default::default() };
                let created = fs.create(call, id(*directory), &name(*text), &New { what, attributes }).await?;
                if created.created {
                    self.ids.insert(*handle, created.file.file);
                }
                Ok(vec![created.file, created.directory.after])
            }
            Target::Link { file, directory, name: text } => {
                let (directory, name) = (id(*directory), name(*text));
                let linked = fs.link(call, id(*file), Place { directory, name: &name }).await?;
                Ok(vec![linked.directory.after, linked.file.after])
            }
            Target::Remove { directory, name: text } => {
                let (directory, name) = (id(*directory), name(*text));
                let from = Place { directory, name: &name };
                let removed = fs.remove(call, from, vfs::Removes::Anything, vfs::Expect::Anything).await?;
                Ok(vec![removed.directory.after, removed.file])
            }
            Target::Rename { from, to } => {
                let (old, new) = (name(from.1), name(to.1));
                let old = Place { directory: id(from.0), name: &old };
                let new = Place { directory: id(to.0), name: &new };
                let renamed = fs.rename(call, old, new, vfs::Expect::Anything).await?;
                let mut all = vec![renamed.from.after, renamed.to.after, renamed.file];
                all.extend(renamed.replaced);
                Ok(all)
            }
            Target::Write { file, offset, data, durable } => {
                let stability = if *durable { Stability::Durable } else { Stability::Unstable };
                let written = fs.write(call, id(*file), *offset, data.clone().into(), stability).await?;
                Ok(vec![written.after])
            }
            Target::Size { file, size } => {
                let set = SetAttributes { size_bytes: Some(*size), ..Default::default() };
                Ok(vec![fs.set_attributes(call, id(*file), &set, None).await?.after])
            }
            Target::Mode { file, mode } => {
                let set = SetAttributes { mode: Some(*mode), ..Default::default() };
                Ok(vec![fs.set_attributes(call, id(*file), &set, None).await?.after])
            }
            Target::Zero { file, offset, length } => Ok(vec![fs.zero(call, id(*file), *offset, *length).await?.after]),
            Target::Allocate { file, offset, length } => {
                Ok(vec![fs.allocate(call, id(*file), *offset, *length).await?.after])
            }
            Target::Deallocate { file, offset, length } => {
                Ok(vec![fs.deallocate(call, id(*file), *offset, *length).await?.after])
            }
            Target::Clone { from, to, offset, length, at } => {
                let source = Source { file_system: fs, file: id(*from), offset_bytes: *offset, length_bytes: *length };
                Ok(vec![fs.clone_range(call, source, id(*to), *at).await?.after])
            }
            Target::Copy { from, to, offset, length, at } => {
                let source = Source { file_system: fs, file: id(*from), offset_bytes: *offset, length_bytes: *length };
                Ok(vec![fs.copy_range(call, source, id(*to), *at).await?.destination.after])
            }
            Target::SetXattr { file, name, value } => {
                let name = xattr_name(*name);
                let set = fs.set_xattr(call, id(*file), &name, value.clone(), SetXattr::Either);
                Ok(vec![set.await?.after])
            }
            Target::RemoveXattr { file, name } => {
                Ok(vec![fs.remove_xattr(call, id(*file), &xattr_name(*name)).await?.after])
            }
            Target::Hold { file } => Ok(vec![fs.hold(id(*file)).await?]),
            Target::Release { file } => fs.release(id(*file)).await.map(|()| Vec::new()),
            Target::Commit { file } => Ok(vec![fs.commit(id(*file)).await?]),
            Target::DropUnheld => fs.drop_unheld().await.map(|_| Vec::new()),
            Target::Restart => Ok(Vec::new()),
        }
    }

    /// Everything: by path, and the files without a name by handle.
    pub(crate) async fn image(&self) -> Image {
        let mut image = Image::new();
        let mut queue = vec![(String::new(), self.fs.root())];
        while let Some((path, file)) = queue.pop() {
            let attributes = good(self.fs.attributes(file).await);
            let part = self.part(&attributes).await;
            image.insert(path.clone(), part);
            if attributes.kind != Kind::Directory {
                continue;
            }
            let (call, mut after) = (Call::new(&self.caller, Timestamp::default()), Cookie::START);
            loop {
                let listing = good(self.fs.read_directory(call, file, after, 7, false).await);
                for entry in &listing.entries {
                    after = entry.cookie;
                    queue.push((format!("{path}/{:?}", entry.name), entry.file));
                }
                if listing.end {
                    break;
                }
            }
        }
        for (handle, file) in &self.ids {
            match self.fs.attributes(*file).await {
                Ok(attributes) if attributes.links == 0 => {
                    image.insert(format!("#{handle}"), self.part(&attributes).await);
                }
                Ok(_) => {}
                Err(error) => assert_eq!(error, FsError::Stale),
            }
        }
        image
    }

    /// What is to be seen of one file.
    async fn part(&self, attributes: &Attributes) -> (Seen, u64, Vec<u8>, Vec<(Vec<u8>, Bytes)>) {
        let (file, call) = (attributes.file, Call::new(&self.caller, Timestamp::default()));
        let (mut content, mut xattrs) = (Vec::new(), Vec::new());
        if matches!(attributes.kind, Kind::File | Kind::Directory) {
            for name in good(self.fs.xattr_names(call, file).await) {
                let value = good(self.fs.xattr(call, file, &name).await);
                xattrs.push((name.as_bytes().to_vec(), value));
            }
        }
        match attributes.kind {
            Kind::File => {
                for start in [0, attributes.size_bytes.saturating_sub(READ_BYTES)] {
                    let read = good(self.fs.read(call, file, start, READ_BYTES as u32).await);
                    content.extend_from_slice(&read.into_bytes());
                }
            }
            Kind::Symlink => content = good(self.fs.read_link(file).await).0.bytes().to_vec(),
            _ => {}
        }
        let counts = attributes.kind == Kind::File && xattrs.is_empty();
        let used = if counts { attributes.used_bytes } else { 0 };
        (self.seen(attributes), used, content, xattrs)
    }
}

fn target(number: u8) -> Result<LinkTarget, FsError> {
    Ok(LinkTarget::new(Bytes::from(vec![b't'; usize::from(number) * 20 + 1]))?)
}

/// Result of a call that must not fail.
pub(crate) fn good<T>(result: Result<T, FsError>) -> T {
    result.unwrap_or_else(|error| panic!("a call fails: {error}"))
}
