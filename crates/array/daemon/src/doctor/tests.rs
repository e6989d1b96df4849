#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::machine::PoolPlace;
use super::{CHECKS, Evidence, Machine, Places, examine};
use api::CheckState::{self, Fail, Ok as Fine, Warning};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const ID: &str = "01900000-0000-7000-8000-000000000009";
const NOW: i64 = 1_800_000_000;

fn at(days_ago: i64) -> Timestamp {
    Timestamp::from_second(NOW - days_ago * 86_400).unwrap()
}

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}"))
}

fn pool() -> Value {
    json!({
        "name": "p0", "state": "healthy", "size_bytes": 1000 << 20, "used_bytes": 100 << 20, "free_bytes": 900 << 20,
        "metadata_bytes": 0, "provisioned_bytes": 0, "mapped_bytes": 0, "volumes": 1, "shares": 0, "snapshots": 0,
        "promised_bytes": 100 << 20, "available_bytes": 0, "reclaimable_bytes": 0, "trash_bytes": 1 << 20,
        "trash": 1, "trash_seconds": 86_400, "commitment_percent": 120, "warn_percent": 80, "critical_percent": 90,
        "scrub": {
            "started": at(3), "finished": at(3), "verified_bytes": 1, "bad_blocks": 0, "bad": [], "damaged": [],
        },
        "warnings": [],
    })
}

fn portal(address: &str) -> Value {
    json!({
        "id": 1, "protocol": "iscsi", "listen": address, "advertised": address, "target": "iqn.x:t", "group": 1,
        "state": "active-optimized", "redirect_permanently": false,
    })
}

fn session(host: Option<&str>, portal: &str) -> Value {
    json!({
        "id": 1, "initiator": "iqn.x:h", "host": host, "portal": portal, "peer_address": "192.0.2.9:5000",
        "since": at(1), "commands": 0, "read_bytes": 0, "written_bytes": 0,
    })
}

fn host(sessions: u64) -> Value {
    json!({
        "id": "01900000-0000-7000-8000-000000000001", "name": "esx1", "iqns": ["iqn.x:h"], "addresses": [],
        "sessions": sessions, "luns": [{ "volume": "db", "lun": 0, "iscsi_url": "" }], "created": at(9),
    })
}

fn grant(host: &str) -> Value {
    json!({
        "volume": "db", "volume_id": "01900000-0000-7000-8000-000000000002", "host": host, "lun": 0, "iscsi_url": "",
        "created": at(9),
    })
}

fn schedule(members: u64, skipped: u32) -> Value {
    json!({
        "id": "01900000-0000-7000-8000-000000000003", "name": "gold", "when": { "every": { "seconds": 3600 } },
        "zone": "UTC", "volumes": [], "label": {}, "members": members, "keep": {}, "keep_last": 1, "paused": false,
        "snapshots": 0, "created": at(9),
        "last": { "due": at(0), "started": at(0), "taken": 1, "removed": 0, "skipped": skipped },
    })
}

fn export(share: &str, host: &str) -> Value {
    json!({
        "share": share, "share_id": ID, "host": host, "read_only": false, "squash": "root", "anonymous_uid": 65_534,
        "anonymous_gid": 65_534, "privileged_port": false, "created": at(9),
    })
}

fn user(role: &str, locked: bool) -> Value {
    json!({
        "id": "01900000-0000-7000-8000-000000000004", "name": "ana", "role": role, "locked": locked,
        "must_change": false, "created": at(9),
    })
}

fn token(name: &str, used: i64) -> Value {
    json!({
        "id": "01900000-0000-7000-8000-000000000005", "name": name, "prefix": "", "role": "admin", "scopes": {},
        "created_by": "ana", "created": at(400), "last_used": at(used),
    })
}

