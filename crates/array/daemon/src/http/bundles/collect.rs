//! Collects what a bundle has: answers of the REST interface, structures of the pool, the configuration, the log, and
//! what the machine says.
//! One document after another is read and written; with words in the place of names, all are read before, for their
//! names.

use super::addresses::Addresses;
use super::learn::{learn, learn_in};
use super::machine;
use crate::bundle::{Archive, MAX_MEMBER_BYTES, Names};
use crate::http::configuration::present;
use crate::http::guard::Recorder;
use crate::http::problem::Fault;
use crate::notices::Desk;
use crate::people::{Caller, Gate};
use api::ChannelSettings;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use configuration::{Format, Kind};
use control::ManagementJobProgress;
use identity::Digest;
use jiff::{SignedDuration, Timestamp};
use reactor::ArrayHandle;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Longest text of an error in the notes of what was left out, in characters.
const MAX_ERROR: usize = 300;

/// Answers of the REST interface, by file. `{since}` and `{from}` are the start of the hours.
const ANSWERS: &[(&str, &str)] = &[
    ("status.json", "/api/v1/system"),
    ("pools.json", "/api/v1/pools"),
    ("volumes.json", "/api/v1/volumes?limit=1000"),
    ("shares.json", "/api/v1/shares?limit=1000"),
    ("snapshots.json", "/api/v1/snapshots?limit=1000"),
    ("schedules.json", "/api/v1/schedules"),
    ("qos-policies.json", "/api/v1/qos-policies"),
    ("trash.json", "/api/v1/trash"),
    ("hosts.json", "/api/v1/hosts?limit=1000"),
    ("host-groups.json", "/api/v1/host-groups?limit=1000"),
    ("access.json", "/api/v1/access?limit=1000"),
    ("exports.json", "/api/v1/exports?limit=1000"),
    ("portals.json", "/api/v1/portals"),
    ("portal-groups.json", "/api/v1/portal-groups"),
    ("sessions.json", "/api/v1/sessions?limit=1000"),
    ("reservations.json", "/api/v1/reservations?limit=1000"),
    ("jobs.json", "/api/v1/jobs"),
    ("alerts.json", "/api/v1/alerts"),
    ("events.json", "/api/v1/events?limit=1000"),
    ("offload.json", "/api/v1/offload/stats?limit=1000"),
    ("refusals.json", "/api/v1/offload/log?limit=1000"),
    ("channels.json", "/api/v1/channels"),
    ("audit.json", "/api/v1/audit?limit=1000&since={since}"),
    (
        "history.json",
        "/api/v1/history?from={since}&points=1000&series=array.read_ops,array.write_ops,array.latency_p50,array.latency_p99",
    ),
    ("metrics.txt", "/metrics"),
    ("metrics-volumes.txt", "/metrics/volumes?active=true"),
];

/// Longest time for reading the structures of the pool.
const POOL_TIMEOUT: Duration = Duration::from_secs(10);

/// What collecting needs.
pub(super) struct Collect {
    pub(super) array: ArrayHandle,
    pub(super) gate: Arc<Gate>,
    pub(super) desk: Arc<Desk>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) caller: Caller,
    /// File or device of the pool.
    pub(super) pool: PathBuf,
    pub(super) job: Uuid,
    pub(super) hours: u16,
    pub(super) is_replaced: bool,
}

/// Content of a file.
enum Content {
    Document(Value),
    Text(String),
}

/// The configuration in both forms.
struct Written {
    text: String,
    /// For the names in it.
    document: Value,
}

/// A bundle that is being written.
struct Writer {
    archive: Archive,
    addresses: Addresses,
    /// Absent: names stay.
    names: Option<Names>,
}

impl Collect {
    /// Number of steps.
    pub(super) fn steps(is_replaced: bool) -> u64 {
        let rounds = if is_replaced { 2 } else { 1 };
        u64::try_from(ANSWERS.len() * rounds + 1).unwrap_or(u64::MAX)
    }

    /// Collects everything into a file.
    pub(super) async fn run(self, archive: Archive, key: String) -> anyhow::Result<Archive> {
        let now = Timestamp::now();
        let start = now.checked_sub(SignedDuration::from_hours(i64::from(self.hours))).unwrap_or(now);
        let (configuration, urls) = self.configuration().await?;
        let names = if self.is_replaced { Some(self.names(key, start, &configuration, &urls).await?) } else { None };
        let mut done = if self.is_replaced { ANSWERS.len() } else { 0 };
        let mut writer = Writer { archive, addresses: Addresses::new(&urls), names };
        for (name, path) in ANSWERS {
            let mut notes = Vec::new();
            let read = self.read(name, path, start, &mut notes).await;
            let content = read.map_err(|reason| notes.push(format!("{name}: {reason}"))).ok();
            notes.into_iter().for_each(|note| writer.note(&note));
            if let Some(content) = content {
                writer = writer.with((*name).to_owned(), content).await?;
            }
            done += 1;
            self.advance(done).await;
        }
        match self.structures().await {
            Ok(structures) => {
                for (name, document) in structures {
                    writer = writer.with(name.to_owned(), Content::Document(document)).await?;
                }
            }
            Err(reason) => writer.note(&format!("pool: {reason}")),
        }
        let texts = [("configuration.toml", configuration.text), ("log.txt", crate::logging::last_lines())];
        for (name, text) in texts.into_iter().chain(machine::texts()) {
            writer = writer.with(name.to_owned(), Content::Text(text)).await?;
        }
        for (name, reason) in machine::unread() {
            writer.note(&format!("{name}: {reason}"));
        }
        Ok(writer.archive)
    }

