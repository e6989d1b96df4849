//! Collects what a bundle has: answers of the REST interface, the configuration, the log, and what the machine says.

use crate::bundle::{Archive, Names};
use crate::http::configuration::present;
use crate::http::guard::Recorder;
use crate::http::problem::Fault;
use crate::notices::Desk;
use crate::people::{Caller, Gate};
use api::ChannelSettings;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use configuration::Format;
use control::ManagementJobProgress;
use jiff::{SignedDuration, Timestamp};
use reactor::ArrayHandle;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

/// Largest answer that a bundle takes.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Largest number of parts of a list.
const MAX_PARTS: usize = 20;
/// Word in the place of the path of a webhook, which is a secret for many receivers.
const HIDDEN: &str = "(hidden)";

/// Answers of the REST interface, by file. `{since}` and `{from}` are the start of the hours.
const ANSWERS: &[(&str, &str)] = &[
    ("status.json", "/api/v1/system"),
    ("pools.json", "/api/v1/pools"),
    ("volumes.json", "/api/v1/volumes?limit=1000"),
    ("shares.json", "/api/v1/shares?limit=1000"),
    ("snapshots.json", "/api/v1/snapshots?limit=1000"),
    ("schedules.json", "/api/v1/schedules"),
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

/// Files of the machine.
const MACHINE: &[(&str, &str)] = &[
    ("machine/version.txt", "/proc/version"),
    ("machine/limits.txt", "/proc/self/limits"),
    ("machine/process.txt", "/proc/self/status"),
    ("machine/memory.txt", "/proc/meminfo"),
    ("machine/load.txt", "/proc/loadavg"),
];

/// What collecting needs.
pub(super) struct Collect {
    pub(super) array: ArrayHandle,
    pub(super) gate: Arc<Gate>,
    pub(super) desk: Arc<Desk>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) caller: Caller,
    pub(super) job: Uuid,
    pub(super) hours: u16,
    pub(super) is_replaced: bool,
}

/// What was collected: texts and documents by name.
struct Collected {
    documents: Vec<(&'static str, Value)>,
    texts: Vec<(String, String)>,
    /// The configuration, for the names in it.
    configuration: Value,
    notes: Vec<String>,
}

impl Collect {
    /// Number of steps.
    pub(super) fn steps() -> u64 {
        u64::try_from(ANSWERS.len() + 2).unwrap_or(u64::MAX)
    }

    /// Collects everything into a file.
    pub(super) async fn run(self, archive: Archive, key: String) -> anyhow::Result<Archive> {
        let mut collected = self.collect().await;
        let (configuration, document, urls) = self.configuration().await?;
        collected.texts.push(("configuration.toml".to_owned(), configuration));
        collected.configuration = document;
        self.advance(Self::steps() - 1).await;
        let is_replaced = self.is_replaced;
        let write = move || write(archive, collected, &urls, is_replaced.then_some(key));
        tokio::task::spawn_blocking(write).await?
    }

    async fn advance(&self, done: u64) {
        let _shown_later = self.array.call(ManagementJobProgress { job: self.job, done, total: Self::steps() }).await;
    }

    async fn collect(&self) -> Collected {
        let mut collected =
            Collected { documents: Vec::new(), texts: Vec::new(), configuration: Value::Null, notes: Vec::new() };
        let now = Timestamp::now();
        let start = now.checked_sub(SignedDuration::from_hours(i64::from(self.hours))).unwrap_or(now);
        for (at, (name, path)) in ANSWERS.iter().enumerate() {
            let path = path.replace("{since}", &format!("{start:.0}"));
            match self.ask(&path).await {
                Ok(text) if name.ends_with(".json") => match self.whole(&text).await {
                    Some(document) => collected.documents.push((name, document)),
                    None => collected.notes.push(format!("{name}: the answer is no document")),
                },
                Ok(text) => collected.texts.push(((*name).to_owned(), text)),
                Err(reason) => collected.notes.push(format!("{name}: {reason}")),
            }
            self.advance(u64::try_from(at + 1).unwrap_or(0)).await;
        }
        collected.texts.push(("log.txt".to_owned(), crate::logging::last_lines()));
        for (name, path) in MACHINE {
            // They belong to the kernel and are short.
            match std::fs::read_to_string(path) {
                Ok(text) => collected.texts.push(((*name).to_owned(), text)),
                Err(error) => collected.notes.push(format!("{name}: {error}")),
            }
        }
        collected
    }

