//! Tries, digests, and peers that do not answer.

use super::*;
use crate::notices::NOTIFICATION_FAILING;
use Severity::{Critical, Warning};
use api::{ChannelSet, NoticeState};

#[test]
fn there_are_three_tries_with_growing_waits_in_ten_minutes() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("451 try later".to_owned());
    desk.raise("pool-full", Critical);
    let start = desk.now;
    let mut tries = Vec::new();
    for _ in 0..4000 {
        desk.second();
        let at = desk.now.duration_since(start).as_secs() - 1;
        tries.extend(desk.told().iter().map(|_| at));
        if tries.len() == 2 {
            assert_eq!(desk.telling("pool-full", "ops").outcome, NoticeState::Queued);
            assert!(desk.notices.failing().is_empty());
        }
    }
    assert_eq!(tries, [0, 120, 510]);
    let last_end = 510 + 3 * i64::try_from(crate::TIME_LIMIT.as_secs()).unwrap();
    assert!(last_end <= 600, "tries that take their whole time end within ten minutes");
    let telling = desk.telling("pool-full", "ops");
    assert_eq!((telling.outcome, telling.detail.as_str()), (NoticeState::Failed, "451 try later"));
    assert_eq!(desk.notices.failing().len(), 1);
    let last = desk.notices.channel("ops").unwrap().last.clone().unwrap();
    assert_eq!((last.outcome, last.detail.as_str()), (NoticeState::Failed, "451 try later"));
}

#[test]
fn a_later_try_succeeds_once() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("451 try later".to_owned());
    desk.raise("pool-full", Critical);
    desk.second();
    desk.peer = Ok("250 ok".to_owned());
    desk.restart();
    desk.seconds(700);
    assert_eq!(desk.told().len(), 2, "the try that failed, and the one that did not");
    assert_eq!(desk.telling("pool-full", "ops").outcome, NoticeState::Sent);
    assert!(desk.notices.failing().is_empty());
}

#[test]
fn a_peer_that_never_knew_of_an_alert_is_not_told_of_its_end() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("down".to_owned());
    desk.raise("pool-full", Critical);
    desk.second();
    desk.clear("pool-full");
    desk.peer = Ok("250 ok".to_owned());
    desk.seconds(700);
    assert_eq!(desk.told(), ["ops raised pool-full critical"], "the try that failed");
    assert_eq!(desk.notices.conditions().count(), 0);
    let ended = desk.notices.ended_alerts().count();
    assert_eq!((desk.notices.records().len(), ended), (2, 1), "the channel and the end; no message is left");
}

#[test]
fn a_channel_that_works_again_is_told_what_it_missed() {
    for by_test in [true, false] {
        let mut desk = Desk::with_channel();
        desk.raise("bad-blocks", Critical);
        desk.second();
        desk.told();
        desk.peer = Err("down".to_owned());
        desk.raise("pool-full", Critical);
        desk.clear("bad-blocks");
        desk.seconds(700);
        desk.told();
        assert_eq!(desk.notices.failing().len(), 1);
        desk.peer = Ok("250 ok".to_owned());
        desk.seconds(700);
        assert!(desk.told().is_empty());
        if by_test {
            let id = desk.notices.channel("ops").unwrap().id;
            let changes = desk.notices.tested(id, &desk.peer, desk.now);
            desk.apply(changes);
        } else {
            desk.raise("schedule-late", Warning);
        }
        desk.seconds(2);
        assert!(desk.notices.failing().is_empty());
        let mut told = desk.told();
        told.retain(|line| !line.contains("schedule-late"));
        told.sort();
        assert_eq!(told, ["ops cleared bad-blocks critical", "ops raised pool-full critical"], "{by_test}");
    }
}

#[test]
fn a_failed_test_is_kept_and_is_no_alarm() {
    let mut desk = Desk::with_channel();
    let id = desk.notices.channel("ops").unwrap().id;
    let changes = desk.notices.tested(id, &Err("550 no such user".to_owned()), desk.now);
    desk.apply(changes);
    let channel = desk.notices.channel("ops").unwrap();
    assert_eq!(channel.last.as_ref().unwrap().detail, "550 no such user");
    assert!(desk.notices.failing().is_empty());
}

/// The alert about a channel cannot be sent over it.
#[test]
fn a_failing_channel_is_not_told_that_it_fails() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("down".to_owned());
    desk.raise("pool-full", Critical);
    desk.seconds(700);
    desk.told();
    desk.channel("other", |_| {});
    desk.raise(NOTIFICATION_FAILING, Warning);
    desk.peer = Ok("250 ok".to_owned());
    desk.second();
    let told = desk.told();
    assert_eq!(told, ["other raised pool-full critical", "other raised notification-failing warning"]);
}

