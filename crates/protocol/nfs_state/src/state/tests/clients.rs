//! EXCHANGE_ID, CREATE_SESSION, DESTROY_CLIENTID.

use nfs::v4::Status;
use nfs::v4::session::{
    CallbackSecurity, ChannelAttributes, ProtectedOperations, SsvParameters, StateProtection, create_session,
    exchange_id,
};

use super::kit::{FILE, Kit, LEASE, READ, SECOND, caller, channel, create, exchange};
use crate::Limits;

const UPDATE: u32 = exchange_id::UPDATE_CONFIRMED_RECORD;
const CONFIRMED: u32 = exchange_id::CONFIRMED;

#[test]
fn a_new_owner_gets_an_id_that_is_not_confirmed() {
    let mut kit = Kit::new();
    let found = kit.exchange_id(1, &exchange("a", 1, exchange_id::BIND_PRINCIPAL_STATEID)).expect("an id");
    assert_eq!(found.client >> 32, 1);
    assert_eq!((found.sequence, found.flags), (1, exchange_id::USE_NON_PNFS | exchange_id::SUPPORTS_FENCE_OPERATIONS));
    assert_eq!((&*found.owner.major, found.owner.minor, &*found.scope), (&b"pool"[..], 0, &b"pool"[..]));
    let old_minor = kit.state.exchange_id(&caller(1, 1), &exchange("b", 1, 0), 1, kit.now).expect("an id");
    assert_eq!(old_minor.flags, exchange_id::USE_NON_PNFS);
}

#[test]
fn flags_without_meaning_and_state_protection_are_refused() {
    let mut kit = Kit::new();
    for flags in [8, CONFIRMED, 0x200] {
        assert_eq!(kit.exchange_id(1, &exchange("a", 1, flags)), Err(Status::INVAL), "{flags:x}");
    }
    let fence = exchange("a", 1, exchange_id::SUPPORTS_FENCE_OPERATIONS);
    assert!(kit.exchange_id(1, &fence).is_ok());
    assert_eq!(kit.state.exchange_id(&caller(1, 1), &fence, 1, kit.now), Err(Status::INVAL));
    let none = || ProtectedOperations { must_enforce: Default::default(), must_allow: Default::default() };
    let mut protected = exchange("a", 1, 0);
    protected.protection = StateProtection::MachineCredential(none());
    assert_eq!(kit.exchange_id(1, &protected), Err(Status::INVAL));
    let ssv = SsvParameters {
        operations: none(),
        hashes: Vec::new().into(),
        ciphers: Vec::new().into(),
        window: 1,
        handles: 0,
    };
    protected.protection = StateProtection::Ssv(Box::new(ssv));
    assert_eq!(kit.exchange_id(1, &protected), Err(Status::ENCR_ALG_UNSUPP));
    assert_eq!(kit.state.totals(kit.now).clients, 1);
}

#[test]
fn the_same_incarnation_gets_the_same_id() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let again = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id");
    assert_eq!((again.client, again.sequence, again.flags & CONFIRMED), (client.id, 2, CONFIRMED));
}

#[test]
fn a_restarted_client_replaces_its_state_when_it_confirms() {
    let mut kit = Kit::new();
    let old = kit.client("a", 1);
    kit.open(&old, "o", &FILE, READ, 0).expect("an open");
    assert_eq!(kit.records(), ["+a"]);
    let new = kit.exchange_id(1, &exchange("a", 2, 0)).expect("an id");
    assert!(new.client != old.id && new.flags & CONFIRMED == 0);
    kit.renew(&old, 1);
    assert_eq!(kit.state.totals(kit.now).holdings.opens, 1);
    kit.create_session(&caller(1, 1), &create(new.client, new.sequence)).expect("a session");
    assert_eq!(kit.sequence(&old, 7, 2, "", false).err(), Some(Status::BADSESSION));
    assert_eq!(kit.create_session(&caller(1, 1), &create(old.id, 2)).err(), Some(Status::STALE_CLIENTID));
    assert_eq!((kit.state.totals(kit.now).holdings.opens, kit.state.totals(kit.now).sessions), (0, 1));
    assert_eq!((kit.released(), kit.records()), (vec![FILE], vec!["-a".to_owned()]));
}

