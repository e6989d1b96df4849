//! A target on loopback with two logical units in memory, and with selectable faults.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use iscsi::chap::{Algorithm, Credentials};
use iscsi::connection::{
    Admission, Authentication, Command, Config, Connection, Directory, Event, Refusal, Response, TargetRecord,
};
use iscsi::pdu::{LoginStatus, TaskManagementResponse};

use conformance::url::Url;

/// Name of the target.
pub const TARGET: &str = "iqn.2026-01.org.example:test";
/// Size of a logical unit in blocks of 512 bytes.
pub const BLOCKS: usize = 16_384;
const UNITS: usize = 2;

/// Fault of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A correct array.
    None,
    /// COMPARE AND WRITE compares, waits, and writes.
    NotAtomic,
    /// A crash reverts the last changes, more of them than can be unacknowledged.
    ForgetsAtCrash,
    /// A crash tears a block.
    TearsAtCrash,
    /// Commands with this operation code are not carried out, or answered with other bytes.
    Lies(u8),
    /// Commands with this operation code are never answered.
    Silent(u8),
    /// Every write from the 500th on is applied only in its first half, so the last ones are still to be
    /// found when the load ends, however late it is stopped.
    LosesHalf,
    /// A reservation of RESERVE (6) outlives the session of its holder, and stops all commands
    /// except EXTENDED COPY.
    KeepsReservations,
    /// Commands refused during a sanitize operation still take effect.
    SanitizesAndWrites,
    /// SANITIZE erases the first kibibyte only.
    SanitizesLittle,
}

/// Duration of a sanitize operation.
const SANITIZE: Duration = Duration::from_millis(5);

/// Number of changes that a crash may revert.
const UNDO: usize = 64;

struct Medium {
    units: Vec<Vec<u8>>,
    /// Last changes, for the faults at a crash: (unit, offset, old content).
    undo: Vec<(usize, usize, Vec<u8>)>,
    writes: u64,
    /// Time until which each unit is being sanitized.
    sanitized: [Option<Instant>; UNITS],
}

struct Shared {
    medium: Mutex<Medium>,
    fault: Fault,
    chap: bool,
    down: AtomicBool,
    tsih: AtomicU16,
    /// Connection that holds each unit, with [`Fault::KeepsReservations`].
    holders: Mutex<[Option<SocketAddr>; UNITS]>,
}

/// A running target. Dropping it ends it.
pub struct Array {
    shared: Arc<Shared>,
    port: u16,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    acceptor: Option<JoinHandle<()>>,
}

impl Array {
    /// Starts a target that needs no authentication.
    pub fn start(fault: Fault) -> Self {
        Self::start_with(fault, false)
    }

    /// Starts a target, with CHAP if wanted.
    pub fn start_with(fault: Fault, chap: bool) -> Self {
        let medium = Medium {
            units: vec![vec![0xEE; BLOCKS * 512]; UNITS],
            undo: Vec::new(),
            writes: 0,
            sanitized: [None; UNITS],
        };
        let shared = Shared {
            medium: Mutex::new(medium),
            fault,
            chap,
            down: AtomicBool::new(false),
            tsih: AtomicU16::new(1),
            holders: Mutex::new([None; UNITS]),
        };
        let shared = Arc::new(shared);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let streams = Arc::new(Mutex::new(Vec::new()));
        let acceptor = {
            let (shared, streams) = (shared.clone(), streams.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let stream = stream.unwrap();
                    if shared.down.load(Ordering::SeqCst) {
                        return;
                    }
                    streams.lock().unwrap().push(stream.try_clone().unwrap());
                    let shared = shared.clone();
                    std::thread::spawn(move || serve(&shared, stream));
                }
            })
        };
        Self { shared, port, streams, acceptor: Some(acceptor) }
    }

    /// URL of a logical unit.
    pub fn url(&self, lun: u16) -> Url {
        format!("iscsi://127.0.0.1:{}/{TARGET}/{lun}", self.port).parse().unwrap()
    }

    /// Number of WRITEs executed.
    pub fn writes(&self) -> u64 {
        self.shared.medium.lock().unwrap().writes
    }

    /// Breaks all connections; with a fault, acknowledged data is lost.
    pub fn crash(&self) {
        let mut medium = self.shared.medium.lock().unwrap();
        for stream in self.streams.lock().unwrap().drain(..) {
            let _may_be_closed = stream.shutdown(Shutdown::Both);
        }
        for (unit, offset, old) in std::mem::take(&mut medium.undo).into_iter().rev() {
            let place = &mut medium.units[unit][offset..offset + old.len()];
            match self.shared.fault {
                Fault::ForgetsAtCrash => place.copy_from_slice(&old),
                Fault::TearsAtCrash => return place[..100].copy_from_slice(&[0x77; 100]),
                _ => {}
            }
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        self.shared.down.store(true, Ordering::SeqCst);
        self.crash();
        let _wakes_the_acceptor = TcpStream::connect(("127.0.0.1", self.port));
        self.acceptor.take().unwrap().join().unwrap();
    }
}

