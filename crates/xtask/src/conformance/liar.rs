//! Portal that lies in one point: it forwards iSCSI PDUs (RFC 7143 §11) between an initiator and an
//! honest target, and changes one kind of response, or one kind of request, of one SCSI command.
//!
//! A connection with digests is forwarded unchanged, because the digest of a changed PDU would not
//! match. In responses to SendTargets the portal's own address replaces the array's, if both have
//! the same length.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes of a basic header segment.
const HEADER: usize = 48;
/// PDU opcodes, RFC 7143 §11.2.1.2.
const SCSI_COMMAND: u8 = 0x01;
const LOGIN: u8 = 0x03;
const DATA_OUT: u8 = 0x05;
const NOP_IN: u8 = 0x20;
const SCSI_RESPONSE: u8 = 0x21;
const TASK_MANAGEMENT_RESPONSE: u8 = 0x22;
const LOGIN_RESPONSE: u8 = 0x23;
const TEXT_RESPONSE: u8 = 0x24;
const DATA_IN: u8 = 0x25;
const LOGOUT_RESPONSE: u8 = 0x26;
const R2T: u8 = 0x31;
const ASYNCHRONOUS: u8 = 0x32;
const REJECT: u8 = 0x3f;

/// Subject of a lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    /// A status other than GOOD becomes GOOD: a refused command is reported as done.
    Accepted,
    /// The additional sense code is changed.
    Sense,
    /// Data-In is inverted.
    DataIn,
    /// The first of two responses is repeated.
    Stale,
    /// Data-Out is changed before the target receives it.
    DataOut,
    /// The LBA of the CDB is changed before the target receives it.
    Elsewhere,
    /// Residual count of a SCSI Response.
    Residual,
    /// Response of a task management function.
    TaskManagement,
    /// Login: status and values of keys.
    Login,
    /// Values of keys in a text response.
    Text,
    /// Data of NOP-In.
    Ping,
    /// MaxRecvDataSegmentLength of the initiator is increased: its limit is exceeded.
    Limit,
    /// A command beyond the window is made immediate: it is executed instead of ignored.
    Window,
    /// Digests are not checked: a connection with a wrong digest stays open.
    Digest,
    /// Reason of Reject, event of an asynchronous message, response to a logout, offset of R2T.
    Other,
}

impl Point {
    /// Points about one SCSI command, in the order in which they are tried.
    pub(super) const OF_COMMAND: [Self; 7] =
        [Self::Accepted, Self::Sense, Self::DataIn, Self::DataOut, Self::Elsewhere, Self::Stale, Self::Residual];
    /// Points about iSCSI.
    pub(super) const OF_SESSION: [Self; 8] = [
        Self::TaskManagement,
        Self::Login,
        Self::Text,
        Self::Ping,
        Self::Limit,
        Self::Window,
        Self::Digest,
        Self::Other,
    ];
}

/// Lie: the point, and the operation code if it is about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lie {
    pub(super) point: Point,
    pub(super) opcode: Option<u8>,
}

#[derive(Default)]
struct State {
    lie: Option<Lie>,
    /// Operation codes, in order of first occurrence.
    seen: Vec<u8>,
    /// Last Data-In of each operation code, for [`Point::Stale`].
    last: HashMap<u8, Vec<u8>>,
}

/// Lying portal. It runs as long as the process.
pub(super) struct Liar {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Liar {
    /// Starts to listen, and forwards to `portal`, without lies at first.
    pub(super) fn start(portal: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on 127.0.0.1")?;
        let address = listener.local_addr()?;
        locked(&NAMES).push((portal.to_string(), address.to_string()));
        let state = Arc::new(Mutex::new(State::default()));
        let of_connections = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(portal) {
                    forward_both(client, server, &of_connections);
                }
            }
        });
        Ok(Self { address, state })
    }

    /// Sets the lie (`None`: be honest) and clears the list of seen commands.
    pub(super) fn tell(&self, lie: Option<Lie>) {
        *locked(&self.state) = State { lie, ..State::default() };
    }

    /// Operation codes of the commands since then.
    pub(super) fn seen(&self) -> Vec<u8> {
        locked(&self.state).seen.clone()
    }
}

/// State of a connection that both directions share.
struct Wire {
    state: Arc<Mutex<State>>,
    /// Operation code of each Initiator Task Tag.
    commands: Mutex<HashMap<[u8; 4], u8>>,
    digests: AtomicBool,
    /// ExpCmdSN and MaxCmdSN of the last response.
    window: Mutex<(u32, u32)>,
}

