//! Blocking shell of [`iscsi::initiator`] for loads: one connection, no digests, no CHAP, many
//! outstanding commands, one thread. Only the I/O is here: a load needs no task and no timer for each
//! command.
//!
//! It trusts its target, the one under test on this machine; a protocol violation ends the
//! benchmark with an error.

use crate::command::{self, Command};
use anyhow::{Context, Result, bail, ensure};
use bytes::{Bytes, BytesMut};
use initiator::sense::Sense;
use initiator::url::Url;
use iscsi::initiator::{Config, Event, Initiator, Request};
use iscsi::parameters::Parameters;
use iscsi::pdu::TaskAttribute;
use std::io::{IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest wait for the next byte from the target.
const PATIENCE: Duration = Duration::from_secs(60);
/// Largest amount of input taken by one call: several PDUs of the longest kind.
const INPUT_BYTES: usize = 1 << 20;
/// Largest number of chunks of output sent by one call: 32 commands with their data.
const OUTPUT_CHUNKS: usize = 64;

/// Finished command.
#[derive(Clone, Debug)]
pub(crate) struct Completion {
    /// Tag that `submit` returned.
    pub(crate) tag: u32,
    /// SCSI status.
    pub(crate) status: u8,
    /// Data-In.
    pub(crate) data: Bytes,
    /// Sense data.
    pub(crate) sense: Bytes,
}

impl Completion {
    /// Fails unless the status is GOOD.
    pub(crate) fn good(&self) -> Result<()> {
        let sense = || Sense::parse(&self.sense).map_or("none".to_owned(), |sense| sense.to_string());
        ensure!(self.status == 0, "status {:02x}h, sense {}", self.status, sense());
        Ok(())
    }
}

/// Connection in full feature phase, and where it stands.
pub(crate) struct FullFeature {
    pub(crate) stream: TcpStream,
    pub(crate) lun: [u8; 8],
    pub(crate) parameters: Parameters,
    /// CmdSN of the next command.
    pub(crate) cmd_sn: u32,
    pub(crate) max_cmd_sn: u32,
    pub(crate) exp_stat_sn: u32,
}

/// Session with one logical unit, logged in.
pub(crate) struct Session {
    stream: TcpStream,
    lun: [u8; 8],
    machine: Initiator,
    /// Chunks that one call sends; empty between two flushes.
    output: Vec<Bytes>,
    received: Box<[u8]>,
    input: BytesMut,
    sent_bytes: u64,
    received_bytes: u64,
}

impl Session {
    /// Connects to the logical unit at `url` and logs in.
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let url: Url = url.parse()?;
        let portal = url.portal();
        let stream = TcpStream::connect(&portal).with_context(|| format!("cannot connect to {portal}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut config = Config::new("iqn.2026-01.org.example:bench", &url.target);
        // ISID of the random kind (RFC 7143 §11.12.5); process id and port make sessions of this
        // kit distinct.
        let ([a, b, c, d], [high, low]) = (std::process::id().to_be_bytes(), stream.local_addr()?.port().to_be_bytes());
        config.isid = [0x80, b ^ a, c, d, high, low];
        config.max_burst_length = 1 << 20;
        let mut session = Self {
            stream,
            lun: url.lun_bytes(),
            machine: Initiator::new(config, [0; 32]),
            output: Vec::new(),
            received: vec![0; INPUT_BYTES].into(),
            input: BytesMut::new(),
            sent_bytes: 0,
            received_bytes: 0,
        };
        session.login().with_context(|| format!("cannot log in to {}", url.target))?;
        // The first command after a login reports the unit attentions of power on and of changed
        // LUNs.
        session.clear_unit_attentions()?;
        Ok(session)
    }

    /// Gives up the connection, logged in and without outstanding commands, to a client that speaks
    /// for itself.
    pub(crate) fn into_full_feature(self) -> Result<FullFeature> {
        ensure!(self.outstanding() == 0 && self.input.is_empty(), "the session is in use");
        Ok(FullFeature {
            lun: self.lun,
            parameters: self.machine.parameters().clone(),
            cmd_sn: self.machine.cmd_sn(),
            max_cmd_sn: self.machine.max_cmd_sn(),
            exp_stat_sn: self.machine.exp_stat_sn(),
            stream: self.stream,
        })
    }

    fn login(&mut self) -> Result<()> {
        loop {
            self.flush()?;
            match self.machine.poll_event() {
                None => self.receive()?,
                Some(Event::LoggedIn { .. }) => return Ok(()),
                Some(Event::LoginFailed { status, .. }) => bail!("the target refused the login: {status:?}"),
                Some(other) => bail!("{other:?}"),
            }
        }
    }

    /// LUN of the logical unit that commands address.
    pub(crate) fn lun(&self) -> [u8; 8] {
        self.lun
    }

    /// Addresses further commands to another logical unit of the same target, and takes its pending
    /// unit attentions.
    pub(crate) fn turn_to(&mut self, url: &str) -> Result<()> {
        self.lun = url.parse::<Url>()?.lun_bytes();
        self.clear_unit_attentions()
    }

    /// Takes the pending unit attentions of the logical unit for this session.
    pub(crate) fn clear_unit_attentions(&mut self) -> Result<()> {
        for _ in 0..8 {
            if self.execute(&command::test_unit_ready())?.status == 0 {
                return Ok(());
            }
        }
        bail!("the logical unit does not become ready")
    }

    /// Bytes of TCP payload sent and received since the login began.
    pub(crate) fn wire_bytes(&self) -> (u64, u64) {
        (self.sent_bytes, self.received_bytes)
    }

    /// NAA designator of the logical unit.
    pub(crate) fn designator(&mut self) -> Result<[u8; 16]> {
        let completion = self.execute(&command::inquiry_page(0x83))?;
        completion.good().context("INQUIRY of page 83h")?;
        initiator::naa_designator(&completion.data).context("VPD page 83h has no NAA designator")
    }

    /// Number of further commands that the target accepts now (MaxCmdSN).
    pub(crate) fn window(&self) -> u32 {
        self.machine.max_cmd_sn().wrapping_add(1).wrapping_sub(self.machine.cmd_sn()).min(i32::MAX as u32)
    }

    /// Number of commands in flight.
    pub(crate) fn outstanding(&self) -> usize {
        self.machine.outstanding()
    }

    /// Queues a command, which `flush` sends. Returns the tag of its completion.
    pub(crate) fn submit(&mut self, command: &Command) -> Result<u32> {
        ensure!(self.window() > 0, "the target takes no more commands");
        Ok(self.machine.command(Request {
            lun: self.lun,
            cdb: command.cdb,
            attribute: TaskAttribute::SIMPLE,
            immediate: false,
            transfer: command.transfer.clone(),
        }))
    }

    /// Sends all queued output.
    pub(crate) fn flush(&mut self) -> Result<()> {
        loop {
            self.output.extend(std::iter::from_fn(|| self.machine.poll_output()).take(OUTPUT_CHUNKS));
            if self.output.is_empty() {
                return Ok(());
            }
            let mut slices = [IoSlice::new(&[]); OUTPUT_CHUNKS];
            for (slice, chunk) in slices.iter_mut().zip(&self.output) {
                *slice = IoSlice::new(chunk);
                self.sent_bytes += chunk.len() as u64;
            }
            let mut left = slices.get_mut(..self.output.len()).unwrap_or_default();
            while !left.is_empty() {
                let sent = self.stream.write_vectored(left).context("cannot send")?;
                ensure!(sent > 0, "cannot send");
                IoSlice::advance_slices(&mut left, sent);
            }
            self.output.clear();
        }
    }

    /// Waits until at least one command has completed, and passes every completion that has arrived
    /// to `each`.
    pub(crate) fn complete(&mut self, mut each: impl FnMut(Completion) -> Result<()>) -> Result<()> {
        let mut found = false;
        loop {
            while let Some(event) = self.machine.poll_event() {
                match event {
                    Event::Completed(completion) => {
                        let code = completion.response;
                        ensure!(code == 0, "the target failed to run a command: response {code:02x}h");
                        found = true;
                        each(Completion {
                            tag: completion.initiator_task_tag,
                            status: completion.status,
                            data: completion.data_in,
                            sense: completion.sense,
                        })?;
                    }
                    Event::ProtocolError(what) => bail!("the target broke the protocol: {what}"),
                    other => bail!("{other:?}"),
                }
            }
            // Data that the target requested, and its pings.
            self.flush()?;
            if found {
                return Ok(());
            }
            self.receive()?;
        }
    }

    /// Runs one command to its end; no other may be outstanding.
    pub(crate) fn execute(&mut self, command: &Command) -> Result<Completion> {
        ensure!(self.outstanding() == 0, "other commands are outstanding");
        self.submit(command)?;
        self.flush()?;
        let mut result = None;
        self.complete(|completion| {
            result = Some(completion);
            Ok(())
        })?;
        result.context("no completion")
    }

    /// Reads the bytes that the kernel has, and waits for the first one.
    fn receive(&mut self) -> Result<()> {
        match self.stream.read(&mut self.received).context("cannot receive")? {
            0 => bail!("the target closed the connection"),
            count => {
                self.received_bytes += count as u64;
                self.input.extend_from_slice(self.received.get(..count).unwrap_or_default());
                self.machine.handle_input(&mut self.input);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_failed_command_says_its_sense() {
        let sense = [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
        let completion = Completion { tag: 1, status: 2, data: Bytes::new(), sense: sense.to_vec().into() };
        assert_eq!(completion.good().unwrap_err().to_string(), "status 02h, sense 05/20/00");
    }
}
