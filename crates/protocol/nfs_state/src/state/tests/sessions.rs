//! SEQUENCE, BIND_CONN_TO_SESSION, DESTROY_SESSION.

use bytes::Bytes;
use nfs::v4::Status;
use nfs::v4::session::{BindArguments, BindOk, BoundDirection, SequenceArguments, WantedDirection};

use super::kit::{Client, Kit, LEASE, SECOND, caller, create, exchange, request};
use crate::state::Sequenced;
use crate::{Caller, ConnectionId, Limits, Request};

/// Executes a request whose reply is kept.
fn cached(kit: &mut Kit, client: &Client, slot: u32, sequence: u32, reply: &[u8]) {
    let admitted = kit.begin(client, slot, sequence, true);
    kit.state.complete(admitted, &[Bytes::copy_from_slice(reply)], kit.now);
}

fn with(client: &Client, change: impl Fn(&mut SequenceArguments, &mut Request)) -> (Request, SequenceArguments) {
    let mut arguments =
        SequenceArguments { session: client.session, sequence: 1, slot: 0, highest_slot: 0, cache_this: true };
    let mut request = request(client.caller, "call");
    change(&mut arguments, &mut request);
    (request, arguments)
}

#[test]
fn the_first_request_of_a_slot_has_sequence_one() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    for sequence in [0, 2, u32::MAX] {
        assert_eq!(kit.sequence(&client, 0, sequence, "", true).err(), Some(Status::SEQ_MISORDERED));
    }
    let admitted = kit.begin(&client, 3, 1, true);
    let result = admitted.result();
    assert_eq!((result.session, result.sequence, result.slot), (client.session, 1, 3));
    assert_eq!((result.highest_slot, result.target_highest_slot, result.status_flags), (7, 7, 0));
    assert_eq!(admitted.reply_limit(), (4096, Status::REP_TOO_BIG_TO_CACHE));
    assert_eq!(kit.begin(&client, 0, 1, false).reply_limit(), (1 << 20, Status::REP_TOO_BIG));
}

#[test]
fn a_retry_gets_the_same_reply_on_any_connection() {
    let mut kit = Kit::new();
    let mut client = kit.client("a", 1);
    let admitted = kit.begin(&client, 0, 1, true);
    kit.state.complete(admitted, &[Bytes::from_static(b"re"), Bytes::from_static(b"ply")], kit.now);
    for connection in [1, 9] {
        client.caller.connection = ConnectionId(connection);
        let retry = kit.sequence(&client, 0, 1, "call", true);
        assert!(matches!(&retry, Ok(Sequenced::Replay(reply)) if reply == "reply"), "{retry:?}");
    }
    cached(&mut kit, &client, 0, 2, b"next");
    assert_eq!(kit.sequence(&client, 0, 1, "call", true).err(), Some(Status::SEQ_MISORDERED));
    assert_eq!(kit.state.totals(kit.now).replies_bytes, 4);
}

#[test]
fn a_retry_of_what_was_not_kept_is_told_apart() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let admitted = kit.begin(&client, 0, 1, false);
    kit.state.complete(admitted, &[Bytes::from_static(b"reply")], kit.now);
    assert!(matches!(kit.sequence(&client, 0, 1, "call", false), Ok(Sequenced::Uncached(ok)) if ok.sequence == 1));
    assert_eq!(kit.state.totals(kit.now).replies_bytes, 0);
}

#[test]
fn a_lone_sequence_is_always_kept() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let (request, arguments) = with(&client, |arguments, request| {
        arguments.cache_this = false;
        request.operations = 1;
    });
    let Ok(Sequenced::Run(admitted)) = kit.state.sequence(&request, &arguments, kit.now) else { panic!("not new") };
    kit.state.complete(admitted, &[Bytes::from_static(b"lone")], kit.now);
    let retry = kit.state.sequence(&request, &arguments, kit.now);
    assert!(matches!(retry, Ok(Sequenced::Replay(reply)) if reply == "lone"));
}

#[test]
fn a_retry_of_a_request_in_progress_is_delayed() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let admitted = kit.begin(&client, 0, 1, true);
    assert_eq!(kit.sequence(&client, 0, 1, "call", true).err(), Some(Status::DELAY));
    assert_eq!(kit.sequence(&client, 0, 2, "call", true).err(), Some(Status::SEQ_MISORDERED));
    kit.state.complete(admitted, &[], kit.now);
    assert!(matches!(kit.sequence(&client, 0, 1, "call", true), Ok(Sequenced::Replay(reply)) if reply.is_empty()));
}

