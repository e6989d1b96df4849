//! Rules of the engine that a simulation can leave out, to prove that it notices; and allocations
//! that it can make fail.
//!
//! These switches exist only with the cargo feature `mutations`, which only the simulator enables.
//! Without it every query here is a constant `false`, and the engine compiles as without the query.
//! The switch belongs to a thread: a simulated pool lives on one, and recovery reads the switch
//! before a pool exists that could hold it.

/// Rule that can be left out: one of the engine's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Freed blocks are allocatable at once, before the checkpoint that no longer names them.
    Pin,
    /// A small write is destaged to its place before its record is durable.
    LogBeforeDestage,
    /// A large write takes effect without waiting until its data is at its place and flushed.
    DataBeforeLog,
    /// An operation is acknowledged before the content that its record, or an earlier one, names is
    /// durable.
    ContentBeforeReply,
    /// Replay takes a record for content that is not at its place.
    ContentVerified,
    /// Replay gives up a record although a later one holds the content of its block: a durable record.
    ContentOverwritten,
    /// What replay gives up stays in the log.
    LogCut,
    /// A block is read while its content is on the way to it.
    ReadAfterContent,
    /// Whether a block is overwritten in place is decided before the path to it is unshared.
    ClassAfterUnsharing,
    /// Replay allocates without sparing the blocks that records not yet replayed name.
    Reserve,
    /// A checkpoint flips the root without having destaged what the log before its replay point holds.
    Finish,
    /// The flip releases blocks freed during the checkpoint although the checkpoint names them.
    ReleaseNamed,
    /// The flip releases blocks that were allocated and freed during the checkpoint, although records after its replay point name them.
    ReleaseUnnamed,
    /// Counts that change before the checkpoint in flight has encoded them are encoded first.
    CountsBeforeChange,
    /// An object that changes before the checkpoint in flight has stored it is copied first.
    ObjectsBeforeChange,
    /// A page that an operation moves or frees before the checkpoint in flight has sealed it is kept for that.
    MovedPages,
    /// Pointers without a checksum that were copied before their page was sealed get it afterwards.
    CopiedPointers,
    /// An object is put to rest before a freeze has completed its entry.
    Rest,
    /// A turn hands a bounded number of blocks of checkpoints and destaging to the medium.
    Turn,
    /// An operation on a range shares and detaches no page above level 3, whose blocks an entry does not
    /// count exactly.
    RangeLevel,
    /// The blocks below a page at level 3 are those that its header counts, not the entry that names it,
    /// which rounds up.
    ExactCount,
    /// The superblock marks the pool as one with wide objects before their first record is logged.
    Mark,
    /// All records of a transaction are in one frame of the log.
    OneFrame,
    /// Each attempt of a transaction looks at the present content.
    FreshLook,
    /// What a waiting transaction has seen stays in memory.
    Pins,
    /// A transaction asks for the space of all its changes.
    Sum,
    /// A clone raises the promise of its source as well.
    BothSides,
    /// A block that leaves an allotted range is promised again.
    ReleasedWithBlock,
    /// A map page that leaves an allotted range is promised again.
    PagesAllotted,
    /// The handle delivers the result of every operation that another submit finishes. Without the
    /// rule, the first of these results wakes no future.
    LostWakeup,
}

impl Mutation {
    /// Rules of the handle above the core: a simulation of the core alone cannot notice them; one
    /// of the whole array does.
    pub const OF_THE_HANDLE: [Self; 1] = [Self::LostWakeup];

    /// All rules of the core.
    pub const ALL: [Self; 29] = [
        Self::Pin,
        Self::LogBeforeDestage,
        Self::DataBeforeLog,
        Self::ContentBeforeReply,
        Self::ContentVerified,
        Self::ContentOverwritten,
        Self::LogCut,
        Self::ReadAfterContent,
        Self::ClassAfterUnsharing,
        Self::Reserve,
        Self::Finish,
        Self::ReleaseNamed,
        Self::ReleaseUnnamed,
        Self::CountsBeforeChange,
        Self::ObjectsBeforeChange,
        Self::MovedPages,
        Self::CopiedPointers,
        Self::Rest,
        Self::Turn,
        Self::RangeLevel,
        Self::ExactCount,
        Self::Mark,
        Self::OneFrame,
        Self::FreshLook,
        Self::Pins,
        Self::Sum,
        Self::BothSides,
        Self::ReleasedWithBlock,
        Self::PagesAllotted,
    ];