    async fn ask(&self, path: &str) -> Result<String, String> {
        let request = Request::builder().uri(path).body(Body::empty()).map_err(|error| error.to_string())?;
        let response = self.recorder.ask(&self.caller, request).await;
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), MAX_ANSWER_BYTES).await;
        let text = String::from_utf8_lossy(&bytes.map_err(|error| error.to_string())?).into_owned();
        if status == StatusCode::OK { Ok(text) } else { Err(format!("{status} {text}")) }
    }

    /// A document with the elements of all parts of its list.
    async fn whole(&self, text: &str) -> Option<Value> {
        let mut document: Value = serde_json::from_str(text).ok()?;
        for _part in 0..MAX_PARTS {
            let Some(next) = document["next"].as_str().map(str::to_owned) else { break };
            let part = self.ask(&next).await.ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let Some(mut part) = part else { break };
            let items = part["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            document["items"].as_array_mut()?.extend(items);
            document["next"] = part["next"].take();
        }
        Some(document)
    }

    /// The configuration in both forms, and the addresses of webhooks, whose paths are hidden.
    async fn configuration(&self) -> anyhow::Result<(String, Value, Vec<String>)> {
        let refused = |fault: Fault| anyhow::anyhow!("{}", fault.detail());
        let (configuration, _) = present(&self.array, &self.gate, &self.desk).await.map_err(refused)?;
        let write = move || -> anyhow::Result<(String, Value)> {
            let json = serde_json::from_str(&configuration.write(Format::Json)?)?;
            Ok((configuration.write(Format::Toml)?, json))
        };
        let (text, document) = tokio::task::spawn_blocking(write).await??;
        let urls = self.desk.see(|notices| {
            let settings = notices.channels().into_iter().map(|channel| &channel.settings);
            let url = |settings: &ChannelSettings| match settings {
                ChannelSettings::Webhook(webhook) => Some(webhook.url.clone()),
                ChannelSettings::Email(_) | ChannelSettings::Syslog(_) => None,
            };
            settings.filter_map(url).collect()
        });
        Ok((text, document, urls))
    }
}

/// Writes what was collected into a file. `key`: names are replaced with it.
fn write(
    mut archive: Archive,
    mut collected: Collected,
    urls: &[String],
    key: Option<String>,
) -> anyhow::Result<Archive> {
    for (name, document) in &mut collected.documents {
        // Of the audit, the heads: who did what to what. Fields may have what hosts and people write.
        if *name == "audit.json" {
            for entry in document["items"].as_array_mut().into_iter().flatten() {
                entry.as_object_mut().map(|entry| entry.remove("change"));
            }
        }
    }
    let names = key.map(|key| {
        let mut names = Names::new(key);
        collected.documents.iter().for_each(|(name, document)| learn(&mut names, name, document));
        for (kind, objects) in collected.configuration.as_object().into_iter().flatten() {
            learn_in(&mut names, kind.trim_start_matches("host_"), objects);
        }
        for url in urls {
            names.add("server", url.split("://").nth(1).unwrap_or(url).split(['/', ':']).next().unwrap_or_default());
        }
        if let Ok(machine) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            names.add("machine", machine.trim());
        }
        names
    });
    let hidden = |mut text: String| {
        for url in urls {
            text = text.replace(url.as_str(), &format!("{}/{HIDDEN}", origin(url)));
        }
        text
    };
    let Collected { documents, texts, notes, configuration: _ } = collected;
    for (name, mut document) in documents {
        if let Some(names) = &names {
            // Before the whole: a URL is known as it is.
            hide(&mut document, &hidden);
            names.replace_in(&mut document);
        }
        archive.add(name, &hidden(serde_json::to_string_pretty(&document)? + "\n"))?;
    }
    for (name, text) in texts {
        let text = hidden(text);
        archive.add(&name, &names.as_ref().map_or(text.clone(), |names| names.replaced(&text)))?;
    }
    for note in notes {
        archive.note(names.as_ref().map_or(note.clone(), |names| names.replaced(&note)));
    }
    Ok(archive)
}

