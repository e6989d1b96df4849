//! Alerts from their beginning to their end.

use super::*;
use Severity::{Critical, Info, Warning};
use api::NoticeState;

#[test]
fn each_beginning_change_and_end_is_told_once() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-threshold", Warning);
    desk.seconds(100);
    assert_eq!(desk.told(), ["ops raised pool-threshold warning"]);
    assert_eq!(desk.telling("pool-threshold", "ops").outcome, NoticeState::Sent);
    assert_eq!(desk.telling("pool-threshold", "ops").detail, "250 ok");
    desk.raise("pool-threshold", Critical);
    desk.seconds(100);
    assert_eq!(desk.told(), ["ops changed pool-threshold critical"]);
    desk.clear("pool-threshold");
    desk.seconds(100);
    assert_eq!(desk.told(), ["ops cleared pool-threshold critical"]);
    assert_eq!(desk.notices.conditions().count(), 0, "nothing is kept of what has ended");
}

/// Story: a night with an alert; in the morning nobody saw that there had been one.
#[test]
fn what_has_ended_is_kept_with_what_was_told_of_it() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-threshold", Critical);
    desk.second();
    desk.acknowledge("pool-threshold", None);
    desk.clear("pool-threshold");
    desk.seconds(14);
    assert_eq!(desk.notices.ended_alerts().count(), 0, "it may return");
    desk.seconds(5);
    desk.restart();
    let ended: Vec<_> = desk.notices.ended_alerts().cloned().collect();
    let [end] = &ended[..] else { panic!("{ended:?}") };
    assert_eq!((end.code.as_str(), end.severity, end.ended > end.since), ("pool-threshold", Critical, true));
    assert_eq!(end.acknowledged.as_ref().map(|of| of.note.as_str()), Some("on it"));
    let told: Vec<_> = end.told.iter().map(|told| (told.channel.as_str(), told.outcome)).collect();
    assert_eq!(told, [("ops", NoticeState::Sent)]);
    // It goes after thirty days, and not before.
    let count = |desk: &Desk| desk.notices.ended_alerts().count();
    desk.now += SignedDuration::from_hours(30 * 24 - 1);
    desk.second();
    assert_eq!(count(&desk), 1);
    desk.now += SignedDuration::from_hours(1);
    desk.seconds(20);
    assert_eq!(count(&desk), 0);
}

#[test]
fn at_most_a_thousand_ends_are_kept_and_the_oldest_go() {
    let mut desk = Desk::new();
    for number in 0..1010 {
        desk.raise(&format!("alert-{number}"), Warning);
        if number % 101 == 100 {
            desk.second();
            desk.alerts.clear();
            desk.seconds(16);
        }
    }
    let ended: Vec<_> = desk.notices.ended_alerts().map(|end| end.code.as_str()).collect();
    assert_eq!(ended.len(), 1000);
    assert!(ended.contains(&"alert-1009") && ended.contains(&"alert-101"));
}

/// Another text of the same alert is no news: percentages change each second.
#[test]
fn another_text_is_not_told() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-threshold", Warning);
    desk.second();
    desk.told();
    desk.alerts[0].message = "81 %".to_owned();
    assert_eq!(desk.notices.observe(&desk.alerts, desk.now), []);
    desk.seconds(20);
    assert!(desk.told().is_empty());
}

#[test]
fn an_alert_that_returns_within_seconds_has_not_ended() {
    let mut desk = Desk::with_channel();
    for _ in 0..10 {
        desk.raise("sign-in-failed", Warning);
        desk.seconds(5);
        desk.clear("sign-in-failed");
        desk.seconds(14);
    }
    assert_eq!(desk.told(), ["ops raised sign-in-failed warning"]);
    desk.seconds(5);
    assert_eq!(desk.told(), ["ops cleared sign-in-failed warning"]);
}

#[test]
fn channels_choose_by_severity_and_code() {
    let mut desk = Desk::new();
    desk.channel("all", |new| new.min_severity = Info);
    desk.channel("worst", |new| new.min_severity = Critical);
    desk.channel("pool", |new| new.codes = vec!["pool-full".to_owned()]);
    desk.channel("off", |new| new.enabled = false);
    desk.raise("pool-full", Critical);
    desk.raise("clock-ahead", Warning);
    desk.raise("open-access", Info);
    desk.second();
    let mut told = desk.told();
    told.sort();
    let all = ["all raised clock-ahead warning", "all raised open-access info", "all raised pool-full critical"];
    assert_eq!(told, [&all[..], &["pool raised pool-full critical", "worst raised pool-full critical"]].concat());
}

/// Otherwise the alert would seem to be critical for ever.
#[test]
fn who_knows_of_an_alert_is_told_how_it_goes_on() {
    let mut desk = Desk::new();
    desk.channel("worst", |new| new.min_severity = Critical);
    desk.raise("pool-threshold", Warning);
    desk.second();
    assert!(desk.told().is_empty());
    desk.raise("pool-threshold", Critical);
    desk.second();
    desk.raise("pool-threshold", Warning);
    desk.second();
    desk.clear("pool-threshold");
    desk.seconds(20);
    let lines = ["raised pool-threshold critical", "changed pool-threshold warning", "cleared pool-threshold warning"];
    assert_eq!(desk.told(), lines.map(|line| format!("worst {line}")));
}

