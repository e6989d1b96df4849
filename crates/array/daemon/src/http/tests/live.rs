//! The live stream, samples and series.

use super::{post, send};
use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower::ServiceExt;

/// Open stream.
struct Live {
    body: BodyDataStream,
    text: String,
    events: VecDeque<(String, String, Value)>,
}

async fn open(app: &Router, query: &str, last: Option<&str>) -> Result<Live, u16> {
    let mut request = Request::builder().uri(format!("/api/v1/live{query}"));
    if let Some(last) = last {
        request = request.header("Last-Event-ID", last);
    }
    let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    if response.status() != 200 {
        return Err(response.status().as_u16());
    }
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    Ok(Live { body: response.into_body().into_data_stream(), text: String::new(), events: VecDeque::new() })
}

impl Live {
    /// Name, id and data of the next event; `None` at the end.
    async fn next(&mut self) -> Option<(String, String, Value)> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let bytes = tokio::time::timeout(Duration::from_secs(10), self.body.next()).await.unwrap()?.unwrap();
            self.text += std::str::from_utf8(&bytes).unwrap();
            while let Some((event, rest)) = self.text.clone().split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().trim().to_owned()
                };
                if !field("event:").is_empty() {
                    let data = serde_json::from_str(&field("data:")).unwrap();
                    self.events.push_back((field("event:"), field("id:"), data));
                }
                self.text = rest.to_owned();
            }
        }
    }

    /// Id and data of the next event with this name.
    async fn find(&mut self, name: &str) -> (String, Value) {
        loop {
            let (found, id, data) = self.next().await.unwrap();
            if found == name {
                return (id, data);
            }
        }
    }
}

/// The whole management plane with samples.
fn sampled() -> Router {
    let array = crate::memory::spawn(|_, _, _| {});
    tokio::spawn(array.clone().follow());
    crate::http::unguarded(array, Arc::default())
}

#[tokio::test]
async fn a_stream_has_samples_changes_and_events() {
    let app = sampled();
    let mut live = open(&app, "?topics=array+changes+events", None).await.unwrap();
    let (_, hello) = live.find("hello").await;
    assert_eq!(hello["version"], crate::VERSION);
    let (_, sample) = live.find("sample").await;
    assert_eq!((sample["array"]["ro"].as_u64(), sample["array"].get("p99")), (Some(0), None));
    let made = post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await.1;
    let (id, change) = live.find("change").await;
    assert_eq!((&change["kind"], &change["op"], &change["id"]), (&json!("volume"), &json!("put"), &made["id"]));
    assert_eq!(change["rev"].as_u64(), Some(hello["revision"].as_u64().unwrap() + 1));
    let (_, event) = live.find("event").await;
    assert_eq!(event["code"], "volume-created");
    drop(live);
    send(&app, "DELETE", "/api/v1/volumes/v1", None).await;
    // A client that connects again gets what it missed.
    let mut again = open(&app, "?topics=changes+events", Some(&id)).await.unwrap();
    assert_eq!(again.find("hello").await.1["revision"], change["rev"]);
    assert_eq!(again.find("change").await.1["op"], "deleted");
    let codes = [again.find("event").await.1["code"].clone(), again.find("event").await.1["code"].clone()];
    assert_eq!(codes, ["volume-created", "volume-deleted"]);
    // Even if it got nothing but the greeting, whose id goes on where it was.
    let mut greeted = open(&app, "?topics=changes+events", None).await.unwrap();
    let (id, _) = greeted.find("hello").await;
    drop(greeted);
    post(&app, "/api/v1/volumes", json!({ "name": "v2", "size_bytes": 1 << 30 })).await;
    let mut again = open(&app, "?topics=changes+events", Some(&id)).await.unwrap();
    assert_eq!(again.find("hello").await.0, id);
    assert_eq!(again.find("change").await.1["op"], "put");
    assert_eq!(again.find("event").await.1["code"], "volume-created");
    // Events that the array does not have are missed, too.
    let (known, _) = id.rsplit_once('.').unwrap();
    let mut future = open(&app, "?topics=events", Some(&format!("{known}.99999999"))).await.unwrap();
    let (id, lagged) = future.find("lagged").await;
    assert_eq!((id.split('.').count(), &lagged["from"]), (3, &hello_revision(known)));
    // One from another run of the array is told to read everything again.
    for foreign in ["17.3.4", "", "nonsense", "1.2.3.4"] {
        let mut other = open(&app, "?topics=changes", Some(foreign)).await.unwrap();
        assert_eq!(other.next().await.unwrap().0, "hello", "{foreign}");
        let (name, id, _) = other.next().await.unwrap();
        assert_eq!((name.as_str(), id.split('.').count()), ("lagged", 3), "{foreign}");
    }
}

/// Revision in the beginning of an id.
fn hello_revision(known: &str) -> Value {
    json!(known.split('.').nth(1).and_then(|revision| revision.parse::<u64>().ok()))
}

#[tokio::test]
async fn topics_of_a_stream_can_be_changed() {
    let app = sampled();
    let made = post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await.1;
    let id = made["id"].as_str().unwrap();
    let mut live = open(&app, "?topics=array", None).await.unwrap();
    let stream = live.find("hello").await.1["stream"].clone();
    assert!(live.find("sample").await.1.get("volumes").is_none());
    let path = format!("/api/v1/live/{stream}/topics");
    let body = json!({ "topics": format!("volumes:{id}") });
    assert_eq!(send(&app, "PUT", &path, Some(body.clone())).await.0, 204);
    let sample = loop {
        let (_, sample) = live.find("sample").await;
        if sample.get("volumes").is_some() {
            break sample;
        }
    };
    assert_eq!((sample.get("array"), &sample["volumes"][id]["mapped"]), (None, &json!(0)));
    assert_eq!(send(&app, "PUT", &path, Some(json!({ "topics": "weather" }))).await.0, 400);
    drop(live);
    assert_eq!(send(&app, "PUT", &path, Some(body)).await.0, 404);
}

