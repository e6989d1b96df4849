//! Every operation of the OpenAPI document, tried by every kind of caller: allowed or refused as the
//! table says.

use super::people::{Answer, Author, Plane};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Operation as the document describes it.
struct Operation {
    method: String,
    path: String,
    role: String,
}

/// Operations, by name. Parameters of paths are filled in.
fn operations() -> BTreeMap<String, Operation> {
    let document: Value = serde_json::from_str(&crate::http::openapi_json()).unwrap();
    let mut operations = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            // An object in the scope that does not exist, so that no call changes anything.
            let path: Vec<&str> =
                path.split('/').map(|part| if part.starts_with('{') { "csi-none" } else { part }).collect();
            let role = operation["x-role"].as_str().unwrap().to_owned();
            let found = Operation { method: method.to_uppercase(), path: path.join("/"), role };
            operations.insert(operation["operationId"].as_str().unwrap().to_owned(), found);
        }
    }
    operations
}

/// Code with which the guard has refused; absent if it has let the request pass.
fn refusal(answer: &Answer) -> Option<&str> {
    let (status, code) = answer.code();
    let is_of_guard = ["forbidden", "outside-scope", "unauthorized", "password-to-change", "foreign-page"];
    (status == 401 || status == 403).then_some(code).filter(|code| is_of_guard.contains(code))
}

fn rank(role: &str) -> u8 {
    match role {
        "none" => 0,
        "any" => 1,
        "viewer" => 2,
        "operator" => 3,
        "admin" => 4,
        other => panic!("{other} is no role"),
    }
}

#[tokio::test]
async fn every_operation_is_for_its_role_and_later_ones() {
    let plane = Plane::new().await;
    // An admin, so that the set-up is over.
    for (name, role) in [("anna", "admin"), ("otto", "operator"), ("vera", "viewer")] {
        plane.user(name, role).await;
    }
    let group = Author { uid: Some(rustix::process::geteuid().as_raw().wrapping_add(1).max(1)), ..Author::default() };
    let mut callers = vec![
        ("stranger".to_owned(), Author::default(), 0),
        ("root".to_owned(), Author::root(), 4),
        ("group".to_owned(), group, 3),
    ];
    for (name, role) in [("vera", "viewer"), ("otto", "operator"), ("anna", "admin")] {
        let token = plane.token(&format!("of-{name}"), role, json!({})).await;
        callers.push((format!("token of {role}"), Author::with_token(&token), rank(role)));
        callers.push((format!("page of {role}"), Author::page(&plane.sign_in(name).await), rank(role)));
    }
    for (name, operation) in operations() {
        // These end the sign-in of the caller.
        if name == "signin_end" {
            continue;
        }
        for (caller, author, has) in &callers {
            let answer = plane.ask(author, &operation.method, &operation.path, Some(json!({}))).await;
            let allowed = *has >= rank(&operation.role);
            let (refused, needs) = (refusal(&answer), &operation.role);
            let expected = match (allowed, *has) {
                (true, _) => None,
                (false, 0) => Some("unauthorized"),
                (false, _) => Some("forbidden"),
            };
            assert_eq!(refused, expected, "{name}, needs {needs}, by {caller}: {} {}", answer.status, answer.body);
            if refused == Some("forbidden") {
                let detail = answer.body["detail"].as_str().unwrap();
                assert!(detail.starts_with(&format!("{name} needs the role {needs},")), "{detail}");
            }
        }
    }
}

/// Operations that a token for the volumes `csi-*` may use if they name such a volume.
const SCOPED: [&str; 44] = [
    "access_grant",
    "access_list",
    "access_revoke",
    "access_revoke_all",
    "capabilities_show",
    "code_list",
    "code_show",
    "connect_systems",
    "health_show",
    "host_list",
    "host_show",
    "pool_forecast",
    "pool_list",
    "pool_show",
    "portal_groups",
    "portal_list",
    "portal_show",
    "portal_show_group",
    "reservation_clear",
    "reservation_list",
    "setup_run",
    "setup_show",
    "signin_begin",
    "signin_show",
    "snapshot_create",
    "snapshot_delete",
    "snapshot_list",
    "snapshot_lock",
    "snapshot_pin",
    "snapshot_show",
    "system_show",
    "volume_create",
    "volume_delete",
    "volume_offload",
    "volume_reclaim",
    "volume_reservations",
    "volume_reshare",
    "volume_rollback",
    "volume_set",
    "volume_show",
    "volume_snapshot_create",
    "volume_snapshots",
    "volume_space",
    "volume_tree",
];

