//! A session over one connection (NFSv4.2, AUTH_SYS as user 0, no back channel).

use anyhow::{Context, Result, bail, ensure};
use bytes::BytesMut;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{
    ChannelAttributes, ClientOwner, CreateSessionArguments, ExchangeIdArguments, SequenceArguments, StateProtection,
};
use nfs::v4::{PROCEDURE_COMPOUND, SessionId, Status, VERSION};
use nfs_client::{Compound, Outcomes};
use onc_rpc::auth::{AuthSys, OpaqueAuth};
use onc_rpc::message::{AcceptStatus, Accepted, Call, Message, Reply, ReplyBody};
use onc_rpc::record::{Progress, Reassembly, Record};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use xdr::{Reader, Writer};

/// Minor version.
const MINOR: u32 = 2;
/// Longest request and reply: 1 MiB of data and what stands around it.
const MAX_MESSAGE_BYTES: u32 = (1 << 20) + (4 << 10);
/// Longest reply that the server keeps.
const MAX_KEPT_BYTES: u32 = 4 << 10;
/// Most input taken at once, so that calls are replaced soon.
const READ_BYTES: usize = 256 << 10;
/// Longest wait for the next byte from the server, and for what it wants later.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause before a call is repeated that the server wants later.
const PAUSE: Duration = Duration::from_millis(20);
/// Procedure of all calls.
const COMPOUND: (u32, u32, u32) = (nfs::PROGRAM, VERSION, PROCEDURE_COMPOUND);

/// Call in flight.
struct Pending {
    xid: u32,
    sequence: Operation,
    compound: Compound,
}

/// A slot of the session.
struct Slot {
    /// Sequence id of the next call.
    sequence: u32,
    pending: Option<Pending>,
}

/// A session, ready for calls.
pub(crate) struct Session {
    wire: Wire,
    client: u64,
    id: SessionId,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

/// Connection with its bytes in both directions.
struct Wire {
    stream: TcpStream,
    credential: OpaqueAuth,
    next_xid: u32,
    output: Vec<u8>,
    /// Bytes of `output` that were sent.
    sent: usize,
    received: Box<[u8]>,
    input: BytesMut,
    reassembly: Reassembly,
    sent_bytes: u64,
    received_bytes: u64,
}

impl Wire {
    fn connect(server: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(server).with_context(|| format!("cannot connect to {server}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let credential = OpaqueAuth::sys(&AuthSys {
            stamp: 0,
            machine_name: "windlass-bench".into(),
            uid: 0,
            gid: 0,
            gids: Vec::new().into(),
        });
        Ok(Self {
            stream,
            credential,
            next_xid: std::process::id() << 16,
            output: Vec::new(),
            sent: 0,
            received: vec![0; READ_BYTES].into(),
            input: BytesMut::new(),
            reassembly: Reassembly::new(MAX_MESSAGE_BYTES as usize + 1024),
            sent_bytes: 0,
            received_bytes: 0,
        })
    }

    /// Queues a call. Returns its transaction id.
    fn queue(&mut self, compound: &Compound, first: Option<&Operation>) -> Result<u32> {
        let xid = self.next_xid;
        self.next_xid = xid.wrapping_add(1);
        let mut writer = Writer::with_capacity(512);
        let record = Record::start(&mut writer);
        let (program, version, procedure) = COMPOUND;
        let credential = self.credential.clone();
        Call { xid, program, version, procedure, credential, verifier: OpaqueAuth::none() }.encode(&mut writer);
        compound.encode(&mut writer, MINOR, first);
        record.finish(&mut writer)?;
        writer.into_chunks().iter().for_each(|chunk| self.output.extend_from_slice(chunk));
        Ok(xid)
    }