/// Hides in all texts of a document.
fn hide(value: &mut Value, hidden: &impl Fn(String) -> String) {
    match value {
        Value::String(text) => *text = hidden(std::mem::take(text)),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, hidden)),
        Value::Object(fields) => fields.values_mut().for_each(|value| hide(value, hidden)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Scheme and host of a URL.
fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let host = rest.split('/').next().unwrap_or_default();
    // Names and passwords of a URL stand before its host.
    format!("{scheme}://{}", host.rsplit('@').next().unwrap_or_default())
}

/// Fields that name objects, whatever document they are in, with the kind of word.
const NAMES: &[(&str, &str)] = &[
    ("volume", "volume"),
    ("volumes", "volume"),
    ("share", "share"),
    ("snapshot", "snapshot"),
    ("host", "host"),
    ("hosts", "host"),
    ("subject", "object"),
    ("target_name", "object"),
    ("iqns", "initiator"),
    ("initiator", "initiator"),
    ("created_by", "user"),
    ("by", "user"),
    ("server", "server"),
    ("from", "address"),
    ("to", "address"),
    ("user", "user"),
    ("mutual_user", "user"),
    ("target", "target"),
    ("schedule", "schedule"),
    ("channel", "channel"),
    ("pool", "pool"),
    ("path", "object"),
];

/// Learns the names in a document.
fn learn(names: &mut Names, file: &str, document: &Value) {
    let kind = match file.split('.').next().unwrap_or_default() {
        "volumes" => "volume",
        "shares" => "share",
        "snapshots" => "snapshot",
        "schedules" => "schedule",
        "hosts" => "host",
        "host-groups" => "group",
        "channels" => "channel",
        "pools" => "pool",
        _ => "object",
    };
    learn_in(names, kind, document);
}

fn learn_in(names: &mut Names, kind: &str, value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| learn_in(names, kind, item)),
        Value::Object(fields) => {
            for (field, value) in fields {
                match (field.as_str(), value) {
                    // The names of primitives, columns and codes are no secrets.
                    ("name", Value::String(name)) => add(names, kind, name),
                    ("labels" | "label", Value::Object(labels)) => {
                        for (key, value) in labels {
                            add(names, "label", key);
                            value.as_str().into_iter().for_each(|value| add(names, "label", value));
                        }
                    }
                    (field, Value::String(name)) => {
                        let of = NAMES.iter().find(|(name, _)| *name == field);
                        of.into_iter().for_each(|(_, kind)| add(names, kind, name));
                    }
                    (field, Value::Array(items)) => {
                        let of = NAMES.iter().find(|(name, _)| *name == field);
                        for item in items {
                            match (of, item) {
                                (Some((_, kind)), Value::String(name)) => add(names, kind, name),
                                _ => learn_in(names, kind, item),
                            }
                        }
                    }
                    (_, value) => learn_in(names, kind, value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds a name, and the names of which it consists: `volume@snapshot`, `group:name`.
fn add(names: &mut Names, kind: &str, name: &str) {
    const WORDS: [&str; 6] = ["any", "array", "pool", "uid", "group", "unknown"];
    for part in name.split(['@', ':', '/', ' ']).chain([name]) {
        if !WORDS.contains(&part) {
            names.add(kind, part);
        }
    }
}
