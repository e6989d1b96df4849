//! Leases, courteous clients, expiry on conflict and after a day.

use nfs::v4::Status;
use nfs::v4::locks::LockType;
use nfs::v4::session::sequence_status;

use super::kit::{BOTH, Client, FILE, Kit, LEASE, OTHER_FILE, READ, SECOND, USER, WRITE};
use crate::state::{ClientStanding, IoAccess};
use crate::{Config, ConfigError, Limits, MAX_LEASE, MIN_LEASE, State};
use std::time::Duration;

const ALL: (u64, u64) = (0, u64::MAX);

/// Two clients; the first one has the file open for itself, and lets its lease expire.
fn silent(kit: &mut Kit) -> (Client, Client) {
    let (a, b) = (kit.client("a", 1), kit.client("b", 2));
    kit.open(&a, "o", &FILE, BOTH, BOTH).expect("an open");
    kit.open(&a, "o", &OTHER_FILE, READ, 0).expect("an open");
    kit.records();
    kit.now += LEASE + SECOND;
    kit.renew(&b, 1);
    (a, b)
}

#[test]
fn a_silent_client_keeps_its_state_while_no_other_wants_it() {
    let mut kit = Kit::new();
    let (a, b) = silent(&mut kit);
    kit.now += Duration::from_secs(3600);
    kit.state.advance(kit.now);
    kit.renew(&b, 2);
    assert!(kit.open(&b, "o", &OTHER_FILE, READ, 0).is_ok(), "no conflict");
    assert_eq!(kit.state.list_clients(0, 1, kit.now).elements[0].standing, ClientStanding::Courteous);
    assert_eq!(kit.renew(&a, 1).status_flags, 0);
    assert_eq!(kit.state.list_clients(0, 1, kit.now).elements[0].standing, ClientStanding::Active);
    assert_eq!(kit.open(&b, "o", &FILE, READ, 0).err(), Some(Status::SHARE_DENIED));
    assert_eq!(kit.state.totals(kit.now).holdings.opens, 3);
}

#[test]
fn a_conflict_takes_all_state_of_a_silent_client_and_its_record() {
    let mut kit = Kit::new();
    let (a, b) = silent(&mut kit);
    let stateid = kit.state.list_opens(0, 1).elements[0].stateid;
    let others = kit.state.list_opens(0, 2).elements[1].stateid;
    assert!(kit.open(&b, "o", &FILE, READ, 0).is_ok());
    assert_eq!((kit.records(), kit.released()), (vec!["-a".to_owned()], vec![OTHER_FILE]));
    assert_eq!(kit.renew(&a, 1).status_flags, sequence_status::EXPIRED_ALL_STATE_REVOKED);
    assert_eq!(kit.state.test_stateid(a.reference, &[stateid, others]), [Err(Status::EXPIRED); 2]);
    assert_eq!(kit.close(&a, &FILE, stateid), Err(Status::EXPIRED));
    let io = kit.state.check_io(a.reference, USER, &FILE, &stateid, IoAccess::Read, kit.now);
    assert_eq!(io, Err(Status::EXPIRED));
    assert!(kit.open(&a, "o", &OTHER_FILE, READ, 0).is_ok());
    assert_eq!(kit.renew(&a, 2).status_flags, sequence_status::EXPIRED_SOME_STATE_REVOKED);
    assert_eq!(kit.state.free_stateid(a.reference, &stateid), Ok(()));
    assert_eq!(kit.records(), Vec::<String>::new());
    assert_eq!(kit.state.free_stateid(a.reference, &others), Ok(()));
    // New state of the client needs a new record.
    assert_eq!(kit.records(), ["+a"]);
    assert_eq!(kit.renew(&a, 3).status_flags, 0);
    kit.state.files.check();
}

