//! Login at the target: any sequence of Login Requests, in pieces of any size, with and without
//! CHAP. The input can compute a correct response to a challenge, or one from a wrong secret.
//! Required: no login succeeds without the required proof.

use super::text::KEYS;
use super::wire::{self, Stream};
use crate::array::{INITIATOR, TARGET};
use crate::input::{Reader, Writer};
use bytes::BytesMut;
use iscsi::chap::{Algorithm, Credentials};
use iscsi::connection::{Admission, Authentication, Config, Connection, Directory, Event, Refusal, TargetRecord};
use iscsi::framing::Digests;
use iscsi::pdu::{self, LoginStatus, Opcode};
use iscsi::text;
use std::time::{Duration, Instant};

const USER: (&str, &str) = ("user", "a-secret-secret");
const OWN: (&str, &str) = ("array", "another-secret-1");

struct Gate {
    authentication: Authentication,
}

impl Directory for Gate {
    fn targets(&self, _: &str) -> Vec<TargetRecord> {
        vec![TargetRecord { name: TARGET.into(), addresses: vec!["192.0.2.1:3260,1".into()] }]
    }

    fn admit(&self, initiator: &str, target: Option<&str>) -> Result<Admission, Refusal> {
        assert_eq!(iscsi::names::normalize(initiator).as_deref(), Ok(initiator), "the name is not normalized");
        match target {
            Some(name) if name.ends_with(":moved") => {
                Err(Refusal::Moved { address: "192.0.2.9:3260".into(), permanently: false })
            }
            Some(name) if name != TARGET => Err(Refusal::Status(LoginStatus::TARGET_NOT_FOUND)),
            _ => Ok(Admission {
                authentication: self.authentication.clone(),
                target_portal_group_tag: 1,
                target_alias: Some("alias".into()),
            }),
        }
    }

    fn data_out_bytes(&self, _: [u8; 8], _: &[u8; 16], expected: u32) -> u32 {
        expected
    }
}

fn gate(mode: u8) -> Gate {
    let credentials = |(name, secret): (&str, &str)| Credentials::new(name, secret);
    let chap = |own| Authentication::Chap {
        accepted: vec![credentials(("other", "the-secret-of-other")), credentials(USER)],
        own,
        algorithms: Algorithm::ALL.to_vec(),
    };
    let authentication = match mode % 3 {
        0 => Authentication::None,
        1 => chap(None),
        _ => chap(Some(credentials(OWN))),
    };
    Gate { authentication }
}

/// State of the initiator's end.
struct Peer {
    stream: Stream,
    /// CHAP_A, CHAP_I and CHAP_C of the target's last challenge.
    challenge: Option<(Algorithm, u8, Vec<u8>)>,
    /// Whether a correct response to a challenge was sent.
    proven: bool,
    responses: usize,
}

impl Peer {
    fn hear(&mut self, connection: &mut Connection) {
        while let Some(chunk) = connection.poll_output() {
            self.stream.push(&chunk);
        }
        while let Some(response) = self.stream.next(Digests::default()) {
            self.responses += 1;
            assert_eq!(wire::opcode(&response), Opcode::LOGIN_RESPONSE, "only Login Responses belong here");
            let Ok(pairs) = text::parse(&response.data) else { continue };
            let value = |key: &str| pairs.iter().find(|(found, _)| *found == key).map(|(_, value)| *value);
            if let (Some(algorithm), Some(identifier), Some(challenge)) =
                (value("CHAP_A"), value("CHAP_I"), value("CHAP_C"))
            {
                let algorithm = Algorithm::from_text(algorithm);
                let identifier = text::number(identifier).and_then(|number| u8::try_from(number).ok());
                let challenge = text::binary(challenge, 1024);
                match (algorithm, identifier, challenge) {
                    (Some(a), Some(i), Some(c)) => self.challenge = Some((a, i, c)),
                    other => panic!("a challenge that is none: {other:?}"),
                }
            }
            if value("CHAP_R").is_some() {
                assert!(self.proven, "the target shows its own response to somebody who proved nothing");
            }
        }
    }

    /// Builds the pairs of one request from steps.
    fn text(&mut self, reader: &mut Reader<'_>, bytes: &mut Vec<u8>) {
        for _ in 0..reader.u8() % 16 {
            match reader.u8() {
                0..=31 => bytes.extend_from_slice(reader.short()),
                32..=63 => {
                    let (key, value) = reader.choose(KEYS);
                    text::push(bytes, key, value);
                }
                64..=95 => {
                    let (key, _) = reader.choose(KEYS);
                    let value = String::from_utf8_lossy(reader.short()).into_owned();
                    text::push(bytes, key, &value);
                }
                96..=127 => self.prove(reader, bytes),
                128..=143 => text::push(bytes, "CHAP_A", reader.choose(&["5", "6", "7", "8", "7,5", "0x5"])),
                144..=159 => text::push(bytes, "AuthMethod", reader.choose(&["None", "CHAP", "CHAP,None", "KRB5"])),
                160..=175 => text::push(bytes, "SessionType", reader.choose(&["Normal", "Discovery", "Other"])),
                176..=191 => {
                    let own = self.challenge.as_ref().map_or(Vec::new(), |(_, _, challenge)| challenge.clone());
                    text::push(bytes, "CHAP_I", "9");
                    let theirs = if reader.u8() & 1 == 0 { own } else { reader.short().to_vec() };
                    text::push(bytes, "CHAP_C", &text::binary_text(&theirs));
                }
                192..=207 => bytes.extend(std::iter::repeat_n(b'a', usize::from(reader.u16()) % 9000)),
                _ => {
                    text::push(bytes, "InitiatorName", INITIATOR);
                    text::push(bytes, "TargetName", TARGET);
                }
            }
        }
    }

