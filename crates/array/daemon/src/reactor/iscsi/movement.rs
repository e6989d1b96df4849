//! Whether a connection moves data: what an initiator holds that takes and sends nothing can go to others.

use super::memory::SHARE_BYTES;
use std::time::{Duration, Instant};

/// Time after which a connection that holds memory others wait for and does not move its data is closed.
const STALL: Duration = Duration::from_secs(15);

/// Whether an initiator that others wait for moves its data.
#[derive(Default)]
pub(super) struct Movement {
    /// Bytes moved, and when that was looked at.
    since: Option<(u64, Instant)>,
    looked: Option<Instant>,
}

impl Movement {
    /// True when less than an eighth of the `held` bytes, or [`SHARE_BYTES`] when that is more, moved in [`STALL`], looked at again and again.
    pub(super) fn is_stalled(&mut self, now: Instant, moved: u64, held: usize) -> bool {
        let enough = (held / 8).max(SHARE_BYTES) as u64;
        let fresh = self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < STALL);
        self.looked = Some(now);
        match self.since {
            Some((before, at)) if fresh && moved.saturating_sub(before) < enough => {
                now.saturating_duration_since(at) >= STALL
            }
            _ => {
                self.since = Some((moved, now));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection is stalled when next to nothing moved for some time, and only then.
    #[test]
    fn stalled_means_that_next_to_nothing_moved() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut movement = Movement::default();
        assert!(!movement.is_stalled(at(0), 1000, 0));
        assert!(!movement.is_stalled(at(5), 1000, 0));
        assert!(!movement.is_stalled(at(10), 1001, 0));
        assert!(movement.is_stalled(at(15), 1002, 0));
        let much = 1002 + SHARE_BYTES as u64;
        assert!(!movement.is_stalled(at(16), much, 0));
        assert!(!movement.is_stalled(at(30), much, 0));
        // Nobody looked for long: what was then says nothing about now.
        assert!(!movement.is_stalled(at(100), much, 0));
        assert!(!movement.is_stalled(at(105), much, 0));
    }

    /// Who holds much has to move much: a trickle is no movement.
    #[test]
    fn what_has_to_move_grows_with_what_is_held() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let moved = |seconds: u64| seconds * (256 << 10);
        for (held, stalled) in [(16 << 20, false), (64 << 20, true)] {
            let mut movement = Movement::default();
            let looks = [0, 5, 10, 15, 20, 25].map(|seconds| movement.is_stalled(at(seconds), moved(seconds), held));
            assert_eq!(looks.contains(&true), stalled, "{held}");
        }
    }
}