#[test]
fn locks_io_and_removal_expire_a_silent_client_too() {
    for case in 0..4 {
        let mut kit = Kit::new();
        let (a, b) = (kit.client("a", 1), kit.client("b", 2));
        let deny = if case == 0 { 0 } else { WRITE };
        let open = kit.open(&a, "o", &FILE, BOTH, deny).expect("an open").stateid;
        kit.lock(&a, open, "l", LockType::Write, ALL).expect("a lock");
        kit.now += LEASE + SECOND;
        kit.renew(&b, 1);
        let now = kit.now;
        match case {
            0 => {
                let open = kit.open(&b, "o", &FILE, BOTH, 0).expect("an open").stateid;
                assert_eq!(kit.lock_test(&b, "l", LockType::Write, ALL), Ok(()));
                assert_eq!(kit.state.totals(now).holdings.expired, 0, "a test takes nothing");
                assert!(kit.lock(&b, open, "l", LockType::Write, ALL).is_ok());
            }
            1 => assert_eq!(kit.state.check_anonymous_io(&FILE, IoAccess::Write, now), Ok(())),
            2 => assert_eq!(kit.state.check_remove(&FILE, now), Ok(())),
            _ => assert!(kit.open(&b, "o", &FILE, WRITE, 0).is_ok()),
        }
        let holdings = kit.state.list_clients(0, 1, now).elements[0].holdings;
        assert_eq!((holdings.opens, holdings.lock_stateids, holdings.expired), (0, 0, 2), "case {case}");
    }
}

#[test]
fn one_client_with_a_lease_keeps_all_silent_ones() {
    let mut kit = Kit::new();
    let (a, b, c) = (kit.client("a", 1), kit.client("b", 2), kit.client("c", 3));
    kit.open(&a, "o", &FILE, READ, 0).expect("an open");
    kit.open(&b, "o", &FILE, READ, 0).expect("an open");
    kit.now += LEASE + SECOND;
    kit.renew(&b, 1);
    assert_eq!(kit.open(&c, "o", &FILE, READ, READ).err(), Some(Status::SHARE_DENIED));
    assert_eq!(kit.state.totals(kit.now).holdings.expired, 0);
}

#[test]
fn an_open_beyond_the_share_of_its_client_expires_no_other() {
    let mut kit = Kit::with(Limits { opens: 8, ..Limits::default() });
    let (_, b) = silent(&mut kit);
    for owner in ["o", "p"] {
        kit.open(&b, owner, &OTHER_FILE, READ, 0).expect("an open");
    }
    assert_eq!(kit.records(), Vec::<String>::new());
    assert_eq!(kit.open(&b, "o", &FILE, READ, 0).err(), Some(Status::DELAY));
    assert_eq!((kit.state.totals(kit.now).holdings.opens, kit.records()), (4, Vec::<String>::new()));
}

/// A host that crashed with as many opens as there may be must not stop all others for a day.
#[test]
fn the_client_that_is_silent_for_longest_makes_room_for_others() {
    let limits = Limits { opens: 4, lock_stateids: 2, client_share: 1, ..Limits::default() };
    let mut kit = Kit::with(limits);
    let clients = [kit.client("a", 1), kit.client("b", 2), kit.client("c", 3)];
    let [a, b, c] = &clients;
    let file = |file| crate::FileKey { share: 3, file };
    for (client, first) in [(a, 0), (b, 2)] {
        let open = kit.open(client, "o", &file(first), READ, 0).expect("an open").stateid;
        kit.open(client, "o", &file(first + 1), READ, 0).expect("an open");
        kit.lock_by(client, &file(first), LockType::Read, ALL, super::kit::new_locker(open, "l")).expect("a lock");
    }
    kit.records();
    assert_eq!(kit.open(c, "o", &FILE, READ, 0).err(), Some(Status::DELAY), "no client is silent");
    kit.now += LEASE / 2;
    kit.renew(a, 1);
    kit.now += LEASE + SECOND;
    kit.renew(c, 1);
    let open = kit.open(c, "o", &FILE, READ, 0).expect("the second one gave way").stateid;
    assert_eq!((kit.records(), kit.state.totals(kit.now).holdings.opens), (vec!["-b".to_owned()], 3));
    assert_eq!(kit.released(), [file(2), file(3)]);
    kit.lock(c, open, "l", LockType::Read, (0, 1)).expect("room");
    kit.lock(c, open, "m", LockType::Read, (0, 1)).expect("the first one gave way");
    assert_eq!((kit.records(), kit.state.totals(kit.now).clients), (vec!["-a".to_owned()], 1));
    kit.state.files.check();
}

