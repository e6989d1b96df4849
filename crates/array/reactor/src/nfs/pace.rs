//! How many calls a connection begins in one poll. Calls of one poll share its reads, its writes and the pump of the
//! pool, but meanwhile no other connection of the thread gets its turn. A poll that took longer than others may
//! wait begins with fewer calls the next time.

use std::time::Duration;

/// Most calls in one poll.
const MOST: usize = 32;
/// Time that a poll may take.
const TIME: Duration = Duration::from_micros(50);

/// Number of calls that the next poll may begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace(usize);

impl Pace {
    /// As many as a poll may ever begin.
    pub const FULL: Self = Self(MOST);

    /// Number of calls that the next poll may begin, at least 1.
    pub fn calls(self) -> usize {
        self.0
    }

    /// Notes that a poll that began `calls` calls took `time`.
    pub fn took(&mut self, calls: usize, time: Duration) {
        if time > TIME {
            let fitting = calls as u128 * TIME.as_nanos() / time.as_nanos();
            self.0 = usize::try_from(fitting).unwrap_or(MOST).clamp(1, self.0);
        } else if calls >= self.0 {
            self.0 = (2 * self.0).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_polls_begin_fewer_calls_and_short_ones_more() {
        let mut pace = Pace::FULL;
        pace.took(32, TIME * 4);
        assert_eq!(pace.calls(), 8);
        pace.took(3, TIME / 2);
        assert_eq!(pace.calls(), 8, "it could have begun more");
        pace.took(8, TIME / 2);
        assert_eq!(pace.calls(), 16);
        pace.took(16, Duration::ZERO);
        pace.took(32, Duration::ZERO);
        assert_eq!(pace.calls(), 32);
        pace.took(1, TIME * 1000);
        assert_eq!(pace.calls(), 1);
        pace.took(0, TIME * 1000);
        assert_eq!(pace.calls(), 1);
    }
}
