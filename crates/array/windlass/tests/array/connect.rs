//! Connecting a host: what the array sees of it, accepted or refused, and what is missing.

use crate::fixture::{Fixture, run};
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use initiator::Options;
use serde_json::Value;
use std::time::{Duration, Instant};

const HOST: &str = "iqn.2026-01.org.example:db1";
const SECRET: &str = "twelve-chars-and-more";
/// Time within which an attempt has to be seen.
const SEEN: Duration = Duration::from_secs(2);
/// Rounds until then: a machine that is busy with builds may delay a whole round.
const ROUNDS: usize = 5;

/// Options of a host with this initiator name.
fn named(name: &str) -> SessionOptions {
    SessionOptions { initiator_name: name.to_owned(), ..SessionOptions::default() }
}

/// Attempts until one is seen within two seconds.
#[track_caller]
fn seen_in_time(what: &str, mut attempt: impl FnMut(), mut is_seen: impl FnMut() -> bool) {
    for _ in 0..ROUNDS {
        attempt();
        let begun = Instant::now();
        while begun.elapsed() < SEEN {
            if is_seen() && begun.elapsed() < SEEN {
                return;
            }
        }
    }
    panic!("{what}: not within {SEEN:?} in {ROUNDS} rounds");
}

/// URL of a LUN at the array's portal, with CHAP if there is a secret.
fn url(fixture: &Fixture, secret: Option<&str>) -> Url {
    let portals = fixture.json(&["portal", "list"]);
    let (address, target) = (portals[0]["advertised"].as_str().unwrap(), portals[0]["target"].as_str().unwrap());
    let chap = secret.map_or_else(String::new, |secret| format!("db1%{secret}@"));
    format!("iscsi://{chap}{address}/{target}/4").parse().unwrap()
}

/// Login attempts under a name, as outcome and host.
fn attempts(fixture: &Fixture, name: &str) -> Vec<(String, Option<String>)> {
    let rows = fixture.json(&["session", "logins"]);
    let of_name = rows.as_array().unwrap().iter().filter(|row| row["initiator"] == name && row["discovery"] == false);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    of_name.map(|row| (text(&row["outcome"]).unwrap(), text(&row["host"]))).collect()
}

fn state(fixture: &Fixture) -> Value {
    let answer = fixture.get("/api/v1/connect/state?host=db1&volume=data");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn missing(fixture: &Fixture) -> Vec<String> {
    let state = state(fixture);
    state["missing"].as_array().unwrap().iter().map(|row| row["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_host_is_followed_from_its_first_refusal_to_its_first_write() {
    let fixture = Fixture::start("256M", &[]);
    let secret = fixture.directory().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let source = format!("file:{}", secret.display());
    fixture.ok(&["volume", "create", "data", "--size", "16M"]);

    // An unknown name, in a session and in discovery, which shows it nothing.
    let stranger = "iqn.2026-01.org.example:stranger";
    let plain = url(&fixture, None);
    let has = |name: &str, outcome: &str, host: Option<&str>| {
        attempts(&fixture, name).contains(&(outcome.to_owned(), host.map(str::to_owned)))
    };
    seen_in_time(
        "an unknown initiator",
        || assert!(Session::connect(&plain, &named(stranger)).is_err()),
        || has(stranger, "unknown-initiator", None),
    );
    fixture.ok(&["host", "create", "db1", "--iqn", HOST, "--chap-user", "db1", "--chap-secret", &source]);
    assert_eq!(missing(&fixture), ["grant", "login"]);

    // A wrong secret.
    seen_in_time(
        "a wrong secret",
        || assert!(Session::connect(&url(&fixture, Some("not-this-secret")), &named(HOST)).is_err()),
        || has(HOST, "chap-failed", Some("db1")),
    );
    let watch = ["connect", "linux", "db1", "--volume", "data", "--watch", "--patience", "1s"];
    let refused = fixture.try_run(&watch);
    assert_eq!(refused.status.code(), Some(9), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains(&format!("refused  {HOST}")) && said.contains("is not granted to host db1"), "{said}");

    // The right one, and no volume.
    let proving = url(&fixture, Some(SECRET));
    seen_in_time(
        "a host without a volume",
        || drop(Session::connect(&proving, &named(HOST)).unwrap()),
        || has(HOST, "not-granted", Some("db1")),
    );
    fixture.ok(&["access", "grant", "data", "--host", "db1", "--lun", "4"]);

    // Discovery, login, size, pages, ATS and a write.
    let options = Options { initiator_name: HOST.to_owned(), ..Options::default() };
    let found = run(async { initiator::Session::discover(&proving, &options).await.unwrap() });
    assert_eq!(found.len(), 1);
    let mut session = Session::connect(&proving, &named(HOST)).unwrap();
    session.clear_unit_attentions().unwrap();
    assert_eq!(missing(&fixture), ["capacity"]);
    session.read_capacity().unwrap();
    session.inquiry(Some(0xb0)).unwrap();
    session.write16(0, vec![0x5a; 512].into()).unwrap();
    session.compare_and_write(0, &[0x5a; 512], &[0x5b; 512]).unwrap();
    let shown = state(&fixture);
    assert_eq!(shown["ready"], true, "{shown}");
    assert_eq!((&shown["lun"], &shown["discovery"]["outcome"]), (&4.into(), &"ok".into()), "{shown}");
    assert!(shown["asked"]["b0"].is_string() && shown["first_io"].is_string(), "{shown}");
    assert_eq!(shown["paths"].as_array().unwrap().len(), 1);
    let ats = &shown["primitives"][0];
    assert_eq!((&ats["name"], &ats["status"], &ats["announced"]), (&"ats".into(), &"supported".into(), &true.into()));
    assert_eq!(shown["primitives"][1]["status"], "unknown");
    let followed = fixture.try_run(&watch);
    assert_eq!(followed.status.code(), Some(0), "{followed:?}");
    let said = String::from_utf8_lossy(&followed.stderr).into_owned();
    assert!(said.contains("ATS works") && !said.contains("refused"), "{said}");
}

/// Names without end evict one another, and not what is known of a host.
#[test]
fn a_flood_of_names_leaves_the_attempts_of_a_host() {
    let fixture = Fixture::start("256M", &[]);
    fixture.ok(&["host", "create", "db1", "--iqn", HOST]);
    let place = url(&fixture, None);
    drop(Session::connect(&place, &named(HOST)).unwrap());
    for number in 0..1_100 {
        let name = format!("iqn.2026-01.org.example:flood-{number}");
        assert!(Session::connect(&place, &named(&name)).is_err());
    }
    let rows = fixture.json(&["session", "logins"]);
    assert_eq!(rows.as_array().unwrap().len(), 1024);
    assert_eq!(attempts(&fixture, HOST), [("not-granted".to_owned(), Some("db1".to_owned()))]);
}
