//! Messages: round trips, bounds, what other releases send.

use super::{begin, frame, hello, messages, raw, write};
use crate::checksum::Crc32c;
use crate::place::{BLOCK_BYTES, MAX_BLOCKS, Position};
use crate::refusal::Code;
use crate::wire::{Begin, Kind, MAX_LEAVES, MAX_WRITE_BLOCKS, Message, Start, WireError, Write};
use random::Random;

fn code(kind: Kind, payload: &[u8]) -> Option<Code> {
    Message::decode(raw(kind, payload)).err().map(|error| error.refusal().code)
}

#[test]
fn every_message_comes_back_as_it_was() {
    let random = Random::new(4);
    for _ in 0..200 {
        let messages = messages(&random);
        assert!(messages.iter().map(Message::kind).eq(Kind::ALL.iter().copied()), "one of each type");
        for message in messages {
            assert_eq!(Message::decode(frame(0, &message)).as_ref(), Ok(&message));
        }
    }
}

#[test]
fn payloads_that_are_too_short_or_too_long_are_refused() {
    let random = Random::new(5);
    for message in messages(&random) {
        let (kind, payload) = (message.kind(), message.encode());
        // Every length of a short message, and some of a long one.
        for length in (0..payload.len()).step_by(1 + payload.len() / 500) {
            match Message::decode(raw(kind, &payload[..length])) {
                Ok(Message::Leaves(found)) => assert!(length % 32 == 16 && found.hashes.len() < 2),
                Ok(Message::Differences(found)) => assert!(length % 8 == 0 && found.leaves.len() < 3),
                Ok(_) => panic!("{length} bytes of a {kind} message are accepted"),
                Err(error) => assert_eq!(error.refusal().code, Code::Malformed),
            }
        }
        assert_eq!(code(kind, &[&payload[..], b"!"].concat()), Some(Code::Malformed), "{kind}");
    }
}

#[test]
fn arbitrary_payloads_never_panic() {
    let random = Random::new(6);
    for round in 0..20_000 {
        let mut payload = vec![0; random.index(96)];
        random.fill(&mut payload);
        let kind = Kind::ALL[round % Kind::ALL.len()];
        if let Ok(message) = Message::decode(raw(kind, &payload)) {
            assert_eq!(message.encode(), payload, "{kind}");
        }
    }
}

#[test]
fn each_block_of_a_write_is_verified() {
    let mut bad = write(&Random::new(7));
    bad.checksums[0].0 ^= 1;
    let payload = Message::Write(bad).encode();
    let error = Message::decode(raw(Kind::WRITE, &payload));
    assert_eq!(error, Err(WireError::BlockChecksum { block: 0 }));
    assert_eq!(code(Kind::WRITE, &payload), Some(Code::Corrupt));
}

#[test]
fn the_longest_messages_fit_their_frames() {
    let data = vec![0; MAX_WRITE_BLOCKS * BLOCK_BYTES];
    let checksums = vec![Crc32c::of(&data[..BLOCK_BYTES]); MAX_WRITE_BLOCKS];
    let longest = Message::Write(Write { start: Position::START, checksums, data: data.into() });
    assert_eq!(Message::decode(frame(0, &longest)), Ok(longest));
    // The longest names of printable characters, which JSON doubles.
    let random = Random::new(8);
    let Begin { mut members, .. } = begin(&random);
    let mut member = members.remove(0);
    member.name = "\\".repeat(255).try_into().unwrap();
    member.start = Start::Nothing;
    let members = (0..256).map(|index| {
        let mut member = member.clone();
        member.id.0 = uuid::Uuid::from_u128(index);
        member
    });
    let all = Message::Begin(Begin { members: members.collect(), ..begin(&random) });
    assert_eq!(Message::decode(frame(0, &all)), Ok(all));
    assert!(16 + MAX_LEAVES * 32 <= Kind::LEAVES.max_payload_bytes() as usize);
}

#[test]
fn numbers_beyond_the_largest_volume_are_refused() {
    let place = |member: u16, block: u64, count: u64| {
        [&member.to_le_bytes()[..], &[0; 6], &block.to_le_bytes(), &count.to_le_bytes()].concat()
    };
    assert_eq!(code(Kind::ZERO, &place(0, MAX_BLOCKS - 1, 1)), None);
    for bad in [place(0, MAX_BLOCKS, 1), place(0, 7, 0), place(0, 1, u64::MAX), place(0, u64::MAX, 1), place(257, 0, 1)]
    {
        assert_eq!(code(Kind::ZERO, &bad), Some(Code::Malformed));
    }
    let clone = |origin: u32, from: u64| {
        [&place(0, 0, 2)[..], &origin.to_le_bytes(), &[0; 4], &place(0, from, 0)[..16]].concat()
    };
    assert_eq!(code(Kind::CLONE, &clone(1, MAX_BLOCKS - 2)), None);
    assert_eq!(code(Kind::CLONE, &clone(1, MAX_BLOCKS - 1)), Some(Code::Malformed));
    assert_eq!(code(Kind::CLONE, &clone(2, 0)), Some(Code::Malformed));
}

#[test]
fn fields_of_a_newer_release_are_ignored_and_its_types_refused() {
    let text = String::from_utf8(Message::Hello(hello(5)).encode().to_vec()).unwrap();
    let newer = text.replacen("{\"version\":1", "{\"colour\":[{\"a\":null}],\"version\":7", 1);
    assert_ne!(newer, text);
    assert_eq!(Message::decode(raw(Kind::HELLO, newer.as_bytes())), Ok(Message::Hello(hello(5))));
    let without = text.replacen("\"version\":1,", "", 1);
    assert_eq!(code(Kind::HELLO, without.as_bytes()), Some(Code::Malformed));
    assert_eq!(code(Kind::HELLO, text.replacen("\"version\":1", "\"version\":0", 1).as_bytes()), Some(Code::Malformed));
    assert_eq!(code(Kind(99), b""), Some(Code::UnknownMessage));
    // Depth is bounded by the parser.
    assert_eq!(code(Kind::HELLO, "[".repeat(200_000).as_bytes()), Some(Code::Malformed));
}

/// Changes one part of the JSON of a good message.
fn changed(message: &Message, from: &str, to: &str) -> Option<Code> {
    let text = String::from_utf8(message.encode().to_vec()).unwrap();
    assert!(text.contains(from), "{text}");
    code(message.kind(), text.replacen(from, to, 1).as_bytes())
}

#[test]
fn the_members_of_a_cycle_are_in_order() {
    let random = Random::new(9);
    let mut good = begin(&random);
    good.base = None;
    good.members.truncate(1);
    good.members[0].start = Start::Nothing;
    let good = Message::Begin(good);
    assert_eq!(changed(&good, "\"nothing\"", "\"nothing\""), None);
    for start in ["\"base\"", "{\"parent\":0}", "{\"parent\":1}", "\"other\""] {
        assert_eq!(changed(&good, "\"nothing\"", start), Some(Code::Malformed), "{start}");
    }
    let Message::Begin(mut begin) = good else { panic!() };
    begin.members.push(begin.members[0].clone());
    assert_eq!(code(Kind::BEGIN, &Message::Begin(begin.clone()).encode()), Some(Code::Malformed));
    begin.members.clear();
    assert_eq!(code(Kind::BEGIN, &Message::Begin(begin).encode()), Some(Code::Malformed));
}