#[test]
fn more_than_twenty_in_a_minute_are_one_digest() {
    let mut desk = Desk::with_channel();
    for number in 0..20 {
        desk.raise(&format!("code-{number}"), Warning);
    }
    desk.second();
    assert_eq!(desk.told().len(), 20);
    desk.raise("code-20", Warning);
    desk.second();
    assert_eq!(desk.told(), ["ops raised code-20 warning"], "the digest of one");
    for number in 21..150 {
        desk.raise(&format!("code-{number}"), Warning);
        desk.seconds(u32::from(number == 21));
    }
    desk.seconds(57);
    assert!(desk.told().is_empty(), "they wait for the minute after the digest");
    desk.seconds(5);
    assert_eq!(desk.told(), ["ops digest 129"]);
    let telling = desk.telling("code-149", "ops");
    assert_eq!(telling.outcome, NoticeState::Sent, "also of those for which the digest had no room");
    desk.seconds(600);
    assert!(desk.told().is_empty());
    desk.alerts.clear();
    desk.seconds(200);
    assert_eq!(desk.told(), ["ops digest 150"]);
}

#[test]
fn a_digest_is_of_bounded_size() {
    let mut desk = Desk::with_channel();
    for number in 0..1000 {
        desk.raise(&format!("code-{number}"), Warning);
    }
    desk.second();
    let message = &desk.sent[0].message;
    assert_eq!((message.notices.len(), message.left_out), (100, 900));
}

#[test]
fn one_message_of_a_channel_is_in_flight() {
    let mut desk = Desk::with_channel();
    desk.raise("pool-full", Critical);
    desk.raise("bad-blocks", Critical);
    let changes = desk.notices.observe(&desk.alerts, desk.now);
    desk.apply(changes);
    let mut id = 10;
    let changes = desk.notices.plan(desk.now, &mut || {
        id += 1;
        Uuid::from_u128(id)
    });
    desk.apply(changes);
    let first = desk.notices.take_due(desk.now);
    assert_eq!((first.len(), desk.notices.take_due(desk.now).len()), (1, 0));
    // A change meanwhile waits for the result, and follows then.
    desk.raise(&first[0].message.notices[0].code.clone(), Warning);
    let changes = desk.notices.observe(&desk.alerts, desk.now);
    desk.apply(changes);
    assert_eq!(desk.notices.plan(desk.now, &mut || Uuid::nil()), []);
    let changes = desk.notices.ended(first[0].message.id, &Ok("250".to_owned()), desk.now);
    desk.apply(changes);
    desk.seconds(2);
    assert_eq!(desk.told().len(), 2, "the other one, and the change");
}

#[test]
fn a_clock_that_is_set_back_delays_no_try() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("down".to_owned());
    desk.raise("pool-full", Critical);
    desk.second();
    desk.told();
    desk.now -= SignedDuration::from_hours(1000);
    desk.peer = Ok("250 ok".to_owned());
    desk.second();
    assert_eq!(desk.told().len(), 1);
    desk.clear("pool-full");
    desk.seconds(20);
    desk.now -= SignedDuration::from_hours(1000);
    desk.seconds(20);
    assert_eq!(desk.told(), ["ops cleared pool-full critical"]);
}

#[test]
fn a_disabled_channel_is_silent_and_then_told_what_holds() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("down".to_owned());
    desk.raise("pool-full", Critical);
    desk.raise("bad-blocks", Critical);
    desk.second();
    desk.told();
    let set = |enabled| ChannelSet { enabled: Some(enabled), ..ChannelSet::default() };
    let changes = desk.notices.set_channel("OPS", set(false), desk.now).unwrap();
    desk.apply(changes);
    desk.peer = Ok("250 ok".to_owned());
    desk.clear("bad-blocks");
    desk.seconds(700);
    assert!(desk.told().is_empty());
    let changes = desk.notices.set_channel("ops", set(true), desk.now).unwrap();
    desk.apply(changes);
    desk.seconds(30);
    assert_eq!(desk.told(), ["ops raised pool-full critical"]);
}

#[test]
fn new_settings_are_tried_at_once() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("down".to_owned());
    desk.raise("pool-full", Critical);
    desk.seconds(700);
    desk.raise("bad-blocks", Critical);
    desk.second();
    desk.told();
    desk.peer = Ok("250 ok".to_owned());
    let set = ChannelSet { settings: Some(syslog("192.0.2.2")), ..ChannelSet::default() };
    let changes = desk.notices.set_channel("ops", set, desk.now).unwrap();
    desk.apply(changes);
    desk.second();
    let mut told = desk.told();
    told.sort();
    assert_eq!(told, ["ops raised bad-blocks critical", "ops raised pool-full critical"]);
    assert!(desk.notices.failing().is_empty());
}

#[test]
fn a_deleted_channel_leaves_nothing() {
    let mut desk = Desk::with_channel();
    desk.peer = Err("down".to_owned());
    desk.raise("pool-full", Critical);
    desk.second();
    let changes = desk.notices.delete_channel("ops").unwrap();
    desk.apply(changes);
    assert_eq!(desk.notices.delete_channel("ops").unwrap_err().code(), "not-found");
    desk.told();
    desk.seconds(700);
    assert!(desk.told().is_empty());
    let records = desk.notices.records();
    let [Change::PutCondition(condition)] = &records[..] else { panic!("{records:?}") };
    assert!(condition.told.is_empty());
}