impl Directory for Shared {
    fn targets(&self, _initiator_name: &str) -> Vec<TargetRecord> {
        vec![TargetRecord { name: TARGET.into(), addresses: vec!["127.0.0.1:3260,1".into()] }]
    }

    fn admit(&self, _initiator_name: &str, target_name: Option<&str>) -> Result<Admission, Refusal> {
        if target_name.is_some_and(|name| name != TARGET) {
            return Err(Refusal::Status(LoginStatus::TARGET_NOT_FOUND));
        }
        let authentication = if self.chap {
            Authentication::Chap {
                accepted: vec![Credentials::new("user", "secret-secret")],
                own: Some(Credentials::new("array", "another-secret")),
                algorithms: Algorithm::ALL.to_vec(),
            }
        } else {
            Authentication::None
        };
        Ok(Admission { authentication, target_portal_group_tag: 1, target_alias: None })
    }

    fn data_out_bytes(&self, _lun: [u8; 8], _cdb: &[u8; 16], expected: u32) -> u32 {
        expected
    }
}

fn serve(shared: &Shared, mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut connection = Connection::new(Instant::now(), Config::default(), [9; 32]);
    let mut input = BytesMut::new();
    let mut scratch = vec![0; 65_536];
    let mut attention = [true; UNITS];
    let peer = stream.peer_addr().unwrap();
    loop {
        match stream.read(&mut scratch) {
            Ok(0) | Err(_) => return,
            Ok(read) => input.extend_from_slice(&scratch[..read]),
        }
        loop {
            connection.handle_input(Instant::now(), &mut input, shared);
            let mut idle = true;
            while let Some(event) = connection.poll_event() {
                idle = false;
                match event {
                    Event::SessionOpening(_) => {
                        connection.accept_session(shared.tsih.fetch_add(1, Ordering::SeqCst));
                    }
                    Event::Command(command) => match reserved(shared, peer, &command) {
                        Some(status) => {
                            connection.respond(command.task, Response { status, ..Response::default() });
                        }
                        None => execute(shared, &mut connection, &command, &mut attention),
                    },
                    Event::TaskManagement(function) => {
                        connection.respond_task_management(function.handle, TaskManagementResponse::COMPLETE);
                    }
                    Event::Logout => connection.finish_logout(),
                    Event::Closed(_) => {}
                }
            }
            while let Some(chunk) = connection.poll_output() {
                if stream.write_all(&chunk).is_err() {
                    return;
                }
            }
            if idle {
                break;
            }
        }
        if connection.is_closed() {
            return;
        }
    }
}

