//! Dry runs and repeated requests, over the guarded management plane.

use super::people::{Author, Plane};
use serde_json::{Value, json};

async fn audited(plane: &Plane) -> usize {
    let answer = plane.ask(&Author::root(), "GET", "/api/v1/audit", None).await;
    answer.body["items"].as_array().unwrap().len()
}

async fn make(plane: &Plane, path: &str, body: Value) -> Value {
    let answer = plane.ask(&Author::root(), "POST", path, Some(body)).await;
    assert!((200..300).contains(&answer.status), "{path}: {}", answer.body);
    answer.body
}

/// An array with one of each thing that can be destroyed.
async fn furnish(plane: &Plane) {
    make(plane, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 20 })).await;
    make(plane, "/api/v1/volumes", json!({ "name": "gone", "size_bytes": 1 << 20 })).await;
    make(plane, "/api/v1/volumes/v1/snapshots", json!({ "name": "monday" })).await;
    make(plane, "/api/v1/hosts", json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] })).await;
    make(plane, "/api/v1/host-groups", json!({ "name": "g1", "hosts": ["h1"] })).await;
    make(plane, "/api/v1/access", json!({ "volume": "v1", "host": "h1" })).await;
    make(plane, "/api/v1/shares", json!({ "name": "s1" })).await;
    make(plane, "/api/v1/shares/s1/snapshots", json!({ "name": "monday" })).await;
    make(plane, "/api/v1/shares/s1/exports", json!({ "any": true })).await;
    let when = json!({ "daily": { "minute": 120 } });
    make(plane, "/api/v1/schedules", json!({ "name": "nightly", "when": when, "volumes": ["v1"], "keep": {} })).await;
    make(plane, "/api/v1/qos-policies", json!({ "name": "bronze", "iops": 2000 })).await;
    make(plane, "/api/v1/tokens", json!({ "name": "t1", "role": "viewer" })).await;
    let settings = json!({ "kind": "syslog", "server": "192.0.2.7", "transport": "udp" });
    make(plane, "/api/v1/channels", json!({ "name": "c1", "settings": settings })).await;
    assert_eq!(plane.ask(&Author::root(), "DELETE", "/api/v1/volumes/gone", None).await.status, 200);
}