#[tokio::test]
async fn scopes_limit_every_operation() {
    let plane = Plane::new().await;
    plane.user("anna", "admin").await;
    let admin = Author::with_token(&plane.token("csi", "admin", json!({ "volumes": "csi-*" })).await);
    let metrics = Author::with_token(&plane.token("m", "viewer", json!({ "metrics_only": true })).await);
    let away = Author::with_token(&plane.token("away", "admin", json!({ "networks": ["198.51.100.0/24"] })).await);
    for (name, Operation { method, path, role }) in operations() {
        let query = if ["access_list", "reservation_list", "snapshot_list"].contains(&name.as_str()) {
            "?volume=csi-none"
        } else {
            ""
        };
        let path = format!("{path}{query}");
        let scoped = SCOPED.contains(&name.as_str());
        for (author, allowed) in
            [(&admin, scoped), (&metrics, name.starts_with("metrics_") || role == "none"), (&away, role == "none")]
        {
            let answer = plane.ask(author, &method, &path, Some(json!({}))).await;
            let expected = if allowed { None } else { Some("outside-scope") };
            assert_eq!(refusal(&answer), expected, "{name} by {author:?}: {} {}", answer.status, answer.body);
        }
    }
    let near = Author { address: Some("198.51.100.7"), ..away };
    assert_eq!(plane.ask(&near, "GET", "/api/v1/users", None).await.status, 200);
}

/// The trash brings back what an operator deletes; only an admin deletes past it.
#[tokio::test]
async fn only_an_admin_deletes_past_the_trash() {
    let plane = Plane::new().await;
    let operator = Author::with_token(&plane.token("o", "operator", json!({})).await);
    let volume = json!({ "name": "v", "size_bytes": 1 << 20 });
    assert_eq!(plane.ask(&operator, "POST", "/api/v1/volumes", Some(volume)).await.status, 201);
    for query in ["now=true", "now=%74rue", "with_snapshots=false&now=true"] {
        let answer = plane.ask(&operator, "DELETE", &format!("/api/v1/volumes/v?{query}"), None).await;
        assert_eq!(answer.body["code"], json!("forbidden"), "{query}: {}", answer.body);
    }
    assert_eq!(plane.ask(&operator, "DELETE", "/api/v1/volumes/v?now=false", None).await.status, 200);
    assert_eq!(plane.ask(&operator, "DELETE", "/api/v1/trash", None).await.body["code"], json!("forbidden"));
    let admin = Author::with_token(&plane.token("a", "admin", json!({})).await);
    assert_eq!(plane.ask(&admin, "DELETE", "/api/v1/trash", None).await.body, json!({ "deleted": ["v"] }));
}

