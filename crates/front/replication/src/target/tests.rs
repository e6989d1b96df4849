//! Everything that a peer may send is refused or applied in its order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{ConnectionId, MAX_STEPS, NumberedStep, SAVE_AFTER, Target, TargetEvent};
use crate::checksum::Crc32c;
use crate::group::Group;
use crate::names::{GroupId, MemberId, Name, Point, PointId};
use crate::place::{BLOCK_BYTES, Position, Range};
use crate::record::Record;
use crate::refusal::{Code, Refusal};
use crate::store::{Done, Sizes, Step, StoreError};
use crate::wire::{
    Begin, BeginMember, Clone as CloneMessage, CloneFrom, Commit, Committed, GroupRole, Lost, MAX_WRITE_BLOCKS,
    Message, Ready, Resize, Start, WINDOW_BYTES, Write, Zero,
};
use random::Random;
use std::time::Duration;
use uuid::Uuid;

const ID: GroupId = GroupId(Uuid::from_u128(7));
const ONE: ConnectionId = ConnectionId(1);
const TWO: ConnectionId = ConnectionId(2);
/// Blocks of each member.
const BLOCKS: u64 = 1 << 20;

fn point(cycle: u64) -> Point {
    Point { id: PointId { epoch: 1, cycle, mark: 5 }, name: Name::try_from("t").unwrap(), taken_ms: 0 }
}

fn begin(cycle: u64) -> Begin {
    let member =
        |id, start| BeginMember { id: MemberId(Uuid::from_u128(id)), name: Name::try_from("v").unwrap(), start };
    let members = vec![member(1, Start::Base), member(2, Start::Nothing), member(3, Start::Parent(0))];
    Begin { group: ID, point: point(cycle), base: Some(point(1).id), members }
}

const fn at(member: u16, block: u64) -> Position {
    Position { member, block }
}

const fn range(member: u16, block: u64, count: u64) -> Range {
    Range { start: at(member, block), count }
}

fn write(member: u16, block: u64, count: usize) -> Message {
    let data = vec![7; count * BLOCK_BYTES];
    let checksums = vec![Crc32c::of(&data[..BLOCK_BYTES]); count];
    Message::Write(Write { start: at(member, block), checksums, data: data.into() })
}

const fn zero(member: u16, block: u64, count: u64) -> Message {
    Message::Zero(Zero { range: range(member, block, count) })
}

const fn copy(to: Range, origin: CloneFrom, from: Position) -> Message {
    Message::Clone(CloneMessage { to, origin, from })
}

/// A target whose store does what it is told when the test says so.
struct Bench {
    target: Target,
    group: Group,
    now: Duration,
    steps: Vec<NumberedStep>,
}

impl Bench {
    fn new() -> Self {
        let record = Record { points: vec![point(1)], ..Record::new(GroupRole::Replica) };
        Self { target: Target::default(), group: Group::new(ID, record), now: Duration::ZERO, steps: Vec::new() }
    }

    /// A bench whose cycle has begun on connection 1.
    fn begun() -> Self {
        let mut bench = Self::new();
        bench.send(ONE, Message::Begin(begin(2)));
        bench.end_all();
        assert_eq!(bench.answers(), [(ONE, Message::Ready(Ready { point: point(2).id, member: 0, block: 0 }))]);
        bench.send(ONE, Message::Progress(Position::START));
        bench
    }

    fn send(&mut self, connection: ConnectionId, message: Message) {
        self.target.handle_message(&mut self.group, self.now, connection, message);
        self.fetch();
    }

    fn fetch(&mut self) {
        self.steps.extend(std::iter::from_fn(|| self.target.poll_step()));
    }

    fn end(&mut self, at: usize, result: Result<Done, StoreError>) -> Step {
        let NumberedStep { number, step } = self.steps.remove(at);
        self.target.handle_done(&mut self.group, self.now, number, result);
        self.fetch();
        step
    }

