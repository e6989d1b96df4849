//! Notification with its store, its task and the array, over the management plane.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::{Desk, run};
use crate::http::tests::people::{Author, Plane};
use crate::http::{Surroundings, guarded, metrics_router};
use crate::management_store::ManagementStore;
use crate::memory::{TemporaryDirectory, spawn};
use crate::people::Unavailable;
use api::{NoticeState, Severity};
use axum::body::Body;
use axum::http::Request;
use control::{AlertList, EventFilter, EventList, ManagementCondition, ManagementReport};
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use notification::{Alert, Dispatch, Notices};
use reactor::ArrayHandle;
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tower::ServiceExt;
use uuid::Uuid;

const CHANNELS: &str = "/api/v1/channels";
const ALERTS: &str = "/api/v1/alerts";

/// Management plane with access to its array.
fn plane(directory: TemporaryDirectory) -> (Plane, ArrayHandle) {
    let surroundings = Surroundings::of(directory.path(), false);
    let (gate, desk, array) = (Arc::clone(&surroundings.gate), Arc::clone(&surroundings.desk), spawn(|_, _, _| {}));
    let app = guarded(array.clone(), Arc::default(), surroundings, None);
    (Plane { app, gate, desk, directory }, array)
}

/// Receiver of syslog datagrams, and the settings of a channel to it.
async fn receiver() -> (UdpSocket, Value) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, json!({ "kind": "syslog", "server": "127.0.0.1", "port": port, "transport": "udp" }))
}

async fn receive(socket: &UdpSocket) -> String {
    let mut buffer = [0; 4096];
    let count = tokio::time::timeout(Duration::from_secs(20), socket.recv(&mut buffer)).await.unwrap().unwrap();
    String::from_utf8(buffer[..count].to_vec()).unwrap()
}

/// Begins or ends an alert of the array.
async fn set_alert(array: &ArrayHandle, alert: Option<&str>) {
    let alert = alert.map(str::to_owned);
    let report = ManagementReport { condition: ManagementCondition::SignInFailed, event: None, alert };
    array.call(report).await.unwrap();
}

fn alert() -> Alert {
    Alert {
        code: "pool-full".to_owned(),
        subject: "p0".to_owned(),
        severity: Severity::Critical,
        since: Timestamp::UNIX_EPOCH,
        message: "full".to_owned(),
        help: "add space".to_owned(),
    }
}

fn desk(directory: &TemporaryDirectory) -> Desk {
    let store = ManagementStore::open(directory.path()).map_err(|error| Unavailable(format!("{error:#}")));
    Desk::open(&store)
}

/// Looks at the alerts at a time, and takes what is due.
async fn look(desk: &Desk, alerts: &[Alert], now: Timestamp) -> Vec<Dispatch> {
    desk.note(|notices| notices.observe(alerts, now)).await;
    desk.note(|notices| notices.plan(now, &mut Uuid::new_v4)).await;
    desk.take_due(now)
}

async fn end(desk: &Desk, dispatch: &Dispatch, result: Result<&str, &str>, now: Timestamp) {
    let result = result.map(str::to_owned).map_err(str::to_owned);
    desk.note(|notices| notices.ended(dispatch.message.id, &result, now)).await;
}

