//! Rules that a simulation can leave out, to prove that it notices.
//!
//! The switch exists only with the cargo feature `mutations`, which only the simulator enables. Without it every query
//! here is a constant `false`. It belongs to a thread: a simulated server lives on one.

use bytes::Bytes;

use crate::table::Key;

macro_rules! mutations {
    ($($(#[$doc:meta])* $variant:ident $name:literal $description:literal,)*) => {
        /// Rule that can be left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutation {
            $($(#[$doc])* $variant,)*
        }

        impl Mutation {
            /// All rules.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name on a command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Effect of leaving the rule out, in a sentence.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }
        }
    };
}

mutations! {
    /// A retry gets the kept reply.
    Replay "replay" "a retry is executed again",
    /// The end of a request is noted before its reply is sent.
    SlotBeforeSend "slot-before-send" "the reply is stored at the next advance, after it was sent",
    /// New state of a client needs a record.
    Record "record" "no record of a client is written",
    /// A client that lost its state has no record.
    RecordRemoved "record-removed" "records of clients that lost their state stay",
    /// A client that may not know of its loss has no record.
    RecordOfLoss "record-of-loss" "new state gives a record to a client that has not freed what was revoked",
    /// Share reservations are compared.
    Deny "deny" "opens are granted whatever others deny",
    /// Locks of others are compared.
    LockConflict "lock-conflict" "locks are granted whatever others have locked",
    /// A lock takes the place of the ranges of its owner that it touches, and of no others.
    LockMerge "lock-merge" "a lock that touches another one of its owner ends where the new one ends",
    /// An unlock keeps what lies on both sides.
    LockSplit "lock-split" "an unlock in the middle of a lock takes the rest of it",
    /// The grace period ends.
    GraceEnd "grace-end" "the grace period does not end by time",
    /// The grace period keeps new state out.
    Grace "grace" "new state is granted during the grace period",
    /// I/O that a reclaim may deny waits for the end of the grace period.
    GraceIo "grace-io" "I/O without an open is done although an open that can be reclaimed denies it",
    /// A lease expires.
    LeaseEnd "lease-end" "no lease expires",
    /// State that is in the way of another client is revoked.
    Revocation "revocation" "the state of a client whose lease has expired is not revoked for another client",
    /// A closed file is released.
    Release "release" "files without opens are not released",
    /// A callback is sent until it is answered.
    CallbackRetry "callback-retry" "a callback that was lost is not sent again",
    /// A copy is known to its client alone.
    CopyOwner "copy-owner" "every client may ask for a copy and cancel it",
    /// Asynchronous copies are limited.
    CopyLimit "copy-limit" "any number of asynchronous copies is begun",
    /// The status of a copy is the number of bytes that are there.
    CopyStatus "copy-status" "OFFLOAD_STATUS tells the length of a copy from the start",
    /// A cancel stops the copy.
    CopyCancel "copy-cancel" "a cancelled copy goes on, although its stateid is gone",
}

#[cfg(feature = "mutations")]
mod switch {
    use super::{Ended, Mutation};
    use std::cell::{Cell, RefCell};

    thread_local! {
        static MUTATION: Cell<Option<Mutation>> = const { Cell::new(None) };
        static ENDED: RefCell<Vec<Ended>> = const { RefCell::new(Vec::new()) };
    }

    /// Leaves out a rule in every server of this thread from now on; `None` ends it.
    pub fn set_mutation(mutation: Option<Mutation>) {
        MUTATION.set(mutation);
        ENDED.take();
    }

    /// Whether a rule is left out.
    pub fn leaves_out(rule: Mutation) -> bool {
        MUTATION.get() == Some(rule)
    }

    /// Notes the end of a request, to be stored later.
    pub(crate) fn store_later(ended: Ended) {
        ENDED.with_borrow_mut(|all| all.push(ended));
    }

    /// Takes the ends of requests that were not stored.
    pub(crate) fn take_ended() -> Vec<Ended> {
        ENDED.take()
    }
}

/// End of a request: session, slot, and the reply that is kept.
pub(crate) type Ended = (Key, u32, Option<Bytes>);

#[cfg(feature = "mutations")]
pub use switch::{leaves_out, set_mutation};
#[cfg(feature = "mutations")]
pub(crate) use switch::{store_later, take_ended};

/// Whether a rule is left out.
#[cfg(not(feature = "mutations"))]
#[inline(always)]
pub const fn leaves_out(_: Mutation) -> bool {
    false
}

/// Never called: no rule is left out.
#[cfg(not(feature = "mutations"))]
pub(crate) fn store_later(_: Ended) {}

/// Nothing is stored later.
#[cfg(not(feature = "mutations"))]
pub(crate) const fn take_ended() -> Vec<Ended> {
    Vec::new()
}
