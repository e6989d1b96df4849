//! Users, tokens, sign-ins and the set-up, over the guarded management plane.

use crate::http::cookie;
use crate::http::peer::Peer;
use crate::http::{Surroundings, guarded};
use crate::memory::{TemporaryDirectory, spawn};
use crate::notices::Desk;
use crate::people::{Gate, NotSignedIn};
use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use axum::{Extension, Router};
use http_body_util::BodyExt;
use identity::{NewUser, PasswordHash, People, Role};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;
use uuid::Uuid;

/// Password of every user of these tests.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// Management plane of an array in memory.
pub(crate) struct Plane {
    pub(crate) app: Router,
    pub(crate) gate: Arc<Gate>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) directory: TemporaryDirectory,
}

/// Author of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Author {
    /// User of a process on the administrative socket.
    pub(crate) uid: Option<u32>,
    /// Address; 192.0.2.1 if it is not given.
    pub(crate) address: Option<&'static str>,
    /// Token.
    pub(crate) token: Option<String>,
    /// Cookie of a sign-in.
    pub(crate) cookie: Option<String>,
    /// Further headers.
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// Answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn code(&self) -> (u16, &str) {
        (self.status, self.body["code"].as_str().unwrap_or_default())
    }
}

impl Author {
    pub(crate) fn root() -> Self {
        Self { uid: Some(0), ..Self::default() }
    }

    pub(crate) fn with_token(token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..Self::default() }
    }

    /// Page of the array in a browser that has signed in.
    pub(crate) fn page(cookie: &str) -> Self {
        let headers = vec![
            ("origin", "https://192.0.2.9:8443".to_owned()),
            ("sec-fetch-site", "same-origin".to_owned()),
            ("windlass-csrf", cookie::csrf(cookie)),
        ];
        Self { cookie: Some(cookie.to_owned()), headers, ..Self::default() }
    }
}

impl Plane {
    pub(crate) async fn new() -> Self {
        Self::at(TemporaryDirectory::new()).await
    }

    pub(crate) async fn at(directory: TemporaryDirectory) -> Self {
        let surroundings = Surroundings::of(directory.path(), false);
        surroundings.gate.prepare_https().await.unwrap();
        Self::with(surroundings, directory)
    }

    pub(crate) fn with(surroundings: Surroundings, directory: TemporaryDirectory) -> Self {
        let names = Some(vec!["array.example.org".to_owned()]);
        let (gate, desk) = (Arc::clone(&surroundings.gate), Arc::clone(&surroundings.desk));
        let app = guarded(spawn(|_, _, _| {}), Arc::default(), surroundings, names);
        Self { app, gate, desk, directory }
    }

    pub(crate) async fn ask(&self, author: &Author, method: &str, path: &str, body: Option<Value>) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        if !author.headers.iter().any(|(name, _)| *name == "host") {
            request = request.header(header::HOST, "192.0.2.9:8443");
        }
        for (name, value) in &author.headers {
            request = request.header(*name, value);
        }
        if let Some(token) = &author.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(value) = &author.cookie {
            request = request.header(header::COOKIE, format!("{}={value}", cookie::NAME));
        }
        let address = format!("{}:50000", author.address.unwrap_or("192.0.2.1"));
        let peer = author.uid.map_or_else(|| Peer::Remote(address.parse().unwrap()), |uid| Peer::Local { uid });
        let request = request.body(body.map_or(Body::empty(), |body| Body::from(body.to_string()))).unwrap();
        let app = self.app.clone().layer(Extension(peer));
        let response = app.oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let is_stream = head.headers.get(header::CONTENT_TYPE).is_some_and(|of| of == "text/event-stream");
        let bytes = if is_stream { Default::default() } else { body.collect().await.unwrap().to_bytes() };
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// Creates a user, who need not change the password.
    pub(crate) async fn user(&self, name: &str, role: &str) {
        let body = json!({ "name": name, "role": role, "password": PASSWORD, "must_change": false });
        let made = self.ask(&Author::root(), "POST", "/api/v1/users", Some(body)).await;
        assert_eq!(made.status, 201, "{}", made.body);
    }

