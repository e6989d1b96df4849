//! Light client: one thread, plain PDUs, no state machine, so that the client does not limit what
//! is measured. A command costs it about a microsecond.
//!
//! The login is that of [`Session`](crate::session::Session); then this client takes over the connection. Each block
//! of 4 KiB that it writes states its offset, and each one that it reads has to state its own. It trusts its
//! target, the one under test on this machine; whatever it does not expect ends the benchmark with
//! an error.

use crate::data::BLOCK_BYTES;
use crate::latencies::Latencies;
use crate::load::Load;
use crate::session::FullFeature;
use anyhow::{Context, Result, bail, ensure};
use array_process::observe;
use initiator::cdb;
use iscsi::parameters::Parameters;
use iscsi::pdu::{
    self, BasicHeader, DataIn, DataOut, FINAL, HEADER_BYTES, NopIn, NopOut, Opcode, R2t, RESERVED_TAG, ScsiCommand,
    ScsiResponse, TaskAttribute, U24,
};
use random::Random;
use random::sector::{SECTOR_BYTES, Stamp};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Size of the receive buffer of a connection.
const RECEIVE_BYTES: usize = 2 << 20;
/// Most input taken at once, so that commands are replaced soon.
const READ_BYTES: usize = 256 << 10;
/// Events taken from the kernel at once.
const EVENTS: usize = 64;
/// Time after the end of a load in which its last commands have to complete.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a load does.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Commands of 100 that write.
    pub(crate) writes_percent: u32,
    /// Bytes of a command; a multiple of 4 KiB.
    pub(crate) length_bytes: u32,
    /// Outstanding commands of each session.
    pub(crate) depth: usize,
    /// One command after the other, instead of anywhere.
    pub(crate) sequential: bool,
    /// Bytes of the logical unit that it uses.
    pub(crate) span: Range<u64>,
    /// If set, only this number of blocks within the span is used, for commands of one block. They
    /// lie anywhere in it, and are the same in every load.
    pub(crate) places: Option<u64>,
    /// Whether blocks that were never written may be read.
    pub(crate) holes: bool,
}

/// Number of the block of 4 KiB, of a span, at which the place with this number lies.
pub(crate) fn place(span_bytes: u64, number: u64) -> u64 {
    Random::new(number).below(span_bytes / BLOCK_BYTES)
}

impl Shape {
    /// Number of places that commands address.
    fn place_count(&self) -> u64 {
        self.places.unwrap_or((self.span.end - self.span.start) / u64::from(self.length_bytes))
    }

    /// Offset of the place with this number, in bytes.
    fn offset_of(&self, number: u64) -> u64 {
        let span_bytes = self.span.end - self.span.start;
        let number = if self.places.is_some() { place(span_bytes, number) } else { number };
        self.span.start + number * u64::from(self.length_bytes)
    }
}

/// Command in flight.
#[derive(Clone, Copy)]
struct Slot {
    started: Instant,
    offset: u64,
    write: bool,
    lun: [u8; 8],
}

/// One session.
struct Connection {
    stream: TcpStream,
    /// Logical units, one of which each command addresses.
    luns: Vec<[u8; 8]>,
    parameters: Parameters,
    cmd_sn: u32,
    max_cmd_sn: u32,
    exp_stat_sn: u32,
    received: Box<[u8]>,
    /// Bytes of `received` that are not processed yet.
    filled: Range<usize>,
    output: Vec<u8>,
    /// Bytes of `output` that were sent.
    sent: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    awaits_room: bool,
}

/// Progress of all sessions.
struct Run<'a> {
    shape: &'a Shape,
    random: Random,
    /// Commands queued so far.
    next: u64,
    /// Content of a command's data, but for what states the offset.
    payload: Vec<u8>,
    latencies: Latencies,
    sent_bytes: u64,
    received_bytes: u64,
}

/// Loads a server through these sessions for `time`.
pub(crate) fn run(
    sessions: Vec<FullFeature>,
    server_pid: u32,
    shape: &Shape,
    time: Duration,
    seed: u64,
) -> Result<Load> {
    let sessions = sessions.into_iter().map(|session| {
        let luns = vec![session.lun];
        (session, luns)
    });
    run_on_units(sessions.collect(), server_pid, shape, time, seed)
}

