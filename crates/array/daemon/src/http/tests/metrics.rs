//! Scrapes: what they name, their formats and their sizes.

use super::post;
use crate::memory::spawn;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use control::{
    ConnectionCounters, IoLatency, IoStatistics, LatencyHistogram, OffloadCounters, OffloadRow, Primitive, Reason,
    SessionInfo, SessionParameters, SessionSeen, VolumeCounters,
};
use http_body_util::BodyExt;
use jiff::Timestamp;
use pool::ObjectId;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tower::ServiceExt;

/// Content type and text of a scrape.
async fn scrape(app: &Router, path: &str, accept: Option<&str>) -> (String, String) {
    let request = Request::builder().uri(path).header("Accept", accept.unwrap_or("*/*")).body(Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    let body = response.into_body().collect().await.unwrap().to_bytes().to_vec();
    (content_type, String::from_utf8(body).unwrap())
}

fn samples(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#')).count()
}

#[tokio::test]
async fn metrics_name_what_there_is() {
    let histogram = || {
        let mut histogram = LatencyHistogram::default();
        [5, 200, 200, 1 << 27].into_iter().for_each(|us| histogram.record(us * 1000));
        histogram.sum_ns = 2_000_000;
        histogram
    };
    let app = crate::http::unguarded(
        spawn(move |_, live, _| {
            let mut counters = OffloadCounters {
                commands: 4,
                ok: 3,
                refused: 1,
                bytes: 4096,
                host_bytes_avoided: 8192,
                cloned_bytes: 4096,
                deallocated_bytes: 1024,
                unaligned_bytes: 512,
                latency: histogram(),
                ..OffloadCounters::default()
            };
            counters.refusals.add(Reason::Misaligned);
            (0..2).for_each(|_| counters.ineffective.add(Reason::BelowGrain));
            let row = OffloadRow { volume: ObjectId(1), name: "v1".to_owned(), primitive: Primitive::Xcopy, counters };
            let counters = OffloadCounters { commands: 2, ok: 2, cloned_bytes: 8192, ..OffloadCounters::default() };
            let clones =
                OffloadRow { volume: ObjectId(2), name: "s1".to_owned(), primitive: Primitive::Clone, counters };
            live.offload.replace(vec![row, clones]);
            let counters = |object, queue_depth| VolumeCounters {
                volume: ObjectId(object),
                io: IoStatistics { reads: 4, read_bytes: 16384, ..IoStatistics::default() },
                queue_depth,
                latency: IoLatency { read: histogram(), ..IoLatency::default() },
            };
            live.counters.replace(vec![counters(1, 2), counters(2, 0)]);
            live.reservations.borrow_mut().insert(1, super::reservations());
            live.connections.set(ConnectionCounters {
                without_session: 3,
                max_sessions: 768,
                displaced: 4000,
                ..ConnectionCounters::default()
            });
            live.sessions.replace(vec![SessionInfo {
                id: 1,
                initiator: "iqn.1998-01.com.vmware:esx01".to_owned(),
                target_port: 1,
                portal: "127.0.0.1:3260".parse().unwrap(),
                peer_address: "127.0.0.1:50000".parse().unwrap(),
                since: Timestamp::UNIX_EPOCH,
                last_io: None,
                commands: 0,
                read_bytes: 0,
                written_bytes: 0,
                mss_bytes: Some(1448),
                parameters: SessionParameters::default(),
                seen: SessionSeen::default(),
            }]);
        }),
        Arc::default(),
    );
    post(&app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 20 })).await;
    assert_eq!(post(&app, "/api/v1/shares", json!({ "name": "s1" })).await.0, 201);
    post(&app, "/api/v1/volumes", json!({ "name": "idle", "size_bytes": 1 << 20 })).await;
    post(&app, "/api/v1/hosts", json!({ "name": "esx01", "iqns": ["iqn.1998-01.com.vmware:esx01"] })).await;
    let of_array = [
        r#"windlass_pool_state{pool="p0",state="healthy"} 1"#,
        r#"windlass_pool_state{pool="p0",state="low-space"} 0"#,
        r#"windlass_pool_state{pool="p0",state="below-full"} 0"#,
        r#"windlass_pool_state{pool="p0",state="full"} 0"#,
        r#"windlass_io_operations_total{op="read",protocol="iscsi"} 4"#,
        r#"windlass_io_operations_total{op="read",protocol="nfs"} 4"#,
        r#"windlass_io_duration_seconds_bucket{le="0.000256",op="read",protocol="iscsi"} 3"#,
        r#"windlass_io_duration_seconds_bucket{le="+Inf",op="read",protocol="iscsi"} 4"#,
        r#"windlass_io_duration_seconds_sum{op="read",protocol="iscsi"} 0.002"#,
        r#"windlass_offload_commands_total{primitive="xcopy",outcome="refused"} 1"#,
        r#"windlass_offload_commands_total{primitive="clone",outcome="ok"} 2"#,
        r#"windlass_offload_refusals_total{primitive="xcopy",reason="misaligned"} 1"#,
        r#"windlass_offload_ineffective_total{primitive="xcopy",reason="below-grain"} 2"#,
        r#"windlass_offload_duration_seconds_count{primitive="xcopy"} 4"#,
        r#"windlass_offload_host_bytes_avoided_total{primitive="xcopy"} 8192"#,
        "windlass_commands_in_flight{} 2",
        r#"windlass_host_sessions{host="esx01",portal="127.0.0.1:3260"} 1"#,
        r#"windlass_host_paths{host="esx01"} 1"#,
        r#"windlass_jobs_running{kind="scrub"} 0"#,
        r#"windlass_alert_active{alert="pool-full",severity="critical",acknowledged="false"} 0"#,
        r#"windlass_pool_shared_bytes{pool="p0"} 0"#,
        r#"windlass_pool_token_bytes{pool="p0"} 0"#,
        r#"windlass_lock_conflicts_total{kind="reservation"} 5"#,
        r#"windlass_connections{stage="login"} 3"#,
        r#"windlass_connections_limit{stage="session"} 768"#,
        r#"windlass_connections_closed_total{reason="displaced"} 4000"#,
        r#"windlass_alert_active{alert="sanitize-failed",severity="critical",acknowledged="false"} 0"#,
        r#"windlass_jobs_running{kind="sanitize"} 0"#,
        "# TYPE windlass_io_operations counter",
        "# EOF",
    ];
    let of_volumes = [
        r#"windlass_volume_provisioned_bytes{volume="v1"} 1048576"#,
        r#"windlass_volume_unique_bytes{volume="v1"} 0"#,
        r#"windlass_volume_io_operations_total{volume="v1",op="read"} 4"#,
        r#"windlass_volume_io_duration_seconds_bucket{le="+Inf",volume="v1",op="read"} 4"#,
        r#"windlass_volume_offload_commands_total{volume="v1",primitive="xcopy",outcome="refused"} 1"#,
        r#"windlass_volume_commands_in_flight{volume="v1"} 2"#,
        r#"windlass_volume_registrations{volume="v1"} 2"#,
        r#"windlass_volume_reserved{volume="v1"} 1"#,
        r#"windlass_volume_lock_conflicts_total{volume="v1",kind="reservation"} 5"#,
        r#"windlass_share_used_bytes{share="s1"} 0"#,
        r#"windlass_share_io_operations_total{share="s1",op="read"} 4"#,
        r#"windlass_share_offload_commands_total{share="s1",primitive="clone",outcome="ok"} 2"#,
        "# EOF",
    ];
    let open = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
    for (path, lines) in [("/metrics", &of_array[..]), ("/metrics/volumes?active=true", &of_volumes[..])] {
        let (content_type, text) = scrape(&app, path, Some(open)).await;
        assert!(content_type.starts_with("application/openmetrics-text"), "{content_type}");
        for line in lines {
            assert!(text.lines().any(|found| found == *line), "no line {line} in\n{text}");
        }
        // A volume that is not used is left out on request, and gauges of 0 are.
        assert!(!text.contains("idle") && !text.contains("windlass_volume_write_cache"), "{text}");
        let (content_type, classic) = scrape(&app, path, None).await;
        assert!(content_type.starts_with("text/plain; version=0.0.4"), "{content_type}");
        assert!(!classic.contains("# EOF"), "{classic}");
        assert_eq!(classic.lines().filter(|line| !line.starts_with('#')).count(), samples(&text), "{path}");
    }
    assert!(
        scrape(&app, "/metrics/volumes", None).await.1.contains(r#"windlass_volume_mapped_bytes{volume="idle"} 0"#)
    );
}

