//! What codes mean.

use super::lists::{get, refused};
use super::{app, send};
use serde_json::{Value, json};

#[tokio::test]
async fn codes_are_listed_by_kind_and_explained() {
    let app = app();
    let all = get(&app, "/api/v1/codes").await;
    assert!(all["total"].as_u64().is_some_and(|total| total > 200), "{}", all["total"]);
    let alerts = get(&app, "/api/v1/codes?kind=alert").await;
    assert!(alerts["items"].as_array().unwrap().iter().all(|code| code["kind"] == json!("alert")), "{alerts}");
    refused(&app, "/api/v1/codes?kind=alarm").await;
    refused(&app, "/api/v1/codes?colour=red").await;

    let refusal = &get(&app, "/api/v1/codes/not-granted").await["items"];
    let kinds_of = |items: &Value| -> Vec<String> {
        items.as_array().unwrap().iter().map(|code| code["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds_of(refusal), ["refusal", "warning"]);
    assert_eq!(refusal[0]["todo"][1], json!({ "command": "windlass access grant VOLUME --host HOST" }));
    // An alert and the event of its beginning have one name.
    let stopped = &get(&app, "/api/v1/codes/pool-stopped").await["items"];
    assert_eq!(kinds_of(stopped), ["problem", "refusal", "alert", "warning", "event"]);
    for path in ["05%2F26%2F00", "0x5%200x26%200x0"] {
        assert_eq!(get(&app, &format!("/api/v1/codes/{path}")).await["items"][0]["code"], json!("05/26/00"), "{path}");
    }
}

#[tokio::test]
async fn a_code_that_does_not_exist_is_a_problem() {
    let app = app();
    let (status, problem) = send(&app, "GET", "/api/v1/codes/no-such-code", None).await;
    assert_eq!((status.as_u16(), &problem["parameters"]["noun"]), (404, &json!("code")), "{problem}");
}
