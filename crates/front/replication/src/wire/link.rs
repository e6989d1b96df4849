//! One end of a connection: agreement on a protocol, numbers of frames, signs of life.
//!
//! Bytes and instants come in by `handle_*`, events and bytes go out by `poll_*`. After the first error of the peer,
//! the link is over: its refusal is the last that it sends, and it accepts nothing more.

use crate::refusal::{Code, Refusal};
use crate::wire::error::WireError;
use crate::wire::frame::{Decoder, Frame};
use crate::wire::hello::{Agreed, Hello, agree};
use crate::wire::message::Message;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// Time without output after which a sign of life is sent.
pub const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// Time without input after which a peer is dead.
pub const SILENT: Duration = Duration::from_secs(3);

/// What a link reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// Both ends have said what they speak.
    Agreed {
        /// What both speak.
        agreed: Agreed,
        /// Hello of the peer. The caller compares its array with the one that was paired.
        peer: Hello,
    },
    /// A message, with the number of its frame.
    Message {
        /// Number of the frame.
        sequence: u64,
        /// The message; never [`Message::Hello`], [`Message::Alive`] or [`Message::Refuse`].
        message: Message,
    },
    /// The peer has refused what was sent. The link is over.
    Refused(Refusal),
    /// This end has refused what the peer sent. The link is over, once the output has been sent.
    Failed(Refusal),
    /// Nothing has come for [`SILENT`]. The link is over.
    Silent,
}

/// Phase of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The hello of the peer has not come.
    Greeting,
    /// Messages are exchanged.
    Open,
    /// Nothing more is accepted or sent, but what waits for output.
    Over,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Link {
    own: Hello,
    phase: Phase,
    decoder: Decoder,
    next_in: u64,
    next_out: u64,
    output: VecDeque<Bytes>,
    output_bytes: usize,
    heard: Duration,
    spoke: Duration,
    last: Option<LinkEvent>,
}

impl Link {
    /// A link whose hello is the first output.
    pub fn new(own: Hello, now: Duration) -> Self {
        let mut link = Self {
            own: own.clone(),
            phase: Phase::Greeting,
            decoder: Decoder::default(),
            next_in: 0,
            next_out: 0,
            output: VecDeque::new(),
            output_bytes: 0,
            heard: now,
            spoke: now,
            last: None,
        };
        link.push(&Message::Hello(own));
        link
    }

    /// Input. Events are taken until there are none before more input is handed over, so that at most one incomplete
    /// frame and one piece are held.
    pub fn handle_bytes(&mut self, now: Duration, bytes: &[u8]) {
        if self.phase != Phase::Over {
            self.heard = now;
            self.decoder.push(bytes);
        }
    }

    /// The stream of the peer has ended.
    pub fn handle_end(&mut self) {
        if let (true, Err(error)) = (self.phase != Phase::Over, self.decoder.finish()) {
            self.fail(error.refusal());
        }
        self.phase = Phase::Over;
    }

    /// An instant: due signs of life are sent, and a silent peer is noticed.
    pub fn handle_instant(&mut self, now: Duration) {
        if self.phase == Phase::Over {
            return;
        }
        if now.saturating_sub(self.heard) >= SILENT {
            self.phase = Phase::Over;
            self.last = Some(LinkEvent::Silent);
        } else if now.saturating_sub(self.spoke) >= KEEP_ALIVE {
            self.push(&Message::Alive);
            self.spoke = now;
        }
    }

    /// Instant of the next [`Link::handle_instant`]; `None` once the link is over.
    pub fn due(&self) -> Option<Duration> {
        let due = self.spoke.saturating_add(KEEP_ALIVE).min(self.heard.saturating_add(SILENT));
        (self.phase != Phase::Over).then_some(due)
    }

    /// Sends a message, and returns the number of its frame. Before both ends have agreed, and after the end, it is
    /// not sent: `None`.
    pub fn send(&mut self, now: Duration, message: &Message) -> Option<u64> {
        if self.phase != Phase::Open {
            return None;
        }
        self.spoke = now;
        Some(self.push(message))
    }

    /// Refuses what the peer has sent, and ends the link.
    pub fn refuse(&mut self, refusal: Refusal) {
        if self.phase != Phase::Over {
            self.fail(refusal);
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        while self.phase != Phase::Over && self.last.is_none() {
            match self.decoder.take() {
                Ok(None) => break,
                Ok(Some(frame)) => match self.accept(frame) {
                    Ok(Some(event)) => return Some(event),
                    Ok(None) => {}
                    Err(refusal) => self.fail(refusal),
                },
                Err(error) => self.fail(error.refusal()),
            }
        }
        self.last.take()
    }

    /// The next bytes for the peer.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        let bytes = self.output.pop_front()?;
        self.output_bytes -= bytes.len();
        Some(bytes)
    }

    /// Bytes that wait for [`Link::poll_output`].
    pub const fn output_bytes(&self) -> usize {
        self.output_bytes
    }

    /// Whether the link is over.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn accept(&mut self, frame: Frame) -> Result<Option<LinkEvent>, Refusal> {
        let sequence = frame.sequence;
        if sequence != self.next_in {
            return Err(WireError::Sequence { expected: self.next_in, found: sequence }.refusal());
        }
        self.next_in += 1;
        let message = Message::decode(frame).map_err(|error| error.refusal())?;
        match (self.phase, message) {
            (_, Message::Refuse(refusal)) => {
                self.phase = Phase::Over;
                Ok(Some(LinkEvent::Refused(refusal)))
            }
            (Phase::Greeting, Message::Hello(peer)) => {
                if peer.array == self.own.array {
                    return Err(Refusal::new(Code::Unexpected, "an array is no peer of itself"));
                }
                let agreed = agree(&self.own, &peer)?;
                self.phase = Phase::Open;
                Ok(Some(LinkEvent::Agreed { agreed, peer }))
            }
            (Phase::Greeting, message) => {
                let sentence = format!("a {} message came before the hello", message.kind());
                Err(Refusal::new(Code::Unexpected, sentence))
            }
            (_, Message::Hello(_)) => Err(Refusal::new(Code::Unexpected, "a second hello came")),
            (_, Message::Alive) => Ok(None),
            (_, message) => Ok(Some(LinkEvent::Message { sequence, message })),
        }
    }

    fn fail(&mut self, refusal: Refusal) {
        self.push(&Message::Refuse(refusal.clone()));
        self.phase = Phase::Over;
        self.last = Some(LinkEvent::Failed(refusal));
    }

    fn push(&mut self, message: &Message) -> u64 {
        let sequence = self.next_out;
        let frame = Frame { kind: message.kind(), channel: 0, sequence, payload: message.encode() };
        self.next_out += 1;
        for bytes in [Bytes::copy_from_slice(&frame.header()), frame.payload] {
            self.output_bytes += bytes.len();
            self.output.push_back(bytes);
        }
        sequence
    }
}