    /// Signs in; returns the cookie.
    pub(crate) async fn sign_in(&self, name: &str) -> String {
        let body = json!({ "user": name, "password": PASSWORD });
        let answer = self.ask(&Author::default(), "POST", "/api/v1/sign-in", Some(body)).await;
        assert_eq!(answer.status, 204, "{}", answer.body);
        cookie_of(&answer)
    }

    /// Creates a token; returns its secret.
    pub(crate) async fn token(&self, name: &str, role: &str, scopes: Value) -> String {
        let body = json!({ "name": name, "role": role, "scopes": scopes });
        let made = self.ask(&Author::root(), "POST", "/api/v1/tokens", Some(body)).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.body["secret"].as_str().unwrap().to_owned()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(name)).unwrap().trim().to_owned()
    }
}

fn cookie_of(answer: &Answer) -> String {
    let line = answer.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(line.ends_with("; Secure; HttpOnly; SameSite=Strict"), "{line}");
    line.split([';', '=']).nth(1).unwrap().to_owned()
}

const VOLUMES: &str = "/api/v1/volumes";

#[tokio::test]
async fn a_remote_peer_needs_the_token_and_health_does_not() {
    let plane = Plane::new().await;
    let token = plane.file("admin.token");
    let stranger = Author::default();
    assert_eq!(plane.ask(&stranger, "GET", "/health", None).await.status, 200);
    let refused = plane.ask(&stranger, "GET", VOLUMES, None).await;
    assert_eq!((refused.status, refused.headers[header::WWW_AUTHENTICATE].to_str().unwrap()), (401, "Bearer"));
    assert_eq!(plane.ask(&stranger, "GET", "/metrics", None).await.status, 401);
    assert_eq!(plane.ask(&stranger, "GET", "/api/v1/nothing", None).await.status, 401);
    let right = Author::with_token(&token);
    assert_eq!(plane.ask(&right, "GET", VOLUMES, None).await.status, 200);
    assert_eq!(plane.ask(&right, "GET", "/api/v1/nothing", None).await.code(), (404, "no-such-resource"));
    assert_eq!(plane.ask(&right, "PUT", VOLUMES, None).await.code(), (405, "method-not-allowed"));
    let guess = Author::with_token("guess");
    for _ in 0..6 {
        assert_eq!(plane.ask(&guess, "GET", VOLUMES, None).await.status, 401);
    }
    let waiting = plane.ask(&guess, "GET", VOLUMES, None).await;
    assert_eq!(waiting.status, 429);
    assert!(waiting.headers.contains_key(header::RETRY_AFTER));
    let right = plane.ask(&right, "GET", VOLUMES, None).await;
    assert_eq!(right.status, 200, "the token is accepted in spite of an attacker at the same address");
}

/// The token of the first start is accepted after the second, until it is deleted by name.
#[tokio::test]
async fn the_bootstrap_token_survives_a_restart_and_not_its_deletion() {
    let first = Plane::new().await;
    let token = first.file("admin.token");
    assert_eq!(token.len(), "windlass_".len() + 64);
    let directory = first.directory.clone();
    drop(first);
    let second = Plane::at(directory.clone()).await;
    let author = Author::with_token(&token);
    let shown = second.ask(&author, "GET", "/api/v1/tokens/bootstrap", None).await;
    assert_eq!((&shown.body["role"], &shown.body["last_from"]), (&json!("admin"), &json!("192.0.2.1")));
    assert_eq!(second.ask(&author, "DELETE", "/api/v1/tokens/bootstrap", None).await.status, 204);
    assert_eq!(second.ask(&author, "GET", VOLUMES, None).await.status, 401);
    drop(second);
    let third = Plane::at(directory).await;
    assert_eq!(third.ask(&author, "GET", VOLUMES, None).await.status, 401);
    assert!(!third.directory.path().join("admin.token").exists());
}

