//! Stable words in the place of names: the same name is the same word in every bundle of an array, and the word does
//! not tell the name.

use identity::Digest;
use serde_json::Value;
use std::collections::HashMap;
use std::net::IpAddr;

/// Shortest text that is a name: single letters are too common in other texts to be replaced there.
const LEAST: usize = 2;

/// Names and their words.
pub(crate) struct Names {
    key: String,
    /// Words by name in lower case.
    known: HashMap<String, String>,
    /// Length of the longest name.
    longest: usize,
}

/// Characters inside a name; a name ends where none follows.
fn is_inner(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Characters of initiator names and of addresses.
fn is_of_address(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '.' | ':' | '%')
}

impl Names {
    pub(crate) fn new(key: String) -> Self {
        Self { key, known: HashMap::new(), longest: 0 }
    }

    fn word(&self, kind: &str, name: &str) -> String {
        let bytes = [self.key.as_bytes(), name.to_lowercase().as_bytes()].concat();
        let digest = Digest::of(&bytes).to_string();
        format!("{kind}-{}", digest.get(..10).unwrap_or_default())
    }

    /// Adds a name of a kind. The first kind of a name is its kind.
    pub(crate) fn add(&mut self, kind: &str, name: &str) {
        // Names of people are compared without their case, initiators are kept in lower case, and a log has what was
        // typed.
        let folded = name.to_lowercase();
        if name.chars().count() < LEAST || self.known.contains_key(&folded) || name.parse::<uuid::Uuid>().is_ok() {
            return;
        }
        self.longest = self.longest.max(name.len());
        let word = self.word(kind, name);
        self.known.insert(folded, word);
    }

    /// Replaces names in all texts of a value, and in the keys of its labels.
    pub(crate) fn replace_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.replaced(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace_in(item)),
            Value::Object(fields) => {
                for (field, value) in fields.iter_mut() {
                    match (field.as_str(), value) {
                        ("labels" | "label", Value::Object(labels)) => {
                            let old = std::mem::take(labels);
                            labels.extend(old.into_iter().map(|(key, mut value)| {
                                self.replace_in(&mut value);
                                (self.replaced(&key), value)
                            }));
                        }
                        (_, value) => self.replace_in(value),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A text with words in the place of known names, of all initiator names, and of all addresses.
    pub(crate) fn replaced(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        while let Some(first) = rest.chars().next() {
            let found = if before.is_some_and(char::is_alphanumeric) { None } else { self.at_start(rest) };
            if let Some((length, word)) = found {
                let (name, after) = rest.split_at(length);
                out.push_str(&word);
                before = name.chars().last();
                rest = after;
                continue;
            }
            out.push(first);
            before = Some(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
        out
    }

    /// Length of the name with which a text starts, and its word.
    fn at_start(&self, text: &str) -> Option<(usize, String)> {
        let address = text.find(|c| !is_of_address(c)).unwrap_or(text.len());
        let address = text.get(..address)?.trim_end_matches(['.', ':', '-']);
        let is_initiator = address
            .get(..4)
            .is_some_and(|start| ["iqn.", "eui.", "naa."].iter().any(|of| start.eq_ignore_ascii_case(of)));
        if is_initiator {
            return Some((address.len(), self.word("initiator", address)));
        }
        if let Some(length) = address_length(address) {
            return Some((length, self.word("address", text.get(..length)?)));
        }
        // The longest known name that ends where a name ends.
        let most = self.longest.min(text.len());
        let ends = (LEAST..=most).rev().filter(|end| text.is_char_boundary(*end));
        for end in ends {
            let (name, after) = text.split_at(end);
            let goes_on = after.chars().next().is_some_and(is_inner) && !is_end(after);
            if !goes_on && let Some(word) = self.known.get(&name.to_lowercase()) {
                return Some((end, word.clone()));
            }
        }
        None
    }
}

/// True if the punctuation at the start of a text ends a sentence.
fn is_end(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('.') && chars.next().is_none_or(|next| !is_inner(next))
}

/// Length of the IP address with which a word starts; a port or a prefix may follow.
fn address_length(word: &str) -> Option<usize> {
    let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
    let bare = word.split('%').next().unwrap_or_default();
    // `::` alone is common in other texts.
    if bare.len() > 2 && is_address(bare) {
        return Some(bare.len());
    }
    let (host, _port) = bare.rsplit_once(':')?;
    is_address(host).then_some(host.len()).filter(|length| *length > 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names() -> Names {
        let mut names = Names::new("one".to_owned());
        for (kind, name) in
            [("volume", "win-dc1"), ("volume", "win-dc1-old"), ("host", "esx01"), ("user", "ana"), ("volume", "x")]
        {
            names.add(kind, name);
        }
        names
    }

    #[test]
    fn names_are_replaced_wherever_they_stand() {
        let names = names();
        let word = |text: &str| names.replaced(text);
        let volume = word("win-dc1");
        assert!(volume.starts_with("volume-") && volume.len() == 17, "{volume}");
        for text in [
            "volume win-dc1 is full.",
            "\"win-dc1\"",
            "win-dc1@monday",
            "path=/api/v1/volumes/win-dc1/snapshots",
            "name=win-dc1,size=1",
            "win-dc1.",
            "group:win-dc1",
        ] {
            let replaced = word(text);
            assert!(!replaced.contains("win-dc1") && replaced.contains(&volume), "{text}: {replaced}");
        }
        // Other spellings of one name are the same word.
        assert_eq!([word("WIN-DC1"), word("Ana")], [volume.clone(), word("ana")]);
        assert!(word("IQN.1998-01.com.VMware:ESX01-5a").starts_with("initiator-"));
        assert_ne!(word("win-dc1-old"), format!("{volume}-old"));
        assert_eq!(word("banana anatomy x"), "banana anatomy x");
        for text in
            ["iqn.1998-01.com.vmware:esx01-5a", "192.0.2.17", "192.0.2.17:3260", "2001:db8::17", "[2001:db8::17]:3260"]
        {
            let replaced = word(&format!("from {text}, twice"));
            assert!(!["vmware", "192.0", "db8", "esx01"].iter().any(|part| replaced.contains(part)), "{replaced}");
        }
        assert_eq!(word("at 12:30:05, 1.2.3, control::jobs"), "at 12:30:05, 1.2.3, control::jobs");
        assert_eq!(word("from 192.0.2.17:3260"), format!("from {}:3260", word("192.0.2.17")));
        assert_ne!(word("win-dc1"), Names::new("other".to_owned()).word("volume", "win-dc1"));
    }

    #[test]
    fn only_texts_of_a_document_are_replaced() {
        let mut names = names();
        names.add("volume", "size_bytes");
        names.add("label", "team");
        let mut value =
            json!({ "name": "win-dc1", "size_bytes": 7, "labels": { "team": "ana" }, "of": ["esx01", true] });
        names.replace_in(&mut value);
        let expected = json!({ "name": names.replaced("win-dc1"), "size_bytes": 7,
            "labels": { names.replaced("team"): names.replaced("ana") }, "of": [names.replaced("esx01"), true] });
        assert_eq!(value, expected);
    }
}
