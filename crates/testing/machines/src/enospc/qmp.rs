//! QEMU's monitor protocol (QMP): JSON objects, one per line, over a Unix socket.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time limit for the response to a command.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Interval at which callers can run checks while no message arrives.
const TICK: Duration = Duration::from_millis(100);

/// Connection to the monitor.
pub(super) struct Qmp {
    output: UnixStream,
    input: BufReader<UnixStream>,
    /// Incomplete line.
    line: Vec<u8>,
    /// Events that were not waited for yet.
    events: VecDeque<Value>,
}

impl Qmp {
    /// Connects as soon as QEMU listens.
    pub(super) fn connect(socket: &Path, limit: Duration) -> Result<Self> {
        let started = Instant::now();
        let output = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(_) if started.elapsed() < limit => std::thread::sleep(TICK),
                Err(error) => return Err(error).context("QEMU's monitor does not answer"),
            }
        };
        output.set_read_timeout(Some(TICK))?;
        let input = BufReader::new(output.try_clone()?);
        let mut qmp = Self { output, input, line: Vec::new(), events: VecDeque::new() };
        qmp.execute("qmp_capabilities")?;
        Ok(qmp)
    }

    /// Executes a command without arguments; returns its result.
    pub(super) fn execute(&mut self, command: &str) -> Result<Value> {
        writeln!(self.output, "{}", json!({ "execute": command }))?;
        let started = Instant::now();
        while started.elapsed() < ANSWER_LIMIT {
            let Some(mut message) = self.next()? else { continue };
            if let Some(error) = message.get("error") {
                bail!("QEMU refuses {command}: {error}");
            }
            if let Some(answer) = message.get_mut("return") {
                return Ok(answer.take());
            }
            self.keep(message);
        }
        bail!("QEMU does not answer {command}")
    }

    /// Returns the run state of the guest.
    pub(super) fn status(&mut self) -> Result<String> {
        let status = self.execute("query-status")?;
        let word = status.get("status").and_then(Value::as_str);
        Ok(word.with_context(|| format!("QEMU tells no state: {status}"))?.to_owned())
    }

    /// Waits for an event; `check` ends the wait with its error.
    pub(super) fn wait_for(
        &mut self,
        event: &str,
        limit: Duration,
        mut check: impl FnMut() -> Result<()>,
    ) -> Result<Value> {
        let started = Instant::now();
        loop {
            while let Some(message) = self.events.pop_front() {
                if message.get("event").and_then(Value::as_str) == Some(event) {
                    return Ok(message);
                }
            }
            check()?;
            ensure!(started.elapsed() < limit, "QEMU did not tell of {event} within {} s", limit.as_secs());
            if let Some(message) = self.next()? {
                self.keep(message);
            }
        }
    }

    fn keep(&mut self, message: Value) {
        if message.get("event").is_some() {
            self.events.push_back(message);
        }
    }

    /// Returns the next message, if one arrives within a tick.
    fn next(&mut self) -> Result<Option<Value>> {
        match self.input.read_until(b'\n', &mut self.line) {
            Ok(0) => bail!("QEMU has closed its monitor"),
            Ok(_) if self.line.ends_with(b"\n") => {
                let message = serde_json::from_slice(&self.line).context("QEMU's monitor talks something else")?;
                self.line.clear();
                Ok(Some(message))
            }
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(error).context("QEMU's monitor failed"),
        }
    }
}
