//! A TCP connection and PDUs encoded by hand (RFC 7143 §11), for what a well-behaved initiator
//! never sends. It does not authenticate.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::check::{NotPassed, failed, skipped};
use crate::initiator::SessionOptions;
use crate::url::Url;

/// Largest data segment accepted, in bytes.
const MAX_DATA_BYTES: usize = 1 << 20;

/// Qualifier of the ISID of logins by hand, so that they do not replace the sessions of a check.
pub const QUALIFIER: u16 = 0x4001;

/// One PDU without additional header segments and digests.
#[derive(Clone, Debug)]
pub struct Pdu {
    /// Basic header segment.
    pub header: [u8; 48],
    /// Data segment without padding.
    pub data: Vec<u8>,
}

impl Pdu {
    /// Creates a PDU with this operation code, flags byte and Initiator Task Tag; the rest is
    /// zeros.
    pub fn new(opcode: u8, flags: u8, tag: u32) -> Self {
        let mut header = [0; 48];
        header[0] = opcode;
        header[1] = flags;
        Self { header, data: Vec::new() }.word(16, tag)
    }

    /// Sets a big-endian word at a byte of the header.
    pub fn word(mut self, at: usize, value: u32) -> Self {
        for (to, from) in self.header.iter_mut().skip(at).zip(value.to_be_bytes()) {
            *to = from;
        }
        self
    }

    /// Sets bytes at an offset of the header.
    pub fn bytes(mut self, at: usize, bytes: &[u8]) -> Self {
        for (to, from) in self.header.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
        self
    }

    /// Sets the data segment.
    pub fn data(mut self, data: Vec<u8>) -> Self {
        self.data = data;
        self
    }

    /// Operation code.
    pub fn opcode(&self) -> u8 {
        self.header[0] & 0x3F
    }

    /// Word at a byte of the header.
    pub fn get(&self, at: usize) -> u32 {
        self.header.iter().skip(at).take(4).fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    /// Bytes on the wire.
    pub fn encoded(&self) -> Vec<u8> {
        let length = u32::try_from(self.data.len()).unwrap_or(u32::MAX).to_be_bytes();
        let mut bytes = self.clone().bytes(5, &length[1..]).header.to_vec();
        bytes.extend_from_slice(&self.data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }
}

/// A TCP connection for PDUs encoded by hand.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    lun: [u8; 8],
    /// CmdSN of the next command.
    pub cmd_sn: u32,
    /// ExpStatSN to send.
    pub exp_stat_sn: u32,
    /// Last MaxCmdSN received.
    pub max_cmd_sn: u32,
}

/// Answer to a login.
#[derive(Clone, Debug)]
pub struct LoginAnswer {
    /// Status class and detail: 0203h is class 2, detail 3.
    pub status: u16,
    /// Whether the full feature phase is reached.
    pub full_feature: bool,
    /// Keys and values of the answer.
    pub keys: Vec<(String, String)>,
}

impl LoginAnswer {
    /// Value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Fails unless the key has this value.
    pub fn expect(&self, key: &str, expected: &str) -> Result<(), NotPassed> {
        match self.value(key) {
            Some(found) if found == expected => Ok(()),
            Some(found) => failed(format!("{key}: expected {expected}, found {found}")),
            None => failed(format!("{key}: expected {expected}, found no answer")),
        }
    }
}

/// Parses the key-value pairs of a text.
pub fn parse(text: &[u8]) -> Vec<(String, String)> {
    let pairs = text.split(|byte| *byte == 0).filter(|pair| !pair.is_empty());
    let pair = |pair: &[u8]| {
        let text = String::from_utf8_lossy(pair).into_owned();
        match text.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (text, String::new()),
        }
    };
    pairs.map(pair).collect()
}

