//! Longest turns of the reactor's pump, by cause. No host is served during a turn.
//!
//! The reactor notes them, and the management plane's scrapes read them, on another thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Turn that is worth a line in the log.
pub const LONG: Duration = Duration::from_millis(10);

/// Work that took the time of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Completions, operations, log frames, and blocks of a checkpoint.
    Advance,
    /// As before, in the turn in which an epoch of the pool ends for a checkpoint.
    Freeze,
    /// Eviction of pages, counts and blocks from memory.
    Evict,
    /// Work in the background: freeing detached maps, counting, scanning.
    Background,
}

impl Cause {
    const ALL: [Self; 4] = [Self::Advance, Self::Freeze, Self::Evict, Self::Background];

    /// Name in metrics and log lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advance => "advance",
            Self::Freeze => "freeze",
            Self::Evict => "evict",
            Self::Background => "background",
        }
    }
}

/// Longest turns of each cause in microseconds.
#[derive(Debug, Default)]
pub struct Turns {
    since_start: [AtomicU64; Cause::ALL.len()],
    since_scrape: [AtomicU64; Cause::ALL.len()],
}

impl Turns {
    /// Notes a turn. Only one thread does.
    pub fn note(&self, cause: Cause, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        for longest in [&self.since_start, &self.since_scrape] {
            let Some(longest) = longest.get(cause as usize) else { continue };
            if us > longest.load(Ordering::Relaxed) {
                longest.store(us, Ordering::Relaxed);
            }
        }
    }

    /// Longest turns since the start.
    pub fn since_start(&self) -> Vec<(&'static str, u64)> {
        let longest = self.since_start.iter().map(|us| us.load(Ordering::Relaxed));
        Cause::ALL.into_iter().map(Cause::name).zip(longest).collect()
    }

    /// Longest turns since this was last called.
    pub fn take_since_scrape(&self) -> Vec<(&'static str, u64)> {
        let longest = self.since_scrape.iter().map(|us| us.swap(0, Ordering::Relaxed));
        Cause::ALL.into_iter().map(Cause::name).zip(longest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_turn_of_each_cause_is_kept() {
        let turns = Turns::default();
        for ms in [3, 30, 1] {
            turns.note(Cause::Freeze, Duration::from_millis(ms));
        }
        turns.note(Cause::Advance, Duration::from_micros(7));
        let all = vec![("advance", 7), ("freeze", 30_000), ("evict", 0), ("background", 0)];
        assert_eq!((turns.since_start(), turns.take_since_scrape()), (all.clone(), all.clone()));
        turns.note(Cause::Freeze, Duration::from_millis(2));
        assert_eq!(turns.since_start(), all);
        assert_eq!(turns.take_since_scrape()[1], ("freeze", 2000));
    }
}
