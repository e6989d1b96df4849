//! Windows of blocks of a zeroed-thick disk that are zeroed before they are written. While writes
//! go forward, the following blocks are zeroed, and their pointers updated, a window at a time.
//! While writes use up the last window, the next one is zeroed; it is twice as long.
//!
//! Used only with arrays that zero blocks themselves: this costs them little, and nothing on the
//! wire. This module handles block numbers only; it sends no commands.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::Duration;

/// Largest window in bytes. At most two windows are ahead of the writes.
const WINDOW_BYTES: u64 = 32 << 20;
/// Time above which a window is made shorter, because a write may wait for it.
const SLOW: Duration = Duration::from_millis(20);
/// Time below which the limit of the window length doubles.
const QUICK: Duration = Duration::from_millis(5);
/// Runs of writes followed at the same time.
const STREAMS: usize = 8;

/// A run of writes, in block numbers.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Block of the first write.
    began: u32,
    /// The last window, or the first block alone before there is one.
    from: u32,
    end: u32,
}

/// Chooses the blocks to zero ahead of writes.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// Runs, in order of extension: the last entry was extended last.
    streams: RefCell<Vec<Stream>>,
    /// Largest window now, in blocks, and its upper bound.
    window_limit: Cell<u32>,
    limit: u32,
}

impl Ahead {
    /// Creates the state for a disk with blocks of this size.
    pub(crate) fn new(block_bytes: u64) -> Self {
        let limit = u32::try_from(WINDOW_BYTES / block_bytes).unwrap_or(u32::MAX);
        Self { streams: RefCell::default(), window_limit: Cell::new(limit), limit }
    }

    /// Records a write to a part of a block; `first` says that the block was still to be zeroed,
    /// and `blocks` is the length of the disk. Returns the blocks to zero meanwhile, which never
    /// include the block itself.
    pub(crate) fn reached(&self, index: u32, first: bool, blocks: u32) -> Option<Range<u32>> {
        let most = self.window_limit.get();
        let mut streams = self.streams.borrow_mut();
        if most == 0 || (streams.is_empty() && !first) {
            return None;
        }
        let Some(at) = streams.iter().position(|stream| (stream.began..=stream.end).contains(&index)) else {
            if first {
                if streams.len() >= STREAMS {
                    streams.remove(0);
                }
                streams.push(Stream { began: index, from: index, end: index.saturating_add(1) });
            }
            return None;
        };
        let stream = streams.get(at).copied()?;
        let next = if index == stream.end { index.saturating_add(1) } else { stream.end };
        let length = stream.end.saturating_sub(stream.from).saturating_mul(2).min(most);
        let end = next.saturating_add(length).min(blocks);
        // No window for a write behind the last one, in it without a step forward, or at the disk's
        // end.
        let forward = index >= stream.from && index > stream.began;
        if !forward || next >= end {
            return None;
        }
        streams.remove(at);
        streams.push(Stream { began: stream.began, from: next, end });
        Some(next..end)
    }

    /// Adapts the window length to the time in which this many blocks were zeroed.
    pub(crate) fn took(&self, blocks: u32, time: Duration) {
        let most = self.window_limit.get();
        if time > SLOW {
            self.window_limit.set((blocks / 2).clamp(1, most.max(1)));
        } else if time < QUICK && blocks >= most {
            self.window_limit.set(most.saturating_mul(2).min(self.limit));
        }
    }

    /// Stops zeroing ahead.
    pub(crate) fn stop(&self) {
        self.window_limit.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn windows_grow_while_writes_go_forward_and_end_with_the_disk() {
        let ahead = Ahead::new(MIB);
        let mut windows = Vec::new();
        let mut ready = 0;
        for index in 0..200 {
            let first = index >= ready;
            if let Some(window) = ahead.reached(index, first, 200) {
                assert!(window.start > index && window.end <= 200 && window.end - index <= 64, "{window:?} at {index}");
                windows.push(window.clone());
                ready = window.end;
            }
            // A second write to the same block.
            assert_eq!(ahead.reached(index, false, 200).filter(|window| window.start <= index), None);
        }
        assert!(windows.is_sorted_by(|a, b| a.end == b.start), "{windows:?}");
        assert_eq!((windows[0].clone(), windows.last().map(|last| last.end)), (2..4, Some(200)));
        assert!(windows.len() < 14, "{windows:?}");
    }

    #[test]
    fn nothing_is_zeroed_ahead_of_writes_that_do_not_go_forward() {
        let ahead = Ahead::new(MIB);
        for index in [500, 40, 900, 20, 700, 30, 10, 300, 600, 950] {
            assert_eq!(ahead.reached(index, true, 1000), None);
        }
        // Writes that go backwards.
        for index in (0..9).rev() {
            assert_eq!(ahead.reached(index * 2, true, 1000), None);
        }
        // Repeated writes to one block.
        let ahead = Ahead::new(MIB);
        assert!((0..10).all(|_| ahead.reached(5, true, 1000).is_none()));
        // Blocks as large as a window.
        let ahead = Ahead::new(64 * MIB);
        assert!((0..10).all(|index| ahead.reached(index, true, 1000).is_none()));
    }

    #[test]
    fn runs_beside_each_other_are_followed() {
        let ahead = Ahead::new(MIB);
        let mut created = [0_u32; 4];
        for step in 0..64 {
            for (run, created) in (0..).zip(&mut created) {
                let window = ahead.reached(run * 1000 + step, *created <= run * 1000 + step, 10_000);
                *created = window.map_or(*created, |window| window.end);
            }
        }
        assert!((0..).zip(created).all(|(run, end)| end >= run * 1000 + 64), "{created:?}");
    }

    #[test]
    fn windows_are_as_long_as_the_array_is_quick() {
        let ahead = Ahead::new(MIB);
        ahead.took(32, Duration::from_millis(100));
        assert_eq!(ahead.window_limit.get(), 16);
        ahead.took(8, Duration::from_millis(1));
        assert_eq!(ahead.window_limit.get(), 16);
        ahead.took(16, Duration::from_millis(1));
        ahead.took(32, Duration::from_millis(1));
        assert_eq!(ahead.window_limit.get(), 32);
        ahead.took(1, Duration::from_secs(1));
        assert_eq!(ahead.window_limit.get(), 1);
        ahead.stop();
        ahead.took(0, Duration::ZERO);
        assert_eq!(ahead.window_limit.get(), 0);
        assert!((0..10).all(|index| ahead.reached(index, true, 100).is_none()));
    }
}