#[tokio::test]
async fn a_user_signs_in_changes_and_signs_out() {
    let plane = Plane::new().await;
    plane.user("otto", "operator").await;
    let cookie = plane.sign_in("OTTO").await;
    let page = Author::page(&cookie);
    let state = plane.ask(&page, "GET", "/api/v1/sign-in", None).await.body;
    let csrf = cookie::csrf(&cookie);
    assert_eq!(
        state,
        json!({
            "kind": "user", "user": "otto", "role": "operator", "must_change": false, "csrf": csrf, "idle_seconds": 1800
        })
    );
    let process = plane.ask(&Author::root(), "GET", "/api/v1/sign-in", None).await.body;
    assert_eq!(process, json!({ "kind": "local", "user": "uid:0", "role": "admin", "must_change": false }));
    let volume = json!({ "name": "v1", "size_bytes": 1 << 20 });
    assert_eq!(plane.ask(&page, "POST", VOLUMES, Some(volume)).await.status, 201);
    let refused = plane.ask(&page, "GET", "/api/v1/users", None).await;
    assert_eq!(refused.code(), (403, "forbidden"));
    assert!(refused.body["detail"].as_str().unwrap().contains("needs the role admin"), "{}", refused.body);
    let listed = plane.ask(&Author::root(), "GET", "/api/v1/sign-ins", None).await.body;
    assert_eq!((&listed["items"][0]["user"], &listed["total"]), (&json!("otto"), &json!(1)));
    assert_eq!(plane.ask(&page, "DELETE", "/api/v1/sign-in", None).await.status, 204);
    assert_eq!(plane.ask(&page, "GET", VOLUMES, None).await.status, 401, "a replayed cookie");
}

/// A stream ends with the credentials of its holder.
#[tokio::test]
async fn credentials_that_end_do_not_stand() {
    use crate::people::Caller;
    let plane = Plane::new().await;
    plane.user("vera", "viewer").await;
    let from = "192.0.2.1".parse().unwrap();
    let secret = plane.token("t", "viewer", json!({})).await;
    let cookie = plane.sign_in("vera").await;
    let (token, user) =
        (plane.gate.by_token(&secret, from).unwrap(), plane.gate.by_cookie(&cookie, from, false).unwrap());
    assert!(plane.gate.stands(&token) && plane.gate.stands(&user) && plane.gate.stands(&Caller::local(0)));
    let root = Author::root();
    assert_eq!(plane.ask(&root, "DELETE", "/api/v1/tokens/t", None).await.status, 204);
    let lock = Some(json!({ "locked": true }));
    assert_eq!(plane.ask(&root, "PATCH", "/api/v1/users/vera", lock).await.body["locked"], json!(true));
    assert!(!plane.gate.stands(&token) && !plane.gate.stands(&user));
    assert_eq!(plane.ask(&Author::page(&cookie), "GET", VOLUMES, None).await.status, 401);
}

#[tokio::test]
async fn a_change_with_a_cookie_has_to_come_from_a_page_of_the_array() {
    let plane = Plane::new().await;
    plane.user("anna", "admin").await;
    let cookie = plane.sign_in("anna").await;
    let own = Author::page(&cookie);
    let volume = || Some(json!({ "name": "v1", "size_bytes": 1 << 20 }));
    let changed = |name: &'static str, value: Option<&str>| {
        let mut author = own.clone();
        author.headers.retain(|(header, _)| *header != name);
        author.headers.extend(value.map(|value| (name, value.to_owned())));
        author
    };
    for (name, value) in [
        ("windlass-csrf", None),
        ("windlass-csrf", Some("0123")),
        ("origin", None),
        ("origin", Some("https://evil.example.org")),
        ("origin", Some("null")),
        ("sec-fetch-site", Some("cross-site")),
        ("sec-fetch-site", Some("same-site")),
    ] {
        let refused = plane.ask(&changed(name, value), "POST", VOLUMES, volume()).await;
        assert_eq!(refused.code(), (403, "foreign-page"), "{name} {value:?}");
    }
    let foreign = plane.ask(&changed("host", Some("evil.example.org:8443")), "GET", VOLUMES, None).await;
    assert_eq!(foreign.code(), (403, "foreign-host"), "a name of others that leads here");
    let by_name = plane.ask(&changed("host", Some("Array.example.org:8443")), "GET", VOLUMES, None).await;
    assert_eq!(by_name.status, 200);
    assert_eq!(plane.ask(&own, "POST", VOLUMES, volume()).await.status, 201);
    let attempt = json!({ "user": "anna", "password": PASSWORD });
    let mut evil = Author { headers: vec![("origin", "https://evil.example.org".to_owned())], ..Author::default() };
    assert_eq!(plane.ask(&evil, "POST", "/api/v1/sign-in", Some(attempt.clone())).await.code(), (403, "foreign-page"));
    evil.headers = vec![("host", "evil.example.org".to_owned())];
    assert_eq!(plane.ask(&evil, "POST", "/api/v1/sign-in", Some(attempt)).await.code(), (403, "foreign-host"));
    let token = Author { headers: evil.headers, ..Author::with_token(&plane.file("admin.token")) };
    assert_eq!(plane.ask(&token, "GET", VOLUMES, None).await.status, 200, "no browser adds a token by itself");
}

