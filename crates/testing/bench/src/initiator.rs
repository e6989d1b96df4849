//! A small iSCSI initiator for loads: one connection, no digests, no CHAP, many commands outstanding, one thread.
//!
//! It trusts its target to be the one under test on this machine; what breaks the protocol ends the benchmark with an error.

use crate::wire;
use crate::wire::{Command, HEADER_BYTES, Header, NO_TAG, naa_designator, opcode};
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest wait for the target's next byte.
const PATIENCE: Duration = Duration::from_secs(60);
/// What this end receives in one data segment.
const RECEIVE_SEGMENT_BYTES: usize = 256 << 10;
/// Room for received bytes: a PDU of the longest kind, several times.
const INPUT_BYTES: usize = 1 << 20;

/// Where a logical unit is: `iscsi://HOST:PORT/IQN/LUN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    portal: String,
    target: String,
    lun: u8,
}

impl Url {
    /// Takes the URL apart.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let parts = || {
            let (portal, rest) = url.strip_prefix("iscsi://")?.split_once('/')?;
            let (target, lun) = rest.rsplit_once('/')?;
            Some(Self { portal: portal.into(), target: target.into(), lun: lun.parse().ok()? })
        };
        parts().with_context(|| format!("{url} is not of the form iscsi://HOST:PORT/IQN/LUN"))
    }
}

/// A finished command.
#[derive(Clone, Debug)]
pub(crate) struct Completion {
    /// The number that `submit` returned.
    pub(crate) tag: u32,
    /// SCSI status.
    pub(crate) status: u8,
    /// Data-In of a good command; sense data, with its length in front, of another.
    pub(crate) data: Vec<u8>,
}

impl Completion {
    /// An error unless the status is GOOD.
    pub(crate) fn good(&self) -> Result<()> {
        // Two bytes of length, then fixed format: key in byte 2, code and qualifier in bytes 12 and 13 (SPC-4 §4.5.3).
        let sense = |offset: usize| self.data.get(2 + offset).copied().unwrap_or(0);
        ensure!(
            self.status == 0,
            "status {:02x}h, sense {:02x}/{:02x}/{:02x}",
            self.status,
            sense(2) & 0x0f,
            sense(12),
            sense(13)
        );
        Ok(())
    }
}

/// A command in flight.
struct Task {
    data_out: std::rc::Rc<[u8]>,
    data_in: Vec<u8>,
}

/// A logged-in session with one logical unit.
pub(crate) struct Session {
    stream: TcpStream,
    lun: u8,
    output: Vec<u8>,
    /// Received bytes are at `parsed..filled`.
    input: Box<[u8]>,
    parsed: usize,
    filled: usize,
    tasks: HashMap<u32, Task>,
    next_tag: u32,
    command_number: u32,
    expected_status_number: u32,
    last_command_number: u32,
    send_segment_bytes: usize,
    immediate_bytes: usize,
    sent_bytes: u64,
    received_bytes: u64,
}

