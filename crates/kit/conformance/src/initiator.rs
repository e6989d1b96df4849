//! A blocking session with a target: [`iscsi::initiator`] on a TCP socket, with time limits.
//! Several commands may be outstanding; their completions can be awaited in any order.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use iscsi::chap::{Algorithm, Credentials};
use iscsi::connection::TargetRecord;
use iscsi::initiator::{Chap, Completion, Config, Event, Initiator, Request, TransferRequest};
use iscsi::pdu::{
    LoginStatus, LogoutReason, RejectReason, TaskAttribute, TaskManagementFunction, TaskManagementResponse,
};
use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;

use crate::url::{Url, UserSecret};

/// Largest number of bytes taken by one read.
const READ_BYTES: usize = 256 << 10;
/// Largest number of chunks written by one call.
const WRITE_CHUNKS: usize = 64;
/// Largest number of events kept until they are awaited; a target may send asynchronous messages at
/// any time.
const MAX_EVENTS: usize = 1024;
/// Time for which a write may block before input is read.
const WRITE_SLICE: Duration = Duration::from_millis(20);
/// Time for which a read may block while there is output.
const READ_SLICE: Duration = Duration::from_millis(1);

/// Reason why a session is unusable.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The TCP connection failed.
    #[error("cannot connect to {portal}: {source}")]
    Connect {
        /// Host and port.
        portal: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The target refused the login.
    #[error("login failed: {status:?}{}", .target_address.as_ref().map(|to| format!(", moved to {to}")).unwrap_or_default())]
    Login {
        /// Login status.
        status: LoginStatus,
        /// Address that the target has moved to.
        target_address: Option<String>,
    },
    /// The connection broke.
    #[error("connection lost: {0}")]
    Lost(#[from] io::Error),
    /// No answer came in time.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The target violated the protocol.
    #[error("the target broke the protocol: {0}")]
    Protocol(&'static str),
    /// The target rejected a PDU.
    #[error("the target rejected a PDU: {0:?}")]
    Rejected(RejectReason),
}

/// Settings of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// InitiatorName.
    pub initiator_name: String,
    /// Last bytes of the ISID, which distinguish sessions of one initiator name with one target.
    pub qualifier: u16,
    /// Time limit for connecting, for login and for each command.
    pub timeout: Duration,
    /// Maximum segment size of TCP to request, in bytes, like that of a path with a small MTU;
    /// `None` leaves it to the path.
    pub maximum_segment: Option<u16>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            initiator_name: "iqn.2026-01.org.example:conformance".into(),
            qualifier: 1,
            timeout: Duration::from_secs(30),
            maximum_segment: None,
        }
    }
}

/// A blocking session with a target.
#[derive(Debug)]
pub struct Session {
    stream: TcpStream,
    initiator: Initiator,
    input: BytesMut,
    scratch: Vec<u8>,
    output: VecDeque<Bytes>,
    completed: HashMap<u32, Completion>,
    /// Tags of completed commands, in order of completion.
    order: VecDeque<u32>,
    events: VecDeque<Event>,
    timeout: Duration,
    read_timeout: Option<Duration>,
    lun: [u8; 8],
    sent_bytes: u64,
    received_bytes: u64,
}

fn config(url: &Url, options: &SessionOptions) -> Config {
    let mut config = Config::new(&options.initiator_name, &url.target);
    let [high, low] = options.qualifier.to_be_bytes();
    config.isid = [0x80, 0, 0, 0, high, low];
    let credentials = |pair: &UserSecret| Credentials::new(&pair.user, pair.secret.as_bytes());
    config.chap = url.chap.as_ref().map(|own| Chap {
        own: credentials(own),
        target: url.target_chap.as_ref().map(credentials),
        algorithms: vec![Algorithm::Sha256, Algorithm::Md5],
    });
    if url.header_digest {
        config.header_digest = "CRC32C".into();
    }
    if url.data_digest {
        config.data_digest = "CRC32C".into();
    }
    config
}

/// Seed for the challenges of mutual CHAP: the standard library's hash keys are random for each
/// process and map.
fn seed() -> [u8; 32] {
    use std::hash::{BuildHasher, RandomState};
    let mut seed = [0; 32];
    for part in seed.chunks_mut(8) {
        part.copy_from_slice(&RandomState::new().hash_one(Instant::now()).to_ne_bytes());
    }
    seed
}

impl Session {
    /// Connects and logs in. Commands go to the LUN of the URL unless another one is selected.
    pub fn connect(url: &Url, options: &SessionOptions) -> Result<Self, SessionError> {
        Self::connect_with(url, options, config(url, options))
    }

