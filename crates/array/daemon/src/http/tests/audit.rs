//! The audit of changes, over the guarded management plane.

use super::people::{Author, PASSWORD, Plane};
use crate::http::Surroundings;
use crate::memory::TemporaryDirectory;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

async fn entries(plane: &Plane, query: &str) -> Vec<Value> {
    let answer = plane.ask(&Author::root(), "GET", &format!("/api/v1/audit{query}"), None).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_change_has_its_author_fields_and_result() {
    let plane = Plane::new().await;
    plane.user("otto", "operator").await;
    plane.user("vera", "viewer").await;
    let (otto, vera) = (plane.sign_in("otto").await, plane.sign_in("vera").await);
    let (otto, vera) = (Author::page(&otto), Author::page(&vera));
    let volumes = "/api/v1/volumes";
    let create = json!({ "name": "v1", "size_bytes": 1 << 20 });
    assert_eq!(plane.ask(&otto, "POST", volumes, Some(create)).await.status, 201);
    let set = json!({ "size_bytes": 1 << 21 });
    assert_eq!(plane.ask(&otto, "PATCH", "/api/v1/volumes/v1", Some(set)).await.status, 200);
    let host = json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"], "chap": { "user": "u", "secret": "twelve-chars-x" } });
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/hosts", Some(host)).await.status, 201);
    assert_eq!(plane.ask(&vera, "DELETE", "/api/v1/volumes/v1", None).await.status, 403);
    assert_eq!(plane.ask(&otto, "DELETE", "/api/v1/volumes/v9", None).await.status, 404);
    assert_eq!(plane.ask(&otto, "GET", volumes, None).await.status, 200);
    let all = entries(&plane, "").await;
    let seen = all.iter().map(|entry| (entry["action"].as_str().unwrap(), entry["result"].as_str().unwrap()));
    let seen: Vec<_> = seen.rev().collect();
    let expected = [
        ("user_create", "done"),
        ("user_create", "done"),
        ("signin_begin", "done"),
        ("signin_begin", "done"),
        ("volume_create", "done"),
        ("volume_set", "done"),
        ("host_create", "done"),
        ("volume_delete", "refused"),
        ("volume_delete", "refused"),
    ];
    assert_eq!(seen, expected);
    let set = &entries(&plane, "?action=volume_set").await[0];
    assert_eq!(set["who"]["name"], "otto");
    assert_eq!((&set["who"]["kind"], &set["who"]["from"]), (&json!("user"), &json!("192.0.2.1")));
    assert_eq!((&set["target"]["kind"], &set["target"]["name"]), (&json!("volume"), &json!("v1")));
    assert_eq!(set["change"], json!({ "size_bytes": { "before": 1 << 20, "after": 1 << 21 } }));
    let host = &entries(&plane, "?action=host_create").await[0];
    assert_eq!(host["change"]["chap"]["after"]["secret"], "(secret)");
    assert_eq!((&host["who"]["kind"], &host["who"]["uid"]), (&json!("local"), &json!(0)));
    let refused = entries(&plane, "?who=vera&action=volume_delete").await;
    assert_eq!(
        (refused.len(), &refused[0]["code"], &refused[0]["target"]["name"]),
        (1, &json!("forbidden"), &json!("v1"))
    );
    let id = set["target"]["id"].as_str().unwrap();
    assert_eq!(entries(&plane, &format!("?target={id}")).await.len(), 2, "created and changed");
    let text = serde_json::to_string(&all).unwrap();
    assert!(!text.contains(PASSWORD) && !text.contains("twelve-chars-x"), "{text}");
    let verified = plane.ask(&Author::root(), "GET", "/api/v1/audit/verify", None).await.body;
    assert_eq!(verified, json!({ "lines": 18, "ok": true }));
    let first = plane.ask(&Author::root(), "GET", "/api/v1/audit?limit=5", None).await.body;
    let second = plane.ask(&Author::root(), "GET", first["next"].as_str().unwrap(), None).await.body;
    assert_eq!((second["items"].as_array().unwrap().len(), &second["next"]), (4, &Value::Null));
    assert_eq!(plane.ask(&otto, "GET", "/api/v1/audit", None).await.status, 403);
}

/// The export has the lines of the files, whose chain can be verified elsewhere; `until` ends lists and exports.
#[tokio::test]
async fn the_audit_is_exported_as_it_is_and_until_a_time() {
    let plane = Plane::new().await;
    for name in ["v1", "v2", "v3"] {
        let create = json!({ "name": name, "size_bytes": 1 << 20 });
        assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(create)).await.status, 201);
        // Entries of one millisecond have the same time.
        let now = || Timestamp::now().as_millisecond();
        let before = now();
        while now() == before {
            tokio::task::yield_now().await;
        }
    }
    let export = async |query: &str| {
        let path = format!("/api/v1/audit.jsonl{query}");
        let (status, lines) = super::configuration::text(&plane, "GET", &path, "", String::new()).await;
        assert_eq!(status, 200, "{lines}");
        lines
    };
    let lines = export("").await;
    let mut previous = "0".repeat(64);
    for line in lines.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["previous"], previous.as_str());
        previous = identity::Digest::of(line.as_bytes()).to_string();
    }
    // The export has its own record.
    let files = std::fs::read_dir(plane.directory.path().join("audit")).unwrap();
    let whole: String = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(lines.lines().count() >= 6 && whole.starts_with(&lines), "{lines}");
    let second: Value = serde_json::from_str(lines.lines().nth(2).unwrap()).unwrap();
    let time = second["time"].as_str().unwrap();
    assert_eq!(export(&format!("?until={time}")).await.lines().count(), 3);
    let from = export(&format!("?since={time}")).await;
    assert!(from.starts_with(lines.lines().nth(2).unwrap()), "{from}");
    let names = |entries: Vec<Value>| entries.iter().map(|of| of["target"]["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(entries(&plane, &format!("?until={time}")).await), ["v2", "v1"]);
    assert_eq!(names(entries(&plane, &format!("?until={time}&since={time}")).await), ["v2"]);
}

#[tokio::test]
async fn nothing_changes_while_the_audit_cannot_be_written() {
    for goes_on in [false, true] {
        let directory = TemporaryDirectory::new();
        let in_the_way = directory.path().join("audit");
        std::fs::write(&in_the_way, "").unwrap();
        let plane = Plane::with(Surroundings::of(directory.path(), goes_on), directory);
        let create = json!({ "name": "v1", "size_bytes": 1 << 20 });
        let alerts = async || {
            let alerts = plane.ask(&Author::root(), "GET", "/api/v1/alerts", None).await.body;
            alerts["items"].as_array().unwrap().iter().map(|alert| alert["code"].clone()).collect::<Vec<_>>()
        };
        let answer = plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(create.clone())).await;
        let exists = plane.ask(&Author::root(), "GET", "/api/v1/volumes/v1", None).await.status == 200;
        if goes_on {
            assert_eq!((answer.status, exists), (201, true), "{}", answer.body);
        } else {
            assert_eq!((answer.code(), exists), ((503, "audit-not-written"), false));
        }
        assert_eq!(alerts().await, ["audit-not-written"]);
        std::fs::remove_file(&in_the_way).unwrap();
        let again = json!({ "name": "v2", "size_bytes": 1 << 20 });
        assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(again)).await.status, 201);
        assert!(alerts().await.is_empty());
    }
}

