//! Progress of an operation: a line on standard error with bytes, rate and remaining time. On a
//! terminal the line is redrawn in place. Elsewhere a new line is printed every 10 s, so a short
//! operation prints none.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Period between two lines, on a terminal and elsewhere.
const REDRAW: Duration = Duration::from_millis(100);
const REPEAT: Duration = Duration::from_secs(10);
/// Returns to the start of the line and clears it (ECMA-48 EL).
const CLEAR_LINE: &str = "\r\x1b[K";

/// Progress line of an operation.
#[derive(Debug)]
pub struct Meter {
    what: String,
    total_bytes: Cell<u64>,
    done_bytes: Cell<u64>,
    /// Bytes done by an earlier command; not part of the rate.
    before_bytes: Cell<u64>,
    /// Start of the work, without waiting before it.
    started: Cell<Instant>,
    shown: Cell<Instant>,
    terminal: bool,
    quiet: bool,
}

impl Meter {
    /// Creates a meter for an operation, named as in `cloning a → b`. Prints nothing with `quiet`.
    pub fn new(what: impl Into<String>, quiet: bool) -> Self {
        let now = Instant::now();
        Self {
            what: text::terminal::harmless(&what.into()),
            total_bytes: Cell::new(0),
            done_bytes: Cell::new(0),
            before_bytes: Cell::new(0),
            started: Cell::new(now),
            shown: Cell::new(now),
            terminal: io::stderr().is_terminal(),
            quiet,
        }
    }

    /// Sets the total number of bytes.
    pub fn total(&self, bytes: u64) {
        self.total_bytes.set(bytes);
        self.started.set(Instant::now());
    }

    /// Sets the bytes that an earlier command has done.
    pub fn resume(&self, bytes: u64) {
        self.done_bytes.set(bytes);
        self.before_bytes.set(bytes);
        self.started.set(Instant::now());
    }

    /// Adds bytes done.
    pub fn advance(&self, bytes: u64) {
        self.done_bytes.set(self.done_bytes.get().saturating_add(bytes));
        let now = Instant::now();
        let period = if self.terminal { REDRAW } else { REPEAT };
        if self.quiet || now.duration_since(self.shown.get()) < period {
            return;
        }
        self.shown.set(now);
        let line = self.line(now.duration_since(self.started.get()));
        // Errors of a closed terminal are ignored.
        let _gone = match self.terminal {
            true => write!(io::stderr(), "{CLEAR_LINE}{line}"),
            false => writeln!(io::stderr(), "{line}"),
        };
    }

    /// Clears the line.
    pub fn end(&self) {
        if self.terminal && !self.quiet {
            let _gone = write!(io::stderr(), "{CLEAR_LINE}");
        }
    }

    /// Formats the line for this elapsed time.
    fn line(&self, elapsed: Duration) -> String {
        let (total, what) = (self.total_bytes.get(), &self.what);
        let done = if total == 0 { self.done_bytes.get() } else { self.done_bytes.get().min(total) };
        let new = done.saturating_sub(self.before_bytes.get());
        let rate = new as f64 / elapsed.as_secs_f64().max(1e-3);
        let speed = text::size::format(rate as u64);
        if total == 0 {
            return format!("{what}  {}  {speed}/s", text::size::format(done));
        }
        let percent = done.saturating_mul(100) / total;
        let left = match rate {
            // At most what 2^64 bytes take at this rate.
            rate if rate >= 1.0 => {
                let seconds = (total - done) as f64 / rate;
                text::duration::remaining(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
            }
            _ => "–".to_owned(),
        };
        format!(
            "{what}  {percent}%  {} of {}  {speed}/s  ETA {left}",
            text::size::format(done),
            text::size::format(total)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_progress_and_time() {
        let meter = Meter::new("cloning", true);
        meter.total(1000 << 20);
        meter.resume(200 << 20);
        meter.advance(200 << 20);
        let line = meter.line(Duration::from_secs(2));
        assert_eq!(line, "cloning  40%  400 MiB of 1000 MiB  100 MiB/s  ETA 6 s");
        meter.advance(1 << 40);
        assert!(meter.line(Duration::from_secs(2)).contains("100%  1000 MiB of 1000 MiB"));
    }
}