impl Wire {
    /// Opens the TCP connection.
    pub fn connect(url: &Url, timeout: Duration) -> Result<Self, NotPassed> {
        let broken = |error: std::io::Error| NotPassed::Failed(format!("cannot connect to {}: {error}", url.host));
        let mut last = None;
        for address in (url.host.as_str(), url.port).to_socket_addrs().map_err(broken)? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true).map_err(broken)?;
                    stream.set_read_timeout(Some(timeout)).map_err(broken)?;
                    stream.set_write_timeout(Some(timeout)).map_err(broken)?;
                    let lun = url.lun_bytes();
                    return Ok(Self { stream, lun, cmd_sn: 1, exp_stat_sn: 0, max_cmd_sn: 1 });
                }
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Err(broken(error)),
            None => failed(format!("{} has no address", url.host)),
        }
    }

    /// Sets the time limit for receiving.
    pub fn patience(&self, patience: Duration) -> Result<(), NotPassed> {
        self.stream.set_read_timeout(Some(patience)).map_err(|error| NotPassed::Failed(error.to_string()))
    }

    /// Sends bytes.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), NotPassed> {
        self.stream.write_all(bytes).map_err(|error| NotPassed::Failed(format!("connection lost: {error}")))
    }

    /// Sends a PDU.
    pub fn send(&mut self, pdu: &Pdu) -> Result<(), NotPassed> {
        self.send_bytes(&pdu.encoded())
    }

    /// Receives the next PDU, the end of the connection, or nothing within the time limit.
    pub fn receive(&mut self) -> Result<Received, NotPassed> {
        let mut header = [0; 48];
        if let Some(end) = self.fill(&mut header)? {
            return Ok(end);
        }
        let length = usize::from(header[5]) << 16 | usize::from(header[6]) << 8 | usize::from(header[7]);
        if length > MAX_DATA_BYTES || header[4] != 0 {
            return failed(format!("a PDU with {length} bytes of data and {} words of AHS", header[4]));
        }
        let mut data = vec![0; length.next_multiple_of(4)];
        if let Some(end) = self.fill(&mut data)? {
            return Ok(end);
        }
        data.truncate(length);
        let pdu = Pdu { header, data };
        // R2T, and Data-In without status, carry StatSN without advancing it.
        let status = !matches!(pdu.opcode(), 0x31) && (pdu.opcode() != 0x25 || header[1] & 1 != 0);
        if status && !(pdu.opcode() == 0x20 && pdu.get(16) == 0xFFFF_FFFF) {
            self.exp_stat_sn = pdu.get(24).wrapping_add(1);
        }
        self.max_cmd_sn = pdu.get(32);
        Ok(Received::Pdu(Box::new(pdu)))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<Option<Received>, NotPassed> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.stream.read(rest) {
                Ok(0) => return Ok(Some(Received::Closed)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                    return Ok(Some(Received::Nothing));
                }
                Err(_) => return Ok(Some(Received::Closed)),
            }
        }
        Ok(None)
    }

    /// Receives the next PDU; fails when none comes.
    pub fn must_receive(&mut self) -> Result<Pdu, NotPassed> {
        match self.receive()? {
            Received::Pdu(pdu) => Ok(*pdu),
            Received::Closed => failed("expected an answer, found that the connection was closed"),
            Received::Nothing => failed("expected an answer, found none in time"),
        }
    }

    /// Reads until the end of the connection; fails when it does not come within the time limit of
    /// one read.
    pub fn expect_closed(&mut self) -> Result<(), NotPassed> {
        let mut scratch = [0; 4096];
        for _ in 0..16 {
            match self.fill_some(&mut scratch) {
                Some(Received::Closed) => return Ok(()),
                Some(_) => return failed("expected the connection to be closed, found it open"),
                None => {}
            }
        }
        failed("expected the connection to be closed, found data")
    }

    fn fill_some(&mut self, buffer: &mut [u8]) -> Option<Received> {
        match self.stream.read(buffer) {
            Ok(0) => Some(Received::Closed),
            Ok(_) => None,
            Err(error) => match error.kind() {
                std::io::ErrorKind::Interrupted => None,
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => Some(Received::Nothing),
                _ => Some(Received::Closed),
            },
        }
    }

    /// Sends one Login Request for the full feature phase, with these pairs after the names, and
    /// receives the answer.
    pub fn login(
        &mut self,
        options: &SessionOptions,
        target: &str,
        keys: &[(&str, &str)],
    ) -> Result<LoginAnswer, NotPassed> {
        let mut all = vec![("InitiatorName", options.initiator_name.as_str()), ("SessionType", "Normal")];
        all.push(("TargetName", target));
        all.extend_from_slice(keys);
        self.login_request(0x87, QUALIFIER, &all)
    }

    /// Sends one Login Request with this byte of flags and stages, and receives the answer.
    pub fn login_request(
        &mut self,
        flags: u8,
        qualifier: u16,
        keys: &[(&str, &str)],
    ) -> Result<LoginAnswer, NotPassed> {
        let mut text = Vec::new();
        for (key, value) in keys {
            text.extend_from_slice(format!("{key}={value}\0").as_bytes());
        }
        let [high, low] = qualifier.to_be_bytes();
        let pdu = Pdu::new(0x43, flags, 0).bytes(8, &[0x80, 0, 0, 0, high, low]).word(24, self.cmd_sn);
        self.send(&pdu.word(28, self.exp_stat_sn).data(text))?;
        let answer = self.must_receive()?;
        if answer.opcode() != 0x23 {
            return failed(format!("expected a Login Response (23h), found operation code {:02x}h", answer.opcode()));
        }
        let status = u16::from_be_bytes([answer.header[36], answer.header[37]]);
        let full_feature = status == 0 && answer.header[1] & 0x83 == 0x83;
        Ok(LoginAnswer { status, full_feature, keys: parse(&answer.data) })
    }

    /// Logs in to the full feature phase; skips the check when the target requires authentication.
    pub fn full_feature(
        url: &Url,
        options: &SessionOptions,
        keys: &[(&str, &str)],
    ) -> Result<(Self, LoginAnswer), NotPassed> {
        let mut wire = Self::connect(url, options.timeout)?;
        let answer = wire.login(options, &url.target, keys)?;
        match answer.status {
            0 if answer.full_feature => Ok((wire, answer)),
            0 | 0x0201 => skipped("the target requires authentication, which hand-made PDUs do not support"),
            status => failed(format!("login: expected status 0000h, found {status:04x}h")),
        }
    }

    /// Builds a SCSI Command PDU for the logical unit of the URL, with the next CmdSN; flags are F,
    /// R and W of byte 1.
    pub fn command(&mut self, tag: u32, flags: u8, expected_bytes: u32, cdb: &[u8; 16]) -> Pdu {
        let cmd_sn = self.cmd_sn;
        self.cmd_sn = cmd_sn.wrapping_add(1);
        let pdu = Pdu::new(0x01, flags | 1, tag).bytes(8, &self.lun).word(20, expected_bytes).word(24, cmd_sn);
        pdu.word(28, self.exp_stat_sn).bytes(32, cdb)
    }

    /// Clears the unit attentions of a new nexus.
    pub fn clear_unit_attentions(&mut self) -> Result<(), NotPassed> {
        for tag in 0x7000..0x7010 {
            let pdu = self.command(tag, 0x80, 0, &[0; 16]);
            self.send(&pdu)?;
            if self.must_receive()?.header[3] == 0 {
                return Ok(());
            }
        }
        failed("TEST UNIT READY: expected GOOD, found too many unit attentions in a row")
    }
}

/// Result of receiving.
#[derive(Clone, Debug)]
pub enum Received {
    /// A PDU.
    Pdu(Box<Pdu>),
    /// The end of the connection.
    Closed,
    /// Nothing within the time limit.
    Nothing,
}
