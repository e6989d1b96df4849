//! A case: its name, the paper's result, the primitives it needs, and its code.

use crate::bench::Bench;
use crate::error::LabError;
use crate::outcome::Outcome;
use crate::results::Paper;
use data_mover::{Limits, Settings};
use futures_util::future::LocalBoxFuture;
use std::fmt;

/// Work that a host may offload to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// Locks by COMPARE AND WRITE; off is RESERVE and RELEASE.
    Locking,
    /// Copies by EXTENDED COPY.
    Move,
    /// Zeros by WRITE SAME.
    Init,
    /// Frees space by UNMAP; the off side sends no UNMAP.
    Unmap,
}

impl Primitive {
    /// Switches the primitive off on a host; [`Primitive::Unmap`] has no switch.
    pub(crate) fn switch_off(self, settings: &mut Settings) {
        match self {
            Self::Locking => settings.hardware_accelerated_locking = false,
            Self::Move => settings.hardware_accelerated_move = false,
            Self::Init => settings.hardware_accelerated_init = false,
            Self::Unmap => {}
        }
    }

    /// Reason why a unit lacks the primitive; `None` when it has it.
    pub(crate) fn missing(self, limits: &Limits, has_designator: bool) -> Option<&'static str> {
        match self {
            Self::Locking if limits.compare_and_write == 0 => {
                Some("the logical unit has no COMPARE AND WRITE (VPD page B0h, or it rejects the command)")
            }
            Self::Move if limits.copy_segments == 0 || limits.copy_segment == 0 => {
                Some("the logical unit has no EXTENDED COPY (RECEIVE COPY OPERATING PARAMETERS)")
            }
            Self::Move if !has_designator => {
                Some("the logical unit has no NAA designator to name it by (VPD page 83h)")
            }
            Self::Init if limits.write_same == 0 => Some("the logical unit has no WRITE SAME (VPD page B0h)"),
            Self::Unmap if limits.unmap == 0 => Some("the logical unit has no UNMAP (VPD pages B0h and B2h)"),
            _ => None,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Locking => "COMPARE AND WRITE",
            Self::Move => "EXTENDED COPY",
            Self::Init => "WRITE SAME",
            Self::Unmap => "UNMAP",
        })
    }
}

/// Code of a case; it adds results to the outcome as it obtains them.
pub(crate) type Run = for<'a> fn(&'a Bench, &'a mut Outcome) -> LocalBoxFuture<'a, Result<(), LabError>>;

/// A test of one of the papers.
#[derive(Clone, Copy)]
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// Primitives that the off side does without.
    pub needs: &'static [Primitive],
    /// Whether a second logical unit is used if one was given.
    pub second_unit: bool,
    pub(crate) paper: fn() -> Paper,
    pub(crate) run: Run,
}

impl Case {
    /// Result that the paper reports.
    pub fn paper(&self) -> Paper {
        (self.paper)()
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}
