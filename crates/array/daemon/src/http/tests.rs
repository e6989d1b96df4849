//! Requests to the router over an array in memory: statuses, bodies, problem documents.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod audit;
mod bundles;
mod codes;
mod configuration;
mod dry_run;
mod history;
mod lists;
mod live;
mod metrics;
pub(crate) mod people;
mod qos;
mod reads;
mod revisions;
mod rights;

use crate::memory::spawn;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use control::{Registration, ReservationType, Reservations};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

/// Returns the whole management plane over an empty array.
fn app() -> Router {
    super::unguarded(spawn(|_, _, _| {}), Arc::default())
}

/// Sends a request, with or without a body.
async fn send(app: &Router, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    let request = request.body(body.map_or(Body::empty(), |body| Body::from(body.to_string()))).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let (status, content_type) = (response.status(), response.headers().get(header::CONTENT_TYPE).cloned());
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let value = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
    if status.as_u16() >= 400 {
        assert_eq!(content_type.unwrap(), "application/problem+json");
        assert_eq!(value["status"], status.as_u16());
    }
    (status, value)
}

async fn post(app: &Router, path: &str, body: Value) -> (StatusCode, Value) {
    send(app, "POST", path, Some(body)).await
}

/// The link to the next part keeps the filters of the request.
#[tokio::test]
async fn lists_are_read_in_parts() {
    let app = app();
    for name in ["v1", "v2", "v3"] {
        post(&app, "/api/v1/volumes", json!({ "name": name, "size_bytes": 1 << 30 })).await;
    }
    let body = json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] });
    assert_eq!(post(&app, "/api/v1/hosts", body).await.0, 201);
    for lun in 0..3 {
        let grant = json!({ "volume": format!("v{}", lun + 1), "host": "h1", "lun": lun });
        assert_eq!(post(&app, "/api/v1/access", grant).await.0, 201);
    }
    for (start, of) in [("/api/v1/volumes?limit=2", "name"), ("/api/v1/access?limit=2&host=h1", "volume")] {
        let (status, first) = send(&app, "GET", start, None).await;
        assert_eq!((status.as_u16(), first["items"][1][of].as_str()), (200, Some("v2")), "{start}");
        let next = first["next"].as_str().unwrap();
        assert!(next.starts_with(start), "{next}");
        let (status, second) = send(&app, "GET", next, None).await;
        assert_eq!((status.as_u16(), second["items"][0][of].as_str()), (200, Some("v3")), "{next}");
        assert_eq!((second["items"].as_array().unwrap().len(), &second["next"]), (1, &Value::Null));
    }
    let whole = send(&app, "GET", "/api/v1/volumes", None).await.1;
    assert_eq!((whole["items"].as_array().unwrap().len(), &whole["next"]), (3, &Value::Null));
    for limit in ["0", "10001"] {
        let (status, problem) = send(&app, "GET", &format!("/api/v1/volumes?limit={limit}"), None).await;
        assert_eq!((status.as_u16(), problem["code"].as_str()), (400, Some("invalid-request")));
    }
}

#[tokio::test]
async fn creating_is_201_then_200_then_409() {
    let app = app();
    let body = json!({ "name": "v1", "size_bytes": 1 << 30 });
    let (status, made) = post(&app, "/api/v1/volumes", body.clone()).await;
    assert_eq!(status, 201);
    for (field, value) in [("size_bytes", json!(1 << 30)), ("mapped_bytes", json!(0)), ("unique_bytes", json!(0))] {
        assert_eq!(made[field], value);
    }
    assert_eq!(made["naa"].as_str().unwrap().len(), 32);
    let (status, again) = post(&app, "/api/v1/volumes", body).await;
    assert_eq!((status.as_u16(), &again), (200, &made));
    let (status, problem) = post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1_u64 << 31 })).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (409, Some("exists")));
    assert_eq!(problem["type"], "urn:windlass:problem:exists");
}

