//! The stored history over REST: it survives restarts of the array.

use super::{post, send};
use crate::http::unguarded_with;
use crate::memory::{TemporaryDirectory, spawn};
use crate::recording::Recording;
use axum::Router;
use control::{OffloadCounters, OffloadRow, Primitive, Reason};
use history::{Class, Kind, Observation, Observed, Value as Observable};
use pool::ObjectId;
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
        Self::with(directory, 0)
    }

    /// With this many COMPARE AND WRITE that a volume has received since the start.
    fn with(directory: &TemporaryDirectory, commands: u64) -> Self {
        let array = spawn(move |_, live, _| live.offload.replace(vec![offload(commands)]).clear());
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

/// Counters of the first volume.
fn offload(commands: u64) -> OffloadRow {
    let mut counters =
        OffloadCounters { commands, ok: commands, host_bytes_avoided: 4096, ..OffloadCounters::default() };
    counters.refusals.add(Reason::BelowGrain);
    OffloadRow { volume: ObjectId(1), name: "v1".to_owned(), primitive: Primitive::Ats, counters }
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

/// Counters of two runs, each from its start, are summed: a restart loses nothing and counts nothing twice.
#[tokio::test]
async fn offload_is_counted_over_restarts() {
    let directory = TemporaryDirectory::new();
    let totals = async |app: &Router| send(app, "GET", "/api/v1/offload/totals", None).await.1;
    let mut last = Value::Null;
    for (commands, expected) in [(5, 5), (7, 12)] {
        let recorded = Recorded::with(&directory, commands);
        let (status, made) =
            post(&recorded.app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await;
        assert_eq!(status, 201, "{made}");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            last = totals(&recorded.app).await;
            if last["all"][0]["commands"] == expected {
                break;
            }
            assert!(Instant::now() < deadline, "{last}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        recorded.stop().await;
    }
    let row = json!({
        "primitive": "ats", "commands": 12, "ok": 12, "refused": 0, "errors": 0, "bytes": 0, "host_bytes_avoided": 8192,
        "refusals": [{ "reason_code": "below-grain", "reason": Reason::BelowGrain.words(), "count": 2 }]
    });
    assert_eq!((&last["all"][0], &last["days_30"][0]), (&row, &row));
    let since: jiff::Timestamp = last["since"].as_str().unwrap().parse().unwrap();
    assert!(jiff::Timestamp::now().duration_since(since) < jiff::SignedDuration::from_mins(5));
    let app = super::app();
    let (status, problem) = send(&app, "GET", "/api/v1/offload/totals", None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (503, Some("history-unavailable")));
}

/// Ten whole days, on each of which the pool grew by 2 GiB; the pool of 64 GiB has 64 MiB in use.
#[tokio::test]
async fn a_forecast_needs_three_whole_days() {
    const DAY: i64 = 24 * 3600;
    let directory = TemporaryDirectory::new();
    let (recording, _reports) = Recording::start(directory.path(), LIMIT);
    let app = unguarded_with(spawn(|_, _, _| {}), Arc::default(), recording.clone());
    let (status, none) = send(&app, "GET", "/api/v1/pools/p0/forecast", None).await;
    assert_eq!((status.as_u16(), &none), (200, &json!({ "basis_days": 0 })));
    assert_eq!(send(&app, "GET", "/api/v1/pools/p9/forecast", None).await.0, 404);
    let today = jiff::Timestamp::now().as_second().div_euclid(DAY) * DAY;
    for day in (1..=10).rev() {
        let used = (10 - day) as f64 * (2_u64 << 30) as f64;
        for hour in 0..24 {
            let values = vec![Observable { column: "used_bytes", kind: Kind::Level, value: used }];
            let entities = vec![Observed { entity: "pool.p0".to_owned(), class: Class::Array, values }];
            let unix_seconds = today - day * DAY + hour * 3600;
            let observation = Observation { unix_seconds, interval_ms: 3_600_000, entities, units_are_cut: false };
            while !recording.observe(observation.clone()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let forecast = send(&app, "GET", "/api/v1/pools/p0/forecast", None).await.1;
        assert_eq!(forecast["basis_days"], 11 - day);
        assert_eq!(forecast["slope_bytes_per_day"].is_null(), day > 8, "{forecast}");
    }
    let forecast = send(&app, "GET", "/api/v1/pools/p0/forecast", None).await.1;
    assert_eq!(forecast["slope_bytes_per_day"]["mid"].as_i64().unwrap() >> 20, 2 << 10, "{forecast}");
    let days = |field: &str| {
        let at: jiff::Timestamp = forecast[field].as_str().unwrap().parse().unwrap();
        at.duration_since(jiff::Timestamp::now()).as_hours() / 24
    };
    assert_eq!((days("warn_at"), days("critical_at"), days("full_at")), (25, 28, 31), "{forecast}");
}

/// Regression: the list of what could be deleted did not say whether hosts had used a volume lately that is granted to
/// nobody.
#[tokio::test]
async fn the_last_use_of_what_is_granted_to_nobody_is_that_of_the_history() {
    let directory = TemporaryDirectory::new();
    let (recording, _reports) = Recording::start(directory.path(), LIMIT);
    let app = unguarded_with(spawn(|_, _, _| {}), Arc::default(), recording.clone());
    let mut ids = Vec::new();
    for name in ["v1", "v2"] {
        let (status, made) = post(&app, "/api/v1/volumes", json!({ "name": name, "size_bytes": 1 << 30 })).await;
        assert_eq!(status, 201, "{made}");
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let used = async || {
        let frees = send(&app, "GET", "/api/v1/pools/p0/frees?sort=name", None).await.1;
        let items = frees["items"].as_array().unwrap().clone();
        items.into_iter().map(|item| (item["name"].clone(), item["last_used"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(used().await, [(json!("v1"), Value::Null), (json!("v2"), Value::Null)]);
    let at: jiff::Timestamp = "2026-05-04T12:00:00Z".parse().unwrap();
    let values = vec![Observable { column: "read_ops", kind: Kind::Rate, value: 3.0 }];
    let entities = vec![Observed { entity: format!("volume.{}", ids[0]), class: Class::Unit, values }];
    let observation =
        Observation { unix_seconds: at.as_second() + 7, interval_ms: 1000, entities, units_are_cut: false };
    assert!(recording.observe(observation));
    assert_eq!(used().await, [(json!("v1"), json!("2026-05-04T12:00:00Z")), (json!("v2"), Value::Null)]);
    // Without a history the list is the same, but for this.
    let app = super::app();
    assert_eq!(post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await.0, 201);
    let frees = send(&app, "GET", "/api/v1/pools/p0/frees", None).await.1;
    assert_eq!((&frees["items"][0]["name"], &frees["items"][0]["last_used"]), (&json!("v1"), &Value::Null), "{frees}");
}