fn channel(name: &str, failing: bool, is_tried: bool) -> Value {
    let last = is_tried.then(|| json!({ "time": at(1), "outcome": "sent", "detail": "" }));
    json!({
        "id": ID, "name": name, "enabled": true, "min_severity": "warning", "codes": [], "failing": failing,
        "settings": { "kind": "syslog", "server": "192.0.2.1" }, "waiting": 0, "last": last, "created": at(9),
    })
}

/// An array with which all is well.
fn healthy() -> Evidence {
    let first = "192.0.2.1:3260";
    let status = json!({
        "health": "healthy", "version": "1", "array_id": "01900000-0000-7000-8000-000000000006", "target": "iqn.x:t",
        "started": at(9), "uptime_seconds": 1, "portals": [portal(first), portal("198.51.100.1:3260")],
        "pools": [pool()], "volumes": 1, "snapshots": 0, "hosts": 1, "sessions": 2, "offload": [], "alerts": [],
        "jobs": [],
    });
    Evidence {
        now: at(0),
        machine: Machine {
            kernel: "6.1.0-18-amd64".to_owned(),
            open_files: Some(65_536),
            memory: Some((8 << 30, 16 << 30)),
            state_free: Some(10 << 30),
            pool: PoolPlace::File { missing: 1 << 30, free: 2 << 30, in_memory: false },
            accessible: Vec::new(),
            uses_ring: true,
            serves_https: true,
            certificate_ends: Some(at(-400)),
        },
        status: of(status),
        hosts: vec![of(host(2))],
        sessions: vec![of(session(Some("esx1"), first)), of(session(Some("esx1"), "198.51.100.1:3260"))],
        grants: vec![of(grant("esx1"))],
        exports: vec![of(export("vms", "esx1"))],
        schedules: vec![of(schedule(2, 0))],
        users: vec![of(user("admin", false))],
        tokens: vec![of(token("csi", 1))],
        channels: vec![of(channel("ops", false, true))],
    }
}

/// Changes the pool of the evidence.
fn with_pool(evidence: &mut Evidence, field: &str, value: Value) {
    let mut changed = pool();
    changed[field] = value;
    evidence.status.pools = vec![of(changed)];
}

#[test]
fn nothing_is_found_with_an_array_in_order() {
    let examined = examine(&healthy());
    assert_eq!(examined.len(), CHECKS.len());
    for each in examined {
        assert_eq!((each.state, &each.fix, each.commands.len()), (Fine, &None, 0), "{each:?}");
        assert!(!each.finding.is_empty(), "{each:?}");
    }
}

