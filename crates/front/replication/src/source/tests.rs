#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{Confirmation, Plan, PlanMember, Source, SourcePhase, SourceRequest, SourceResult};
use crate::checksum::Crc32c;
use crate::names::{GroupId, MemberId, Name, Point, PointId};
use crate::place::{BLOCK_BYTES, Position};
use crate::refusal::Code;
use crate::store::{Blocks, Change, Run, Runs, Share, StoreError, Tree};
use crate::wire::{Committed, MAX_WRITE_BLOCKS, Message, Ready, Start, WINDOW_BYTES};
use std::num::NonZeroU64;
use std::time::Duration;
use uuid::Uuid;

const NOW: Duration = Duration::from_secs(9);

fn point() -> Point {
    Point { id: PointId { epoch: 1, cycle: 2, mark: 5 }, name: Name::try_from("t").unwrap(), taken_ms: 0 }
}

fn member(id: u128, start_blocks: u64, blocks: u64) -> PlanMember {
    let (id, name) = (MemberId(Uuid::from_u128(id)), Name::try_from("v").unwrap());
    PlanMember { id, name, start: Start::Nothing, start_blocks, blocks }
}

fn source(members: Vec<PlanMember>) -> Source {
    let mut source = Source::new(Plan { group: GroupId(Uuid::from_u128(7)), point: point(), base: None, members });
    source.handle_connected();
    assert!(matches!(source.poll_message(NOW), Some(Message::Begin(_))));
    source
}

fn ready(source: &mut Source, member: u16, block: u64) -> Result<(), Code> {
    let ready = Ready { point: point().id, member, block };
    source.handle_message(Message::Ready(ready)).map(|_| ()).map_err(|refusal| refusal.code)
}

fn share(number: u64) -> Option<Share> {
    NonZeroU64::new(number).map(Share)
}

fn data(first: u64, shares: Vec<Option<Share>>) -> Run {
    Run { first, change: Change::Data { shares } }
}

/// Answers a request for a part of the difference; returns its first block and the level that limits trees.
fn part(source: &mut Source, runs: Vec<Run>, until: u64, tree: Option<Tree>) -> (u64, Option<u8>) {
    let reads = std::mem::take(&mut source.requests);
    match source.poll_request() {
        Some(SourceRequest::Runs { ticket, request }) => {
            source.handle_result(ticket, Ok(SourceResult::Runs(Runs { runs, until, tree })));
            reads.into_iter().rev().for_each(|read| source.requests.push_front(read));
            (request.from.block, request.below)
        }
        other => panic!("{other:?}"),
    }
}

fn blocks(count: u64, lost: &[usize]) -> Blocks {
    let data = vec![7; usize::try_from(count).unwrap() * BLOCK_BYTES];
    let crc = |index| (!lost.contains(&index)).then(|| Crc32c::of(&data[..BLOCK_BYTES]));
    Blocks { checksums: (0..data.len() / BLOCK_BYTES).map(crc).collect(), data: data.into() }
}

/// Answers reads, the last first, but for parts of the difference.
fn read_all(source: &mut Source, lost: &[usize]) {
    let mut reads = Vec::new();
    while let Some(request) = source.poll_request() {
        match request {
            SourceRequest::Read { ticket, range } => reads.push((ticket, range)),
            SourceRequest::Runs { ticket, request } => {
                let until = request.from.block + 1_000_000;
                source.handle_result(ticket, Ok(SourceResult::Runs(Runs { runs: Vec::new(), until, tree: None })));
            }
        }
    }
    for (ticket, range) in reads.into_iter().rev() {
        source.handle_result(ticket, Ok(SourceResult::Blocks(blocks(range.count, lost))));
    }
}

fn sent(source: &mut Source) -> Vec<String> {
    let messages = std::iter::from_fn(|| source.poll_message(NOW));
    let word = |message| match message {
        Message::Write(write) => {
            format!("write {}:{}+{}", write.start.member, write.start.block, write.checksums.len())
        }
        Message::Clone(clone) => {
            let (to, from) = (clone.to.start, clone.from);
            format!("clone {}:{}+{} of {}:{}", to.member, to.block, clone.to.count, from.member, from.block)
        }
        Message::Zero(zero) => {
            format!("zero {}:{}+{}", zero.range.start.member, zero.range.start.block, zero.range.count)
        }
        Message::Lost(lost) => {
            format!("lost {}:{}+{}", lost.range.start.member, lost.range.start.block, lost.range.count)
        }
        Message::Resize(resize) => format!("resize {} {}", resize.member, resize.blocks),
        Message::Progress(Position { member, block }) => format!("progress {member}:{block}"),
        other => other.kind().to_string(),
    };
    messages.map(word).collect()
}

