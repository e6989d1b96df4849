//! Streams of frames with their messages, one end of a connection, and the pairing code.

use crate::input::{Reader as Input, Writer as Seed};
use replication::pairing::{Fingerprint, Invitations, PairingCode, RANDOM_BYTES};
use replication::wire::frame::{Decoder, Frame, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use replication::wire::{
    Begin, BeginMember, Clone, CloneFrom, Commit, Differences, GroupRole, Hello, Kind, Leaves, Link, LinkEvent,
    Message, Protocols, Ready, Resize, Standing, Start, Verify, Write, Zero,
};
use replication::{ArrayId, Code, Crc32c, GroupId, MemberId, Name, Point, PointId, Position, Range, Refusal};
use std::time::Duration;

/// Input: a flag byte (bit 0: the type of a message and its payload; bit 1: a pairing code; otherwise a stream), the
/// size of the pieces (1 byte), and the bytes.
pub(crate) fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let flags = input.u8();
    let piece = usize::from(input.u8()).max(1);
    if flags & 1 != 0 {
        let kind = Kind(input.u8());
        message(Frame { kind, channel: 0, sequence: 0, payload: bytes::Bytes::copy_from_slice(input.rest()) });
    } else if flags & 2 != 0 {
        code(&String::from_utf8_lossy(input.rest()));
    } else {
        let bytes = input.rest();
        stream(bytes, piece);
        link(bytes, piece);
    }
}

/// A pairing code that is accepted is printed, and read as the same.
fn code(text: &str) {
    let Ok(code) = text.parse::<PairingCode>() else { return };
    assert_eq!(code.to_string().parse(), Ok(code));
}

/// A message that is accepted is written, and read as the same.
fn message(frame: Frame) {
    let Ok(message) = Message::decode(frame) else { return };
    let payload = message.encode();
    assert!(payload.len() <= MAX_PAYLOAD_BYTES);
    let again = Frame { kind: message.kind(), channel: 0, sequence: 0, payload };
    assert_eq!(Message::decode(again), Ok(message));
}

fn stream(bytes: &[u8], piece: usize) {
    let frames = |piece: usize| {
        let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
        for part in bytes.chunks(piece.max(1)) {
            decoder.push(part);
            loop {
                match decoder.take() {
                    Ok(Some(frame)) => frames.push(frame),
                    Ok(None) => break,
                    Err(_) => return (frames, true),
                }
            }
            assert!(decoder.held_bytes() < HEADER_BYTES + MAX_PAYLOAD_BYTES);
        }
        (frames, decoder.finish().is_err())
    };
    let whole = frames(bytes.len());
    assert_eq!(whole, frames(piece), "pieces make other frames");
    whole.0.into_iter().for_each(message);
}

/// A link says why it ends, once, and is silent afterwards.
fn link(bytes: &[u8], piece: usize) {
    let mut link = Link::new(hello(1), Duration::ZERO);
    let mut is_over = false;
    for part in bytes.chunks(piece) {
        link.handle_bytes(Duration::ZERO, part);
        while let Some(event) = link.poll_event() {
            assert!(!is_over, "an event after the end");
            is_over = matches!(event, LinkEvent::Failed(_) | LinkEvent::Refused(_) | LinkEvent::Silent);
        }
        assert_eq!(link.is_over(), is_over);
    }
    while link.poll_output().is_some() {}
    assert!(!is_over || link.send(Duration::ZERO, &Message::Alive).is_none());
}

fn name(text: &str) -> Name {
    Name::try_from(text).unwrap_or_else(|error| panic!("{error}"))
}

fn hello(array: u128) -> Hello {
    Hello {
        protocols: Protocols::OURS,
        array: ArrayId(uuid::Uuid::from_u128(array)),
        name: name("site-a"),
        release: name("0.3.0"),
        features: Default::default(),
    }
}

/// One message of each type.
fn messages() -> Vec<Message> {
    let group = GroupId(uuid::Uuid::from_u128(7));
    let base = PointId { epoch: 1, cycle: 1, mark: 5 };
    let point = PointId { epoch: 1, cycle: 2, mark: 6 };
    let start = Position { member: 0, block: 9 };
    let range = Range { start, count: 3 };
    let member = |id, start| BeginMember { id: MemberId(uuid::Uuid::from_u128(id)), name: name("db"), start };
    let members = vec![member(1, Start::Base), member(2, Start::Nothing), member(3, Start::Parent(0))];
    let begin_point = Point { id: point, name: name("10:35:00"), taken_ms: 1 };
    let data = vec![1; 4096];
    vec![
        Message::Hello(hello(2)),
        Message::Refuse(Refusal::new(Code::OutOfOrder, "a sentence")),
        Message::Alive,
        Message::Standing(Standing { group, epoch: 1, role: GroupRole::Owner, points: vec![base, point] }),
        Message::Begin(Begin { group, point: begin_point, base: Some(base), members }),
        Message::Ready(Ready { point, member: 0, block: 9 }),
        Message::Progress(start),
        Message::Commit(Commit { point }),
        Message::Ack(9),
        Message::Write(Write { start, checksums: vec![Crc32c::of(&data)], data: data.into() }),
        Message::Zero(Zero { range }),
        Message::Clone(Clone { to: range, origin: CloneFrom::Working, from: Position::START }),
        Message::Resize(Resize { member: 0, blocks: 12 }),
        Message::Verify(Verify { group, point, member: 0, first_leaf: 0, leaves: 2 }),
        Message::Leaves(Leaves { member: 0, first_leaf: 0, hashes: vec![[7; 32]] }),
        Message::Differences(Differences { member: 0, leaves: vec![1, 5] }),
    ]
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let messages = messages();
    let frames = |messages: &[Message]| -> Vec<u8> {
        let numbered = (0u64..).zip(messages);
        let frame = |sequence, message: &Message| {
            Frame { kind: message.kind(), channel: 0, sequence, payload: message.encode() }.to_bytes()
        };
        numbered.flat_map(|(sequence, message)| frame(sequence, message)).collect()
    };
    let head = |flags: u8, piece: u8| Seed::default().u8(flags).u8(piece);
    let mut seeds: Vec<Vec<u8>> =
        messages.iter().map(|message| head(1, 0).u8(message.kind().0).raw(&message.encode()).0).collect();
    let own = Fingerprint([7; 32]);
    let address = "10.0.1.9:3262".parse().ok();
    let code = address.and_then(|at| Invitations::default().invite(Duration::ZERO, at, &own, [5; RANDOM_BYTES]).ok());
    seeds.extend(code.map(|code| head(2, 0).raw(code.to_string().as_bytes()).0));
    let hello = messages.first().cloned();
    for message in &messages {
        let both: Vec<Message> = hello.iter().cloned().chain([message.clone()]).collect();
        seeds.push(head(0, 31).raw(&frames(&both)).0);
    }
    seeds
}
