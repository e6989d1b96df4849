//! Messages of ONC RPC that are written word by word, over a socket.

use bytes::{Bytes, BytesMut};
use onc_rpc::record::{Progress, Reassembly};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use verdict::{NotPassed, Verdict, failed};
use xdr::{Reader, Writer};

/// Longest record that is received.
const MAX_RECORD_BYTES: usize = 4 << 20;

/// Flavor AUTH_NONE.
pub const AUTH_NONE: u32 = 0;
/// Flavor AUTH_SYS.
pub const AUTH_SYS: u32 = 1;

/// A call; every word of its header can be wrong.
#[derive(Clone, Debug)]
pub struct RpcCall {
    /// Transaction id.
    pub xid: u32,
    /// Version of RPC.
    pub rpc_version: u32,
    /// Program, its version and the procedure.
    pub procedure: (u32, u32, u32),
    /// Flavor and body of the credential.
    pub credential: (u32, Vec<u8>),
    /// Flavor and body of the verifier.
    pub verifier: (u32, Vec<u8>),
    /// Arguments.
    pub arguments: Vec<u8>,
}

impl RpcCall {
    /// NULL of a version of NFS, with AUTH_NONE.
    pub fn null(xid: u32, version: u32) -> Self {
        Self {
            xid,
            rpc_version: 2,
            procedure: (nfs::PROGRAM, version, 0),
            credential: (AUTH_NONE, Vec::new()),
            verifier: (AUTH_NONE, Vec::new()),
            arguments: Vec::new(),
        }
    }

    /// COMPOUND with AUTH_SYS of uid 0; `arguments` writes tag, minor version, count and operations.
    pub fn compound(xid: u32, arguments: impl FnOnce(&mut Writer)) -> Self {
        let mut writer = Writer::default();
        arguments(&mut writer);
        Self {
            procedure: (nfs::PROGRAM, 4, 1),
            credential: (AUTH_SYS, auth_sys(b"kit", 0, &[])),
            arguments: writer.into_bytes().to_vec(),
            ..Self::null(xid, 4)
        }
    }

    /// The same with another credential.
    pub fn credential(self, flavor: u32, body: Vec<u8>) -> Self {
        Self { credential: (flavor, body), ..self }
    }

    /// Bytes of the message, without record marking.
    pub fn bytes(&self) -> Vec<u8> {
        let (program, version, procedure) = self.procedure;
        let mut writer = Writer::default();
        [self.xid, 0, self.rpc_version, program, version, procedure].iter().for_each(|word| writer.u32(*word));
        for (flavor, body) in [&self.credential, &self.verifier] {
            writer.u32(*flavor);
            writer.opaque(body);
        }
        let mut bytes = writer.into_bytes().to_vec();
        bytes.extend_from_slice(&self.arguments);
        bytes
    }
}

/// Body of an AUTH_SYS credential.
pub fn auth_sys(machine: &[u8], uid: u32, groups: &[u32]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.u32(0);
    writer.opaque(machine);
    writer.u32(uid);
    writer.u32(uid);
    writer.count(groups.len());
    groups.iter().for_each(|group| writer.u32(*group));
    writer.into_bytes().to_vec()
}

/// A fragment: `last` sets the bit of the last one of a record.
pub fn fragment(data: &[u8], last: bool) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX >> 1);
    let mut bytes = (length | u32::from(last) << 31).to_be_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes
}

/// What came from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A whole record.
    Record(Bytes),
    /// The end of the connection.
    Closed,
    /// Nothing in time.
    Nothing,
}

/// A reply of RPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcReply {
    /// Accepted: length of the verifier, `accept_stat`, and what follows it.
    Accepted(usize, u32, Vec<u32>),
    /// Denied: `reject_stat` and what follows it.
    Denied(u32, Vec<u32>),
}

/// A socket.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    reassembly: Reassembly,
    input: BytesMut,
    timeout: Duration,
}

fn broken(error: &std::io::Error) -> NotPassed {
    NotPassed::Failed(format!("connection: {error}"))
}

