//! The difference of two configurations.

use crate::Fields;
use crate::channel::SecretChange;
use crate::check;
use crate::document::Configuration;
use crate::entries::Kind;
use crate::error::Invalid;
use crate::step::{Op, Step};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// Steps from the present configuration to a wanted one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Digest of the configuration from which it starts.
    pub base: String,
    /// Steps, by kind and name.
    pub steps: Vec<Step>,
    /// The wanted configuration, with names spelled as the array spells them.
    pub wanted: Configuration,
}

impl Plan {
    /// Plans the steps from `present` to `wanted`. `now`: tokens expire later.
    ///
    /// # Errors
    ///
    /// `wanted` refers to an object that will not exist.
    pub fn new(present: &Configuration, wanted: Configuration, now: Timestamp) -> Result<Self, Invalid> {
        let whole = wanted.settled_as(present);
        let wanted = &whole;
        check::references(present, wanted)?;
        let mut steps = Vec::new();
        for kind in Kind::ALL {
            let Some(wanted_objects) = wanted.objects(kind) else { continue };
            let empty = BTreeMap::new();
            let present_objects = present.objects(kind).unwrap_or(&empty);
            for (name, after) in wanted_objects {
                let before = present.before(kind, name);
                let change = changes(before, Some(after));
                let op = if before.is_some() { Op::Change } else { Op::Add };
                if !change.is_empty() {
                    let step = Step { op, kind, name: name.clone(), change, problem: None, note: None };
                    steps.push(examined(step, present, wanted, now));
                }
            }
            let gone =
                present_objects.iter().filter(|(name, _)| !kind.is_fixed() && !wanted_objects.contains_key(*name));
            for (name, before) in gone {
                let change = changes(Some(before), None);
                let step = Step { op: Op::Remove, kind, name: name.clone(), change, problem: None, note: None };
                steps.push(examined(step, present, wanted, now));
            }
        }
        Ok(Self { base: present.digest(), steps, wanted: whole })
    }

    /// Number of steps that cannot be taken.
    pub fn problems(&self) -> usize {
        self.steps.iter().filter(|step| step.problem.is_some()).count()
    }

    /// True if a step removes content.
    pub fn removes_content(&self) -> bool {
        self.steps.iter().any(|step| step.op == Op::Remove && step.kind.has_content())
    }
}

/// Fields that differ.
fn changes(before: Option<&Fields>, after: Option<&Fields>) -> BTreeMap<String, (Value, Value)> {
    let value = |of: Option<&Fields>, name: &String| of.and_then(|of| of.get(name)).cloned().unwrap_or_default();
    let names = before.into_iter().chain(after).flat_map(|fields| fields.keys());
    let change = names.map(|name| (name.clone(), (value(before, name), value(after, name))));
    change.filter(|(_, (before, after))| before != after).collect()
}

/// Adds the problem or the note of a step.
fn examined(mut step: Step, present: &Configuration, wanted: &Configuration, now: Timestamp) -> Step {
    step.problem = problem(&step, present, wanted, now);
    step.note = note(&step, wanted);
    step
}

