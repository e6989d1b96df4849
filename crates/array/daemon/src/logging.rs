//! Structured logs on standard error; standard output is for the one `ready` line.
//!
//! The threads of the array only put lines into a [`Queue`]; a thread of its own writes them. A
//! standard error that takes no data (a pipe whose reader is stuck, a slow terminal) delays no host.

mod queue;
mod ring;

use crate::LogFormat;
use anyhow::Context;
use queue::Queue;
use reactor::ServeError;
use ring::Ring;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

/// Longest wait for the lines in the queue when the process ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Lines that are not written yet, of all threads.
static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

/// The last lines of all threads, whether they were written or not.
static RING: OnceLock<Ring> = OnceLock::new();

/// Subscriber for the last line of a process that aborts: no filter and no bound holds it back.
static LAST: OnceLock<tracing::Dispatch> = OnceLock::new();

/// Log of the process. Dropping it waits until the lines are written, at most for a second.
#[derive(Debug)]
pub(crate) struct Log;

impl Drop for Log {
    fn drop(&mut self) {
        flush();
    }
}

/// Starts logging for the process. A second call (in tests) has no effect.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<Log, ServeError> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| ServeError::Configuration(format!("log = {filter:?} is not a log filter: {error}")))?;
    let queue = Arc::new(Queue::default());
    let lines = {
        let queue = Arc::clone(&queue);
        move || Line { queue: Arc::clone(&queue), first: false }
    };
    let last = {
        let queue = Arc::clone(&queue);
        move || Line { queue: Arc::clone(&queue), first: true }
    };
    if subscriber(format, filter, lines).try_init().is_err() {
        return Ok(Log);
    }
    // Not `std::io::stderr`, whose lock every user of standard error waits for.
    let open = || std::io::stderr().as_fd().try_clone_to_owned().map(File::from).context("cannot open standard error");
    let mut output = open()?;
    // Reports of dropped lines are written at once: in the queue they could be dropped, too.
    let direct = subscriber(format, EnvFilter::new("warn"), open()?);
    let report = move |lines: u64| {
        tracing::dispatcher::with_default(&direct, || {
            tracing::warn!(lines, "log lines were dropped, because standard error did not take them");
        });
    };
    let _first = QUEUE.set(Arc::clone(&queue));
    let _first = LAST.set(subscriber(format, EnvFilter::new("error"), last));
    let write = move || queue.write_to(&mut output, report);
    std::thread::Builder::new().name("log".to_owned()).spawn(write).context("cannot start the thread of the log")?;
    Ok(Log)
}

/// Subscriber that formats events as configured.
fn subscriber<W>(format: LogFormat, filter: EnvFilter, writer: W) -> tracing::Dispatch
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // The subscriber would report a failed write to standard error, with a macro that panics.
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).log_internal_errors(false);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    match format {
        LogFormat::Text => builder.with_ansi(colours).with_target(false).finish().into(),
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).finish().into(),
    }
}

/// Waits until all lines are written, at most for a second.
pub(crate) fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush(FLUSH_TIMEOUT);
    }
}

/// Logs the last event of a process that aborts, whatever is configured, and waits until it is
/// written, at most for a second.
pub(crate) fn last_words(log: impl FnOnce()) {
    match LAST.get() {
        Some(last) => tracing::dispatcher::with_default(last, log),
        None => log(),
    }
    flush();
}

/// Returns the number of log lines that could not be written.
pub(crate) fn dropped_lines() -> u64 {
    QUEUE.get().map_or(0, |queue| queue.dropped_lines())
}

/// Returns the last lines of the log, at most 4 MiB.
pub(crate) fn last_lines() -> String {
    RING.get().map(Ring::text).unwrap_or_default()
}

/// Adds a line to the last ones, as if it had been logged.
#[cfg(test)]
pub(crate) fn remember(line: &str) {
    RING.get_or_init(Ring::default).push(line.as_bytes());
}

/// Writer of one event, which the subscriber writes at once.
struct Line {
    queue: Arc<Queue>,
    /// Whether it goes before all others.
    first: bool,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        RING.get_or_init(Ring::default).push(line);
        match self.first {
            true => self.queue.push_first(line),
            false => self.queue.push(line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
