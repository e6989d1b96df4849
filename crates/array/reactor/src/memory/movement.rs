//! Detects connections that move no data, so that their memory can go to other connections.

use super::SHARE_BYTES;
use std::time::{Duration, Instant};

/// Time after which a connection is closed that holds memory others wait for and moves no data.
const STALL: Duration = Duration::from_secs(15);

/// Observed data movement of a connection that holds memory others wait for.
#[derive(Default)]
pub(super) struct Movement {
    /// Bytes moved by the start of the observation, and its instant.
    since: Option<(u64, Instant)>,
    looked: Option<Instant>,
}

impl Movement {
    /// True if less than an eighth of the `held` bytes, or less than [`SHARE_BYTES`] if that is
    /// more, has moved during [`STALL`] of repeated calls.
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

    /// A connection is stalled only if almost no data moved for some time.
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
        // After a long gap between calls, the earlier observation is discarded.
        assert!(!movement.is_stalled(at(100), much, 0));
        assert!(!movement.is_stalled(at(105), much, 0));
    }

    /// A connection that holds much has to move much: a trickle does not count.
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
