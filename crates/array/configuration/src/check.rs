//! Checks of a document, alone and against the array: references, logical unit numbers, names.

use crate::document::{Configuration, field};
use crate::entries::Kind;
use crate::error::Invalid;
use serde_json::Value;
use std::collections::BTreeSet;

/// Characters of a name.
fn is_plain(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_allowed)
}

/// Checks what a document says without regard to an array.
pub(crate) fn values(configuration: &Configuration) -> Result<(), Invalid> {
    for kind in [Kind::Volume, Kind::Share, Kind::Host, Kind::HostGroup, Kind::Schedule] {
        for name in configuration.objects(kind).into_iter().flat_map(|objects| objects.keys()) {
            if !is_plain(name) {
                let reason = "a name is 1 to 63 letters, digits, '.', '_' and '-', the first a letter or digit";
                return Err(Invalid::new(field(kind, name, "name"), reason));
            }
        }
    }
    owners(configuration, "iqns")?;
    owners(configuration, "addresses")?;
    let mut taken = BTreeSet::new();
    for (name, fields) in configuration.objects(Kind::Access).into_iter().flatten() {
        let lun = fields.get("lun").and_then(Value::as_u64).unwrap_or_default();
        if !taken.insert((text(fields.get("host")), lun)) {
            let reason = format!("two volumes have the logical unit number {lun} for the same host");
            return Err(Invalid::new(field(Kind::Access, name, "lun"), reason));
        }
    }
    Ok(())
}

/// Checks that no two hosts have the same initiator or address.
fn owners(configuration: &Configuration, list: &str) -> Result<(), Invalid> {
    let mut taken = BTreeSet::new();
    for (name, fields) in configuration.objects(Kind::Host).into_iter().flatten() {
        for item in fields.get(list).and_then(Value::as_array).into_iter().flatten() {
            if !taken.insert(text(Some(item))) {
                let reason = format!("{} belongs to another host of the document", text(Some(item)));
                return Err(Invalid::new(field(Kind::Host, name, list), reason));
            }
        }
    }
    Ok(())
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Checks that each object that a document refers to will exist.
pub(crate) fn references(present: &Configuration, wanted: &Configuration) -> Result<(), Invalid> {
    let exists = |kind: Kind, name: &str| {
        wanted.objects(kind).or_else(|| present.objects(kind)).is_some_and(|objects| objects.contains_key(name))
    };
    let check = |of: Kind, owner: &str, at: &str, kind: Kind, name: &str| {
        if exists(kind, name) {
            return Ok(());
        }
        Err(Invalid::new(field(of, owner, at), format!("there is no {} {name:?}", kind.name().replace('_', " "))))
    };
    let grantee = |of: Kind, owner: &str, word: &str| match word.strip_prefix("group:") {
        Some(group) => check(of, owner, "host", Kind::HostGroup, group),
        None if word == "any" || (of == Kind::Export && word.contains('/')) => Ok(()),
        None => check(of, owner, "host", Kind::Host, word),
    };
    for (kind, at, to) in [(Kind::Access, "volume", Kind::Volume), (Kind::Export, "share", Kind::Share)] {
        for (name, fields) in wanted.objects(kind).into_iter().flatten() {
            check(kind, name, at, to, text(fields.get(at)))?;
            grantee(kind, name, text(fields.get("host")))?;
        }
    }
    for (kind, at, to) in [(Kind::HostGroup, "hosts", Kind::Host), (Kind::Schedule, "volumes", Kind::Volume)] {
        for (name, fields) in wanted.objects(kind).into_iter().flatten() {
            for item in fields.get(at).and_then(Value::as_array).into_iter().flatten() {
                check(kind, name, at, to, text(Some(item)))?;
            }
        }
    }
    Ok(())
}