/// Like [`run`]; each session addresses its commands to these logical units, chosen at random.
pub(crate) fn run_on_units(
    sessions: Vec<(FullFeature, Vec<[u8; 8]>)>,
    server_pid: u32,
    shape: &Shape,
    time: Duration,
    seed: u64,
) -> Result<Load> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut connections = Vec::new();
    for (number, (session, luns)) in (0..).zip(sessions) {
        let connection = Connection::new(session, luns, shape.depth)?;
        epoll::add(&poll, &connection.stream, EventData::new_u64(number), EventFlags::IN)?;
        connections.push(connection);
    }
    let mut run = Run {
        shape,
        random: Random::new(seed),
        next: 0,
        payload: random::sector::stamped(seed, 0, u64::from(shape.length_bytes), 0),
        latencies: Latencies::default(),
        sent_bytes: 0,
        received_bytes: 0,
    };
    let cpu_before = observe::processor_time(server_pid)?.total();
    let started = Instant::now();
    let end = started + time;
    for connection in &mut connections {
        run.issue(connection);
        run.send(connection)?;
    }
    run.serve(&poll, &mut connections, end)?;
    let elapsed = started.elapsed();
    let server_cpu = observe::processor_time(server_pid)?.total().saturating_sub(cpu_before);
    Ok(Load {
        operations: run.latencies.count(),
        elapsed,
        latencies: run.latencies,
        server_cpu,
        sent_bytes: run.sent_bytes,
        received_bytes: run.received_bytes,
    })
}

impl Connection {
    fn new(session: FullFeature, luns: Vec<[u8; 8]>, depth: usize) -> Result<Self> {
        let FullFeature { stream, lun, parameters, cmd_sn, max_cmd_sn, exp_stat_sn } = session;
        ensure!(!luns.is_empty(), "a session without a logical unit");
        stream.set_nonblocking(true)?;
        let idle = Slot { started: Instant::now(), offset: 0, write: false, lun };
        Ok(Self {
            stream,
            luns,
            parameters,
            cmd_sn,
            max_cmd_sn,
            exp_stat_sn,
            received: vec![0; RECEIVE_BYTES].into(),
            filled: 0..0,
            output: Vec::new(),
            sent: 0,
            slots: vec![idle; depth],
            free: (0..u32::try_from(depth)?).collect(),
            awaits_room: false,
        })
    }

    fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// True if the target takes another command (RFC 7143 §4.2.2.1).
    fn has_window(&self) -> bool {
        self.max_cmd_sn.wrapping_sub(self.cmd_sn).cast_signed() >= 0
    }

    /// Number of bytes of the next whole PDU, header included; `None` while it is incomplete.
    fn whole_pdu(&self) -> Result<Option<(pdu::RawHeader, usize)>> {
        let input = self.received.get(self.filled.clone()).unwrap_or_default();
        let Some(raw) = input.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = BasicHeader::from_wire(raw);
        ensure!(header.total_ahs_length == 0, "a PDU with an additional header segment");
        let length = HEADER_BYTES + (header.data_segment_length.get() as usize).next_multiple_of(4);
        ensure!(length <= RECEIVE_BYTES, "a PDU of {length} bytes");
        Ok((input.len() >= length).then_some((*raw, length)))
    }

    /// Notes the numbers of a PDU with a status.
    fn note(&mut self, stat_sn: u32, max_cmd_sn: u32) {
        self.exp_stat_sn = stat_sn.wrapping_add(1);
        self.max_cmd_sn = max_cmd_sn;
    }

    /// Makes room for further input behind what is left.
    fn make_room(&mut self) {
        if self.filled.is_empty() {
            self.filled = 0..0;
        } else if self.received.len() - self.filled.end < READ_BYTES {
            self.received.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
    }
}

impl Run<'_> {
    /// Serves all sessions until `end`, and until their last commands have completed.
    fn serve(&mut self, poll: &OwnedFd, connections: &mut [Connection], end: Instant) -> Result<()> {
        let mut events = [const { Event { flags: EventFlags::empty(), data: EventData::new_u64(0) } }; EVENTS];
        loop {
            let now = Instant::now();
            if now >= end && connections.iter().all(Connection::is_idle) {
                return Ok(());
            }
            ensure!(now < end + PATIENCE, "commands do not complete");
            let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let count = epoll::wait(poll, &mut events, Some(&wait))?;
            for event in events.iter().take(count) {
                let number = event.data.u64();
                let connection = connections.get_mut(number as usize).context("an event of no connection")?;
                self.receive(connection)?;
                if Instant::now() < end {
                    self.issue(connection);
                }
                self.send(connection)?;
                let interest = match connection.awaits_room {
                    true => EventFlags::IN | EventFlags::OUT,
                    false => EventFlags::IN,
                };
                let flags = event.flags;
                if connection.awaits_room || flags.contains(EventFlags::OUT) {
                    epoll::modify(poll, &connection.stream, EventData::new_u64(number), interest)?;
                }
            }
        }
    }