#[tokio::test]
async fn channels_are_made_changed_tested_and_deleted_without_showing_secrets() {
    let (plane, _array) = plane(TemporaryDirectory::new());
    let root = Author::root();
    let settings = json!({
        "kind": "webhook", "url": "http://127.0.0.1:1/hook", "secret": "hunter2-key", "body": "alertmanager",
    });
    let body = json!({ "name": "hook", "settings": settings, "codes": ["pool-full"] });
    let made = plane.ask(&root, "POST", CHANNELS, Some(body.clone())).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!((&made.body["min_severity"], &made.body["settings"]["has_secret"]), (&json!("warning"), &json!(true)));
    assert_eq!(plane.ask(&root, "POST", CHANNELS, Some(body)).await.code(), (409, "exists"));
    let path = format!("{CHANNELS}/hook");
    let shown = plane.ask(&root, "GET", &path, None).await;
    let tag = shown.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(shown.body, made.body);

    let tested = plane.ask(&root, "POST", &format!("{path}/test"), None).await;
    assert_eq!((tested.status, &tested.body["outcome"]), (200, &json!("failed")));
    assert!(tested.body["detail"].as_str().unwrap().contains("refused"), "{}", tested.body);
    let shown = plane.ask(&root, "GET", &path, None).await;
    assert_eq!(shown.body["last"]["detail"], tested.body["detail"], "the outcome is kept");
    assert_eq!(shown.headers["etag"], tag.as_str(), "a result is no change of the channel");

    let with_tag = |tag: &str| Author { headers: vec![("if-match", tag.to_owned())], ..Author::root() };
    let set = json!({ "name": "hook2", "quiet_hours": { "from_minute": 60, "until_minute": 120 } });
    let changed = plane.ask(&with_tag(&tag), "PATCH", &path, Some(set)).await;
    assert_eq!((changed.status, &changed.body["quiet_hours"]["zone"]), (200, &json!("UTC")));
    let path = format!("{CHANNELS}/hook2");
    let outdated = plane.ask(&with_tag(&tag), "PATCH", &path, Some(json!({ "enabled": false }))).await;
    assert_eq!(outdated.code(), (412, "changed-meanwhile"));
    assert_eq!(outdated.body["present"]["name"], "hook2");
    assert_eq!(plane.ask(&with_tag(&tag), "DELETE", &path, None).await.status, 412);
    let wrong = json!({ "settings": { "kind": "webhook", "url": "http://a b/", "secret": "x" } });
    assert_eq!(plane.ask(&root, "PATCH", &path, Some(wrong)).await.code(), (422, "invalid-setting"));
    let other = json!({ "settings": { "kind": "webhook", "url": "http://evil.example.org/" } });
    assert_eq!(plane.ask(&root, "PATCH", &path, Some(other)).await.code(), (422, "secret-needed"));

    for text in [&made.body, &changed.body, &plane.ask(&root, "GET", CHANNELS, None).await.body] {
        assert!(!text.to_string().contains("hunter2"), "{text}");
    }
    let audit = plane.ask(&root, "GET", "/api/v1/audit?action=channel_create", None).await.body.to_string();
    assert!(audit.contains("(secret)") && audit.contains("pool-full") && !audit.contains("hunter2"), "{audit}");
    assert_eq!(plane.ask(&root, "DELETE", &path, None).await.status, 204);
    assert_eq!(plane.ask(&root, "GET", &path, None).await.code(), (404, "not-found"));
}

#[tokio::test]
async fn channels_are_for_admins_and_acknowledgements_for_operators() {
    let (plane, array) = plane(TemporaryDirectory::new());
    set_alert(&array, Some("many")).await;
    let operator = Author::with_token(&plane.token("op", "operator", json!({})).await);
    let viewer = Author::with_token(&plane.token("view", "viewer", json!({})).await);
    let acknowledgement = format!("{ALERTS}/sign-in-failed/acknowledgement");
    assert_eq!(plane.ask(&operator, "GET", CHANNELS, None).await.code(), (403, "forbidden"));
    assert_eq!(plane.ask(&operator, "POST", &format!("{CHANNELS}/x/test"), None).await.code(), (403, "forbidden"));
    assert_eq!(plane.ask(&viewer, "POST", &acknowledgement, Some(json!({}))).await.code(), (403, "forbidden"));
    let made = plane.ask(&operator, "POST", &acknowledgement, Some(json!({}))).await;
    assert_eq!((made.status, &made.body["acknowledged"]["by"]), (200, &json!("op")));
}