    /// Name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::LogBeforeDestage => "log-before-destage",
            Self::DataBeforeLog => "data-before-log",
            Self::ContentBeforeReply => "content-before-reply",
            Self::ContentVerified => "content-verified",
            Self::ContentOverwritten => "content-overwritten",
            Self::LogCut => "log-cut",
            Self::ReadAfterContent => "read-after-content",
            Self::ClassAfterUnsharing => "class-after-unsharing",
            Self::Reserve => "reserve",
            Self::Finish => "finish",
            Self::ReleaseNamed => "release-named",
            Self::ReleaseUnnamed => "release-unnamed",
            Self::CountsBeforeChange => "counts-before-change",
            Self::ObjectsBeforeChange => "objects-before-change",
            Self::MovedPages => "moved-pages",
            Self::CopiedPointers => "copied-pointers",
            Self::Rest => "rest",
            Self::Turn => "turn",
            Self::RangeLevel => "range-level",
            Self::ExactCount => "exact-count",
            Self::Mark => "mark",
            Self::OneFrame => "one-frame",
            Self::FreshLook => "fresh-look",
            Self::Pins => "pins",
            Self::Sum => "sum",
            Self::BothSides => "both-sides",
            Self::ReleasedWithBlock => "released-with-block",
            Self::PagesAllotted => "pages-allotted",
            Self::LostWakeup => "lost-wakeup",
        }
    }

    /// Effect of leaving the rule out, in a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Pin => "blocks freed are allocatable at once, not after the next checkpoint",
            Self::LogBeforeDestage => "content is destaged to its place before its log record is durable",
            Self::DataBeforeLog => "a large write is logged before its data is at its place and flushed",
            Self::ContentBeforeReply => "a reply does not wait for content that the log names and that is on its way",
            Self::ContentVerified => "replay takes records whose content is not at its place",
            Self::ContentOverwritten => {
                "replay also gives up a record whose block was overwritten later through the log"
            }
            Self::LogCut => "the log keeps the records that replay has given up",
            Self::ReadAfterContent => "a block is read while its content is on the way to it",
            Self::ClassAfterUnsharing => "overwriting in place is decided before the path is unshared",
            Self::Reserve => "replay allocates blocks that records not yet replayed name",
            Self::Finish => "a checkpoint flips the root without destaging what its replay point leaves behind",
            Self::ReleaseNamed => "the flip releases blocks freed in flight that the checkpoint names",
            Self::ReleaseUnnamed => "the flip releases blocks allocated and freed in flight",
            Self::CountsBeforeChange => "counts that change after the end of an epoch are encoded as they are then",
            Self::ObjectsBeforeChange => "objects that change after the end of an epoch are stored as they are then",
            Self::MovedPages => "a page that moves after the end of its epoch is not sealed",
            Self::CopiedPointers => "pointers copied before their page was sealed get no checksum",
            Self::Rest => "an object comes to rest without the checksum of its new root page",
            Self::Turn => "a turn writes as much of a checkpoint as the medium takes",
            Self::RangeLevel => "an operation on a range shares pages whose blocks no entry counts exactly",
            Self::ExactCount => "a range operation takes rounded counts of blocks for exact ones",
            Self::Mark => "a wide object is logged before the superblock marks the pool",
            Self::OneFrame => "the records of a transaction are in several frames",
            Self::FreshLook => "an attempt of a transaction sees what an earlier attempt saw",
            Self::Pins => "what a waiting transaction has seen may be evicted",
            Self::Sum => "a transaction asks for the space of one of its objects",
            Self::BothSides => "a clone of allotted blocks does not raise the promise of its source",
            Self::ReleasedWithBlock => "a block that becomes unmapped takes its promise along",
            Self::PagesAllotted => "a map page that is freed takes its promise along",
            Self::LostWakeup => "a submit that finishes other operations does not wake the first of them",
        }
    }
}

#[cfg(feature = "mutations")]
mod switch {
    use super::Mutation;
    use media::BlockAddress;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    thread_local! {
        static MUTATION: Cell<Option<Mutation>> = const { Cell::new(None) };
        static ROOM: Cell<Option<(u64, bool)>> = const { Cell::new(None) };
        static STOP: Cell<Option<u64>> = const { Cell::new(None) };
        static SINCE_FREEZE: RefCell<BTreeSet<BlockAddress>> = const { RefCell::new(BTreeSet::new()) };
    }

    /// Leaves out a rule in every pool of this thread from now on; `None` ends it.
    pub fn set_mutation(mutation: Option<Mutation>) {
        MUTATION.set(mutation);
        SINCE_FREEZE.take();
    }

    /// Makes the search for free blocks fail after `after` successes: once, or permanently. `None`
    /// ends it.
    pub fn fail_allocation(plan: Option<(u64, bool)>) {
        ROOM.set(plan);
    }

    /// Makes the engine find a contradiction in its map, and stop, in the submit after the next
    /// `after` ones. `None` ends it.
    pub fn stop_in_submit(after: Option<u64>) {
        STOP.set(after);
    }

    /// True if the pool must stop in this submit.
    pub(crate) fn stops_now() -> bool {
        let after = STOP.get();
        STOP.set(after.and_then(|after| after.checked_sub(1)));
        after == Some(0)
    }

    pub(crate) fn leaves_out(rule: Mutation) -> bool {
        MUTATION.get() == Some(rule)
    }

    /// True if this search for free blocks must find none.
    pub(crate) fn allocation_fails() -> bool {
        match ROOM.get() {
            None => false,
            Some((0, for_good)) => {
                ROOM.set(for_good.then_some((0, true)));
                true
            }
            Some((after, for_good)) => {
                ROOM.set(Some((after - 1, for_good)));
                false
            }
        }
    }

    /// Notes that a block got its first reference.
    pub(crate) fn note_allocated(address: BlockAddress) {
        if leaves_out(Mutation::ReleaseUnnamed) {
            SINCE_FREEZE.with_borrow_mut(|blocks| blocks.insert(address));
        }
    }

    /// Takes the blocks that got a first reference since the last call.
    pub(crate) fn take_allocated() -> BTreeSet<BlockAddress> {
        SINCE_FREEZE.take()
    }
}

#[cfg(feature = "mutations")]
pub(crate) use switch::{allocation_fails, leaves_out, note_allocated, stops_now, take_allocated};
#[cfg(feature = "mutations")]
pub use switch::{fail_allocation, set_mutation, stop_in_submit};

#[cfg(not(feature = "mutations"))]
mod nothing {
    use super::Mutation;

    #[inline(always)]
    pub(crate) const fn leaves_out(_: Mutation) -> bool {
        false
    }
    #[inline(always)]
    pub(crate) const fn allocation_fails() -> bool {
        false
    }
    #[inline(always)]
    pub(crate) const fn stops_now() -> bool {
        false
    }
}

#[cfg(not(feature = "mutations"))]
pub(crate) use nothing::{allocation_fails, leaves_out, stops_now};
