//! The way from a directory up to the root, which says how deep it is, and whether another directory is above it.
//!
//! An attempt follows a part of the way; the next one continues. What was seen of the way is true as long as no
//! directory moves, so that the last attempt can rely on all parts: a cycle is impossible.

use crate::halt::Step;
use crate::layout::address::ROOT;
use crate::share::Share;
use vfs::{FileId, FsError};

/// Most levels between the root and a directory in which another directory gets a name. Together with its content, a
/// directory may be moved below this.
pub(crate) const MOST_LEVELS: u32 = 1024;

/// Levels that one attempt climbs.
const LEVELS_TOGETHER: u32 = 32;

/// Part of the way that was followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Climb {
    /// Directory at its start.
    start: FileId,
    /// Directory that must not be on it.
    avoided: Option<FileId>,
    /// Number of moves of directories before it.
    moves: u64,
    /// Directory at its end.
    end: FileId,
    levels: u32,
}

/// Result of an attempt: its draft, or the way so far.
pub(crate) type Climbing<D> = Result<D, Climb>;

impl Share<'_> {
    /// Follows the way from `start`, on from what is known. `None` when the root is reached.
    ///
    /// * [`FsError::IntoItself`]: `avoided` is on the way.
    /// * [`FsError::TooManyLinks`]: the way has more than [`MOST_LEVELS`].
    pub(crate) fn climb(
        &mut self,
        known: Option<Climb>,
        start: FileId,
        avoided: Option<FileId>,
    ) -> Step<Option<Climb>> {
        let moves = self.memory().moves();
        let same = |known: &Climb| (known.start, known.avoided, known.moves) == (start, avoided, moves);
        let mut climb = known.filter(same).unwrap_or(Climb { start, avoided, moves, end: start, levels: 0 });
        for _ in 0..LEVELS_TOGETHER {
            if avoided == Some(climb.end) {
                return Err(FsError::IntoItself.into());
            }
            if climb.end == ROOT {
                return Ok(None);
            }
            if climb.levels == MOST_LEVELS {
                return Err(FsError::TooManyLinks { limit: MOST_LEVELS }.into());
            }
            climb.end = self.directory(climb.end)?.parent;
            climb.levels += 1;
        }
        Ok(Some(climb))
    }
}
