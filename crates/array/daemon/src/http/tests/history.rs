//! The stored history over REST: it survives restarts of the array.

use super::{post, send};
use crate::http::unguarded_with;
use crate::memory::{TemporaryDirectory, spawn};
use crate::recording::Recording;
use axum::Router;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

const LIMIT: u64 = 256 << 20;

/// An array in memory that records, and its end.
struct Recorded {
    app: Router,
    stop: oneshot::Sender<()>,
    fed: tokio::task::JoinHandle<()>,
}

impl Recorded {
    fn start(directory: &TemporaryDirectory) -> Self {
        let array = spawn(|_, _, _| {});
        tokio::spawn(array.clone().follow());
        let (recording, reports) = Recording::start(directory.path(), LIMIT);
        let (stop, stops) = oneshot::channel();
        let fed = tokio::spawn(crate::recording::feed(recording.clone(), array.clone(), reports, stops));
        Self { app: unguarded_with(array, Arc::default(), recording), stop, fed }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.fed.await.unwrap();
    }
}

/// Values of a series over the last hour.
async fn hour(app: &Router, series: &str) -> Vec<Value> {
    let from = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let (status, history) = send(app, "GET", &format!("/api/v1/history?series={series}&from={from}"), None).await;
    assert_eq!(status, 200, "{history}");
    history["series"][0]["average"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_history_survives_the_array() {
    let directory = TemporaryDirectory::new();
    let recorded = Recorded::start(&directory);
    let app = &recorded.app;
    assert_eq!(post(app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await.0, 201);
    let deadline = Instant::now() + Duration::from_secs(60);
    while hour(app, "pool.p0.size_bytes").await.last().is_none_or(Value::is_null) {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let points = hour(app, "array.read_ops").await;
    assert_eq!((points.last(), points.first()), (Some(&json!(0.0)), Some(&Value::Null)), "{points:?}");
    // An idle volume has no reads since it was created, and no latency.
    assert_eq!(hour(app, "volume.v1.read_ops").await.last(), Some(&json!(0.0)));
    assert_eq!(hour(app, "volume.v1.latency_p50").await.last(), Some(&Value::Null));
    recorded.stop().await;

    let recorded = Recorded::start(&directory);
    let known = hour(&recorded.app, "pool.p0.size_bytes").await;
    assert!(known.iter().any(|value| !value.is_null()), "{known:?}");
    let list = send(&recorded.app, "GET", "/api/v1/history/series", None).await.1;
    let since = |name: &str| {
        let items = list["items"].as_array().unwrap();
        items.iter().find(|item| item["name"] == name).unwrap()["since"].clone()
    };
    assert!(since("pool.p0.size_bytes").is_string() && since("volume.ID.read_ops").is_null());
    recorded.stop().await;
}

#[tokio::test]
async fn without_a_history_only_the_last_minutes_are_known() {
    let app = super::app();
    let long = "/api/v1/history?series=array.read_ops&from=2026-01-01T00:00:00Z";
    let (status, problem) = send(&app, "GET", long, None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (503, Some("history-unavailable")));
    assert_eq!(send(&app, "GET", "/api/v1/history?series=array.read_ops", None).await.0, 200);
    assert_eq!(send(&app, "GET", "/api/v1/history?series=pool.p1.used_bytes", None).await.0, 400);
    let future = "/api/v1/history?series=pool.p0.used_bytes&from=2096-01-01T00:00:00Z";
    assert_eq!(send(&app, "GET", future, None).await.0, 400);
}
