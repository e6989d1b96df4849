//! Rules that a simulation can leave out, to prove that it notices.
//!
//! The switch exists only with the cargo feature `mutations`, which only the simulation enables. Without it every
//! query here is a constant `false`. It belongs to a thread: both simulated arrays live on one.

macro_rules! mutations {
    ($($(#[$doc:meta])* $variant:ident $name:literal $description:literal,)*) => {
        /// Rule that can be left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutation {
            $($(#[$doc])* $variant,)*
        }

        impl Mutation {
            /// All rules.
            #[cfg(feature = "mutations")]
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name on a command line.
            #[cfg(feature = "mutations")]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Effect of leaving the rule out, in a sentence.
            #[cfg(feature = "mutations")]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }
        }
    };
}

mutations! {
    /// R2: a recovery point appears after everything of it is durable.
    Whole "whole" "a recovery point is committed before the flush",
    /// R2: the commit waits for all changes.
    Complete "complete" "a recovery point is committed while changes of it are not applied",
    /// R3: a copy names a place that is final.
    Final "final" "copies name places beyond the position to which the cycle has come",
    /// Copies wait for what they read.
    CloneWaits "clone-waits" "a copy begins before the changes that it reads have taken effect",
    /// R5: the newest common point is kept.
    Common "common" "retention takes the newest common point",
    /// R5: the target keeps the older common point until the source knows of the newer one.
    BothCommon "both-common" "the target keeps its newest point alone",
    /// R6: a side that may hold anything else goes back first.
    BackFirst "back-first" "a new cycle begins on what an interrupted one has left",
    /// R6: an interrupted cycle goes on only if it is the same.
    SameCycle "same-cycle" "a new cycle goes on at the position of an interrupted one",
    /// R6: what a former owner had is kept.
    KeepDiverged "keep-diverged" "what a former owner had beyond the common point is not kept",
    /// A position is stored after a flush.
    PositionAfterFlush "position-after-flush" "the position of a cycle is stored before what precedes it is durable",
    /// The position is that of changes that have taken effect.
    PositionOfApplied "position-of-applied" "the position of a cycle is that of changes which still wait",
    /// Steps of an earlier connection end before a cycle begins.
    Drain "drain" "a cycle begins while steps of an earlier connection are being carried out",
    /// S6: hosts do not write to a replica.
    HostsOut "hosts-out" "hosts write to a replica",
    /// Blocks that the source cannot read are lost at the target.
    Lost "lost" "blocks that cannot be read are left out",
}

#[cfg(feature = "mutations")]
mod switch {
    use super::Mutation;
    use std::cell::Cell;

    thread_local! {
        static MUTATION: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    /// Leaves out a rule in every group of this thread from now on; `None` ends it.
    pub fn set_mutation(mutation: Option<Mutation>) {
        MUTATION.set(mutation);
    }

    /// Whether a rule is left out.
    pub fn leaves_out(rule: Mutation) -> bool {
        MUTATION.get() == Some(rule)
    }
}

#[cfg(feature = "mutations")]
pub use switch::{leaves_out, set_mutation};

/// Whether a rule is left out.
#[cfg(not(feature = "mutations"))]
#[inline(always)]
pub const fn leaves_out(_: Mutation) -> bool {
    false
}