/// Addresses of the array's portals, each with that of the lying portal before it.
static NAMES: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn forward_both(client: TcpStream, server: TcpStream, state: &Arc<Mutex<State>>) {
    let (Ok(client_reader), Ok(server_reader)) = (client.try_clone(), server.try_clone()) else { return };
    for stream in [&client, &server] {
        let _slower_only = stream.set_nodelay(true);
    }
    let wire = Arc::new(Wire {
        state: state.clone(),
        commands: Mutex::default(),
        digests: AtomicBool::new(false),
        window: Mutex::default(),
    });
    for (from, to, requests) in [(client_reader, server, true), (server_reader, client, false)] {
        let wire = wire.clone();
        thread::spawn(move || {
            let (mut from, mut to) = (from, to);
            let _ended = forward(&mut from, &mut to, &wire, requests);
            for stream in [&from, &to] {
                let _already_closed = stream.shutdown(Shutdown::Both);
            }
        });
    }
}

fn forward(from: &mut TcpStream, to: &mut TcpStream, wire: &Wire, requests: bool) -> io::Result<()> {
    loop {
        if wire.digests.load(Ordering::SeqCst) {
            let deaf = locked(&wire.state).lie.is_some_and(|lie| lie.point == Point::Digest);
            return match requests && deaf {
                true => io::copy(from, &mut io::sink()).map(drop),
                false => io::copy(from, to).map(drop),
            };
        }
        let mut header = [0; HEADER];
        from.read_exact(&mut header)?;
        let [_, _, _, _, ahs, a, b, c, ..] = header;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        // Segments are padded to four bytes.
        let mut rest = vec![0; usize::from(ahs) * 4 + length.next_multiple_of(4)];
        from.read_exact(&mut rest)?;
        let at = usize::from(ahs) * 4;
        let mut pdu = Pdu { header, rest, at, length };
        match requests {
            true => request(&mut pdu, wire),
            false => answer(&mut pdu, wire),
        }
        to.write_all(&pdu.header)?;
        to.write_all(&pdu.rest)?;
    }
}

struct Pdu {
    header: [u8; HEADER],
    rest: Vec<u8>,
    /// Offset of the data segment.
    at: usize,
    length: usize,
}

impl Pdu {
    fn byte(&self, at: usize) -> u8 {
        self.header.get(at).copied().unwrap_or(0)
    }

    fn change(&mut self, at: usize, change: impl FnOnce(u8) -> u8) {
        if let Some(byte) = self.header.get_mut(at) {
            *byte = change(*byte);
        }
    }

    fn tag(&self) -> [u8; 4] {
        self.word(16)
    }

    fn word(&self, at: usize) -> [u8; 4] {
        [self.byte(at), self.byte(at + 1), self.byte(at + 2), self.byte(at + 3)]
    }

    fn data(&mut self) -> &mut [u8] {
        self.rest.get_mut(self.at..self.at + self.length).unwrap_or_default()
    }

    /// Removes the data segment.
    fn cut(&mut self) {
        self.rest.truncate(self.at);
        self.length = 0;
        for at in 5..8 {
            self.change(at, |_| 0);
        }
    }
}

fn request(pdu: &mut Pdu, wire: &Wire) {
    let mut state = locked(&wire.state);
    let tag = pdu.tag();
    let (opcode, first) = match pdu.byte(0) & 0x3f {
        SCSI_COMMAND => {
            let opcode = pdu.byte(32);
            locked(&wire.commands).insert(tag, opcode);
            if !state.seen.contains(&opcode) {
                state.seen.push(opcode);
            }
            (opcode, true)
        }
        DATA_OUT => (locked(&wire.commands).get(&tag).copied().unwrap_or(0), false),
        LOGIN => {
            if state.lie.is_some_and(|lie| lie.point == Point::Limit) {
                larger_limit(pdu.data());
            }
            return;
        }
        _ => return,
    };
    if first && state.lie.is_some_and(|lie| lie.point == Point::Window) {
        let (expected, most) = *locked(&wire.window);
        if u32::from_be_bytes(pdu.word(24)).wrapping_sub(most).cast_signed() > 0 {
            pdu.change(0, |byte| byte | 0x40);
            for (at, byte) in (24..).zip(expected.to_be_bytes()) {
                pdu.change(at, |_| byte);
            }
        }
    }
    match state.lie.filter(|lie| lie.opcode == Some(opcode)).map(|lie| lie.point) {
        // Last byte of the LBA of sixteen-byte and of ten-byte commands.
        Some(Point::Elsewhere) if first && opcode >= 0x80 => pdu.change(32 + 9, |byte| byte ^ 1),
        Some(Point::Elsewhere) if first && opcode >= 0x20 => pdu.change(32 + 5, |byte| byte ^ 1),
        Some(Point::DataOut) => {
            // LBA of the first UNMAP descriptor, or service action key of PERSISTENT RESERVE OUT;
            // otherwise the last byte.
            let at = if matches!(opcode, 0x42 | 0x5f) { 15 } else { pdu.length.saturating_sub(1) };
            if let Some(byte) = pdu.data().get_mut(at) {
                *byte ^= 1;
            }
        }
        _ => {}
    }
}

