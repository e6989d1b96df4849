//! The grace period, reclaims and durable records.

use std::time::Duration;

use nfs::v4::Status;
use nfs::v4::locks::{LockArguments, LockFailure, LockType};
use nfs::v4::session::sequence_status;

use super::kit::{
    BOTH, Client, FILE, Kit, LEASE, OTHER_FILE, READ, SECOND, USER, WRITE, caller, create, exchange, new_locker,
};
use crate::state::IoAccess;
use crate::{Limits, State};

const ALL: (u64, u64) = (0, u64::MAX);

fn restarted(owners: &[&str]) -> Kit {
    Kit::start(2, Limits::default(), owners)
}

fn complete(kit: &mut Kit, client: &Client) -> Result<(), Status> {
    kit.state.reclaim_complete(client.reference, false, kit.now)
}

#[test]
fn without_records_there_is_no_grace_but_a_client_has_to_complete() {
    let mut kit = restarted(&[]);
    let client = kit.reclaiming_client("a", 1);
    assert_eq!(kit.renew(&client, 1).status_flags, 0);
    assert_eq!(kit.open(&client, "o", &FILE, READ, 0).err(), Some(Status::GRACE));
    assert_eq!(kit.reclaim(&client, "o", &FILE, READ, 0).err(), Some(Status::NO_GRACE));
    assert_eq!(kit.state.reclaim_complete(client.reference, true, kit.now), Ok(()));
    assert_eq!(kit.open(&client, "o", &FILE, READ, 0).err(), Some(Status::GRACE));
    assert_eq!((complete(&mut kit, &client), kit.records()), (Ok(()), vec!["+a".to_owned()]));
    assert_eq!(complete(&mut kit, &client), Err(Status::COMPLETE_ALREADY));
    assert!(kit.open(&client, "o", &FILE, READ, 0).is_ok());
    assert_eq!((kit.records(), kit.state.totals(kit.now).grace), (Vec::<String>::new(), Duration::ZERO));
    assert_eq!(kit.reclaim(&client, "o", &FILE, READ, 0).err(), Some(Status::NO_GRACE));
}

#[test]
fn only_recorded_clients_reclaim_and_nothing_new_is_granted() {
    let mut kit = restarted(&["a", "b"]);
    assert_eq!((kit.state.totals(kit.now).grace, kit.state.totals(kit.now).reclaiming), (LEASE, 2));
    let (a, b, new) = (kit.reclaiming_client("a", 1), kit.reclaiming_client("b", 2), kit.client("c", 3));
    assert_eq!(kit.renew(&a, 1).status_flags, sequence_status::RESTART_RECLAIM_NEEDED);
    assert_eq!(kit.renew(&new, 1).status_flags, 0);
    let open = kit.reclaim(&a, "o", &FILE, BOTH, WRITE).expect("reclaimed").stateid;
    assert_eq!(kit.reclaim(&b, "o", &FILE, WRITE, 0).err(), Some(Status::RECLAIM_CONFLICT));
    assert_eq!(kit.reclaim(&new, "o", &FILE, READ, 0).err(), Some(Status::NO_GRACE));
    for client in [&a, &new] {
        assert_eq!(kit.open(client, "o", &OTHER_FILE, READ, 0).err(), Some(Status::GRACE));
    }
    assert_eq!(complete(&mut kit, &a), Ok(()));
    assert_eq!(kit.renew(&a, 2).status_flags, 0);
    assert_eq!(kit.open(&a, "o", &OTHER_FILE, READ, 0).err(), Some(Status::GRACE));
    assert_eq!(kit.reclaim(&a, "o", &OTHER_FILE, READ, 0).err(), Some(Status::NO_GRACE));
    // Removal waits, I/O does not.
    assert_eq!(kit.state.check_remove(&OTHER_FILE, kit.now), Err(Status::GRACE));
    assert_eq!(kit.state.check_anonymous_io(&OTHER_FILE, IoAccess::Write, kit.now), Ok(()));
    assert!(kit.state.check_io(a.reference, USER, &FILE, &open, IoAccess::Write, kit.now).is_ok());
    assert_eq!(complete(&mut kit, &b), Ok(()));
    assert_eq!(kit.state.totals(kit.now).grace, Duration::ZERO);
    assert!(kit.open(&a, "o", &OTHER_FILE, READ, 0).is_ok());
    assert_eq!(kit.state.check_remove(&OTHER_FILE, kit.now), Ok(()));
    assert_eq!(kit.records(), ["+a", "+b", "+c"]);
}