#[test]
fn changes_are_sent_in_their_order_whatever_the_order_of_reads() {
    let mut source = source(vec![member(1, 100, 100), member(2, 0, 50)]);
    ready(&mut source, 0, 0).unwrap();
    let zeros = Run { first: 3, change: Change::Zero { count: 4 } };
    part(&mut source, vec![data(0, vec![None; 2]), zeros, data(20, vec![None; 3])], 100, None);
    part(&mut source, vec![data(5, vec![None])], 50, None);
    read_all(&mut source, &[]);
    let expected = [
        "progress 0:0",
        "write 0:0+2",
        "zero 0:3+4",
        "write 0:20+3",
        "resize 1 50",
        "write 1:5+1",
        "progress 2:0",
        "commit",
    ];
    assert_eq!(sent(&mut source), expected);
    let committed = Message::Committed(Committed { point: point().id });
    assert_eq!(source.handle_message(committed), Ok(Some(Confirmation::Point(point().id))));
    assert_eq!(source.phase(), &SourcePhase::Done);
}

#[test]
fn what_is_shared_is_sent_once() {
    let mut source = source(vec![member(1, 9000, 9000)]);
    ready(&mut source, 0, 0).unwrap();
    let tree = |share, count, level| Some(Tree { share: Share(NonZeroU64::new(share).unwrap()), count, level });
    // A tree with a tree in it: its content is asked for, below its level.
    assert_eq!(part(&mut source, vec![], 0, tree(70, 1024, 1)), (0, None));
    assert_eq!(part(&mut source, vec![], 0, tree(71, 256, 0)), (0, Some(1)));
    assert_eq!(part(&mut source, vec![data(0, vec![share(1), None])], 256, None), (0, Some(0)));
    // The inner one again, within the outer one and while that is not complete.
    assert_eq!(part(&mut source, vec![], 256, tree(71, 256, 0)), (256, Some(1)));
    assert_eq!(part(&mut source, vec![], 1024, None), (512, Some(1)));
    // The outer one, and single blocks, at which runs split.
    assert_eq!(part(&mut source, vec![], 2048, tree(70, 1024, 1)), (1024, None));
    assert_eq!(part(&mut source, vec![data(4000, vec![None, share(1), share(2)])], 9000, None), (3072, None));
    read_all(&mut source, &[]);
    let expected = [
        "progress 0:0",
        "write 0:0+2",
        "clone 0:256+256 of 0:0",
        "clone 0:2048+1024 of 0:0",
        "write 0:4000+1",
        "clone 0:4001+1 of 0:0",
        "write 0:4002+1",
        "progress 1:0",
        "commit",
    ];
    assert_eq!(sent(&mut source), expected);
    assert_eq!((source.shipment().data_blocks, source.shipment().shared_blocks), (4, 1281));
}

#[test]
fn blocks_that_cannot_be_read_are_sent_as_lost() {
    let mut source = source(vec![member(1, 10, 10)]);
    ready(&mut source, 0, 0).unwrap();
    part(&mut source, vec![data(2, vec![None; 5])], 10, None);
    read_all(&mut source, &[1, 2]);
    let expected = ["progress 0:0", "write 0:2+1", "lost 0:3+2", "write 0:5+2", "progress 1:0", "commit"];
    assert_eq!(sent(&mut source), expected);
    assert_eq!(source.shipment().lost_blocks, 2);
}