#[tokio::test]
async fn guessing_a_password_gets_slower_for_the_address_and_the_name() {
    let plane = Plane::new().await;
    plane.user("anna", "admin").await;
    let wrong = |user: &str| Some(json!({ "user": user, "password": "wrong horse battery" }));
    let here = Author::default();
    for user in ["anna", "ANNA", "nobody", "anna", "anna", "anna", "anna"] {
        assert_eq!(plane.ask(&here, "POST", "/api/v1/sign-in", wrong(user)).await.code(), (401, "sign-in-refused"));
        if user == "anna" && plane.gate.stranger("192.0.2.1".parse().unwrap()) != crate::people::Denied::Unauthorized {
            break;
        }
    }
    let waiting = plane.ask(&here, "POST", "/api/v1/sign-in", wrong("nobody")).await;
    assert_eq!(waiting.code(), (429, "too-many-failures"));
    assert!(waiting.headers.contains_key(header::RETRY_AFTER));
    let there = Author { address: Some("198.51.100.7"), ..Author::default() };
    let other = plane.ask(&there, "POST", "/api/v1/sign-in", wrong("nobody")).await;
    assert_eq!(other.code(), (401, "sign-in-refused"), "another address and another name do not wait");
}

/// A client that left before the answer could guess as often as it wanted.
#[tokio::test]
async fn a_guess_counts_when_its_client_leaves() {
    let plane = Plane::new().await;
    let stranger = Author::default();
    let guess = Some(json!({ "user": "anna", "password": "wrong horse battery" }));
    let mut asked = Box::pin(plane.ask(&stranger, "POST", "/api/v1/sign-in", guess));
    assert!(futures_util::poll!(&mut asked).is_pending());
    drop(asked);
    let recorded = async || {
        let audit = plane.ask(&Author::root(), "GET", "/api/v1/audit?action=signin_begin", None).await.body;
        audit["items"].as_array().unwrap().len()
    };
    let until_recorded = async {
        while recorded().await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), until_recorded).await.is_ok());
}

#[tokio::test]
async fn a_user_who_must_change_the_password_can_do_nothing_else() {
    let plane = Plane::new().await;
    plane.user("anna", "admin").await;
    let body = json!({ "name": "vera", "role": "viewer", "password": PASSWORD });
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/users", Some(body)).await.status, 201);
    let page = Author::page(&plane.sign_in("vera").await);
    assert_eq!(plane.ask(&page, "GET", VOLUMES, None).await.code(), (403, "password-to-change"));
    assert_eq!(plane.ask(&page, "GET", "/api/v1/sign-in", None).await.body["must_change"], json!(true));
    let own = "/api/v1/users/vera/password";
    let set =
        |present: Option<&str>, password: &str| Some(json!({ "password": password, "present_password": present }));
    for (present, password, expected) in [
        (None, "another horse battery", (403, "wrong-password")),
        (Some("wrong horse battery"), "another horse battery", (401, "sign-in-refused")),
        (Some(PASSWORD), "short", (422, "weak-password")),
        (Some(PASSWORD), "vera vera vera vera", (422, "weak-password")),
    ] {
        assert_eq!(plane.ask(&page, "PUT", own, set(present, password)).await.code(), expected, "{password}");
    }
    let others = plane.ask(&page, "PUT", "/api/v1/users/anna/password", set(Some(PASSWORD), "another horse battery"));
    assert_eq!(others.await.code(), (403, "password-to-change"));
    let changed = plane.ask(&page, "PUT", own, set(Some(PASSWORD), "another horse battery")).await;
    assert_eq!(changed.status, 204, "{}", changed.body);
    assert_eq!(plane.ask(&page, "GET", VOLUMES, None).await.status, 401, "all sign-ins have ended");
    let again = json!({ "user": "vera", "password": "another horse battery" });
    let answer = plane.ask(&Author::default(), "POST", "/api/v1/sign-in", Some(again)).await;
    let page = Author::page(&cookie_of(&answer));
    assert_eq!(plane.ask(&page, "GET", VOLUMES, None).await.status, 200);
}

