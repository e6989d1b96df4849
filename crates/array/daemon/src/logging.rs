//! Structured logs on standard error; standard output is for the one `ready` line.

use crate::{LogFormat, ServeError};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use tracing_subscriber::EnvFilter;

/// Number of log lines that could not be written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Starts logging for the process. A second call (in tests) has no effect.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<(), ServeError> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| ServeError::Configuration(format!("log = {filter:?} is not a log filter: {error}")))?;
    // The subscriber would report a failed write to standard error, with a macro that panics.
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| StandardError).log_internal_errors(false);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _already_started = match format {
        LogFormat::Text => builder.with_ansi(colours).with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
    };
    Ok(())
}

/// Returns the number of log lines that could not be written.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Standard error. A line that cannot be written (file system full, pipe closed) is dropped and
/// counted: the array serves its hosts without a log, too.
struct StandardError;

impl Write for StandardError {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if std::io::stderr().lock().write_all(line).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