#[tokio::test]
async fn a_volume_in_use_says_who_uses_it_and_what_helps() {
    let app = app();
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 512 })).await;
    let (status, access) = post(&app, "/api/v1/access", json!({ "volume": "v1", "any": true })).await;
    assert_eq!(status, 201);
    assert_eq!(access["iscsi_url"], "iscsi://127.0.0.1:3260/iqn.2026-01.org.example:test/0");
    let (status, problem) = send(&app, "DELETE", "/api/v1/volumes/v1", None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (409, Some("in-use")));
    assert_eq!(problem["users"][0], json!({ "kind": "access", "description": "any host, LUN 0" }));
    assert_eq!(problem.get("fields"), None);
    let (_, odd) = post(&app, "/api/v1/volumes", json!({ "name": "odd", "size_bytes": 513 })).await;
    assert_eq!((&odd["code"], &odd["fields"][0]["field"]), (&json!("invalid-size"), &json!("size_bytes")));
    assert_eq!(odd["fields"][0]["message"], odd["detail"]);
    assert_eq!(problem["help"], "revoke access first");
    assert_eq!(problem["parameters"], json!({ "noun": "volume", "name": "v1" }));
    assert_eq!(send(&app, "DELETE", "/api/v1/access/v1/any", None).await.0, 204);
    let (status, trashed) = send(&app, "DELETE", "/api/v1/volumes/v1", None).await;
    assert_eq!(status, 200);
    assert_eq!((&trashed["kind"], &trashed["name"]), (&json!("volume"), &json!("v1")));
    let path = format!("/api/v1/trash/{}", trashed["id"].as_str().unwrap());
    let listed = send(&app, "GET", "/api/v1/trash", None).await.1;
    assert_eq!(listed["items"], json!([trashed]));
    let restore = format!("{path}/restore");
    assert_eq!(post(&app, &restore, json!({ "name": "v1", "nonsense": 1 })).await.0, 422);
    let (status, restored) = post(&app, &restore, json!({ "name": "v2" })).await;
    assert_eq!(status, 200);
    assert_eq!((&restored["name"], &restored["id"]), (&json!("v2"), &trashed["id"]));
    assert_eq!(post(&app, &restore, json!({})).await.0, 404);
    assert_eq!(send(&app, "DELETE", "/api/v1/volumes/v2", None).await.0, 200);
    assert_eq!(send(&app, "DELETE", &path, None).await.1, json!({ "deleted": ["v2"] }));
    assert_eq!(send(&app, "DELETE", "/api/v1/trash", None).await.1, json!({ "deleted": [] }));
    assert_eq!(send(&app, "GET", "/api/v1/volumes/v1", None).await.0, 404);
}

