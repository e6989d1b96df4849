//! Reads that no change delays.

use super::post;
use crate::http::{unguarded, unguarded_with};
use crate::memory::{TemporaryDirectory, spawn};
use crate::recording::Recording;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use control::memory::live::MemoryNfs;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

/// Status of the answer to a request without a body.
async fn status(app: &Router, method: &str, path: &str) -> u16 {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap().status().as_u16()
}

/// Every GET of the API description, except of files and of the NFS server, is answered while the reactor takes no
/// request.
#[tokio::test]
async fn every_get_is_answered_without_a_request_to_the_reactor() {
    let array = spawn(|_, live, _| drop(live.nfs.replace(Some(MemoryNfs::default()))));
    let app = unguarded(array.clone(), Arc::default());
    let host = json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] });
    let schedule = json!({ "name": "gold", "when": { "daily": { "minute": 120 } }, "volumes": ["v1"] });
    for (path, body, status) in [
        ("/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 20 }), 201),
        ("/api/v1/snapshots", json!({ "volumes": ["v1"], "name": "monday" }), 201),
        ("/api/v1/shares", json!({ "name": "s1" }), 201),
        ("/api/v1/hosts", host, 201),
        ("/api/v1/host-groups", json!({ "name": "g1", "hosts": [] }), 201),
        ("/api/v1/schedules", schedule, 201),
        ("/api/v1/qos-policies", json!({ "name": "bronze", "iops": 2000 }), 201),
    ] {
        let (found, answer) = post(&app, path, body).await;
        assert_eq!(found.as_u16(), status, "{path}: {answer}");
    }
    let (found, job) = post(&app, "/api/v1/pools/p0/scrub", json!({})).await;
    assert!(found.is_success(), "{job}");
    let job = job["id"].as_str().unwrap_or_default().to_owned();

    let directory = TemporaryDirectory::new();
    let (recording, _reports) = Recording::start(directory.path(), 256 << 20);
    let app = unguarded_with(array.without_changes(), Arc::default(), recording);
    assert_eq!(status(&app, "DELETE", "/api/v1/volumes/v1").await, 503);
    let description: Value = serde_json::from_str(&crate::openapi_json()).unwrap();
    let mut answered = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        // Files are in no mirror: the file system of the share looks them up. Neither is what the NFS server knows
        // of its clients and rules, which is listed on demand.
        let of_server = path.starts_with("/api/v1/nfs/") || path == "/api/v1/shares/{share}/hosts/{host}";
        // Users, channels, the audit and the laboratory are no part of the array. An examination, the configuration and
        // bundles have people, too.
        let tags = ["people", "notification", "configuration", "support", "lab"];
        let of_plane = tags.iter().any(|tag| operations["get"]["tags"] == json!([tag]));
        let of_plane = of_plane || path == "/api/v1/doctor";
        if operations.get("get").is_none() || path.contains("/files") || of_server || of_plane {
            continue;
        }
        let group = if path.starts_with("/api/v1/portal-groups") { "1" } else { "g1" };
        let path = path.replace("{volume}", "v1").replace("{snapshot}", "v1@monday").replace("{host}", "h1");
        let path = path.replace("{group}", group).replace("{pool}", "p0").replace("{portal}", "1");
        let path = path.replace("{job}", &job).replace("{share}", "s1").replace("{schedule}", "gold");
        let path = path.replace("{policy}", "bronze");
        let path = path.replace("{code}", "in-use");
        let query = match path.as_str() {
            "/api/v1/connect/plan" => "?system=esxi&host=h1&volume=v1",
            "/api/v1/connect/state" => "?host=h1&volume=v1",
            "/api/v1/live" => "?topics=array",
            "/api/v1/search" => "?q=v",
            "/api/v1/history" => "?series=array.read_ops",
            _ => "",
        };
        assert_eq!(status(&app, "GET", &format!("{path}{query}")).await, 200, "{path}");
        answered += 1;
    }
    assert!(answered >= 28, "{answered} GETs");
}