    fn end_ok(&mut self, at: usize) -> Step {
        let sizes = Sizes { working: vec![BLOCKS, 0, 0], base: vec![Some(BLOCKS), None, None] };
        let done = match self.steps[at].step {
            Step::Prepare(_) => Done::Prepared(sizes),
            _ => Done::Ended,
        };
        self.end(at, Ok(done))
    }

    /// Ends steps until there are none.
    fn end_all(&mut self) -> Vec<Step> {
        let mut ended = Vec::new();
        while !self.steps.is_empty() {
            ended.push(self.end_ok(0));
        }
        ended
    }

    fn answers(&mut self) -> Vec<(ConnectionId, Message)> {
        std::iter::from_fn(|| self.target.poll_message()).collect()
    }

    /// The refusal of a message.
    fn refused(&mut self) -> Option<(ConnectionId, Code)> {
        match self.target.poll_event() {
            Some(TargetEvent::Refused { connection, refusal: Refusal { code, .. } }) => Some((connection, code)),
            None => None,
            Some(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_cycle_leads_to_its_point() {
    let mut bench = Bench::begun();
    let resize = Message::Resize(Resize { member: 1, blocks: 300 });
    let lost = Message::Lost(Lost { range: range(1, 17, 1) });
    let clone = copy(range(1, 20, 2), CloneFrom::Working, at(0, 3));
    let based = copy(range(2, 0, 2), CloneFrom::Base, at(0, 50));
    for message in [write(0, 3, 2), zero(0, 9, 1), resize, write(1, 5, 1), lost, clone, based] {
        bench.send(ONE, message);
    }
    bench.send(ONE, Message::Progress(Position::end(3)));
    bench.send(ONE, Message::Commit(Commit { point: point(2).id }));
    let steps: Vec<String> =
        bench.end_all().iter().map(|step| format!("{step:?}").split([' ', '(']).next().unwrap().to_owned()).collect();
    let expected = ["Write", "Zero", "Empty", "Resize", "Write", "Lose", "Clone", "Derive", "Clone", "Flush", "Commit"];
    assert_eq!(steps, expected);
    assert_eq!(bench.target.poll_event(), Some(TargetEvent::Committed(point(2))));
    assert!(bench.answers().contains(&(ONE, Message::Committed(Committed { point: point(2).id }))));
    let record = bench.group.record();
    assert_eq!((record.newest(), &record.progress), (Some(&point(2)), &None));
    assert!(bench.target.is_quiet());
}

#[test]
fn what_breaks_a_rule_is_refused_and_ends_the_session() {
    let everything = range(0, 0, BLOCKS);
    let cases = [
        (vec![write(0, 9, 1), write(0, 9, 1)], Code::OutOfOrder),
        (vec![write(0, 9, 2), zero(0, 10, 1)], Code::OutOfOrder),
        (vec![write(1, 0, 1)], Code::OutsideGroup),
        (vec![zero(0, BLOCKS - 1, 2)], Code::OutsideGroup),
        (vec![zero(3, 0, 1)], Code::OutsideGroup),
        (vec![Message::Progress(at(1, 0)), zero(0, BLOCKS - 1, 1)], Code::OutOfOrder),
        (vec![Message::Progress(at(3, 1))], Code::OutsideGroup),
        (vec![Message::Progress(at(7, 0))], Code::OutsideGroup),
        (vec![write(0, 9, 1), Message::Progress(at(0, 3))], Code::OutOfOrder),
        (vec![copy(range(0, 8, 4), CloneFrom::Working, at(0, 5))], Code::NotFinal),
        (vec![copy(range(0, 8, 4), CloneFrom::Working, at(0, 12))], Code::NotFinal),
        (vec![copy(range(0, 8, 4), CloneFrom::Working, at(1, 0))], Code::OutsideGroup),
        (vec![copy(range(0, 8, 4), CloneFrom::Base, at(1, 0))], Code::OutsideGroup),
        (vec![copy(range(0, 8, 4), CloneFrom::Base, at(0, BLOCKS - 3))], Code::OutsideGroup),
        (vec![copy(everything, CloneFrom::Base, at(9, 0))], Code::OutsideGroup),
        (vec![Message::Resize(Resize { member: 3, blocks: 1 })], Code::OutsideGroup),
        (vec![write(0, 0, 1), Message::Resize(Resize { member: 0, blocks: 1 })], Code::OutOfOrder),
        (
            vec![Message::Resize(Resize { member: 1, blocks: 9 }), Message::Resize(Resize { member: 1, blocks: 8 })],
            Code::OutOfOrder,
        ),
        (vec![Message::Commit(Commit { point: point(2).id })], Code::Unexpected),
        (vec![Message::Progress(Position::end(3)), Message::Commit(Commit { point: point(3).id })], Code::Unexpected),
        (vec![Message::Ack(1)], Code::Unexpected),
        (vec![Message::Ready(Ready { point: point(2).id, member: 0, block: 0 })], Code::Unexpected),
    ];
    for (messages, code) in cases {
        let mut bench = Bench::begun();
        let text = format!("{messages:?}");
        let last = messages.len() - 1;
        for (index, message) in messages.into_iter().enumerate() {
            bench.send(ONE, message);
            assert_eq!(
                bench.refused(),
                (index == last).then_some((ONE, code.clone())),
                "{}",
                &text[..text.len().min(200)]
            );
        }
        bench.end_all();
        // Its connection has no session, and the group is as it was.
        bench.send(ONE, zero(0, 100, 1));
        assert_eq!(bench.refused(), Some((ONE, Code::Unexpected)));
        assert!(bench.target.is_quiet());
        assert_eq!(bench.group.record().newest(), Some(&point(1)));
    }
}

#[test]
fn a_cycle_goes_on_where_the_target_says() {
    let mut bench = Bench::new();
    bench.send(ONE, Message::Begin(begin(2)));
    bench.end_all();
    bench.send(ONE, Message::Progress(at(0, 1)));
    assert_eq!(bench.refused(), Some((ONE, Code::Unexpected)));
    let mut bench = Bench::new();
    bench.send(ONE, Message::Begin(begin(2)));
    bench.end_all();
    bench.send(ONE, write(0, 0, 1));
    assert_eq!(bench.refused(), Some((ONE, Code::Unexpected)));
}

#[test]
fn a_change_after_the_end_is_refused() {
    let mut bench = Bench::begun();
    bench.send(ONE, Message::Progress(Position::end(3)));
    bench.send(ONE, Message::Commit(Commit { point: point(2).id }));
    bench.send(ONE, Message::Progress(Position::end(3)));
    assert_eq!(bench.refused(), Some((ONE, Code::Unexpected)));
}

#[test]
fn a_window_is_not_exceeded() {
    let mut bench = Bench::begun();
    let mut block = 0;
    let mut held = 0;
    loop {
        let message = write(0, block, MAX_WRITE_BLOCKS);
        held += message.window_bytes();
        bench.send(ONE, message);
        if let Some(refused) = bench.refused() {
            assert_eq!(refused, (ONE, Code::WindowExceeded));
            break;
        }
        assert!(held <= WINDOW_BYTES);
        block += MAX_WRITE_BLOCKS as u64;
    }
    assert!(bench.steps.len() <= MAX_STEPS);
    // Small messages are bounded, too.
    let mut bench = Bench::begun();
    let sent = (0..).take_while(|number| {
        bench.send(ONE, zero(0, number * 2, 1));
        bench.refused().is_none()
    });
    assert!(sent.count() <= 65_536);
}

#[test]
fn changes_that_have_taken_effect_make_room() {
    let mut bench = Bench::begun();
    for number in 0..200 {
        bench.send(ONE, write(0, number * 128, MAX_WRITE_BLOCKS));
        assert_eq!(bench.refused(), None);
        bench.end_all();
    }
    bench.target.handle_instant(&mut bench.group, bench.now);
    assert_eq!(bench.answers().last(), Some(&(ONE, Message::Ack(201))));
}

#[test]
fn a_copy_waits_for_what_it_reads() {
    let mut bench = Bench::begun();
    bench.send(ONE, write(0, 0, 1));
    bench.send(ONE, write(0, 4, 1));
    bench.send(ONE, copy(range(0, 8, 1), CloneFrom::Working, at(0, 0)));
    bench.send(ONE, write(0, 9, 1));
    assert_eq!(bench.steps.len(), 2);
    bench.end_ok(1);
    assert_eq!(bench.steps.len(), 1, "the first write may be what it reads");
    bench.end_ok(0);
    assert!(matches!(bench.steps[0].step, Step::Clone { .. }) && bench.steps.len() == 2);
}

#[test]
fn only_what_has_taken_effect_in_order_is_acknowledged_and_stored() {
    let mut bench = Bench::begun();
    bench.send(ONE, write(0, 0, 1));
    bench.send(ONE, write(0, 7, 1));
    bench.end_ok(1);
    bench.now = SAVE_AFTER;
    bench.target.handle_instant(&mut bench.group, bench.now);
    bench.fetch();
    assert_eq!(bench.answers(), [(ONE, Message::Ack(1))], "the position that was told, and no write");
    assert_eq!(bench.steps.len(), 1, "there is nothing to store");
    bench.end_ok(0);
    let steps = bench.end_all();
    assert!(matches!(&steps[..], [Step::Flush, Step::Save(_)]), "{steps:?}");
    assert!(bench.answers().contains(&(ONE, Message::Progress(at(0, 8)))));
    assert_eq!(bench.group.record().progress.as_ref().unwrap().position(), at(0, 8));
    // The same cycle goes on there, another one begins at the base.
    bench.send(TWO, Message::Begin(begin(2)));
    assert_eq!(bench.refused(), Some((ONE, Code::Superseded)));
    let Step::Prepare(prepare) = bench.end_ok(0) else { panic!() };
    assert!(!prepare.back);
    assert_eq!(bench.answers(), [(TWO, Message::Ready(Ready { point: point(2).id, member: 0, block: 8 }))]);
    bench.send(TWO, Message::Begin(begin(3)));
    let Step::Prepare(prepare) = bench.end_ok(0) else { panic!() };
    assert!(prepare.back);
    bench.send(TWO, Message::Begin(begin(2)));
    assert_eq!(bench.refused(), Some((TWO, Code::OlderCycle)));
}

#[test]
fn a_cycle_with_other_members_is_another_cycle() {
    let mut bench = Bench::begun();
    bench.send(ONE, write(0, 7, 1));
    bench.end_all();
    bench.now = SAVE_AFTER;
    bench.target.handle_instant(&mut bench.group, bench.now);
    bench.fetch();
    bench.end_all();
    let mut other = begin(2);
    other.members.swap(1, 0);
    other.members[1].start = Start::Nothing;
    other.members[2].start = Start::Nothing;
    other.members[0].start = Start::Nothing;
    bench.send(ONE, Message::Begin(other));
    let Step::Prepare(prepare) = bench.end_ok(0) else { panic!() };
    assert!(prepare.back);
}

#[test]
fn a_cycle_begins_when_the_steps_of_the_last_connection_have_ended() {
    let mut bench = Bench::begun();
    bench.send(ONE, write(0, 0, 1));
    bench.send(TWO, Message::Begin(begin(3)));
    assert_eq!(bench.steps.len(), 1, "the write");
    bench.end_ok(0);
    assert!(matches!(bench.steps[0].step, Step::Prepare(_)));
    // A connection that is gone before the members are prepared has no session.
    bench.target.handle_disconnected(TWO);
    bench.end_all();
    assert!(bench.answers().is_empty() && bench.target.is_quiet());
}

#[test]
fn a_point_whose_confirmation_was_lost_is_confirmed_again() {
    let mut bench = Bench::begun();
    bench.send(ONE, Message::Progress(Position::end(3)));
    bench.send(ONE, Message::Commit(Commit { point: point(2).id }));
    while bench.steps[0].step != Step::Flush {
        bench.end_ok(0);
    }
    bench.target.handle_disconnected(ONE);
    bench.send(TWO, Message::Begin(begin(2)));
    bench.end_all();
    assert_eq!(bench.answers(), [(TWO, Message::Committed(Committed { point: point(2).id }))]);
}

#[test]
fn a_store_that_fails_ends_the_session_and_takes_no_point() {
    let failures = [
        (StoreError::NoSpace, Code::NoSpace),
        (StoreError::Failed { reason: "a bad disk".to_owned() }, Code::StoreFailed),
    ];
    for (error, code) in failures {
        let mut bench = Bench::new();
        bench.send(ONE, Message::Begin(begin(2)));
        bench.end(0, Err(error.clone()));
        assert_eq!(bench.refused(), Some((ONE, code.clone())));
        // In a change, the flush, and the commit.
        for fails in ["Write", "Flush", "Commit"] {
            let mut bench = Bench::begun();
            bench.send(ONE, write(0, 0, 1));
            bench.send(ONE, Message::Progress(Position::end(3)));
            bench.send(ONE, Message::Commit(Commit { point: point(2).id }));
            while !format!("{:?}", bench.steps[0].step).starts_with(fails) {
                bench.end_ok(0);
            }
            bench.end(0, Err(error.clone()));
            assert_eq!(bench.refused(), Some((ONE, code.clone())), "{fails}");
            bench.end_all();
            assert!(bench.target.is_quiet());
            assert_eq!(bench.group.record().newest(), Some(&point(1)));
        }
    }
}

#[test]
fn a_target_that_stops_is_quiet_when_its_steps_have_ended() {
    let mut bench = Bench::begun();
    bench.send(ONE, write(0, 0, 1));
    bench.target.stop(&Refusal::new(Code::Superseded, "the group changes its role"));
    assert_eq!(bench.refused(), Some((ONE, Code::Superseded)));
    assert!(!bench.target.is_quiet());
    bench.end_all();
    assert!(bench.target.is_quiet());
}

/// Whatever order of messages a peer sends, and however the store answers: no panic, and no point but by a whole
/// cycle.
#[test]
fn arbitrary_messages_are_survived() {
    let random = Random::new(1);
    for _ in 0..300 {
        let mut bench = Bench::new();
        for _ in 0..200 {
            let (member, block) = (random.below(4) as u16, random.below(40));
            let connection = ConnectionId(random.below(3));
            let message = match random.below(11) {
                0 => Message::Begin(begin(2 + random.below(3))),
                1 => Message::Progress(at(member, block)),
                2 => Message::Commit(Commit { point: point(2).id }),
                3 => Message::Progress(Position::START),
                4 => Message::Resize(Resize { member, blocks: block }),
                5 => copy(range(member, block, 3), CloneFrom::Working, at(random.below(4) as u16, random.below(40))),
                6 => zero(member, block, 1 + random.below(5)),
                7 => Message::Progress(Position::end(3)),
                _ => write(member, block, 1),
            };
            bench.send(connection, message);
            if random.chance(10) {
                bench.target.handle_disconnected(connection);
            }
            while random.chance(60) && !bench.steps.is_empty() {
                let at = random.index(bench.steps.len());
                match random.chance(5) {
                    true => drop(bench.end(at, Err(StoreError::NoSpace))),
                    false => drop(bench.end_ok(at)),
                }
            }
            bench.now += Duration::from_millis(random.below(3000));
            bench.target.handle_instant(&mut bench.group, bench.now);
            bench.fetch();
            assert!(bench.steps.len() <= MAX_STEPS + 3);
        }
        bench.target.stop(&Refusal::new(Code::Superseded, "the end"));
        bench.end_all();
        assert!(bench.target.is_quiet());
        assert!(bench.group.record().points.is_sorted_by_key(|point| point.id));
    }
}
