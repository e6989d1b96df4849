//! Tests of forwarding.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;
use crate::http::tests::people::{Author, Plane};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

/// Messages of one connection.
async fn received(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// Lines are sent once each and in order, also those that were written while the receiver or the array was away.
#[tokio::test]
async fn lines_are_forwarded_over_outages_and_restarts() {
    let plane = Plane::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let change = async |name: &str| {
        let body = json!({ "name": name, "size_bytes": 4096 });
        assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/volumes", Some(body)).await.status, 201);
    };
    change("before").await;
    let settings = json!({ "kind": "syslog", "server": "127.0.0.1", "port": port, "transport": "tcp", "audit": true });
    let body = json!({ "name": "log", "settings": settings });
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/channels", Some(body)).await.status, 201);
    let audit = Audit::of(plane.directory.path());
    let array = crate::memory::spawn(|_, _, _| {});
    let forward = || {
        let mut forward = Forward::new(Arc::clone(&plane.desk), audit.clone(), array.clone(), plane.directory.path());
        forward.state = state::read(&forward.path).unwrap();
        forward
    };
    let mut first = forward();
    first.turn().await;
    change("one").await;
    first.done = None;
    let (text, ()) = tokio::join!(received(&listener), first.turn());
    assert!(text.contains(" audit - \u{feff}{\"seq\":") && text.contains("one"), "{text}");
    assert!(!text.contains("\"before\""), "{text}");
    // The receiver goes; the array, too.
    drop(listener);
    change("two").await;
    first.done = None;
    first.turn().await;
    let told = async || {
        let alerts = array.read(control::AlertList).await.unwrap();
        alerts.into_iter().find(|alert| alert.code == "audit-not-forwarded").map(|alert| alert.message)
    };
    first.report(Instant::now()).await;
    assert_eq!(told().await, None, "once is none");
    first.report(Instant::now() + receiver::ALERT_AFTER).await;
    let words = told().await.unwrap();
    assert!(words.starts_with("the audit is not forwarded: cannot connect to 127.0.0.1"), "{words}");
    first.report(Instant::now()).await;
    assert_eq!(told().await, None, "it works again");
    drop(first);
    change("three").await;
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let mut second = forward();
    let (text, ()) = tokio::join!(received(&listener), second.turn());
    assert!(text.find("\"two\"") < text.find("\"three\"") && text.contains("\"two\""), "{text}");
    assert!(!text.contains("\"one\""), "{text}");
    // Lines that are gone are counted.
    let last = audit.last().await.unwrap();
    second.state.receivers[0].place = Place::behind(0);
    let names: Vec<_> = std::fs::read_dir(plane.directory.path().join("audit")).unwrap().collect();
    let old = names[0].as_ref().unwrap().path();
    let whole = std::fs::read_to_string(&old).unwrap();
    let rest: Vec<&str> = whole.lines().skip(4).collect();
    std::fs::write(old.with_file_name("2026-01-000000000005.jsonl"), rest.join("\n") + "\n").unwrap();
    std::fs::remove_file(&old).unwrap();
    second.done = None;
    let (text, ()) = tokio::join!(received(&listener), second.turn());
    assert!(text.contains("4 lines of the audit were removed before they could be forwarded"), "{text}");
    assert_eq!(second.state.receivers[0].place.seq, last);
}

/// An array whose audit goes to listeners of the test.
struct Receivers {
    plane: Plane,
    listeners: Vec<TcpListener>,
}

impl Receivers {
    async fn new() -> Self {
        let listeners =
            vec![TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
        Self { plane: Plane::new().await, listeners }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<serde_json::Value>, status: u16) {
        assert_eq!(self.plane.ask(&Author::root(), method, path, body).await.status, status, "{method} {path}");
    }

    /// A change that has a record in the audit.
    async fn change(&self, name: &str) {
        self.ask("POST", "/api/v1/volumes", Some(json!({ "name": name, "size_bytes": 4096 })), 201).await;
    }

    fn settings(&self, listener: usize) -> serde_json::Value {
        let port = self.listeners[listener].local_addr().unwrap().port();
        json!({ "kind": "syslog", "server": "127.0.0.1", "port": port, "transport": "tcp", "audit": true })
    }

    /// Forwarding of a running array to a channel to the first listener.
    async fn forward(&self) -> Forward {
        self.ask("POST", "/api/v1/channels", Some(json!({ "name": "log", "settings": self.settings(0) })), 201).await;
        let array = crate::memory::spawn(|_, _, _| {});
        let audit = Audit::of(self.plane.directory.path());
        let mut forward = Forward::new(Arc::clone(&self.plane.desk), audit, array, self.plane.directory.path());
        forward.turn().await;
        forward
    }

    /// One turn, and what a listener received in it.
    async fn turn(&self, forward: &mut Forward, listener: usize) -> String {
        forward.done = None;
        tokio::join!(received(&self.listeners[listener]), forward.turn()).0
    }
}

/// The record of the change that ends forwarding reaches the receiver, and what follows is not lost.
#[tokio::test]
async fn a_channel_that_is_disabled_or_sent_elsewhere_says_so_to_its_receiver() {
    let receivers = Receivers::new().await;
    let mut forward = receivers.forward().await;
    receivers.ask("PATCH", "/api/v1/channels/log", Some(json!({ "enabled": false })), 200).await;
    // Other lines are written before the receiver gets the record of this change.
    let last = forward.audit.last().await.unwrap();
    forward.state.follow(forward.channels(), last);
    receivers.change("hidden").await;
    let text = receivers.turn(&mut forward, 0).await;
    assert!(text.contains("channel_set") && !text.contains("\"hidden\""), "{text}");
    assert!(forward.state.receivers.is_empty());
    // What was written meanwhile follows, once, also after a restart.
    receivers.ask("PATCH", "/api/v1/channels/log", Some(json!({ "enabled": true })), 200).await;
    forward.state = state::read(&forward.path).unwrap();
    let text = receivers.turn(&mut forward, 0).await;
    assert!(text.contains("\"hidden\""), "{text}");
    assert_eq!(text.matches("channel_set").count(), 1, "{text}");
    let elsewhere = json!({ "settings": receivers.settings(1) });
    receivers.ask("PATCH", "/api/v1/channels/log", Some(elsewhere), 200).await;
    let (there, here) = tokio::join!(received(&receivers.listeners[1]), receivers.turn(&mut forward, 0));
    assert!(here.contains("channel_set") && there.contains("channel_set"), "{here}\n{there}");
    receivers.ask("DELETE", "/api/v1/channels/log", None, 204).await;
    let text = receivers.turn(&mut forward, 1).await;
    assert!(text.contains("channel_delete"), "{text}");
    assert!(forward.state.receivers.is_empty());
}

/// Lines that wait for one receiver do not wait for another.
#[tokio::test]
async fn a_receiver_that_does_not_answer_holds_up_no_other() {
    let receivers = Receivers::new().await;
    let mut forward = receivers.forward().await;
    // Its connection is accepted by the system, and nobody reads what is sent over TLS.
    let mut silent = receivers.settings(1);
    silent["transport"] = json!("tls");
    receivers.ask("POST", "/api/v1/channels", Some(json!({ "name": "silent", "settings": silent })), 201).await;
    receivers.turn(&mut forward, 0).await;
    receivers.change("one").await;
    forward.done = None;
    tokio::select! {
        text = received(&receivers.listeners[0]) => assert!(text.contains("\"one\""), "{text}"),
        () = forward.turn() => panic!("the silent receiver answered"),
    }
}
