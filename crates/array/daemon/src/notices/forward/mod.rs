//! Forwards the audit to syslog channels that want it. What was sent last to each is kept in a file, so that no line is
//! lost while a receiver or the array is away: the files of the audit are the queue. Lines that were removed from them
//! before they could be sent are counted in a message of their own.

use super::desk::{Desk, sender};
use crate::audit::Audit;
use anyhow::Context;
use api::{ChannelSettings, SyslogSettings};
use jiff::Timestamp;
use notification::AuditLine;
use reactor::ArrayHandle;
use reactor::state_files::write_private;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// Name of the file with what was sent last, in the state directory.
const FILE_NAME: &str = "audit-forwarded.json";
/// Time between two looks for new lines.
const INTERVAL: Duration = Duration::from_secs(1);
/// Lines that are sent together.
const BATCH: usize = 256;
/// Wait after a failure; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait after failures.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Position in the audit of each channel.
type Positions = BTreeMap<Uuid, u64>;

/// A channel that has failed.
struct Failing {
    wait: Duration,
    until: Instant,
}

/// What forwarding knows.
pub(crate) struct Forward {
    desk: Arc<Desk>,
    audit: Audit,
    array: ArrayHandle,
    path: PathBuf,
    positions: Positions,
    failing: BTreeMap<Uuid, Failing>,
    /// Number of lines that had been written when all were sent to all.
    done: Option<u64>,
}

impl Forward {
    pub(crate) fn new(desk: Arc<Desk>, audit: Audit, array: ArrayHandle, state_dir: &Path) -> Self {
        let path = state_dir.join(FILE_NAME);
        Self { desk, audit, array, path, positions: Positions::new(), failing: BTreeMap::new(), done: None }
    }

