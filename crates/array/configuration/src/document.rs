//! A configuration in memory, and its form as TOML or JSON.

use crate::Fields;
use crate::entries::{Entry, Kind};
use crate::error::Invalid;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 8 << 20;
/// Version of the form of documents.
pub(crate) const FORMAT: u32 = 1;

/// Form of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// TOML, with a comment at each kind.
    #[default]
    Toml,
    /// JSON.
    Json,
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

    /// Adds the objects of a kind, if a document has it.
    pub(crate) fn add_if<E: Entry>(&mut self, entries: Option<Vec<E>>) -> Result<(), Invalid> {
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