/// A volume has a name, an id and snapshots with ids; the scope counts for each of them.
#[tokio::test]
async fn a_scope_of_volumes_counts_for_names_ids_and_snapshots() {
    let plane = Plane::new().await;
    let root = Author::root();
    let mut ids = Vec::new();
    for name in ["csi-1", "db"] {
        let volume = json!({ "name": name, "size_bytes": 1 << 20 });
        let made = plane.ask(&root, "POST", "/api/v1/volumes", Some(volume)).await.body;
        ids.push(made["id"].as_str().unwrap().to_owned());
        let path = format!("/api/v1/volumes/{name}/snapshots");
        let made = plane.ask(&root, "POST", &path, Some(json!({ "name": "s" }))).await.body;
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let author = Author::with_token(&plane.token("csi", "operator", json!({ "volumes": "csi-*" })).await);
    let v = "/api/v1/volumes";
    let s = "/api/v1/snapshots";
    for (method, path, body, expected) in [
        ("GET", format!("{v}/csi-1"), None, 200),
        ("GET", format!("{v}/{}", ids[0]), None, 200),
        ("GET", format!("{v}/db"), None, 403),
        ("GET", format!("{v}/{}", ids[2]), None, 403),
        ("GET", format!("{s}/csi-1@s"), None, 200),
        ("GET", format!("{s}/{}", ids[1]), None, 200),
        ("GET", format!("{s}/db@s"), None, 403),
        ("DELETE", format!("{s}/{}", ids[3]), None, 403),
        ("GET", format!("{s}?volume=db"), None, 403),
        ("GET", format!("{s}?volume=d%62"), None, 403),
        ("GET", format!("{s}?volume=csi-1"), None, 200),
        ("GET", s.to_owned(), None, 403),
        ("GET", v.to_owned(), None, 403),
        ("POST", v.to_owned(), Some(json!({ "name": "csi-2", "size_bytes": 4096 })), 201),
        ("POST", v.to_owned(), Some(json!({ "name": "x", "size_bytes": 4096 })), 403),
        ("POST", v.to_owned(), Some(json!({ "name": "csi-3", "source": "db" })), 403),
        ("POST", v.to_owned(), Some(json!({ "name": "csi-3", "source": "db@s" })), 403),
        ("POST", v.to_owned(), Some(json!({ "name": "csi-3", "source": ids[3] })), 403),
        ("POST", v.to_owned(), Some(json!({ "name": "csi-3", "source_file": "share/a" })), 403),
        ("POST", v.to_owned(), Some(json!({ "name": "csi-3", "source": "csi-1@s" })), 201),
        ("PATCH", format!("{v}/csi-2"), Some(json!({ "name": "mine" })), 403),
        ("PATCH", format!("{v}/db"), Some(json!({ "name": "csi-9" })), 403),
        ("POST", s.to_owned(), Some(json!({ "volumes": ["csi-1", "db"], "name": "t" })), 403),
        ("POST", s.to_owned(), Some(json!({ "volumes": ["csi-1", "csi-2"], "name": "t" })), 201),
        ("POST", "/api/v1/access".to_owned(), Some(json!({ "volume": ids[2], "any": true })), 403),
        ("POST", "/api/v1/access".to_owned(), Some(json!({ "volume": "csi-1", "any": true })), 201),
        ("DELETE", "/api/v1/access/db".to_owned(), None, 403),
        ("DELETE", format!("{v}/csi-2?with_snapshots=true"), None, 200),
        ("DELETE", format!("{v}/db"), None, 403),
    ] {
        let answer = plane.ask(&author, method, &path, body.clone()).await;
        assert_eq!(answer.status, expected, "{method} {path} {body:?}: {}", answer.body);
        if expected == 403 {
            assert_eq!(answer.body["code"], json!("outside-scope"));
        }
    }
}

/// A snapshot of another volume whose name is also that of a volume in the scope could be deleted.
#[tokio::test]
async fn a_snapshot_is_not_taken_for_a_volume_of_its_name() {
    let plane = Plane::new().await;
    for name in ["csi-1", "db"] {
        let volume = json!({ "name": name, "size_bytes": 1 << 20 });
        assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(volume)).await.status, 201);
    }
    let snapshot = Some(json!({ "name": "csi-1" }));
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes/db/snapshots", snapshot).await.status, 201);
    let author = Author::with_token(&plane.token("csi", "operator", json!({ "volumes": "csi-*" })).await);
    for method in ["GET", "DELETE"] {
        let answer = plane.ask(&author, method, "/api/v1/snapshots/csi-1", None).await;
        assert_eq!(answer.code(), (403, "outside-scope"), "{method}");
    }
}

/// A share whose name fits the scope got snapshots.
#[tokio::test]
async fn a_scope_of_volumes_has_no_shares() {
    let plane = Plane::new().await;
    let share = Some(json!({ "name": "csi-files" }));
    let made = plane.ask(&Author::root(), "POST", "/api/v1/shares", share).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let author = Author::with_token(&plane.token("csi", "operator", json!({ "volumes": "csi-*" })).await);
    for (path, body) in [
        ("/api/v1/volumes/csi-files/snapshots", json!({ "name": "s" })),
        ("/api/v1/snapshots", json!({ "name": "s", "volumes": ["csi-files"] })),
    ] {
        let answer = plane.ask(&author, "POST", path, Some(body)).await;
        assert_eq!(answer.code(), (403, "outside-scope"), "{path}");
    }
}

