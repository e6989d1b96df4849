//! Physical COPY: asynchronous copies, OFFLOAD_STATUS, OFFLOAD_CANCEL, and callbacks.

use super::kit::{Kit, OBJECT, accepted, any, compound_results, end, go};
use super::opens::{self, open};
use crate::access::Rules;
use crate::{BackCall, CopyPolicy, Moment};
use bytes::Bytes;
use nfs::v4::attributes::Attribute;
use nfs::v4::callback::{CallbackOperation, CallbackOutcome, OffloadArguments, OffloadFailure, SequenceOk};
use nfs::v4::compound::{Arguments, Reply as Results, Tag};
use nfs::v4::offload::{CopyArguments, CopyFailure, CopyOk, CopyRequirements, OffloadStatusOk, WriteResponse};
use nfs::v4::open::{share_access, share_deny};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{BindArguments, SequenceArguments, WantedDirection};
use nfs::v4::{Stable, Stateid, Status};
use onc_rpc::message::{AcceptStatus, Message, Reply};
use random::Random;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Waker};
use unit::{Ending, Primitive, Reason};
use xdr::{Reader, Writer};

const ANONYMOUS: Stateid = Stateid::ANONYMOUS;
const PIECE: u64 = 256 << 10;
const MIB: u64 = 1 << 20;

/// Share `s` of the policy, with `f` of `length` bytes and an empty `g`, and a client with a back channel.
fn with_file(policy: CopyPolicy, length: u64) -> (Kit, Vec<u8>) {
    let kit = Kit::new();
    publish(&kit, policy, any());
    let random = Random::new(2);
    let content: Vec<u8> = (0..length).map(|_| random.byte().max(1)).collect();
    kit.file("f", &content);
    kit.file("g", b"");
    (kit, content)
}

fn publish(kit: &Kit, policy: CopyPolicy, rules: Rules) {
    kit.publish_share("s", (OBJECT, 0), &kit.fs, rules, policy);
}

/// Makes the connection of the client a back channel.
fn bind(kit: &Kit) {
    let bind = BindArguments { session: kit.session(), direction: WantedDirection::ForeOrBoth, rdma: false };
    assert_eq!(kit.run_alone(&[Operation::BindConnection(bind)]).0, Ok(()));
}

fn copy(kit: &Kit, from: u64, to: u64, synchronous: bool) -> Result<CopyOk, CopyFailure> {
    let arguments = CopyArguments {
        source_stateid: ANONYMOUS,
        destination_stateid: ANONYMOUS,
        source_offset_bytes: from,
        destination_offset_bytes: to,
        count_bytes: 0,
        consecutive: true,
        synchronous,
        source_servers: Vec::new().into(),
    };
    match kit.between("s/f", "s/g", Operation::Copy(Box::new(arguments))) {
        Outcome::Copy(results) => results,
        other => panic!("{other:?}"),
    }
}

/// Stateid of a copy that goes on.
fn begin(kit: &Kit) -> Stateid {
    let ok = copy(kit, 0, 0, false).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ok.requirements, CopyRequirements { consecutive: true, synchronous: false });
    assert_eq!(ok.response.count_bytes, 0);
    ok.response.callback.unwrap_or_else(|| panic!("{ok:?}"))
}

/// Runs copies, to be polled once for a piece.
fn running(kit: &Kit) -> impl Future<Output = ()> {
    kit.server.copy_ended(|| (Moment { now: kit.now(), uptime: kit.uptime() }, ()))
}

