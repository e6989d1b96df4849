//! The configuration as a document: export, plan and apply, over arrays in memory.

use super::people::{Author, PASSWORD, Plane};
use crate::http::peer::Peer;
use axum::Extension;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use random::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tower::ServiceExt;

/// Sends a text; returns the status and the text of the answer.
pub(super) async fn text(plane: &Plane, method: &str, path: &str, kind: &str, body: String) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, kind);
    let app = plane.app.clone().layer(Extension(Peer::Local { uid: 0 }));
    let response = app.oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

async fn export(plane: &Plane) -> String {
    let (status, export) = text(plane, "GET", "/api/v1/config/export", "", String::new()).await;
    assert_eq!(status, 200, "{export}");
    export
}

async fn export_json(plane: &Plane) -> Value {
    let (_, export) = text(plane, "GET", "/api/v1/config/export?format=json", "", String::new()).await;
    serde_json::from_str(&export).unwrap()
}

async fn plan(plane: &Plane, document: &str) -> Value {
    let kind = if document.starts_with('{') { "application/json" } else { "application/toml" };
    let (status, plan) = text(plane, "POST", "/api/v1/config/plan", kind, document.to_owned()).await;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(status, 200, "{plan}");
    plan
}

/// Applies a plan; returns its job at the end.
async fn apply(plane: &Plane, plan: &Value) -> Value {
    let body = json!({ "plan": plan["id"], "allow_delete": true });
    let started = plane.ask(&Author::root(), "POST", "/api/v1/config/apply", Some(body)).await;
    assert_eq!(started.status, 202, "{} {plan}", started.body);
    ended(plane, &started.body).await
}

