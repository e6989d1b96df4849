//! Lists: orders, filters, parts, and what is refused.

use super::{app, post, send};
use axum::Router;
use serde_json::{Value, json};

pub(super) async fn get(app: &Router, path: &str) -> Value {
    let (status, body) = send(app, "GET", path, None).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

/// Detail of a request that is refused as malformed.
pub(super) async fn refused(app: &Router, path: &str) -> String {
    let (status, problem) = send(app, "GET", path, None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (400, Some("invalid-request")), "{path}: {problem}");
    problem["detail"].as_str().unwrap().to_owned()
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

async fn with_volumes() -> Router {
    let app = app();
    for (name, gib) in [("a", 3_u64), ("b", 1), ("c", 2), ("d", 1)] {
        post(&app, "/api/v1/volumes", json!({ "name": name, "size_bytes": gib << 30 })).await;
    }
    app
}

/// Every list has the parameters of lists, names its sort keys, and refuses other parameters and keys.
#[tokio::test]
async fn every_list_refuses_unknown_parameters_and_documents_its_sort_keys() {
    let app = app();
    let description: Value = serde_json::from_str(&crate::openapi_json()).unwrap();
    let mut lists = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        let operation = &operations["get"];
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let has = |name: &str| parameters.iter().any(|parameter| parameter["name"] == name);
        if path == "/api/v1/live" || operation.is_null() {
            continue;
        }
        let url = path.replace(['{', '}'], "");
        if has("limit") || has("series") || has("volumes") {
            let detail = refused(&app, &format!("{url}?colour=red")).await;
            assert!(detail.contains("unknown field `colour`"), "{path}: {detail}");
        }
        if has("sort") {
            lists += 1;
            assert!(["limit", "after", "offset", "q"].into_iter().all(has), "{path}");
            let detail = refused(&app, &format!("{url}?sort=colour")).await;
            let keys: Vec<&str> = detail.split_once("it has ").unwrap().1.split(", ").collect();
            let about = operation["description"].as_str().unwrap_or_default().to_owned()
                + operation["summary"].as_str().unwrap_or_default();
            let about = about.split_once("Sort keys:").unwrap_or_else(|| panic!("{path} has no sort keys")).1;
            let documented: Vec<&str> = about.split('`').skip(1).step_by(2).collect();
            assert_eq!(documented, keys, "{path}");
        }
    }
    assert!(lists >= 14, "{lists} lists");
}

#[tokio::test]
async fn a_sorted_list_is_read_in_parts_or_from_any_place() {
    let app = with_volumes().await;
    let mut link = "/api/v1/volumes?sort=-size_bytes,name&limit=3".to_owned();
    let mut all = Vec::new();
    loop {
        let part = get(&app, &link).await;
        assert_eq!(part["total"], 4);
        all.extend(names(&part).into_iter().map(str::to_owned));
        match part["next"].as_str() {
            Some(next) => link = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(all, ["a", "c", "b", "d"]);
    let jumped = get(&app, "/api/v1/volumes?sort=size_bytes,-name&offset=1&limit=2").await;
    assert_eq!(names(&jumped), ["b", "c"]);
    let next = jumped["next"].as_str().unwrap();
    assert!(!next.contains("offset"), "{next}");
    assert_eq!(names(&get(&app, next).await), ["a"]);
    let beyond = get(&app, "/api/v1/volumes?offset=18446744073709551615").await;
    assert_eq!((names(&beyond).len(), &beyond["total"]), (0, &json!(4)));
    assert!(refused(&app, "/api/v1/volumes?offset=1&after=a").await.contains("exclude"));
    assert!(refused(&app, "/api/v1/volumes?sort=name&after=a").await.contains("after"));
}

#[tokio::test]
async fn the_revision_of_a_list_is_raised_by_changes() {
    let app = with_volumes().await;
    let revision = async || get(&app, "/api/v1/volumes?limit=1").await["revision"].as_u64().unwrap();
    let before = revision().await;
    assert_eq!(revision().await, before);
    send(&app, "PATCH", "/api/v1/volumes/a", Some(json!({ "write_cache": true }))).await;
    assert!(revision().await > before);
}

#[tokio::test]
async fn filters_choose_rows() {
    let app = with_volumes().await;
    let body = json!({ "name": "h1", "iqns": ["iqn.2026-01.org.example:h1"] });
    post(&app, "/api/v1/hosts", body).await;
    post(&app, "/api/v1/hosts", json!({ "name": "h2", "iqns": ["iqn.2026-01.org.example:h2"] })).await;
    post(&app, "/api/v1/host-groups", json!({ "name": "g1", "hosts": ["h2"] })).await;
    post(&app, "/api/v1/access", json!({ "volume": "b", "host": "h1" })).await;
    post(&app, "/api/v1/access", json!({ "volume": "c", "any": true })).await;
    post(&app, "/api/v1/volumes/a/snapshots", json!({ "name": "s" })).await;
    post(&app, "/api/v1/shares", json!({ "name": "docs" })).await;
    for (path, expected) in [
        ("/api/v1/volumes?host=h1", "b c"),
        ("/api/v1/volumes?host=any", "c"),
        ("/api/v1/volumes?group=g1", ""),
        ("/api/v1/volumes?has=no-host&sort=-name", "d a"),
        ("/api/v1/volumes?has=snapshots&q=A", "a"),
        ("/api/v1/volumes?min_size_bytes=2147483648", "a c"),
        ("/api/v1/volumes?reserve=thick", ""),
        ("/api/v1/hosts?group=g1", "h2"),
        ("/api/v1/hosts?has=no-volume", "h2"),
        ("/api/v1/hosts?has=no-session&q=EXAMPLE:H1", "h1"),
        ("/api/v1/snapshots?volume=a", "s"),
        ("/api/v1/snapshots?older_than=2020-01-01T00:00:00Z", ""),
        ("/api/v1/shares?has=no-host", "docs"),
        ("/api/v1/shares?has=open-access", ""),
        ("/api/v1/sessions?portal=127.0.0.1:3260", ""),
    ] {
        assert_eq!(names(&get(&app, path).await).join(" "), expected, "{path}");
    }
    for path in ["/api/v1/volumes?has=wings", "/api/v1/volumes?min_size_bytes=big", "/api/v1/snapshots?older_than=now"]
    {
        refused(&app, path).await;
    }
    refused(&app, "/api/v1/volumes?host=h1&host=h2").await;
    refused(&app, "/api/v1/volumes?host=h1&group=g1").await;
    let (status, problem) = send(&app, "GET", "/api/v1/volumes?host=nobody", None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (404, Some("not-found")));
}

#[tokio::test]
async fn events_are_the_newest_unless_the_query_says_where_to_start() {
    let app = with_volumes().await;
    let ids = async |query: &str| -> Vec<u64> {
        let list = get(&app, &format!("/api/v1/events{query}")).await;
        list["items"].as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect()
    };
    let all = ids("").await;
    assert!(all.len() >= 4 && all.is_sorted());
    assert_eq!(ids("?limit=2").await, all[all.len() - 2..]);
    assert_eq!(ids(&format!("?since={}&limit=1", all[0])).await, all[1..2]);
    let newest: Vec<u64> = all.iter().rev().copied().collect();
    assert_eq!(ids("?sort=-id&limit=3").await, newest[..3]);
    let first = get(&app, "/api/v1/events?sort=-id&limit=3").await;
    let next = get(&app, first["next"].as_str().unwrap()).await;
    assert_eq!(next["items"][0]["id"], newest[3]);
    assert!(ids("?until=2020-01-01T00:00:00Z").await.is_empty());
    assert_eq!(ids("?q=VOLUME%20B").await.len(), 1);
}

#[tokio::test]
async fn search_and_capabilities_answer() {
    let app = with_volumes().await;
    let found = get(&app, "/api/v1/search?q=B").await;
    // Identifiers are found, too; names that begin with the text come first.
    assert_eq!(names(&found)[0], "b");
    refused(&app, "/api/v1/search?q=").await;
    refused(&app, "/api/v1/search").await;
    refused(&app, "/api/v1/search?q=a&colour=red").await;
    let capabilities = get(&app, "/api/v1/capabilities").await;
    assert_eq!((&capabilities["shares"], &capabilities["live"]), (&json!(false), &json!(true)));
}