/// An array with this many volumes, each read, written, copied to and unmapped.
async fn busy(volumes: u64) -> Router {
    let prepare = move |_: &control::Control, live: &control::memory::live::MemoryLive, _: &_| {
        for object in (1..=volumes).map(ObjectId) {
            let mut read = LatencyHistogram::default();
            (0..20).for_each(|octave| read.record(1000 << octave));
            let latency = IoLatency { write: read.clone(), read: read.clone() };
            let io = IoStatistics { reads: 20, writes: 20, ..IoStatistics::default() };
            live.counters.borrow_mut().push(VolumeCounters { volume: object, io, queue_depth: 1, latency });
            for primitive in [Primitive::Xcopy, Primitive::Unmap] {
                let mut counters = OffloadCounters {
                    commands: 3,
                    ok: 2,
                    refused: 1,
                    latency: read.clone(),
                    ..OffloadCounters::default()
                };
                counters.refusals.add(Reason::Misaligned);
                let row = OffloadRow { volume: object, name: format!("v{}", object.0), primitive, counters };
                live.offload.borrow_mut().push(row);
            }
        }
    };
    let app = crate::http::unguarded(spawn(prepare), Arc::default());
    for number in 1..=volumes {
        let body = json!({ "name": format!("v{number}"), "size_bytes": 1 << 20 });
        assert_eq!(post(&app, "/api/v1/volumes", body).await.0, 201);
    }
    app
}

