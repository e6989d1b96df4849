//! QoS policies as resources.

use super::{app, post, send};
use crate::memory::spawn;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use control::{Held, VolumeId};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

async fn with_objects(app: &Router) {
    post(app, "/api/v1/volumes", json!({ "name": "v1", "size_bytes": 1 << 30 })).await;
    post(app, "/api/v1/hosts", json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] })).await;
}

#[tokio::test]
async fn a_policy_is_created_attached_changed_and_deleted() {
    let app = app();
    with_objects(&app).await;
    let burst = json!({ "per_second": 10_000, "seconds": 30 });
    let bronze = json!({ "name": "bronze", "iops": 2000, "iops_burst": burst, "bytes_per_second": 100 << 20 });
    let (status, policy) = post(&app, "/api/v1/qos-policies", bronze.clone()).await;
    assert_eq!((status.as_u16(), &policy["iops_burst"], &policy["weight"]), (201, &burst, &json!(100)), "{policy}");
    assert_eq!(post(&app, "/api/v1/qos-policies", bronze).await.0, 200);
    let other = json!({ "name": "bronze", "iops": 2001 });
    assert_eq!(post(&app, "/api/v1/qos-policies", other).await.0, 409);
    let members = json!({ "volumes": ["v1"], "hosts": ["h1"] });
    let (_, policy) = post(&app, "/api/v1/qos-policies/bronze/attach", members.clone()).await;
    assert_eq!((&policy["volumes"], &policy["hosts"]), (&json!(["v1"]), &json!(["h1"])));
    for path in ["/api/v1/volumes/v1", "/api/v1/hosts/h1"] {
        let (_, object) = send(&app, "GET", path, None).await;
        assert_eq!((&object["qos_policy"], &object["qos_held"]["delayed_commands"]), (&json!("bronze"), &json!(0)));
    }
    let path = "/api/v1/qos-policies/bronze";
    let change = json!({ "iops": 0, "weight": 200, "shared": true });
    let (status, policy) = send(&app, "PATCH", path, Some(change)).await;
    assert_eq!(
        (status.as_u16(), &policy["iops"], &policy["iops_burst"]),
        (200, &Value::Null, &Value::Null),
        "{policy}"
    );
    let (status, problem) = send(&app, "DELETE", path, None).await;
    assert_eq!((status.as_u16(), problem["users"].as_array().unwrap().len()), (409, 2), "{problem}");
    let (_, volume) = send(&app, "PATCH", "/api/v1/volumes/v1", Some(json!({ "qos_policy": "" }))).await;
    assert_eq!(volume["qos_policy"], Value::Null);
    let (_, detached) = post(&app, "/api/v1/qos-policies/detach", members).await;
    assert_eq!(detached, json!({ "volumes": 0, "hosts": 1 }));
    let (_, host) = send(&app, "PATCH", "/api/v1/hosts/h1", Some(json!({ "qos_policy": "bronze" }))).await;
    assert_eq!(host["qos_policy"], "bronze");
    assert_eq!(send(&app, "DELETE", &format!("{path}?force=true"), None).await.0, 204);
    let (_, list) = send(&app, "GET", "/api/v1/qos-policies", None).await;
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn wrong_limits_name_their_field() {
    let app = app();
    for (limits, field) in [
        (json!({ "iops": 1 }), json!("iops")),
        (json!({ "iops": 100, "iops_burst": { "per_second": 50, "seconds": 1 } }), json!("iops_burst")),
        (json!({ "bytes_per_second": 1 }), json!("bytes_per_second")),
        (json!({ "weight": 1001 }), json!("weight")),
        (json!({}), Value::Null),
    ] {
        let mut body = limits.clone();
        body["name"] = json!("p");
        let (status, problem) = post(&app, "/api/v1/qos-policies", body).await;
        let named = &problem["fields"][0]["field"];
        assert_eq!((status.as_u16(), &problem["code"], named), (422, &json!("invalid-limits"), &field), "{limits}");
    }
}

#[tokio::test]
async fn what_limits_have_done_is_counted_for_volumes_and_in_all() {
    let held = Held {
        commands: 7,
        time: Duration::from_millis(1500),
        waiting: 2,
        oldest: Duration::from_millis(20),
        ..Held::default()
    };
    let prepare = move |_: &control::Control, live: &control::memory::live::MemoryLive, _: &_| {
        live.limits.report.borrow_mut().volumes.insert(VolumeId(1), held);
    };
    let app = crate::http::unguarded(spawn(prepare), Arc::default());
    with_objects(&app).await;
    post(&app, "/api/v1/qos-policies", json!({ "name": "bronze", "iops": 2000 })).await;
    let (_, policy) = post(&app, "/api/v1/qos-policies/bronze/attach", json!({ "volumes": ["v1"] })).await;
    assert_eq!((&policy["held"]["delayed_commands"], &policy["held"]["delay_us"]), (&json!(7), &json!(1_500_000)));
    let (_, volume) = send(&app, "GET", "/api/v1/volumes/v1", None).await;
    assert_eq!(volume["qos_held"]["waiting_commands"], 2);
    for (path, lines) in [
        ("/metrics", ["qos_delay_seconds_total 1.5", "qos_delayed_commands_total 7", "qos_waiting_commands 2"]),
        (
            "/metrics/volumes",
            [
                r#"volume_qos_delay_seconds_total{volume="v1"} 1.5"#,
                r#"volume_qos_delayed_commands_total{volume="v1"} 7"#,
                r#"volume_qos_waiting_commands{volume="v1"} 2"#,
            ],
        ),
    ] {
        let response = app.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
        let text = response.into_body().collect().await.unwrap().to_bytes().to_vec();
        let text = String::from_utf8(text).unwrap();
        for line in lines {
            let found = text.lines().any(|found| found.replace("{}", "") == format!("windlass_{line}"));
            assert!(found, "no line {line} in\n{text}");
        }
    }
}
