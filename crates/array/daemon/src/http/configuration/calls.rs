//! Steps of a plan as calls of the REST interface, in the order in which they can be made. There is no other way to
//! change the array: each call is the one that an administrator would make.

use crate::http::convert::segment;
use configuration::{Configuration, Fields, Kind, Op, SecretChange, Step};
use serde_json::{Map, Value, json};

/// A call of the REST interface.
#[derive(Clone, PartialEq)]
pub(super) struct Call {
    /// Number of its step in the plan.
    pub(super) step: usize,
    /// Its place in the order.
    pub(super) phase: Phase,
    /// Name of the operation.
    pub(super) operation: &'static str,
    /// Method.
    pub(super) method: &'static str,
    /// Path.
    pub(super) path: String,
    /// Body; `null`: none.
    pub(super) body: Value,
    /// Secret that the array has generated for the body: its field.
    pub(super) generated: Option<&'static str>,
}

/// Order of calls. What frees names, numbers and addresses comes before what takes them, and what removes content
/// comes last, but for policies, which nothing has any more then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Revoke,
    Release,
    Drop,
    Pool,
    Policies,
    Content,
    Hosts,
    Groups,
    Grants,
    Schedules,
    Settings,
    People,
    Leave,
    Delete,
    Unused,
}

/// Source of generated secrets.
pub(super) type Generate<'a> = &'a dyn Fn() -> anyhow::Result<String>;

/// What the calls of a step need.
struct Maker<'a> {
    at: usize,
    step: &'a Step,
    wanted: Option<&'a Fields>,
    secrets: Option<&'a Fields>,
    generate: Generate<'a>,
    calls: Vec<Call>,
}

/// Returns the calls of all steps, in order.
pub(super) fn of(
    steps: &[Step],
    wanted: &Configuration,
    pool: &str,
    generate: Generate<'_>,
) -> anyhow::Result<Vec<Call>> {
    let mut calls = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let wanted_fields = wanted.objects(step.kind).and_then(|objects| objects.get(&step.name));
        let secrets = wanted.secrets(step.kind, &step.name);
        let mut maker = Maker { at, step, wanted: wanted_fields, secrets, generate, calls: Vec::new() };
        maker.make(pool)?;
        calls.extend(maker.calls);
    }
    calls.sort_by_key(|call| (call.phase, call.step));
    Ok(calls)
}

