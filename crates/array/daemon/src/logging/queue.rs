//! Queue of log lines with a bound in bytes. Adding a line never waits for the output: a line
//! without space is dropped and counted. So is a line that cannot be written (file system full, pipe
//! closed): the array serves its hosts without a log, too.
//!
//! `tracing-appender` has such a queue. Its end prints to standard output, which may be closed or
//! full itself; it has no flush for a process that is about to abort, and no bound in bytes.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Largest size of all lines in the queue.
const MAX_BYTES: usize = 1 << 20;

/// Lines that wait for the output.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// True while a line that has left the queue is being written.
    writing: bool,
}

impl Queue {
    /// Adds a line, or drops it if the queue is full.
    pub fn push(&self, line: &[u8]) {
        let mut state = self.state();
        if state.bytes.saturating_add(line.len()) > MAX_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line.into());
        drop(state);
        self.changed.notify_all();
    }

    /// Adds a line before all others, beyond the bound: the last one of a process that aborts.
    pub fn push_first(&self, line: &[u8]) {
        let mut state = self.state();
        state.bytes += line.len();
        state.lines.push_front(line.into());
        drop(state);
        self.changed.notify_all();
    }

    /// Number of lines that were dropped.
    pub fn dropped_lines(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all lines are written, at most for `limit`.
    pub fn flush(&self, limit: Duration) {
        let unwritten = |state: &mut State| state.writing || !state.lines.is_empty();
        let waited = self.changed.wait_timeout_while(self.state(), limit, unwritten);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Writes lines until the process ends. After a line that could be written, `report` gets the
    /// number of lines that have been dropped since the last report.
    pub fn write_to(&self, output: &mut impl Write, mut report: impl FnMut(u64)) {
        let mut reported = 0;
        loop {
            let line = self.next();
            if output.write_all(&line).is_err() {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let dropped = self.dropped_lines();
            if dropped > reported {
                report(dropped - reported);
                reported = dropped;
            }
        }
    }

    /// Takes the oldest line, after the one before it is written.
    fn next(&self) -> Box<[u8]> {
        let mut state = self.state();
        state.writing = false;
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.len();
                state.writing = true;
                return line;
            }
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use std::io::{BufRead, BufReader};
    use std::sync::{Arc, mpsc};

    /// Regression: a log line waited for the reader of standard error, and hosts with it.
    #[test]
    fn lines_wait_for_no_reader_and_lost_ones_are_reported() {
        let queue = Arc::new(Queue::default());
        let (reader, mut output) = std::io::pipe().unwrap();
        let (reports, reported) = mpsc::channel();
        let worker = Arc::clone(&queue);
        std::thread::spawn(move || worker.write_to(&mut output, |lines| reports.send(lines).unwrap()));
        let line = |number: u64| format!("{number:0>1023}\n");
        let mut pushed = 0;
        while queue.dropped_lines() < 100 {
            queue.push(line(pushed).as_bytes());
            pushed += 1;
            assert!(pushed < 10_000, "nothing bounds the queue");
        }
        queue.push_first(b"abort\n");
        queue.flush(Duration::from_millis(1));
        let mut lines = BufReader::new(reader).lines();
        // Lines that had left the queue come before the one that was put first. The writer may make room
        // between two lines that are dropped.
        let (mut aborts, mut before) = (0, None);
        for _ in 0..pushed - 100 {
            let mut next = lines.next().unwrap().unwrap();
            if next == "abort" {
                aborts += 1;
                next = lines.next().unwrap().unwrap();
            }
            let number = next.parse::<u64>().unwrap();
            assert!(before < Some(number) && number < pushed && next + "\n" == line(number));
            before = Some(number);
        }
        assert_eq!(aborts, 1);
        let mut lost = 0;
        while lost < 100 {
            lost += reported.recv().unwrap();
        }
        assert_eq!(lost, 100);
        queue.push(b"last\n");
        assert_eq!(lines.next().unwrap().unwrap(), "last");
        queue.flush(Duration::from_secs(60));
    }
}