#[test]
fn a_client_with_a_request_in_progress_is_not_silent() {
    let mut kit = Kit::new();
    let (a, b) = (kit.client("a", 1), kit.client("b", 2));
    kit.open(&a, "o", &FILE, BOTH, BOTH).expect("an open");
    let running = kit.begin(&a, 0, 1, false);
    kit.now += LEASE + SECOND;
    assert_eq!(kit.open(&b, "o", &FILE, READ, 0).err(), Some(Status::SHARE_DENIED));
    kit.state.complete(running, &[], kit.now);
    assert!(kit.open(&b, "o", &FILE, READ, 0).is_ok());
}

#[test]
fn courtesy_ends_after_a_day() {
    let mut kit = Kit::new();
    let (a, b) = silent(&mut kit);
    kit.now += Duration::from_secs(24 * 3600) - LEASE - SECOND;
    kit.state.advance(kit.now);
    assert_eq!(kit.state.totals(kit.now).clients, 2);
    kit.now += SECOND;
    kit.state.advance(kit.now);
    assert_eq!((kit.records(), kit.released()), (vec!["-a".to_owned()], vec![FILE, OTHER_FILE]));
    assert_eq!(kit.sequence(&a, 0, 1, "", false).err(), Some(Status::BADSESSION));
    kit.renew(&b, 2);
}

#[test]
fn a_lease_has_a_range() {
    let mut kit = Kit::new();
    for (lease, is_valid) in
        [(MIN_LEASE, true), (MAX_LEASE, true), (MIN_LEASE - SECOND, false), (MAX_LEASE + SECOND, false)]
    {
        let expected = if is_valid { Ok(()) } else { Err(ConfigError::Lease { lease }) };
        assert_eq!(kit.state.set_lease(lease), expected);
        let config = Config { lease, ..super::kit::config(1, Limits::default()) };
        assert_eq!(State::new(config, Vec::new(), LEASE, LEASE).map(drop), expected);
    }
    assert_eq!(kit.state.lease(), MAX_LEASE);
    for clients in [0, 65_537] {
        let config = super::kit::config(1, Limits { clients, ..Limits::default() });
        assert_eq!(State::new(config, Vec::new(), LEASE, LEASE).map(drop), Err(ConfigError::Clients { clients }));
    }
}

/// Any new state gave the client a record again. It may not have had the reply that tells of its loss: after a
/// restart it reclaimed all, what others had had meanwhile included.
#[test]
fn a_client_has_no_record_until_it_has_freed_what_it_lost() {
    let mut kit = Kit::new();
    let (client, other) = (kit.client("a", 1), kit.client("b", 2));
    let open = kit.open(&client, "o", &FILE, BOTH, WRITE).expect("an open").stateid;
    kit.now += LEASE + SECOND;
    kit.renew(&other, 1);
    kit.records();
    assert!(kit.open(&other, "o", &FILE, WRITE, 0).is_ok());
    assert_eq!(kit.records(), ["-a"]);
    kit.renew(&client, 1);
    assert!(kit.open(&client, "o", &OTHER_FILE, READ, 0).is_ok());
    assert_eq!(kit.records(), Vec::<String>::new());
    assert_eq!(kit.state.free_stateid(client.reference, &open), Ok(()));
    assert_eq!(kit.records(), ["+a"]);
}
