#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod frames;
mod links;
mod messages;

use crate::checksum::Crc32c;
use crate::names::{ArrayId, GroupId, MemberId, Name, Point, PointId};
use crate::place::{BLOCK_BYTES, Position, Range};
use crate::refusal::{Code, Refusal};
use crate::wire::frame::Frame;
use crate::wire::{
    Begin, BeginMember, Clone, CloneFrom, Commit, Committed, Differences, Feature, GroupRole, Hello, Join, Joined,
    Kind, Leaves, Lost, Message, Protocols, Ready, Resize, Standing, Start, Verify, Write, Zero,
};
use random::Random;
use uuid::Uuid;

fn uuid(random: &Random) -> Uuid {
    Uuid::from_u64_pair(random.next(), random.next())
}

fn name(random: &Random) -> Name {
    let letters = ["a", "ü", "\"", "-", "{", "\u{1F5C4}"];
    let text: String = (0..=random.below(20)).map(|_| letters[random.index(letters.len())]).collect();
    Name::try_from(text).unwrap()
}

fn position(random: &Random) -> Position {
    Position { member: (random.below(256)) as u16, block: random.below(1 << 40) }
}

fn range(random: &Random) -> Range {
    Range { start: position(random), count: 1 + random.below(1 << 30) }
}

fn point_id(random: &Random) -> PointId {
    PointId { epoch: 1 + random.below(9), cycle: random.next(), mark: random.next() }
}

fn write(random: &Random) -> Write {
    let mut data = vec![0; BLOCK_BYTES * (1 + random.index(3))];
    random.fill(&mut data);
    let checksums = data.chunks(BLOCK_BYTES).map(Crc32c::of).collect();
    Write { start: position(random), checksums, data: data.into() }
}

fn hello(array: u128) -> Hello {
    Hello {
        protocols: Protocols::OURS,
        array: ArrayId(Uuid::from_u128(array)),
        name: Name::try_from("site-a").unwrap(),
        release: Name::try_from("0.3.0").unwrap(),
        features: [Feature::verify()].into(),
    }
}

fn begin(random: &Random) -> Begin {
    let base = random.chance(50).then(|| PointId { epoch: 0, ..point_id(random) });
    let members = (0..=random.below(6)).map(|index| {
        let start = match random.below(3) {
            0 if base.is_some() => Start::Base,
            1 if index > 0 => Start::Parent(random.below(index) as u16),
            _ => Start::Nothing,
        };
        BeginMember { id: MemberId(uuid(random)), name: name(random), start }
    });
    let point = Point { id: point_id(random), name: name(random), taken_ms: random.next() };
    Begin { group: GroupId(uuid(random)), point, base, members: members.collect() }
}

/// A message of each type.
fn messages(random: &Random) -> Vec<Message> {
    let group = GroupId(uuid(random));
    let mut points = vec![point_id(random), point_id(random)];
    points.sort_unstable();
    let (point, role) = (point_id(random), [GroupRole::Owner, GroupRole::Leaving, GroupRole::Replica][random.index(3)]);
    let Position { member, block } = position(random);
    let mut hash = [0; 32];
    random.fill(&mut hash);
    vec![
        Message::Hello(hello(random.next().into())),
        Message::Refuse(Refusal::new(Code::ALL[random.index(Code::ALL.len())].clone(), name(random).as_str())),
        Message::Alive,
        Message::Join(Join { handle: "7K2Q".to_owned(), proof: hash }),
        Message::Joined(Joined { proof: hash }),
        Message::Standing(Standing { group, epoch: random.next(), role, points }),
        Message::Begin(begin(random)),
        Message::Ready(Ready { point, member, block }),
        Message::Progress(position(random)),
        Message::Commit(Commit { point }),
        Message::Committed(Committed { point }),
        Message::Ack(random.next()),
        Message::Write(write(random)),
        Message::Zero(Zero { range: range(random) }),
        Message::Clone(Clone {
            to: range(random),
            origin: [CloneFrom::Base, CloneFrom::Working][random.index(2)],
            from: position(random),
        }),
        Message::Resize(Resize { member, blocks: block }),
        Message::Lost(Lost { range: range(random) }),
        Message::Verify(Verify { group, point, member, first_leaf: random.below(1 << 30), leaves: 7 }),
        Message::Leaves(Leaves { member, first_leaf: block >> 9, hashes: vec![hash, [7; 32]] }),
        Message::Differences(Differences { member, leaves: vec![3, 9, 1 << 30] }),
    ]
}

fn frame(sequence: u64, message: &Message) -> Frame {
    Frame { kind: message.kind(), channel: 0, sequence, payload: message.encode() }
}

fn raw(kind: Kind, payload: &[u8]) -> Frame {
    Frame { kind, channel: 0, sequence: 0, payload: bytes::Bytes::copy_from_slice(payload) }
}
