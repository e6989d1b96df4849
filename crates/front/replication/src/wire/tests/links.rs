//! Links: two ends in memory under a virtual clock.

use super::{hello, messages, raw};
use crate::place::Position;
use crate::refusal::Code;
use crate::wire::frame::Frame;
use crate::wire::{Feature, Hello, KEEP_ALIVE, Kind, Link, LinkEvent, Message, Protocols, SILENT, agree};
use random::Random;
use std::time::Duration;

const NOW: Duration = Duration::from_secs(100);

fn output(link: &mut Link) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(piece) = link.poll_output() {
        bytes.extend_from_slice(&piece);
    }
    assert_eq!(link.output_bytes(), 0);
    bytes
}

fn events(link: &mut Link) -> Vec<LinkEvent> {
    std::iter::from_fn(|| link.poll_event()).collect()
}

/// A link that has agreed with its peer.
fn open() -> Link {
    let (mut link, mut peer) = (Link::new(hello(1), NOW), Link::new(hello(2), NOW));
    link.handle_bytes(NOW, &output(&mut peer));
    assert!(matches!(&events(&mut link)[..], [LinkEvent::Agreed { .. }]));
    output(&mut link);
    link
}

fn failure(link: &mut Link) -> Code {
    match events(link).pop() {
        Some(LinkEvent::Failed(refusal)) => refusal.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ends_agree_on_the_newest_common_protocol_and_features() {
    let with = |min, max, features: &[&str]| Hello {
        protocols: Protocols { min, max },
        features: features.iter().map(|word| Feature((*word).to_owned())).collect(),
        ..hello(1)
    };
    let agreed = agree(&with(2, 5, &["verify", "zstd"]), &with(3, 9, &["verify", "metro"])).unwrap();
    assert_eq!((agreed.protocol, agreed.features), (5, [Feature::verify()].into()));
    assert_eq!(agree(&with(3, 5, &[]), &with(1, 2, &[])).unwrap_err().code, Code::PeerTooOld);
    let newer = agree(&with(1, 2, &[]), &with(3, 5, &[])).unwrap_err();
    assert_eq!(newer.code, Code::PeerTooNew);
    assert!(newer.sentence.contains("site-a needs a newer release"), "{newer}");
}

#[test]
fn messages_arrive_in_order_whatever_the_pieces() {
    let mut link = open();
    let mut peer = Link::new(hello(2), NOW);
    peer.handle_bytes(NOW, &output(&mut Link::new(hello(1), NOW)));
    events(&mut peer);
    output(&mut peer);
    let sent: Vec<Message> = messages(&Random::new(1)).into_iter().skip(3).collect();
    for message in &sent {
        peer.send(NOW, message);
    }
    let mut arrived = Vec::new();
    for piece in output(&mut peer).chunks(100) {
        link.handle_bytes(NOW, piece);
        while let Some(event) = link.poll_event() {
            match event {
                LinkEvent::Message { sequence, message } => arrived.push((sequence, message)),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(arrived, (1..).zip(sent).collect::<Vec<_>>());
}

#[test]
fn a_peer_that_breaks_the_rules_is_refused_with_a_reason() {
    let numbered = |kind, sequence| Frame { sequence, ..raw(kind, &[]) }.to_bytes();
    let cases = [
        (numbered(Kind(99), 1), Code::UnknownMessage),
        (numbered(Kind::ALIVE, 2), Code::Malformed),
        (numbered(Kind::ALIVE, 0), Code::Malformed),
        (b"no frame".to_vec(), Code::Malformed),
        (Frame { sequence: 1, ..raw(Kind::HELLO, &Message::Hello(hello(2)).encode()) }.to_bytes(), Code::Unexpected),
    ];
    for (bytes, code) in cases {
        let mut link = open();
        link.handle_bytes(NOW, &bytes);
        assert_eq!(failure(&mut link), code);
        assert!(link.is_over());
        // The peer hears why, and nothing after it.
        let mut peer = Link::new(hello(2), NOW);
        let refusal = output(&mut link);
        assert!(link.send(NOW, &Message::Ack(1)).is_none() && link.poll_output().is_none());
        link.handle_bytes(NOW, &bytes);
        assert!(events(&mut link).is_empty());
        peer.handle_bytes(NOW, &[output(&mut Link::new(hello(1), NOW)), refusal].concat());
        assert!(
            matches!(&events(&mut peer)[..], [LinkEvent::Agreed { .. }, LinkEvent::Refused(why)] if why.code == code)
        );
        assert!(peer.is_over());
    }
}

#[test]
fn nothing_is_accepted_or_sent_before_the_hello() {
    let mut link = Link::new(hello(1), NOW);
    assert_eq!(link.send(NOW, &Message::Ack(1)), None);
    let early = raw(Kind::PROGRESS, &Message::Progress(Position::START).encode());
    link.handle_bytes(NOW, &early.to_bytes());
    assert_eq!(failure(&mut link), Code::Unexpected);
    let mut own = Link::new(hello(1), NOW);
    own.handle_bytes(NOW, &output(&mut Link::new(hello(1), NOW)));
    assert_eq!(failure(&mut own), Code::Unexpected);
}

#[test]
fn signs_of_life_are_sent_and_a_silent_peer_is_noticed() {
    let mut link = open();
    assert_eq!(link.due(), Some(NOW + KEEP_ALIVE));
    link.handle_instant(NOW + KEEP_ALIVE);
    assert!(!output(&mut link).is_empty());
    link.handle_instant(NOW + SILENT - Duration::from_millis(1));
    assert!(events(&mut link).is_empty());
    link.handle_instant(NOW + SILENT);
    assert_eq!(events(&mut link), [LinkEvent::Silent]);
    assert!(link.is_over() && link.due().is_none());
}

#[test]
fn a_stream_that_ends_within_a_frame_is_noticed() {
    let mut link = open();
    link.handle_bytes(NOW, b"WLr1");
    assert!(events(&mut link).is_empty());
    link.handle_end();
    assert_eq!(failure(&mut link), Code::Malformed);
    let mut link = open();
    link.handle_end();
    assert!(events(&mut link).is_empty() && link.is_over());
}