/// Status of RESERVE (6), RELEASE (6) and commands that a reservation stops, with
/// [`Fault::KeepsReservations`].
fn reserved(shared: &Shared, peer: SocketAddr, command: &Command) -> Option<u8> {
    if shared.fault != Fault::KeepsReservations {
        return None;
    }
    let mut holders = shared.holders.lock().unwrap();
    let holder = holders.get_mut(usize::from(command.lun[1]))?;
    let free = holder.is_none_or(|holder| holder == peer);
    match command.cdb[0] {
        0x16 if free => {
            *holder = Some(peer);
            Some(0)
        }
        0x17 => {
            if free {
                *holder = None;
            }
            Some(0)
        }
        0x83 => None,
        _ => (!free).then_some(0x18),
    }
}

enum Outcome {
    Good(Bytes),
    Sense(u8, u8, u8, Option<u32>),
}

fn execute(shared: &Shared, connection: &mut Connection, command: &Command, attention: &mut [bool]) {
    let unit = usize::from(command.lun[1]);
    let opcode = command.cdb[0];
    if shared.fault == Fault::Silent(opcode) {
        return;
    }
    let lies = shared.fault == Fault::Lies(opcode);
    let outcome = if unit >= UNITS {
        Outcome::Sense(5, 0x25, 0, None)
    } else if std::mem::take(&mut attention[unit]) && command.cdb[0] != 0x12 {
        Outcome::Sense(6, 0x29, 0, None)
    } else if lies && !command.data_out.is_empty() && opcode != 0x89 {
        Outcome::Good(Bytes::new())
    } else if opcode != 0x12 && sanitizing(shared, unit, command) {
        if shared.fault == Fault::SanitizesAndWrites && matches!(opcode, 0x8A | 0x93) {
            perform(shared, unit, &command.cdb, &command.data_out);
        }
        Outcome::Sense(2, 0x04, 0x1B, None)
    } else {
        perform(shared, unit, &command.cdb, &command.data_out)
    };
    let outcome = match outcome {
        Outcome::Good(data) if lies => Outcome::Good(data.iter().map(|byte| !byte).collect()),
        Outcome::Sense(key, code, qualifier, information) if lies => {
            Outcome::Sense(key, code ^ 1, qualifier, information)
        }
        honest => honest,
    };
    match outcome {
        Outcome::Good(data_in) => {
            let transfer_bytes = (data_in.len() + command.data_out.len()) as u64;
            connection.respond(command.task, Response { status: 0, sense: &[], data_in, transfer_bytes });
        }
        Outcome::Sense(key, code, qualifier, information) => {
            let mut sense = [0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, code, qualifier, 0, 0, 0, 0];
            if let Some(information) = information {
                sense[0] |= 0x80;
                sense[3..7].copy_from_slice(&information.to_be_bytes());
            }
            if (key, code, qualifier) == (2, 0x04, 0x1B) {
                sense[15] = 0x80;
            }
            connection.respond(command.task, Response { status: 2, sense: &sense, ..Response::default() });
        }
    }
}

/// Whether a sanitize operation is in progress on the unit, or on one that the command copies to.
fn sanitizing(shared: &Shared, unit: usize, command: &Command) -> bool {
    let medium = shared.medium.lock().unwrap();
    let now = Instant::now();
    let busy = |unit: usize| medium.sanitized[unit].is_some_and(|until| now < until);
    busy(unit) || command.cdb[0] == 0x83 && (0..UNITS).any(busy)
}

fn naa(unit: usize) -> [u8; 16] {
    let mut naa = [0x60; 16];
    naa[15] = unit as u8;
    naa
}

