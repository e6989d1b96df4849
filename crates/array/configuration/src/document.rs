//! A configuration in memory, and its form as TOML or JSON.

use crate::entries::{
    Access, Channel, Entry, Export, Host, HostGroup, Kind, Pool, PortGroup, Portal, Schedule, Share, Token, User,
    Volume,
};
use crate::error::Invalid;
use crate::{Fields, check};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 8 << 20;
/// Version of the form of documents.
const FORMAT: u32 = 1;

/// Form of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// TOML, with a comment at each kind.
    #[default]
    Toml,
    /// JSON.
    Json,
}

/// A document as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    pool: Option<Pool>,
    portal: Option<Vec<Portal>>,
    port_group: Option<Vec<PortGroup>>,
    volume: Option<Vec<Volume>>,
    share: Option<Vec<Share>>,
    host: Option<Vec<Host>>,
    host_group: Option<Vec<HostGroup>>,
    access: Option<Vec<Access>>,
    export: Option<Vec<Export>>,
    schedule: Option<Vec<Schedule>>,
    channel: Option<Vec<Channel>>,
    user: Option<Vec<User>>,
    token: Option<Vec<Token>>,
}

/// Configuration of an array: its objects by kind and name.
#[derive(Clone, Default, PartialEq)]
pub struct Configuration {
    kinds: BTreeMap<Kind, BTreeMap<String, Fields>>,
    /// Secrets that a document states for new objects.
    secrets: BTreeMap<(Kind, String), Fields>,
    /// Numbers of snapshots that keep volumes and shares from being deleted.
    snapshots: BTreeMap<(Kind, String), u64>,
}

impl std::fmt::Debug for Configuration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Configuration").field(&self.kinds).finish()
    }
}

impl Configuration {
    /// Adds the objects of a kind, which are all that there are.
    ///
    /// # Errors
    ///
    /// Two have the same name.
    #[expect(private_bounds, reason = "the types of objects are those of this crate")]
    pub fn add<E: Entry>(&mut self, entries: Vec<E>) -> Result<(), Invalid> {
        let kind = self.kinds.entry(E::KIND).or_default();
        for mut entry in entries {
            let secrets = entry.settle();
            let name = entry.name();
            let Ok(Value::Object(fields)) = serde_json::to_value(&entry) else {
                return Err(Invalid::new(field(E::KIND, &name, ""), "cannot be written"));
            };
            if kind.insert(name.clone(), fields).is_some() {
                return Err(Invalid::new(field(E::KIND, &name, "name"), "two objects of this kind have the same name"));
            }
            if !secrets.is_empty() {
                self.secrets.insert((E::KIND, name), secrets);
            }
        }
        Ok(())
    }

    /// Notes the number of snapshots of a volume or share.
    pub fn note_snapshots(&mut self, kind: Kind, name: &str, snapshots: u64) {
        if snapshots > 0 {
            self.snapshots.insert((kind, name.to_owned()), snapshots);
        }
    }

