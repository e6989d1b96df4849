//! What scans remember between their operations.

use crate::core::scan::sessions::Sessions;
use crate::core::scan::verified::Verified;

/// Memory of scans.
#[derive(Default)]
pub(crate) struct Remembered {
    /// Blocks seen by the pass of `Verify` in progress.
    verified: Verified,
    differences: Sessions,
}

impl Remembered {
    /// Blocks seen by the pass of `Verify` in progress.
    pub fn verified_mut(&mut self) -> &mut Verified {
        &mut self.verified
    }

    /// Differences in progress.
    pub fn differences(&self) -> &Sessions {
        &self.differences
    }

    /// Differences in progress, to begin and end one, and to tell them of changes.
    pub fn differences_mut(&mut self) -> &mut Sessions {
        &mut self.differences
    }
}