/// Wrong passwords are in the audit and the events, and not one by one.
#[tokio::test]
async fn refused_sign_ins_are_reported_once_in_a_while() {
    let plane = Plane::new().await;
    let wrong = || Some(json!({ "user": "eve\u{7}", "password": "wrong horse battery" }));
    for _ in 0..4 {
        assert_eq!(plane.ask(&Author::default(), "POST", "/api/v1/sign-in", wrong()).await.status, 401);
    }
    let audited = entries(&plane, "?action=signin_begin").await;
    assert_eq!(
        (audited.len(), &audited[0]["result"], &audited[0]["who"]["kind"]),
        (1, &json!("refused"), &json!("stranger"))
    );
    let events = plane.ask(&Author::root(), "GET", "/api/v1/events?code=sign-in-failed", None).await.body;
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
    let message = events["items"][0]["message"].as_str().unwrap();
    assert_eq!(message, "sign-in of \"eve\\u{7}\" from 192.0.2.1 refused: wrong name or password");
}

/// A viewer in a loop pushed all other entries out.
#[tokio::test]
async fn refusals_of_a_caller_are_recorded_once_in_a_while() {
    let plane = Plane::new().await;
    let viewer = Author::with_token(&plane.token("v", "viewer", json!({})).await);
    for at in 0..5 {
        let path = format!("/api/v1/volumes/v{at}");
        assert_eq!(plane.ask(&viewer, "DELETE", &path, None).await.status, 403);
    }
    assert_eq!(plane.ask(&viewer, "POST", "/api/v1/volumes", None).await.status, 403);
    assert_eq!(entries(&plane, "?action=volume_create").await.len(), 1, "another operation");
    let refused = entries(&plane, "?action=volume_delete").await;
    assert_eq!((refused.len(), &refused[0]["target"]["name"]), (1, &json!("v0")));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    let refused = loop {
        let refused = entries(&plane, "?action=volume_delete").await;
        if refused.len() > 1 {
            break refused;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(refused[0]["change"]["refusals_left_out"]["after"], json!(4));
}

#[tokio::test]
async fn parameters_of_the_query_are_recorded() {
    let plane = Plane::new().await;
    let volume = json!({ "name": "v1", "size_bytes": 1 << 20 });
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(volume)).await.status, 201);
    let path = "/api/v1/volumes/v1?now=%74rue&with_snapshots=true";
    assert_eq!(plane.ask(&Author::root(), "DELETE", path, None).await.status, 204);
    let change = &entries(&plane, "?action=volume_delete").await[0]["change"];
    assert_eq!((&change["now"]["after"], &change["with_snapshots"]["after"]), (&json!("true"), &json!("true")));
}