#[tokio::test]
async fn the_number_of_volumes_changes_no_line_of_the_array() {
    let (one, many) = (busy(1).await, busy(200).await);
    let names = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit_once(' ').map_or(line, |(name, _)| name).to_owned()).collect()
    };
    let of_array = scrape(&many, "/metrics", None).await.1;
    let without_values = |text: &str| -> BTreeSet<String> { names(text).into_iter().collect() };
    assert_eq!(without_values(&of_array), without_values(&scrape(&one, "/metrics", None).await.1));
    assert!(of_array.lines().count() < 2000, "{of_array}");
    assert!(of_array.contains(r#"windlass_io_operations_total{op="write",protocol="iscsi"} 4000"#), "{of_array}");
    assert!(samples(&scrape(&many, "/metrics/volumes", None).await.1) > 200 * 20);
}

/// Totals fell with each volume that was deleted.
#[tokio::test]
async fn counters_of_the_array_keep_what_deleted_volumes_did() {
    let app = busy(3).await;
    let read = async || {
        let text = scrape(&app, "/metrics", None).await.1;
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).trim().parse::<u64>().unwrap()
        };
        [
            value(r#"windlass_io_operations_total{op="read",protocol="iscsi"}"#),
            value(r#"windlass_offload_refusals_total{primitive="xcopy",reason="misaligned"}"#),
            value("windlass_commands_in_flight{}"),
        ]
    };
    assert_eq!(read().await, [60, 3, 3]);
    assert_eq!(super::send(&app, "DELETE", "/api/v1/volumes/v2?now=true", None).await.0, 204);
    assert_eq!(read().await, [60, 3, 2]);
}

/// Name of the family of a sample.
fn family<'a>(name: &'a str, types: &BTreeMap<&str, &str>) -> &'a str {
    let stems = ["_bucket", "_sum", "_count"].into_iter().filter_map(|ending| name.strip_suffix(ending));
    stems.into_iter().find(|stem| types.get(stem) == Some(&"histogram")).unwrap_or(name)
}

#[tokio::test]
async fn every_series_is_there_once_and_described_by_its_name() {
    let app = busy(3).await;
    for path in ["/metrics", "/metrics/volumes"] {
        let text = scrape(&app, path, None).await.1;
        let described = |what: &str| -> BTreeMap<&str, &str> {
            text.lines().filter_map(|line| line.strip_prefix(what)?.trim().split_once(' ')).collect()
        };
        let (help, types) = (described("# HELP"), described("# TYPE"));
        let mut series = BTreeSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(series.insert(name), "{name} twice");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let name = name.split('{').next().unwrap();
            let family = family(name, &types);
            assert!(help.get(family).is_some_and(|help| help.len() > 5), "{path}: {name} has no help");
            let is_counter = types.get(family).is_some_and(|kind| *kind == "counter");
            assert_eq!(is_counter, name.ends_with("_total"), "{name} is a {:?}", types.get(family));
        }
        check_with_promtool(&text);
    }
}

/// Prometheus' own check, where it is installed.
fn check_with_promtool(text: &str) {
    let started =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut check) = started else {
        eprintln!("skipped: promtool is not installed");
        return;
    };
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let found = check.wait_with_output().unwrap();
    assert!(found.status.success() && found.stderr.is_empty(), "{}", String::from_utf8_lossy(&found.stderr));
}
