//! A case: what it is called, what the paper found, what the array needs for it, and how it runs.

use crate::bench::Bench;
use crate::error::LabError;
use crate::outcome::Outcome;
use crate::results::Paper;
use data_mover::{Limits, Settings};
use futures_util::future::LocalBoxFuture;
use std::fmt;

/// What a host may hand to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// Locks by COMPARE AND WRITE; off is RESERVE and RELEASE.
    Locking,
    /// Copies by EXTENDED COPY.
    Move,
    /// Zeros by WRITE SAME.
    Init,
    /// Space given back by UNMAP; off is to say nothing.
    Unmap,
}

impl Primitive {
    /// Switches it off on a host; [`Primitive::Unmap`] has no switch.
    pub(crate) fn switch_off(self, settings: &mut Settings) {
        match self {
            Self::Locking => settings.hardware_accelerated_locking = false,
            Self::Move => settings.hardware_accelerated_move = false,
            Self::Init => settings.hardware_accelerated_init = false,
            Self::Unmap => {}
        }
    }

    /// Why a unit cannot; `None` when it can.
    pub(crate) fn missing(self, limits: &Limits, has_designator: bool) -> Option<&'static str> {
        match self {
            Self::Locking if limits.compare_and_write == 0 => {
                Some("the logical unit has no COMPARE AND WRITE (VPD page B0h, or it does not know the command)")
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

/// How a case runs: what it finds goes to the outcome as it is found.
pub(crate) type Run = for<'a> fn(&'a Bench, &'a mut Outcome) -> LocalBoxFuture<'a, Result<(), LabError>>;

/// One test of the papers.
#[derive(Clone, Copy)]
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// One line that says what it does.
    pub title: &'static str,
    /// What the off side does without.
    pub needs: &'static [Primitive],
    /// True when a second logical unit is used if one was given.
    pub second_unit: bool,
    pub(crate) paper: fn() -> Paper,
    pub(crate) run: Run,
}

impl Case {
    /// What the paper found.
    pub fn paper(&self) -> Paper {
        (self.paper)()
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}