    /// Queues commands until the session has its depth.
    fn issue(&mut self, connection: &mut Connection) {
        let count = self.shape.place_count();
        while connection.has_window()
            && let Some(tag) = connection.free.pop()
        {
            let number = match self.shape.sequential {
                true => self.next % count,
                false => self.random.below(count),
            };
            self.next += 1;
            let offset = self.shape.offset_of(number);
            let write = self.random.below(100) < u64::from(self.shape.writes_percent);
            let lun = match connection.luns[..] {
                [only] => only,
                ref luns => luns[self.random.below(luns.len() as u64) as usize],
            };
            let slot = Slot { started: Instant::now(), offset, write, lun };
            connection.slots[tag as usize] = slot;
            self.queue_command(connection, tag, slot);
        }
    }

    fn queue_command(&mut self, connection: &mut Connection, tag: u32, slot: Slot) {
        let Slot { offset, write, lun, .. } = slot;
        let length = self.shape.length_bytes;
        let blocks = length / SECTOR_BYTES as u32;
        let direction = if write { pdu::WRITE } else { pdu::READ };
        let flags = FINAL | direction | TaskAttribute::SIMPLE.0;
        let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, flags, tag));
        header.lun = lun;
        header.expected_data_transfer_length = length.into();
        header.cmd_sn = connection.cmd_sn.into();
        header.exp_stat_sn = connection.exp_stat_sn.into();
        let lba = offset / SECTOR_BYTES as u64;
        header.cdb = if write { cdb::write16(lba, blocks, false) } else { cdb::read16(lba, blocks) };
        connection.cmd_sn = connection.cmd_sn.wrapping_add(1);
        let parameters = &connection.parameters;
        let immediate = match write && parameters.immediate_data {
            true => length.min(parameters.first_burst_length).min(parameters.target_max_recv_data_segment_length),
            false => 0,
        };
        header.data_segment_length = U24::new(immediate);
        connection.output.extend_from_slice(&header.to_wire());
        self.queue_data(connection, offset, 0..immediate as usize);
    }

    /// Queues a part of the data of a write at `offset`, which states its place.
    fn queue_data(&self, connection: &mut Connection, offset: u64, part: Range<usize>) {
        let start = connection.output.len();
        connection.output.extend_from_slice(self.payload.get(part.clone()).unwrap_or_default());
        // The first sector of each block is enough: its reader looks at no other.
        let first = part.start.next_multiple_of(BLOCK_BYTES as usize);
        for at in (first..part.end).step_by(BLOCK_BYTES as usize) {
            let words = start + at - part.start + 8..start + at - part.start + 16;
            if let Some(words) = connection.output.get_mut(words) {
                words.copy_from_slice(&(offset + at as u64).to_be_bytes());
            }
        }
    }

    fn send(&mut self, connection: &mut Connection) -> Result<()> {
        connection.awaits_room = false;
        while connection.sent < connection.output.len() {
            match connection.stream.write(&connection.output[connection.sent..]) {
                Ok(sent) => {
                    connection.sent += sent;
                    self.sent_bytes += sent as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    connection.awaits_room = true;
                    return Ok(());
                }
                Err(error) => return Err(error).context("cannot send"),
            }
        }
        connection.output.clear();
        connection.sent = 0;
        Ok(())
    }

    fn receive(&mut self, connection: &mut Connection) -> Result<()> {
        loop {
            connection.make_room();
            let end = (connection.filled.end + READ_BYTES).min(connection.received.len());
            let room = connection.filled.end..end;
            match connection.stream.read(&mut connection.received[room.clone()]) {
                Ok(0) => bail!("the target closed the connection"),
                Ok(read) => {
                    connection.filled.end += read;
                    self.received_bytes += read as u64;
                    self.process(connection)?;
                    if read < room.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("cannot receive"),
            }
        }
    }

    fn process(&mut self, connection: &mut Connection) -> Result<()> {
        while let Some((raw, length)) = connection.whole_pdu()? {
            let data = connection.filled.start + HEADER_BYTES..connection.filled.start + length;
            connection.filled.start += length;
            match BasicHeader::from_wire(&raw).opcode() {
                Opcode::DATA_IN => self.data_in(connection, &DataIn::from_wire(&raw), data)?,
                Opcode::SCSI_RESPONSE => {
                    let response = ScsiResponse::from_wire(&raw);
                    connection.note(response.stat_sn.get(), response.max_cmd_sn.get());
                    ensure!(response.response == 0, "response {:02x}h", response.response);
                    self.finish(connection, response.initiator_task_tag.get(), response.status)?;
                }
                Opcode::R2T => self.data_out(connection, &R2t::from_wire(&raw))?,
                Opcode::NOP_IN => Self::answer_ping(connection, &NopIn::from_wire(&raw)),
                opcode => bail!("a PDU with opcode {:02x}h", opcode.0),
            }
        }
        Ok(())
    }

    fn data_in(&mut self, connection: &mut Connection, header: &DataIn, data: Range<usize>) -> Result<()> {
        let tag = header.initiator_task_tag.get();
        let slot = *connection.slots.get(tag as usize).context("data of no command")?;
        let start = u64::from(header.buffer_offset.get());
        let data = connection.received.get(data).unwrap_or_default();
        let first = start.next_multiple_of(BLOCK_BYTES);
        for at in (first..start + u64::from(header.data_segment_length.get())).step_by(BLOCK_BYTES as usize) {
            let block = data.get((at - start) as usize..).unwrap_or_default();
            match Stamp::stated(block) {
                Some(stamp) => {
                    let (is, wanted) = (stamp.offset, slot.offset + at);
                    ensure!(is == wanted, "the block at {wanted} was read with the content of the one at {is}");
                }
                None if self.shape.holes => {}
                None => bail!("the block at {} was read with no content of this load", slot.offset + at),
            }
        }
        if header.flags & pdu::STATUS != 0 {
            connection.note(header.stat_sn.get(), header.max_cmd_sn.get());
            self.finish(connection, tag, header.status)?;
        }
        Ok(())
    }

    fn data_out(&mut self, connection: &mut Connection, request: &R2t) -> Result<()> {
        let tag = request.initiator_task_tag.get();
        let slot = *connection.slots.get(tag as usize).context("a request for data of no command")?;
        let mut at = request.buffer_offset.get() as usize;
        let end = at + request.desired_data_transfer_length.get() as usize;
        ensure!(slot.write && end <= self.payload.len(), "a request for data that the command does not have");
        let longest = connection.parameters.target_max_recv_data_segment_length as usize;
        for data_sn in 0_u32.. {
            let length = longest.min(end - at);
            let flags = if at + length == end { FINAL } else { 0 };
            let mut header = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, flags, tag));
            header.lun = request.lun;
            header.target_transfer_tag = request.target_transfer_tag;
            header.exp_stat_sn = connection.exp_stat_sn.into();
            header.data_sn = data_sn.into();
            header.buffer_offset = u32::try_from(at)?.into();
            header.data_segment_length = U24::new(u32::try_from(length)?);
            connection.output.extend_from_slice(&header.to_wire());
            self.queue_data(connection, slot.offset, at..at + length);
            at += length;
            if at == end {
                break;
            }
        }
        Ok(())
    }

    fn finish(&mut self, connection: &mut Connection, tag: u32, status: u8) -> Result<()> {
        let slot = connection.slots.get(tag as usize).context("a response to no command")?;
        ensure!(status == 0, "status {status:02x}h at offset {}", slot.offset);
        self.latencies.record(slot.started.elapsed());
        connection.free.push(tag);
        Ok(())
    }

    fn answer_ping(connection: &mut Connection, ping: &NopIn) {
        if ping.target_transfer_tag.get() == RESERVED_TAG {
            return;
        }
        let opcode = Opcode::NOP_OUT.0 | pdu::IMMEDIATE;
        let mut header = NopOut::from_wire(&pdu::blank(opcode, FINAL, RESERVED_TAG));
        header.lun = ping.lun;
        header.target_transfer_tag = ping.target_transfer_tag;
        header.cmd_sn = connection.cmd_sn.into();
        header.exp_stat_sn = connection.exp_stat_sn.into();
        connection.output.extend_from_slice(&header.to_wire());
    }
}
