//! The target of a cycle, against a source that sends anything and a store that fails at times.
//!
//! Whatever comes, no place is changed twice in a cycle, a copy reads what is final, a point is taken after a flush
//! that followed every change, and memory is bounded.

use crate::input::{Reader, Writer};
use replication::group::Group;
use replication::store::{Done, Prepare, Sizes, Step, StoreError};
use replication::target::{ConnectionId, NumberedStep, Target, TargetEvent};
use replication::wire::{
    Begin, BeginMember, Clone, CloneFrom, Commit, GroupRole, Lost, Message, Resize, Start, Write, Zero,
};
use replication::{Code, Crc32c, GroupId, MemberId, Name, Point, PointId, Position, Range, Record, Refusal};
use std::collections::BTreeSet;
use std::time::Duration;
use uuid::Uuid;

const GROUP: GroupId = GroupId(Uuid::from_u128(7));
/// Blocks of the first member in the base.
const BLOCKS: u64 = 64;
/// Members of a cycle.
const MEMBERS: u16 = 3;

fn name() -> Name {
    Name::try_from("name").unwrap_or_else(|error| panic!("{error}"))
}

fn point(cycle: u64) -> Point {
    Point { id: PointId { epoch: 1, cycle, mark: 5 }, name: name(), taken_ms: 0 }
}

fn begin(cycle: u64, is_seed: bool) -> Begin {
    let first = if is_seed { Start::Nothing } else { Start::Base };
    let starts = [first, Start::Nothing, Start::Parent(0)];
    let member = |(id, start)| BeginMember { id: MemberId(Uuid::from_u128(id)), name: name(), start };
    let base = (!is_seed).then_some(PointId { epoch: 1, cycle: 1, mark: 5 });
    Begin { group: GROUP, point: point(cycle), base, members: (1..).zip(starts).map(member).collect() }
}

/// A store that checks what it is told.
#[derive(Default)]
struct Bench {
    target: Target,
    waiting: Vec<NumberedStep>,
    /// Blocks that were changed since the cycle began or went on.
    changed: BTreeSet<(u16, u64)>,
    is_flushed: bool,
}

impl Bench {
    fn fetch(&mut self) {
        while let Some(step) = self.target.poll_step() {
            self.check(&step.step);
            self.waiting.push(step);
        }
        assert!(self.waiting.len() <= 64 + 2, "{} steps at once", self.waiting.len());
        while self.target.poll_message().is_some() {}
        while let Some(event) = self.target.poll_event() {
            assert!(!matches!(event, TargetEvent::Committed(point) if point.id.cycle < 2));
        }
    }

    /// Checks a step when it is handed out.
    fn check(&mut self, step: &Step) {
        let range = match step {
            Step::Prepare(_) => {
                self.changed.clear();
                return;
            }
            Step::Commit(_) => {
                return assert!(self.is_flushed, "a point is taken without a flush after the last change");
            }
            Step::Clone { to, origin, from } => {
                let source = Range { start: *from, count: to.count };
                assert!(*origin == CloneFrom::Base || source.end() <= to.start, "a copy of what may still change");
                *to
            }
            Step::Write(write) => write.range(),
            Step::Zero(range) | Step::Lose(range) => *range,
            _ => return,
        };
        let Position { member, block } = range.start;
        for block in block..block + range.count {
            assert!(self.changed.insert((member, block)), "block {block} of member {member} is changed twice");
        }
    }

    fn end(&mut self, group: &mut Group, now: Duration, at: usize, fails: bool) {
        if self.waiting.is_empty() {
            return;
        }
        let NumberedStep { number, step } = self.waiting.swap_remove(at % self.waiting.len());
        match step {
            Step::Flush => self.is_flushed = true,
            Step::Write(_) | Step::Zero(_) | Step::Lose(_) | Step::Clone { .. } => self.is_flushed = false,
            _ => {}
        }
        let result = match (fails, step) {
            (true, _) => Err(StoreError::NoSpace),
            (false, Step::Prepare(prepare)) => Ok(Done::Prepared(sizes(&prepare))),
            (false, _) => Ok(Done::Ended),
        };
        self.target.handle_done(group, now, number, result);
        self.fetch();
    }
}

fn sizes(prepare: &Prepare) -> Sizes {
    let base = prepare.base.map(|_| BLOCKS);
    Sizes { working: vec![base.unwrap_or(0), 0, 0], base: vec![base, None, None] }
}

