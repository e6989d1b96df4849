//! Structured logs on standard error; standard output is for the one `ready` line.

use crate::{LogFormat, ServeError};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging for the process. A second call (in tests) has no effect.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<(), ServeError> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| ServeError::Configuration(format!("log = {filter:?} is not a log filter: {error}")))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _already_started = match format {
        LogFormat::Text => builder.with_ansi(colours).with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
    };
    Ok(())
}
