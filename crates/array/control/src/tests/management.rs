//! Conditions of the management plane.

use super::Array;
use crate::*;
use jiff::SignedDuration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each certificate has its own alert, which ends when another certificate is in use.
#[test]
fn certificates_that_end_soon_are_alerts() {
    let array = Array::new();
    let now = Environment::now(&*array.environment);
    let of = |of, days: i64| Certificate { of, ends: now + SignedDuration::from_hours(24 * days) };
    let siem = || CertificateUse::Channel("siem".to_owned());
    let alerts = |certificates| -> Vec<(&str, String, Severity)> {
        array.run(CertificatesSet { certificates }).unwrap();
        array.run(AlertList).unwrap().into_iter().map(|alert| (alert.code, alert.subject, alert.severity)).collect()
    };
    assert_eq!(alerts(vec![of(CertificateUse::Https, 31), of(siem(), 400)]), []);
    let both = alerts(vec![of(CertificateUse::Https, 29), of(siem(), 6)]);
    let expected = [("siem", Severity::Critical), ("REST and console", Severity::Warning)];
    assert_eq!(both, expected.map(|(subject, severity)| ("certificate-ends", subject.to_owned(), severity)));
    assert_eq!(array.run(AlertList).unwrap()[1].message.split(" ends on ").count(), 2);
    assert_eq!(alerts(vec![of(CertificateUse::Https, 300)]), []);
}

#[test]
fn a_condition_has_an_event_each_time_and_one_alert_while_it_holds() {
    let array = Array::new();
    let report = |event: Option<&str>, alert: Option<&str>| ManagementReport {
        condition: ManagementCondition::SignInFailed,
        event: event.map(str::to_owned),
        alert: alert.map(str::to_owned),
    };
    array.run(report(Some("one"), None)).unwrap();
    assert!(array.run(AlertList).unwrap().is_empty());
    array.run(report(Some("two"), Some("many"))).unwrap();
    let since = array.run(AlertList).unwrap()[0].since;
    array.run(report(None, Some("more"))).unwrap();
    let alerts = array.run(AlertList).unwrap();
    assert_eq!((alerts.len(), alerts[0].code, alerts[0].message.as_str()), (1, "sign-in-failed", "more"));
    assert_eq!(alerts[0].since, since, "it holds since its first report");
    array.run(report(None, None)).unwrap();
    assert!(array.run(AlertList).unwrap().is_empty());
    let code = Some("sign-in-failed".to_owned());
    let list = EventList { since: None, filter: EventFilter { code, ..EventFilter::default() }, limit: 10 };
    let messages: Vec<String> = array.run(list).unwrap().into_iter().map(|event| event.message).collect();
    assert_eq!(messages, ["one", "two"]);
}

/// The alert appears while it is marked, and afterwards without.
#[test]
fn alerts_carry_what_the_management_plane_knows_of_them() {
    let array = Array::new();
    let alert = Some("the channel ops cannot be told".to_owned());
    let report = ManagementReport { condition: ManagementCondition::NotificationFailing, event: None, alert };
    array.run(report).unwrap();
    let (channel, detail, time) = ("ops".to_owned(), "250 ok".to_owned(), jiff::Timestamp::UNIX_EPOCH);
    let told = AlertTold { channel, time, state: ToldState::Sent, detail };
    let note = AlertNote { told: vec![told], acknowledged: None };
    let key = |subject: &str| ("notification-failing".to_owned(), subject.to_owned());
    let notes = [(key("array"), Arc::new(note.clone())), (key("other"), Arc::default())];
    array.run(AlertNotesSet { notes: BTreeMap::from(notes) }).unwrap();
    let note_of = || array.run(AlertList).unwrap()[0].note.clone();
    assert_eq!(note_of().as_deref(), Some(&note));
    array.run(AlertNotesSet { notes: BTreeMap::new() }).unwrap();
    assert_eq!(note_of(), None);
}