/// No race for the first visitor: the code is in a file of the owner.
#[tokio::test]
async fn the_first_admin_needs_the_code_and_there_is_one_only_once() {
    let plane = Plane::new().await;
    let stranger = Author::default();
    assert_eq!(plane.ask(&stranger, "GET", "/api/v1/setup", None).await.body, json!({ "needed": true }));
    let body = |code: &str| Some(json!({ "code": code, "user": "anna", "password": PASSWORD }));
    let wrong = plane.ask(&stranger, "POST", "/api/v1/setup", body("aaaa-bbbb-cccc-dddd")).await;
    assert_eq!(wrong.code(), (403, "wrong-setup-code"));
    let none = plane.ask(&stranger, "POST", "/api/v1/setup", Some(json!({ "user": "anna", "password": PASSWORD })));
    assert_eq!(none.await.code(), (403, "wrong-setup-code"));
    let first = plane.file("setup.code");
    let made = plane.ask(&Author::root(), "POST", "/api/v1/setup/code", None).await;
    assert_eq!((made.status, made.body["code"].as_str().unwrap()), (200, plane.file("setup.code").as_str()));
    assert_eq!(plane.ask(&stranger, "POST", "/api/v1/setup", body(&first)).await.status, 403, "replaced");
    let answer = plane.ask(&stranger, "POST", "/api/v1/setup", body(&plane.file("setup.code"))).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let page = Author::page(&cookie_of(&answer));
    assert_eq!(plane.ask(&page, "GET", "/api/v1/users/anna", None).await.body["role"], json!("admin"));
    assert!(!plane.directory.path().join("setup.code").exists());
    assert_eq!(plane.ask(&stranger, "GET", "/api/v1/setup", None).await.body, json!({ "needed": false }));
    assert_eq!(plane.ask(&stranger, "POST", "/api/v1/setup", body("x")).await.code(), (410, "set-up"));
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/setup/code", None).await.code(), (410, "set-up"));
    let last = plane.ask(&page, "DELETE", "/api/v1/users/anna", None).await;
    assert_eq!(last.code(), (409, "last-admin"));
}

#[tokio::test]
async fn people_survive_a_restart() {
    let plane = Plane::new().await;
    plane.user("vera", "viewer").await;
    let token = plane.token("csi", "operator", json!({ "volumes": "csi-*" })).await;
    let cookie = plane.sign_in("vera").await;
    plane.gate.tidy().await;
    let directory = plane.directory.clone();
    drop(plane);
    let plane = Plane::at(directory).await;
    assert_eq!(plane.ask(&Author::page(&cookie), "GET", VOLUMES, None).await.status, 200);
    assert_eq!(plane.ask(&Author::with_token(&token), "GET", "/api/v1/system", None).await.status, 200);
    let listed = plane.ask(&Author::root(), "GET", "/api/v1/tokens", None).await.body;
    let csi = &listed["items"].as_array().unwrap()[1];
    assert_eq!((&csi["created_by"], csi["prefix"].as_str().unwrap()), (&json!("uid:0"), token.get(..15).unwrap()));
    assert!(!listed.to_string().contains(&token), "the secret is shown once");
}

/// Story: the list of hosts told a token of other volumes about logins and refusals, which it may see nowhere else.
#[tokio::test]
async fn a_token_of_volumes_sees_no_standing_of_hosts() {
    let plane = Plane::new().await;
    let host = json!({ "name": "esx01", "iqns": ["iqn.1998-01.com.vmware:esx01"] });
    assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/hosts", Some(host)).await.status, 201);
    let token = plane.token("csi", "viewer", json!({ "volumes": "csi-*" })).await;
    for (author, warnings, primitives) in [(Author::root(), 1, 4), (Author::with_token(&token), 0, 0)] {
        let list = plane.ask(&author, "GET", "/api/v1/hosts", None).await.body;
        let one = plane.ask(&author, "GET", "/api/v1/hosts/esx01", None).await.body;
        for host in [&list["items"][0], &one] {
            let count = |field: &str| host[field].as_array().unwrap().len();
            assert_eq!((count("warnings"), count("primitives")), (warnings, primitives), "{host}");
        }
    }
}