impl Maker<'_> {
    fn make(&mut self, pool: &str) -> anyhow::Result<()> {
        match self.step.kind {
            Kind::Pool => self.pool(pool),
            Kind::Portal => self.portal(),
            Kind::PortGroup => {
                self.patch(Phase::Settings, "portal_set_group", "portal-groups", &["state", "preferred"])
            }
            Kind::QosPolicy => self.qos_policy(),
            Kind::Volume => self.volume(),
            Kind::Share => self.share(),
            Kind::Host => self.host(),
            Kind::HostGroup => self.host_group(),
            Kind::Access => self.access(),
            Kind::Export => self.export(),
            Kind::Schedule => self.schedule(),
            Kind::Channel => self.channel()?,
            Kind::User => self.user()?,
            Kind::Token => self.token(),
        }
        Ok(())
    }

    fn call(&mut self, phase: Phase, operation: &'static str, method: &'static str, path: String, body: Value) {
        let path = format!("/api/v1/{path}");
        self.calls.push(Call { step: self.at, phase, operation, method, path, body, generated: None });
    }

    /// Path of the object.
    fn path(&self, collection: &str) -> String {
        format!("{collection}/{}", segment(&self.step.name))
    }

    /// Value of a field of the wanted object.
    fn wanted(&self, field: &str) -> Value {
        self.wanted.and_then(|fields| fields.get(field)).cloned().unwrap_or_default()
    }

    /// Fields of the wanted object that are present, of those named.
    fn body(&self, fields: &[&str]) -> Map<String, Value> {
        let values = fields.iter().map(|field| ((*field).to_owned(), self.wanted(field)));
        values.filter(|(_, value)| !value.is_null()).collect()
    }

    /// Fields that change, of those named. One that is absent afterwards is `none` of it.
    fn changed(&self, fields: &[&str], none: impl Fn(&str) -> Value) -> Map<String, Value> {
        let changed = fields.iter().filter_map(|field| {
            let (_, after) = self.step.change.get(*field)?;
            let after = if after.is_null() { none(field) } else { after.clone() };
            (!after.is_null()).then(|| ((*field).to_owned(), after))
        });
        changed.collect()
    }

    fn patch(&mut self, phase: Phase, operation: &'static str, collection: &str, fields: &[&str]) {
        let body = self.changed(fields, |_| json!(0));
        self.patch_with(phase, operation, self.path(collection), body);
    }

    fn patch_with(&mut self, phase: Phase, operation: &'static str, path: String, body: Map<String, Value>) {
        if !body.is_empty() {
            self.call(phase, operation, "PATCH", path, body.into());
        }
    }

    fn delete(&mut self, phase: Phase, operation: &'static str, collection: &str) {
        self.call(phase, operation, "DELETE", self.path(collection), Value::Null);
    }

    fn pool(&mut self, pool: &str) {
        let fields = [
            "warn_percent",
            "critical_percent",
            "commitment_limit_percent",
            "trash_seconds",
            "trash_lock_seconds",
            "latency_alert_us",
        ];
        let body = self.changed(&fields, |_| json!(0));
        self.patch_with(Phase::Pool, "pool_set", format!("pools/{}", segment(pool)), body);
    }

    fn portal(&mut self) {
        let mut body = self.changed(&["group"], |_| Value::Null);
        if self.step.change.keys().any(|field| field.starts_with("redirect")) {
            match self.wanted("redirect") {
                Value::Null => drop(body.insert("remove_redirect".to_owned(), json!(true))),
                _ => body.extend(self.body(&["redirect", "redirect_permanently"])),
            }
        }
        self.patch_with(Phase::Settings, "portal_set", self.path("portals"), body);
    }

    fn qos_policy(&mut self) {
        let limits = ["iops", "bytes_per_second"];
        let bursts = ["iops_burst", "bytes_burst"];
        let settings = ["weight", "shared"];
        match self.step.op {
            Op::Add => {
                let mut body = self.body(&["name"]);
                [&limits, &bursts, &settings].into_iter().for_each(|fields| body.extend(self.body(fields)));
                self.call(Phase::Policies, "qos_policy_create", "POST", "qos-policies".to_owned(), body.into());
            }
            Op::Change => {
                let mut body = self.changed(&limits, |_| json!(0));
                body.extend(self.changed(&bursts, |_| json!({ "per_second": 0, "seconds": 0 })));
                body.extend(self.changed(&settings, |_| Value::Null));
                self.patch_with(Phase::Policies, "qos_policy_set", self.path("qos-policies"), body);
            }
            Op::Remove => self.delete(Phase::Unused, "qos_policy_delete", "qos-policies"),
        }
    }

    fn volume(&mut self) {
        let thresholds = ["warn_percent", "critical_percent"];
        match self.step.op {
            Op::Add => {
                let fields = ["name", "size_bytes", "reserve", "zero_detection", "write_cache", "labels"];
                let mut body = self.body(&fields);
                body.extend(self.body(&["overwrite_reserve_percent"]));
                self.call(Phase::Content, "volume_create", "POST", "volumes".to_owned(), body.into());
                let mut body = self.body(&thresholds);
                body.extend(self.body(&["qos_policy"]));
                self.patch_with(Phase::Content, "volume_set", self.path("volumes"), body);
            }
            Op::Change => {
                let fields = ["size_bytes", "reserve", "overwrite_reserve_percent", "zero_detection", "write_cache"];
                let mut body = self.changed(&fields, |_| Value::Null);
                body.extend(self.changed(&thresholds, |_| json!(0)));
                body.extend(self.changed(&["qos_policy"], |_| json!("")));
                if let Some((before, after)) = self.step.change.get("labels") {
                    let gone = before.as_object().into_iter().flat_map(Map::keys);
                    let mut labels: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
                    labels.extend(after.as_object().cloned().unwrap_or_default());
                    body.insert("labels".to_owned(), labels.into());
                }
                self.patch_with(Phase::Content, "volume_set", self.path("volumes"), body);
            }
            Op::Remove => self.delete(Phase::Delete, "volume_delete", "volumes"),
        }
    }

    fn share(&mut self) {
        match self.step.op {
            Op::Add => {
                let fields = ["name", "protocols", "copy", "quota_bytes", "owner_uid", "owner_gid", "mode"];
                let body = self.body(&fields);
                self.call(Phase::Content, "share_create", "POST", "shares".to_owned(), body.into());
            }
            Op::Change => self.patch(Phase::Content, "share_set", "shares", &["protocols", "copy", "quota_bytes"]),
            Op::Remove => self.delete(Phase::Delete, "share_delete", "shares"),
        }
    }

    fn host(&mut self) {
        match self.step.op {
            Op::Add => {
                let mut body = self.body(&["name", "iqns", "addresses"]);
                body.extend(self.chap().map(|chap| ("chap".to_owned(), chap)));
                self.call(Phase::Hosts, "host_create", "POST", "hosts".to_owned(), body.into());
                let body = self.body(&["qos_policy"]);
                self.patch_with(Phase::Hosts, "host_set", self.path("hosts"), body);
            }
            Op::Change => {
                let kept = self.kept_identities();
                if !kept.is_empty() {
                    self.patch_with(Phase::Release, "host_set", self.path("hosts"), kept);
                }
                let mut body = self.changed(&["iqns", "addresses"], |_| json!([]));
                body.extend(self.changed(&["qos_policy"], |_| json!("")));
                if self.step.change.contains_key("chap") {
                    let chap = self.chap().map(|chap| ("chap".to_owned(), chap));
                    body.extend([chap.unwrap_or_else(|| ("remove_chap".to_owned(), json!(true)))]);
                }
                self.patch_with(Phase::Hosts, "host_set", self.path("hosts"), body);
            }
            Op::Remove => self.delete(Phase::Drop, "host_delete", "hosts"),
        }
    }

    /// Initiators and addresses that a host has before and after: the others are free for other hosts first. Nothing
    /// if that would be no identity at all.
    fn kept_identities(&self) -> Map<String, Value> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut kept = Map::new();
        let mut is_identified = false;
        for field in ["iqns", "addresses"] {
            let Some((before, after)) = self.step.change.get(field) else {
                is_identified |= !list(&self.wanted(field)).is_empty();
                continue;
            };
            let (before, after) = (list(before), list(after));
            let both: Vec<Value> = before.iter().filter(|item| after.contains(item)).cloned().collect();
            is_identified |= !both.is_empty();
            if both.len() < before.len() {
                kept.insert(field.to_owned(), both.into());
            }
        }
        if is_identified { kept } else { Map::new() }
    }

    fn chap(&self) -> Option<Value> {
        let chap = self.wanted("chap");
        let secret = |field: &str| self.secrets.and_then(|secrets| secrets.get(field)).cloned();
        let mut body = Map::from_iter([("user".to_owned(), chap.get("user")?.clone())]);
        body.extend(secret("secret").map(|secret| ("secret".to_owned(), secret)));
        if let Some(user) = chap.get("mutual_user") {
            let mut mutual = Map::from_iter([("user".to_owned(), user.clone())]);
            mutual.extend(secret("mutual_secret").map(|secret| ("secret".to_owned(), secret)));
            body.insert("mutual".to_owned(), mutual.into());
        }
        Some(body.into())
    }

    fn host_group(&mut self) {
        match self.step.op {
            Op::Add => {
                let body = self.body(&["name", "hosts"]);
                self.call(Phase::Groups, "host_group_create", "POST", "host-groups".to_owned(), body.into());
            }
            Op::Change => {
                let Some((before, after)) = self.step.change.get("hosts") else { return };
                let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
                let (before, after) = (list(before), list(after));
                let only = |one: &[Value], other: &[Value]| -> Vec<Value> {
                    one.iter().filter(|item| !other.contains(item)).cloned().collect()
                };
                let (gone, new) = (only(&before, &after), only(&after, &before));
                for (phase, field, hosts) in [(Phase::Release, "remove", gone), (Phase::Groups, "add", new)] {
                    if !hosts.is_empty() {
                        let body = Map::from_iter([(field.to_owned(), hosts.into())]);
                        self.patch_with(phase, "host_group_set", self.path("host-groups"), body);
                    }
                }
            }
            Op::Remove => self.delete(Phase::Release, "host_group_delete", "host-groups"),
        }
    }

    /// The two names of a grant.
    fn names(&self) -> (String, String) {
        let (of, to) = self.step.name.split_once(' ').unwrap_or_default();
        (of.to_owned(), to.to_owned())
    }

    /// Field of a grant that names whom it is for.
    fn grantee(to: &str) -> (String, Value) {
        let (field, value) = match to.strip_prefix("group:") {
            Some(group) => ("group", json!(group)),
            None if to == api::ANY_HOST => ("any", json!(true)),
            None if to.contains('/') => ("network", json!(to)),
            None => ("host", json!(to)),
        };
        (field.to_owned(), value)
    }

    fn access(&mut self) {
        let (volume, to) = self.names();
        if self.step.op != Op::Add {
            let path = format!("access/{}/{}", segment(&volume), segment(&to));
            self.call(Phase::Revoke, "access_revoke", "DELETE", path, Value::Null);
        }
        if self.step.op != Op::Remove {
            let mut body = self.body(&["volume", "lun"]);
            body.extend([Self::grantee(&to)]);
            self.call(Phase::Grants, "access_grant", "POST", "access".to_owned(), body.into());
        }
    }

    fn export(&mut self) {
        let (share, to) = self.names();
        let path = format!("shares/{}/exports", segment(&share));
        if self.step.op == Op::Remove {
            let path = format!("{path}/{}", segment(&to));
            return self.call(Phase::Revoke, "export_revoke", "DELETE", path, Value::Null);
        }
        let fields = ["read_only", "squash", "anonymous_uid", "anonymous_gid", "privileged_port"];
        let mut body = self.body(&fields);
        body.extend([Self::grantee(&to)]);
        self.call(Phase::Grants, "export_grant", "POST", path, body.into());
    }

    fn schedule(&mut self) {
        match self.step.op {
            Op::Add => {
                let fields = ["name", "when", "zone", "volumes", "label", "keep", "keep_last", "lock_seconds"];
                let body = self.body(&fields);
                self.call(Phase::Schedules, "schedule_create", "POST", "schedules".to_owned(), body.into());
                if self.wanted("paused") == json!(true) {
                    let body = self.body(&["paused"]);
                    self.patch_with(Phase::Schedules, "schedule_set", self.path("schedules"), body);
                }
            }
            Op::Change => {
                let mut body = self.changed(&["when", "zone", "volumes", "keep", "keep_last", "paused"], |_| json!([]));
                body.extend(self.changed(&["lock_seconds"], |_| json!(0)));
                body.extend(self.changed(&["label"], |_| json!({})));
                self.patch_with(Phase::Schedules, "schedule_set", self.path("schedules"), body);
            }
            Op::Remove => self.delete(Phase::Release, "schedule_delete", "schedules"),
        }
    }

    /// Settings of a channel, with its secrets. Returns whether one was generated.
    fn settings(&self, before: &Value) -> anyhow::Result<(Value, bool)> {
        let mut settings = self.wanted("settings");
        let change = SecretChange::of(before, &settings);
        let is_webhook = settings["kind"] == "webhook";
        let Value::Object(fields) = &mut settings else { return Ok((settings, false)) };
        fields.remove("has_secret");
        fields.remove("has_password");
        fields.extend(self.secrets.cloned().unwrap_or_default());
        let generates = is_webhook && change.needs && !fields.contains_key("secret");
        if generates {
            fields.insert("secret".to_owned(), (self.generate)()?.into());
        } else if is_webhook && change.loses {
            // An empty secret takes the one that there is.
            fields.insert("secret".to_owned(), json!(""));
        }
        Ok((settings, generates))
    }

    fn channel(&mut self) -> anyhow::Result<()> {
        let (before, after) = self.step.change.get("settings").cloned().unwrap_or_default();
        // The kind of a channel does not change.
        let is_replaced = self.step.op == Op::Change && SecretChange::of(&before, &after).is_replaced;
        if self.step.op == Op::Remove || is_replaced {
            self.delete(Phase::Drop, "channel_delete", "channels");
        }
        if self.step.op == Op::Add || is_replaced {
            let mut body = self.body(&["name", "min_severity", "codes", "quiet_hours", "enabled"]);
            let (settings, generated) = self.settings(&Value::Null)?;
            body.insert("settings".to_owned(), settings);
            self.call(Phase::Settings, "channel_create", "POST", "channels".to_owned(), body.into());
            self.note_generated(generated, "secret");
        } else if self.step.op == Op::Change {
            let none = |field: &str| match field {
                "quiet_hours" => json!({ "from_minute": 0, "until_minute": 0 }),
                _ => json!([]),
            };
            let mut body = self.changed(&["min_severity", "codes", "quiet_hours", "enabled"], none);
            let mut generated = false;
            if !after.is_null() {
                let (settings, is_generated) = self.settings(&before)?;
                generated = is_generated;
                body.insert("settings".to_owned(), settings);
            }
            self.patch_with(Phase::Settings, "channel_set", self.path("channels"), body);
            self.note_generated(generated, "secret");
        }
        Ok(())
    }

    fn note_generated(&mut self, is: bool, field: &'static str) {
        if let Some(call) = self.calls.last_mut().filter(|_| is) {
            call.generated = Some(field);
        }
    }

    fn user(&mut self) -> anyhow::Result<()> {
        match self.step.op {
            Op::Add => {
                let mut body = self.body(&["name", "role"]);
                let given = self.secrets.and_then(|secrets| secrets.get("password")).cloned();
                let is_generated = given.is_none();
                let password = given.map_or_else(|| (self.generate)().map(Value::from), Ok)?;
                body.insert("password".to_owned(), password);
                self.call(Phase::People, "user_create", "POST", "users".to_owned(), body.into());
                self.note_generated(is_generated, "password");
                if self.wanted("locked") == json!(true) {
                    let body = self.body(&["locked"]);
                    self.patch_with(Phase::People, "user_set", self.path("users"), body);
                }
            }
            Op::Change => self.patch(Phase::People, "user_set", "users", &["role", "locked"]),
            Op::Remove => self.delete(Phase::Leave, "user_delete", "users"),
        }
        Ok(())
    }

    fn token(&mut self) {
        if self.step.op != Op::Add {
            self.delete(Phase::Drop, "token_delete", "tokens");
        }
        if self.step.op != Op::Remove {
            let body = self.body(&["name", "role", "scopes", "expires"]);
            self.call(Phase::People, "token_create", "POST", "tokens".to_owned(), body.into());
        }
    }
}
