//! `ETag` and `If-Match`.

use super::{app, post, send};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// Sends a request with conditions. Returns status, tag and body.
async fn ask(app: &Router, method: &str, path: &str, tags: &[&str], body: Value) -> (u16, Option<String>, Value) {
    let mut request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    for tag in tags {
        request = request.header(header::IF_MATCH, *tag);
    }
    let response = app.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
    let tag = response.headers().get(header::ETAG).map(|tag| tag.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, tag, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn with_objects() -> Router {
    let app = app();
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await;
    post(&app, "/api/v1/shares", json!({ "name": "s1" })).await;
    post(&app, "/api/v1/hosts", json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] })).await;
    post(&app, "/api/v1/host-groups", json!({ "name": "g1", "hosts": [] })).await;
    let schedule = json!({ "name": "nightly", "when": { "daily": { "minute": 120 } }, "volumes": ["v1"], "keep": {} });
    post(&app, "/api/v1/schedules", schedule).await;
    post(&app, "/api/v1/qos-policies", json!({ "name": "bronze", "iops": 2000 })).await;
    app
}

#[tokio::test]
async fn the_second_of_two_administrators_is_told_what_the_first_changed() {
    let app = with_objects().await;
    for (path, first, second) in [
        ("/api/v1/volumes/v1", json!({ "write_cache": true }), json!({ "write_cache": false })),
        ("/api/v1/shares/s1", json!({ "quota_bytes": 1 << 30 }), json!({ "quota_bytes": 0 })),
        ("/api/v1/hosts/h1", json!({ "addresses": ["192.0.2.1"] }), json!({ "addresses": [] })),
        ("/api/v1/host-groups/g1", json!({ "add": ["h1"] }), json!({ "remove": ["h1"] })),
        ("/api/v1/schedules/nightly", json!({ "keep_last": 5 }), json!({ "paused": true })),
        ("/api/v1/qos-policies/bronze", json!({ "iops": 3000 }), json!({ "weight": 200 })),
    ] {
        let (_, known, _) = ask(&app, "GET", path, &[], Value::Null).await;
        let known = known.unwrap_or_else(|| panic!("{path} has no tag"));
        let (status, changed, body) = ask(&app, "PATCH", path, &[&known], first).await;
        assert_eq!(status, 200, "{path}: {body}");
        let (status, _, problem) = ask(&app, "PATCH", path, &[&known], second.clone()).await;
        assert_eq!((status, problem["code"].as_str()), (412, Some("changed-meanwhile")), "{path}");
        let (_, present, object) = ask(&app, "GET", path, &[], Value::Null).await;
        assert_eq!((&present, &problem["present"]), (&changed, &object), "{path}: nothing was changed");
        let (status, _, problem) = ask(&app, "DELETE", path, &[&known], Value::Null).await;
        assert_eq!((status, &problem["present"]), (412, &object), "{path}");
        let (status, ..) = ask(&app, "PATCH", path, &["\"other\"", &present.unwrap()], second).await;
        assert_eq!(status, 200, "{path}: one of the tags is that of the object");
    }
}

#[tokio::test]
async fn a_change_without_a_condition_or_with_a_star_is_made() {
    let app = with_objects().await;
    let path = "/api/v1/volumes/v1";
    for tags in [&[][..], &["*"]] {
        assert_eq!(ask(&app, "PATCH", path, tags, json!({ "zero_detection": false })).await.0, 200);
    }
    for malformed in ["", "tag", "\"", "\"a\", b", "\"a"] {
        let (status, _, problem) = ask(&app, "PATCH", path, &[malformed], json!({ "write_cache": true })).await;
        assert_eq!((status, problem["code"].as_str()), (400, Some("invalid-request")), "{malformed}");
    }
    let (_, tag, _) = ask(&app, "GET", path, &[], Value::Null).await;
    let weak = format!("W/{}", tag.unwrap());
    assert_eq!(ask(&app, "PATCH", path, &[&weak], json!({ "write_cache": true })).await.0, 412);
    let (status, _, problem) = ask(&app, "PATCH", "/api/v1/volumes/none", &["\"a\""], json!({})).await;
    assert_eq!((status, problem["code"].as_str()), (404, Some("not-found")));
    assert_eq!(send(&app, "DELETE", path, None).await.0, 200);
}

