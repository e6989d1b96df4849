//! A share as a file system: each call is one transaction.

mod large_read;
mod long_clone;
mod whole;

pub use whole::WholeSource;

use crate::content::{self, From, LIMITS};
use crate::engine::{Durability, Engine, EngineError, Missing, Object, Outcome, View};
use crate::halt::{Halt, Step, damaged};
use crate::layout::address::{ROOT, file_of};
use crate::memory::{Effects, Memory, Root};
use crate::names::{Climb, Climbing, drop_some};
use crate::share::Share;
use bytes::Bytes;
use std::rc::Rc;
use vfs::{
    Attributes, Call, Capacity, Changed, Content, Cookie, Copied, Created, Expect, FileId, FileSystem, FileSystemId,
    Found, FsError, Limits, LinkTarget, Linked, Listing, Name, New, Payload, Place, Removed, Removes, Renamed, Seek,
    SetAttributes, SetXattr, Sought, Source, Space, SpaceReason, Stability, Timestamp, WriteVerifier, XattrName,
};

/// Inodes whose access times are written together.
const ACCESSED_TOGETHER: usize = 32;
/// Number of times that the blocks of a file are counted, as long as it changes meanwhile.
const SPACE_TRIES: u32 = 3;

/// File system of one share. Clones are handles of it; there must not be another one for the same object.
#[derive(Clone, Debug)]
pub struct Files<E> {
    engine: E,
    memory: Rc<Memory>,
}

impl<E: Engine> Files<E> {
    /// Opens a share. An object without content is an empty one, whose root has these attributes.
    pub fn open(engine: E, object: Object, root: Root, read_only: bool) -> Self {
        Self { engine, memory: Rc::new(Memory::new(object, root, read_only)) }
    }

    /// Engine below.
    pub const fn engine(&self) -> &E {
        &self.engine
    }

    /// Object of the share.
    pub fn object(&self) -> Object {
        self.memory.object()
    }