#[test]
fn locks_are_reclaimed_like_opens() {
    let mut kit = restarted(&["a", "b"]);
    let (a, b) = (kit.reclaiming_client("a", 1), kit.reclaiming_client("b", 2));
    let open_a = kit.reclaim(&a, "o", &FILE, BOTH, 0).expect("reclaimed").stateid;
    let open_b = kit.reclaim(&b, "o", &FILE, BOTH, 0).expect("reclaimed").stateid;
    let lock = |kit: &mut Kit, client: &Client, open, reclaim| {
        let locker = new_locker(open, "l");
        let (kind, offset_bytes, length_bytes) = (LockType::Write, 0, 10);
        let arguments = LockArguments { kind, reclaim, offset_bytes, length_bytes, locker };
        kit.state.lock(client.reference, &FILE, &arguments, kit.now)
    };
    let other = |status| Err(LockFailure::Other(status));
    assert_eq!(lock(&mut kit, &a, open_a, false), other(Status::GRACE));
    assert_eq!(kit.lock_test(&a, "l", LockType::Read, ALL), Err(LockFailure::Other(Status::GRACE)));
    assert!(lock(&mut kit, &a, open_a, true).is_ok());
    assert_eq!(lock(&mut kit, &b, open_b, true), other(Status::RECLAIM_CONFLICT));
    assert_eq!((complete(&mut kit, &a), complete(&mut kit, &b)), (Ok(()), Ok(())));
    assert_eq!(lock(&mut kit, &b, open_b, true), other(Status::NO_GRACE));
    assert!(matches!(lock(&mut kit, &b, open_b, false), Err(LockFailure::Denied(_))));
}

#[test]
fn it_ends_after_a_lease_and_the_next_grant_takes_the_records_of_who_did_not_complete() {
    let mut kit = restarted(&["a", "b", "c"]);
    let (a, b) = (kit.reclaiming_client("a", 1), kit.reclaiming_client("b", 2));
    kit.reclaim(&a, "o", &FILE, BOTH, 0).expect("reclaimed");
    assert_eq!(complete(&mut kit, &b), Ok(()));
    assert_eq!(kit.records(), ["+b"]);
    kit.now += LEASE - Duration::from_millis(1);
    assert_eq!(kit.open(&b, "o", &OTHER_FILE, READ, 0).err(), Some(Status::GRACE));
    kit.now += Duration::from_millis(1);
    assert!(kit.open(&b, "o", &OTHER_FILE, READ, 0).is_ok());
    assert_eq!(kit.records(), ["-a", "-c"]);
    // What was reclaimed stays, and the rest is lost.
    assert_eq!(kit.reclaim(&a, "o", &OTHER_FILE, READ, 0).err(), Some(Status::NO_GRACE));
    assert_eq!(kit.renew(&a, 1).status_flags, sequence_status::RESTART_RECLAIM_NEEDED);
    assert_eq!(complete(&mut kit, &a), Ok(()));
    assert_eq!((kit.records(), kit.state.totals(kit.now).holdings.opens), (vec!["+a".to_owned()], 2));
}

/// A crash soon after the end of the grace period: nothing was granted that could conflict with reclaims.
#[test]
fn records_outlast_the_grace_period_until_new_state_is_granted() {
    let mut kit = restarted(&["a", "b", "c"]);
    let (a, b) = (kit.reclaiming_client("a", 1), kit.reclaiming_client("b", 2));
    kit.reclaim(&a, "o", &FILE, BOTH, 0).expect("reclaimed");
    kit.now += 2 * LEASE;
    kit.state.advance(kit.now);
    assert_eq!((kit.records(), kit.state.totals(kit.now).reclaiming), (Vec::<String>::new(), 0));
    assert_eq!(kit.reclaim(&a, "p", &FILE, BOTH, 0).err(), Some(Status::NO_GRACE));
    assert_eq!((complete(&mut kit, &b), kit.records()), (Ok(()), vec!["+b".to_owned()]));
    assert!(kit.open(&b, "o", &OTHER_FILE, READ, 0).is_ok());
    assert_eq!(kit.records(), ["-a", "-c"]);
    // What was reclaimed has a record again when its client has completed.
    assert_eq!((complete(&mut kit, &a), kit.records()), (Ok(()), vec!["+a".to_owned()]));
}

