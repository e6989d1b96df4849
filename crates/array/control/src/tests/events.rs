use super::Array;
use crate::*;
use futures_executor::block_on;
use pool::{Catalog, PoolError};

fn list(array: &Array, since: Option<u64>, limit: usize) -> Vec<Event> {
    array.run(EventList { since, filter: EventFilter::default(), limit }).unwrap()
}

#[test]
fn every_change_is_told_once_and_failures_are_not() {
    let array = Array::new();
    array.create("v1");
    let again = VolumeCreate { name: "v1".to_owned(), size_bytes: Some(1 << 30), ..VolumeCreate::default() };
    array.run(again).unwrap();
    array.run(VolumeList::default()).unwrap();
    array.code(VolumeDelete { volume: "v2".to_owned(), now: true, ..VolumeDelete::default() });
    array.run(VolumeDelete { volume: "v1".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    let codes: Vec<String> = list(&array, None, 100).into_iter().map(|event| event.code).collect();
    assert_eq!(codes, ["array-started", "volume-created", "volume-deleted"]);
}

#[test]
fn a_list_is_narrowed_by_severity_kind_object_and_time() {
    let array = Array::new();
    array.create("v1");
    array.create("v10");
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "s".to_owned() }).unwrap();
    array.catalog.full_below.set(true);
    block_on(array.control.look());
    let codes = |filter: EventFilter| {
        let events = array.run(EventList { since: None, filter, limit: 2 }).unwrap();
        events.into_iter().map(|event| event.code).collect::<Vec<_>>()
    };
    let severity = |severity| EventFilter { severity: Some(severity), ..EventFilter::default() };
    // The limit of two applies after the filter, not before it.
    assert_eq!(codes(EventFilter::default()), ["snapshot-created", "below-full"]);
    assert_eq!(codes(severity(Severity::Warning)), ["below-full"]);
    assert_eq!(codes(severity(Severity::Info)).len(), 2);
    let code = |code: &str| EventFilter { code: Some(code.to_owned()), ..EventFilter::default() };
    assert_eq!(codes(code("volume-created")), ["volume-created", "volume-created"]);
    let subject = |subject: &str| EventFilter { subject: Some(subject.to_owned()), ..EventFilter::default() };
    assert_eq!(codes(subject("v1")), ["volume-created", "snapshot-created"]);
    assert_eq!(codes(EventFilter { subject: Some("v1".to_owned()), ..code("snapshot-created") }), ["snapshot-created"]);
    let last = list(&array, None, 1)[0].time;
    let from = |from| EventFilter { from: Some(from), ..EventFilter::default() };
    assert_eq!(codes(from(last)), ["below-full"]);
    assert_eq!(codes(from(last.checked_add(jiff::SignedDuration::from_millis(1)).unwrap())), [""; 0]);
    // The filter also applies with a first number.
    let first = EventList { since: Some(0), filter: subject("v10"), limit: 1 };
    assert_eq!(array.run(first).unwrap()[0].subject, "v10");
}

/// Regression: a misspelt code was accepted and found nothing.
#[test]
fn a_list_of_an_unknown_kind_is_refused() {
    let array = Array::new();
    let of = |code: &str| EventFilter { code: Some(code.to_owned()), ..EventFilter::default() };
    let error = array.run(EventList { since: None, filter: of("nonsense"), limit: 2 }).unwrap_err();
    assert_eq!((error.code(), error.class()), ("invalid-setting", Class::Invalid));
    assert!(
        error.to_string().starts_with("no event has the code \"nonsense\": the codes are access-granted, "),
        "{error}"
    );
    assert_eq!(array.run(EventList { since: None, filter: of("pool-full"), limit: 2 }).unwrap(), []);
}

#[test]
fn numbers_go_on_after_a_stop_and_with_a_gap_after_a_crash() {
    let array = Array::new();
    array.create("v1");
    let before = list(&array, None, 1)[0].clone();
    let crashed = Array::over(array.catalog.clone()).unwrap();
    let started = list(&crashed, None, 1)[0].clone();
    assert!(started.id > before.id + 1000, "{started:?}");
    block_on(crashed.control.close());
    let stopped = list(&crashed, None, 1)[0].id;
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(list(&again, None, 1)[0].id, stopped + 1);
    let later = list(&again, Some(started.id), 10);
    assert_eq!(later.iter().map(|event| event.code.as_str()).collect::<Vec<_>>(), ["array-stopped", "array-started"]);
    assert_eq!(list(&again, Some(started.id), 1)[0].id, stopped);
}

#[test]
fn the_newest_fit_in_a_document() {
    let array = Array::new();
    for at in 0..400 {
        let name = format!("{at:0>63}");
        let action = SnapshotCreate { volume: "v1".to_owned(), name };
        if at == 0 {
            array.create("v1");
        }
        array.run(action).unwrap();
    }
    block_on(array.control.close());
    let document = array.catalog.document("events").unwrap();
    assert!(document.len() < 64 << 10, "{}", document.len());
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(list(&again, None, 10_000).len(), 201);
}

#[test]
fn a_pool_that_stopped_is_told_once() {
    let array = Array::new();
    array.live.stopped.replace(Some("write failed".to_owned()));
    array.catalog.fail_next.replace(Some(PoolError::Stopped("write failed".to_owned())));
    block_on(array.control.look());
    block_on(array.control.look());
    let stopped = list(&array, None, 100).into_iter().filter(|event| event.code == "pool-stopped").count();
    assert_eq!(stopped, 1);
    let alerts = array.run(AlertList).unwrap();
    assert_eq!(alerts[0].message, "write failed");
}

/// A host with a wrong secret, which tries again and again, is one event in a while.
#[test]
fn refused_logins_are_events_at_a_bounded_rate() {
    let array = Array::new();
    let told = || {
        let filter = EventFilter { code: Some("login-refused".to_owned()), ..EventFilter::default() };
        let events = array.run(EventList { since: None, filter, limit: 10 }).unwrap();
        events.into_iter().map(|event| (event.severity, event.subject, event.message)).collect::<Vec<_>>()
    };
    let refuse = |count| {
        let (initiator, peer) = ("iqn.2026-01.org.example:h".to_owned(), ([192, 0, 2, 7], 5000).into());
        array.live.refused_logins.replace(Some(RefusedLogins { count, initiator, peer, reason: "wrong CHAP secret" }));
        block_on(array.control.look());
    };
    block_on(array.control.look());
    assert_eq!(told(), []);
    refuse(1);
    let message = "login of iqn.2026-01.org.example:h from 192.0.2.7 refused: wrong CHAP secret";
    let event = |message: String| (Severity::Warning, "iqn.2026-01.org.example:h".to_owned(), message);
    assert_eq!(told(), [event(message.to_owned())]);
    refuse(2);
    refuse(5);
    assert_eq!(told().len(), 1);
    // The clock of the test advances by a millisecond at each read.
    (0..600_000).for_each(|_| _ = array.environment.monotonic());
    block_on(array.control.look());
    let more = format!("{message}; 5 logins were refused since the last such event");
    assert_eq!(told(), [event(message.to_owned()), event(more)]);
}
