//! Names of the pool's objects: the pool reports `object 19`, administrators know `volume db
//! (object 19)`.

use crate::directory::Directory;
use crate::shares::record::ShareRecord;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::record::TrashRecord;
use crate::volumes::record::VolumeRecord;
use pool::ObjectId;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Words that precede an object number in the pool's sentences.
const NOUNS: [&str; 3] = ["object", "volume", "snapshot"];

/// Name and kind of each object: `volume db`, `share vms`, `snapshot db@monday`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectNames(BTreeMap<u64, String>);

impl ObjectNames {
    /// Reads names from documents of a pool, given with their keys. Unreadable documents give no
    /// name.
    pub fn of_documents<'a>(documents: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let (mut volumes, mut shares, mut snapshots, mut trash) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (key, value) in documents {
            if key.starts_with("volume/") {
                volumes.extend(serde_json::from_slice::<VolumeRecord>(value));
            } else if key.starts_with("share/") {
                shares.extend(serde_json::from_slice::<ShareRecord>(value));
            } else if key.starts_with("snapshot/") {
                snapshots.extend(serde_json::from_slice::<SnapshotRecord>(value));
            } else if key.starts_with("trash/") {
                trash.extend(serde_json::from_slice::<TrashRecord>(value));
            }
        }
        Self::new(volumes.iter(), shares.iter(), snapshots.iter(), trash.iter())
    }

    /// Present names.
    pub(crate) fn of(directory: &Directory) -> Self {
        Self::new(directory.volumes(), directory.shares(), directory.snapshots(), directory.trash())
    }

    fn new<'a>(
        volumes: impl Iterator<Item = &'a VolumeRecord>,
        shares: impl Iterator<Item = &'a ShareRecord>,
        snapshots: impl Iterator<Item = &'a SnapshotRecord>,
        trash: impl Iterator<Item = &'a TrashRecord> + Clone,
    ) -> Self {
        let mut names = BTreeMap::new();
        let mut sources: BTreeMap<Uuid, &str> = BTreeMap::new();
        for volume in volumes {
            sources.insert(volume.id, &volume.name);
            names.insert(volume.object.0, format!("volume {}", volume.name));
        }
        for share in shares {
            sources.insert(share.id, &share.name);
            names.insert(share.object.0, format!("share {}", share.name));
        }
        for item in trash.clone().filter(|item| item.what.source().is_none()) {
            sources.insert(item.what.id(), item.what.name());
            let name = format!("{} {} in the trash", item.what.noun(), item.what.name());
            names.insert(item.what.object().0, name);
        }
        for (item, source) in trash.filter_map(|item| Some((item, item.what.source()?))) {
            let source = sources.get(&source).copied().unwrap_or_default();
            let name = format!("snapshot {source}@{} in the trash", item.what.name());
            names.insert(item.what.object().0, name);
        }
        for snapshot in snapshots {
            let volume = sources.get(&snapshot.volume).copied().unwrap_or_default();
            names.insert(snapshot.object.0, format!("snapshot {volume}@{}", snapshot.name));
        }
        Self(names)
    }

    /// Name of an object, such as `volume db`.
    pub(crate) fn name(&self, object: ObjectId) -> Option<&str> {
        self.0.get(&object.0).map(String::as_str)
    }

    /// Adds names of objects to a sentence of the pool: `object 19: …` becomes `volume db (object
    /// 19): …`.
    pub fn explain(&self, sentence: &str) -> String {
        let mut explained = String::with_capacity(sentence.len());
        let mut words = sentence.split(' ').peekable();
        while let Some(word) = words.next() {
            let named = words.peek().filter(|_| NOUNS.contains(&word)).and_then(|next| self.named(next));
            match named {
                Some(named) => {
                    explained += &named;
                    words.next();
                }
                None => explained += word,
            }
            if words.peek().is_some() {
                explained.push(' ');
            }
        }
        explained
    }

    /// Returns `volume db (object 19):` for `19:`.
    fn named(&self, word: &str) -> Option<String> {
        let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = word.strip_suffix(rest)?;
        if rest.starts_with(char::is_alphanumeric) {
            return None;
        }
        let id = digits.parse().ok()?;
        self.name(ObjectId(id)).map(|name| format!("{name} (object {id}){rest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectNames;

    #[test]
    fn a_sentence_of_the_pool_gets_names() {
        let names = [(19, "volume bad".to_owned()), (20, "snapshot bad@monday".to_owned())];
        let names = ObjectNames(names.into_iter().collect());
        for (sentence, explained) in [
            ("object 19: block 7 is not a map page", "volume bad (object 19): block 7 is not a map page"),
            ("snapshot 20: LBA 8 to 15 are lost", "snapshot bad@monday (object 20): LBA 8 to 15 are lost"),
            ("it is of object 19", "it is of volume bad (object 19)"),
            ("object 21: gone", "object 21: gone"),
            ("object 19x", "object 19x"),
            ("the object", "the object"),
            ("", ""),
        ] {
            assert_eq!(names.explain(sentence), explained);
        }
    }
}