#[test]
fn a_client_that_is_gone_after_the_grace_period_takes_its_record_with_it() {
    let mut kit = restarted(&["a"]);
    let a = kit.reclaiming_client("a", 1);
    kit.reclaim(&a, "o", &FILE, BOTH, 0).expect("reclaimed");
    kit.now += 2 * LEASE;
    kit.state.advance(kit.now);
    kit.state.revoke_client(a.id, kit.now).expect("a client");
    assert_eq!(kit.records(), ["-a"]);
}

#[test]
fn reclaims_draw_it_out() {
    let mut kit = restarted(&["a"]);
    let a = kit.reclaiming_client("a", 1);
    let begin = kit.now;
    kit.now += LEASE - SECOND / 2;
    while kit.reclaim(&a, "o", &FILE, READ, 0).is_ok() {
        kit.now += SECOND * 9 / 10;
    }
    assert!(kit.now >= begin + 2 * LEASE && kit.now < begin + 2 * LEASE + SECOND);
}

#[test]
fn the_longer_of_two_leases_counts() {
    let config = super::kit::config(2, Limits::default());
    let records = vec![crate::Record { owner: "a".into(), boot: 1, denies: false }];
    let state = State::new(config, records, Duration::from_secs(60), Duration::ZERO).expect("valid settings");
    assert_eq!(state.totals(Duration::ZERO).grace, Duration::from_secs(60));
}

#[test]
fn a_client_that_restarts_in_grace_has_nothing_to_reclaim() {
    let mut kit = restarted(&["a", "b"]);
    let old = kit.reclaiming_client("a", 1);
    kit.reclaim(&old, "o", &FILE, BOTH, BOTH).expect("reclaimed");
    let new = kit.exchange_id(1, &exchange("a", 2, 0)).expect("an id");
    let created = kit.create_session(&caller(1, 1), &create(new.client, new.sequence)).expect("a session");
    let reference = crate::state::ClientRef(kit.state.clients.find(new.client).expect("a client"));
    let new = Client { id: new.client, reference, session: created.session, ..old };
    assert_eq!((kit.records(), kit.state.totals(kit.now).reclaiming), (vec!["-a".to_owned()], 1));
    assert_eq!(kit.reclaim(&new, "o", &FILE, BOTH, 0).err(), Some(Status::RECLAIM_BAD));
    assert_eq!(complete(&mut kit, &new), Ok(()));
    assert_eq!(kit.reclaim(&new, "o", &FILE, BOTH, 0).err(), Some(Status::NO_GRACE));
}

#[test]
fn records_last_over_a_restart_in_grace() {
    let mut kit = Kit::new();
    let a = kit.client("a", 1);
    kit.client("b", 2);
    kit.open(&a, "o", &FILE, BOTH, BOTH).expect("an open");
    assert_eq!(kit.records(), ["+a", "+b"]);
    // The first restart: one client reclaims, but does not complete.
    let mut kit = restarted(&["a", "b"]);
    let a = kit.reclaiming_client("a", 1);
    kit.reclaim(&a, "o", &FILE, BOTH, BOTH).expect("reclaimed");
    assert_eq!(kit.records(), Vec::<String>::new());
    // The second one.
    let mut kit = Kit::start(3, Limits::default(), &["a", "b"]);
    let (a, b) = (kit.reclaiming_client("a", 1), kit.reclaiming_client("b", 2));
    assert!(kit.reclaim(&a, "o", &FILE, BOTH, BOTH).is_ok());
    assert!(kit.reclaim(&b, "o", &OTHER_FILE, BOTH, BOTH).is_ok());
}

#[test]
fn an_expired_client_may_not_reclaim_what_another_one_got() {
    let mut kit = Kit::new();
    let (a, b) = (kit.client("a", 1), kit.client("b", 2));
    kit.open(&a, "o", &FILE, BOTH, BOTH).expect("an open");
    kit.now += LEASE + SECOND;
    kit.renew(&b, 1);
    let mut stored: std::collections::BTreeSet<String> = kit.records().into_iter().collect();
    kit.open(&b, "o", &FILE, BOTH, BOTH).expect("an open");
    // The second client's record says that it denies others access.
    assert_eq!(kit.records(), ["-a", "+b"]);
    stored.remove("+a");
    let owners: Vec<&str> = stored.iter().map(|change| &change[1..]).collect();
    let mut kit = restarted(&owners);
    let a = kit.reclaiming_client("a", 1);
    assert_eq!(kit.reclaim(&a, "o", &FILE, BOTH, BOTH).err(), Some(Status::NO_GRACE));
}