#[test]
fn a_retry_with_other_content_or_principal_is_false() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    cached(&mut kit, &client, 0, 1, b"reply");
    for content in ["calk", "call "] {
        assert_eq!(kit.sequence(&client, 0, 1, content, true).err(), Some(Status::SEQ_FALSE_RETRY));
    }
    let other = Client { caller: caller(1, 2), ..client.clone() };
    assert_eq!(kit.sequence(&other, 0, 1, "call", true).err(), Some(Status::SEQ_FALSE_RETRY));
    assert!(kit.sequence(&client, 0, 1, "call", true).is_ok());
}

#[test]
fn sequence_ids_wrap() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let key = kit.state.sessions.find(&client.session).expect("a session");
    let (request, arguments) = with(&client, |arguments, _| arguments.sequence = u32::MAX);
    kit.state.sessions.get_mut(key).expect("a session").jump(&request, &arguments);
    kit.state.sessions.leave(key, 0, None, kit.now);
    cached(&mut kit, &client, 0, 0, b"zero");
    cached(&mut kit, &client, 0, 1, b"one");
}

#[test]
fn refused_requests_change_nothing() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let renewed = kit.now;
    kit.now += SECOND;
    type Change = fn(&mut SequenceArguments, &mut Request);
    let cases: [(Change, Status); 8] = [
        (|arguments, _| arguments.session[15] ^= 1, Status::BADSESSION),
        (|arguments, _| arguments.session[0] ^= 1, Status::BADSESSION),
        (|arguments, _| arguments.slot = 8, Status::BADSLOT),
        (|arguments, _| arguments.highest_slot = 8, Status::BAD_HIGH_SLOT),
        (|_, request| request.operations = 9, Status::TOO_MANY_OPS),
        (|_, request| request.length_bytes = (1 << 20) + 1, Status::REQ_TOO_BIG),
        (
            |arguments, request| (arguments.cache_this, request.reply_bytes) = (false, (1 << 20) + 1),
            Status::REP_TOO_BIG,
        ),
        (|arguments, request| (arguments.cache_this, request.reply_bytes) = (true, 4097), Status::REP_TOO_BIG_TO_CACHE),
    ];
    for (change, status) in cases {
        let (request, arguments) = with(&client, change);
        assert_eq!(kit.state.sequence(&request, &arguments, kit.now).err(), Some(status));
    }
    assert_eq!(kit.state.list_clients(0, 1, kit.now).elements[0].renewed, renewed);
    drop(kit.begin(&client, 0, 1, true));
    assert_eq!(kit.state.list_clients(0, 1, kit.now).elements[0].renewed, kit.now);
}

#[test]
fn a_reply_that_no_session_could_keep_is_refused_at_once() {
    let mut kit = Kit::new();
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    let mut small = create(id, 1);
    small.fore_channel.max_cached_response_bytes = 10;
    let session = kit.create_session(&caller(1, 1), &small).expect("a session").session;
    let client = Client { session, ..kit.reclaiming_client("b", 1) };
    assert_eq!(kit.sequence(&client, 0, 1, "", true).err(), Some(Status::REP_TOO_BIG_TO_CACHE));
    let admitted = kit.begin(&client, 0, 1, false);
    assert_eq!(admitted.reply_limit(), (1 << 20, Status::REP_TOO_BIG));
}

#[test]
fn a_reply_beyond_its_limit_is_not_kept() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    cached(&mut kit, &client, 0, 1, &[0; 4097]);
    assert!(matches!(kit.sequence(&client, 0, 1, "call", true), Ok(Sequenced::Uncached(_))));
    cached(&mut kit, &client, 0, 2, &[0; 4096]);
    assert!(matches!(kit.sequence(&client, 0, 2, "call", true), Ok(Sequenced::Replay(_))));
}

#[test]
fn memory_of_replies_is_bounded_and_clients_are_asked_to_use_fewer_slots() {
    let mut kit = Kit::with(Limits { cached_replies_bytes: 4 * 4 * 4096, ..Limits::default() });
    let clients: Vec<_> = (1..=3).map(|user| kit.client(&format!("c{user}"), user)).collect();
    for client in &clients {
        for slot in 0..4 {
            cached(&mut kit, client, slot, 1, &[1; 4096]);
        }
        // A quarter of the memory is in use by this client.
        let refused = kit.sequence(client, 4, 1, "call", true).err();
        assert_eq!(refused, Some(Status::DELAY));
        assert!(kit.state.totals(kit.now).replies_bytes <= 4 * 4 * 4096);
    }
    let result = kit.renew(&clients[0], 1);
    assert_eq!((result.highest_slot, result.target_highest_slot), (7, 3));
    // A slot that has a reply can always replace it, and requests without a reply need no memory.
    cached(&mut kit, &clients[0], 0, 2, &[1; 4096]);
    drop(kit.begin(&clients[0], 4, 1, false));
}

