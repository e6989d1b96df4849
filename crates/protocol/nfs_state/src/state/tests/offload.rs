//! Asynchronous copies and their callbacks.

use std::time::Duration;

use nfs::v4::callback::OffloadArguments;
use nfs::v4::offload::WriteResponse;
use nfs::v4::session::{
    BackChannelArguments, BindArguments, CallbackSecurity, GssHandles, WantedDirection, sequence_status,
};
use nfs::v4::{Stable, Stateid, Status};
use xdr::Opaque;

use super::kit::{Client, Kit, LEASE, SECOND};
use crate::state::{Callback, CallbackAnswer};
use crate::{ConnectionId, CopyDenied, Referring};

const DONE: CallbackAnswer = CallbackAnswer::Offload(Ok(()));

fn offload(stateid: Stateid) -> OffloadArguments {
    let response = WriteResponse { callback: None, count_bytes: 4096, committed: Stable::FileSync, verifier: [7; 8] };
    OffloadArguments { file: Opaque::from("handle"), stateid, outcome: Ok(response) }
}

/// A copy that is ready, with its callback due.
fn copied(kit: &mut Kit, client: &Client) -> Stateid {
    let stateid = kit.state.begin_copy(client.reference).expect("a copy");
    kit.state.queue_callback(offload(stateid), None, kit.now);
    stateid
}

fn next(kit: &mut Kit) -> Option<Callback> {
    kit.state.next_callback(kit.now)
}

/// Slot and sequence id of a callback.
fn place(callback: &Callback) -> (u32, u32) {
    (callback.sequence.slot, callback.sequence.sequence)
}

#[test]
fn a_callback_names_session_slot_copy_and_referring_call() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let admitted = kit.begin(&client, 2, 1, true);
    let referring: Referring = kit.state.referring(&admitted);
    let stateid = kit.state.begin_copy(client.reference).expect("a copy");
    kit.state.complete(admitted, &[], kit.now);
    assert_eq!((stateid.seqid, next(&mut kit)), (1, None));
    kit.state.queue_callback(offload(stateid), Some(referring), kit.now);
    kit.state.queue_callback(offload(stateid), Some(referring), kit.now);
    assert_eq!(kit.state.totals(kit.now).callbacks, 1);
    let callback = next(&mut kit).expect("due");
    assert_eq!((callback.connection, callback.program), (client.caller.connection, 0x4000_0000));
    assert_eq!((callback.security.clone(), callback.offload.clone()), (CallbackSecurity::None, offload(stateid)));
    assert_eq!(
        (callback.sequence.session, place(&callback), callback.sequence.highest_slot),
        (client.session, (0, 1), 1)
    );
    let calls = &callback.sequence.referring[0];
    assert_eq!((calls.session, calls.calls[0].slot, calls.calls[0].sequence), (client.session, 2, 1));
    assert_eq!(next(&mut kit), None);
    assert_eq!(kit.state.check_copy(client.reference, &stateid), Ok(()));
    kit.state.callback_answered(callback.id, DONE, kit.now);
    assert!(!kit.state.is_copying(&stateid));
    assert_eq!(kit.state.check_copy(client.reference, &stateid), Err(Status::BAD_STATEID));
    kit.state.callback_answered(callback.id, DONE, kit.now);
    kit.state.files.check();
}

#[test]
fn slots_of_the_back_channel_are_used_one_request_at_a_time() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    for _ in 0..3 {
        copied(&mut kit, &client);
    }
    let (one, two) = (next(&mut kit).expect("due"), next(&mut kit).expect("due"));
    assert_eq!((place(&one), place(&two), next(&mut kit)), ((0, 1), (1, 1), None));
    kit.state.callback_answered(two.id, DONE, kit.now);
    assert_eq!(next(&mut kit).map(|callback| place(&callback)), Some((1, 2)));
}

#[test]
fn a_callback_that_was_lost_is_repeated_as_the_same_request() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    copied(&mut kit, &client);
    let first = next(&mut kit).expect("due");
    kit.state.connection_closed(client.caller.connection, kit.now);
    assert_eq!(next(&mut kit), None);
    let moved = Client { caller: super::kit::caller(50, 1), ..client.clone() };
    assert_eq!(kit.renew(&moved, 1).status_flags, sequence_status::CALLBACK_PATH_DOWN);
    let bind = BindArguments { session: client.session, direction: WantedDirection::BackOrBoth, rdma: false };
    kit.state.bind_connection(ConnectionId(50), &bind).expect("bound");
    assert_eq!(kit.renew(&moved, 2).status_flags, 0);
    let again = next(&mut kit).expect("due");
    assert_eq!((again.connection, place(&again), again.id), (ConnectionId(50), place(&first), first.id));
}