#[tokio::test]
async fn busiest_volumes_and_alerts_come_with_their_topics() {
    let array = crate::memory::spawn(|_, live, _| {
        live.stopped.replace(Some("the disk is gone".to_owned()));
    });
    tokio::spawn(array.clone().follow());
    let app = crate::http::unguarded(array, Arc::default());
    let mut live = open(&app, "?topics=array+alerts", None).await.unwrap();
    let stream = live.find("hello").await.1["stream"].clone();
    assert_eq!(live.find("alert").await.1["code"], "pool-stopped");
    assert_eq!(live.find("sample").await.1.get("busiest"), None);
    let path = format!("/api/v1/live/{stream}/topics");
    let set = async |topics: &str| send(&app, "PUT", &path, Some(json!({ "topics": topics }))).await.0;
    assert_eq!(set("busiest").await, 204);
    while live.find("sample").await.1.get("busiest") != Some(&json!([])) {}
    // What is active is news again for a client that comes back to the topic.
    assert_eq!(set("alerts").await, 204);
    assert_eq!(live.find("alert").await.1["code"], "pool-stopped");
    for (query, status) in [("", 200), ("?busiest=60", 200), ("?busiest=61", 400), ("?busiest=x", 400)] {
        let (found, sample) = send(&app, "GET", &format!("/api/v1/samples/latest{query}"), None).await;
        assert_eq!((found.as_u16(), sample["busiest"].is_array()), (status, status == 200), "{query}: {sample}");
    }
}

#[tokio::test]
async fn further_streams_are_refused_and_all_end_when_the_array_stops() {
    let array = crate::memory::spawn(|_, _, _| {});
    tokio::spawn(array.clone().follow());
    let streams = Arc::default();
    let app = crate::http::unguarded(array, Arc::clone(&streams));
    let mut open_streams = Vec::new();
    for _ in 0..64 {
        open_streams.push(open(&app, "?topics=array", None).await.unwrap());
    }
    for _ in 0..500 {
        assert_eq!(open(&app, "?topics=array", None).await.err(), Some(429));
    }
    assert_eq!(open(&app, "?topics=weather", None).await.err(), Some(400));
    open_streams.pop();
    open_streams.push(open(&app, "?topics=array", None).await.unwrap());
    // The others do not read meanwhile.
    assert_eq!(send(&app, "GET", "/api/v1/system", None).await.0, 200);
    streams.stop();
    for mut live in open_streams {
        assert_eq!(live.find("bye").await.1["why"], "stopping");
        assert_eq!(live.next().await, None);
    }
}

#[tokio::test]
async fn series_have_points_and_unknown_ones_are_refused() {
    let app = sampled();
    let list = send(&app, "GET", "/api/v1/history/series", None).await.1;
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"array.latency_p99") && names.contains(&"primitive.xcopy.bytes"));
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await;
    for name in names.chunks(30) {
        let all = name.join(",").replace("volume.ID", "volume.v1");
        // Mapped bytes and pools are in the stored history alone.
        let is_sampled = |name: &&str| !name.starts_with("share.") && !name.starts_with("pool.");
        let all: Vec<&str> = all.split(',').filter(is_sampled).filter(|name| !name.ends_with("mapped_bytes")).collect();
        if all.is_empty() {
            continue;
        }
        let (status, history) = send(&app, "GET", &format!("/api/v1/history?series={}", all.join(",")), None).await;
        assert_eq!((status.as_u16(), history["series"].as_array().unwrap().len()), (200, all.len()));
    }
    let series = "/api/v1/history?series=array.read_ops&points=10";
    let history = send(&app, "GET", series, None).await.1;
    assert_eq!((history["step_seconds"].as_u64(), history["series"][0]["unit"].as_str()), (Some(60), Some("1/s")));
    assert!(history["series"][0]["average"].as_array().unwrap().len() <= 10);
    let deadline = Instant::now() + Duration::from_secs(60);
    let points = loop {
        let points = send(&app, "GET", series, None).await.1["series"][0]["average"].clone();
        if points.as_array().unwrap().last() == Some(&json!(0.0)) {
            break points;
        }
        assert!(Instant::now() < deadline, "{points}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(points[0], Value::Null, "nothing is known before the start");
    for refused in ["weather", "array.wind", "primitive.xcopy.read_ops", "array.read_ops&points=0", "", "a&from=2"] {
        let (status, _) = send(&app, "GET", &format!("/api/v1/history?series={refused}"), None).await;
        assert_eq!(status, 400, "{refused}");
    }
    let many = vec!["array.read_ops"; 33].join(",");
    assert_eq!(send(&app, "GET", &format!("/api/v1/history?series={many}"), None).await.0, 400);
    let (status, _) = send(&app, "GET", "/api/v1/history?series=volume.nothing.read_ops", None).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_host_that_connects_is_followed_without_being_asked_for() {
    let app = sampled();
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await;
    post(&app, "/api/v1/hosts", json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] })).await;
    let mut live = open(&app, "?topics=connect:h1,v1+connect:nobody", None).await.unwrap();
    let (_, state) = live.find("connect").await;
    assert_eq!((&state["host"], &state["volume"], &state["lun"]), (&json!("h1"), &json!("v1"), &Value::Null));
    post(&app, "/api/v1/access", json!({ "volume": "v1", "host": "h1", "lun": 4 })).await;
    // What has not changed is not sent again: the next one has the grant.
    assert_eq!(live.find("connect").await.1["lun"], 4);
}