    /// Connects and logs in with other negotiation values; see [`Self::config`].
    pub fn connect_with(url: &Url, options: &SessionOptions, config: Config) -> Result<Self, SessionError> {
        let portal = format!("{}:{}", url.host, url.port);
        let stream = connect(url, options).map_err(|source| SessionError::Connect { portal, source })?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_SLICE))?;
        let mut session = Self {
            stream,
            initiator: Initiator::new(config, seed()),
            input: BytesMut::new(),
            scratch: vec![0; READ_BYTES],
            output: VecDeque::new(),
            completed: HashMap::new(),
            order: VecDeque::new(),
            events: VecDeque::new(),
            timeout: options.timeout,
            read_timeout: None,
            lun: url.lun_bytes(),
            sent_bytes: 0,
            received_bytes: 0,
        };
        match session.wait_event(|event| matches!(event, Event::LoggedIn { .. } | Event::LoginFailed { .. }))? {
            Event::LoginFailed { status, target_address } => Err(SessionError::Login { status, target_address }),
            _ => Ok(session),
        }
    }

    /// Negotiation values that [`Self::connect`] uses, to be changed for [`Self::connect_with`].
    pub fn config(url: &Url, options: &SessionOptions) -> Config {
        config(url, options)
    }

    /// Lists the targets of the portal of the URL.
    pub fn discover(url: &Url, options: &SessionOptions) -> Result<Vec<TargetRecord>, SessionError> {
        let mut config = config(url, options);
        config.session_type = iscsi::connection::SessionType::Discovery;
        let mut session = Self::connect_with(url, options, config)?;
        session.initiator.send_targets("All");
        let answer = session.wait_event(|event| matches!(event, Event::Targets(_)))?;
        session.logout()?;
        match answer {
            Event::Targets(targets) => Ok(targets),
            _ => Err(SessionError::Protocol("no list of targets")),
        }
    }

    /// Protocol machine, for PDUs built by hand and for parameters.
    pub fn machine(&mut self) -> &mut Initiator {
        &mut self.initiator
    }

    /// LUN that commands go to.
    pub fn lun(&self) -> [u8; 8] {
        self.lun
    }

    /// Bytes sent and received on the socket so far.
    pub fn wire_bytes(&self) -> (u64, u64) {
        (self.sent_bytes, self.received_bytes)
    }

    /// Number of commands submitted whose completion was not taken.
    pub fn outstanding(&self) -> usize {
        self.initiator.outstanding() + self.order.len()
    }

    /// Sends a command to the LUN of the URL. Returns its tag.
    pub fn submit(&mut self, cdb: [u8; 16], transfer: TransferRequest) -> Result<u32, SessionError> {
        self.submit_to(self.lun, cdb, transfer)
    }

    /// Sends a command to a LUN. Returns its tag.
    pub fn submit_to(&mut self, lun: [u8; 8], cdb: [u8; 16], transfer: TransferRequest) -> Result<u32, SessionError> {
        let (tag, result) = self.enqueue(lun, cdb, transfer);
        result.map(|()| tag)
    }

    /// Like [`Self::submit_to`], but returns the tag even when the connection breaks while the
    /// command is being sent: the target may have received it.
    pub fn enqueue(
        &mut self,
        lun: [u8; 8],
        cdb: [u8; 16],
        transfer: TransferRequest,
    ) -> (u32, Result<(), SessionError>) {
        let attribute = TaskAttribute::SIMPLE;
        let tag = self.initiator.command(Request { lun, cdb, attribute, immediate: false, transfer });
        (tag, self.exchange(Duration::ZERO))
    }

    /// Selects the LUN of this URL for later commands. Portal and target of the session stay.
    pub fn select(&mut self, url: &Url) {
        self.lun = url.lun_bytes();
    }

    /// Waits for one command.
    pub fn wait(&mut self, tag: u32) -> Result<Completion, SessionError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(completion) = self.completed.remove(&tag) {
                self.order.retain(|other| *other != tag);
                return Ok(completion);
            }
            self.exchange_until(deadline)?;
        }
    }

    /// Waits for the next command that completes.
    pub fn wait_any(&mut self) -> Result<Completion, SessionError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(completion) = self.take_completion() {
                return Ok(completion);
            }
            self.exchange_until(deadline)?;
        }
    }

    /// Takes a completed command, waiting for at most `patience`.
    pub fn poll(&mut self, patience: Duration) -> Result<Option<Completion>, SessionError> {
        if self.order.is_empty() {
            self.exchange(patience)?;
        }
        Ok(self.take_completion())
    }

    /// Sends a command and waits for it.
    pub fn execute(&mut self, cdb: [u8; 16], transfer: TransferRequest) -> Result<Completion, SessionError> {
        let tag = self.submit(cdb, transfer)?;
        self.wait(tag)
    }

    /// Sends a task management function to the LUN of the URL and waits for the answer.
    pub fn task_management(
        &mut self,
        function: TaskManagementFunction,
        referenced: Option<u32>,
    ) -> Result<TaskManagementResponse, SessionError> {
        let tag = self.initiator.task_management(function, self.lun, referenced);
        let ours = |event: &Event| matches!(event, Event::TaskManagement { initiator_task_tag: of, .. } if *of == tag);
        match self.wait_event(ours)? {
            Event::TaskManagement { response, .. } => Ok(response),
            _ => Err(SessionError::Protocol("no answer to a task management function")),
        }
    }

    /// Sends a ping and waits for the answer.
    pub fn ping(&mut self, data: Bytes) -> Result<Bytes, SessionError> {
        let tag = self.initiator.nop_out(data);
        let ours =
            |event: &Event| matches!(event, Event::Pong { initiator_task_tag, .. } if *initiator_task_tag == tag);
        match self.wait_event(ours)? {
            Event::Pong { data, .. } => Ok(data),
            _ => Err(SessionError::Protocol("no answer to a ping")),
        }
    }

    /// Waits for an event that is neither the completion of a command nor an error.
    pub fn wait_event(&mut self, wanted: impl Fn(&Event) -> bool) -> Result<Event, SessionError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(position) = self.events.iter().position(&wanted)
                && let Some(event) = self.events.remove(position)
            {
                return Ok(event);
            }
            self.exchange_until(deadline)?;
        }
    }

    /// Logs out and closes the connection.
    pub fn logout(mut self) -> Result<(), SessionError> {
        self.initiator.logout(LogoutReason::CLOSE_SESSION);
        self.wait_event(|event| matches!(event, Event::LoggedOut(_))).map(drop)
    }

    fn take_completion(&mut self) -> Option<Completion> {
        let tag = self.order.pop_front()?;
        self.completed.remove(&tag)
    }

    fn exchange_until(&mut self, deadline: Instant) -> Result<(), SessionError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SessionError::Timeout(self.timeout));
        }
        self.exchange(left)
    }

    /// Writes pending output and reads available input, once, waiting for at most `patience`.
    ///
    /// Input is also read while output is blocked: a target may wait for this side to read before
    /// it reads on.
    fn exchange(&mut self, patience: Duration) -> Result<(), SessionError> {
        self.write_output()?;
        if !self.output.is_empty() {
            self.read_input(READ_SLICE.min(patience.max(READ_SLICE)))?;
        } else if !patience.is_zero() {
            self.read_input(patience)?;
        }
        self.write_output()
    }

    fn write_output(&mut self) -> Result<(), SessionError> {
        loop {
            // Takes no more than one call writes: the machine must see what piles up when the
            // target does not read.
            let room = WRITE_CHUNKS.saturating_sub(self.output.len());
            self.output.extend(std::iter::from_fn(|| self.initiator.poll_output()).take(room));
            if self.output.is_empty() {
                return Ok(());
            }
            let slices: Vec<IoSlice<'_>> = self.output.iter().map(|chunk| IoSlice::new(chunk)).collect();
            let mut written = match self.stream.write_vectored(&slices) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(written) => written,
                Err(error) if is_timeout(&error) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.sent_bytes += written as u64;
            while let Some(front) = self.output.front_mut().filter(|_| written > 0) {
                let step = written.min(front.len());
                front.advance(step);
                written -= step;
                if front.is_empty() {
                    self.output.pop_front();
                }
            }
        }
    }

    fn read_input(&mut self, patience: Duration) -> Result<(), SessionError> {
        if self.read_timeout != Some(patience) {
            self.stream.set_read_timeout(Some(patience))?;
            self.read_timeout = Some(patience);
        }
        match self.stream.read(&mut self.scratch) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(read) => {
                self.received_bytes += read as u64;
                self.input.extend_from_slice(self.scratch.get(..read).unwrap_or_default());
            }
            Err(error) if is_timeout(&error) || error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.initiator.handle_input(&mut self.input);
        while let Some(event) = self.initiator.poll_event() {
            match event {
                Event::Completed(completion) => {
                    self.order.push_back(completion.initiator_task_tag);
                    self.completed.insert(completion.initiator_task_tag, completion);
                }
                Event::ProtocolError(what) => return Err(SessionError::Protocol(what)),
                Event::Rejected { reason, .. } => return Err(SessionError::Rejected(reason)),
                Event::Async { .. } if self.events.len() >= MAX_EVENTS => {
                    return Err(SessionError::Protocol("too many asynchronous messages in a row"));
                }
                other => self.events.push_back(other),
            }
        }
        Ok(())
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn connect(url: &Url, options: &SessionOptions) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        match connect_to(address, options) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn connect_to(address: SocketAddr, options: &SessionOptions) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(maximum_segment) = options.maximum_segment {
        // Set before connecting, so that the SYN carries it.
        socket.set_tcp_mss(u32::from(maximum_segment))?;
    }
    socket.connect_timeout(&address.into(), options.timeout)?;
    Ok(socket.into())
}