    /// Reads a document, and checks that it does not contradict itself.
    ///
    /// # Errors
    ///
    /// The document is too large, has an unknown or missing field or a wrong value, two objects of one name, or a
    /// reference to an object of a kind that it has and that it does not name.
    pub fn read(text: &str, format: Format) -> Result<Self, Invalid> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(Invalid::new("", format!("the document is larger than {MAX_DOCUMENT_BYTES} bytes")));
        }
        let document: Document = parse(text, format)?;
        if document.format != FORMAT {
            let reason = format!("{} is not a known form of documents: this array reads {FORMAT}", document.format);
            return Err(Invalid::new("format", reason));
        }
        let mut configuration = Self::default();
        let pool = document.pool.map(|pool| vec![pool]);
        configuration.add_if(pool)?;
        configuration.add_if(document.portal)?;
        configuration.add_if(document.port_group)?;
        configuration.add_if(document.volume)?;
        configuration.add_if(document.share)?;
        configuration.add_if(document.host)?;
        configuration.add_if(document.host_group)?;
        configuration.add_if(document.access)?;
        configuration.add_if(document.export)?;
        configuration.add_if(document.schedule)?;
        configuration.add_if(document.channel)?;
        configuration.add_if(document.user)?;
        configuration.add_if(document.token)?;
        check::values(&configuration)?;
        Ok(configuration)
    }

    fn add_if<E: Entry>(&mut self, entries: Option<Vec<E>>) -> Result<(), Invalid> {
        entries.map_or(Ok(()), |entries| self.add(entries))
    }

    /// Writes a document without secrets: equal configurations give equal texts.
    ///
    /// # Errors
    ///
    /// A number is larger than TOML permits.
    pub fn write(&self, format: Format) -> Result<String, Invalid> {
        match format {
            Format::Toml => self.toml(),
            Format::Json => {
                let kinds = Kind::ALL.into_iter().filter_map(|kind| Some((kind.name(), self.list(kind)?)));
                let mut document = Fields::from_iter([("format".to_owned(), Value::from(FORMAT))]);
                document.extend(kinds.map(|(name, list)| (name.to_owned(), list)));
                serde_json::to_string_pretty(&document)
                    .map(|text| text + "\n")
                    .map_err(|error| Invalid::new("", error.to_string()))
            }
        }
    }

    /// Objects of a kind as they stand in a document.
    fn list(&self, kind: Kind) -> Option<Value> {
        let mut objects = self.kinds.get(&kind)?.values().cloned().map(Value::Object);
        if kind == Kind::Pool { objects.next() } else { Some(objects.collect()) }
    }

    fn toml(&self) -> Result<String, Invalid> {
        let mut text = "# Configuration of a Windlass array. Objects that a kind does not name are removed when this is\n# applied; kinds that are not here are left as they are.\n".to_owned();
        let _fits = writeln!(text, "format = {FORMAT}");
        let is_empty = |kind: &Kind| self.kinds.get(kind).is_some_and(BTreeMap::is_empty);
        // Keys of the whole document stand before its tables.
        for kind in Kind::ALL.into_iter().filter(is_empty) {
            let _fits = writeln!(text, "\n# {}\n{} = []", kind.about(), kind.name());
        }
        for kind in Kind::ALL.into_iter().filter(|kind| !is_empty(kind)) {
            let Some(list) = self.list(kind) else { continue };
            let table = BTreeMap::from([(kind.name(), list)]);
            let written = toml::to_string(&table).map_err(|error| Invalid::new(kind.name(), error.to_string()))?;
            let _fits = write!(text, "\n# {}\n{written}", kind.about());
        }
        Ok(text)
    }

    /// SHA-256 of the configuration, hexadecimal.
    pub fn digest(&self) -> String {
        let text = self.write(Format::Json).unwrap_or_default();
        Sha256::digest(text).iter().fold(String::new(), |mut digits, byte| {
            let _fits = write!(digits, "{byte:02x}");
            digits
        })
    }

    /// Objects of a kind, by name; absent if the document does not have the kind.
    pub fn objects(&self, kind: Kind) -> Option<&BTreeMap<String, Fields>> {
        self.kinds.get(&kind)
    }

    /// Secrets of a new object.
    pub fn secrets(&self, kind: Kind, name: &str) -> Option<&Fields> {
        self.secrets.get(&(kind, name.to_owned()))
    }

    pub(crate) fn snapshots(&self, kind: Kind, name: &str) -> u64 {
        self.snapshots.get(&(kind, name.to_owned())).copied().unwrap_or(0)
    }
}

/// Name of a field, for a problem.
pub(crate) fn field(kind: Kind, name: &str, field: &str) -> String {
    let parts = [kind.name(), name, field];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<&str>>().join(".")
}

fn parse<T: DeserializeOwned>(text: &str, format: Format) -> Result<T, Invalid> {
    match format {
        Format::Toml => toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes().get(..at).map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1);
            unread(error.message(), line)
        }),
        Format::Json => {
            serde_json::from_str(text).map_err(|error| unread(&error.to_string(), Some(error.line().max(1))))
        }
    }
}

/// Error of a parser. It quotes the field that it means.
fn unread(message: &str, line: Option<usize>) -> Invalid {
    let is_of_field = message.contains(" field `");
    let field = message.split('`').nth(1).filter(|_| is_of_field).unwrap_or_default().to_owned();
    Invalid { field, line, reason: message.trim().replace('\n', " ") }
}