/// Each check with something that it has to find.
#[test]
fn each_check_finds_what_it_is_for() {
    type Spoil = fn(&mut Evidence);
    let alert = |severity: &str| json!({ "id": ID, "code": "pool-full", "severity": severity, "subject": "p0", "since": at(0), "message": "", "help": "" });
    let warning_alert: api::Alert = of(alert("warning"));
    assert_eq!(warning_alert.severity, api::Severity::Warning);
    let cases: &[(&str, CheckState, Spoil)] = &[
        ("pool", Fail, |evidence| with_pool(evidence, "state", json!("stopped"))),
        ("pool", Fail, |evidence| with_pool(evidence, "state", json!("damaged"))),
        ("alerts", Warning, |evidence| {
            evidence.status.alerts = vec![of(json!({
            "id": ID, "code": "c", "severity": "warning", "subject": "p0", "since": at(0), "message": "", "help": "" }))]
        }),
        ("alerts", Fail, |evidence| {
            evidence.status.alerts = vec![of(json!({
            "id": ID, "code": "c", "severity": "critical", "subject": "p0", "since": at(0), "message": "", "help": "" }))]
        }),
        ("space", Warning, |evidence| with_pool(evidence, "used_bytes", json!(700_u64 << 20))),
        ("space", Fail, |evidence| with_pool(evidence, "used_bytes", json!(850_u64 << 20))),
        ("over-commitment", Warning, |evidence| with_pool(evidence, "commitment_percent", json!(333))),
        ("space-below", Warning, |evidence| {
            evidence.machine.pool = PoolPlace::File { missing: 3 << 30, free: 2 << 30, in_memory: false };
        }),
        ("space-below", Warning, |evidence| {
            evidence.machine.pool = PoolPlace::File { missing: 0, free: 2 << 30, in_memory: true };
        }),
        ("trash", Warning, |evidence| with_pool(evidence, "trash_bytes", json!(250_u64 << 20))),
        ("trash", Warning, |evidence| with_pool(evidence, "trash_seconds", json!(0))),
        ("scrub", Warning, |evidence| {
            with_pool(evidence, "scrub", Value::Null);
            evidence.tokens = vec![of(token("csi", 1))];
        }),
        ("scrub", Warning, |evidence| evidence.now += SignedDuration::from_hours(33 * 24)),
        ("schedules", Warning, |evidence| evidence.schedules = vec![of(schedule(2, 1))]),
        ("schedules", Warning, |evidence| evidence.schedules = vec![of(schedule(0, 0))]),
        ("schedules", Warning, |evidence| evidence.schedules.clear()),
        ("schedules", Warning, |evidence| evidence.schedules[0].paused = true),
        ("paths", Warning, |evidence| {
            evidence.status.portals = vec![of(portal("0.0.0.0:3260"))];
            evidence.sessions.push(of(session(Some("esx2"), "192.0.2.1:3260")));
        }),
        ("portals", Warning, |evidence| evidence.status.portals = vec![of(portal("192.0.2.1:3260"))]),
        ("portals", Warning, |evidence| {
            evidence.status.portals = vec![of(portal("127.0.0.1:3260")), of(portal("[::1]:3260"))];
        }),
        ("paths", Warning, |evidence| evidence.sessions.truncate(1)),
        // Machines of a cluster are one host: the path that one lacks is there through another.
        ("paths", Warning, |evidence| evidence.sessions[1].initiator = "iqn.x:other".to_owned()),
        ("strangers", Warning, |evidence| evidence.sessions.push(of(session(None, "192.0.2.1:3260")))),
        ("open-access", Warning, |evidence| evidence.grants.push(of(grant("any")))),
        ("open-access", Warning, |evidence| evidence.exports.push(of(export("vms", "any")))),
        ("unused-hosts", Warning, |evidence| evidence.hosts = vec![of(host(0))]),
        ("administrator", Warning, |evidence| evidence.users = vec![of(user("admin", true))]),
        ("administrator", Warning, |evidence| evidence.users = vec![of(user("operator", false))]),
        ("bootstrap-token", Warning, |evidence| evidence.tokens.push(of(token("bootstrap", 1)))),
        ("old-tokens", Warning, |evidence| evidence.tokens = vec![of(token("csi", 91))]),
        ("notification", Warning, |evidence| evidence.channels.clear()),
        ("notification", Warning, |evidence| evidence.channels.push(of(channel("siem", true, true)))),
        ("notification", Warning, |evidence| evidence.channels.push(of(channel("siem", false, false)))),
        ("notification", Fail, |evidence| evidence.channels = vec![of(channel("ops", true, true))]),
        ("certificate", Warning, |evidence| evidence.machine.certificate_ends = Some(at(-29))),
        ("certificate", Fail, |evidence| evidence.machine.certificate_ends = Some(at(-6))),
        ("certificate", Fail, |evidence| evidence.machine.certificate_ends = Some(at(1))),
        ("state-directory", Warning, |evidence| evidence.machine.state_free = Some(100 << 20)),
        ("state-directory", Fail, |evidence| evidence.machine.state_free = Some(10 << 20)),
        ("state-directory", Fail, |evidence| evidence.machine.state_free = None),
        ("private-files", Warning, |evidence| evidence.machine.accessible = vec!["/x/pool.img".to_owned()]),
        ("input-output", Warning, |evidence| evidence.machine.uses_ring = false),
        ("kernel", Warning, |evidence| evidence.machine.kernel = "5.10.0-8-amd64".to_owned()),
        ("memory", Warning, |evidence| evidence.machine.memory = Some((700 << 20, 16 << 30))),
        ("memory", Warning, |evidence| evidence.machine.memory = None),
        ("open-files", Warning, |evidence| evidence.machine.open_files = Some(1024)),
    ];
    for (check, state, spoil) in cases {
        let mut evidence = healthy();
        spoil(&mut evidence);
        let examined = examine(&evidence);
        let found: Vec<_> = examined.iter().filter(|each| each.state != Fine).collect();
        assert!(found.iter().any(|each| each.check == *check && each.state == *state), "{check}: {found:?}");
        for each in found {
            // Words and commands are apart: a program, and a person, can copy a command as it stands.
            assert!(each.fix.as_ref().is_some_and(|fix| !fix.is_empty() && !fix.contains("windlass ")), "{each:?}");
            assert!(each.commands.iter().all(|command| !command.contains("  ")), "{each:?}");
        }
    }
    let tried: std::collections::BTreeSet<_> = cases.iter().map(|(check, ..)| *check).collect();
    assert_eq!(tried.len(), CHECKS.len(), "a check is not tried");
}