    fn prove(&mut self, reader: &mut Reader<'_>, bytes: &mut Vec<u8>) {
        let Some((algorithm, identifier, challenge)) = &self.challenge else { return };
        let (name, secret) = reader.choose(&[USER, (USER.0, "a-secret-secreT"), ("other", USER.1), OWN]);
        let response = algorithm.response(*identifier, secret.as_bytes(), challenge);
        self.proven |= (name, secret) == USER;
        text::push(bytes, "CHAP_N", name);
        text::push(bytes, "CHAP_R", &text::binary_text(&response));
    }
}

/// Input: a byte for the required authentication, one for the size of the pieces, then steps.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let gate = gate(reader.u8());
    let required = gate.authentication != Authentication::None;
    let piece = usize::from(reader.u8()).max(1) * 8;
    let mut now = Instant::now();
    let mut connection = Connection::new(now, Config::default(), [5; 32]);
    let mut peer = Peer { stream: Stream::default(), challenge: None, proven: false, responses: 0 };
    let mut buffer = BytesMut::new();
    let mut steps = 0;
    while !reader.is_empty() && !connection.is_closed() && steps < 400 {
        steps += 1;
        let bytes = match reader.u8() {
            0..=199 => request(&mut reader, &mut peer),
            200..=220 => reader.short().to_vec(),
            221..=235 => {
                let header: [u8; 48] = reader.bytes();
                wire::pdu(header, &[], reader.short(), Digests::default())
            }
            _ => {
                now += Duration::from_secs(u64::from(reader.u8() % 8));
                connection.handle_timeout(now);
                continue;
            }
        };
        for part in bytes.chunks(piece) {
            buffer.extend_from_slice(part);
            connection.handle_input(now, &mut buffer, &gate);
            assert!(connection.output_bytes() <= 2 << 20, "the answers pile up");
        }
        while let Some(event) = connection.poll_event() {
            match event {
                Event::SessionOpening(identity) => {
                    assert!(!required || peer.proven, "a session without authentication");
                    assert_eq!(identity.authenticated_as.as_deref(), required.then_some(USER.0));
                    peer.hear(&mut connection);
                    connection.reject_login(LoginStatus::TOO_MANY_CONNECTIONS);
                }
                Event::Closed(_) => {}
                other => panic!("{other:?} during login"),
            }
        }
        peer.hear(&mut connection);
        assert!(buffer.capacity() <= 1 << 20, "too much room was made");
    }
    assert!(peer.responses <= steps * 300 + 1);
}

fn request(reader: &mut Reader<'_>, peer: &mut Peer) -> Vec<u8> {
    // T, C, current stage, next stage: the usual values in a login.
    let flags = match reader.u8() {
        flags @ 0..=7 => [0x87, 0x81, 0x00, 0x04, 0x87, 0x83, 0x40, 0x44][usize::from(flags)],
        other => other,
    };
    let mut header = pdu::blank(Opcode::LOGIN_REQUEST.0 | pdu::IMMEDIATE, flags, 1);
    header[8..14].copy_from_slice(&[0x00, 0x02, 0x3D, 0, 0, 1]);
    header[20..22].copy_from_slice(&[0, 1]);
    let changes = reader.u8();
    if changes & 0x80 != 0 {
        // A field that must not change, or a version.
        let at = reader.choose(&[2, 3, 8, 13, 14, 15, 16, 19, 20, 24, 28, 4]);
        header[at] = reader.u8();
    }
    let mut bytes = Vec::new();
    peer.text(reader, &mut bytes);
    if changes & 0x40 != 0 {
        bytes.truncate(usize::from(reader.u16()));
    }
    wire::pdu(header, &[], &bytes, Digests::default())
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let names = |writer: Writer| writer.u8(255);
    let operational = |writer: Writer| {
        let mut writer = writer.u8(10);
        for key in 10..20 {
            writer = writer.u8(32).u8(key);
        }
        writer
    };
    let begin = |mode: u8| Writer::default().u8(mode).u8(255);
    // Directly to full feature phase.
    let direct = names(begin(0).u8(0).u8(0).u8(0).u8(1));
    // Security stage without authentication, then the operational one.
    let both = operational(names(begin(0).u8(0).u8(1).u8(0).u8(2)).u8(144).u8(0).u8(0).u8(0).u8(0));
    let chap = |mode: u8, mutual: bool| {
        let mut writer = names(begin(mode).u8(0).u8(2).u8(0).u8(2)).u8(144).u8(1);
        writer = writer.u8(0).u8(2).u8(0).u8(1).u8(128).u8(4);
        writer = writer.u8(0).u8(1).u8(0).u8(if mutual { 2 } else { 1 }).u8(96).u8(0);
        if mutual {
            writer = writer.u8(176).u8(1).short(&[3; 16]);
        }
        operational(writer.u8(0).u8(0).u8(0))
    };
    let reflected = names(begin(2).u8(0).u8(2).u8(0).u8(2)).u8(144).u8(1);
    let reflected = reflected.u8(0).u8(2).u8(0).u8(1).u8(128).u8(0);
    let reflected = reflected.u8(0).u8(1).u8(0).u8(2).u8(96).u8(0).u8(176).u8(0);
    let continued = begin(0).u8(0).u8(6).u8(0).u8(1).u8(192).u16(8000).u8(0).u8(0).u8(0).u8(1).u8(0).short(b"\0");
    let discovery = names(begin(0).u8(0).u8(0).u8(0).u8(2)).u8(160).u8(1);
    [direct, both, chap(1, false), chap(2, true), chap(2, false), reflected, continued, discovery]
        .map(|writer| writer.0)
        .to_vec()
}
