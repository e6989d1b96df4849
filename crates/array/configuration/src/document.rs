//! A configuration in memory, and its form as TOML or JSON.

use crate::Fields;
use crate::channel;
use crate::entries::{Entry, Kind, Token};
use crate::error::{Invalid, field};
use identity::Digest;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Largest number of objects in a document.
pub const MAX_OBJECTS: usize = 32_768;
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
    /// Tokens of the array that have expired: no document has them, but a new token may take the name of one.
    expired: BTreeMap<String, Fields>,
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
        let mut distinct = BTreeSet::new();
        for mut entry in entries {
            let secrets = entry.settle()?;
            let name = entry.name();
            let Ok(Value::Object(fields)) = serde_json::to_value(&entry) else {
                return Err(Invalid::new(field(E::KIND.name(), &name, ""), "cannot be written"));
            };
            if kind.insert(name.clone(), fields).is_some() || !distinct.insert(known_as(E::KIND, &name)) {
                return Err(Invalid::new(
                    field(E::KIND.name(), &name, "name"),
                    "two objects of this kind have the same name",
                ));
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

    /// Notes the tokens of the array that have expired. They are not part of the configuration.
    ///
    /// # Errors
    ///
    /// Two have the same name.
    pub fn note_expired(&mut self, tokens: Vec<Token>) -> Result<(), Invalid> {
        let mut whole = Self::default();
        whole.add(tokens)?;
        self.expired = whole.kinds.remove(&Kind::Token).unwrap_or_default();
        Ok(())
    }

    /// Brings objects of a document to the form in which the array `present` has them: names whose case does not
    /// count get the spelling of the array, and a channel of which the document does not say whether it has a secret
    /// has one if it has one on the array.
    pub(crate) fn settled_as(mut self, present: &Self) -> Self {
        for kind in Kind::ALL.into_iter().filter(|kind| kind.ignores_case()) {
            let Some(objects) = self.kinds.get_mut(&kind) else { continue };
            let spellings: BTreeMap<String, &String> = present
                .objects(kind)
                .into_iter()
                .flat_map(BTreeMap::keys)
                .chain(present.expired.keys().filter(|_| kind == Kind::Token))
                .map(|name| (known_as(kind, name), name))
                .collect();
            for (name, mut fields) in std::mem::take(objects) {
                let own = spellings.get(&known_as(kind, &name)).map_or(&name, |own| *own).clone();
                if own != name {
                    fields.insert("name".to_owned(), Value::from(own.clone()));
                    if let Some(secrets) = self.secrets.remove(&(kind, name)) {
                        self.secrets.insert((kind, own.clone()), secrets);
                    }
                }
                if kind == Kind::Channel {
                    let before = present.objects(kind).and_then(|objects| objects.get(&own));
                    channel::complete(&mut fields, before);
                }
                objects.insert(own, fields);
            }
        }
        self
    }

    /// Object of the array with the name of a wanted one; also a token that has expired.
    pub(crate) fn before(&self, kind: Kind, name: &str) -> Option<&Fields> {
        let expired = || self.expired.get(name).filter(|_| kind == Kind::Token);
        self.objects(kind).and_then(|objects| objects.get(name)).or_else(expired)
    }

    /// Number of objects.
    pub(crate) fn len(&self) -> usize {
        self.kinds.values().map(BTreeMap::len).sum()
    }

    /// Changes fields of the objects of a kind, for readers who may not see all of them.
    pub fn mask(&mut self, kind: Kind, mask: impl Fn(&mut Fields)) {
        self.kinds.get_mut(&kind).into_iter().flat_map(BTreeMap::values_mut).for_each(mask);
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
        Digest::of(text.as_bytes()).to_string()
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

/// What an object of a kind is known by: its name, in lower case if case does not count.
fn known_as(kind: Kind, name: &str) -> String {
    if kind.ignores_case() { name.to_ascii_lowercase() } else { name.to_owned() }
}
