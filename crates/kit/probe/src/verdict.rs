//! Verdicts on primitives, whatever the protocol, and what their proofs have in common.

use serde_json::{Value, json};
use std::fmt;
use std::time::{Duration, Instant};
use text::terminal::harmless;

/// Status in VMware's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The primitive works, or is announced.
    Supported,
    /// The primitive does not work, or is not announced.
    NotSupported,
    /// The primitive could not be tried.
    Unknown,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Supported => "Supported",
            Self::NotSupported => "Not supported",
            Self::Unknown => "Unknown",
        })
    }
}

/// Verdict on a primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<P> {
    /// Primitive.
    pub primitive: P,
    /// Status of the primitive.
    pub status: Status,
    /// Reason for the status.
    pub reason: String,
    /// Median time of one command.
    pub latency: Option<Duration>,
    /// TCP payload of one command, both ways, in bytes.
    pub wire_bytes: Option<u64>,
}

impl<P> Verdict<P> {
    pub(crate) fn new(primitive: P, status: Status, reason: impl Into<String>) -> Self {
        Self { primitive, status, reason: reason.into(), latency: None, wire_bytes: None }
    }

    pub(crate) fn wrong(primitive: P, reason: impl Into<String>) -> Self {
        Self::new(primitive, Status::NotSupported, reason)
    }

    /// Line of a table; `name` is that of the primitive.
    pub(crate) fn line(&self, name: &str) -> String {
        let latency = match self.latency {
            Some(latency) => format!("{:.2} ms", latency.as_secs_f64() * 1e3),
            None => "–".into(),
        };
        line(&name.to_uppercase(), &self.status.to_string(), &latency, &harmless(&self.reason))
    }

    /// The verdict for programs.
    pub(crate) fn json(&self, name: &str) -> Value {
        json!({
            "primitive": name,
            "status": self.status.to_string(),
            "reason": self.reason,
            "latency_us": self.latency.map(|latency| latency.as_secs_f64() * 1e6),
            "wire_bytes": self.wire_bytes,
        })
    }
}

/// Headings of the table whose lines are [`Verdict::line`].
pub(crate) fn headings() -> String {
    line("PRIMITIVE", "STATUS", "LATENCY", "DETAIL")
}

fn line(name: &str, status: &str, latency: &str, detail: &str) -> String {
    format!("{name:12}  {status:13}  {latency:>9}  {detail}\n")
}

/// Number of timed commands.
const REPEATS: u32 = 9;

/// Runs a command several times. Returns the median time, and the average bytes on the wire per
/// command, which `wire` counts.
pub(crate) async fn timed<E>(
    wire: impl Fn() -> u64,
    mut command: impl AsyncFnMut(u32) -> Result<(), E>,
) -> Result<(Duration, u64), E> {
    let before = wire();
    let mut times = Vec::new();
    for round in 0..REPEATS {
        let started = Instant::now();
        command(round).await?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok((median, (wire() - before) / u64::from(REPEATS)))
}

/// Data that no unit holds by chance, different for each seed and without zero words.
pub(crate) fn pattern(seed: u64, bytes: usize) -> bytes::Bytes {
    random::pattern(seed, bytes as u64).into()
}
