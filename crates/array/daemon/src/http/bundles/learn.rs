//! Names in documents, which words replace in a bundle.

use crate::bundle::Names;
use serde_json::Value;

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
    ("qos_policy", "policy"),
    ("channel", "channel"),
    ("pool", "pool"),
    ("path", "object"),
];

/// Learns the names in a document.
pub(super) fn learn(names: &mut Names, file: &str, document: &Value) {
    let kind = match file.split('.').next().unwrap_or_default() {
        "volumes" => "volume",
        "shares" => "share",
        "snapshots" => "snapshot",
        "schedules" => "schedule",
        "qos-policies" => "policy",
        "hosts" => "host",
        "host-groups" => "group",
        "channels" => "channel",
        "pools" => "pool",
        _ => "object",
    };
    learn_in(names, kind, document);
}

pub(super) fn learn_in(names: &mut Names, kind: &str, value: &Value) {
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
