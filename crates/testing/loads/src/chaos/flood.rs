//! Login flood: thousands of idle connections and logins that stop half way, opened as fast as
//! possible.
//!
//! Each connection stays open until the portal closes it or enough newer ones exist. To withstand
//! this, a target needs a limit on connections without a session, a time limit for logins, and
//! memory only for data that has arrived; well-behaved initiators must not be affected.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iscsi::framing::Digests;
use iscsi::pdu::{self, Opcode};
use iscsi::text;
use socket2::{Domain, Protocol, Socket, Type};

use super::pdus::{LoginParameters, PduSequence, bytes, put};
use super::script::Facts;
use conformance::url::Url;
use random::Random;

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(2);

/// Parameters of a flood.
#[derive(Clone, Debug)]
pub struct FloodOptions {
    /// URL of the target; the LUN is ignored.
    pub url: Url,
    /// Source address; `None` leaves the choice to the system.
    pub from: Option<IpAddr>,
    /// Largest number of connections to open.
    pub connections: u64,
    /// Time after which no further connection is opened.
    pub time: Duration,
    /// Number of connections that each thread keeps open.
    pub open_each: usize,
    /// Number of threads.
    pub threads: usize,
    /// Seed that determines how each login stops.
    pub seed: u64,
}

/// Result of a flood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloodReport {
    /// Number of connections opened.
    pub opened: u64,
    /// Number of connections that were refused, or not opened in time.
    pub refused: u64,
    /// Number of connections that the target had closed by the time this side closed them.
    pub closed: u64,
}

impl fmt::Display for FloodReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { opened, refused, closed } = self;
        write!(f, "{opened} connections opened, {refused} refused, {closed} closed by the target")
    }
}

/// Runs until the count or the time is reached or `stop` is set; then closes all connections.
pub fn run(options: &FloodOptions, stop: &AtomicBool) -> FloodReport {
    let Some((portal, facts)) = super::facts(&options.url) else { return FloodReport::default() };
    let next = AtomicU64::new(0);
    let deadline = Instant::now() + options.time;
    let worker = || {
        let mut report = FloodReport::default();
        let mut open: std::collections::VecDeque<TcpStream> = std::collections::VecDeque::new();
        while !stop.load(Ordering::Relaxed) && Instant::now() < deadline {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= options.connections {
                break;
            }
            let random = Random::new(options.seed ^ number.wrapping_mul(0x9E37_79B9));
            match connect(portal, options.from) {
                Ok(mut stream) => {
                    report.opened += 1;
                    // The target may close a connection with invalid content.
                    let _closed = stream.write_all(&half_a_login(&random, &facts));
                    open.push_back(stream);
                }
                Err(_) => report.refused += 1,
            }
            if open.len() > options.open_each
                && let Some(oldest) = open.pop_front()
            {
                report.closed += u64::from(is_closed(oldest));
            }
        }
        report.closed += open.into_iter().map(|stream| u64::from(is_closed(stream))).sum::<u64>();
        report
    };
    let mut report = FloodReport::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads.max(1)).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            match worker.join() {
                Ok(part) => {
                    report.opened += part.opened;
                    report.refused += part.refused;
                    report.closed += part.closed;
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    report
}

fn connect(portal: SocketAddr, from: Option<IpAddr>) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(portal), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(from) = from {
        socket.bind(&SocketAddr::new(from, 0).into())?;
    }
    socket.connect_timeout(&portal.into(), CONNECT)?;
    socket.set_write_timeout(Some(CONNECT))?;
    Ok(socket.into())
}

/// Bytes that a connection sends before it stays silent.
fn half_a_login(random: &Random, facts: &Facts) -> Vec<u8> {
    let opening = LoginParameters::new(format!("flood{}", random.below(1 << 20)), 1);
    let login = PduSequence::opened(facts, &opening).stream();
    match random.below(4) {
        0 => Vec::new(),
        // Cut within the header, or within the data.
        1 => cut(login, random.below(48)),
        2 => {
            let length = login.len() as u64;
            cut(login, 48 + random.below(length.saturating_sub(48)))
        }
        // Begins the security stage; the next request never comes.
        _ => {
            let mut keys = Vec::new();
            text::push(&mut keys, "InitiatorName", &format!("iqn.2026-01.org.example:{}", opening.name));
            text::push(&mut keys, "SessionType", "Normal");
            text::push(&mut keys, "TargetName", &facts.target);
            text::push(&mut keys, "AuthMethod", "CHAP,None");
            let mut header = pdu::blank(Opcode::LOGIN_REQUEST.0 | pdu::IMMEDIATE, 0, 0);
            if let Some(isid) = header.get_mut(8..14) {
                isid.copy_from_slice(&[0x80, 0, 0, 0, 0, 1]);
            }
            put(&mut header, 24, 1);
            bytes(header, &keys, Digests::default())
        }
    }
}

fn cut(mut bytes: Vec<u8>, length: u64) -> Vec<u8> {
    bytes.truncate(usize::try_from(length).unwrap_or(0));
    bytes
}

/// Whether the target has closed a connection; data before the end is skipped.
fn is_closed(mut stream: TcpStream) -> bool {
    let mut scratch = [0; 4096];
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    loop {
        match stream.read(&mut scratch) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}
