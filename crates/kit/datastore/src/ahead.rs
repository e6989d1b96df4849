//! Which blocks of a zeroed-thick disk are zeroed before they are written. Where writes go forward, the zeros of the blocks to come, and the update of
//! their pointers, are made for many of them at once: while the last such window is being written, the next one, twice as long, is made.
//!
//! Only for arrays that zero: then it costs them little, and nothing on the wire. Knows numbers of blocks and nothing else.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::Duration;

/// Bytes of a window at most; two of them are ahead of the writes.
const WINDOW_BYTES: u64 = 32 << 20;
/// A window that takes longer to make is too long: a write waits for it.
const SLOW: Duration = Duration::from_millis(20);
/// One that takes less may be longer.
const QUICK: Duration = Duration::from_millis(5);
/// Runs of writes that are followed at once.
const STREAMS: usize = 8;

/// A run of writes, by numbers of blocks.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Where it began.
    began: u32,
    /// The last window.
    from: u32,
    end: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The one that was extended last is the last.
    streams: RefCell<Vec<Stream>>,
    /// Blocks of a window at most: now, and ever.
    most: Cell<u32>,
    limit: u32,
}

impl Ahead {
    /// For blocks of this size.
    pub(crate) fn new(block_bytes: u64) -> Self {
        let limit = u32::try_from(WINDOW_BYTES / block_bytes).unwrap_or(u32::MAX);
        Self { streams: RefCell::default(), most: Cell::new(limit), limit }
    }

    /// A part of a block is written, for the first time or not; `blocks` is how many the disk has. Returns those that are to be zeroed meanwhile;
    /// the block itself is not among them.
    pub(crate) fn reached(&self, index: u32, first: bool, blocks: u32) -> Option<Range<u32>> {
        let most = self.most.get();
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
        // Behind the last window, in it without a step forward, or at the end of the disk.
        let forward = index >= stream.from && index > stream.began;
        if !forward || next >= end {
            return None;
        }
        streams.remove(at);
        streams.push(Stream { began: stream.began, from: next, end });
        Some(next..end)
    }

    /// So many blocks were made in this time.
    pub(crate) fn took(&self, blocks: u32, time: Duration) {
        let most = self.most.get();
        if time > SLOW {
            self.most.set((blocks / 2).clamp(1, most.max(1)));
        } else if time < QUICK && blocks >= most {
            self.most.set(most.saturating_mul(2).min(self.limit));
        }
    }

    /// Nothing is zeroed ahead any more.
    pub(crate) fn stop(&self) {
        self.most.set(0);
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
    fn nothing_is_made_for_writes_that_do_not_go_forward() {
        let ahead = Ahead::new(MIB);
        for index in [500, 40, 900, 20, 700, 30, 10, 300, 600, 950] {
            assert_eq!(ahead.reached(index, true, 1000), None);
        }
        // Backwards.
        for index in (0..9).rev() {
            assert_eq!(ahead.reached(index * 2, true, 1000), None);
        }
        // Again and again in one block.
        let ahead = Ahead::new(MIB);
        assert!((0..10).all(|_| ahead.reached(5, true, 1000).is_none()));
        // Blocks that are as long as a window.
        let ahead = Ahead::new(64 * MIB);
        assert!((0..10).all(|index| ahead.reached(index, true, 1000).is_none()));
    }

    #[test]
    fn runs_beside_each_other_are_followed() {
        let ahead = Ahead::new(MIB);
        let mut made = [0_u32; 4];
        for step in 0..64 {
            for (run, made) in (0..).zip(&mut made) {
                let window = ahead.reached(run * 1000 + step, *made <= run * 1000 + step, 10_000);
                *made = window.map_or(*made, |window| window.end);
            }
        }
        assert!((0..).zip(made).all(|(run, end)| end >= run * 1000 + 64), "{made:?}");
    }

    #[test]
    fn windows_are_as_long_as_the_array_is_quick() {
        let ahead = Ahead::new(MIB);
        ahead.took(32, Duration::from_millis(100));
        assert_eq!(ahead.most.get(), 16);
        ahead.took(8, Duration::from_millis(1));
        assert_eq!(ahead.most.get(), 16);
        ahead.took(16, Duration::from_millis(1));
        ahead.took(32, Duration::from_millis(1));
        assert_eq!(ahead.most.get(), 32);
        ahead.took(1, Duration::from_secs(1));
        assert_eq!(ahead.most.get(), 1);
        ahead.stop();
        ahead.took(0, Duration::ZERO);
        assert_eq!(ahead.most.get(), 0);
        assert!((0..10).all(|index| ahead.reached(index, true, 100).is_none()));
    }
}