#[tokio::test]
async fn every_resource_answers() {
    let app = app();
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1024 })).await;
    assert_eq!(post(&app, "/api/v1/volumes/v1/snapshots", json!({ "name": "monday" })).await.0, 201);
    let (status, clone) = post(&app, "/api/v1/volumes", json!({ "name": "v2", "source": "v1@monday" })).await;
    assert_eq!((status.as_u16(), &clone["source"]["name"]), (201, &json!("v1@monday")));
    let iqn = "iqn.1998-01.com.vmware:esx01";
    let (_, host) =
        post(&app, "/api/v1/hosts", json!({ "name": "esx01", "iqns": [iqn], "chap": { "user": "u" } })).await;
    assert_eq!(host["generated"]["chap_secret"].as_str().unwrap().len(), 16);
    assert_eq!(post(&app, "/api/v1/access", json!({ "volume": "v2", "host": "esx01", "lun": 9 })).await.0, 201);
    let (_, changed) =
        send(&app, "PATCH", "/api/v1/volumes/v2", Some(json!({ "size_bytes": 4096, "write_cache": true }))).await;
    assert_eq!((&changed["size_bytes"], &changed["write_cache"]), (&json!(4096), &json!(true)));
    let (_, changed) = send(&app, "PATCH", "/api/v1/hosts/esx01", Some(json!({ "remove_chap": true }))).await;
    assert_eq!(changed["chap"], Value::Null);
    for (path, items) in [
        ("/api/v1/pools", 1),
        ("/api/v1/volumes", 2),
        ("/api/v1/volumes/v1/snapshots", 1),
        ("/api/v1/snapshots", 1),
        ("/api/v1/hosts", 1),
        ("/api/v1/access?host=esx01", 1),
        ("/api/v1/access?host=any", 0),
        ("/api/v1/sessions", 0),
        ("/api/v1/portals", 1),
        ("/api/v1/offload/stats", 0),
        ("/api/v1/offload/log?limit=5", 0),
        (
            "/api/v1/offload/log?since=3&host=esx01&volume=v1&primitive=XCOPY&ending=refused&from=2026-01-01T00:00:00Z",
            0,
        ),
        ("/api/v1/offload/stats?by=client", 0),
        ("/api/v1/volumes/v1/offload", 0),
    ] {
        let (status, list) = send(&app, "GET", path, None).await;
        assert_eq!((status.as_u16(), list["items"].as_array().unwrap().len()), (200, items), "{path}");
    }
    let (_, host) = send(&app, "GET", "/api/v1/hosts/esx01", None).await;
    assert_eq!(host.get("generated"), None);
    for path in ["/api/v1/system", "/api/v1/pools/p0", "/api/v1/snapshots/v1@monday", "/health", "/api/v1/openapi.json"]
    {
        assert_eq!(send(&app, "GET", path, None).await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn bad_requests_are_refused_with_a_problem() {
    let app = app();
    for (method, path, body, status, code) in [
        (
            "POST",
            "/api/v1/volumes",
            Some(json!({ "name": "v1", "size_bytes": 512, "colour": "red" })),
            422,
            "invalid-request",
        ),
        ("POST", "/api/v1/volumes", Some(json!({ "name": "v1", "size_bytes": -1 })), 422, "invalid-request"),
        ("POST", "/api/v1/volumes", Some(json!({ "name": "v1", "size_bytes": 513 })), 422, "invalid-size"),
        ("POST", "/api/v1/volumes", Some(json!({ "name": "../v1", "size_bytes": 512 })), 422, "invalid-name"),
        ("POST", "/api/v1/volumes", None, 400, "invalid-request"),
        ("POST", "/api/v1/access", Some(json!({ "volume": "v1" })), 422, "invalid-request"),
        ("POST", "/api/v1/access", Some(json!({ "volume": "v1", "any": true })), 404, "not-found"),
        (
            "PATCH",
            "/api/v1/hosts/x",
            Some(json!({ "chap": { "user": "u" }, "remove_chap": true })),
            422,
            "invalid-request",
        ),
        ("GET", "/api/v1/offload/log?limit=many", None, 400, "invalid-request"),
        ("GET", "/api/v1/offload/log?newest=1", None, 400, "invalid-request"),
        ("GET", "/api/v1/offload/log?primitive=xcpoy", None, 400, "invalid-request"),
        ("GET", "/api/v1/offload/log?from=yesterday", None, 400, "invalid-request"),
        ("GET", "/api/v1/offload/log?host=nobody", None, 404, "not-found"),
        ("DELETE", "/api/v1/sessions/first", None, 400, "invalid-request"),
        ("DELETE", "/api/v1/sessions/7", None, 404, "not-found"),
        ("GET", "/api/v1/tapes", None, 404, "no-such-resource"),
        ("PUT", "/api/v1/volumes", None, 405, "method-not-allowed"),
        ("POST", "/api/v1/volumes", Some(json!({ "name": "x".repeat(70_000) })), 413, "invalid-request"),
    ] {
        let (found, problem) = send(&app, method, path, body).await;
        assert_eq!((found.as_u16(), problem["code"].as_str()), (status, Some(code)), "{method} {path} {problem}");
    }
    let request = Request::builder().method("POST").uri("/api/v1/volumes").body(Body::from("name=v1")).unwrap();
    assert_eq!(app.oneshot(request).await.unwrap().status(), 415);
}

#[tokio::test]
async fn a_stopped_array_is_unavailable() {
    let (array, requests) = reactor::ArrayHandle::channel();
    drop(requests);
    let (status, problem) = send(&super::unguarded(array, Arc::default()), "GET", "/api/v1/system", None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (503, Some("not-running")));
}

/// Polls a job until it has ended.
async fn ended(app: &Router, id: &Value) -> Value {
    loop {
        let (status, job) = send(app, "GET", &format!("/api/v1/jobs/{}", id.as_str().unwrap()), None).await;
        assert_eq!(status, 200);
        if job["state"] != "running" {
            return job;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn jobs_are_started_shown_and_cancelled() {
    let app = app();
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await;
    for (path, kind) in [
        ("/api/v1/volumes/v1/reclaim", "reclaim"),
        ("/api/v1/pools/p0/reclaim", "reclaim"),
        ("/api/v1/pools/p0/scrub", "scrub"),
        ("/api/v1/pools/p0/check", "check"),
    ] {
        let (status, job) = post(&app, path, json!({ "share_percent": 100 })).await;
        assert_eq!((status.as_u16(), &job["kind"]), (202, &json!(kind)), "{path}");
        let job = ended(&app, &job["id"]).await;
        assert_eq!(job["state"], "done", "{job}");
        assert!(job[kind].is_object(), "{job}");
        let (status, problem) =
            send(&app, "DELETE", &format!("/api/v1/jobs/{}", job["id"].as_str().unwrap()), None).await;
        assert_eq!((status.as_u16(), &problem["code"]), (409, &json!("job-ended")));
    }
    let (_, jobs) = send(&app, "GET", "/api/v1/jobs", None).await;
    assert_eq!(jobs["items"].as_array().unwrap().len(), 4);
    let (_, pool) = send(&app, "GET", "/api/v1/pools/p0", None).await;
    assert_eq!((&pool["scrub"]["bad_blocks"], &pool["check"]["count"]), (&json!(0), &json!(0)));
    assert_eq!(post(&app, "/api/v1/pools/p0/scrub", json!({ "share_percent": 0 })).await.0, 422);
    assert_eq!(post(&app, "/api/v1/pools/p9/scrub", json!({})).await.0, 404);
}

#[tokio::test]
async fn a_pool_has_limits_and_grows() {
    let app = app();
    let set = json!({ "commitment_limit_percent": 100, "warn_percent": 50 });
    let (status, pool) = send(&app, "PATCH", "/api/v1/pools/p0", Some(set)).await;
    assert_eq!(
        (status.as_u16(), &pool["warn_percent"], &pool["commitment_limit_percent"]),
        (200, &json!(50), &json!(100))
    );
    let create = json!({ "name": "v1", "size_bytes": 65_u64 << 30 });
    let (status, problem) = post(&app, "/api/v1/volumes", create).await;
    assert_eq!((status.as_u16(), &problem["code"]), (507, &json!("over-commitment")));
    assert_eq!((&problem["needed_bytes"], &problem["available_bytes"]), (&json!(65_u64 << 30), &json!(64_u64 << 30)));
    let (status, pool) = post(&app, "/api/v1/pools/p0/grow", json!({ "size_bytes": 80_u64 << 30 })).await;
    assert_eq!((status.as_u16(), &pool["size_bytes"]), (200, &json!(80_u64 << 30)));
    let (status, problem) = post(&app, "/api/v1/pools/p0/grow", json!({ "size_bytes": 512 })).await;
    assert_eq!((status.as_u16(), &problem["code"]), (409, &json!("cannot-grow")));
    assert_eq!(post(&app, "/api/v1/pools/p0/grow", json!({})).await.0, 422);
    let thick = json!({ "name": "v1", "size_bytes": 1 << 30, "reserve": "thick", "overwrite_reserve_percent": 10 });
    let (status, volume) = post(&app, "/api/v1/volumes", thick).await;
    assert_eq!(
        (status.as_u16(), &volume["reserve"], &volume["promised_bytes"]),
        (201, &json!("thick"), &json!(1 << 30))
    );
    let off = json!({ "reserve": "thin", "zero_detection": false, "warn_percent": 75 });
    let (_, volume) = send(&app, "PATCH", "/api/v1/volumes/v1", Some(off)).await;
    assert_eq!(
        (&volume["reserve"], &volume["zero_detection"], &volume["warn_percent"]),
        (&json!("thin"), &json!(false), &json!(75))
    );
    let (_, volume) = send(&app, "PATCH", "/api/v1/volumes/v1", Some(json!({ "warn_percent": 0 }))).await;
    assert_eq!(volume.get("warn_percent"), None);
    let (_, events) = send(&app, "GET", "/api/v1/events?limit=1000", None).await;
    let codes: Vec<&str> =
        events["items"].as_array().unwrap().iter().filter_map(|event| event["code"].as_str()).collect();
    assert_eq!(
        codes,
        ["array-started", "pool-changed", "pool-grown", "volume-created", "volume-changed", "volume-changed"]
    );
    let since = events["items"][2]["id"].to_string();
    let (_, later) = send(&app, "GET", &format!("/api/v1/events?since={since}&limit=1"), None).await;
    assert_eq!(later["items"][0]["code"], "volume-created");
    let (_, alerts) = send(&app, "GET", "/api/v1/alerts", None).await;
    assert_eq!(alerts["items"], json!([]));
}

#[tokio::test]
async fn snapshots_are_taken_together_returned_to_and_shown_as_a_tree() {
    let app = app();
    for name in ["v1", "v2"] {
        post(&app, "/api/v1/volumes", json!({ "name": name, "size_bytes": 1 << 20 })).await;
    }
    let group = json!({ "volumes": ["v1", "v2"], "name": "nightly" });
    let (status, taken) = post(&app, "/api/v1/snapshots", group.clone()).await;
    assert_eq!((status.as_u16(), &taken["items"][1]["volume"]), (201, &json!("v2")));
    assert_eq!(taken["items"][0]["group_id"], taken["items"][1]["group_id"]);
    let (status, refused) = post(&app, "/api/v1/snapshots", group).await;
    assert_eq!((status.as_u16(), &refused["code"]), (409, &json!("exists")));
    let again = post(&app, "/api/v1/volumes/v1/snapshots", json!({ "name": "nightly" })).await;
    assert_eq!((again.0.as_u16(), &again.1["code"]), (409, &json!("exists")));
    let clone = json!({ "name": "c", "source": "v1@nightly" });
    assert_eq!(post(&app, "/api/v1/volumes", clone.clone()).await.0, 201);
    let again = post(&app, "/api/v1/volumes", clone).await;
    assert_eq!((again.0.as_u16(), &again.1["code"]), (409, &json!("exists")));
    let (_, tree) = send(&app, "GET", "/api/v1/volumes/v1/tree", None).await;
    let names: Vec<&str> = tree["items"].as_array().unwrap().iter().filter_map(|node| node["name"].as_str()).collect();
    assert_eq!(names, ["v1", "v1@nightly", "c"]);
    let rollback = json!({ "snapshot": "nightly", "keep": "before" });
    assert_eq!(post(&app, "/api/v1/volumes/v1/rollback", rollback).await.0, 200);
    assert_eq!(send(&app, "GET", "/api/v1/snapshots/v1@before", None).await.0, 200);
    let (_, space) = send(&app, "GET", "/api/v1/volumes/v1/space", None).await;
    assert_eq!((&space["snapshot_bytes"], space["unmapped"]["kept"].as_array().unwrap().len()), (&json!(0), 2));
}

/// Registrations of two paths of one host, one of which holds the reservation.
fn reservations() -> Reservations {
    let registration = |target_port, holder| Registration {
        initiator: "iqn.1998-01.com.vmware:esx01".to_owned(),
        isid: 0x8000_0000_0001,
        target_port,
        key: 0x1122,
        holder,
    };
    Reservations {
        registrations: vec![registration(1, true), registration(9, false)],
        reservation_type: Some(ReservationType::WriteExclusiveRegistrantsOnly),
        persistent: true,
        generation: 7,
        reserved_by: None,
        conflicts: 5,
    }
}

#[tokio::test]
async fn registrations_say_who_and_with_which_key() {
    let app = super::unguarded(
        spawn(|_, live, _| {
            live.reservations.borrow_mut().insert(1, reservations());
            let reserved_by = Registration {
                initiator: "iqn.2026-01.org.example:other".to_owned(),
                isid: 1,
                target_port: 1,
                key: 0,
                holder: true,
            };
            let reserved = Reservations { reserved_by: Some(reserved_by), ..Reservations::default() };
            live.reservations.borrow_mut().insert(2, reserved);
        }),
        Arc::default(),
    );
    for name in ["v1", "v2", "v3"] {
        post(&app, "/api/v1/volumes", json!({ "name": name, "size_bytes": 1 << 20 })).await;
    }
    post(&app, "/api/v1/hosts", json!({ "name": "esx01", "iqns": ["iqn.1998-01.com.vmware:esx01"] })).await;
    let (status, shown) = send(&app, "GET", "/api/v1/volumes/v1/reservations", None).await;
    assert_eq!(status, 200);
    let kind = "write-exclusive-registrants-only";
    let row = |portal, group: Value, holder| {
        json!({
            "volume": "v1", "initiator": "iqn.1998-01.com.vmware:esx01", "isid": "800000000001", "host": "esx01",
            "portal_id": portal, "group": group, "key": "0x0000000000001122", "holder": holder,
            "reservation_type": if holder { json!(kind) } else { Value::Null },
        })
    };
    // The second portal no longer exists.
    let rows = json!([row(1, json!(1), true), row(9, Value::Null, false)]);
    assert_eq!(
        shown,
        json!({
            "volume": "v1", "reservation_type": kind, "generation": 7, "persistent": true, "conflicts": 5,
            "registrations": rows,
        })
    );
    let (_, all) = send(&app, "GET", "/api/v1/reservations", None).await;
    assert_eq!(all["items"].as_array().unwrap().len(), 3, "v3 has none");
    assert_eq!((&all["items"][0], &all["items"][1]), (&rows[0], &rows[1]));
    let reserve = &all["items"][2];
    assert_eq!(
        (&reserve["reservation_type"], &reserve["key"], &reserve["host"]),
        (&json!("reserve"), &Value::Null, &Value::Null)
    );
    let (_, none) = send(&app, "GET", "/api/v1/reservations?volume=v3", None).await;
    assert_eq!(none["items"], json!([]));
    let (_, empty) = send(&app, "GET", "/api/v1/volumes/v3/reservations", None).await;
    assert_eq!((&empty["reservation_type"], &empty["registrations"]), (&Value::Null, &json!([])));
    assert_eq!(send(&app, "GET", "/api/v1/volumes/v9/reservations", None).await.0, 404);
    assert_eq!(send(&app, "GET", "/api/v1/reservations?volume=v9", None).await.0, 404);
    let parts = [("/api/v1/reservations?limit=2", 2), ("/api/v1/reservations?limit=1&volume=v1", 1)];
    for (start, items) in parts {
        let first = send(&app, "GET", start, None).await.1;
        assert_eq!(first["items"].as_array().unwrap().len(), items, "{start}");
        let second = send(&app, "GET", first["next"].as_str().unwrap(), None).await.1;
        assert_eq!((second["items"].as_array().unwrap().len(), &second["next"]), (1, &Value::Null), "{start}");
    }
}

/// The life of a share: created, granted, taken a snapshot of, cloned, deleted.
#[tokio::test]
async fn shares_are_resources_like_volumes() {
    let app = app();
    let body = json!({ "name": "vms", "owner_uid": 1000, "owner_gid": 100, "mode": "2770", "protocols": ["v4"] });
    let (status, made) = post(&app, "/api/v1/shares", body.clone()).await;
    assert_eq!(status, 201);
    for (field, value) in [
        ("path", json!("/vms")),
        ("mode", json!("2770")),
        ("owner_uid", json!(1000)),
        ("protocols", json!(["v4"])),
        ("copy", json!("share")),
        ("mapped_bytes", json!(0)),
        ("shared_bytes", json!(0)),
        ("exports", json!([])),
    ] {
        assert_eq!(made[field], value, "{field}");
    }
    assert_eq!(made["fsid"].as_str().unwrap().len(), 16);
    assert_eq!(post(&app, "/api/v1/shares", body).await, (StatusCode::OK, made.clone()));
    assert_eq!(post(&app, "/api/v1/shares", json!({ "name": "vms" })).await.0, 409);
    let (status, taken) = post(&app, "/api/v1/shares/vms/snapshots", json!({ "name": "monday" })).await;
    assert_eq!((status.as_u16(), &taken["of_share"], &taken["size_bytes"]), (201, &json!(true), &json!(0)));
    let (status, clone) = post(&app, "/api/v1/shares", json!({ "name": "c1", "source": "vms@monday" })).await;
    assert_eq!(
        (status.as_u16(), &clone["source"]["name"], &clone["mode"]),
        (201, &json!("vms@monday"), &json!("2770"))
    );
    assert_ne!(clone["fsid"], made["fsid"]);
    let (status, _) = post(&app, "/api/v1/shares", json!({ "name": "c2", "source": "vms", "mode": "0700" })).await;
    assert_eq!(status, 422);
    let patch = json!({ "name": "machines", "protocols": ["v3", "v4"], "new_handles": true });
    let (_, changed) = send(&app, "PATCH", "/api/v1/shares/vms", Some(patch)).await;
    assert_eq!((&changed["path"], &changed["epoch"]), (&json!("/machines"), &json!(2)));
    let (status, rolled_back) =
        post(&app, "/api/v1/shares/machines/rollback", json!({ "snapshot": "monday", "keep": "before" })).await;
    assert_eq!((status.as_u16(), &rolled_back["snapshots"]), (200, &json!(2)));
    for (path, items) in [
        ("/api/v1/shares", 2),
        ("/api/v1/shares?limit=1", 1),
        ("/api/v1/shares/machines/snapshots", 2),
        ("/api/v1/snapshots", 2),
    ] {
        let list = send(&app, "GET", path, None).await.1;
        assert_eq!(list["items"].as_array().unwrap().len(), items, "{path}");
    }
    let (status, problem) = send(&app, "DELETE", "/api/v1/shares/machines", None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (409, Some("has-snapshots")));
    assert_eq!(send(&app, "DELETE", "/api/v1/shares/machines?with_snapshots=true&now=true", None).await.0, 204);
    assert_eq!(send(&app, "GET", "/api/v1/shares/machines", None).await.0, 404);
    let pools = send(&app, "GET", "/api/v1/pools", None).await.1;
    assert_eq!((&pools["items"][0]["shares"], &pools["items"][0]["provisioned_bytes"]), (&json!(1), &json!(0)));
}

#[tokio::test]
async fn what_a_share_cannot_be_is_refused() {
    let app = app();
    for (body, status, code) in [
        (json!({ "name": "vms", "quota_bytes": 1 }), 422, "invalid-quota"),
        (json!({ "name": "vms", "copy": "twice" }), 422, "invalid-request"),
        (json!({ "name": "vms", "mode": "0888" }), 422, "invalid-request"),
        (json!({ "name": "vms", "mode": "" }), 422, "invalid-request"),
        (json!({ "name": "vms", "mode": "77777777777777777777" }), 422, "invalid-request"),
        (json!({ "name": "vms", "mode": "10000" }), 422, "invalid-mode"),
        (json!({ "name": "vms", "protocols": [] }), 422, "no-protocol"),
        (json!({ "name": "vms", "protocols": ["v2"] }), 422, "invalid-request"),
        (json!({ "name": "vms", "source": "nothing" }), 404, "not-found"),
    ] {
        let (answered, problem) = post(&app, "/api/v1/shares", body.clone()).await;
        assert_eq!((answered.as_u16(), problem["code"].as_str()), (status, Some(code)), "{body}");
    }
    assert_eq!(send(&app, "GET", "/api/v1/shares", None).await.1["items"], json!([]));
}

/// The array in memory serves no files: requests for them get as far as its file systems.
#[tokio::test]
async fn requests_for_files_are_checked_and_reach_the_file_systems() {
    let app = app();
    post(&app, "/api/v1/shares", json!({ "name": "vms" })).await;
    let clone = json!({ "path": "dir/b", "source_file": "vms/a" });
    let both = json!({ "path": "b", "source_file": "vms/a", "source_volume": "v1" });
    let range = json!({ "offset_bytes": 0, "length_bytes": 4096 });
    let (files, file) = ("/api/v1/shares/vms/files", "/api/v1/shares/vms/files/dir%2Fa");
    for (method, path, body, status, code) in [
        ("GET", "/api/v1/shares/vms/files?path=dir&space=true&limit=1000", None, 409, "share-not-open"),
        ("GET", "/api/v1/shares/none/files", None, 404, "not-found"),
        ("GET", "/api/v1/shares/vms/files?limit=1001", None, 400, "invalid-request"),
        ("GET", "/api/v1/shares/vms/files?limit=0", None, 400, "invalid-request"),
        ("GET", "/api/v1/shares/vms/files?after=x", None, 400, "invalid-request"),
        ("GET", file, None, 409, "share-not-open"),
        ("GET", "/api/v1/nfs/clients", None, 409, "nfs-not-served"),
        ("GET", "/api/v1/nfs/clients?limit=0", None, 400, "invalid-request"),
        ("GET", "/api/v1/nfs/locks?after=x", None, 400, "invalid-request"),
        ("GET", "/api/v1/nfs/locks?share=none", None, 404, "not-found"),
        ("GET", "/api/v1/shares/vms/hosts/none", None, 404, "not-found"),
        ("POST", files, Some(clone.clone()), 409, "share-not-open"),
        ("POST", files, Some(json!({ "path": "b" })), 422, "invalid-request"),
        ("POST", files, Some(both), 422, "invalid-request"),
        ("POST", files, Some(json!({ "path": "b", "source_file": "vms/a", "owner_uid": 1 })), 422, "invalid-request"),
        ("POST", files, Some(json!({ "path": "b", "source_file": "vms/a", "mode": "9" })), 422, "invalid-request"),
        ("POST", files, Some(json!({ "path": "b", "source_volume": "v1", "mode": "10000" })), 422, "invalid-mode"),
        ("POST", files, Some(json!({ "path": "b", "source_volume": "v1" })), 409, "share-not-open"),
        ("PATCH", file, Some(json!({ "punch": range.clone() })), 409, "share-not-open"),
        ("PATCH", file, Some(json!({ "reserve": {} })), 409, "share-not-open"),
        ("PATCH", file, Some(json!({})), 422, "invalid-request"),
        ("PATCH", file, Some(json!({ "reserve": range.clone(), "punch": range })), 422, "invalid-request"),
        ("POST", "/api/v1/volumes", Some(json!({ "name": "v1", "source_file": "vms/a" })), 409, "share-not-open"),
        ("POST", "/api/v1/volumes", Some(json!({ "name": "v1", "source_file": "/a" })), 422, "invalid-path"),
    ] {
        let (answered, problem) = send(&app, method, path, body.clone()).await;
        assert_eq!((answered.as_u16(), problem["code"].as_str()), (status, Some(code)), "{method} {path} {body:?}");
    }
}

#[tokio::test]
async fn export_rules_are_granted_and_revoked() {
    let app = app();
    post(&app, "/api/v1/shares", json!({ "name": "vms" })).await;
    let host = json!({ "name": "pve1", "addresses": ["10.0.0.11", "fd00::11"] });
    let (status, host) = post(&app, "/api/v1/hosts", host).await;
    assert_eq!((status.as_u16(), &host["addresses"]), (201, &json!(["10.0.0.11", "fd00::11"])));
    post(&app, "/api/v1/host-groups", json!({ "name": "g", "hosts": ["pve1"] })).await;
    let exports = "/api/v1/shares/vms/exports";
    for (body, hosts, squash) in [
        (json!({ "any": true }), "any", "root"),
        (json!({ "host": "pve1", "read_only": true }), "pve1", "none"),
        (json!({ "group": "g", "squash": "all", "anonymous_uid": 1, "anonymous_gid": 2 }), "group:g", "all"),
        (json!({ "network": "10.0.0.0/24", "privileged_port": true }), "10.0.0.0/24", "root"),
    ] {
        let (status, export) = post(&app, exports, body.clone()).await;
        assert_eq!((status.as_u16(), &export["host"], &export["squash"]), (201, &json!(hosts), &json!(squash)));
        assert_eq!(post(&app, exports, body).await, (StatusCode::OK, export));
    }
    let hosts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|export| export["host"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["pve1", "group:g", "10.0.0.0/24", "any"];
    assert_eq!(hosts(&send(&app, "GET", exports, None).await.1["items"]), all);
    assert_eq!(hosts(&send(&app, "GET", "/api/v1/shares/vms", None).await.1["exports"]), all);
    assert_eq!(hosts(&send(&app, "GET", "/api/v1/exports?host=10.0.0.0/24", None).await.1["items"]), all[2..3]);
    for (body, code) in [
        (json!({}), "invalid-request"),
        (json!({ "any": true, "host": "pve1" }), "invalid-request"),
        (json!({ "network": "10.0.0.1/24" }), "invalid-request"),
        (json!({ "any": true, "anonymous_uid": 1 }), "invalid-request"),
        (json!({ "host": "nothing" }), "not-found"),
    ] {
        assert_eq!(post(&app, exports, body.clone()).await.1["code"], code, "{body}");
    }
    assert_eq!(send(&app, "DELETE", &format!("{exports}/10.0.0.0%2F24"), None).await.0, 204);
    assert_eq!(send(&app, "DELETE", &format!("{exports}/group:g"), None).await.0, 204);
    assert_eq!(send(&app, "DELETE", &format!("{exports}/group:g"), None).await.0, 404);
    let (status, problem) = send(&app, "DELETE", "/api/v1/shares/vms", None).await;
    assert_eq!((status.as_u16(), problem["users"].as_array().unwrap().len()), (409, 2));
    assert_eq!(send(&app, "DELETE", exports, None).await.0, 204);
    let set = json!({ "addresses": ["10.0.0.12"] });
    assert_eq!(send(&app, "PATCH", "/api/v1/hosts/pve1", Some(set)).await.1["addresses"], json!(["10.0.0.12"]));
    assert_eq!(send(&app, "DELETE", "/api/v1/shares/vms?now=true", None).await.0, 204);
}

#[tokio::test]
async fn schedules_pins_and_locks_are_resources() {
    let app = app();
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30, "labels": { "tier": "gold" } })).await;
    let create = json!({
        "name": "gold", "when": { "every": { "seconds": 900 } }, "label": { "tier": "gold" }, "keep": { "hourly": 24 },
        "zone": "Europe/Berlin"
    });
    let (status, made) = post(&app, "/api/v1/schedules", create).await;
    assert_eq!(status, 201);
    assert_eq!((&made["members"], &made["keep_last"], &made["keep"]["daily"]), (&json!(1), &json!(3), &json!(0)));
    let (status, ran) = post(&app, "/api/v1/schedules/gold/run", json!({})).await;
    assert_eq!(status, 200);
    assert_eq!((&ran["last"]["taken"], &ran["next"], &ran["snapshots"]), (&json!(1), &made["next"], &json!(1)));
    let snapshot = send(&app, "GET", "/api/v1/snapshots", None).await.1["items"][0].clone();
    assert_eq!((&snapshot["schedule"], &snapshot["pinned"]), (&json!("gold"), &json!(false)));
    let path = format!("/api/v1/snapshots/{}", snapshot["id"].as_str().unwrap());
    let pinned = post(&app, &format!("{path}/pin"), json!({ "pinned": true })).await.1;
    assert_eq!(pinned["pinned"], json!(true));
    let until = json!({ "until": "2027-01-31T00:00:00Z" });
    let locked = post(&app, &format!("{path}/lock"), until).await.1;
    assert_eq!(locked["locked_until"], json!("2027-01-31T00:00:00Z"));
    let (status, problem) = send(&app, "DELETE", &format!("{path}?now=true"), None).await;
    assert_eq!(status, 409);
    assert_eq!(problem["code"], "locked");
    let set = json!({ "when": { "weekly": { "day": 7, "minute": 180 } }, "label": {}, "volumes": ["v1"] });
    let changed = send(&app, "PATCH", "/api/v1/schedules/gold", Some(set)).await.1;
    assert_eq!((&changed["volumes"], &changed["label"]), (&json!(["v1"]), &json!({})));
    for (wrong, code) in [
        (json!({ "label": { "a": "1", "b": "2" } }), "invalid-request"),
        (json!({ "when": { "daily": { "minute": 1440 } } }), "invalid-setting"),
        (json!({ "zone": "Mars" }), "invalid-setting"),
    ] {
        let (status, problem) = send(&app, "PATCH", "/api/v1/schedules/gold", Some(wrong)).await;
        assert_eq!(status, 422);
        assert_eq!(problem["code"], code);
    }
    assert_eq!(send(&app, "DELETE", "/api/v1/schedules/gold", None).await.0, 204);
    assert_eq!(send(&app, "GET", "/api/v1/schedules/gold", None).await.0, 404);
}

#[tokio::test]
async fn a_volume_is_shared_again_with_another() {
    let app = app();
    for name in ["copy", "original"] {
        post(&app, "/api/v1/volumes", json!({ "name": name, "size_bytes": 1 << 30 })).await;
    }
    let path = "/api/v1/volumes/copy/reshare";
    let body = json!({ "with": "original", "offset_bytes": -8192, "compare_only": true });
    let (status, job) = post(&app, path, body).await;
    assert_eq!((status.as_u16(), &job["kind"]), (202, &json!("reshare")), "{job}");
    let job = ended(&app, &job["id"]).await;
    let report = &job["reshare"];
    assert_eq!((&job["state"], &report["with"]), (&json!("done"), &json!("original")), "{job}");
    assert_eq!((&report["offset_bytes"], &report["compare_only"]), (&json!(-8192), &json!(true)), "{job}");
    let (status, problem) = post(&app, path, json!({ "with": "copy" })).await;
    assert_eq!((status.as_u16(), &problem["code"]), (422, &json!("reshare-with-itself")));
    assert_eq!(problem["fields"][0]["field"], "with", "{problem}");
    assert_eq!(post(&app, path, json!({ "with": "original", "offset_bytes": 100 })).await.0, 422);
    assert_eq!(post(&app, path, json!({})).await.0, 422);
}
