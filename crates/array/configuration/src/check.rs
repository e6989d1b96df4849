//! Checks of a document, alone and against the array: references, logical unit numbers, names.

use crate::Fields;
use crate::document::Configuration;
use crate::entries::Kind;
use crate::error::{Invalid, field};
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks what a document says without regard to an array.
pub(crate) fn values(configuration: &Configuration) -> Result<(), Invalid> {
    for kind in [Kind::QosPolicy, Kind::Volume, Kind::Share, Kind::Host, Kind::HostGroup, Kind::Schedule] {
        for name in configuration.objects(kind).into_iter().flat_map(|objects| objects.keys()) {
            let fault = if kind == Kind::Host { text::name::host_fault(name) } else { text::name::fault(name) };
            if let Some(reason) = fault {
                return Err(Invalid::new(field(kind.name(), name, "name"), format!("{name:?} is no name: {reason}")));
            }
        }
    }
    owners(configuration, "iqns")?;
    owners(configuration, "addresses")?;
    let mut taken = BTreeSet::new();
    for (name, fields) in configuration.objects(Kind::Access).into_iter().flatten() {
        let lun = fields.get("lun").and_then(Value::as_u64).unwrap_or_default();
        if !taken.insert((word(fields.get("host")), lun)) {
            let reason = format!("two volumes have the logical unit number {lun} for the same host");
            return Err(Invalid::new(field(Kind::Access.name(), name, "lun"), reason));
        }
    }
    Ok(())
}

/// Checks that no two hosts have the same initiator or address.
fn owners(configuration: &Configuration, list: &str) -> Result<(), Invalid> {
    let mut taken = BTreeSet::new();
    for (name, fields) in configuration.objects(Kind::Host).into_iter().flatten() {
        for item in items(fields, list) {
            if !taken.insert(item) {
                let reason = format!("{item} belongs to another host of the document");
                return Err(Invalid::new(field(Kind::Host.name(), name, list), reason));
            }
        }
    }
    Ok(())
}

fn word(value: Option<&Value>) -> &str {
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
        Err(Invalid::new(
            field(of.name(), owner, at),
            format!("there is no {} {name:?}", kind.name().replace('_', " ")),
        ))
    };
    let grantee = |of: Kind, owner: &str, word: &str| match word.strip_prefix("group:") {
        Some(group) => check(of, owner, "host", Kind::HostGroup, group),
        None if word == "any" || (of == Kind::Export && word.contains('/')) => Ok(()),
        None => check(of, owner, "host", Kind::Host, word),
    };
    for (kind, at, to) in [(Kind::Access, "volume", Kind::Volume), (Kind::Export, "share", Kind::Share)] {
        for (name, fields) in wanted.objects(kind).into_iter().flatten() {
            check(kind, name, at, to, word(fields.get(at)))?;
            grantee(kind, name, word(fields.get("host")))?;
        }
    }
    for kind in [Kind::Volume, Kind::Host] {
        for (name, fields) in wanted.objects(kind).into_iter().flatten() {
            if let Some(policy) = fields.get("qos_policy").and_then(Value::as_str) {
                check(kind, name, "qos_policy", Kind::QosPolicy, policy)?;
            }
        }
    }
    for (name, fields) in wanted.objects(Kind::HostGroup).into_iter().flatten() {
        for host in items(fields, "hosts") {
            check(Kind::HostGroup, name, "hosts", Kind::Host, host)?;
        }
    }
    for (name, fields) in wanted.objects(Kind::Schedule).into_iter().flatten() {
        let exists = |member: &&str| exists(Kind::Volume, member) || exists(Kind::Share, member);
        if let Some(member) = items(fields, "volumes").find(|member| !exists(member)) {
            let reason = format!("there is no volume or share {member:?}");
            return Err(Invalid::new(field(Kind::Schedule.name(), name, "volumes"), reason));
        }
    }
    Ok(())
}

/// Texts of a list.
fn items<'a>(fields: &'a Fields, list: &str) -> impl Iterator<Item = &'a str> {
    fields.get(list).and_then(Value::as_array).into_iter().flatten().map(|item| word(Some(item)))
}