/// A callback that was not answered for a lease was sent again on the same connection, for which a client may close it.
#[test]
fn a_callback_is_not_repeated_on_a_connection_that_lives() {
    for direction in [WantedDirection::BackOrBoth, WantedDirection::Back] {
        let mut kit = Kit::new();
        let client = kit.client("a", 1);
        let bind = BindArguments { session: client.session, direction, rdma: false };
        kit.state.bind_connection(ConnectionId(50), &bind).expect("bound");
        copied(&mut kit, &client);
        let first = next(&mut kit).expect("due");
        assert_eq!(first.connection, ConnectionId(50));
        kit.now += LEASE;
        kit.state.advance(kit.now);
        assert_eq!(next(&mut kit), None);
        kit.now += SECOND;
        kit.state.advance(kit.now);
        // The other connection of the session.
        let second = next(&mut kit).expect("due");
        assert_eq!((second.connection, place(&second)), (client.caller.connection, place(&first)));
        // That one is silent, too.
        kit.now += LEASE + SECOND;
        kit.state.advance(kit.now);
        assert_eq!(next(&mut kit), None);
        assert_eq!(kit.renew(&client, 1).status_flags, sequence_status::CALLBACK_PATH_DOWN);
        let session = &kit.state.list_sessions(0, 1).elements[0];
        assert_eq!(
            (session.back_channel, session.connections),
            (false, if direction == WantedDirection::Back { 1 } else { 2 })
        );
        // A late answer ends it.
        kit.state.callback_answered(first.id, DONE, kit.now);
        assert_eq!((kit.state.totals(kit.now).callbacks, kit.renew(&client, 2).status_flags), (0, 0));
    }
}

/// The client has executed the callback, and has not kept its reply: that was taken for a fault of the session.
#[test]
fn a_callback_whose_reply_the_client_has_not_kept_is_done() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let stateid = copied(&mut kit, &client);
    let first = next(&mut kit).expect("due");
    kit.state.callback_answered(first.id, CallbackAnswer::SequenceFailed(Status::RETRY_UNCACHED_REP), kit.now);
    assert!(!kit.state.is_copying(&stateid));
    assert_eq!(kit.renew(&client, 1).status_flags, 0);
    copied(&mut kit, &client);
    assert_eq!(next(&mut kit).map(|callback| place(&callback)), Some((0, 2)));
}

#[test]
fn the_only_back_channel_of_a_client_that_keeps_its_lease_is_known() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let (own, other) = (client.caller.connection, ConnectionId(50));
    assert_eq!([own, other].map(|one| kit.state.is_only_back_channel(one, kit.now)), [true, false]);
    let bind = BindArguments { session: client.session, direction: WantedDirection::Back, rdma: false };
    kit.state.bind_connection(other, &bind).expect("bound");
    assert_eq!([own, other].map(|one| kit.state.is_only_back_channel(one, kit.now)), [false, false]);
    kit.state.connection_closed(own, kit.now);
    assert!(kit.state.is_only_back_channel(other, kit.now));
    kit.now += LEASE + SECOND;
    assert!(!kit.state.is_only_back_channel(other, kit.now), "its lease has expired");
}

#[test]
fn delay_is_followed_by_a_pause() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    copied(&mut kit, &client);
    let first = next(&mut kit).expect("due");
    // CB_SEQUENCE failed: the slot is as before.
    kit.state.callback_answered(first.id, CallbackAnswer::SequenceFailed(Status::DELAY), kit.now);
    assert_eq!(next(&mut kit), None);
    kit.now += SECOND;
    let second = next(&mut kit).expect("due");
    assert_eq!(place(&second), (0, 1));
    // CB_OFFLOAD failed: it is a new request.
    kit.state.callback_answered(second.id, CallbackAnswer::Offload(Err(Status::DELAY)), kit.now);
    assert_eq!(next(&mut kit), None);
    kit.now += SECOND;
    assert_eq!(next(&mut kit).map(|callback| place(&callback)), Some((0, 2)));
}

#[test]
fn replies_without_sense_are_a_fault_until_the_back_channel_is_bound_again() {
    for answer in [CallbackAnswer::SequenceFailed(Status::BADSESSION), CallbackAnswer::Unusable] {
        let mut kit = Kit::new();
        let client = kit.client("a", 1);
        copied(&mut kit, &client);
        let first = next(&mut kit).expect("due");
        kit.state.callback_answered(first.id, answer, kit.now);
        kit.now += SECOND;
        assert_eq!(next(&mut kit), None);
        let flags = sequence_status::BACK_CHANNEL_FAULT | sequence_status::CALLBACK_PATH_DOWN;
        assert_eq!(kit.renew(&client, 1).status_flags, flags);
        let admitted = kit.begin(&client, 0, 1, false);
        let gss = GssHandles { service: 1, from_server: Opaque::from(""), from_client: Opaque::from("") };
        let mut control = BackChannelArguments { program: 5, security: vec![CallbackSecurity::Gss(gss)].into() };
        assert_eq!(kit.state.back_channel_control(&admitted, &control), Err(Status::NOENT));
        control.security = vec![CallbackSecurity::None].into();
        assert_eq!(kit.state.back_channel_control(&admitted, &control), Ok(()));
        kit.state.complete(admitted, &[], kit.now);
        assert_eq!(kit.renew(&client, 2).status_flags, 0);
        let second = next(&mut kit).expect("due");
        assert_eq!((second.program, place(&second)), (5, (0, 2)));
    }
}