    /// Gives the share the content of another one of the same engine, which may be its snapshot. Holds and
    /// allocations end. Change values, times and numbers of files continue behind all that were given out.
    pub async fn roll_back(&self, to: &Self, now: Timestamp) -> Result<(), FsError> {
        if !self.engine.is(&to.engine) {
            return Err(FsError::ForeignSource);
        }
        let forget = |share: &mut Share<'_>, ()| {
            share.memory().forget();
            Ok(())
        };
        let hash_key = self.engine.random();
        self.run(DURABLE, |share| share.roll_back(&to.memory, now, hash_key), forget).await
    }

    /// Writes the access times that are only in memory, for a task in the background. Until they are written, or the
    /// file changes, a restart loses them, and a bounded number is kept: accesses beyond it leave no time.
    ///
    /// [`FsError::NoSpace`], [`FsError::Quota`]: the times that were not written are dropped.
    pub async fn write_access_times(&self) -> Result<(), FsError> {
        loop {
            match self.run(UNSTABLE, |share| share.write_accessed(ACCESSED_TOGETHER), same).await {
                Ok(written) if written < ACCESSED_TOGETHER => return Ok(()),
                Ok(_) => {}
                Err(error @ (FsError::NoSpace(_) | FsError::Quota)) => {
                    self.memory.forget_accessed();
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Runs one transaction: `attempt` looks and names, `finish` looks at the result.
    async fn run<D: Clone, T>(
        &self,
        kind: Kind,
        mut attempt: impl FnMut(&mut Share<'_>) -> Step<D>,
        finish: impl Fn(&mut Share<'_>, D) -> Step<T>,
    ) -> Result<T, FsError> {
        loop {
            let mut kept = None;
            let finish_or_keep = |share: &mut Share<'_>, draft: D| {
                let finished = finish(share, draft.clone());
                if matches!(finished, Err(Halt::Wait)) {
                    kept = Some(draft);
                }
                finished
            };
            let done = self.run_once(kind, &mut attempt, finish_or_keep).await;
            match (done.map_err(|error| self.error(error, kind.reason))?, kept) {
                (Ok(value), _) => return Ok(value),
                (Err(Halt::Refused(error)), _) => return Err(error),
                (Err(Halt::Exhausted), _) => self.raise().await?,
                (Err(Halt::Wait), Some(draft)) => return self.finish_later(kind, &finish, draft).await,
                (Err(Halt::Wait), None) => return Err(internal("an attempt that waits has ended")),
            }
        }
    }

    /// Looks at the result of a transaction that has taken place, some of which was not in memory then. It may show
    /// later changes, too.
    async fn finish_later<D: Clone, T>(
        &self,
        kind: Kind,
        finish: &impl Fn(&mut Share<'_>, D) -> Step<T>,
        draft: D,
    ) -> Result<T, FsError> {
        let look = |share: &mut Share<'_>| {
            share.look_later();
            finish(share, draft.clone())
        };
        self.look_as(kind, look).await
    }

    /// Runs a change that follows the way to the root before: in parts, of which each is a transaction.
    async fn run_climbing<D: Clone, T>(
        &self,
        kind: Kind,
        mut attempt: impl FnMut(&mut Share<'_>, Option<Climb>) -> Step<Climbing<D>>,
        finish: impl Fn(&mut Share<'_>, D) -> Step<T>,
    ) -> Result<T, FsError> {
        let mut known = None;
        loop {
            let finish = |share: &mut Share<'_>, draft: Climbing<D>| match draft {
                Ok(draft) => finish(share, draft).map(Ok),
                Err(climb) => Ok(Err(climb)),
            };
            match self.run(kind, |share| attempt(share, known), finish).await? {
                Ok(done) => return Ok(done),
                Err(climb) => known = Some(climb),
            }
        }
    }

    async fn run_once<D, T>(
        &self,
        kind: Kind,
        mut attempt: impl FnMut(&mut Share<'_>) -> Step<D>,
        finish: impl FnOnce(&mut Share<'_>, D) -> Step<T>,
    ) -> Result<Step<T>, EngineError> {
        let memory = &*self.memory;
        let attempt = |view: &mut dyn View| {
            let mut share = Share::new(view, memory, kind.counts_used);
            match attempt(&mut share) {
                Ok(draft) => Ok(succeeded(share.outcome(draft))),
                Err(Halt::Wait) => Err(Missing::Wait),
                Err(halt) => Ok(Outcome::Nothing(Err(halt))),
            }
        };
        let after = |view: &mut dyn View, result: Step<(D, Effects)>| {
            let (draft, effects) = result?;
            memory.apply(&effects);
            finish(&mut Share::new(view, memory, kind.counts_used), draft)
        };
        self.engine.run(kind.durability, attempt, after).await
    }

    /// Reserves further numbers of files and change values, durably.
    async fn raise(&self) -> Result<(), FsError> {
        let hash_key = self.engine.random();
        let raised = self.run_once(DURABLE, |share| share.raise(hash_key), same).await;
        match raised.map_err(|error| self.error(error, SpaceReason::Pool))? {
            Ok((before, after)) => {
                self.memory.raise(before, after);
                Ok(())
            }
            Err(Halt::Refused(error)) => Err(error),
            Err(_) => Err(internal("high waters cannot be raised")),
        }
    }

    fn error(&self, error: EngineError, reason: SpaceReason) -> FsError {
        match error {
            EngineError::NoSpace => FsError::NoSpace(reason),
            EngineError::Ceiling => FsError::Quota,
            EngineError::Gone => FsError::Gone,
            EngineError::ReadOnly => FsError::ReadOnly,
            EngineError::Damaged { block, .. } => damaged_block(block),
            EngineError::Internal { reason } => FsError::Internal { reason },
            EngineError::Stopped { reason } => FsError::Stopped { reason },
        }
    }

    /// Runs a call that changes nothing durable.
    pub(crate) async fn look<T>(&self, look: impl FnMut(&mut Share<'_>) -> Step<T>) -> Result<T, FsError> {
        self.look_as(UNSTABLE, look).await
    }

    /// [`Self::look`], with the attributes that the kind wants.
    async fn look_as<T>(&self, kind: Kind, mut look: impl FnMut(&mut Share<'_>) -> Step<T>) -> Result<T, FsError> {
        let found = match self.look_at_once(kind, &mut look) {
            Some(found) => found,
            None => self.run_once(Kind { durability: Durability::Unstable, ..kind }, look, same).await,
        };
        match found.map_err(|error| self.error(error, SpaceReason::Pool))? {
            Ok(value) => Ok(value),
            Err(Halt::Refused(error)) => Err(error),
            Err(Halt::Exhausted | Halt::Wait) => Err(internal("a look has ended without a result")),
        }
    }

    /// Looks without a transaction. `None` if something is not in memory.
    fn look_at_once<T>(
        &self,
        kind: Kind,
        look: &mut impl FnMut(&mut Share<'_>) -> Step<T>,
    ) -> Option<Result<Step<T>, EngineError>> {
        let mut effects = None;
        let found = self.engine.try_look(|view| {
            let mut share = Share::new(view, &self.memory, kind.counts_used);
            match look(&mut share) {
                Ok(value) => {
                    effects = share.into_effects();
                    Ok(Ok(value))
                }
                Err(Halt::Wait) => Err(Missing::Wait),
                Err(halt) => Ok(Err(halt)),
            }
        })?;
        if let (Ok(Ok(_)), Some(effects)) = (&found, effects) {
            self.memory.apply(&effects);
        }
        Some(found)
    }

    /// Source of a clone or copy.
    fn source<'a>(&self, source: &Source<'a, Self>) -> Result<From<'a>, FsError> {
        if !self.engine.is(&source.file_system.engine) {
            return Err(FsError::ForeignSource);
        }
        Ok(From {
            memory: &source.file_system.memory,
            file: source.file,
            offset_bytes: source.offset_bytes,
            length_bytes: source.length_bytes,
        })
    }
}

fn internal(reason: &str) -> FsError {
    FsError::Internal { reason: reason.to_owned() }
}

/// How a transaction runs.
#[derive(Clone, Copy)]
struct Kind {
    durability: Durability,
    /// Reason that is reported if there is no space.
    reason: SpaceReason,
    /// Whether attributes state the bytes in use.
    counts_used: bool,
}

impl Kind {
    const fn new(durability: Durability, reason: SpaceReason) -> Self {
        Self { durability, reason, counts_used: true }
    }

    /// The same with the attributes that a call wants.
    const fn of(self, call: Call<'_>) -> Self {
        Self { counts_used: call.counts_used, ..self }
    }
}

/// A durable change, which may need blocks of the pool.
const DURABLE: Kind = Kind::new(Durability::Durable, SpaceReason::Pool);
/// A durable change, which may need promises of space.
const PROMISING: Kind = Kind::new(Durability::Durable, SpaceReason::Promise);
/// A change that need not be durable, or that a later one makes durable.
const UNSTABLE: Kind = Kind::new(Durability::Unstable, SpaceReason::Pool);

/// Error for a block that a change needs: with its file, where its address names one.
fn damaged_block(block: u64) -> FsError {
    match file_of(block) {
        Some(file) => damaged(file),
        None => FsError::Internal { reason: format!("block {block:#x} of the share cannot be read") },
    }
}

fn same<T>(_: &mut Share<'_>, value: T) -> Step<T> {
    Ok(value)
}

fn succeeded<T>(outcome: Outcome<T>) -> Outcome<Step<T>> {
    match outcome {
        Outcome::Commit(value) => Outcome::Commit(Ok(value)),
        Outcome::Nothing(value) => Outcome::Nothing(Ok(value)),
    }
}

impl<E: Engine> FileSystem for Files<E> {
    fn id(&self) -> FileSystemId {
        FileSystemId(self.memory.object().0)
    }

    fn root(&self) -> FileId {
        ROOT
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn read_only(&self) -> bool {
        self.memory.read_only()
    }

    fn write_verifier(&self) -> WriteVerifier {
        WriteVerifier(self.engine.incarnation())
    }

    async fn capacity(&self) -> Result<Capacity, FsError> {
        self.look(|share| share.capacity()).await
    }

    async fn lookup(&self, call: Call<'_>, directory: FileId, name: &Name) -> Result<Found, FsError> {
        self.look_as(UNSTABLE.of(call), |share| share.lookup(call, directory, name)).await
    }

    async fn parent(&self, call: Call<'_>, directory: FileId) -> Result<Attributes, FsError> {
        self.look_as(UNSTABLE.of(call), |share| share.parent(call, directory)).await
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
        self.look_as(UNSTABLE.of(call), |share| share.list(call, directory, after, most, attributes)).await
    }

    async fn create(&self, call: Call<'_>, directory: FileId, name: &Name, new: &New) -> Result<Created, FsError> {
        let attempt = |share: &mut Share<'_>, known: Option<Climb>| share.create(call, directory, name, new, known);
        self.run_climbing(DURABLE.of(call), attempt, |share, draft| draft.finish(share)).await
    }

    async fn link(&self, call: Call<'_>, file: FileId, to: Place<'_>) -> Result<Linked, FsError> {
        self.run(DURABLE.of(call), |share| share.link(call, file, to), |share, draft| draft.finish(share)).await
    }

    async fn remove(
        &self,
        call: Call<'_>,
        from: Place<'_>,
        removes: Removes,
        expect: Expect,
    ) -> Result<Removed, FsError> {
        let attempt = |share: &mut Share<'_>| share.remove(call, from, removes, expect);
        self.run(DURABLE.of(call), attempt, |share, draft| draft.finish(share)).await
    }

    async fn rename(&self, call: Call<'_>, from: Place<'_>, to: Place<'_>, expect: Expect) -> Result<Renamed, FsError> {
        let attempt = |share: &mut Share<'_>, known: Option<Climb>| share.rename(call, (from, to), expect, known);
        self.run_climbing(DURABLE.of(call), attempt, |share, draft| draft.finish(share)).await
    }

    async fn read_link(&self, file: FileId) -> Result<(LinkTarget, Attributes), FsError> {
        self.look(|share| share.read_link(file)).await
    }

    async fn hold(&self, file: FileId) -> Result<Attributes, FsError> {
        self.look(|share| share.hold(file)).await
    }

    async fn release(&self, file: FileId) -> Result<(), FsError> {
        self.run(DURABLE, |share| share.release(file), same).await
    }

    async fn drop_unheld(&self) -> Result<u64, FsError> {
        let (mut count, mut after) = (0, 0);
        loop {
            let (dropped, next) = self.run(DURABLE, |share| drop_some(share, after), same).await?;
            count += dropped;
            match next {
                Some(next) => after = next,
                None => return Ok(count),
            }
        }
    }

    async fn delete_abandoned(&self) -> Result<u64, FsError> {
        self.delete_each_abandoned().await
    }

    async fn attributes(&self, file: FileId) -> Result<Attributes, FsError> {
        self.look(|share| share.both(file).map(|(_, attributes)| attributes)).await
    }

    async fn set_attributes(
        &self,
        call: Call<'_>,
        file: FileId,
        set: &SetAttributes,
        guard: Option<Timestamp>,
    ) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| share.set_attributes(call, file, set, guard);
        self.run(DURABLE.of(call), attempt, content::Draft::finished).await
    }

    async fn space(&self, file: FileId) -> Result<Space, FsError> {
        let mut tries = SPACE_TRIES;
        loop {
            let extent = self.look(|share| share.extent(file)).await?;
            let mut unique = 0;
            for region in &extent.regions {
                let counted = self.engine.unique(self.object(), region.blocks()).await;
                unique += counted.map_err(|error| self.error(error, SpaceReason::Pool))?;
            }
            tries -= 1;
            if tries == 0 || self.look(|share| share.extent(file)).await?.change == extent.change {
                return Ok(extent.space(unique));
            }
        }
    }

    async fn read(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u32,
    ) -> Result<Content, FsError> {
        if length_bytes > content::LARGE_BYTES
            && let Some(read) = self.read_large(call, file, offset_bytes, length_bytes).await
        {
            return read;
        }
        self.look_as(UNSTABLE.of(call), |share| share.read(call, file, offset_bytes, length_bytes)).await
    }

    async fn write(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        data: Payload,
        stability: Stability,
    ) -> Result<Changed, FsError> {
        let kind = match stability {
            Stability::Unstable => UNSTABLE,
            Stability::Durable => DURABLE,
        };
        let attempt = |share: &mut Share<'_>| share.write(call, file, offset_bytes, &data);
        self.run(kind.of(call), attempt, |share, draft| draft.finish(share)).await
    }

    async fn commit(&self, file: FileId) -> Result<Attributes, FsError> {
        let (inode, attributes) = self.look(|share| share.both(file)).await?;
        FsError::need_file(inode.kind)?;
        self.engine.flush().await.map_err(|error| self.error(error, SpaceReason::Pool))?;
        Ok(attributes)
    }

    async fn seek(&self, call: Call<'_>, file: FileId, offset_bytes: u64, what: Seek) -> Result<Sought, FsError> {
        self.look_as(UNSTABLE.of(call), |share| share.seek(call, file, offset_bytes, what)).await
    }

    async fn zero(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| share.zero(call, file, offset_bytes, length_bytes);
        self.run(DURABLE.of(call), attempt, content::Draft::finished).await
    }

    async fn allocate(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| share.allocate(call, file, offset_bytes, length_bytes);
        self.run(PROMISING.of(call), attempt, content::Draft::finished).await
    }

    async fn deallocate(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| share.deallocate(call, file, offset_bytes, length_bytes);
        self.run(DURABLE.of(call), attempt, content::Draft::finished).await
    }

    async fn clone_range(
        &self,
        call: Call<'_>,
        source: Source<'_, Self>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Changed, FsError> {
        let from = self.source(&source)?;
        let attempt = |share: &mut Share<'_>| share.clone_range((call, call), &from, file, offset_bytes);
        match self.run(PROMISING.of(call), attempt, content::Draft::finished).await {
            Err(FsError::TooLong { .. }) => self.clone_in_steps(call, &from, file, offset_bytes).await,
            cloned => cloned,
        }
    }

    async fn copy_range(
        &self,
        call: Call<'_>,
        source: Source<'_, Self>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Copied, FsError> {
        let from = self.source(&source)?;
        let attempt = |share: &mut Share<'_>| share.copy_range(call, &from, file, offset_bytes);
        self.run(DURABLE.of(call), attempt, |share, draft| draft.finish(share)).await
    }

    async fn xattr(&self, call: Call<'_>, file: FileId, name: &XattrName) -> Result<Bytes, FsError> {
        self.look_as(UNSTABLE.of(call), |share| share.xattr(call, file, name)).await
    }

    async fn set_xattr(
        &self,
        call: Call<'_>,
        file: FileId,
        name: &XattrName,
        value: Bytes,
        how: SetXattr,
    ) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| share.set_xattr(call, file, (name, &value), how);
        self.run(DURABLE.of(call), attempt, content::Draft::finished).await
    }

    async fn xattr_names(&self, call: Call<'_>, file: FileId) -> Result<Vec<XattrName>, FsError> {
        self.look_as(UNSTABLE.of(call), |share| share.xattr_names(call, file)).await
    }

    async fn remove_xattr(&self, call: Call<'_>, file: FileId, name: &XattrName) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| share.remove_xattr(call, file, name);
        self.run(DURABLE.of(call), attempt, content::Draft::finished).await
    }
}