#[tokio::test]
async fn an_acknowledgement_is_shown_everywhere_and_survives_a_restart() {
    let directory = TemporaryDirectory::new();
    let (first, array) = plane(directory.clone());
    let root = Author::root();
    let path = format!("{ALERTS}/sign-in-failed/acknowledgement");
    assert_eq!(first.ask(&root, "POST", &path, Some(json!({}))).await.code(), (404, "not-found"), "none is active");
    set_alert(&array, Some("many")).await;
    let past = json!({ "until": "2020-01-01T00:00:00Z" });
    assert_eq!(first.ask(&root, "POST", &path, Some(past)).await.code(), (422, "invalid-setting"));
    let long = json!({ "note": "x".repeat(501) });
    assert_eq!(first.ask(&root, "POST", &path, Some(long)).await.code(), (422, "invalid-setting"));
    let made = first.ask(&root, "POST", &path, Some(json!({ "note": "Anna looks" }))).await;
    assert_eq!((made.status, &made.body["acknowledged"]["note"]), (200, &json!("Anna looks")));
    let listed = first.ask(&root, "GET", ALERTS, None).await.body;
    assert_eq!(listed["items"][0], made.body);
    let status = first.ask(&root, "GET", "/api/v1/system", None).await.body;
    assert_eq!(status["alerts"][0]["acknowledged"]["by"], format!("uid:{}", 0));
    let request = Request::builder().uri("/metrics").body(Body::empty()).unwrap();
    let page = metrics_router(array.clone(), Arc::clone(&first.desk)).oneshot(request).await.unwrap().into_body();
    let page = String::from_utf8(page.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let row = r#"windlass_alert_active{alert="sign-in-failed",severity="warning",acknowledged="true"} 1"#;
    assert!(page.contains(row), "{page}");
    drop((first, array));

    // The next process has another array in memory, with the same alert.
    let (second, array) = plane(directory);
    set_alert(&array, Some("many")).await;
    second.desk.show(&array).await;
    let listed = second.ask(&root, "GET", ALERTS, None).await.body;
    assert_eq!(listed["items"][0]["acknowledged"], made.body["acknowledged"]);
    let id = listed["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(second.ask(&root, "DELETE", &format!("{ALERTS}/{id}/acknowledgement"), None).await.status, 204);
    assert_eq!(second.ask(&root, "GET", ALERTS, None).await.body["items"][0]["acknowledged"], Value::Null);
    let audit = second.ask(&root, "GET", "/api/v1/audit", None).await.body.to_string();
    assert!(audit.contains("alert_acknowledge") && audit.contains("alert_unacknowledge"), "{audit}");
}

/// Ended alerts survive a restart, have parts and an order, and are no error of the other states.
#[tokio::test]
async fn alerts_are_listed_by_their_state() {
    let directory = TemporaryDirectory::new();
    let (first, array) = plane(directory.clone());
    let root = Author::root();
    let states = async |plane: &Plane, query: &str| {
        let listed = plane.ask(&root, "GET", &format!("{ALERTS}?{query}"), None).await.body;
        let codes = listed["items"].as_array().unwrap().iter().map(|alert| alert["code"].as_str().unwrap().to_owned());
        (codes.collect::<Vec<_>>(), listed)
    };
    let now = Timestamp::now();
    let other = Alert { code: "clock-ahead".to_owned(), severity: Severity::Warning, ..alert() };
    look(&first.desk, &[alert(), other], now).await;
    look(&first.desk, &[], now).await;
    look(&first.desk, &[], now + SignedDuration::from_secs(15)).await;
    set_alert(&array, Some("many")).await;
    assert_eq!(states(&first, "state=active").await.0, ["sign-in-failed"]);
    assert_eq!(states(&first, "state=acknowledged").await.0, [""; 0]);
    let path = format!("{ALERTS}/sign-in-failed/acknowledgement");
    assert_eq!(first.ask(&root, "POST", &path, Some(json!({}))).await.status, 200);
    assert_eq!(states(&first, "state=active").await.0, [""; 0]);
    assert_eq!(states(&first, "state=acknowledged").await.0, ["sign-in-failed"]);
    assert_eq!(first.ask(&root, "GET", &format!("{ALERTS}?state=old"), None).await.status, 400);
    drop((first, array));

    let (second, _array) = plane(directory);
    assert_eq!(states(&second, "state=ended&sort=-severity").await.0, ["pool-full", "clock-ahead"]);
    let (part, listed) = states(&second, "state=ended&sort=severity&limit=1").await;
    assert_eq!((part, &listed["total"]), (vec!["clock-ahead".to_owned()], &json!(2)));
    assert!(listed["next"].as_str().unwrap().contains("state=ended"), "{listed}");
    let ended = states(&second, "state=ended&q=pool-full").await.1;
    assert_eq!(ended["items"][0]["since"], "1970-01-01T00:00:00Z");
    assert!(ended["items"][0]["ended"].is_string(), "{ended}");
}

/// The whole way: the alert of the array, the task, the message, and what the list says of it.
#[tokio::test]
async fn an_alert_arrives_and_the_list_says_so() {
    let (plane, array) = plane(TemporaryDirectory::new());
    let (socket, settings) = receiver().await;
    let body = json!({ "name": "siem", "settings": settings });
    assert_eq!(plane.ask(&Author::root(), "POST", CHANNELS, Some(body)).await.status, 201);
    let test = plane.ask(&Author::root(), "POST", &format!("{CHANNELS}/siem/test"), None).await;
    assert_eq!(test.body["outcome"], "sent", "{}", test.body);
    assert!(receive(&socket).await.contains(" test - "));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let end = async { drop(stopped.await) };
    let task = tokio::spawn(run(Arc::clone(&plane.desk), array.clone(), end));
    set_alert(&array, Some("many")).await;
    let text = receive(&socket).await;
    assert!(text.contains(" raised ") && text.contains(r#"code="sign-in-failed" subject="array""#), "{text}");
    loop {
        let alerts = array.read(AlertList).await.unwrap();
        let told = alerts[0].note.as_ref().and_then(|note| note.told.first());
        if told.is_some_and(|told| told.channel == "siem" && told.state == control::ToldState::Sent) {
            let _running = stop.send(());
            task.await.unwrap();
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_was_told_survives_a_restart_between_beginning_and_end() {
    let directory = TemporaryDirectory::new();
    let now = Timestamp::now();
    let first = desk(&directory);
    let new = || notification::NewChannel {
        id: Uuid::new_v4(),
        name: "ops".to_owned(),
        settings: serde_json::from_value(json!({ "kind": "syslog", "server": "192.0.2.1" })).unwrap(),
        min_severity: Severity::Warning,
        codes: Vec::new(),
        quiet_hours: None,
        enabled: true,
    };
    let made: Result<(), NotChanged> =
        first.change(|notices| notices.create_channel(new(), now).map_err(|_| NotChanged)).await;
    assert!(made.is_ok());
    let due = look(&first, &[alert()], now).await;
    end(&first, &due[0], Ok("250 ok"), now).await;
    assert!(look(&first, &[alert()], now).await.is_empty());
    drop(first);

    let second = desk(&directory);
    assert!(look(&second, &[alert()], now).await.is_empty(), "it is told once");
    look(&second, &[], now).await;
    drop(second);

    let third = desk(&directory);
    let later = now + SignedDuration::from_secs(60);
    look(&third, &[], now).await;
    let due = look(&third, &[], later).await;
    let kinds: Vec<_> = due.iter().flat_map(|of| &of.message.notices).map(|notice| notice.kind).collect();
    assert_eq!(kinds, [notification::Kind::Cleared]);
    drop(third);

    // That process ended before it knew the result.
    let fourth = desk(&directory);
    let again = look(&fourth, &[], later).await;
    assert_eq!(again[0].message, due[0].message, "with the same identity");
    end(&fourth, &again[0], Ok("250 ok"), later).await;
    drop(fourth);

    let fifth = desk(&directory);
    assert!(look(&fifth, &[], later).await.is_empty());
    assert_eq!(fifth.see(|notices| notices.conditions().count()), 0);
}

struct NotChanged;

impl From<Unavailable> for NotChanged {
    fn from(_: Unavailable) -> Self {
        Self
    }
}

#[tokio::test]
async fn a_failing_channel_is_an_event_and_an_alert_until_it_works() {
    let directory = TemporaryDirectory::new();
    let (plane, array) = plane(directory.clone());
    let (_socket, settings) = receiver().await;
    let body = json!({ "name": "siem", "settings": settings });
    assert_eq!(plane.ask(&Author::root(), "POST", CHANNELS, Some(body)).await.status, 201);
    plane.desk.show(&array).await;
    let now = Timestamp::now();
    let due = look(&plane.desk, &[alert()], now).await;
    for seconds in 0..3 {
        let at = now + SignedDuration::from_secs(seconds);
        end(&plane.desk, &due[0], Err("the peer said \r\nno"), at).await;
    }
    plane.desk.show(&array).await;
    let failing = async || {
        let alerts = array.read(AlertList).await.unwrap();
        alerts.into_iter().filter(|alert| alert.code == "notification-failing").map(|alert| alert.message).next()
    };
    assert_eq!(failing().await.as_deref(), Some("the channel siem does not work: the peer said \r\nno"));
    let code = Some("notification-failing".to_owned());
    let filter = EventFilter { code, ..EventFilter::default() };
    let events = array.read(EventList { since: None, filter, limit: 10 }).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(plane.desk.see(Notices::failures), [("siem".to_owned(), 3)]);
    let told = plane.desk.see(|notices| notices.conditions().next().unwrap().told.values().next().unwrap().outcome);
    assert_eq!(told, NoticeState::Failed);
    let test = plane.ask(&Author::root(), "POST", &format!("{CHANNELS}/siem/test"), None).await;
    assert_eq!(test.body["outcome"], "sent");
    plane.desk.show(&array).await;
    assert_eq!(failing().await, None);
}

/// The file of a release that knew no channels, and one with a record that cannot be read.
#[tokio::test]
async fn an_earlier_file_opens_and_a_damaged_one_keeps_people_working() {
    let directory = TemporaryDirectory::new();
    let path = directory.path().join("management.redb");
    let records: TableDefinition<'_, &str, &str> = TableDefinition::new("records");
    let database = redb::Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(records).unwrap().insert("settings", r#"{"bootstrap_deleted":true}"#).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let (first, _array) = plane(directory.clone());
    assert_eq!(first.ask(&Author::root(), "GET", CHANNELS, None).await.status, 200);
    assert!(first.gate.see(identity::People::bootstrap_is_deleted));
    drop(first);

    let ours: TableDefinition<'_, &str, &str> = TableDefinition::new("notification");
    let database = redb::Database::create(&path).unwrap();
    assert_eq!(database.begin_read().unwrap().open_table(ours).unwrap().iter().unwrap().count(), 0);
    let transaction = database.begin_write().unwrap();
    transaction.open_table(ours).unwrap().insert("channel/x", "{}").unwrap();
    transaction.commit().unwrap();
    drop(database);
    let (second, array) = plane(directory);
    let root = Author::root();
    assert_eq!(second.ask(&root, "GET", CHANNELS, None).await.code(), (503, "notification-unavailable"));
    let body = json!({ "name": "siem", "settings": { "kind": "syslog", "server": "192.0.2.1" } });
    assert_eq!(second.ask(&root, "POST", CHANNELS, Some(body)).await.code(), (503, "notification-unavailable"));
    assert_eq!(second.ask(&root, "GET", "/api/v1/users", None).await.status, 200);
    second.desk.show(&array).await;
    let alerts = array.read(AlertList).await.unwrap();
    assert_eq!(alerts.first().map(|alert| alert.code), Some("notification-failing"));
}