fn is_ready<T>(future: Pin<&mut impl Future<Output = T>>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Copies so many pieces. True if a copy ended with the last one.
fn pieces(kit: &Kit, count: usize) -> bool {
    let mut running = pin!(running(kit));
    (0..count).any(|_| is_ready(running.as_mut()))
}

fn status(kit: &Kit, stateid: Stateid) -> Result<(u64, Option<Result<(), Status>>), Status> {
    match kit.at("s/g", [Operation::OffloadStatus(stateid)]) {
        Outcome::OffloadStatus(results) => {
            results.map(|OffloadStatusOk { count_bytes, complete }| (count_bytes, complete))
        }
        other => panic!("{other:?}"),
    }
}

fn cancel(kit: &Kit, stateid: Stateid) -> Result<(), Status> {
    kit.status_at("s/g", Operation::OffloadCancel(stateid))
}

/// A callback: its transaction, its place in the session, and its outcome.
struct Called {
    xid: u32,
    sequence: nfs::v4::callback::SequenceArguments,
    offload: OffloadArguments,
}

fn called(kit: &Kit) -> Option<Called> {
    let BackCall { connection, record } = kit.server.next_callback(kit.uptime())?;
    assert_eq!(connection, kit.who.get() as u64);
    let mut reader = Reader::strict(record.concat().into());
    let Ok(Message::Call(call)) = Message::decode(&mut reader) else { panic!("no call") };
    assert_eq!((call.program, call.version, call.procedure), (0x4000_0000, 1, 1));
    let mut compound = Arguments::<CallbackOperation>::decode(reader.rest()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((compound.minor, compound.count), (2, 2));
    match [compound.next_operation(), compound.next_operation()] {
        [Some(Ok(CallbackOperation::Sequence(sequence))), Some(Ok(CallbackOperation::Offload(offload)))] => {
            Some(Called { xid: call.xid, sequence, offload: *offload })
        }
        other => panic!("{other:?}"),
    }
}

/// Sends the client's reply to a callback, over the entry of the server.
fn answer(kit: &Kit, called: &Called, done: Result<(), Status>) {
    let sequence = &called.sequence;
    let ok = SequenceOk {
        session: sequence.session,
        sequence: sequence.sequence,
        slot: sequence.slot,
        highest_slot: 1,
        target_highest_slot: 1,
    };
    answer_with(kit, called, [CallbackOutcome::Sequence(Ok(ok)), CallbackOutcome::Offload(done)]);
}

fn answer_with(kit: &Kit, called: &Called, outcomes: impl IntoIterator<Item = CallbackOutcome>) {
    let mut writer = Writer::default();
    let mut results = Results::<CallbackOperation>::start(&mut writer, &Tag::default());
    outcomes.into_iter().for_each(|outcome| results.push(&mut writer, &outcome));
    results.finish(&mut writer, Ok(()));
    let reply = Reply::accepted(called.xid, AcceptStatus::Success);
    kit.server.callback_answered(kit.who.get() as u64, &reply, writer.into_bytes(), kit.uptime());
}

#[test]
fn a_copy_goes_on_after_its_reply_and_tells_exactly_how_far_it_is() {
    let (kit, content) = with_file(CopyPolicy::Physical, 2 * PIECE + 5);
    let stateid = begin(&kit);
    assert_eq!(stateid.seqid, 1);
    assert_eq!(status(&kit, stateid), Ok((0, None)));
    for done in 1..=2 {
        assert!(!pieces(&kit, 1));
        assert_eq!(status(&kit, stateid), Ok((done * PIECE, None)));
        assert_eq!(kit.attribute("s/g", 4), Attribute::Size(done * PIECE));
    }
    assert!(called(&kit).is_none());
    assert!(pieces(&kit, 1));
    assert_eq!(status(&kit, stateid), Ok((2 * PIECE + 5, Some(Ok(())))));
    assert_eq!(kit.read("s/g", 0, 1 << 20), (content, true));
    // It has storage of its own.
    assert_eq!(kit.attribute("s/g", 78), Attribute::SpaceFreed(2 * PIECE + 4096));
}

#[test]
fn the_end_of_a_copy_is_told_once_with_the_call_that_began_it() {
    let (kit, content) = with_file(CopyPolicy::Physical, 1000);
    let stateid = begin(&kit);
    assert!(pieces(&kit, 1));
    let call = called(&kit).unwrap_or_else(|| panic!("no callback"));
    let Ok(response) = &call.offload.outcome else { panic!("{:?}", call.offload) };
    assert_eq!((response.callback, response.count_bytes, response.committed), (None, 1000, Stable::FileSync));
    assert_eq!((call.offload.stateid, &call.offload.file), (stateid, &kit.handle("s/g")));
    let referring = &call.sequence.referring[0];
    assert_eq!((referring.session, referring.calls[0].slot), (kit.session(), 0));
    assert!(called(&kit).is_none());
    // A reply of another connection is none.
    let wrong = Reply::accepted(call.xid, AcceptStatus::Success);
    kit.server.callback_answered(99, &wrong, Bytes::new(), kit.uptime());
    assert!(status(&kit, stateid).is_ok());
    answer(&kit, &call, Ok(()));
    assert_eq!(status(&kit, stateid), Err(Status::BAD_STATEID));
    assert_eq!(cancel(&kit, stateid), Err(Status::BAD_STATEID));
    assert_eq!(kit.read("s/g", 0, 1 << 20).0, content);
}

#[test]
fn a_callback_that_is_lost_or_answered_wrongly_is_sent_again() {
    let (kit, _) = with_file(CopyPolicy::Physical, 1000);
    let stateid = begin(&kit);
    assert!(pieces(&kit, 1));
    let first = called(&kit).unwrap_or_else(|| panic!("no callback"));
    // The connection is lost: the same request again.
    kit.server.state().connection_closed(nfs_state::ConnectionId(kit.who.get() as u64), kit.uptime());
    assert!(called(&kit).is_none());
    bind(&kit);
    let second = called(&kit).unwrap_or_else(|| panic!("no callback"));
    assert_eq!((&second.sequence, &second.offload), (&first.sequence, &first.offload));
    let delay = [CallbackOutcome::Sequence(Err(Status::DELAY))];
    answer_with(&kit, &second, delay);
    assert!(called(&kit).is_none());
    kit.seconds.set(kit.seconds.get() + 1000);
    let third = called(&kit).unwrap_or_else(|| panic!("no callback"));
    assert_eq!(third.sequence, first.sequence);
    // No results, or those of another request: the back channel has a fault until it is bound again.
    let ok = SequenceOk { session: [9; 16], sequence: 1, slot: 0, highest_slot: 1, target_highest_slot: 1 };
    answer_with(&kit, &third, [CallbackOutcome::Sequence(Ok(ok)), CallbackOutcome::Offload(Ok(()))]);
    assert_eq!(status(&kit, stateid), Ok((1000, Some(Ok(())))));
    assert_eq!(cancel(&kit, stateid), Err(Status::COMPLETE_ALREADY));
}

/// A client that needs longer than a lease for its answer sends it to the first call. It was ignored.
#[test]
fn a_late_answer_to_any_call_of_a_callback_ends_it() {
    let (kit, _) = with_file(CopyPolicy::Physical, 1000);
    let stateid = begin(&kit);
    assert!(pieces(&kit, 1));
    let first = called(&kit).unwrap_or_else(|| panic!("no callback"));
    let lease = kit.server.state().lease();
    kit.seconds.set(kit.seconds.get() + i64::try_from(lease.as_millis()).unwrap_or(0) + 1000);
    assert_eq!(end(kit.server.advance(kit.uptime())), Ok(()));
    assert!(called(&kit).is_none(), "the connection lives");
    let bind = BindArguments { session: kit.session(), direction: WantedDirection::BackOrBoth, rdma: false };
    assert_eq!(kit.run_alone(&[Operation::BindConnection(bind)]).0, Ok(()));
    let second = called(&kit).unwrap_or_else(|| panic!("no callback"));
    assert_eq!(second.sequence, first.sequence);
    assert_ne!(second.xid, first.xid);
    answer(&kit, &first, Ok(()));
    assert_eq!(status(&kit, stateid), Err(Status::BAD_STATEID));
    answer(&kit, &second, Ok(()));
    begin(&kit);
    assert!(pieces(&kit, 1));
    let next = called(&kit).unwrap_or_else(|| panic!("no callback"));
    assert_eq!((next.sequence.slot, next.sequence.sequence), (first.sequence.slot, first.sequence.sequence + 1));
}

#[test]
fn a_cancelled_copy_leaves_a_start_and_changes_nothing_more() {
    let (kit, content) = with_file(CopyPolicy::Physical, 4 * PIECE);
    let stateid = begin(&kit);
    assert!(!pieces(&kit, 2));
    assert_eq!(cancel(&kit, stateid), Ok(()));
    assert_eq!(status(&kit, stateid), Err(Status::BAD_STATEID));
    assert_eq!(cancel(&kit, stateid), Err(Status::BAD_STATEID));
    assert!(!pieces(&kit, 5));
    let done = usize::try_from(2 * PIECE).unwrap_or(0);
    assert_eq!(kit.read("s/g", 0, 1 << 20), (content[..done].to_vec(), true));
    assert!(called(&kit).is_none());
    let log = kit.log.borrow();
    let entry = log.iter().find(|entry| entry.primitive == Primitive::Copy).unwrap_or_else(|| panic!("{log:?}"));
    assert_eq!((entry.reason, entry.ending), (Reason::Aborted, Reason::Aborted.ending()));
    assert!(entry.detail.contains("524288 of 1048576 bytes"), "{}", entry.detail);
}

#[test]
fn a_stateid_names_a_copy_of_its_client_into_its_file() {
    let (kit, _) = with_file(CopyPolicy::Physical, 4 * PIECE);
    let stateid = begin(&kit);
    assert_eq!(kit.status_at("s/f", Operation::OffloadStatus(stateid)), Err(Status::BAD_STATEID));
    assert_eq!(kit.status_at("s", Operation::OffloadStatus(stateid)), Err(Status::BAD_STATEID));
    kit.join("other", true);
    assert_eq!(status(&kit, stateid), Err(Status::BAD_STATEID));
    assert_eq!(cancel(&kit, stateid), Err(Status::BAD_STATEID));
    kit.who.set(0);
    assert_eq!(status(&kit, stateid), Ok((0, None)));
}

#[test]
fn a_client_that_waits_gets_short_moves_only() {
    let (kit, content) = with_file(CopyPolicy::Physical, 1000);
    let ok = copy(&kit, 0, 0, true).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ok.requirements, CopyRequirements { consecutive: true, synchronous: true });
    assert_eq!((ok.response.callback, ok.response.count_bytes), (None, 1000));
    assert_eq!(kit.read("s/g", 0, 1 << 20).0, content);
    kit.write("s/f", 16 * MIB, b"x");
    let possible = CopyRequirements { consecutive: true, synchronous: false };
    assert_eq!(copy(&kit, 0, 0, true), Err(CopyFailure::NoRequirements(possible)));
    assert_eq!(kit.log.borrow().last().map(|entry| entry.reason), Some(Reason::OverLimit));
    assert_eq!(kit.attribute("s/g", 4), Attribute::Size(1000));
}

#[test]
fn copies_are_limited_and_the_log_says_which_limit() {
    let (kit, _) = with_file(CopyPolicy::Physical, 1000);
    let all: Vec<Stateid> = (0..4).map(|_| begin(&kit)).collect();
    assert_eq!(copy(&kit, 0, 0, false), Err(CopyFailure::Other(Status::OFFLOAD_DENIED)));
    let detail = kit.log.borrow().last().map(|entry| (entry.reason, entry.detail.clone()));
    let Some((Reason::OverLimit, detail)) = detail else { panic!("{detail:?}") };
    assert!(detail.contains("the client has 4 asynchronous copies"), "{detail}");
    assert_eq!(cancel(&kit, all[2]), Ok(()));
    begin(&kit);
}

#[test]
fn copies_take_turns() {
    let (kit, _) = with_file(CopyPolicy::Physical, 3 * PIECE);
    let (one, two) = (begin(&kit), begin(&kit));
    assert!(!pieces(&kit, 3));
    assert_eq!([one, two].map(|copy| status(&kit, copy)), [Ok((2 * PIECE, None)), Ok((PIECE, None))]);
}

/// One copy whose piece waited for a slow medium held up all others.
#[test]
fn pieces_of_different_copies_go_on_side_by_side() {
    let (kit, _) = with_file(CopyPolicy::Physical, 3 * PIECE);
    let copies = [begin(&kit), begin(&kit)];
    kit.engine.hold_back(true);
    let kept = Rc::new(());
    let piece = || kit.server.copy_piece(|| (Moment { now: kit.now(), uptime: kit.uptime() }, Rc::clone(&kept)));
    let (mut one, mut two, mut three) = (pin!(piece()), pin!(piece()), pin!(piece()));
    assert!(!is_ready(one.as_mut()) && !is_ready(two.as_mut()) && !is_ready(three.as_mut()));
    assert_eq!(Rc::strong_count(&kept), 3, "each copy has one piece in progress");
    kit.engine.hold_back(false);
    assert!(is_ready(one.as_mut()));
    assert_eq!(copies.map(|copy| status(&kit, copy)), [Ok((PIECE, None)), Ok((0, None))]);
    assert!(is_ready(three.as_mut()), "the first copy has its next turn");
    assert!(is_ready(two.as_mut()));
    assert_eq!(copies.map(|copy| status(&kit, copy)), [Ok((2 * PIECE, None)), Ok((PIECE, None))]);
    assert_eq!(Rc::strong_count(&kept), 1, "what is kept ends with the pieces");
}

/// Runs a copy to its end, and returns the failure that its callback tells.
fn failure(kit: &Kit) -> OffloadFailure {
    assert!(pieces(kit, 100));
    let call = called(kit).unwrap_or_else(|| panic!("no callback"));
    answer(kit, &call, Ok(()));
    match call.offload.outcome {
        Err(failure) => failure,
        Ok(response) => panic!("{response:?}"),
    }
}

#[test]
fn a_copy_that_fails_tells_what_was_copied() {
    let (kit, content) = with_file(CopyPolicy::Physical, 4 * PIECE);
    let stateid = begin(&kit);
    assert!(!pieces(&kit, 2));
    kit.engine.leave(0);
    assert!(pieces(&kit, 1));
    assert_eq!(status(&kit, stateid), Ok((2 * PIECE, Some(Err(Status::NOSPC)))));
    assert_eq!(failure_of(&kit), OffloadFailure { status: Status::NOSPC, copied_bytes: 2 * PIECE });
    let done = usize::try_from(2 * PIECE).unwrap_or(0);
    assert_eq!(kit.read("s/g", 0, 1 << 20), (content[..done].to_vec(), true));
    let log = kit.log.borrow();
    assert!(log.iter().any(|entry| (entry.primitive, entry.reason) == (Primitive::Copy, Reason::NoSpace)), "{log:?}");
}

fn failure_of(kit: &Kit) -> OffloadFailure {
    let call = called(kit).unwrap_or_else(|| panic!("no callback"));
    answer(kit, &call, Ok(()));
    call.offload.outcome.err().unwrap_or_else(|| panic!("it succeeded"))
}

#[test]
fn a_copy_ends_with_its_files_its_permission_and_its_content() {
    let (kit, _) = with_file(CopyPolicy::Physical, 2 * PIECE);
    begin(&kit);
    publish(&kit, CopyPolicy::Physical, Rules::default());
    assert_eq!(failure(&kit), OffloadFailure { status: Status::ACCESS, copied_bytes: 0 });
    publish(&kit, CopyPolicy::Physical, any());
    begin(&kit);
    kit.publish_share("s", (OBJECT, 1), &kit.fs, any(), CopyPolicy::Physical);
    assert_eq!(failure(&kit).status, Status::STALE);
    publish(&kit, CopyPolicy::Physical, any());
    begin(&kit);
    kit.server.content_replaced(OBJECT);
    assert_eq!(failure_of(&kit), OffloadFailure { status: Status::ADMIN_REVOKED, copied_bytes: 0 });
    begin(&kit);
    assert_eq!(kit.status_at("s", Operation::Remove("g".into())), Ok(()));
    assert_eq!(failure(&kit).status, Status::STALE);
}

#[test]
fn a_copy_ends_with_its_client() {
    let (kit, _) = with_file(CopyPolicy::Physical, 4 * PIECE);
    begin(&kit);
    assert!(!pieces(&kit, 1));
    let id = kit.client_id();
    assert!(kit.server.state().revoke_client(id, kit.uptime()).is_ok());
    assert!(pieces(&kit, 1));
    assert!(!pieces(&kit, 10));
    assert!(called(&kit).is_none());
    assert_eq!(kit.server.state().totals(kit.uptime()).holdings.copies, 0);
}

/// A piece of a copy was written after the roll-back of its share was acknowledged: after the source was read, the end
/// of the copy was not looked at.
#[test]
fn a_piece_is_not_written_after_a_roll_back_that_came_while_it_was_read() {
    for from in [0, 16 * MIB] {
        let (kit, _) = with_file(CopyPolicy::Physical, if from == 0 { 4 * PIECE } else { 0 });
        kit.write("s/f", 16 * MIB, b"x");
        begin(&kit);
        kit.engine.stutter();
        let mut running = pin!(running(&kit));
        assert!(!is_ready(running.as_mut()));
        kit.server.content_replaced(OBJECT);
        while !is_ready(running.as_mut()) {}
        assert_eq!(kit.attributes("s/g", &[4, 45]), [Attribute::Size(0), Attribute::SpaceUsed(0)]);
    }
}

#[test]
fn a_roll_back_waits_for_the_piece_that_is_written() {
    let (kit, _) = with_file(CopyPolicy::Physical, 4 * PIECE);
    begin(&kit);
    kit.engine.hold_back(true);
    let mut running = pin!(running(&kit));
    assert!(!is_ready(running.as_mut()));
    assert!(is_ready(pin!(kit.server.barred_pieces_ended())), "a copy that may go on is not waited for");
    kit.server.content_replaced(OBJECT);
    let mut ended = pin!(kit.server.barred_pieces_ended());
    assert!(!is_ready(ended.as_mut()));
    kit.engine.hold_back(false);
    assert!(is_ready(running.as_mut()));
    assert!(is_ready(ended.as_mut()));
    assert_eq!(kit.attribute("s/g", 4), Attribute::Size(PIECE));
}

/// Two requests of one client to cancel a copy counted it twice: both waited for the piece in progress.
#[test]
fn a_copy_that_is_cancelled_twice_is_counted_once() {
    let (kit, _) = with_file(CopyPolicy::Physical, 4 * PIECE);
    let stateid = begin(&kit);
    kit.engine.hold_back(true);
    let mut running = pin!(running(&kit));
    assert!(!is_ready(running.as_mut()));
    let call = |slot| {
        let (session, cache_this) = (kit.session(), false);
        let Operation::Sequence(sequence) = kit.next_sequence() else { panic!("no SEQUENCE") };
        let sequence = SequenceArguments {
            session,
            slot,
            sequence: if slot > 0 { 1 } else { sequence.sequence },
            highest_slot: 1,
            cache_this,
        };
        let operations =
            [vec![Operation::Sequence(sequence)], go("s/g"), vec![Operation::OffloadCancel(stateid)]].concat();
        kit.sent(kit.call(1, &kit.arguments(b"tag", &operations)))
    };
    let (mut one, mut two) = (pin!(call(0)), pin!(call(1)));
    assert!(!is_ready(one.as_mut()) && !is_ready(two.as_mut()));
    kit.engine.hold_back(false);
    assert!(is_ready(running.as_mut()));
    for cancelled in [end(one), end(two)] {
        assert_eq!(compound_results(accepted(cancelled)).0, Ok(()));
    }
    let log = kit.log.borrow();
    assert_eq!(log.iter().filter(|entry| entry.primitive == Primitive::Copy).count(), 1, "{log:?}");
    assert!(log[0].detail.contains("has cancelled the copy"), "{}", log[0].detail);
}

/// A copy holds no share reservation: after CLOSE it is I/O without an open, which other clients may deny.
#[test]
fn a_copy_ends_if_another_client_denies_its_reads_or_writes() {
    for (name, deny) in [("f", share_deny::READ), ("g", share_deny::WRITE)] {
        let (kit, _) = with_file(CopyPolicy::Physical, 4 * PIECE);
        let stateid = begin(&kit);
        kit.engine.hold_back(true);
        let mut running = pin!(running(&kit));
        assert!(!is_ready(running.as_mut()));
        kit.join("client-1", true);
        let own = kit.who.get();
        let operations = [vec![kit.next_sequence()], go("s"), vec![open(name, share_access::BOTH, deny)]].concat();
        let mut opens = pin!(kit.sent(kit.call(1, &kit.arguments(b"tag", &operations))));
        assert!(!is_ready(opens.as_mut()), "it waits for the piece in progress");
        kit.engine.hold_back(false);
        assert!(!is_ready(running.as_mut()));
        assert_eq!(compound_results(accepted(end(opens))).0, Ok(()));
        assert!(is_ready(running.as_mut()));
        kit.who.set(own - 1);
        assert_eq!(failure_of(&kit), OffloadFailure { status: Status::LOCKED, copied_bytes: PIECE });
        assert_eq!(status(&kit, stateid), Err(Status::BAD_STATEID));
        assert_eq!(kit.attribute("s/g", 4), Attribute::Size(PIECE));
    }
}

#[test]
fn a_copy_goes_on_if_others_deny_what_it_does_not_do() {
    let (kit, content) = with_file(CopyPolicy::Physical, 2 * PIECE);
    begin(&kit);
    // The client itself may deny others.
    opens::stateid(&kit, open("g", share_access::BOTH, share_deny::WRITE));
    kit.join("client-1", true);
    opens::stateid(&kit, open("f", share_access::READ, share_deny::WRITE));
    assert!(pieces(&kit, 2));
    assert_eq!(kit.read("s/g", 0, 1 << 20).0, content);
}

#[test]
fn pieces_of_an_unaligned_copy_end_with_blocks_of_the_destination() {
    let (kit, content) = with_file(CopyPolicy::Physical, 2 * PIECE);
    let ok = copy(&kit, 0, 4095, false).unwrap_or_else(|error| panic!("{error:?}"));
    assert!(ok.response.callback.is_some());
    for end in [PIECE, 2 * PIECE] {
        assert!(!pieces(&kit, 1));
        assert_eq!(kit.attribute("s/g", 4), Attribute::Size(end));
    }
    assert!(pieces(&kit, 1));
    assert_eq!(kit.read("s/g", 4095, 1 << 20), (content, true));
}

#[test]
fn a_source_that_becomes_shorter_ends_the_copy() {
    let (kit, _) = with_file(CopyPolicy::Physical, 4 * PIECE);
    begin(&kit);
    assert!(!pieces(&kit, 1));
    let size = Attribute::Size(PIECE + 10);
    assert_eq!(kit.status_at("s/f", super::kit::set(ANONYMOUS, [size])), Ok(()));
    assert!(pieces(&kit, 3));
    let call = called(&kit).unwrap_or_else(|| panic!("no callback"));
    assert_eq!(call.offload.outcome.map(|WriteResponse { count_bytes, .. }| count_bytes).ok(), Some(PIECE + 10));
}

#[test]
fn holes_are_one_piece_and_stay_holes() {
    let (kit, _) = with_file(CopyPolicy::Physical, 100);
    kit.write("s/f", 1 << 40, b"end");
    kit.write("s/g", 8 * MIB, b"old");
    begin(&kit);
    assert!(pieces(&kit, 4));
    assert_eq!(kit.attributes("s/g", &[4, 45]), [Attribute::Size((1 << 40) + 3), Attribute::SpaceUsed(8192)]);
    assert_eq!(kit.read("s/g", 8 * MIB, 3).0, [0; 3]);
    assert_eq!(kit.read("s/g", 1 << 40, 9), (b"end".to_vec(), true));
}

#[test]
fn a_copy_that_cannot_share_goes_on_after_the_reply_if_it_is_long() {
    let (kit, content) = with_file(CopyPolicy::Share, 1000);
    let ok = copy(&kit, 0, 1, false).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!((ok.response.callback, ok.response.count_bytes), (None, 1000));
    assert_eq!(kit.read("s/g", 1, 1 << 20).0, content);
    kit.write("s/f", 16 * MIB, b"x");
    let ok = copy(&kit, 0, 1, true).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!((ok.response.callback, ok.response.count_bytes), (None, 16 * MIB));
    let ok = copy(&kit, 0, 1, false).unwrap_or_else(|error| panic!("{error:?}"));
    assert!(ok.response.callback.is_some() && !ok.requirements.synchronous);
    assert!(pieces(&kit, 4));
    assert_eq!(kit.read("s/g", 16 * MIB + 1, 9), (b"x".to_vec(), true));
    // What can be shared is shared at once.
    let ok = copy(&kit, 0, 0, false).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!((ok.response.callback, ok.response.count_bytes), (None, 16 * MIB + 1));
}

#[test]
fn a_copy_is_counted_when_it_ends() {
    let (kit, _) = with_file(CopyPolicy::Physical, 1000);
    let rows = || kit.statistics.share(OBJECT).map(|share| share.offload(false)).unwrap_or_default();
    let copies = || rows().into_iter().find(|row| row.primitive == Primitive::Copy);
    begin(&kit);
    assert!(copies().is_none());
    assert!(pieces(&kit, 1));
    let row = copies().unwrap_or_else(|| panic!("it is not counted"));
    assert_eq!((row.statistics.ok, row.statistics.copied_bytes, row.statistics.cloned_bytes), (1, 1000, 0));
    assert!(kit.log.borrow().iter().all(|entry| entry.ending != Ending::Ineffective));
}