#[tokio::test]
async fn a_dry_run_of_every_operation_that_has_one_answers_and_leaves_no_trace() {
    let plane = Plane::new().await;
    plane.user("anna", "admin").await;
    plane.user("otto", "operator").await;
    furnish(&plane).await;
    let sign_in = plane.sign_in("otto").await;
    let listed = plane.ask(&Author::page(&sign_in), "GET", "/api/v1/sign-in", None).await.body;
    let sign_ins = plane.ask(&Author::root(), "GET", "/api/v1/sign-ins", None).await.body;
    let id = sign_ins["items"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    let sign_in_path = format!("/api/v1/sign-ins/{id}");
    let calls = [
        ("volume_delete", "DELETE", "/api/v1/volumes/v1?revoke=true&with_snapshots=true", None),
        ("volume_set", "PATCH", "/api/v1/volumes/v1", Some(json!({ "size_bytes": 2 << 20, "write_cache": true }))),
        ("share_set", "PATCH", "/api/v1/shares/s1", Some(json!({ "name": "s2", "new_handles": true }))),
        ("file_set", "PATCH", "/api/v1/shares/s1/files/a.img", Some(json!({ "punch": { "length_bytes": 4096 } }))),
        ("export_grant", "POST", "/api/v1/shares/s1/exports", Some(json!({ "any": true, "read_only": true }))),
        ("reservation_clear", "DELETE", "/api/v1/volumes/v1/reservations", None),
        ("volume_rollback", "POST", "/api/v1/volumes/v1/rollback", Some(json!({ "snapshot": "monday" }))),
        ("volume_reclaim", "POST", "/api/v1/volumes/v1/reclaim", Some(json!({}))),
        ("snapshot_delete", "DELETE", "/api/v1/snapshots/v1@monday?now=true", None),
        ("share_delete", "DELETE", "/api/v1/shares/s1?with_snapshots=true", None),
        ("share_rollback", "POST", "/api/v1/shares/s1/rollback", Some(json!({ "snapshot": "monday" }))),
        ("access_revoke", "DELETE", "/api/v1/access/v1/h1", None),
        ("access_revoke_all", "DELETE", "/api/v1/access/v1", None),
        ("export_revoke", "DELETE", "/api/v1/shares/s1/exports/any", None),
        ("export_revoke_all", "DELETE", "/api/v1/shares/s1/exports", None),
        ("host_delete", "DELETE", "/api/v1/hosts/h1", None),
        ("host_group_delete", "DELETE", "/api/v1/host-groups/g1", None),
        ("host_group_set", "PATCH", "/api/v1/host-groups/g1", Some(json!({ "remove": ["h1"] }))),
        ("qos_policy_delete", "DELETE", "/api/v1/qos-policies/bronze?force=true", None),
        ("schedule_delete", "DELETE", "/api/v1/schedules/nightly", None),
        ("session_delete", "DELETE", "/api/v1/sessions/7", None),
        ("trash_delete", "DELETE", "/api/v1/trash/gone", None),
        ("trash_empty", "DELETE", "/api/v1/trash", None),
        ("pool_reclaim", "POST", "/api/v1/pools/p0/reclaim", Some(json!({}))),
        ("token_delete", "DELETE", "/api/v1/tokens/t1", None),
        ("user_delete", "DELETE", "/api/v1/users/otto", None),
        ("signin_delete", "DELETE", &sign_in_path, None),
        ("channel_delete", "DELETE", "/api/v1/channels/c1", None),
    ];
    let document: Value = serde_json::from_str(&crate::http::openapi_json()).unwrap();
    let parameters = |operation: &Value, name: &str| {
        operation["parameters"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == name))
    };
    let operations = document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
    let described: Vec<&str> = operations
        .filter(|(_, operation)| parameters(operation, "dry_run"))
        .map(|(_, operation)| operation["operationId"].as_str().unwrap())
        .collect();
    let before = audited(&plane).await;
    for (name, method, path, body) in &calls {
        assert!(described.contains(name), "{name} is not described");
        let dry = format!("{path}{}dry_run=true", if path.contains('?') { '&' } else { '?' });
        let mut answers = Vec::new();
        for _ in 0..2 {
            let answer = plane.ask(&Author::root(), method, &dry, body.clone()).await;
            // There is no session to drop: the dry run says that too.
            let expected = if *name == "session_delete" { 404 } else { 200 };
            assert_eq!(answer.status, expected, "{name}: {}", answer.body);
            assert!(answer.status == 404 || answer.body["allowed"].is_boolean(), "{name}: {}", answer.body);
            answers.push(answer.body);
        }
        assert_eq!(answers[0], answers[1], "{name} changed something");
    }
    assert_eq!(calls.len(), described.len(), "{described:?}");
    assert_eq!(audited(&plane).await, before, "nothing was changed");
    let root = Author::root();
    let ask = |method, path| plane.ask(&root, method, path, None);
    let effect = ask("DELETE", "/api/v1/volumes/v1?dry_run=true").await.body;
    assert_eq!((&effect["allowed"], &effect["problem"]["code"]), (&json!(false), &json!("in-use")));
    assert_eq!(effect["problem"]["users"][0]["description"], "host h1, LUN 0");
    let only_read = Some(json!({ "any": true, "read_only": true }));
    let effect = plane.ask(&root, "POST", "/api/v1/shares/s1/exports?dry_run=true", only_read).await.body;
    assert_eq!(effect["breaks"][0]["why"], "it can only read share s1: its writes fail at once");
    let effect = ask("DELETE", "/api/v1/users/otto?dry_run=true").await.body;
    assert_eq!(effect["breaks"], json!([{ "kind": "sign-in", "name": id, "why": "it ends at once" }]));
    let effect = ask("DELETE", "/api/v1/users/anna?dry_run=true").await.body;
    assert_eq!((&effect["allowed"], &effect["problem"]["code"]), (&json!(false), &json!("last-admin")));
}

