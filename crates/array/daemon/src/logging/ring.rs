//! The last lines of the log, in memory, for support bundles.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest size of all lines; older ones are dropped.
const MAX_BYTES: usize = 4 << 20;

/// The last lines.
#[derive(Debug, Default)]
pub(super) struct Ring {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl Ring {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line. A line that is larger than the ring is not kept.
    pub fn push(&self, line: &[u8]) {
        if line.len() > MAX_BYTES {
            return;
        }
        let mut state = self.state();
        state.bytes += line.len();
        state.lines.push_back(line.into());
        while state.bytes > MAX_BYTES {
            let Some(oldest) = state.lines.pop_front() else { break };
            state.bytes -= oldest.len();
        }
    }

    /// All lines, oldest first, as text.
    pub fn text(&self) -> String {
        let lines: Vec<Box<[u8]>> = self.state().lines.iter().cloned().collect();
        lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let ring = Ring::default();
        for number in 0..5000_u32 {
            ring.push(format!("{number:0>1023}\n").as_bytes());
        }
        ring.push(&vec![b'x'; MAX_BYTES + 1]);
        let text = ring.text();
        assert_eq!((text.len(), text.lines().count()), (MAX_BYTES, 4096));
        assert!(text.ends_with("4999\n") && text.lines().next().is_some_and(|line| line.ends_with("0904")));
    }
}