#[test]
fn replies_of_slots_that_a_client_gave_up_are_freed_after_a_lease() {
    let mut kit = Kit::with(Limits { cached_replies_bytes: 64 * 1024, ..Limits::default() });
    let clients: Vec<_> = (1..=3).map(|user| kit.client(&format!("c{user}"), user)).collect();
    for client in &clients {
        for slot in 4..8 {
            cached(&mut kit, client, slot, 1, &[1; 3072]);
        }
    }
    let short = 3 * 4 * 3072;
    cached(&mut kit, &clients[0], 0, 1, b"");
    assert_eq!(kit.state.totals(kit.now).replies_bytes, short);
    kit.now += LEASE + SECOND;
    cached(&mut kit, &clients[0], 7, 2, &[1; 3072]);
    assert_eq!(kit.state.totals(kit.now).replies_bytes, short);
    cached(&mut kit, &clients[0], 0, 2, b"");
    assert_eq!(kit.state.totals(kit.now).replies_bytes, short - 3 * 3072);
    assert!(matches!(kit.sequence(&clients[0], 5, 1, "call", true), Ok(Sequenced::Uncached(_))));
    // That one is not so old.
    assert!(matches!(kit.sequence(&clients[0], 7, 2, "call", true), Ok(Sequenced::Replay(_))));
    assert!(matches!(kit.sequence(&clients[1], 5, 1, "call", true), Ok(Sequenced::Replay(_))));
}

/// Clients that fill the memory of replies and go on renewing their leases must not stop all others.
#[test]
fn replies_older_than_a_lease_make_room_those_of_courteous_clients_first() {
    let mut kit = Kit::with(Limits { cached_replies_bytes: 4 * 4 * 4096, ..Limits::default() });
    let clients: Vec<_> = (1..=5).map(|user| kit.client(&format!("c{user}"), user)).collect();
    for client in &clients[..4] {
        for slot in 0..4 {
            cached(&mut kit, client, slot, 1, &[1; 4096]);
        }
    }
    let full = 4 * 4 * 4096;
    assert_eq!(kit.state.totals(kit.now).replies_bytes, full);
    assert_eq!(kit.sequence(&clients[4], 0, 1, "call", true).err(), Some(Status::DELAY));
    kit.now += LEASE;
    for client in &clients[..3] {
        kit.renew(client, 1);
    }
    kit.now += SECOND;
    // The fourth one is courteous, and loses all its replies.
    cached(&mut kit, &clients[4], 0, 1, &[1; 4096]);
    assert_eq!(kit.state.totals(kit.now).replies_bytes, full - 3 * 4096);
    assert!(matches!(kit.sequence(&clients[0], 0, 1, "call", true), Ok(Sequenced::Replay(_))));
    assert!(matches!(kit.sequence(&clients[3], 0, 1, "call", true), Ok(Sequenced::Uncached(_))));
    for slot in 1..4 {
        cached(&mut kit, &clients[4], slot, 1, &[1; 4096]);
    }
    // Without courteous clients the old replies of the others go; one that is younger stays.
    cached(&mut kit, &clients[0], 0, 2, &[1; 4096]);
    assert_eq!(kit.sequence(&clients[3], 0, 2, "call", true).err(), Some(Status::DELAY), "looked for just before");
    kit.now += SECOND;
    cached(&mut kit, &clients[3], 0, 2, &[1; 4096]);
    assert_eq!(kit.state.totals(kit.now).replies_bytes, (4 + 1 + 1) * 4096);
    assert!(matches!(kit.sequence(&clients[0], 0, 2, "call", true), Ok(Sequenced::Replay(_))));
    assert!(matches!(kit.sequence(&clients[1], 0, 1, "call", true), Ok(Sequenced::Uncached(_))));
}

#[test]
fn a_client_that_has_its_part_loses_its_own_old_replies_only() {
    let mut kit = Kit::with(Limits { cached_replies_bytes: 4 * 4 * 4096, ..Limits::default() });
    let (client, other) = (kit.client("a", 1), kit.client("b", 2));
    cached(&mut kit, &other, 0, 1, &[1; 4096]);
    for slot in 0..4 {
        cached(&mut kit, &client, slot, 1, &[1; 4096]);
    }
    kit.now += LEASE;
    assert_eq!(kit.sequence(&client, 4, 1, "call", true).err(), Some(Status::DELAY));
    kit.now += SECOND;
    cached(&mut kit, &client, 4, 1, &[1; 4096]);
    assert_eq!(kit.state.totals(kit.now).replies_bytes, 2 * 4096);
    assert!(matches!(kit.sequence(&other, 0, 1, "call", true), Ok(Sequenced::Replay(_))));
}