/// A damaged store takes users and tokens away, and not the administrative socket.
#[tokio::test]
async fn a_damaged_store_leaves_the_socket() {
    let directory = TemporaryDirectory::new();
    std::fs::write(directory.path().join("management.redb"), vec![7; 100_000]).unwrap();
    let surroundings = Surroundings::of(directory.path(), false);
    assert!(surroundings.gate.prepare_https().await.is_err());
    let plane = Plane::with(surroundings, directory);
    assert_eq!(plane.ask(&Author::root(), "GET", VOLUMES, None).await.status, 200);
    let body = json!({ "name": "anna", "role": "admin", "password": PASSWORD });
    let refused = plane.ask(&Author::root(), "POST", "/api/v1/users", Some(body)).await;
    assert_eq!(refused.code(), (503, "people-unavailable"));
    assert_eq!(plane.ask(&Author::with_token("x"), "GET", VOLUMES, None).await.status, 401);
}

/// A change that was stored and not applied: a second set-up found no administrator.
#[tokio::test]
async fn what_is_stored_is_applied_when_the_caller_is_gone() {
    let plane = Plane::new().await;
    let password = PasswordHash::new(PASSWORD, "anna", [7; 16]).unwrap();
    let anna = NewUser { id: Uuid::new_v4(), name: "anna".to_owned(), role: Role::Admin, password, must_change: false };
    let mut change = Box::pin(plane.gate.change(move |people| people.set_up(anna, Timestamp::now())));
    assert!(futures_util::poll!(&mut change).is_pending());
    drop(change);
    // Waits until no change is being stored.
    plane.gate.change(|people| people.end_sign_in("none").or(Ok(Vec::new()))).await.unwrap();
    assert!(plane.gate.see(People::has_admin));
}

/// Guesses of the present password that began together were all compared.
#[tokio::test]
async fn guesses_side_by_side_are_counted_for_each_other() {
    let plane = Plane::new().await;
    plane.user("anna", "admin").await;
    let from = "192.0.2.1".parse().unwrap();
    let guesses = (0..16).map(|_| plane.gate.compare("anna", "wrong horse battery".to_owned(), from));
    let outcomes = futures_util::future::join_all(guesses).await;
    let wrong = outcomes.iter().filter(|outcome| matches!(outcome, Err(NotSignedIn::Wrong(_)))).count();
    assert!((1..=10).contains(&wrong), "{wrong} were compared");
}

/// A stream without events went on after the end of its token.
#[tokio::test]
async fn a_stream_without_topics_ends_with_its_token() {
    let directory = TemporaryDirectory::new();
    let surroundings = Surroundings::of(directory.path(), false);
    let (gate, array) = (Arc::clone(&surroundings.gate), spawn(|_, _, _| {}));
    tokio::spawn(array.clone().follow());
    let desk = Arc::clone(&surroundings.desk);
    let plane = Plane { app: guarded(array, Arc::default(), surroundings, None), gate, desk, directory };
    let secret = plane.token("t", "viewer", json!({})).await;
    let request = Request::builder().uri("/api/v1/live?topics=");
    let request = request.header(header::AUTHORIZATION, format!("Bearer {secret}")).body(Body::empty()).unwrap();
    let app = plane.app.clone().layer(Extension(Peer::Remote("192.0.2.1:50000".parse().unwrap())));
    let mut stream = app.oneshot(request).await.unwrap().into_body();
    assert!(stream.frame().await.is_some_and(|hello| hello.is_ok()));
    assert_eq!(plane.ask(&Author::root(), "DELETE", "/api/v1/tokens/t", None).await.status, 204);
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.collect()).await;
    assert!(ended.is_ok_and(|body| body.is_ok()));
}
