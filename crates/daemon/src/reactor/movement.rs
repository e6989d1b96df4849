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
    /// True when fewer than [`SHARE_BYTES`] moved in [`STALL`], looked at again and again.
    pub(super) fn is_stalled(&mut self, now: Instant, moved: u64) -> bool {
        let fresh = self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < STALL);
        self.looked = Some(now);
        match self.since {
            Some((before, at)) if fresh && moved.saturating_sub(before) < SHARE_BYTES as u64 => {
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
        assert!(!movement.is_stalled(at(0), 1000));
        assert!(!movement.is_stalled(at(5), 1000));
        assert!(!movement.is_stalled(at(10), 1001));
        assert!(movement.is_stalled(at(15), 1002));
        let much = 1002 + SHARE_BYTES as u64;
        assert!(!movement.is_stalled(at(16), much));
        assert!(!movement.is_stalled(at(30), much));
        // Nobody looked for long: what was then says nothing about now.
        assert!(!movement.is_stalled(at(100), much));
        assert!(!movement.is_stalled(at(105), much));
    }
}