#[test]
fn another_principal_gets_the_owner_only_without_state() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let opened = kit.open(&client, "o", &FILE, READ, 0).expect("an open");
    assert_eq!(kit.exchange_id(2, &exchange("a", 1, 0)), Err(Status::CLID_INUSE));
    assert_eq!(kit.exchange_id(2, &exchange("a", 9, 0)), Err(Status::CLID_INUSE));
    kit.close(&client, &FILE, opened.stateid).expect("closed");
    let other = kit.exchange_id(2, &exchange("a", 1, 0)).expect("an id");
    assert!(other.client != client.id && other.flags & CONFIRMED == 0);
    assert_eq!(kit.sequence(&client, 0, 1, "", false).err(), Some(Status::BADSESSION));
}

#[test]
fn another_principal_gets_the_owner_when_the_lease_has_expired() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    kit.open(&client, "o", &FILE, READ, 0).expect("an open");
    kit.now += LEASE;
    assert_eq!(kit.exchange_id(2, &exchange("a", 1, 0)), Err(Status::CLID_INUSE));
    kit.now += SECOND;
    assert!(kit.exchange_id(2, &exchange("a", 1, 0)).is_ok());
    assert_eq!(kit.state.totals(kit.now).holdings.opens, 0);
}

#[test]
fn an_update_needs_the_confirmed_incarnation_and_its_principal() {
    let mut kit = Kit::new();
    assert_eq!(kit.exchange_id(1, &exchange("a", 1, UPDATE)), Err(Status::NOENT));
    kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id");
    assert_eq!(kit.exchange_id(1, &exchange("a", 1, UPDATE)), Err(Status::NOENT));
    let client = kit.client("a", 1);
    let updated = kit.exchange_id(1, &exchange("a", 1, UPDATE)).expect("updated");
    assert_eq!((updated.client, updated.flags & CONFIRMED), (client.id, CONFIRMED));
    assert_eq!(kit.exchange_id(1, &exchange("a", 2, UPDATE)), Err(Status::NOT_SAME));
    assert_eq!(kit.exchange_id(2, &exchange("a", 1, UPDATE)), Err(Status::PERM));
    assert_eq!(kit.exchange_id(2, &exchange("a", 2, UPDATE)), Err(Status::PERM));
}

#[test]
fn a_second_exchange_replaces_what_is_not_confirmed_and_a_lease_ends_it() {
    let mut kit = Kit::new();
    let first = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let second = kit.exchange_id(2, &exchange("a", 1, 0)).expect("an id").client;
    assert_eq!(kit.create_session(&caller(1, 1), &create(first, 1)).err(), Some(Status::STALE_CLIENTID));
    kit.now += LEASE + SECOND;
    assert_eq!(kit.create_session(&caller(1, 2), &create(second, 1)).err(), Some(Status::STALE_CLIENTID));
    kit.state.advance(kit.now);
    assert_eq!(kit.state.totals(kit.now).clients, 0);
}

#[test]
fn ids_of_another_run_are_stale() {
    let mut kit = Kit::new();
    let old = kit.client("a", 1);
    let mut kit = Kit::start(2, Limits::default(), &[]);
    let new = kit.client("a", 1);
    assert_eq!((new.id ^ old.id) >> 32, 3);
    assert_eq!(kit.create_session(&caller(1, 1), &create(old.id, 2)).err(), Some(Status::STALE_CLIENTID));
    assert_eq!(kit.sequence(&old, 0, 1, "", false).err(), Some(Status::BADSESSION));
}

#[test]
fn create_session_is_executed_once_for_each_sequence_id() {
    let mut kit = Kit::new();
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    for sequence in [0, 2, u32::MAX] {
        assert_eq!(kit.create_session(&caller(1, 1), &create(id, sequence)).err(), Some(Status::SEQ_MISORDERED));
    }
    let first = kit.create_session(&caller(1, 1), &create(id, 1)).expect("a session");
    assert_eq!(kit.create_session(&caller(1, 1), &create(id, 1)).as_ref(), Ok(&first));
    assert_eq!(kit.state.totals(kit.now).sessions, 1);
    let mut bad = create(id, 2);
    bad.flags = 0xf;
    assert_eq!(kit.create_session(&caller(1, 1), &bad).err(), Some(Status::INVAL));
    assert_eq!(kit.create_session(&caller(1, 1), &create(id, 2)).err(), Some(Status::INVAL));
    let second = kit.create_session(&caller(1, 2), &create(id, 3)).expect("a session");
    assert_ne!(first.session, second.session);
    assert_eq!(kit.create_session(&caller(1, 1), &create(id, 1)).err(), Some(Status::SEQ_MISORDERED));
}