#[test]
fn quiet_hours_hold_back_what_is_not_critical() {
    let mut desk = Desk::new();
    let hours = QuietHours { from_minute: 720, until_minute: 725, zone: "UTC".to_owned() };
    desk.channel("ops", |new| new.quiet_hours = Some(hours));
    for code in ["pool-threshold", "schedule-late"] {
        desk.raise(code, Warning);
    }
    desk.raise("pool-full", Critical);
    desk.second();
    assert_eq!(desk.told(), ["ops raised pool-full critical"]);
    assert_eq!(desk.telling("pool-threshold", "ops").outcome, NoticeState::Quiet);
    // It ends in the same night: nobody is told of it.
    desk.clear("schedule-late");
    // The end of what was critical is told at once.
    desk.clear("pool-full");
    desk.seconds(298);
    assert_eq!(desk.told(), ["ops cleared pool-full critical"]);
    desk.seconds(5);
    assert_eq!(desk.told(), ["ops raised pool-threshold warning"]);
}

#[test]
fn a_restart_tells_nothing_twice_and_forgets_nothing() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-full", Critical);
    desk.raise("bad-blocks", Critical);
    desk.second();
    assert_eq!(desk.told().len(), 2);
    desk.restart();
    // Alerts appear one after another while the array starts.
    let alerts = std::mem::take(&mut desk.alerts);
    desk.seconds(10);
    desk.alerts = alerts;
    desk.seconds(30);
    assert!(desk.told().is_empty());
    // One ends while the array is off.
    desk.clear("pool-full");
    desk.restart();
    desk.now += SignedDuration::from_hours(5);
    desk.seconds(30);
    assert_eq!(desk.told(), ["ops cleared pool-full critical"]);
    desk.restart();
    desk.seconds(30);
    assert!(desk.told().is_empty());
}

/// The process ended between the plan of a message and its try, or during the try.
#[test]
fn a_restart_goes_on_with_messages_that_wait() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-full", Critical);
    let changes = desk.notices.observe(&desk.alerts, desk.now);
    desk.apply(changes);
    let changes = desk.notices.plan(desk.now, &mut || Uuid::from_u128(99));
    desk.apply(changes);
    let before = desk.notices.take_due(desk.now);
    assert_eq!(before.len(), 1);
    assert!(desk.notices.take_due(desk.now).is_empty(), "it is in flight");
    desk.restart();
    desk.seconds(30);
    assert_eq!(desk.sent[0].message.id, before[0].message.id, "a receiver can recognise it");
    assert_eq!(desk.told(), ["ops raised pool-full critical"]);
}

#[test]
fn what_is_acknowledged_is_not_told_again() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-threshold", Critical);
    desk.second();
    desk.acknowledge("pool-threshold", None);
    desk.told();
    desk.raise("pool-threshold", Warning);
    desk.seconds(100);
    assert!(desk.told().is_empty());
    desk.channel("late", |_| {});
    desk.seconds(100);
    assert!(desk.told().is_empty(), "also to a channel that does not know of it");
    // Only what was acknowledged is quiet, not what is worse.
    desk.raise("pool-threshold", Critical);
    desk.second();
    assert_eq!(desk.told(), ["late raised pool-threshold critical"]);
    assert!(desk.notices.conditions().all(|of| of.acknowledged.is_none()));
}

#[test]
fn the_end_of_what_is_acknowledged_is_told() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-full", Critical);
    desk.second();
    desk.acknowledge("pool-full", None);
    desk.told();
    desk.clear("pool-full");
    desk.seconds(20);
    assert_eq!(desk.told(), ["ops cleared pool-full critical"]);
    desk.raise("pool-full", Critical);
    desk.second();
    assert_eq!(desk.told(), ["ops raised pool-full critical"], "the next one is not acknowledged");
}

#[test]
fn an_acknowledgement_ends_in_time_or_by_hand() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-full", Critical);
    desk.second();
    desk.told();
    let until = desk.now + SignedDuration::from_secs(60);
    desk.acknowledge("pool-full", Some(until));
    desk.restart();
    desk.seconds(59);
    assert!(desk.told().is_empty());
    desk.seconds(30);
    assert_eq!(desk.told(), ["ops raised pool-full critical"], "a reminder, once");
    desk.acknowledge("pool-full", None);
    let changes = desk.notices.acknowledge(&desk.alerts[0], None).unwrap();
    desk.apply(changes);
    desk.raise("pool-full", Warning);
    desk.second();
    assert_eq!(desk.told(), ["ops changed pool-full warning"]);
}

#[test]
fn alerts_are_found_by_id_and_by_code_if_that_is_enough() {
    let mut desk = Desk::new();
    desk.raise("pool-full", Critical);
    let mut other = desk.alerts[0].clone();
    other.subject = "p1".to_owned();
    let id = alert_id("pool-full", "p1").to_string();
    assert_eq!(Notices::find(&desk.alerts, "pool-full").unwrap().subject, "p0");
    desk.alerts.push(other);
    assert_eq!(Notices::find(&desk.alerts, &id).unwrap().subject, "p1");
    assert_eq!(Notices::find(&desk.alerts, "pool-full").unwrap_err().code(), "ambiguous-name");
    assert_eq!(Notices::find(&desk.alerts, "bad-blocks").unwrap_err().code(), "not-found");
    assert_ne!(alert_id("a", "b"), alert_id("a", "c"));
}

#[test]
fn an_undone_change_is_not_told() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-threshold", Warning);
    desk.second();
    desk.told();
    desk.peer = Err("421 later".to_owned());
    desk.raise("pool-threshold", Critical);
    desk.second();
    assert_eq!(desk.told(), ["ops changed pool-threshold critical"], "one try");
    desk.raise("pool-threshold", Warning);
    desk.peer = Ok("250 ok".to_owned());
    desk.seconds(700);
    assert!(desk.told().is_empty(), "the peer knows of a warning, which it is");
    assert_eq!(desk.telling("pool-threshold", "ops").outcome, NoticeState::Sent);
}

#[test]
fn kinds_have_words() {
    assert_eq!([Kind::Raised, Kind::Changed, Kind::Cleared].map(Kind::name), ["raised", "changed", "cleared"]);
}