/// A job at its end.
async fn ended(plane: &Plane, job: &Value) -> Value {
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    loop {
        let job = plane.ask(&Author::root(), "GET", &path, None).await.body;
        if job["state"] != "running" {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn applied(plane: &Plane, plan: &Value) {
    let job = apply(plane, plan).await;
    let applied = plane.ask(&Author::root(), "GET", "/api/v1/config/applied", None).await.body;
    assert_eq!((&job["state"], &job["kind"]), (&json!("done"), &json!("apply")), "{job} {applied:#}");
}

/// Steps of a plan, as `op kind name`.
fn steps(plan: &Value) -> Vec<String> {
    let word = |step: &Value, field: &str| step[field].as_str().unwrap().to_owned();
    let steps = plan["steps"].as_array().unwrap().iter();
    steps.map(|step| format!("{} {} {}", word(step, "op"), word(step, "kind"), word(step, "name"))).collect()
}

/// Array with an object of each kind.
async fn furnished() -> Plane {
    let plane = Plane::new().await;
    plane.user("ana", "admin").await;
    plane.user("vera", "viewer").await;
    for (path, body) in [
        (
            "volumes",
            json!({ "name": "v1", "size_bytes": 1 << 30, "reserve": "thick", "overwrite_reserve_percent": 10 }),
        ),
        ("volumes", json!({ "name": "v2", "size_bytes": 1 << 20, "write_cache": true, "labels": { "team": "db" } })),
        ("volumes", json!({ "name": "v3", "source": "v1" })),
        (
            "shares",
            json!({ "name": "docs", "protocols": ["v4"], "mode": "0750", "owner_uid": 7, "quota_bytes": 1 << 30 }),
        ),
        (
            "hosts",
            json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"], "addresses": ["192.0.2.1"],
            "chap": { "user": "h1", "mutual": { "user": "array" } } }),
        ),
        ("hosts", json!({ "name": "h2", "iqns": ["iqn.2026-01.org.example:h2", "iqn.2026-01.org.example:a"] })),
        (
            "qos-policies",
            json!({ "name": "bronze", "iops": 2000, "iops_burst": { "per_second": 10_000, "seconds": 30 },
            "bytes_per_second": 100 << 20, "shared": true }),
        ),
        ("host-groups", json!({ "name": "g1", "hosts": ["h2", "h1"] })),
        ("access", json!({ "volume": "v1", "group": "g1", "lun": 4 })),
        ("access", json!({ "volume": "v2", "any": true, "lun": 5 })),
        ("access", json!({ "volume": "v3", "host": "h2", "lun": 16000 })),
        ("shares/docs/exports", json!({ "network": "192.0.2.0/24", "read_only": true })),
        ("shares/docs/exports", json!({ "group": "g1", "squash": "none" })),
        (
            "schedules",
            json!({ "name": "nightly", "when": { "daily": { "minute": 60 } }, "volumes": ["v2", "v1", "docs"],
            "keep": { "daily": 7 } }),
        ),
        ("schedules", json!({ "name": "hourly", "when": { "every": { "seconds": 3600 } }, "label": { "team": "db" } })),
        (
            "channels",
            json!({ "name": "hook", "settings": { "kind": "webhook", "url": "https://192.0.2.7/path-secret-of-the-test", "secret": "hmac-secret-of-the-test" } }),
        ),
        (
            "channels",
            json!({ "name": "log", "settings": { "kind": "syslog", "server": "192.0.2.8" }, "enabled": false,
            "quiet_hours": { "from_minute": 60, "until_minute": 120 } }),
        ),
        (
            "tokens",
            json!({ "name": "csi", "role": "operator", "scopes": { "volumes": "csi-*", "networks": ["192.0.2.0/24"] } }),
        ),
    ] {
        let made = plane.ask(&Author::root(), "POST", &format!("/api/v1/{path}"), Some(body)).await;
        assert_eq!(made.status, 201, "{path} {}", made.body);
    }
    for (path, body) in [
        ("pools/p0", json!({ "warn_percent": 61, "critical_percent": 71, "commitment_limit_percent": 900 })),
        ("volumes/v1", json!({ "warn_percent": 50, "critical_percent": 60, "qos_policy": "bronze" })),
        ("hosts/h2", json!({ "qos_policy": "bronze" })),
        ("schedules/hourly", json!({ "paused": true, "lock_seconds": 60 })),
        ("users/vera", json!({ "locked": true })),
        ("portal-groups/1", json!({ "preferred": true })),
    ] {
        let made = plane.ask(&Author::root(), "PATCH", &format!("/api/v1/{path}"), Some(body)).await;
        assert_eq!(made.status, 200, "{path} {}", made.body);
    }
    plane
}

/// A configuration on an empty array is the same configuration, and nothing is left to do.
#[tokio::test]
async fn an_export_makes_an_empty_array_the_same() {
    let (one, other) = (furnished().await, Plane::new().await);
    let expires = jiff::Timestamp::now() + Duration::from_secs(3);
    let short = json!({ "name": "short-lived", "role": "viewer", "expires": expires.to_string() });
    assert_eq!(one.ask(&Author::root(), "POST", "/api/v1/tokens", Some(short)).await.status, 201);
    while jiff::Timestamp::now() <= expires {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let document = export(&one).await;
    assert!(!document.contains("hmac-secret") && !document.contains(PASSWORD), "{document}");
    // A token that has expired, and that of `admin.token`, could not be made again.
    assert!(!document.contains("bootstrap") && !document.contains("short-lived"), "{document}");
    assert_eq!(steps(&plan(&one, &document).await), [""; 0], "an array is as its own export");
    assert_eq!(document, export(&one).await, "an export is stable");
    let first = plan(&other, &document).await;
    let adds = steps(&first);
    let settings = ["change pool ", "change port_group 1"];
    assert!(adds.iter().all(|step| step.starts_with("add ") || settings.contains(&step.as_str())), "{adds:#?}");
    let kinds = ["qos_policy", "volume", "share", "host", "host_group", "access", "export", "schedule", "channel"];
    for kind in kinds.into_iter().chain(["user", "token"]) {
        assert!(adds.iter().any(|step| step.starts_with(&format!("add {kind} "))), "{kind} is not in {adds:#?}");
    }
    applied(&other, &first).await;
    assert_eq!(export(&other).await, document);
    assert_eq!(steps(&plan(&other, &document).await), [""; 0]);
    // What was generated is shown once.
    let generated = plane_secrets(&other).await;
    let fields: Vec<&str> = generated.keys().map(String::as_str).collect();
    let expected = [
        "channel hook secret",
        "host h1 mutual_secret",
        "host h1 secret",
        "token csi secret",
        "user ana password",
        "user vera password",
    ];
    assert_eq!(fields, expected);
    assert!(plane_secrets(&other).await.is_empty());
    let (user, password) = ("ana", &generated["user ana password"]);
    let body = json!({ "user": user, "password": password });
    assert_eq!(other.ask(&Author::default(), "POST", "/api/v1/sign-in", Some(body)).await.status, 204);
    let token = Author::with_token(&generated["token csi secret"]);
    assert_eq!(other.ask(&token, "GET", "/api/v1/pools", None).await.status, 200);
    // Each step has its record in the audit, and no secret is in it.
    let audit = other.ask(&Author::root(), "GET", "/api/v1/audit?limit=1000", None).await.body;
    let made = |action: &str| audit["items"].as_array().unwrap().iter().filter(|of| of["action"] == action).count();
    assert_eq!([made("volume_create"), made("user_create"), made("config_apply"), made("config_export")], [3, 2, 1, 1]);
    assert!(generated.values().all(|secret| !audit.to_string().contains(secret.as_str())));
    // The path of a webhook is a secret for many receivers.
    assert!(audit.to_string().contains("https://192.0.2.7/(hidden)") && !audit.to_string().contains("path-secret"));
}

async fn plane_secrets(plane: &Plane) -> BTreeMap<String, String> {
    let given = plane.ask(&Author::root(), "POST", "/api/v1/config/applied/secrets", None).await.body;
    let of = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    let items = given["items"].as_array().unwrap().iter();
    items
        .map(|item| (format!("{} {} {}", of(item, "kind"), of(item, "name"), of(item, "field")), of(item, "secret")))
        .collect()
}

/// A random document over names that overlap with those of others. Users, tokens and portals stay as they are.
fn any_document(random: &Random, present: &Value) -> Value {
    let chance = |percent| random.chance(percent);
    let some = |prefix: &str, bound: u64| -> Vec<String> {
        (0..bound).filter(|_| chance(50)).map(|at| format!("{prefix}{at}")).collect()
    };
    let pick = |from: &[String], percent| -> Vec<String> { from.iter().filter(|_| chance(percent)).cloned().collect() };
    let (volumes, hosts, shares) = (some("v", 6), some("h", 5), some("s", 3));
    let groups = some("g", 3);
    let size = |name: &String| {
        let before = present["volume"].as_array().unwrap().iter().find(|of| of["name"] == *name);
        before.and_then(|of| of["size_bytes"].as_u64()).unwrap_or(1 << 20) << random.below(2)
    };
    let policies = some("p", 3);
    let limited = |of: &mut Value| {
        if let Some(policy) = pick(&policies, 50).first() {
            of["qos_policy"] = json!(policy);
        }
    };
    let policy = |name: &String| {
        let mut of = json!({ "name": name, "weight": 10 + random.below(5), "shared": chance(50) });
        if chance(50) {
            of["iops"] = json!(100 + random.below(10));
            if chance(50) {
                of["iops_burst"] = json!({ "per_second": 200 + random.below(10), "seconds": 1 + random.below(5) });
            }
        }
        if chance(50) {
            of["bytes_per_second"] = json!((1 << 20) + random.below(10));
            if chance(50) {
                of["bytes_burst"] = json!({ "per_second": 2 << 20, "seconds": 1 + random.below(5) });
            }
        }
        of
    };
    let volume = |name: &String| {
        let mut of = json!({ "name": name, "size_bytes": size(name), "reserve": "thin",
            "zero_detection": chance(50), "write_cache": chance(50) });
        if chance(50) {
            of["reserve"] = json!("thick");
            of["overwrite_reserve_percent"] = json!(random.below(20));
        }
        if chance(50) {
            of["warn_percent"] = json!(40 + random.below(10));
        }
        if chance(50) {
            of["critical_percent"] = json!(60 + random.below(10));
        }
        if chance(50) {
            of["labels"] = json!({ "team": if chance(50) { "a" } else { "b" } });
        }
        limited(&mut of);
        of
    };
    // Some initiators move between hosts.
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for at in 0..4 {
        if let Some(host) = hosts.get(random.index(hosts.len().max(1))) {
            owners.entry(host.clone()).or_default().push(format!("iqn.2026-01.org.example:moving{at}"));
        }
    }
    let host = |name: &String| {
        let mut iqns = owners.get(name).cloned().unwrap_or_default();
        iqns.push(format!("iqn.2026-01.org.example:{name}"));
        let mut of = json!({ "name": name, "iqns": iqns, "addresses": [] });
        if chance(40) {
            of["chap"] = json!({ "user": if chance(50) { "u1" } else { "u2" } });
            if chance(50) {
                of["chap"]["mutual_user"] = json!("array");
            }
        }
        limited(&mut of);
        of
    };
    let group = |name: &String| json!({ "name": name, "hosts": pick(&hosts, 50) });
    // Numbers are distinct, whoever they are for, but change from document to document.
    let mut luns: Vec<u64> = (0..40).collect();
    random.shuffle(&mut luns);
    let mut access = Vec::new();
    for volume in &volumes {
        let hosts = pick(&hosts, 20).into_iter();
        let groups = pick(&groups, 20).into_iter().map(|group| format!("group:{group}"));
        // One grant of a volume, so that no host gets it twice.
        if let Some(to) = hosts.chain(groups).chain(["any".to_owned()]).next().filter(|_| chance(80)) {
            access.push(json!({ "volume": volume, "host": to, "lun": luns.pop() }));
        }
    }
    let share = |name: &String| {
        let protocols = if chance(50) { json!(["v3", "v4"]) } else { json!(["v4"]) };
        let mut of = json!({ "name": name, "protocols": protocols, "copy": if chance(50) { "share" } else { "physical" },
            "owner_uid": 0, "owner_gid": 0, "mode": "0755" });
        if chance(50) {
            of["quota_bytes"] = json!((1 + random.below(4)) << 30);
        }
        of
    };
    let mut exports = Vec::new();
    for share in &shares {
        let mut to = pick(&groups, 50).into_iter().map(|group| format!("group:{group}")).collect::<Vec<_>>();
        // The array writes the last one in its own way.
        to.extend(["any", "192.0.2.0/24", "FD00:0::/64"].into_iter().filter(|_| chance(40)).map(str::to_owned));
        exports.extend(to.into_iter().map(|to| {
            json!({ "share": share, "host": to, "read_only": chance(50), "squash": "root",
                "anonymous_uid": 1000 + random.below(3), "anonymous_gid": 1000, "privileged_port": chance(50) })
        }));
    }
    let schedule = |name: &String| {
        let members = pick(&volumes, 40);
        let mut of = json!({ "name": name, "zone": "UTC", "volumes": members, "keep_last": 1 + random.below(3),
            "paused": chance(50), "when": { "daily": { "minute": random.below(1440) } },
            "keep": { "hourly": 0, "daily": random.below(9), "weekly": 0, "monthly": 0 } });
        if of["volumes"] == json!([]) {
            of["label"] = json!({ "team": if chance(50) { "a" } else { "b" } });
        }
        if chance(50) {
            of["lock_seconds"] = json!(60 + random.below(60));
        }
        of
    };
    let channel = |name: &String| {
        // The case of these names does not count.
        let name = if chance(50) { name.to_uppercase() } else { name.clone() };
        let mut of = json!({ "name": name, "enabled": chance(50), "min_severity": "warning",
            "codes": if chance(50) { json!(["pool-full"]) } else { json!([]) } });
        if chance(50) {
            of["quiet_hours"] = json!({ "from_minute": random.below(60), "until_minute": 100, "zone": "UTC" });
        }
        of["settings"] = match random.below(3) {
            0 => json!({ "kind": "syslog", "server": "192.0.2.9", "transport": "udp" }),
            1 => {
                let mut of = json!({ "kind": "webhook", "url": if chance(50) { "https://192.0.2.9/" } else { "https://192.0.2.9/x" }, "body": "windlass" });
                if chance(66) {
                    of["has_secret"] = json!(chance(50));
                }
                of
            }
            _ => {
                json!({ "kind": "email", "server": "mail.example.org", "from": "a@example.org", "to": ["b@example.org"],
                "tls": "starttls", "has_password": false })
            }
        };
        of
    };
    let objects = |names: &[String], make: &dyn Fn(&String) -> Value| names.iter().map(make).collect::<Vec<Value>>();
    let mut document = present.clone();
    document["pool"]["warn_percent"] = json!(50 + random.below(10));
    document["qos_policy"] = objects(&policies, &policy).into();
    document["volume"] = objects(&volumes, &volume).into();
    document["share"] = objects(&shares, &share).into();
    document["host"] = objects(&hosts, &host).into();
    document["host_group"] = objects(&groups, &group).into();
    document["access"] = access.into();
    document["export"] = exports.into();
    document["schedule"] = objects(&some("n", 3), &schedule).into();
    document["channel"] = objects(&some("c", 3), &channel).into();
    document
}

/// From any configuration to any other: the plan is applied, the export is the document, and nothing is left.
#[tokio::test]
async fn random_configurations_converge() {
    let plane = Plane::new().await;
    plane.user("ana", "admin").await;
    let mut ways_back = 0;
    for seed in 1..=12 {
        let random = Random::new(seed);
        let present = export_json(&plane).await;
        let wanted = any_document(&random, &present).to_string();
        let steps_to = plan(&plane, &wanted).await;
        assert_eq!(steps_to["problems"], 0, "seed {seed}: {steps_to:#}");
        let before = export(&plane).await;
        applied(&plane, &steps_to).await;
        let left = plan(&plane, &wanted).await;
        assert_eq!(steps(&left), [""; 0], "seed {seed}: {left:#}");
        // And the way back, unless a volume has grown.
        let after = export(&plane).await;
        let steps_back = plan(&plane, &before).await;
        if steps_back["problems"] == 0 {
            ways_back += 1;
            applied(&plane, &steps_back).await;
            assert_eq!(export(&plane).await, before, "seed {seed}");
            let again = plan(&plane, &after).await;
            applied(&plane, &again).await;
            assert_eq!(export(&plane).await, after, "seed {seed}");
        }
    }
    assert!(ways_back > 1, "{ways_back}");
}

#[tokio::test]
async fn bad_documents_are_refused_and_nothing_changes() {
    let plane = furnished().await;
    let before = export(&plane).await;
    let whole = export_json(&plane).await;
    let large = format!("format = 1\n#{}", " ".repeat(8 << 20));
    for (document, status, code, field, line) in [
        ("format = 1\ncolour = 2\n".to_owned(), 422, "invalid-configuration", "colour", Some("2")),
        (
            "format = 1\nhost = [{ name = \"h\" }, { name = \"h\" }]\n".to_owned(),
            422,
            "invalid-configuration",
            "host.h.name",
            None,
        ),
        (
            "format = 1\naccess = [{ volume = \"none\", host = \"any\", lun = 0 }]\n".to_owned(),
            422,
            "invalid-configuration",
            "access.none any.volume",
            None,
        ),
        (large, 413, "invalid-request", "", None),
    ] {
        let (found, answer) = text(&plane, "POST", "/api/v1/config/plan", "application/toml", document).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((found, answer["code"].as_str()), (status, Some(code)), "{answer}");
        assert_eq!(answer["parameters"]["field"].as_str().unwrap_or_default(), field, "{answer}");
        assert_eq!(answer["parameters"]["line"].as_str(), line, "{answer}");
    }
    let mut smaller = whole.clone();
    smaller["volume"][0]["size_bytes"] = json!(4096);
    let smaller = plan(&plane, &smaller.to_string()).await;
    assert_eq!(smaller["problems"], 1, "{smaller}");
    let code = async |body: Value| {
        let answer = plane.ask(&Author::root(), "POST", "/api/v1/config/apply", Some(body)).await;
        (answer.status, answer.body["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(code(json!({ "plan": smaller["id"] })).await, (409, "plan-has-problems".to_owned()));
    let mut fewer = whole.clone();
    fewer["volume"].as_array_mut().unwrap().remove(0);
    fewer["access"] = json!([]);
    fewer["schedule"] = json!([]);
    let fewer = plan(&plane, &fewer.to_string()).await;
    assert_eq!(code(json!({ "plan": fewer["id"] })).await, (409, "deletes-not-allowed".to_owned()));
    let none = "00000000-0000-4000-8000-000000000000";
    assert_eq!(code(json!({ "plan": none })).await, (404, "no-such-plan".to_owned()));
    assert_eq!(export(&plane).await, before);
    let body = json!({ "name": "v9", "size_bytes": 512 });
    plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(body)).await;
    assert_eq!(
        code(json!({ "plan": fewer["id"], "allow_delete": true })).await,
        (409, "configuration-moved".to_owned())
    );
    let answer = plane.ask(&Author::root(), "GET", "/api/v1/config/export?secrets=true", None).await;
    assert_eq!(answer.code(), (422, "secrets-not-exported"));
    assert_eq!(
        plane.ask(&Author::root(), "GET", "/api/v1/config/applied", None).await.code(),
        (404, "nothing-applied")
    );
}

/// A step that fails is named, the others are taken, and content stays. Another plan has the rest.
#[tokio::test]
async fn an_apply_that_fails_says_what_was_done() {
    let plane = Plane::new().await;
    plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(json!({ "name": "old", "size_bytes": 4096 }))).await;
    let mut wanted = export_json(&plane).await;
    let volume = |name: &str, size_bytes: u64| json!({ "name": name, "size_bytes": size_bytes, "reserve": "thin", "zero_detection": true, "write_cache": false });
    // A size that is no multiple of a block.
    wanted["volume"] = json!([volume("bad", 4097), volume("good", 4096)]);
    let first = plan(&plane, &wanted.to_string()).await;
    assert_eq!(steps(&first), ["add volume bad", "add volume good", "remove volume old"]);
    let job = apply(&plane, &first).await;
    assert_eq!(job["state"], "failed");
    let error = job["error"].as_str().unwrap();
    assert!(error.contains("1 of 3 steps were taken") && error.contains("volume bad: "), "{error}");
    let applied = plane.ask(&Author::root(), "GET", "/api/v1/config/applied", None).await.body;
    let states: Vec<&str> =
        applied["steps"].as_array().unwrap().iter().map(|step| step["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["failed", "done", "waiting"]);
    assert!(applied["finished"].is_string() && applied["steps"][0]["error"].is_string(), "{applied}");
    assert_eq!(plane.ask(&Author::root(), "GET", "/api/v1/volumes/old", None).await.status, 200);
    let rest = plan(&plane, &wanted.to_string()).await;
    assert_eq!(steps(&rest), ["add volume bad", "remove volume old"]);
    wanted["volume"][0]["size_bytes"] = json!(8192);
    let mended = plan(&plane, &wanted.to_string()).await;
    assert_eq!(apply(&plane, &mended).await["state"], "done");
    let trash = plane.ask(&Author::root(), "GET", "/api/v1/trash", None).await.body;
    assert_eq!(trash["items"][0]["name"], "old");
}

/// The rights of the author were looked at when an apply began, and never again.
#[tokio::test]
async fn an_apply_ends_with_the_rights_of_its_author() {
    let plane = Plane::new().await;
    plane.user("ana", "admin").await;
    let author = Author::with_token(&plane.token("intruder", "admin", json!({})).await);
    let mut wanted = export_json(&plane).await;
    // Passwords of new users are hashed, which takes its time.
    let user = |at: usize| json!({ "name": format!("user{at:02}"), "role": "viewer" });
    let users = (0..20).map(user).chain([json!({ "name": "ana", "role": "admin" })]);
    wanted["user"] = users.collect::<Vec<Value>>().into();
    let plan = plan(&plane, &wanted.to_string()).await;
    let started = plane.ask(&author, "POST", "/api/v1/config/apply", Some(json!({ "plan": plan["id"] }))).await;
    assert_eq!(started.status, 202, "{}", started.body);
    assert_eq!(plane.ask(&Author::root(), "DELETE", "/api/v1/tokens/intruder", None).await.status, 204);
    let job = ended(&plane, &started.body).await;
    let error = job["error"].as_str().unwrap_or_default();
    assert!(error.contains("the rights of intruder have ended"), "{job}");
    assert_eq!(plane.ask(&Author::root(), "GET", "/api/v1/users/user19", None).await.status, 404);
    // Who goes by the document's own step does not stop the rest of it.
    let own = Author::with_token(&plane.token("own", "admin", json!({})).await);
    let rest = self::plan(&plane, &wanted.to_string()).await;
    assert!(steps(&rest).contains(&"remove token own".to_owned()), "{rest:#}");
    let started = plane.ask(&own, "POST", "/api/v1/config/apply", Some(json!({ "plan": rest["id"] }))).await;
    assert_eq!(ended(&plane, &started.body).await["state"], "done");
}

/// An apply destroyed the secrets of the one before, which nobody had taken.
#[tokio::test]
async fn secrets_wait_until_they_are_taken() {
    let plane = Plane::new().await;
    let mut wanted = export_json(&plane).await;
    for name in ["first", "second"] {
        let host =
            json!({ "name": name, "iqns": [format!("iqn.2026-01.org.example:{name}")], "chap": { "user": name } });
        wanted["host"].as_array_mut().unwrap().push(host);
        let plan = plan(&plane, &wanted.to_string()).await;
        applied(&plane, &plan).await;
    }
    // An answer that was lost on the way is given again for its key.
    let author = Author { headers: vec![("idempotency-key", "k1".to_owned())], ..Author::root() };
    for _try in 0..2 {
        let given = plane.ask(&author, "POST", "/api/v1/config/applied/secrets", None).await.body;
        let of = |item: &Value| item["name"].as_str().unwrap().to_owned();
        let names: Vec<String> = given["items"].as_array().unwrap().iter().map(of).collect();
        assert_eq!(names, ["first", "second"]);
    }
    assert!(plane_secrets(&plane).await.is_empty());
}

#[tokio::test]
async fn documents_are_read_by_their_media_type() {
    let plane = Plane::new().await;
    let json = export_json(&plane).await.to_string();
    for (kind, body, expected) in [
        ("application/json; charset=utf-8", json.clone(), 200),
        ("Application/JSON", json, 200),
        ("application/toml;charset=utf-8", export(&plane).await, 200),
        ("text/x-json", "{}".to_owned(), 415),
    ] {
        let (status, answer) = text(&plane, "POST", "/api/v1/config/plan", kind, body).await;
        assert_eq!(status, expected, "{kind}: {answer}");
    }
}

/// The exports of days show as much as an export, and left no record.
#[tokio::test]
async fn a_look_at_an_export_of_a_day_is_recorded() {
    let plane = Plane::new().await;
    let directory = plane.directory.path().join("configuration");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("2026-03-01.toml"), "format = 1\n").unwrap();
    for (day, expected) in [("2026-03-01", 200), ("2026-03-02", 404)] {
        let path = format!("/api/v1/config/history/{day}");
        assert_eq!(text(&plane, "GET", &path, "", String::new()).await.0, expected);
    }
    let audit = plane.ask(&Author::root(), "GET", "/api/v1/audit?action=config_history_show", None).await.body;
    assert_eq!(audit["items"].as_array().unwrap().len(), 1);
}