#[test]
fn only_the_principal_of_the_exchange_confirms() {
    let mut kit = Kit::new();
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    for _ in 0..2 {
        assert_eq!(kit.create_session(&caller(1, 2), &create(id, 1)).err(), Some(Status::CLID_INUSE));
    }
    assert!(kit.create_session(&caller(1, 1), &create(id, 2)).is_ok());
}

#[test]
fn channels_are_granted_within_what_is_asked_and_the_limits() {
    let mut kit = Kit::new();
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let mut asked = create(id, 1);
    asked.flags = create_session::PERSIST | create_session::CONNECTION_RDMA;
    asked.fore_channel = ChannelAttributes {
        header_pad_bytes: 4,
        max_request_bytes: u32::MAX,
        max_response_bytes: 400,
        max_cached_response_bytes: u32::MAX,
        max_operations: 1000,
        max_requests: 2049,
        rdma_reads: Some(1),
    };
    let granted = kit.create_session(&caller(1, 1), &asked).expect("a session");
    let limits = Limits::default();
    assert_eq!(granted.flags, 0);
    assert_eq!(
        granted.fore_channel,
        ChannelAttributes {
            header_pad_bytes: 0,
            max_request_bytes: limits.message_bytes,
            max_response_bytes: 400,
            max_cached_response_bytes: limits.cached_reply_bytes,
            max_operations: limits.operations,
            max_requests: limits.slots_per_session,
            rdma_reads: None,
        }
    );
    assert_eq!(granted.back_channel.max_requests, 16);
    let granted = kit.create_session(&caller(1, 1), &create(id, 2)).expect("a session");
    assert_eq!((granted.flags, granted.fore_channel.max_operations), (create_session::CONNECTION_BACK_CHANNEL, 8));
}

#[test]
fn channels_in_which_nothing_fits_are_too_small() {
    let mut kit = Kit::new();
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let fore = |max_request_bytes, max_response_bytes, max_operations, max_requests| ChannelAttributes {
        max_request_bytes,
        max_response_bytes,
        max_operations,
        max_requests,
        ..channel(8)
    };
    let cases = [
        (fore(20, 4096, 8, 8), channel(1), Status::TOOSMALL),
        (fore(4096, 0, 8, 8), channel(1), Status::TOOSMALL),
        (fore(4096, 4096, 0, 8), channel(1), Status::INVAL),
        (fore(4096, 4096, 8, 0), channel(1), Status::INVAL),
        (channel(8), fore(4096, 4096, 1, 1), Status::TOOSMALL),
        (channel(8), fore(10, 4096, 2, 1), Status::TOOSMALL),
        (channel(8), fore(4096, 10, 2, 1), Status::TOOSMALL),
    ];
    for (sequence, (fore_channel, back_channel, status)) in (1..).zip(cases) {
        let mut asked = create(id, sequence);
        (asked.fore_channel, asked.back_channel) = (fore_channel, back_channel);
        assert_eq!(kit.create_session(&caller(1, 1), &asked).err(), Some(status), "case {sequence}");
    }
    assert_eq!((kit.state.totals(kit.now).sessions, kit.state.totals(kit.now).slots), (0, 0));
}

#[test]
fn without_a_credential_there_is_no_back_channel() {
    let mut kit = Kit::new();
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let mut asked = create(id, 1);
    asked.callback_security = Vec::<CallbackSecurity>::new().into();
    assert_eq!(kit.create_session(&caller(1, 1), &asked).expect("a session").flags, 0);
    assert!(!kit.state.list_sessions(0, 9).elements[0].back_channel);
}

#[test]
fn a_client_id_ends_when_it_has_neither_sessions_nor_state() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    assert_eq!(kit.state.destroy_client(client.id, kit.now), Err(Status::CLIENTID_BUSY));
    let opened = kit.open(&client, "o", &FILE, READ, 0).expect("an open");
    kit.state.destroy_session(&client.session, None, kit.now).expect("destroyed");
    assert_eq!(kit.state.destroy_client(client.id, kit.now), Err(Status::CLIENTID_BUSY));
    kit.close(&client, &FILE, opened.stateid).expect("closed");
    kit.records();
    assert_eq!(kit.state.destroy_client(client.id, kit.now), Ok(()));
    assert_eq!(kit.records(), ["-a"]);
    assert_eq!(kit.state.destroy_client(client.id, kit.now), Err(Status::STALE_CLIENTID));
    assert_eq!(kit.open(&client, "o", &FILE, READ, 0).err(), Some(Status::DEADSESSION));
}