/// The first administrator was there before the audit had a line about it.
#[tokio::test]
async fn the_first_admin_is_not_created_without_the_audit() {
    let directory = TemporaryDirectory::new();
    let in_the_way = directory.path().join("audit");
    let surroundings = Surroundings::of(directory.path(), false);
    surroundings.gate.prepare_https().await.unwrap();
    let code = std::fs::read_to_string(directory.path().join("setup.code")).unwrap();
    std::fs::write(&in_the_way, "").unwrap();
    let plane = Plane::with(surroundings, directory);
    let set_up = || Some(json!({ "code": code.trim(), "user": "anna", "password": PASSWORD }));
    let refused = plane.ask(&Author::default(), "POST", "/api/v1/setup", set_up()).await;
    assert_eq!(refused.code(), (503, "audit-not-written"));
    assert!(!plane.gate.see(identity::People::has_admin));
    std::fs::remove_file(&in_the_way).unwrap();
    assert_eq!(plane.ask(&Author::default(), "POST", "/api/v1/setup", set_up()).await.status, 201);
    let recorded = &entries(&plane, "?action=setup_run").await[0];
    assert_eq!((&recorded["result"], &recorded["who"]["name"]), (&json!("done"), &json!("anna")));
}

#[tokio::test]
async fn wrong_setup_codes_are_recorded_and_slow_their_address_down() {
    let plane = Plane::new().await;
    let guess = || Some(json!({ "code": "aaaa-bbbb-cccc-dddd", "user": "eve", "password": PASSWORD }));
    for _ in 0..6 {
        let refused = plane.ask(&Author::default(), "POST", "/api/v1/setup", guess()).await;
        assert_eq!(refused.code(), (403, "wrong-setup-code"));
    }
    let waiting = plane.ask(&Author::default(), "POST", "/api/v1/setup", guess()).await;
    assert_eq!(waiting.code(), (429, "too-many-failures"));
    let recorded = entries(&plane, "?action=setup_run").await;
    assert_eq!((recorded.len(), &recorded[0]["code"]), (1, &json!("wrong-setup-code")));
    let events = plane.ask(&Author::root(), "GET", "/api/v1/events?code=sign-in-failed", None).await.body;
    let message = events["items"][0]["message"].as_str().unwrap();
    assert_eq!(message, "set-up of \"eve\" from 192.0.2.1 refused: wrong code");
}

/// An intent without a result reads like a stop of the array.
#[tokio::test]
async fn a_change_whose_client_leaves_has_a_result() {
    let plane = Plane::new().await;
    let (root, volume) = (Author::root(), Some(json!({ "name": "v1", "size_bytes": 1 << 20 })));
    let mut asked = Box::pin(plane.ask(&root, "POST", "/api/v1/volumes", volume));
    assert!(futures_util::poll!(&mut asked).is_pending());
    drop(asked);
    let until_done = async {
        while !entries(&plane, "?action=volume_create").await.iter().any(|entry| entry["result"] == "done") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), until_done).await.is_ok());
}
