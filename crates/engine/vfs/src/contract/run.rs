//! A file system under test, with short forms of its calls.

use super::{Fixture, Restart};
use crate::{
    Anonymous, Attributes, Call, Caller, Changed, Cookie, Created, Entry, Exclusive, Expect, FileId, FileSystem,
    FsError, Name, New, NewKind, Payload, Place, Removed, Removes, Renamed, SetAttributes, Source, Squash, Stability,
    Timestamp,
};
use bytes::Bytes;
use random::Random;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A rule's run: one file system, and a clock that moves by a second with each call.
pub(super) struct Run<F: Fixture> {
    fixture: RefCell<F>,
    file_system: RefCell<F::FileSystem>,
    seconds: Cell<i64>,
    root: Caller,
}

/// Caller without supplementary groups.
pub(super) fn user(user: u32, group: u32) -> Caller {
    Caller::new(user, group, &[], Squash::None, Anonymous { user: 0, group: 0 })
}

/// Name that is valid.
pub(super) fn name(text: &str) -> Name {
    match Name::try_from(text) {
        Ok(name) => name,
        Err(error) => panic!("{text:?}: {error}"),
    }
}

/// Bytes none of which is zero, different by `mark`.
pub(super) fn bytes(mark: u64, count: usize) -> Vec<u8> {
    let random = Random::new(mark);
    std::iter::repeat_with(|| random.byte().max(1)).take(count).collect()
}

/// Regular file that may exist.
pub(super) const FILE: NewKind = NewKind::File { exclusive: Exclusive::No, hold: false };

/// The result of a call that has to succeed.
#[track_caller]
pub(super) fn good<T>(result: Result<T, FsError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("a call fails: {error}"),
    }
}

impl<F: Fixture> Run<F> {
    pub(super) fn new(mut fixture: F) -> Self {
        let file_system = RefCell::new(fixture.create());
        Self { fixture: RefCell::new(fixture), file_system, seconds: Cell::new(1_000_000), root: user(0, 0) }
    }

    /// The file system.
    pub(super) fn fs(&self) -> F::FileSystem {
        self.file_system.borrow().clone()
    }

    /// A second file system of the engine.
    pub(super) fn another(&self) -> F::FileSystem {
        self.fixture.borrow_mut().create()
    }

    pub(super) fn foreign(&self) -> Option<F::FileSystem> {
        self.fixture.borrow_mut().foreign()
    }

    pub(super) fn leave(&self, bytes: u64) {
        self.fixture.borrow_mut().leave(bytes);
    }

    pub(super) fn restart(&self, how: Restart) {
        let restarted = self.fixture.borrow_mut().restart(self.fs(), how);
        self.file_system.replace(restarted);
    }

    pub(super) fn snapshot(&self) -> Result<F::FileSystem, FsError> {
        self.fixture.borrow_mut().snapshot(&self.fs())
    }

    pub(super) fn roll_back(&self, to: &F::FileSystem) {
        self.fixture.borrow_mut().roll_back(&self.fs(), to);
    }