#[test]
fn a_machine_is_looked_at() {
    let directory = crate::memory::TemporaryDirectory::new();
    let pool = directory.path().join("pool.img");
    std::fs::File::create(&pool).unwrap().set_len(1 << 30).unwrap();
    std::fs::set_permissions(&pool, std::fs::Permissions::from_mode(0o644)).unwrap();
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = directory.path().join("cert.pem");
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    let places = Places {
        state_directory: directory.path().to_owned(),
        pool: pool.clone(),
        certificate: Some(certificate),
        private: vec![pool.clone(), directory.path().join("no-such-file")],
    };
    let machine = Machine::look(&places);
    assert!(machine.kernel.contains('.') && machine.open_files.is_some() && machine.state_free.is_some());
    assert!(machine.memory.is_some_and(|(available, total)| available > 0 && available <= total));
    assert_eq!(machine.accessible, [pool.display().to_string()]);
    let PoolPlace::File { missing, .. } = machine.pool else { panic!("{:?}", machine.pool) };
    assert_eq!(missing, 1 << 30);
    assert!(machine.certificate_ends.is_some_and(|ends| ends > Timestamp::now()));
    assert_eq!(Machine::look(&Places::default()).pool, PoolPlace::Unknown);
}

/// What looks like a finding and is none.
#[test]
fn usual_arrays_have_no_false_findings() {
    type Change = fn(&mut Evidence);
    let cases: &[(&str, Change)] = &[
        ("an array for files alone", |evidence| {
            evidence.status.portals.truncate(1);
            evidence.sessions.clear();
            evidence.grants.clear();
            evidence.hosts = vec![of(json!({
                "id": ID, "name": "pve1", "iqns": [], "addresses": ["192.0.2.9"], "sessions": 0, "luns": [],
                "created": at(9),
            }))];
        }),
        ("portals of both families at every address", |evidence| {
            evidence.status.portals = vec![of(portal("0.0.0.0:3260")), of(portal("[::]:3260"))];
            evidence.sessions.truncate(1);
        }),
        ("a new pool", |evidence| {
            with_pool(evidence, "scrub", Value::Null);
            evidence.tokens.clear();
        }),
        ("an array without a console", |evidence| {
            evidence.machine.serves_https = false;
            evidence.machine.certificate_ends = None;
            evidence.users.clear();
        }),
        ("the first token beside a locked administrator is not to be deleted", |evidence| {
            evidence.tokens.push(of(token("bootstrap", 1)));
            evidence.users = vec![of(user("operator", false))];
            evidence.machine.serves_https = false;
        }),
    ];
    for (what, change) in cases {
        let mut evidence = healthy();
        change(&mut evidence);
        let found: Vec<_> = examine(&evidence).into_iter().filter(|each| each.state != Fine).collect();
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}