#[test]
fn a_client_that_is_destroyed_does_not_hold_grace_up() {
    let mut kit = restarted(&["a"]);
    let a = kit.reclaiming_client("a", 1);
    kit.state.destroy_session(&a.session, None, kit.now).expect("destroyed");
    kit.state.destroy_client(a.id, kit.now).expect("destroyed");
    assert_eq!(kit.records(), ["-a"]);
    let b = kit.client("b", 2);
    assert!(kit.open(&b, "o", &FILE, READ, 0).is_ok());
}

#[test]
fn a_thousand_clients_reclaim_over_two_restarts() {
    let owners: Vec<String> = (0..1000).map(|number| format!("client {number}")).collect();
    let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
    for (boot, reclaiming) in [(2, 500), (3, 1000)] {
        let mut kit = Kit::start(boot, Limits::default(), &owners);
        for (owner, user) in owners.iter().zip(1..).take(reclaiming) {
            let client = kit.reclaiming_client(owner, user);
            let file = crate::FileKey { share: 1, file: user };
            assert!(kit.reclaim(&client, "o", &file, BOTH, BOTH).is_ok());
            assert_eq!(complete(&mut kit, &client), Ok(()));
        }
        assert_eq!(kit.state.totals(kit.now).reclaiming, 1000 - reclaiming);
        assert_eq!(kit.state.totals(kit.now).grace == Duration::ZERO, reclaiming == 1000);
    }
}

/// I/O without an open was done in the grace period, although it could be against an open that denies it and was
/// reclaimed afterwards.
#[test]
fn io_without_an_open_waits_for_clients_that_deny_access() {
    let mut kit = Kit::new();
    let (a, b) = (kit.client("a", 1), kit.client("b", 2));
    kit.records();
    assert!(kit.open(&b, "o", &OTHER_FILE, BOTH, 0).is_ok());
    assert_eq!(kit.records(), Vec::<String>::new());
    // A record that is written says too little.
    assert!(kit.open(&a, "o", &FILE, BOTH, WRITE).is_ok());
    let record = match kit.state.take_record_change() {
        Some(crate::RecordChange::Write(record)) => record,
        other => panic!("{other:?}"),
    };
    assert_eq!((&record.owner[..], record.denies), (&b"a"[..], true));
    assert!(kit.open(&a, "p", &OTHER_FILE, READ, WRITE).is_err() && kit.open(&a, "p", &FILE, READ, WRITE).is_err());
    assert_eq!(kit.records(), Vec::<String>::new());

    let config = super::kit::config(2, Limits::default());
    let others = crate::Record { owner: "b".into(), boot: 1, denies: false };
    let state = State::new(config, vec![record, others], LEASE, kit.now).expect("valid settings");
    let mut kit = Kit { state, now: kit.now };
    let (a, b) = (kit.reclaiming_client("a", 1), kit.reclaiming_client("b", 2));
    let anonymous = |kit: &mut Kit| kit.state.check_anonymous_io(&FILE, IoAccess::Write, kit.now);
    let open = kit.reclaim(&b, "o", &OTHER_FILE, WRITE, 0).expect("reclaimed").stateid;
    let read = |kit: &mut Kit| kit.state.check_io(b.reference, USER, &OTHER_FILE, &open, IoAccess::Read, kit.now);
    assert_eq!((anonymous(&mut kit), read(&mut kit)), (Err(Status::GRACE), Err(Status::GRACE)));
    assert!(kit.state.check_io(b.reference, USER, &OTHER_FILE, &open, IoAccess::Write, kit.now).is_ok());
    assert!(kit.reclaim(&a, "o", &FILE, BOTH, WRITE).is_ok());
    assert_eq!(anonymous(&mut kit), Err(Status::GRACE));
    assert_eq!(complete(&mut kit, &a), Ok(()));
    // The grace period lasts, and nobody who denies access is missing.
    assert_eq!((anonymous(&mut kit), kit.state.totals(kit.now).reclaiming), (Err(Status::LOCKED), 1));
    assert!(read(&mut kit).is_ok());
}