    /// Sends as much as the socket takes; true if something is left.
    fn flush(&mut self) -> Result<bool> {
        while let Some(rest @ [_, ..]) = self.output.get(self.sent..) {
            match self.stream.write(rest) {
                Ok(sent) => {
                    self.sent += sent;
                    self.sent_bytes += sent as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error).context("cannot send"),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(false)
    }

    /// Takes what the socket has, at most [`READ_BYTES`].
    fn receive(&mut self) -> Result<()> {
        match self.stream.read(&mut self.received) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(read) => {
                self.received_bytes += read as u64;
                self.input.extend_from_slice(self.received.get(..read).unwrap_or_default());
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error).context("cannot receive"),
        }
    }

    /// Next whole reply: transaction id and results.
    fn next_reply(&mut self) -> Result<Option<(u32, Reader)>> {
        let Progress::Record(record) = self.reassembly.take(&mut self.input)? else { return Ok(None) };
        let mut reader = Reader::strict(record);
        match Message::decode(&mut reader) {
            Ok(Message::Reply(Reply {
                xid,
                body: ReplyBody::Accepted(Accepted { status: AcceptStatus::Success, .. }),
            })) => Ok(Some((xid, Reader::strict(reader.rest())))),
            Ok(other) => bail!("the server did not execute a call: {other:?}"),
            Err(error) => bail!("a record that is no message: {error}"),
        }
    }

    /// Waits until bytes can be taken, and for room for those that wait to be sent.
    fn wait(&self) -> Result<()> {
        let flags = if self.output.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        let limit = Timespec { tv_sec: i64::try_from(PATIENCE.as_secs())?, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&self.stream, flags)], Some(&limit))?;
        ensure!(ready > 0, "the server does not answer");
        Ok(())
    }

    /// Next reply, when it is there.
    fn reply(&mut self) -> Result<(u32, Reader)> {
        loop {
            self.flush()?;
            if let Some(reply) = self.next_reply()? {
                return Ok(reply);
            }
            self.wait()?;
            self.receive()?;
        }
    }

    /// Calls one operation outside of a session.
    fn call_alone(&mut self, operation: Operation) -> Result<Outcome> {
        let compound = Compound::changing([operation]);
        let xid = self.queue(&compound, None)?;
        let (answered, reader) = self.reply()?;
        ensure!(answered == xid, "a reply to no call");
        Ok(Outcomes::decode(reader, compound.operations().iter())?.next_success()?)
    }
}

fn channel(slots: u32, message_bytes: u32) -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: message_bytes,
        max_response_bytes: message_bytes,
        max_cached_response_bytes: MAX_KEPT_BYTES,
        max_operations: 16,
        max_requests: slots,
        rdma_reads: None,
    }
}

impl Session {
    /// Begins a session of a client of its own with `slots` slots, as far as the server grants them.
    pub(crate) fn connect(server: SocketAddr, slots: u32) -> Result<Self> {
        let mut wire = Wire::connect(server)?;
        // Sessions of this kit differ by their ports.
        let owner = format!("windlass-bench {} {}", std::process::id(), wire.stream.local_addr()?.port());
        let verifier = u64::from(std::process::id()).to_be_bytes();
        let owner = ClientOwner { verifier, owner: owner.as_str().into() };
        let exchange = ExchangeIdArguments { owner, flags: 0, protection: StateProtection::None, implementation: None };
        let Outcome::ExchangeId(Ok(exchanged)) = wire.call_alone(Operation::ExchangeId(Box::new(exchange)))? else {
            bail!("no results of EXCHANGE_ID");
        };
        let create = CreateSessionArguments {
            client: exchanged.client,
            sequence: exchanged.sequence,
            flags: 0,
            fore_channel: channel(slots, MAX_MESSAGE_BYTES),
            back_channel: channel(1, MAX_KEPT_BYTES),
            callback_program: 0x4000_0000,
            callback_security: vec![nfs::v4::session::CallbackSecurity::None].into(),
        };
        let Outcome::CreateSession(Ok(created)) = wire.call_alone(Operation::CreateSession(Box::new(create)))? else {
            bail!("no results of CREATE_SESSION");
        };
        let granted = created.fore_channel.max_requests.min(slots);
        ensure!(granted > 0, "the server grants no slot");
        let slots = (0..granted).map(|_| Slot { sequence: 1, pending: None }).collect();
        let client = exchanged.client;
        let mut session = Self { wire, client, id: created.session, slots, free: (0..granted).rev().collect() };
        session.call(&Compound::changing([Operation::ReclaimComplete(false)]))?.finish()?;
        Ok(session)
    }