fn bind(kit: &mut Kit, client: &Client, connection: u64, direction: WantedDirection) -> Result<BoundDirection, Status> {
    let arguments = BindArguments { session: client.session, direction, rdma: true };
    let bound = kit.state.bind_connection(ConnectionId(connection), &arguments);
    bound.map(|BindOk { direction, rdma, .. }| {
        assert!(!rdma);
        direction
    })
}

#[test]
fn a_connection_is_bound_in_the_wanted_direction() {
    use BoundDirection::{Back, Both, Fore};
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    assert_eq!(bind(&mut kit, &client, 10, WantedDirection::Fore), Ok(Fore));
    assert_eq!(bind(&mut kit, &client, 11, WantedDirection::Back), Ok(Back));
    assert_eq!(bind(&mut kit, &client, 12, WantedDirection::ForeOrBoth), Ok(Both));
    assert_eq!(bind(&mut kit, &client, 13, WantedDirection::BackOrBoth), Ok(Both));
    // Again: the same direction is fine, another one is not.
    assert_eq!(bind(&mut kit, &client, 10, WantedDirection::Fore), Ok(Fore));
    assert_eq!(bind(&mut kit, &client, 10, WantedDirection::ForeOrBoth), Ok(Fore));
    assert_eq!(bind(&mut kit, &client, 10, WantedDirection::Back), Err(Status::INVAL));
    assert_eq!(bind(&mut kit, &client, 11, WantedDirection::Fore), Err(Status::INVAL));
    assert_eq!(bind(&mut kit, &client, 11, WantedDirection::BackOrBoth), Ok(Back));
    assert_eq!(bind(&mut kit, &client, 12, WantedDirection::Fore), Err(Status::INVAL));
    assert_eq!(bind(&mut kit, &client, 12, WantedDirection::BackOrBoth), Ok(Both));
    assert_eq!(bind(&mut kit, &client, 10, WantedDirection::BackOrBoth), Ok(Both));
    let mut unknown = client.clone();
    unknown.session[9] ^= 1;
    assert_eq!(bind(&mut kit, &unknown, 1, WantedDirection::Fore), Err(Status::BADSESSION));
}

#[test]
fn a_connection_of_the_back_channel_takes_no_requests() {
    let mut kit = Kit::new();
    let mut client = kit.client("a", 1);
    bind(&mut kit, &client, 11, WantedDirection::Back).expect("bound");
    client.caller.connection = ConnectionId(11);
    assert_eq!(kit.sequence(&client, 0, 1, "", true).err(), Some(Status::CONN_NOT_BOUND_TO_SESSION));
    kit.state.connection_closed(ConnectionId(11), kit.now);
    assert!(kit.sequence(&client, 0, 1, "", true).is_ok());
}

#[test]
fn a_session_has_a_bounded_number_of_connections() {
    let mut kit = Kit::with(Limits { connections_per_session: 3, ..Limits::default() });
    let mut client = kit.client("a", 1);
    for sequence in 1..50 {
        client.caller = Caller { connection: ConnectionId(u64::from(sequence)), ..client.caller };
        kit.renew(&client, sequence);
        let session = &kit.state.list_sessions(0, 1).elements[0];
        assert!(session.connections <= 3 && session.back_channel);
    }
    for connection in 0..50 {
        kit.state.connection_closed(ConnectionId(connection), kit.now);
    }
    let session = &kit.state.list_sessions(0, 1).elements[0];
    assert_eq!((session.connections, session.back_channel), (0, false));
}

#[test]
fn a_session_ends_with_its_replies() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    cached(&mut kit, &client, 0, 1, b"reply");
    let running = kit.begin(&client, 1, 1, true);
    assert_eq!(kit.state.destroy_session(&client.session, None, kit.now), Err(Status::DELAY));
    assert_eq!(kit.state.destroy_session(&client.session, Some(&running), kit.now), Ok(()));
    let totals = kit.state.totals(kit.now);
    assert_eq!((totals.sessions, totals.slots, totals.replies_bytes, totals.clients), (0, 0, 0, 1));
    kit.state.complete(running, &[Bytes::from_static(b"late")], kit.now);
    assert_eq!(kit.state.totals(kit.now).replies_bytes, 0);
    assert_eq!(kit.state.destroy_session(&client.session, None, kit.now), Err(Status::BADSESSION));
}

#[test]
fn a_new_session_in_the_place_of_another_has_another_id() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    kit.state.destroy_session(&client.session, None, kit.now).expect("destroyed");
    let created = kit.state.create_session(&client.caller, &create(client.id, 2), 77, kit.now).expect("a session");
    assert_ne!(created.session, client.session);
    assert_eq!(created.session[..12], client.session[..12]);
    assert_eq!(kit.sequence(&client, 0, 1, "", true).err(), Some(Status::BADSESSION));
}