#[test]
fn a_flood_of_exchanges_drops_the_oldest_of_them_and_no_confirmed_client() {
    let limits = Limits { clients: 8, unconfirmed_clients: 4, ..Limits::default() };
    let mut kit = Kit::with(limits);
    let client = kit.client("a", 1);
    let mut ids = Vec::new();
    for number in 0..100 {
        kit.now += SECOND / 100;
        ids.push(kit.exchange_id(2, &exchange(&format!("x{number}"), 1, 0)).expect("an id").client);
        assert!(kit.state.totals(kit.now).clients <= 5);
    }
    assert_eq!(kit.create_session(&caller(2, 2), &create(ids[95], 1)).err(), Some(Status::STALE_CLIENTID));
    assert!(kit.create_session(&caller(2, 2), &create(ids[96], 1)).is_ok());
    kit.renew(&client, 1);
}

#[test]
fn with_all_client_ids_in_use_the_one_that_is_silent_for_longest_goes() {
    let limits = Limits { clients: 3, ..Limits::default() };
    let mut kit = Kit::with(limits);
    let clients: Vec<_> = ["a", "b", "c"].iter().zip(1..).map(|(owner, user)| kit.client(owner, user)).collect();
    assert_eq!(kit.exchange_id(9, &exchange("d", 1, 0)), Err(Status::DELAY));
    for client in [&clients[0], &clients[2]] {
        kit.now += SECOND;
        kit.renew(client, 1);
    }
    kit.now += LEASE;
    assert!(kit.exchange_id(9, &exchange("d", 1, 0)).is_ok());
    assert_eq!(kit.sequence(&clients[1], 0, 1, "", false).err(), Some(Status::BADSESSION));
    kit.renew(&clients[2], 2);
    assert!(kit.exchange_id(9, &exchange("e", 1, 0)).is_ok());
    assert_eq!(kit.sequence(&clients[0], 0, 1, "", false).err(), Some(Status::BADSESSION));
    assert_eq!(kit.exchange_id(9, &exchange("f", 1, 0)), Err(Status::DELAY));
}

/// Slots of a new session.
fn slots(kit: &mut Kit, client: u64, sequence: u32) -> Result<u32, Status> {
    let created = kit.create_session(&caller(1, 1), &create(client, sequence));
    created.map(|created| created.fore_channel.max_requests)
}

#[test]
fn sessions_of_a_client_and_slots_of_all_are_limited() {
    let limits = Limits { sessions_per_client: 2, slots: 16, slots_per_session: 8, ..Limits::default() };
    let mut kit = Kit::with(limits);
    let one = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let two = kit.exchange_id(1, &exchange("b", 1, 0)).expect("an id").client;
    assert_eq!((slots(&mut kit, one, 1), slots(&mut kit, one, 2)), (Ok(8), Ok(8)));
    // A DELAY is no reply that is kept.
    assert_eq!((slots(&mut kit, one, 3), slots(&mut kit, two, 1)), (Err(Status::DELAY), Err(Status::DELAY)));
    let first = kit.state.list_sessions(0, 1).elements[0].id;
    kit.state.destroy_session(&first, None, kit.now).expect("destroyed");
    assert_eq!((slots(&mut kit, two, 1), kit.state.totals(kit.now).slots), (Ok(8), 16));
    assert_eq!(slots(&mut kit, one, 3), Err(Status::DELAY));
}

#[test]
fn sessions_get_fewer_slots_when_most_are_granted_but_at_least_four() {
    let mut kit = Kit::with(Limits { slots: 40, slots_per_session: 20, ..Limits::default() });
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let granted: Vec<_> = (1..=7).map(|sequence| slots(&mut kit, id, sequence)).collect();
    let expected = [8, 8, 8, 5, 5, 4].map(Ok);
    assert_eq!(granted[..6], expected);
    assert_eq!(granted[6..], [Err(Status::DELAY)]);
}

#[test]
fn sessions_of_all_are_limited() {
    let mut kit = Kit::with(Limits { sessions: 3, ..Limits::default() });
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let granted: Vec<_> = (1..=4).map(|sequence| slots(&mut kit, id, sequence)).collect();
    assert_eq!(granted, [Ok(8), Ok(8), Ok(8), Err(Status::DELAY)]);
}