fn perform(shared: &Shared, unit: usize, cdb: &[u8; 16], data_out: &Bytes) -> Outcome {
    let lba = u64::from_be_bytes(cdb[2..10].try_into().unwrap()) as usize;
    let count = u32::from_be_bytes(cdb[10..14].try_into().unwrap()) as usize;
    let mut medium = shared.medium.lock().unwrap();
    let beyond = |lba: usize, count: usize| lba + count > BLOCKS;
    match cdb[0] {
        0x00 | 0x91 => {}
        0x12 if cdb[2] == 0x83 => {
            let mut page = vec![0, 0x83, 0, 20, 0x01, 0x03, 0, 16];
            page.extend_from_slice(&naa(unit));
            return Outcome::Good(page.into());
        }
        0x12 => return Outcome::Good(Bytes::from_static(&[0; 36])),
        0x9E if cdb[1] == 0x10 => {
            let mut data = [0; 32];
            data[..8].copy_from_slice(&(BLOCKS as u64 - 1).to_be_bytes());
            data[8..12].copy_from_slice(&512_u32.to_be_bytes());
            data[14] = 0xC0;
            return Outcome::Good(Bytes::copy_from_slice(&data));
        }
        0x88 | 0x8A | 0x93 if beyond(lba, count) => return Outcome::Sense(5, 0x21, 0, None),
        0x88 => return Outcome::Good(Bytes::copy_from_slice(&medium.units[unit][lba * 512..(lba + count) * 512])),
        0x8A => {
            medium.writes += 1;
            let half = shared.fault == Fault::LosesHalf && medium.writes >= 500;
            let data = if half { &data_out[..data_out.len() / 2] } else { data_out };
            change(&mut medium, unit, lba, data);
        }
        0x93 => change(&mut medium, unit, lba, &data_out.repeat(count)),
        0x89 => {
            let (compare, write) = data_out.split_at(data_out.len() / 2);
            let now = &medium.units[unit][lba * 512..(lba * 512 + compare.len())];
            if let Some(offset) = now.iter().zip(compare).position(|(a, b)| a != b) {
                return Outcome::Sense(0x0E, 0x1D, 0, Some(offset as u32));
            }
            if shared.fault == Fault::NotAtomic {
                drop(medium);
                std::thread::sleep(Duration::from_micros(100));
                medium = shared.medium.lock().unwrap();
            }
            change(&mut medium, unit, lba, write);
        }
        0x48 => {
            let little = shared.fault == Fault::SanitizesLittle;
            let bytes = medium.units[unit].len() / if little { 8192 } else { 1 };
            medium.units[unit][..bytes].fill(0);
            medium.undo.clear();
            medium.sanitized[unit] = Some(Instant::now() + SANITIZE);
            if cdb[1] & 0x80 == 0 {
                drop(medium);
                std::thread::sleep(SANITIZE);
            }
        }
        0x42 => {
            for descriptor in data_out[8..].chunks_exact(16) {
                let lba = u64::from_be_bytes(descriptor[..8].try_into().unwrap()) as usize;
                let count = u32::from_be_bytes(descriptor[8..12].try_into().unwrap()) as usize;
                change(&mut medium, unit, lba, &vec![0; count * 512]);
            }
        }
        0x83 => {
            let cscds = usize::from(u16::from_be_bytes([data_out[2], data_out[3]])) / 32;
            let unit_of = |index: u8| usize::from(data_out[16 + 32 * usize::from(index) + 8 + 15]);
            for segment in data_out[16 + 32 * cscds..].chunks_exact(28) {
                let count = usize::from(u16::from_be_bytes([segment[10], segment[11]]));
                let from = u64::from_be_bytes(segment[12..20].try_into().unwrap()) as usize;
                let to = u64::from_be_bytes(segment[20..28].try_into().unwrap()) as usize;
                let data = medium.units[unit_of(segment[5])][from * 512..(from + count) * 512].to_vec();
                change(&mut medium, unit_of(segment[7]), to, &data);
            }
        }
        _ => return Outcome::Sense(5, 0x20, 0, None),
    }
    Outcome::Good(Bytes::new())
}

fn change(medium: &mut Medium, unit: usize, lba: usize, data: &[u8]) {
    let place = &mut medium.units[unit][lba * 512..lba * 512 + data.len()];
    if place == data {
        return;
    }
    let old = place.to_vec();
    place.copy_from_slice(data);
    medium.undo.push((unit, lba * 512, old));
    if medium.undo.len() > UNDO {
        medium.undo.remove(0);
    }
}