fn position(input: &mut Reader<'_>) -> Position {
    Position { member: u16::from(input.u8() % 5), block: u64::from(input.u8()) }
}

fn range(input: &mut Reader<'_>) -> Range {
    Range { start: position(input), count: u64::from(input.u8() % 16) + 1 }
}

/// Input: steps. Each is a byte for its kind, a connection (1 byte) where there is one, and its fields.
pub(crate) fn run(input: &[u8]) {
    let mut input = Reader::new(input);
    let record = Record { points: vec![point(1)], ..Record::new(GroupRole::Replica) };
    let (mut group, mut bench, mut now) = (Group::new(GROUP, record), Bench::default(), Duration::ZERO);
    while !input.is_empty() {
        let kind = input.u8() % 14;
        if kind < 3 {
            let (at, fails) = (usize::from(input.u8()), kind == 2 && input.u8().is_multiple_of(8));
            bench.end(&mut group, now, at, fails);
            continue;
        }
        let connection = ConnectionId(u64::from(input.u8() % 3));
        let message = match kind {
            3 => {
                now += Duration::from_millis(u64::from(input.u16()));
                bench.target.handle_instant(&mut group, now);
                bench.fetch();
                continue;
            }
            4 => {
                bench.target.handle_disconnected(connection);
                continue;
            }
            5 => Message::Begin(begin(u64::from(input.u8() % 4), input.u8().is_multiple_of(4))),
            6 => Message::Progress(position(&mut input)),
            7 => Message::Progress(Position::end(MEMBERS)),
            8 => Message::Commit(Commit { point: point(u64::from(input.u8() % 4)).id }),
            9 => Message::Resize(Resize { member: u16::from(input.u8() % 5), blocks: u64::from(input.u8()) }),
            10 => Message::Zero(Zero { range: range(&mut input) }),
            11 => Message::Lost(Lost { range: range(&mut input) }),
            12 => {
                let origin = input.choose(&[CloneFrom::Base, CloneFrom::Working]);
                Message::Clone(Clone { to: range(&mut input), origin, from: position(&mut input) })
            }
            _ => {
                let data = vec![7; 4096];
                let checksums = vec![Crc32c::of(&data)];
                Message::Write(Write { start: position(&mut input), checksums, data: data.into() })
            }
        };
        bench.target.handle_message(&mut group, now, connection, message);
        bench.fetch();
    }
    bench.target.stop(&Refusal::new(Code::Superseded, "the end"));
    while !bench.waiting.is_empty() {
        bench.end(&mut group, now, 0, false);
    }
    assert!(bench.target.is_quiet(), "a target that was stopped has more to do");
    assert!(group.record().points.is_sorted_by_key(|point| point.id));
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let end = |writer: Writer| writer.u8(0).u8(0);
    let begun = |cycle: u8, seed: u8| end(Writer::default().u8(5).u8(1).u8(cycle).u8(seed)).u8(6).u8(1).u8(0).u8(0);
    let write = |writer: Writer, member: u8, block: u8| writer.u8(13).u8(1).u8(member).u8(block);
    let finish = |writer: Writer, cycle: u8| {
        let writer = writer.u8(7).u8(1).u8(8).u8(1).u8(cycle);
        (0..12).fold(writer, |writer, _| end(writer))
    };
    let whole = finish(write(write(begun(2, 1), 0, 3), 0, 9), 2);
    let seeded = finish(write(begun(2, 0).u8(9).u8(1).u8(0).u8(40), 0, 5), 2);
    let copied = write(begun(2, 1), 0, 0).u8(12).u8(1).u8(1).u8(0).u8(20).u8(2).u8(0).u8(0);
    // Cut after its position was stored; the same cycle goes on, another one goes back.
    let saved = end(end(end(write(begun(2, 1), 0, 3)).u8(3).u8(1).u16(6000)));
    let resumed = saved.clone().u8(5).u8(2).u8(2).u8(1).u8(0).u8(0).u8(6).u8(2).u8(0).u8(4);
    let another = saved.u8(5).u8(2).u8(3).u8(1).u8(0).u8(0).u8(6).u8(2).u8(0).u8(0);
    let failing = write(begun(2, 1), 0, 3).u8(2).u8(0).u8(0).u8(4).u8(1);
    [whole, seeded, finish(copied, 2), resumed, another, failing].map(|seed| seed.0).to_vec()
}