fn problem(step: &Step, present: &Configuration, wanted: &Configuration, now: Timestamp) -> Option<String> {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    match (step.op, step.kind) {
        (Op::Add, Kind::Portal) => {
            Some("the array does not have this portal: windlass.toml configures portals".to_owned())
        }
        (Op::Add, Kind::PortGroup) => {
            let id = step.after("id")?;
            let is_used = |fields: &Fields| fields.get("group") == Some(id);
            let portals = wanted.objects(Kind::Portal).or_else(|| present.objects(Kind::Portal));
            let used = portals.is_some_and(|portals| portals.values().any(is_used));
            (!used).then(|| "no portal is in this group".to_owned())
        }
        (Op::Change, Kind::Pool) => {
            let (before, after) = step.change.get("trash_lock_seconds")?;
            (number(after) < number(before)).then(|| {
                let now = number(before);
                format!("trash_lock_seconds: the lock of the trash only becomes longer, and has {now} seconds")
            })
        }
        (Op::Change, Kind::Volume) => {
            let (before, after) = step.change.get("size_bytes")?;
            let shrinks = number(after) < number(before);
            shrinks.then(|| format!("size_bytes: a volume does not shrink, from {before} to {after} bytes"))
        }
        (Op::Change, Kind::Share) => {
            let fixed =
                ["owner_uid", "owner_gid", "mode"].into_iter().find(|field| step.change.contains_key(*field))?;
            Some(format!("{fixed}: owner and mode are set when a share is created, and by its hosts afterwards"))
        }
        (Op::Remove, Kind::Volume | Kind::Share) => match present.snapshots(step.kind, &step.name) {
            0 => None,
            snapshots => Some(format!("it has snapshots, which have to be deleted first: {snapshots}")),
        },
        (Op::Add | Op::Change, Kind::Channel) => {
            let (before, after) = step.change.get("settings")?;
            let is_given = wanted.secrets(step.kind, &step.name).is_some();
            if after["kind"] != "email" {
                return None;
            }
            let has_user = !after["user"].is_null();
            if has_user != (after["has_password"] == Value::Bool(true)) {
                return Some("settings.password: a user has a password, and a password belongs to a user".to_owned());
            }
            let needs = SecretChange::of(before, after).needs && !is_given;
            needs.then(|| "settings.password: the document has to state the password of the mail server".to_owned())
        }
        (Op::Add, Kind::Token) if identity::same_name(&step.name, identity::BOOTSTRAP) => {
            Some("name: the array makes the token of this name itself".to_owned())
        }
        (Op::Add | Op::Change, Kind::Token) => {
            let fields = wanted.objects(step.kind)?.get(&step.name)?;
            let expires: Timestamp = fields.get("expires")?.as_str()?.parse().ok()?;
            (expires <= now).then(|| format!("expires: {expires:.0} is past"))
        }
        _ => None,
    }
}

fn note(step: &Step, wanted: &Configuration) -> Option<String> {
    let is_given =
        |field: &str| wanted.secrets(step.kind, &step.name).is_some_and(|secrets| secrets.contains_key(field));
    let generates = |what: &str| Some(format!("{what} is generated, and shown once after the apply"));
    match (step.op, step.kind) {
        (Op::Add, Kind::User) if !is_given("password") => generates("its password"),
        (Op::Add, Kind::Token) => generates("its secret"),
        (Op::Change, Kind::Token) => Some("it is replaced: a new secret is generated, and shown once".to_owned()),
        (Op::Add | Op::Change, Kind::Host) => {
            let (before, after) = step.change.get("chap")?;
            let is_new = |user: &str| before[user].is_null() && !after[user].is_null();
            let missing =
                (is_new("user") && !is_given("secret")) || (is_new("mutual_user") && !is_given("mutual_secret"));
            missing.then(|| generates("its CHAP secret")).flatten()
        }
        (Op::Add | Op::Change, Kind::Channel) => {
            let (before, after) = step.change.get("settings")?;
            let change = SecretChange::of(before, after);
            let generated = (after["kind"] == "webhook" && change.needs && !is_given("secret"))
                .then(|| generates("its HMAC secret"))
                .flatten();
            let replaced = change
                .is_replaced
                .then(|| "it is replaced by a channel of another kind: messages that wait are not sent".to_owned());
            let unsigned = (change.loses && after["kind"] == "webhook")
                .then(|| "its HMAC secret is removed: messages are not signed any more".to_owned());
            let notes: Vec<String> = [replaced, generated, unsigned].into_iter().flatten().collect();
            (!notes.is_empty()).then(|| notes.join("; "))
        }
        (Op::Remove, Kind::Volume | Kind::Share) => Some("it goes to the trash".to_owned()),
        _ => None,
    }
}
