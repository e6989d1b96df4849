//! Rules of the engine that a simulation can leave out, to prove that it notices; and allocations
//! that it can make fail.
//!
//! These switches exist only with the cargo feature `mutations`, which only the simulator enables.
//! Without it every query here is a constant `false`, and the engine compiles as without the query.
//! The switch belongs to a thread: a simulated pool lives on one, and recovery reads the switch
//! before a pool exists that could hold it.

/// Defines an enum of rules that a simulation can leave out. Each has a doc comment, which states the rule, and its
/// name on a command line with the effect of leaving it out, in a sentence.
#[macro_export]
macro_rules! mutations {
    ($(#[$of_enum:meta])* pub enum $enum:ident {
        $($(#[doc = $rule:literal])+ $variant:ident: $name:literal, $effect:literal;)+
    }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $enum {
            $($(#[doc = $rule])+ $variant),+
        }

        impl $enum {
            /// All rules.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Name on a command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// Effect of leaving the rule out, in a sentence.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $effect),+
                }
            }
        }
    };
}

mutations! {
    /// Rule of the engine that can be left out.
    pub enum Mutation {
        /// A freed block is not allocatable before the checkpoint that no longer names it.
        Pin: "pin", "blocks freed are allocatable at once, not after the next checkpoint";
        /// A small write is destaged to its place after its record is durable.
        LogBeforeDestage: "log-before-destage", "content is destaged to its place before its log record is durable";
        /// A large write takes effect when its data is at its place and flushed.
        DataBeforeLog: "data-before-log", "a large write is logged before its data is at its place and flushed";
        /// An operation is acknowledged when the content that its record, or an earlier one, names is durable.
        ContentBeforeReply: "content-before-reply",
            "a reply does not wait for content that the log names and that is on its way";
        /// Replay takes a record only if its content is at its place.
        ContentVerified: "content-verified", "replay takes records whose content is not at its place";
        /// Replay keeps a record if a later one holds the content of its block: the record was durable.
        ContentOverwritten: "content-overwritten",
            "replay also gives up a record whose block was overwritten later through the log";
        /// What replay gives up leaves the log.
        LogCut: "log-cut", "the log keeps the records that replay has given up";
        /// A block is read after the content on its way to it has arrived.
        ReadAfterContent: "read-after-content", "a block is read while its content is on the way to it";
        /// Whether a block is overwritten in place is decided after the path to it is unshared.
        ClassAfterUnsharing: "class-after-unsharing", "overwriting in place is decided before the path is unshared";
        /// Replay allocates no block that a record not yet replayed names.
        Reserve: "reserve", "replay allocates blocks that records not yet replayed name";
        /// A checkpoint destages what the log before its replay point holds before it flips the root.
        Finish: "finish", "a checkpoint flips the root without destaging what its replay point leaves behind";
        /// The flip keeps blocks that were freed during the checkpoint and that the checkpoint names.
        KeepNamed: "keep-named", "the flip releases blocks freed in flight that the checkpoint names";
        /// The flip keeps blocks that were allocated and freed during the checkpoint: records after its replay point
        /// name them.
        KeepUnnamed: "keep-unnamed", "the flip releases blocks allocated and freed in flight";
        /// Counts that change before the checkpoint in flight has encoded them are encoded first.
        CountsBeforeChange: "counts-before-change",
            "counts that change after the end of an epoch are encoded as they are then";
        /// An object that changes before the checkpoint in flight has stored it is copied first.
        ObjectsBeforeChange: "objects-before-change",
            "objects that change after the end of an epoch are stored as they are then";
        /// A page that an operation moves or frees before the checkpoint in flight has sealed it is kept for that.
        MovedPages: "moved-pages", "a page that moves after the end of its epoch is not sealed";
        /// Pointers without a checksum that were copied before their page was sealed get it afterwards.
        CopiedPointers: "copied-pointers", "pointers copied before their page was sealed get no checksum";
        /// An object is put to rest after a freeze has completed its entry.
        Rest: "rest", "an object comes to rest without the checksum of its new root page";
        /// A turn hands a bounded number of blocks of checkpoints and destaging to the medium.
        Turn: "turn", "a turn writes as much of a checkpoint as the medium takes";
        /// An operation on a range shares and detaches no page above level 3, whose blocks an entry does not count
        /// exactly.
        RangeLevel: "range-level", "an operation on a range shares pages whose blocks no entry counts exactly";
        /// The blocks below a page at level 3 are those that its header counts, not those of the entry that names it,
        /// which rounds up.
        ExactCount: "exact-count", "a range operation takes rounded counts of blocks for exact ones";
        /// The superblock marks the pool as one with wide objects before their first record is logged.
        Mark: "mark", "a wide object is logged before the superblock marks the pool";
        /// All records of a transaction are in one frame of the log.
        OneFrame: "one-frame", "the records of a transaction are in several frames";
        /// Each attempt of a transaction looks at the present content.
        FreshLook: "fresh-look", "an attempt of a transaction sees what an earlier attempt saw";
        /// What a waiting transaction has seen stays in memory.
        Pins: "pins", "what a waiting transaction has seen may be evicted";
        /// A transaction asks for the space of all its changes.
        Sum: "sum", "a transaction asks for the space of one of its objects";
        /// A clone raises the promise of its source as well.
        BothSides: "both-sides", "a clone of allotted blocks does not raise the promise of its source";
        /// A block that leaves an allotted range is promised again.
        ReleasedWithBlock: "released-with-block", "a block that becomes unmapped takes its promise along";
        /// A map page that leaves an allotted range is promised again.
        PagesAllotted: "pages-allotted", "a map page that is freed takes its promise along";
        /// A transaction does not make an address space grow beyond its ceiling.
        Ceiling: "ceiling", "a clone does not count against the ceiling of an address space";
        /// A locked object is not deleted.
        Locks: "locks", "a locked snapshot can be deleted";
        /// A lock ends at its hour, and no change makes that hour earlier.
        LockEnds: "lock-ends", "a lock can be made to end earlier";
        /// A difference compares two objects that exist, and keep their content, until it ends.
        Pair: "pair", "a difference goes on although an object that it compares was deleted or replaced";
        /// A difference takes two pages or blocks for one if their addresses are equal.
        Proof: "proof", "a difference takes pages and blocks with equal checksums for one";
        /// A replica is changed by its group only.
        HostsOut: "hosts-out", "a host can write to a replica";
        /// After a crash, what is no longer shared is not taken off bounds before everything is given back again.
        ReclaimAgain: "reclaim-again", "bounds of shared blocks fall while trees that a crash brought back share these";
        /// A transaction that writes into a range which it also clones plans for shared pages there.
        ReachedRuns: "reached-runs", "a transaction plans writes into a range that it clones as if it cloned elsewhere";
        /// A leaf that was found is looked up again once a page above it has changed.
        KnownLeaves: "known-leaves", "a leaf of an address space stays known when pages above it change";
        /// A patch in the log builds on content that the log has held since the last freeze.
        PatchImage: "patch-image", "patches build on content that the log holds only before the last freeze";
        /// Recovery takes no checkpoint between the content of a block in the log and a patch on it.
        PatchBase: "patch-base", "recovery takes a checkpoint between the content of a block and a patch on it";
        /// A patch names all bytes that were edited.
        PatchParts: "patch-parts", "a patch lacks the last of the parts that were edited";
        /// Blocks with equal checksums are shared only if their content is equal.
        CompareContent: "compare-content", "blocks with equal checksums are shared without a comparison";
        /// Blocks are shared by what the attempt that shares them has compared.
        ComparedNow: "compared-now", "blocks that were equal in an earlier attempt are shared, whatever was written since";
        /// A submit that finishes other operations wakes the future of each.
        WakeEach: "wake-each", "a submit that finishes other operations does not wake the first of them";
    }
}

impl Mutation {
    /// Rules of the handle above the core: a simulation of the core alone cannot notice them; one
    /// of the whole array does.
    pub const OF_THE_HANDLE: [Self; 1] = [Self::WakeEach];

    /// Rules of the core.
    pub fn of_the_core() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|rule| !Self::OF_THE_HANDLE.contains(rule))
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

    /// Leaves a rule out in every pool of this thread from now on; `None` ends it.
    pub fn leave_out(rule: Option<Mutation>) {
        MUTATION.set(rule);
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
        if leaves_out(Mutation::KeepUnnamed) {
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
pub use switch::{fail_allocation, leave_out, stop_in_submit};

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