/// Hosts showed the grants of all volumes, and jobs were found by a part of an id.
#[tokio::test]
async fn a_scope_of_volumes_hides_grants_and_jobs_of_others() {
    let plane = Plane::new().await;
    let root = Author::root();
    let host = json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] });
    assert_eq!(plane.ask(&root, "POST", "/api/v1/hosts", Some(host)).await.status, 201);
    let mut jobs = Vec::new();
    for name in ["csi-1", "db"] {
        let volume = json!({ "name": name, "size_bytes": 1 << 20 });
        assert_eq!(plane.ask(&root, "POST", "/api/v1/volumes", Some(volume)).await.status, 201);
        let grant = json!({ "volume": name, "host": "h1" });
        assert_eq!(plane.ask(&root, "POST", "/api/v1/access", Some(grant)).await.status, 201);
        let path = format!("/api/v1/volumes/{name}/reclaim");
        let job = plane.ask(&root, "POST", &path, Some(json!({}))).await;
        jobs.push(job.body["id"].as_str().unwrap().to_owned());
    }
    let author = Author::with_token(&plane.token("csi", "operator", json!({ "volumes": "csi-*" })).await);
    let shown = plane.ask(&author, "GET", "/api/v1/hosts/h1", None).await.body;
    let listed = plane.ask(&author, "GET", "/api/v1/hosts", None).await.body["items"][0].clone();
    for host in [shown, listed] {
        let volumes: Vec<_> = host["luns"].as_array().unwrap().iter().map(|unit| &unit["volume"]).collect();
        assert_eq!(volumes, ["csi-1"]);
    }
    let all = plane.ask(&root, "GET", "/api/v1/hosts/h1", None).await.body;
    assert_eq!(all["luns"].as_array().unwrap().len(), 2);
    for (job, expected) in [(jobs[0].as_str(), 200), (&jobs[1], 403), (&jobs[0][..8], 403)] {
        assert_eq!(plane.ask(&author, "GET", &format!("/api/v1/jobs/{job}"), None).await.status, expected, "{job}");
    }
}

/// An operator could lock snapshots for ten years, which nobody can undo.
#[tokio::test]
async fn long_locks_are_for_admins() {
    let plane = Plane::new().await;
    let volume = json!({ "name": "v1", "size_bytes": 1 << 20 });
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(volume)).await.status, 201);
    let snapshot = Some(json!({ "name": "s" }));
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes/v1/snapshots", snapshot).await.status, 201);
    let operator = Author::with_token(&plane.token("op", "operator", json!({})).await);
    let until = |days: i64| {
        let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
        Some(json!({ "until": until.to_string() }))
    };
    let path = "/api/v1/snapshots/v1@s/lock";
    assert_eq!(plane.ask(&operator, "POST", path, until(31)).await.code(), (403, "forbidden"));
    assert_eq!(plane.ask(&operator, "POST", path, until(29)).await.status, 200);
    assert_eq!(plane.ask(&Author::root(), "POST", path, until(300)).await.status, 200);
    let schedule = |days: u32| {
        let when = json!({ "daily": { "minute": 1 } });
        json!({ "name": "n", "when": when, "volumes": ["v1"], "lock_seconds": days * 86_400 })
    };
    let path = "/api/v1/schedules";
    assert_eq!(plane.ask(&operator, "POST", path, Some(schedule(31))).await.code(), (403, "forbidden"));
    assert_eq!(plane.ask(&operator, "POST", path, Some(schedule(30))).await.status, 201);
    let longer = Some(json!({ "lock_seconds": 31 * 86_400 }));
    let path = "/api/v1/schedules/n";
    assert_eq!(plane.ask(&operator, "PATCH", path, longer.clone()).await.code(), (403, "forbidden"));
    assert_eq!(plane.ask(&Author::root(), "PATCH", path, longer).await.status, 200);
    // What an admin has set does not keep an operator from changing the rest.
    assert_eq!(plane.ask(&operator, "PATCH", path, Some(json!({ "paused": true }))).await.status, 200);
}

/// The laboratory deleted volumes with this label past the trash, and operators could set it.
#[tokio::test]
async fn the_label_of_scratch_volumes_is_not_for_requests() {
    let plane = Plane::new().await;
    let volume =
        |labels: serde_json::Value| Some(json!({ "name": "lab-scratch-1", "size_bytes": 1 << 20, "labels": labels }));
    let label = json!({ "windlass-laboratory": "lab-scratch-1" });
    let path = "/api/v1/volumes";
    assert_eq!(plane.ask(&Author::root(), "POST", path, volume(label.clone())).await.status, 422);
    assert_eq!(plane.ask(&Author::root(), "POST", path, volume(json!({ "team": "a" }))).await.status, 201);
    let path = "/api/v1/volumes/lab-scratch-1";
    assert_eq!(plane.ask(&Author::root(), "PATCH", path, Some(json!({ "labels": label }))).await.status, 422);
    let removed = json!({ "windlass-laboratory": null });
    assert_eq!(plane.ask(&Author::root(), "PATCH", path, Some(json!({ "labels": removed }))).await.status, 200);
}