/// A request that the audit does not see is no change, however it is written.
#[tokio::test]
async fn no_change_is_made_by_what_looks_like_a_dry_run() {
    let plane = Plane::new().await;
    plane.user("vera", "viewer").await;
    furnish(&plane).await;
    let root = Author::root();
    let ask = |method: &'static str, path: &'static str| plane.ask(&root, method, path, None);
    for query in
        ["dry_run=yes", "dry_run", "dry_run=true&dry_run=false", "dry_run=false&dry_run=true", "dry%5Frun=true"]
    {
        let path = format!("/api/v1/volumes/gone2?{query}");
        assert_eq!(plane.ask(&root, "DELETE", &path, None).await.status, 400, "{query}");
    }
    // An operation without a dry run does not become the change itself.
    let create = json!({ "name": "v2", "size_bytes": 1 << 20 });
    let answer = plane.ask(&root, "POST", "/api/v1/volumes?dry_run=true", Some(create)).await;
    assert_eq!((answer.status, &answer.body["detail"]), (400, &json!("volume_create has no dry run")));
    assert_eq!(ask("GET", "/api/v1/volumes/v2").await.status, 404);
    let code = json!({ "code": "x", "name": "eve", "password": "a long enough password" });
    let stranger = plane.ask(&Author::default(), "POST", "/api/v1/setup?dry_run=true", Some(code)).await;
    assert_eq!((stranger.status, &stranger.body["detail"]), (400, &json!("setup_run has no dry run")));
    let token = plane.token("of-vera", "viewer", json!({})).await;
    let viewer = Author::with_token(&token);
    let before = audited(&plane).await;
    assert_eq!(plane.ask(&viewer, "DELETE", "/api/v1/volumes/v1?dry_run=true", None).await.code(), (403, "forbidden"));
    assert_eq!(audited(&plane).await, before);
    let known = Author { headers: vec![("if-match", "\"other\"".to_owned())], ..Author::root() };
    let answer = plane.ask(&known, "DELETE", "/api/v1/volumes/v1?dry_run=true", None).await;
    assert_eq!((answer.code(), &answer.body["present"]["name"]), ((412, "changed-meanwhile"), &json!("v1")));
    // The real change, by the other word.
    assert_eq!(ask("DELETE", "/api/v1/access/v1/h1?dry_run=false").await.status, 204);
    assert_eq!(ask("DELETE", "/api/v1/access/v1/h1").await.status, 404);
    assert_eq!(audited(&plane).await, before + 2);
}

fn with_key(author: &Author, key: &str) -> Author {
    let mut author = author.clone();
    author.headers.push(("idempotency-key", key.to_owned()));
    author
}

#[tokio::test]
async fn a_repeat_with_its_key_gets_the_same_answer_and_changes_nothing() {
    let plane = Plane::new().await;
    plane.user("anna", "admin").await;
    furnish(&plane).await;
    let root = with_key(&Author::root(), "k1");
    let snapshots = "/api/v1/volumes/v1/snapshots";
    let body = json!({ "name": "tuesday" });
    let first = plane.ask(&root, "POST", snapshots, Some(body.clone())).await;
    let before = audited(&plane).await;
    let again = plane.ask(&root, "POST", snapshots, Some(body.clone())).await;
    assert_eq!((first.status, &again.body), (201, &first.body));
    assert_eq!(again.status, 201);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.headers.get("location"), first.headers.get("location"));
    assert_eq!(audited(&plane).await, before, "a repeat is no change");
    // Without the key, the same request is another one.
    assert_eq!(plane.ask(&Author::root(), "POST", snapshots, Some(body.clone())).await.code(), (409, "exists"));
    let other = plane.ask(&root, "POST", snapshots, Some(json!({ "name": "friday" }))).await;
    assert_eq!(other.code(), (422, "idempotency-key-reused"));
    let elsewhere = plane.ask(&root, "POST", "/api/v1/shares/s1/snapshots", Some(body.clone())).await;
    assert_eq!(elsewhere.code(), (422, "idempotency-key-reused"));
    // The key of one caller is none of another.
    let anna = with_key(&Author::page(&plane.sign_in("anna").await), "k1");
    assert_eq!(plane.ask(&anna, "POST", snapshots, Some(body)).await.code(), (409, "exists"));
    // A refusal is an answer too; secrets that are shown once are in the same answer.
    let token = json!({ "name": "once", "role": "viewer" });
    let of_token = with_key(&Author::root(), "k2");
    let first = plane.ask(&of_token, "POST", "/api/v1/tokens", Some(token.clone())).await;
    assert_eq!(plane.ask(&of_token, "POST", "/api/v1/tokens", Some(token)).await.body, first.body);
    for key in ["", &"k".repeat(256)] {
        let bad = with_key(&Author::root(), key);
        let answer = plane.ask(&bad, "POST", snapshots, Some(json!({ "name": "bad" }))).await;
        assert_eq!(answer.code(), (400, "invalid-request"), "{key:?}");
    }
}