    /// Ends the session and the client, which has nothing open.
    pub(crate) fn end(mut self) -> Result<()> {
        self.wire.call_alone(Operation::DestroySession(self.id))?;
        self.wire.call_alone(Operation::DestroyClientId(self.client))?;
        Ok(())
    }

    /// Socket, for waiting.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.wire.stream
    }

    /// Bytes of TCP payload sent and received.
    pub(crate) fn wire_bytes(&self) -> (u64, u64) {
        (self.wire.sent_bytes, self.wire.received_bytes)
    }

    /// Number of calls in flight.
    pub(crate) fn outstanding(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether another call can be sent.
    pub(crate) fn has_slot(&self) -> bool {
        !self.free.is_empty()
    }

    /// Queues a call, which `flush` sends. Returns its slot.
    pub(crate) fn submit(&mut self, compound: Compound) -> Result<u32> {
        let slot = self.free.pop().context("all slots are in use")?;
        let highest_slot = u32::try_from(self.slots.len() - 1)?;
        let state = self.slots.get_mut(slot as usize).context("no such slot")?;
        let sequence = Operation::Sequence(SequenceArguments {
            session: self.id,
            sequence: state.sequence,
            slot,
            highest_slot,
            cache_this: compound.keeps_reply(),
        });
        let xid = self.wire.queue(&compound, Some(&sequence))?;
        state.pending = Some(Pending { xid, sequence, compound });
        Ok(slot)
    }

    /// Sends what is queued as far as the socket takes it; true if something is left.
    pub(crate) fn flush(&mut self) -> Result<bool> {
        self.wire.flush()
    }

    /// Takes bytes that have arrived.
    pub(crate) fn receive(&mut self) -> Result<()> {
        self.wire.receive()
    }

    /// Next call that was answered: its slot, and its results without those of SEQUENCE.
    pub(crate) fn next_answer(&mut self) -> Result<Option<(u32, Outcomes)>> {
        self.wire.next_reply()?.map(|(xid, reader)| self.answered(xid, reader)).transpose()
    }

    fn answered(&mut self, xid: u32, reader: Reader) -> Result<(u32, Outcomes)> {
        let is_it = |slot: &Slot| slot.pending.as_ref().is_some_and(|pending| pending.xid == xid);
        let number = self.slots.iter().position(is_it).context("a reply to no call")?;
        let slot = u32::try_from(number)?;
        let state = self.slots.get_mut(number).context("no such slot")?;
        let pending = state.pending.take().context("a reply to no call")?;
        let operations = std::iter::once(&pending.sequence).chain(pending.compound.operations());
        let mut outcomes = Outcomes::decode(reader, operations)?;
        let Outcome::Sequence(Ok(results)) = outcomes.next_success()? else { bail!("no results of SEQUENCE") };
        ensure!((results.slot, results.sequence) == (slot, state.sequence), "a reply of another slot");
        state.sequence = state.sequence.wrapping_add(1);
        self.free.push(slot);
        Ok((slot, outcomes))
    }

    /// Calls a compound and waits for its results; no other call is in flight. What the server wants
    /// later is repeated.
    pub(crate) fn call(&mut self, compound: &Compound) -> Result<Outcomes> {
        ensure!(self.outstanding() == 0, "other calls are in flight");
        let started = Instant::now();
        loop {
            self.submit(compound.clone())?;
            let (xid, reader) = self.wire.reply()?;
            let (_, outcomes) = self.answered(xid, reader)?;
            match outcomes.status() {
                Err(Status::DELAY | Status::GRACE) if started.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                _ => return Ok(outcomes),
            }
        }
    }
}