    /// Superblock copies and root of the pool, by file, as the medium has them.
    async fn structures(&self) -> Result<[(&'static str, Value); 2], String> {
        let pool = self.pool.clone();
        let reading = tokio::task::spawn_blocking(move || pool_offline::dump_served(&pool));
        let read = tokio::time::timeout(POOL_TIMEOUT, reading).await;
        let read = read.map_err(|_elapsed| format!("the medium did not answer in {} s", POOL_TIMEOUT.as_secs()))?;
        let shown = read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        Ok([("pool/superblock.json", shown.superblock.0), ("pool/root.json", shown.root.0)])
    }

    async fn advance(&self, done: usize) {
        let (done, total) = (u64::try_from(done).unwrap_or(u64::MAX), Self::steps(self.is_replaced));
        let _shown_later = self.array.call(ManagementJobProgress { job: self.job, done, total }).await;
    }

    /// All names in what will be written.
    async fn names(
        &self,
        key: String,
        start: Timestamp,
        configuration: &Written,
        urls: &[String],
    ) -> anyhow::Result<Names> {
        let mut names = Names::new(key);
        for (at, (name, path)) in ANSWERS.iter().enumerate() {
            // What cannot be read is noted when it is written.
            if let Ok(Content::Document(document)) = self.read(name, path, start, &mut Vec::new()).await {
                names = tokio::task::spawn_blocking(move || {
                    learn(&mut names, name, &document);
                    names
                })
                .await?;
            }
            self.advance(at + 1).await;
        }
        for (kind, objects) in configuration.document.as_object().into_iter().flatten() {
            learn_in(&mut names, kind.trim_start_matches("host_"), objects);
        }
        urls.iter().for_each(|url| names.add("server", api::url_server(url)));
        names.add("machine", &machine::name());
        Ok(names)
    }

    /// Content of a file. `notes`: what is missing in it.
    async fn read(&self, name: &str, path: &str, start: Timestamp, notes: &mut Vec<String>) -> Result<Content, String> {
        let text = self.ask(&path.replace("{since}", &format!("{start:.0}"))).await?;
        if !name.ends_with(".json") {
            return Ok(Content::Text(text));
        }
        let mut document = self.whole(name, &text, notes).await?;
        // Of the audit, the heads: who did what to what. Fields may have what hosts and people write.
        if name == "audit.json" {
            for entry in document["items"].as_array_mut().into_iter().flatten() {
                entry.as_object_mut().map(|entry| entry.remove("change"));
            }
        }
        Ok(Content::Document(document))
    }

    async fn ask(&self, path: &str) -> Result<String, String> {
        let request = Request::builder().uri(path).body(Body::empty()).map_err(|error| error.to_string())?;
        let response = self.recorder.ask(&self.caller, request).await;
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), MAX_MEMBER_BYTES).await;
        let text = String::from_utf8_lossy(&bytes.map_err(|error| error.to_string())?).into_owned();
        if status == StatusCode::OK {
            return Ok(text);
        }
        // Half an address would not be found and hidden.
        let error: String = text.chars().take(MAX_ERROR).collect();
        let whole_words = error.rsplit_once(char::is_whitespace).map_or("", |(words, _)| words);
        Err(format!("{status} {}", if error.len() < text.len() { whole_words } else { &*error }))
    }

    /// A document with the elements of all parts of its list, as far as they fit into a file.
    async fn whole(&self, name: &str, text: &str, notes: &mut Vec<String>) -> Result<Value, String> {
        let read = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        let mut document = read(text)?;
        let mut bytes = text.len();
        while let Some(next) = document["next"].as_str().map(str::to_owned) {
            let part = match self.ask(&next).await {
                // A file has line feeds and indents, which the answers do not have.
                Ok(text) if (bytes + text.len()) * 2 > MAX_MEMBER_BYTES => {
                    Err("the file would be too large".to_owned())
                }
                Ok(text) => {
                    bytes += text.len();
                    read(&text)
                }
                Err(reason) => Err(reason),
            };
            let items = document["items"].as_array_mut().ok_or("the answer is no list")?;
            match part {
                Ok(mut part) => {
                    items.extend(part["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
                    document["next"] = part["next"].take();
                }
                Err(reason) => {
                    let count = items.len();
                    let total = document["total"].as_u64().map_or_else(|| "more".to_owned(), |total| total.to_string());
                    notes.push(format!("{name}: has {count} of {total} elements: {reason}"));
                    break;
                }
            }
        }
        Ok(document)
    }

    /// The configuration, and the addresses of webhooks, which it shows without their paths.
    async fn configuration(&self) -> anyhow::Result<(Written, Vec<String>)> {
        let refused = |fault: Fault| anyhow::anyhow!("{}", fault.detail());
        let (mut configuration, _) = present(&self.array, &self.gate, &self.desk).await.map_err(refused)?;
        let write = move || -> anyhow::Result<Written> {
            configuration.mask(Kind::Channel, mask);
            let document = serde_json::from_str(&configuration.write(Format::Json)?)?;
            Ok(Written { text: configuration.write(Format::Toml)?, document })
        };
        let written = tokio::task::spawn_blocking(write).await??;
        let urls = self.desk.see(|notices| {
            let settings = notices.channels().into_iter().map(|channel| &channel.settings);
            let url = |settings: &ChannelSettings| match settings {
                ChannelSettings::Webhook(webhook) => Some(webhook.url.clone()),
                ChannelSettings::Email(_) | ChannelSettings::Syslog(_) => None,
            };
            settings.filter_map(url).collect()
        });
        Ok((written, urls))
    }
}

/// Hides in a channel what a bundle does not show: the path of its address, and the names in certificates, of which
/// the digest of the field stays.
fn mask(channel: &mut serde_json::Map<String, Value>) {
    let Some(Value::Object(settings)) = channel.get_mut("settings") else { return };
    for (field, value) in settings.iter_mut() {
        match (field.as_str(), value) {
            ("url", Value::String(url)) => *url = api::shown_url(url),
            ("ca", Value::String(ca)) => *ca = format!("SHA-256 {}", Digest::of(ca.as_bytes())),
            _ => {}
        }
    }
}

impl Writer {
    fn note(&mut self, note: &str) {
        let note = self.addresses.hidden(note);
        self.archive.note(self.names.as_ref().map_or(note.clone(), |names| names.replaced(&note)));
    }

    /// Writes a file, on a thread for it.
    async fn with(mut self, name: String, content: Content) -> anyhow::Result<Self> {
        let write = move || -> anyhow::Result<Self> {
            self.write(&name, content)?;
            Ok(self)
        };
        tokio::task::spawn_blocking(write).await?
    }

    fn write(&mut self, name: &str, content: Content) -> anyhow::Result<()> {
        match content {
            Content::Document(mut document) => {
                if name == "channels.json" {
                    let channels = document["items"].as_array_mut().into_iter().flatten();
                    channels.filter_map(Value::as_object_mut).for_each(mask);
                }
                // Before it is a text: an address is known as it is, without the escapes of JSON and before words
                // replace names.
                self.addresses.hide_in(&mut document);
                if let Some(names) = &mut self.names {
                    // An object may be younger than the names.
                    learn(names, name, &document);
                    names.replace_in(&mut document);
                }
                self.archive.add(name, &(serde_json::to_string_pretty(&document)? + "\n"))
            }
            Content::Text(text) => {
                let text = self.addresses.hidden(&text);
                self.archive.add(name, &self.names.as_ref().map_or(text.clone(), |names| names.replaced(&text)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use crate::audit::Audit;
    use crate::http::Surroundings;
    use crate::http::guard::Refusals;
    use crate::memory::{TemporaryDirectory, spawn};
    use axum::routing::get;
    use axum::{Json, Router};
    use serde_json::json;

    /// A list of which a part failed, or that was too long, ended without a word.
    #[tokio::test]
    async fn a_list_that_is_not_whole_says_so() {
        let directory = TemporaryDirectory::new();
        let (surroundings, array) = (Surroundings::of(directory.path(), false), spawn(|_, _, _| {}));
        let large = "x".repeat(MAX_MEMBER_BYTES / 2);
        let reader = Router::new()
            .route("/whole", get(async || Json(json!({ "items": [1], "next": "/end", "total": 2 }))))
            .route("/end", get(async || Json(json!({ "items": [2] }))))
            .route("/fails", get(async || Json(json!({ "items": [1], "next": "/none", "total": 7 }))))
            .route("/long", get(async || Json(json!({ "items": [1], "next": "/large", "total": 7 }))))
            .route("/large", get(async move || Json(json!({ "items": [large] }))));
        let recorder = Arc::new(Recorder {
            audit: Audit::of(directory.path()),
            trouble: Arc::default(),
            goes_on_without_audit: false,
            array: array.clone(),
            reader,
            refusals: Refusals::default(),
        });
        let Surroundings { gate, desk, .. } = surroundings;
        let (caller, pool) = (Caller::local(0), PathBuf::new());
        let collect =
            Collect { array, gate, desk, recorder, caller, pool, job: Uuid::new_v4(), hours: 1, is_replaced: false };
        for (path, items, note) in [
            ("/whole", 2, None),
            ("/fails", 1, Some("list: has 1 of 7 elements: 404 Not Found")),
            ("/long", 1, Some("list: has 1 of 7 elements: the file would be too large")),
        ] {
            let mut notes = Vec::new();
            let text = collect.ask(path).await.unwrap();
            let document = collect.whole("list", &text, &mut notes).await.unwrap();
            assert_eq!(document["items"].as_array().unwrap().len(), items, "{path}");
            assert_eq!(notes.first().map(|note| note.trim()), note, "{path}");
        }
    }
}