impl Wire {
    /// Connects to a host and port.
    pub fn connect(server: &str, timeout: Duration) -> Result<Self, NotPassed> {
        let address = server.to_socket_addrs().map_err(|error| broken(&error))?.next();
        let Some(address) = address else { return failed(format!("{server} has no address")) };
        let stream = TcpStream::connect_timeout(&address, timeout).map_err(|error| broken(&error))?;
        stream.set_nodelay(true).map_err(|error| broken(&error))?;
        let reassembly = Reassembly::new(MAX_RECORD_BYTES);
        Ok(Self { stream, reassembly, input: BytesMut::new(), timeout })
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> Verdict {
        self.stream.write_all(bytes).map_err(|error| broken(&error))
    }

    /// Sends a message as one record of one fragment.
    pub fn send_record(&mut self, message: &[u8]) -> Verdict {
        self.send(&fragment(message, true))
    }

    /// Ends the connection with a reset.
    pub fn reset(self) -> Verdict {
        let linger = socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        linger.map_err(|error| broken(&error))
    }

    /// Receives a record within the time limit of the run.
    pub fn receive(&mut self) -> Result<Received, NotPassed> {
        self.receive_within(self.timeout)
    }

    /// Receives a record within a time.
    pub fn receive_within(&mut self, time: Duration) -> Result<Received, NotPassed> {
        let until = Instant::now() + time;
        loop {
            match self.reassembly.take(&mut self.input) {
                Ok(Progress::Record(record)) => return Ok(Received::Record(record)),
                Ok(Progress::Incomplete { .. }) => {}
                Err(error) => return failed(format!("from the server: {error}")),
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Received::Nothing);
            }
            self.stream.set_read_timeout(Some(left)).map_err(|error| broken(&error))?;
            let mut buffer = vec![0; 64 << 10];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(Received::Closed),
                Ok(count) => self.input.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(Received::Closed),
                Err(error) => return Err(broken(&error)),
            }
        }
    }

    /// Receives a reply with this transaction id.
    pub fn reply(&mut self, xid: u32) -> Result<RpcReply, NotPassed> {
        match self.receive()? {
            Received::Record(record) => read_reply(record, xid),
            Received::Closed => failed("expected a reply, found the end of the connection"),
            Received::Nothing => failed("expected a reply, found nothing in time"),
        }
    }

    /// Sends a call and receives the reply.
    pub fn call(&mut self, call: &RpcCall) -> Result<RpcReply, NotPassed> {
        self.send_record(&call.bytes())?;
        self.reply(call.xid)
    }

    /// Expects that the server closes the connection within a time.
    pub fn expect_closed(&mut self, time: Duration) -> Verdict {
        match self.receive_within(time)? {
            Received::Closed => Ok(()),
            found => failed(format!("expected the end of the connection within {} s, found {found:?}", time.as_secs())),
        }
    }

    /// Expects that a NULL of NFSv4 is answered: the connection is in order.
    pub fn expect_alive(&mut self, xid: u32) -> Verdict {
        self.call(&RpcCall::null(xid, 4))?.success().map(drop)
    }
}

fn read_reply(record: Bytes, xid: u32) -> Result<RpcReply, NotPassed> {
    let malformed = |error: xdr::XdrError| NotPassed::Failed(format!("malformed reply: {error}"));
    let mut reader = Reader::strict(record);
    let mut word = || reader.u32().map_err(malformed);
    let (found_xid, kind, accepted) = (word()?, word()?, word()?);
    if found_xid != xid || kind != 1 {
        return failed(format!("expected a reply to {xid:#x}, found message type {kind} of {found_xid:#x}"));
    }
    match accepted {
        0 => {
            let flavor = reader.u32().map_err(malformed)?;
            let verifier = reader.opaque(400).map_err(malformed)?;
            if flavor != AUTH_NONE {
                return failed(format!("verifier: expected AUTH_NONE, found flavor {flavor}"));
            }
            let status = reader.u32().map_err(malformed)?;
            Ok(RpcReply::Accepted(verifier.len(), status, words(reader)?))
        }
        1 => {
            let status = reader.u32().map_err(malformed)?;
            Ok(RpcReply::Denied(status, words(reader)?))
        }
        found => failed(format!("reply_stat: expected 0 or 1, found {found}")),
    }
}

fn words(mut reader: Reader) -> Result<Vec<u32>, NotPassed> {
    let mut words = Vec::new();
    while reader.remaining_bytes() > 0 {
        words.push(reader.u32().map_err(|error| NotPassed::Failed(format!("malformed reply: {error}")))?);
    }
    Ok(words)
}

impl RpcReply {
    /// Expects that the call was executed; returns the words of the results.
    pub fn success(self) -> Result<Vec<u32>, NotPassed> {
        match self {
            Self::Accepted(0, 0, words) => Ok(words),
            found => failed(format!("expected SUCCESS with an empty verifier, found {found:?}")),
        }
    }

    /// Expects an `accept_stat` with these words after it.
    pub fn accepted(self, status: u32, words: &[u32]) -> Verdict {
        match &self {
            Self::Accepted(0, found, rest) if *found == status && rest == words => Ok(()),
            found => failed(format!("expected accept_stat {status} with {words:?}, found {found:?}")),
        }
    }

    /// Expects GARBAGE_ARGS.
    pub fn garbage(self) -> Verdict {
        self.accepted(4, &[])
    }

    /// Expects a denial with these words after it.
    pub fn denied(self, status: u32, words: &[u32]) -> Verdict {
        match &self {
            Self::Denied(found, rest) if *found == status && rest == words => Ok(()),
            found => failed(format!("expected MSG_DENIED with {status} {words:?}, found {found:?}")),
        }
    }

    /// Expects a denial because of authentication, with this `auth_stat`.
    pub fn auth_error(self, status: u32) -> Verdict {
        self.denied(1, &[status])
    }
}
