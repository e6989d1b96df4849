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
    /// R3: a copy names a place that is final.
    Final "final" "copies name places beyond the position to which the cycle has come",
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