fn answer(pdu: &mut Pdu, wire: &Wire) {
    let kind = pdu.byte(0) & 0x3f;
    if kind == LOGIN_RESPONSE {
        let text = String::from_utf8_lossy(pdu.data()).to_ascii_uppercase();
        if text.contains("DIGEST=CRC32C") {
            // Applies to both directions: the other one has nothing more to read before it sees
            // this.
            wire.digests.store(true, Ordering::SeqCst);
        }
    }
    *locked(&wire.window) = (u32::from_be_bytes(pdu.word(28)), u32::from_be_bytes(pdu.word(32)));
    if kind == TEXT_RESPONSE {
        for (theirs, own) in locked(&NAMES).iter().filter(|(theirs, own)| theirs.len() == own.len()) {
            let found = pdu.data().windows(theirs.len()).position(|window| window == theirs.as_bytes());
            if let Some(place) = found.and_then(|at| pdu.data().get_mut(at..at + own.len())) {
                place.copy_from_slice(own.as_bytes());
            }
        }
    }
    let mut state = locked(&wire.state);
    let Some(lie) = state.lie else { return };
    match (kind, lie.point) {
        (SCSI_RESPONSE | DATA_IN, point) => {
            let opcode = locked(&wire.commands).get(&pdu.tag()).copied();
            if lie.opcode.is_some() && lie.opcode == opcode {
                of_command(pdu, kind, point, state.last.entry(opcode.unwrap_or(0)).or_default());
            }
        }
        // Swaps FUNCTION COMPLETE and TASK DOES NOT EXIST; other responses change too.
        (TASK_MANAGEMENT_RESPONSE, Point::TaskManagement) => pdu.change(2, |response| response ^ 1),
        (LOGIN_RESPONSE, Point::Login) if pdu.byte(36) != 0 => pdu.change(37, |detail| detail ^ 1),
        (LOGIN_RESPONSE, Point::Login) | (TEXT_RESPONSE, Point::Text) => other_values(pdu.data()),
        (NOP_IN, Point::Ping) => pdu.data().iter_mut().for_each(|byte| *byte = !*byte),
        (REJECT | LOGOUT_RESPONSE, Point::Other) => pdu.change(2, |reason| reason ^ 1),
        (ASYNCHRONOUS, Point::Other) => pdu.change(36, |event| event ^ 1),
        (R2T, Point::Other) => pdu.change(43, |offset| offset ^ 4),
        _ => {}
    }
}

/// Changes a SCSI Response, or a Data-In PDU that may carry the status.
fn of_command(pdu: &mut Pdu, kind: u8, point: Point, last: &mut Vec<u8>) {
    match (kind, point) {
        (SCSI_RESPONSE, Point::Accepted) if pdu.byte(3) != 0 => {
            pdu.change(3, |_| 0);
            pdu.cut();
        }
        (SCSI_RESPONSE, Point::Sense) => {
            // After the length: fixed format has the additional sense code in byte 12, descriptor
            // format in byte 2.
            let descriptor = pdu.data().get(2).is_some_and(|code| code & 0x7f >= 0x72);
            let at = 2 + if descriptor { 2 } else { 12 };
            if let Some(code) = pdu.data().get_mut(at) {
                *code ^= 1;
            }
        }
        (SCSI_RESPONSE, Point::Residual) => pdu.change(47, |count| count ^ 4),
        (DATA_IN, Point::DataIn) => pdu.data().iter_mut().for_each(|byte| *byte = !*byte),
        (DATA_IN, Point::Stale) => {
            let now = pdu.data().to_vec();
            if last.len() == now.len() {
                pdu.data().copy_from_slice(last);
            } else {
                *last = now;
            }
        }
        _ => {}
    }
}

/// Replaces the digits of the value by as many nines.
fn larger_limit(text: &mut [u8]) {
    const KEY: &[u8] = b"MaxRecvDataSegmentLength=";
    if let Some(at) = text.windows(KEY.len()).position(|window| window == KEY) {
        let value = text.iter_mut().skip(at + KEY.len());
        value.take_while(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'9');
    }
}

/// Changes the last digit or letter of each key's value.
fn other_values(text: &mut [u8]) {
    let mut value = false;
    for at in 0..text.len() {
        let ends = text.get(at + 1).is_none_or(|next| *next == 0);
        match text.get_mut(at) {
            Some(b'=') => value = true,
            Some(0) => value = false,
            Some(byte) if value && ends && byte.is_ascii_alphanumeric() => *byte ^= 1,
            _ => {}
        }
    }
}