/// Roll-backs and deletions of snapshots ignored the condition.
#[tokio::test]
async fn content_is_rolled_back_and_snapshots_are_deleted_only_as_the_client_knows_them() {
    let app = with_objects().await;
    let known = async |path: &str| ask(&app, "GET", path, &[], Value::Null).await.1.unwrap();
    for (path, change) in [
        ("/api/v1/volumes/v1", json!({ "size_bytes": 2_u64 << 30 })),
        ("/api/v1/shares/s1", json!({ "quota_bytes": 1 << 30 })),
    ] {
        post(&app, &format!("{path}/snapshots"), json!({ "name": "monday" })).await;
        let before = known(path).await;
        assert_eq!(send(&app, "PATCH", path, Some(change)).await.0, 200);
        let (rollback, body) = (format!("{path}/rollback"), json!({ "snapshot": "monday", "keep": "kept" }));
        let (status, _, problem) = ask(&app, "POST", &rollback, &[&before], body.clone()).await;
        let present = ask(&app, "GET", path, &[], Value::Null).await;
        assert_eq!((status, problem["code"].as_str()), (412, Some("changed-meanwhile")), "{path}");
        assert_eq!(problem["present"], present.2, "{path}: nothing was changed");
        let present = present.1.unwrap();
        let (status, tag, problem) = ask(&app, "POST", &rollback, &[&present], body).await;
        assert_eq!((status, &tag), (200, &Some(known(path).await)), "{path}: {problem}");
        assert_ne!(tag, Some(present), "{path}: it has other content");
    }
    let path = "/api/v1/snapshots/v1@monday";
    let tag = known(path).await;
    assert_eq!(ask(&app, "DELETE", path, &["\"other\""], Value::Null).await.0, 412);
    assert_eq!(ask(&app, "DELETE", path, &[&tag], Value::Null).await.0, 200);
}

/// Grants, usage and changes of other objects leave the tag as it is.
#[tokio::test]
async fn only_changes_of_the_object_itself_change_its_tag() {
    let app = with_objects().await;
    let path = "/api/v1/volumes/v1";
    let tag = async || ask(&app, "GET", path, &[], Value::Null).await.1.unwrap();
    let before = tag().await;
    post(&app, "/api/v1/access", json!({ "volume": "v1", "host": "h1" })).await;
    post(&app, "/api/v1/volumes", json!({ "name": "v2", "size_bytes": 1 << 30 })).await;
    post(&app, "/api/v1/volumes/v1/snapshots", json!({ "name": "monday" })).await;
    send(&app, "PATCH", path, Some(json!({ "write_cache": false }))).await;
    assert_eq!(tag().await, before);
    post(&app, "/api/v1/volumes/v1/rollback", json!({ "snapshot": "monday" })).await;
    let rolled_back = tag().await;
    send(&app, "PATCH", path, Some(json!({ "size_bytes": 2_u64 << 30 }))).await;
    assert!(rolled_back != before && tag().await != rolled_back);
}

/// A run changes the record of its schedule, and nothing of what the client has to know.
#[tokio::test]
async fn a_run_of_a_schedule_does_not_change_its_tag() {
    let app = with_objects().await;
    let path = "/api/v1/schedules/nightly";
    let (_, known, before) = ask(&app, "GET", path, &[], Value::Null).await;
    let (status, _, ran) = ask(&app, "POST", &format!("{path}/run"), &[], Value::Null).await;
    assert_eq!(status, 200, "{ran}");
    let (_, after, present) = ask(&app, "GET", path, &[], Value::Null).await;
    assert_ne!(before["last"], present["last"]);
    assert_eq!(known, after);
    assert_eq!(ask(&app, "PATCH", path, &[&known.unwrap()], json!({ "keep_last": 4 })).await.0, 200);
}