    /// Polls a call until it returns.
    pub(super) fn end<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        for _ in 0..1_000_000 {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return output;
            }
            self.fixture.borrow_mut().turn();
        }
        panic!("a call never returns")
    }

    /// The next second.
    pub(super) fn now(&self) -> Timestamp {
        self.seconds.set(self.seconds.get() + 1);
        Timestamp::new(self.seconds.get(), 0).unwrap_or_default()
    }

    /// Call of user 0.
    pub(super) fn call(&self) -> Call<'_> {
        Call::new(&self.root, self.now())
    }

    /// Call of another caller.
    pub(super) fn by<'a>(&self, caller: &'a Caller) -> Call<'a> {
        Call::new(caller, self.now())
    }

    pub(super) fn root(&self) -> FileId {
        self.fs().root()
    }

    pub(super) fn create(
        &self,
        call: Call<'_>,
        directory: FileId,
        text: &str,
        what: NewKind,
        attributes: SetAttributes,
    ) -> Result<Created, FsError> {
        self.end(self.fs().create(call, directory, &name(text), &New { what, attributes }))
    }

    /// Creates a file of mode 0644, or a directory of mode 0755, that belongs to user 0.
    pub(super) fn new_in(&self, directory: FileId, text: &str, what: NewKind) -> FileId {
        let mode = Some(if matches!(what, NewKind::Directory) { 0o755 } else { 0o644 });
        good(self.create(self.call(), directory, text, what, SetAttributes { mode, ..Default::default() })).file.file
    }

    /// Creates an empty file in the root.
    pub(super) fn file(&self, text: &str) -> FileId {
        self.new_in(self.root(), text, FILE)
    }

    /// Creates a file with content in the root.
    pub(super) fn file_with(&self, text: &str, content: &[u8]) -> FileId {
        let file = self.file(text);
        self.put(file, 0, content);
        file
    }

    /// Creates a directory in the root.
    pub(super) fn directory(&self, text: &str) -> FileId {
        self.new_in(self.root(), text, NewKind::Directory)
    }

    pub(super) fn find(&self, directory: FileId, text: &str) -> Result<FileId, FsError> {
        let found = self.end(self.fs().lookup(self.call(), directory, &name(text)));
        found.map(|found| found.file.file)
    }

    pub(super) fn link(&self, file: FileId, directory: FileId, text: &str) -> Result<(), FsError> {
        let to = name(text);
        self.end(self.fs().link(self.call(), file, Place { directory, name: &to })).map(|_| ())
    }

    pub(super) fn remove(&self, directory: FileId, text: &str) -> Result<Removed, FsError> {
        self.remove_expecting(directory, text, Expect::Anything)
    }

    pub(super) fn remove_expecting(&self, directory: FileId, text: &str, expect: Expect) -> Result<Removed, FsError> {
        let from = name(text);
        let from = Place { directory, name: &from };
        self.end(self.fs().remove(self.call(), from, Removes::Anything, expect))
    }

    pub(super) fn rename(&self, from: (FileId, &str), to: (FileId, &str)) -> Result<Renamed, FsError> {
        self.rename_by(self.call(), from, to, Expect::Anything)
    }

    pub(super) fn rename_by(
        &self,
        call: Call<'_>,
        (from, old): (FileId, &str),
        (to, new): (FileId, &str),
        expect: Expect,
    ) -> Result<Renamed, FsError> {
        let (old, new) = (name(old), name(new));
        let (from, to) = (Place { directory: from, name: &old }, Place { directory: to, name: &new });
        self.end(self.fs().rename(call, from, to, expect))
    }

    pub(super) fn list(&self, directory: FileId, after: Cookie, most: usize) -> (Vec<Entry>, bool) {
        let listing = good(self.end(self.fs().read_directory(self.call(), directory, after, most, false)));
        (listing.entries, listing.end)
    }

    /// All entries, read `most` at a time.
    pub(super) fn list_all(&self, directory: FileId, most: usize) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::new();
        for _ in 0..10_000 {
            let after = all.last().map_or(Cookie::START, |last| last.cookie);
            let (entries, end) = self.list(directory, after, most);
            assert!(entries.len() <= most && (end || !entries.is_empty()), "{} entries", entries.len());
            all.extend(entries);
            if end {
                return all;
            }
        }
        panic!("a listing never ends")
    }

    pub(super) fn attributes(&self, file: FileId) -> Attributes {
        good(self.end(self.fs().attributes(file)))
    }

    pub(super) fn set(&self, call: Call<'_>, file: FileId, set: SetAttributes) -> Result<Changed, FsError> {
        self.end(self.fs().set_attributes(call, file, &set, None))
    }

    pub(super) fn resize(&self, file: FileId, size_bytes: u64) {
        good(self.set(self.call(), file, SetAttributes { size_bytes: Some(size_bytes), ..Default::default() }));
    }

    pub(super) fn write(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<Changed, FsError> {
        // In two pieces, as data arrives.
        let (first, second) = data.split_at(data.len() / 3);
        let pieces: Payload = [first, second].map(Bytes::copy_from_slice).into_iter().collect();
        self.end(self.fs().write(call, file, offset_bytes, pieces, stability))
    }

    /// Writes durably.
    pub(super) fn put(&self, file: FileId, offset_bytes: u64, data: &[u8]) {
        good(self.write(self.call(), file, offset_bytes, data, Stability::Durable));
    }

    /// Reads from any file system.
    pub(super) fn get_of(&self, fs: &F::FileSystem, file: FileId, offset_bytes: u64, length_bytes: u32) -> Vec<u8> {
        good(self.end(fs.read(self.call(), file, offset_bytes, length_bytes))).into_bytes().to_vec()
    }

    pub(super) fn get(&self, file: FileId, offset_bytes: u64, length_bytes: u32) -> Vec<u8> {
        self.get_of(&self.fs(), file, offset_bytes, length_bytes)
    }

    /// Clones within the file system.
    pub(super) fn clone_range(&self, from: (FileId, u64, Option<u64>), to: (FileId, u64)) -> Result<Changed, FsError> {
        let fs = self.fs();
        let source = Source { file_system: &fs, file: from.0, offset_bytes: from.1, length_bytes: from.2 };
        self.end(fs.clone_range(self.call(), source, to.0, to.1))
    }

    /// Free bytes of the engine, as the file system sees them.
    pub(super) fn free(&self) -> u64 {
        good(self.end(self.fs().capacity())).free_bytes
    }
}