    /// Forwards until it is aborted.
    pub(crate) async fn run(mut self) {
        match self.read() {
            Ok(positions) => self.positions = positions,
            Err(error) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "what was forwarded of the audit is not known: it begins anew"
                );
            }
        }
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.turn().await;
        }
    }

    fn read(&self) -> anyhow::Result<Positions> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| format!("{} cannot be read", self.path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Positions::new()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.path.display())),
        }
    }

    /// Channels that want the audit.
    fn wanting(&self) -> BTreeMap<Uuid, SyslogSettings> {
        self.desk.see(|notices| {
            let wanting = notices.channels().into_iter().filter_map(|channel| match &channel.settings {
                ChannelSettings::Syslog(settings) if settings.audit && channel.enabled => {
                    Some((channel.id, settings.clone()))
                }
                _ => None,
            });
            wanting.collect()
        })
    }

    /// Sends to each channel what it lacks, a batch at a time.
    pub(super) async fn turn(&mut self) {
        let wanting = self.wanting();
        let known: Vec<Uuid> = self.positions.keys().copied().collect();
        let mut is_changed = false;
        for gone in known.into_iter().filter(|id| !wanting.contains_key(id)) {
            self.positions.remove(&gone);
            self.failing.remove(&gone);
            is_changed = true;
        }
        let is_new = wanting.keys().any(|id| !self.positions.contains_key(id));
        let written = self.audit.written();
        if !is_new && !is_changed && (wanting.is_empty() || self.done == Some(written)) {
            return;
        }
        let mut is_done = true;
        for (id, settings) in wanting {
            match self.send_to(id, &settings).await {
                Ok(sent) => {
                    is_changed |= sent;
                    is_done &= !sent;
                }
                Err(()) => is_done = false,
            }
        }
        if is_changed && let Err(error) = self.store().await {
            tracing::warn!(error = format!("{error:#}"), "what was forwarded of the audit could not be stored");
        }
        self.done = is_done.then_some(written);
    }

    async fn store(&self) -> anyhow::Result<()> {
        let (path, text) = (self.path.clone(), serde_json::to_string(&self.positions)?);
        tokio::task::spawn_blocking(move || write_private(&path, &text)).await?
    }

    /// Sends a batch to a channel. Returns whether its position has changed.
    async fn send_to(&mut self, id: Uuid, settings: &SyslogSettings) -> Result<bool, ()> {
        if self.failing.get(&id).is_some_and(|failing| Instant::now() < failing.until) {
            return Err(());
        }
        let unreadable = |error: anyhow::Error| {
            tracing::warn!(error = format!("{error:#}"), "the audit cannot be read, and is not forwarded");
        };
        let Some(position) = self.positions.get(&id).copied() else {
            // A new channel gets what is written from now on.
            let last = self.audit.last().await.map_err(unreadable)?;
            self.positions.insert(id, last);
            return Ok(true);
        };
        let lines = self.audit.after(position, BATCH).await.map_err(unreadable)?;
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Ok(false) };
        let (gap, last) = (first.seq.saturating_sub(position).saturating_sub(1), last.seq);
        let note = (gap > 0).then(|| AuditLine {
            time: Timestamp::now(),
            text: format!("{gap} lines of the audit were removed before they could be forwarded"),
        });
        let lines = lines.into_iter().map(|line| AuditLine { time: line.time, text: line.text });
        let batch: Vec<AuditLine> = note.into_iter().chain(lines).collect();
        match notification::send_audit(settings, &batch, &sender(&self.array).await).await {
            Ok(_) => {
                if self.failing.remove(&id).is_some() {
                    tracing::info!(server = settings.server, "the audit is forwarded again");
                }
                self.positions.insert(id, last);
                Ok(true)
            }
            Err(reason) => {
                let before = self.failing.get(&id).map(|failing| failing.wait);
                if before.is_none() {
                    tracing::warn!(
                        server = settings.server,
                        reason,
                        "the audit cannot be forwarded; it is tried again"
                    );
                }
                let wait = before.map_or(FIRST_WAIT, |wait| (wait * 2).min(LONGEST_WAIT));
                self.failing.insert(id, Failing { wait, until: Instant::now() + wait });
                Err(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use crate::http::tests::people::{Author, Plane};
    use serde_json::json;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    /// Messages of one connection.
    async fn received(listener: &TcpListener) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    /// Lines are sent once each and in order, also those that were written while the receiver or the array was away.
    #[tokio::test]
    async fn lines_are_forwarded_over_outages_and_restarts() {
        let plane = Plane::new().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let change = async |name: &str| {
            let body = json!({ "name": name, "size_bytes": 4096 });
            assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(body)).await.status, 201);
        };
        change("before").await;
        let settings =
            json!({ "kind": "syslog", "server": "127.0.0.1", "port": port, "transport": "tcp", "audit": true });
        let body = json!({ "name": "log", "settings": settings });
        assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/channels", Some(body)).await.status, 201);
        let audit = Audit::of(plane.directory.path());
        let array = crate::memory::spawn(|_, _, _| {});
        let forward = || {
            let mut forward =
                Forward::new(Arc::clone(&plane.desk), audit.clone(), array.clone(), plane.directory.path());
            forward.positions = forward.read().unwrap();
            forward
        };
        let mut first = forward();
        first.turn().await;
        change("one").await;
        let (text, ()) = tokio::join!(received(&listener), first.turn());
        assert!(text.contains(" audit - \u{feff}{\"seq\":") && text.contains("one"), "{text}");
        assert!(!text.contains("\"before\""), "{text}");
        // The receiver goes; the array, too.
        drop(listener);
        change("two").await;
        first.done = None;
        first.turn().await;
        assert!(first.failing.len() == 1);
        drop(first);
        change("three").await;
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let mut second = forward();
        let (text, ()) = tokio::join!(received(&listener), second.turn());
        assert!(text.find("\"two\"") < text.find("\"three\"") && text.contains("\"two\""), "{text}");
        assert!(!text.contains("\"one\""), "{text}");
        // Lines that are gone are counted.
        let last = audit.last().await.unwrap();
        second.positions.values_mut().for_each(|position| *position = 0);
        let names: Vec<_> = std::fs::read_dir(plane.directory.path().join("audit")).unwrap().collect();
        let old = names[0].as_ref().unwrap().path();
        let whole = std::fs::read_to_string(&old).unwrap();
        let rest: Vec<&str> = whole.lines().skip(4).collect();
        std::fs::write(old.with_file_name("2026-01-000000000005.jsonl"), rest.join("\n") + "\n").unwrap();
        std::fs::remove_file(&old).unwrap();
        second.done = None;
        let (text, ()) = tokio::join!(received(&listener), second.turn());
        assert!(text.contains("4 lines of the audit were removed before they could be forwarded"), "{text}");
        assert_eq!(second.positions.values().copied().collect::<Vec<_>>(), [last]);
    }
}