impl Session {
    /// Connects and logs in.
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let url = Url::parse(url)?;
        let stream = TcpStream::connect(&url.portal).with_context(|| format!("cannot connect to {}", url.portal))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut session = Self {
            stream,
            lun: url.lun,
            output: Vec::new(),
            input: vec![0; INPUT_BYTES].into(),
            parsed: 0,
            filled: 0,
            tasks: HashMap::new(),
            next_tag: 1,
            command_number: 1,
            expected_status_number: 0,
            last_command_number: 1,
            send_segment_bytes: 8192,
            immediate_bytes: 0,
            sent_bytes: 0,
            received_bytes: 0,
        };
        session.login(&url.target).with_context(|| format!("cannot log in to {}", url.target))?;
        // The first command after a login meets the unit attentions of power on and of changed LUNs.
        session.clear_unit_attentions()?;
        Ok(session)
    }

    /// Takes the unit attentions that wait for this session.
    pub(crate) fn clear_unit_attentions(&mut self) -> Result<()> {
        for _ in 0..8 {
            if self.execute(&wire::test_unit_ready())?.status == 0 {
                return Ok(());
            }
        }
        bail!("the logical unit does not become ready")
    }

    /// Bytes of TCP payload sent and received since the login began.
    pub(crate) fn wire_bytes(&self) -> (u64, u64) {
        (self.sent_bytes, self.received_bytes)
    }

    /// The NAA designator of the logical unit.
    pub(crate) fn designator(&mut self) -> Result<[u8; 16]> {
        let completion = self.execute(&wire::inquiry_page(0x83))?;
        completion.good().context("INQUIRY of page 83h")?;
        naa_designator(&completion.data).context("VPD page 83h has no 16-byte NAA designator")
    }

    /// How many more commands the target takes now (MaxCmdSN).
    pub(crate) fn window(&self) -> u32 {
        self.last_command_number.wrapping_add(1).wrapping_sub(self.command_number).min(i32::MAX as u32)
    }

    /// Commands in flight.
    pub(crate) fn outstanding(&self) -> usize {
        self.tasks.len()
    }

    /// Queues a command; `flush` sends it. Returns the tag that its completion will carry.
    pub(crate) fn submit(&mut self, command: &Command) -> Result<u32> {
        ensure!(self.window() > 0, "the target takes no more commands");
        let tag = self.next_tag;
        self.next_tag = if tag >= NO_TAG - 1 { 1 } else { tag + 1 };
        let (reads, writes) = (command.data_in_bytes > 0, !command.data_out.is_empty());
        // F, R, W and the task attribute SIMPLE.
        let mut header = Header::new(opcode::SCSI_COMMAND, 0x80 | u8::from(reads) << 6 | u8::from(writes) << 5 | 1);
        let length = if writes { u32::try_from(command.data_out.len())? } else { command.data_in_bytes };
        header.set_lun(self.lun);
        header.set_word(16, tag);
        header.set_word(20, length);
        header.set_word(24, self.command_number);
        header.set_word(28, self.expected_status_number);
        header.0[32..48].copy_from_slice(&command.cdb);
        let immediate = command.data_out.len().min(self.immediate_bytes);
        self.put(header, command.data_out.get(..immediate).unwrap_or_default());
        self.command_number = self.command_number.wrapping_add(1);
        let data_in = Vec::with_capacity(usize::try_from(command.data_in_bytes)?);
        self.tasks.insert(tag, Task { data_out: command.data_out.clone(), data_in });
        Ok(tag)
    }

    /// Sends everything that is queued.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.stream.write_all(&self.output).context("cannot send")?;
        self.sent_bytes += self.output.len() as u64;
        self.output.clear();
        Ok(())
    }

    /// Waits until at least one command has completed and hands every completion that has arrived to `each`.
    pub(crate) fn complete(&mut self, mut each: impl FnMut(Completion) -> Result<()>) -> Result<()> {
        let mut found = false;
        while !found {
            while let Some((header, data)) = self.next_pdu()? {
                if let Some(completion) = self.accept(header, &data)? {
                    found = true;
                    each(completion)?;
                }
            }
            self.flush()?;
            if !found {
                self.receive()?;
            }
        }
        Ok(())
    }

    /// Runs one command to its end; there must be none outstanding.
    pub(crate) fn execute(&mut self, command: &Command) -> Result<Completion> {
        ensure!(self.tasks.is_empty(), "other commands are outstanding");
        self.submit(command)?;
        self.flush()?;
        let mut result = None;
        self.complete(|completion| {
            result = Some(completion);
            Ok(())
        })?;
        result.context("no completion")
    }

    /// Appends a PDU to the output.
    fn put(&mut self, mut header: Header, data: &[u8]) {
        header.set_data_bytes(data.len());
        self.output.extend_from_slice(&header.0);
        self.output.extend_from_slice(data);
        self.output.resize(self.output.len().next_multiple_of(4), 0);
    }

    /// Reads what the kernel has, waiting for the first byte.
    fn receive(&mut self) -> Result<()> {
        if self.parsed > 0 {
            self.input.copy_within(self.parsed..self.filled, 0);
            self.filled -= self.parsed;
            self.parsed = 0;
        }
        let room = self.input.get_mut(self.filled..).unwrap_or_default();
        ensure!(!room.is_empty(), "the target sent a PDU longer than was agreed");
        match self.stream.read(room).context("cannot receive")? {
            0 => bail!("the target closed the connection"),
            count => {
                self.filled += count;
                self.received_bytes += count as u64;
                Ok(())
            }
        }
    }

    /// The next whole PDU of the input.
    fn next_pdu(&mut self) -> Result<Option<(Header, Vec<u8>)>> {
        let Some(rest) = self.input.get(self.parsed..self.filled) else { return Ok(None) };
        let Some(bytes) = rest.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = Header(*bytes);
        let start = HEADER_BYTES + header.additional_bytes();
        let Some(data) = rest.get(start..start + header.data_bytes()) else { return Ok(None) };
        let end = start + header.padded_data_bytes();
        if rest.len() < end {
            return Ok(None);
        }
        let data = data.to_vec();
        self.parsed += end;
        Ok(Some((header, data)))
    }

    /// Acts on a PDU of the full feature phase.
    fn accept(&mut self, header: Header, data: &[u8]) -> Result<Option<Completion>> {
        let tag = header.word(16);
        match header.opcode() {
            opcode::SCSI_RESPONSE => {
                self.note_numbers(&header, true);
                let task = self.tasks.remove(&tag).context("a response to no command")?;
                ensure!(header.0[2] == 0, "the target failed to run a command: response {:02x}h", header.0[2]);
                let status = header.status();
                Ok(Some(Completion { tag, status, data: if status == 0 { task.data_in } else { data.to_vec() } }))
            }
            opcode::DATA_IN => {
                let last = header.flags() & 1 != 0;
                self.note_numbers(&header, last);
                let task = self.tasks.get_mut(&tag).context("Data-In for no command")?;
                ensure!(usize::try_from(header.word(40))? == task.data_in.len(), "Data-In out of order");
                task.data_in.extend_from_slice(data);
                if !last {
                    return Ok(None);
                }
                let task = self.tasks.remove(&tag).context("Data-In for no command")?;
                Ok(Some(Completion { tag, status: header.status(), data: task.data_in }))
            }
            opcode::R2T => {
                self.note_numbers(&header, false);
                self.send_solicited(tag, header.word(20), header.word(40), header.word(44))?;
                Ok(None)
            }
            opcode::NOP_IN => {
                self.note_numbers(&header, tag != NO_TAG);
                if header.word(20) != NO_TAG {
                    let mut answer = Header::new(opcode::NOP_OUT | opcode::IMMEDIATE, 0x80);
                    answer.0[8..16].copy_from_slice(&header.0[8..16]);
                    answer.set_word(16, NO_TAG);
                    answer.set_word(20, header.word(20));
                    answer.set_word(24, self.command_number);
                    answer.set_word(28, self.expected_status_number);
                    self.put(answer, data);
                }
                Ok(None)
            }
            other => bail!("the target sent a PDU with opcode {other:02x}h: {:02x?}", header.0),
        }
    }

    /// Answers an R2T with Data-Out PDUs.
    fn send_solicited(&mut self, tag: u32, transfer_tag: u32, offset: u32, length: u32) -> Result<()> {
        let task = self.tasks.get(&tag).context("an R2T for no command")?;
        let data = task.data_out.clone();
        let start = usize::try_from(offset)?;
        let wanted = data.get(start..start + usize::try_from(length)?).context("an R2T beyond the data")?;
        let pieces = wanted.len().div_ceil(self.send_segment_bytes);
        for (index, piece) in wanted.chunks(self.send_segment_bytes).enumerate() {
            let mut header = Header::new(opcode::DATA_OUT, if index + 1 == pieces { 0x80 } else { 0 });
            header.set_lun(self.lun);
            header.set_word(16, tag);
            header.set_word(20, transfer_tag);
            header.set_word(28, self.expected_status_number);
            header.set_word(36, u32::try_from(index)?);
            header.set_word(40, u32::try_from(start + index * self.send_segment_bytes)?);
            self.put(header, piece);
        }
        Ok(())
    }

    /// Keeps StatSN (when this PDU carries one) and MaxCmdSN.
    fn note_numbers(&mut self, header: &Header, has_status_number: bool) {
        if has_status_number {
            self.expected_status_number = header.word(24).wrapping_add(1);
        }
        let last = header.word(32);
        // A window never shrinks (RFC 7143 §4.2.2.1).
        if (last.wrapping_sub(self.last_command_number) as i32) > 0 {
            self.last_command_number = last;
        }
    }

    /// Security stage with no authentication, then the operational stage.
    fn login(&mut self, target: &str) -> Result<()> {
        let names = format!(
            "InitiatorName=iqn.2026-01.org.example:bench\0SessionType=Normal\0TargetName={target}\0AuthMethod=None\0"
        );
        self.login_stage(0, 1, &names)?;
        let keys = format!(
            "HeaderDigest=None\0DataDigest=None\0ErrorRecoveryLevel=0\0InitialR2T=No\0ImmediateData=Yes\0\
             MaxRecvDataSegmentLength={RECEIVE_SEGMENT_BYTES}\0MaxBurstLength=1048576\0FirstBurstLength=262144\0\
             MaxConnections=1\0MaxOutstandingR2T=1\0DefaultTime2Wait=2\0DefaultTime2Retain=0\0\
             DataPDUInOrder=Yes\0DataSequenceInOrder=Yes\0"
        );
        let answers = self.login_stage(1, 3, &keys)?;
        let number = |key: &str| answers.get(key).and_then(|value| value.parse::<usize>().ok());
        self.send_segment_bytes = number("MaxRecvDataSegmentLength").unwrap_or(8192).max(512);
        if answers.get("ImmediateData").is_none_or(|value| value == "Yes") {
            self.immediate_bytes = self.send_segment_bytes.min(number("FirstBurstLength").unwrap_or(65536));
        }
        Ok(())
    }

    /// One stage of the login; returns the target's answers.
    fn login_stage(&mut self, stage: u8, next: u8, keys: &str) -> Result<HashMap<String, String>> {
        let mut answers = HashMap::new();
        let mut text = keys;
        for _ in 0..8 {
            let mut header = Header::new(opcode::LOGIN_REQUEST | opcode::IMMEDIATE, 0x80 | stage << 2 | next);
            // ISID of the random kind (RFC 7143 §11.12.5): the process tells sessions of this kit apart.
            let [a, b, c, d] = std::process::id().to_be_bytes();
            let port = self.stream.local_addr()?.port().to_be_bytes();
            header.0[8..14].copy_from_slice(&[0x80, b ^ a, c, d, port[0], port[1]]);
            header.set_word(16, 0);
            header.set_word(24, self.command_number);
            header.set_word(28, self.expected_status_number);
            self.put(header, text.as_bytes());
            self.flush()?;
            let (header, data) = loop {
                if let Some(pdu) = self.next_pdu()? {
                    break pdu;
                }
                self.receive()?;
            };
            ensure!(header.opcode() == opcode::LOGIN_RESPONSE, "opcode {:02x}h in the login", header.opcode());
            let (class, detail) = (header.0[36], header.0[37]);
            ensure!(class == 0, "the target refused the login with status {class:02x}{detail:02x}h");
            self.note_numbers(&header, true);
            for pair in String::from_utf8_lossy(&data).split('\0').filter(|pair| !pair.is_empty()) {
                if let Some((key, value)) = pair.split_once('=') {
                    answers.insert(key.to_owned(), value.to_owned());
                }
            }
            if header.flags() & 0x80 != 0 && header.flags() & 3 == next {
                return Ok(answers);
            }
            text = "";
        }
        bail!("the login does not end")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let url = Url::parse("iscsi://[::1]:3260/iqn.2026-01.org.example:a/b/12").unwrap();
        assert_eq!(
            (url.portal.as_str(), url.target.as_str(), url.lun),
            ("[::1]:3260", "iqn.2026-01.org.example:a/b", 12)
        );
        assert!(Url::parse("http://x/y/1").is_err());
        assert!(Url::parse("iscsi://x/y/z").is_err());
    }

    #[test]
    fn a_failed_command_says_its_sense() {
        let mut data = vec![0, 18];
        data.extend_from_slice(&[0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0]);
        let completion = Completion { tag: 1, status: 2, data };
        assert_eq!(completion.good().unwrap_err().to_string(), "status 02h, sense 05/20/00");
    }
}