/// Each reply without sense cost a slot, until the session ended: after two of them it had no back channel any more.
#[test]
fn a_slot_is_used_again_after_replies_without_sense() {
    for executed in [true, false] {
        let mut kit = Kit::new();
        let client = kit.client("a", 1);
        let first = copied(&mut kit, &client);
        // Sequence id of the last request that the client has executed.
        let mut last = 0;
        for round in 1..=5 {
            let callback = next(&mut kit).expect("due");
            assert_eq!(place(&callback), (0, last + 1), "round {round}");
            last += u32::from(executed);
            kit.state.callback_answered(callback.id, CallbackAnswer::Unusable, kit.now);
            kit.now += SECOND;
            assert_eq!(next(&mut kit), None);
            let bind = BindArguments { session: client.session, direction: WantedDirection::ForeOrBoth, rdma: false };
            kit.state.bind_connection(client.caller.connection, &bind).expect("bound");
            if !executed {
                // The next sequence id is one too far.
                let ahead = next(&mut kit).expect("due");
                assert_eq!(place(&ahead), (0, 2));
                let misordered = CallbackAnswer::SequenceFailed(Status::SEQ_MISORDERED);
                kit.state.callback_answered(ahead.id, misordered, kit.now);
            }
        }
        let callback = next(&mut kit).expect("due");
        assert_eq!(place(&callback), (0, last + 1));
        kit.state.callback_answered(callback.id, DONE, kit.now);
        assert!(!kit.state.is_copying(&first));
        copied(&mut kit, &client);
        assert_eq!(place(&next(&mut kit).expect("due")), (0, last + 2));
    }
}

#[test]
fn another_session_takes_over_when_one_ends() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let created = kit.create_session(&client.caller, &super::kit::create(client.id, 2)).expect("a session");
    copied(&mut kit, &client);
    let first = next(&mut kit).expect("due");
    assert_eq!(first.sequence.session, client.session);
    assert_eq!(kit.state.destroy_session(&client.session, None, kit.now), Ok(()));
    let second = next(&mut kit).expect("due");
    assert_eq!((second.sequence.session, place(&second)), (created.session, (0, 1)));
}

#[test]
fn a_callback_is_given_up_after_a_lease_and_a_minute() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let stateid = copied(&mut kit, &client);
    kit.now += LEASE + Duration::from_secs(60) - SECOND;
    kit.state.advance(kit.now);
    assert!(kit.state.is_copying(&stateid));
    kit.now += SECOND;
    kit.state.advance(kit.now);
    assert!(!kit.state.is_copying(&stateid));
    assert_eq!(kit.state.totals(kit.now).callbacks, 0);
}

#[test]
fn copies_are_limited_and_end_with_their_client() {
    let mut kit = Kit::new();
    let clients: Vec<Client> = (1..=5).map(|user| kit.client(&format!("c{user}"), user)).collect();
    let stateid = copied(&mut kit, &clients[0]);
    assert_eq!(kit.state.check_copy(clients[1].reference, &stateid), Err(Status::BAD_STATEID));
    assert_eq!(kit.state.free_stateid(clients[0].reference, &stateid), Err(Status::LOCKS_HELD));
    let (of_client, of_all) = (CopyDenied::OfClient { most: 4 }, CopyDenied::OfAll { most: 16 });
    assert_eq!([of_client, of_all].map(CopyDenied::status), [Status::OFFLOAD_DENIED; 2]);
    for (client, more, denied) in clients.iter().zip([3, 4, 4, 4, 0]).map(|(client, more)| match more {
        0 => (client, more, of_all),
        _ => (client, more, of_client),
    }) {
        for _ in 0..more {
            assert!(kit.state.begin_copy(client.reference).is_ok());
        }
        assert_eq!(kit.state.begin_copy(client.reference), Err(denied));
    }
    kit.state.end_copy(&stateid);
    assert_eq!(kit.state.totals(kit.now).callbacks, 0);
    let stateid = kit.state.begin_copy(clients[4].reference).expect("a copy");
    kit.state.queue_callback(offload(stateid), None, kit.now);
    kit.state.revoke_client(clients[4].id, kit.now).expect("a client");
    assert!(!kit.state.is_copying(&stateid));
    assert_eq!((next(&mut kit), kit.state.totals(kit.now).holdings.copies), (None, 15));
    kit.state.files.check();
}