#[test]
fn a_cycle_goes_on_at_the_position_of_the_target() {
    let mut source = source(vec![member(1, 0, 100)]);
    ready(&mut source, 0, 0).unwrap();
    part(&mut source, vec![data(0, vec![share(1)]), data(50, vec![share(2)])], 60, None);
    read_all(&mut source, &[]);
    sent(&mut source);
    source.handle_disconnected();
    assert_eq!((source.poll_request(), source.poll_message(NOW)), (None, None));
    source.handle_connected();
    source.poll_message(NOW);
    ready(&mut source, 0, 40).unwrap();
    // What was sent beyond the position is not final: the first of these is sent again, as data.
    let (from, _) = part(&mut source, vec![data(50, vec![share(2)]), data(70, vec![share(2), share(1)])], 100, None);
    assert_eq!(from, 40);
    read_all(&mut source, &[]);
    let expected =
        ["progress 0:40", "write 0:50+1", "clone 0:70+1 of 0:50", "clone 0:71+1 of 0:0", "progress 1:0", "commit"];
    assert_eq!(sent(&mut source), expected);
}

#[test]
fn no_more_than_the_window_is_unacknowledged() {
    let mut source = source(vec![member(1, 1 << 20, 1 << 20)]);
    ready(&mut source, 0, 0).unwrap();
    let mut bytes = 0;
    let mut messages = 0;
    for round in 0..20 {
        let run = data(round * 1024, vec![None; 1024]);
        if let Some(SourceRequest::Runs { ticket, .. }) = source.poll_request() {
            let until = (round + 1) * 1024;
            source.handle_result(ticket, Ok(SourceResult::Runs(Runs { runs: vec![run], until, tree: None })));
        }
        while let Some(SourceRequest::Read { ticket, range }) = source.requests.pop_front() {
            assert!(range.count <= MAX_WRITE_BLOCKS as u64);
            source.handle_result(ticket, Ok(SourceResult::Blocks(blocks(range.count, &[]))));
        }
        while let Some(message) = source.poll_message(NOW) {
            bytes += message.window_bytes();
            messages += 1;
        }
    }
    assert!((WINDOW_BYTES - (1 << 20)..=WINDOW_BYTES).contains(&bytes), "{bytes}");
    assert!(source.queued_blocks * 4096 <= WINDOW_BYTES as u64 + (4 << 20), "{}", source.queued_blocks);
    source.handle_message(Message::Ack(messages)).unwrap();
    assert!(source.poll_message(NOW).is_some());
}

#[test]
fn what_a_target_answers_is_checked() {
    let new = || source(vec![member(1, 0, 100)]);
    for (member, block) in [(0, 101), (1, 1), (2, 0), (u16::MAX, u64::MAX)] {
        assert_eq!(ready(&mut new(), member, block), Err(Code::OutsideGroup));
    }
    let other = Ready { point: PointId { cycle: 9, ..point().id }, member: 0, block: 0 };
    assert_eq!(new().handle_message(Message::Ready(other)).unwrap_err().code, Code::Unexpected);
    let mut source = new();
    assert_eq!(source.handle_message(Message::Ack(0)).unwrap_err().code, Code::Unexpected);
    ready(&mut source, 0, 0).unwrap();
    assert_eq!(ready(&mut source, 0, 0), Err(Code::Unexpected), "a second answer");
    sent(&mut source);
    assert!(source.handle_message(Message::Ack(2)).is_ok());
    assert_eq!(source.handle_message(Message::Ack(3)).unwrap_err().code, Code::Unexpected);
    assert_eq!(source.handle_message(Message::Ack(0)).unwrap_err().code, Code::Unexpected);
    let early = Message::Committed(Committed { point: point().id });
    assert_eq!(source.handle_message(early).unwrap_err().code, Code::Unexpected);
}

#[test]
fn a_snapshot_that_is_gone_ends_the_cycle() {
    let mut source = source(vec![member(1, 0, 100)]);
    ready(&mut source, 0, 0).unwrap();
    let ticket = source.poll_request().unwrap().ticket();
    source.handle_result(ticket, Err(StoreError::Failed { reason: "the base is gone".to_owned() }));
    assert!(matches!(source.phase(), SourcePhase::Failed(_)));
    source.handle_connected();
    assert_eq!((source.poll_message(NOW), source.poll_request()), (None, None));
}

#[test]
fn a_limit_holds_changes_back() {
    let mut source = source(vec![member(1, 0, 100)]);
    source.set_limit(Some(0));
    ready(&mut source, 0, 0).unwrap();
    assert_eq!((sent(&mut source).len(), source.due()), (0, Some(Duration::MAX)));
    source.set_limit(None);
    assert_eq!(sent(&mut source), ["progress 0:0", "resize 0 100"]);
}
