//! Full feature phase of a target with logical units in memory: SCSI commands with all ways of
//! moving data, task management, text, pings, logout, in any order and with any numbers. Required:
//! bounded memory, well-formed and correctly numbered output, responses only to requests, and no
//! access to a volume that was not granted.

use super::wire::{self, Stream};
use crate::array::{Array, BLOCKS, INITIATOR, TARGET, poll, set_condition};
use crate::input::{Reader, Writer};
use block::memory::MemoryDevice;
use bytes::BytesMut;
use iscsi::connection::{
    Admission, Authentication, Command, Config, Connection, Directory, Event, Refusal, Response, TargetRecord,
    TaskHandle, TaskManagement,
};
use iscsi::framing::Digests;
use iscsi::pdu::{self, Opcode, RESERVED_TAG, TaskManagementFunction, TaskManagementResponse};
use iscsi::text;
use scsi_target::{NexusId, Request, ScsiTarget, TaskAttribute};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};
use unit::AbortFlag;

/// Limit of Data-Out and of Data-In of a connection.
const DATA_BYTES: usize = 256 << 10;
/// Limit of output, including one response above the connection's limit.
const OUTPUT_BYTES: usize = 2 << 20;
const STEPS: usize = 300;

/// Array side of the connection.
struct Shelf {
    target: Rc<ScsiTarget<MemoryDevice>>,
    nexus: Cell<Option<NexusId>>,
}

impl Directory for Shelf {
    fn targets(&self, _: &str) -> Vec<TargetRecord> {
        (0..40)
            .map(|number| TargetRecord {
                name: if number == 0 { TARGET.into() } else { format!("{TARGET}-{number}") },
                addresses: vec!["192.0.2.1:3260,1".into(), "[2001:db8::1]:3260,2".into()],
            })
            .collect()
    }

    fn admit(&self, _: &str, _: Option<&str>) -> Result<Admission, Refusal> {
        let authentication = Authentication::None;
        Ok(Admission { authentication, target_portal_group_tag: 1, target_alias: None })
    }

    fn data_out_bytes(&self, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32 {
        self.nexus.get().map_or(0, |nexus| self.target.data_out_bytes(nexus, lun, cdb, expected))
    }
}

type Execution = Pin<Box<dyn Future<Output = scsi_target::Response>>>;

struct Rig {
    array: Array,
    shelf: Shelf,
    now: Instant,
    connection: Connection,
    buffer: BytesMut,
    stream: Stream,
    digests: Digests,
    running: Vec<(TaskHandle, Execution)>,
    functions: Vec<TaskManagement>,
    logging_out: bool,
    cmd_sn: u32,
    exp_cmd_sn: u32,
    max_cmd_sn: u32,
    stat_sn: Option<u32>,
    /// Target Transfer Tag, Initiator Task Tag, offset and length of the last R2T.
    r2t: [u32; 4],
    /// Target Transfer Tag of the last NOP-In or Text Response.
    tag: u32,
    /// Set after bytes that are not a PDU: how the connection has interpreted later bytes is then
    /// unknown.
    out_of_step: bool,
    /// Initiator Task Tags that were sent; a response with another tag is a failure.
    asked: std::collections::BTreeSet<u32>,
}

impl Rig {
    fn new(reader: &mut Reader<'_>) -> Option<Self> {
        let flags = reader.u8();
        let array = Array::new();
        let shelf = Shelf { target: Rc::clone(&array.target), nexus: Cell::new(None) };
        let config = Config {
            max_data_out_bytes: DATA_BYTES,
            max_data_in_bytes: DATA_BYTES,
            max_output_bytes: 64 << 10,
            max_transfer_bytes: 64 << 10,
            max_tasks: 32,
            command_window: 16,
            max_immediate_tasks: 4,
            ..Config::default()
        };
        let now = Instant::now();
        let mut rig = Self {
            array,
            shelf,
            now,
            connection: Connection::new(now, config, [5; 32]),
            buffer: BytesMut::new(),
            stream: Stream::default(),
            digests: Digests::default(),
            running: Vec::new(),
            functions: Vec::new(),
            logging_out: false,
            cmd_sn: 1,
            exp_cmd_sn: 1,
            max_cmd_sn: 1,
            stat_sn: None,
            r2t: [0; 4],
            tag: RESERVED_TAG,
            out_of_step: false,
            asked: [0xFFFF_FFFE].into(),
        };
        rig.log_in(flags).then_some(rig)
    }

    fn log_in(&mut self, flags: u8) -> bool {
        let mut keys = Vec::new();
        text::push(&mut keys, "InitiatorName", if flags & 16 == 0 { INITIATOR } else { "iqn.1998-01.com.vmware:x" });
        if flags & 0x81 == 0x81 {
            text::push(&mut keys, "SessionType", "Discovery");
        } else {
            text::push(&mut keys, "TargetName", TARGET);
        }
        let digest = |on| if on { "CRC32C" } else { "None" };
        let digests = Digests { header: flags & 2 != 0, data: flags & 4 != 0 };
        text::push(&mut keys, "HeaderDigest", digest(digests.header));
        text::push(&mut keys, "DataDigest", digest(digests.data));
        text::push(&mut keys, "InitialR2T", text::boolean_word(flags & 8 != 0));
        text::push(&mut keys, "ImmediateData", text::boolean_word(flags & 32 == 0));
        text::push(&mut keys, "MaxRecvDataSegmentLength", if flags & 64 == 0 { "8192" } else { "512" });
        text::push(&mut keys, "FirstBurstLength", "4096");
        text::push(&mut keys, "MaxBurstLength", "8192");
        text::push(&mut keys, "MaxOutstandingR2T", "2");
        let mut header = pdu::blank(Opcode::LOGIN_REQUEST.0 | pdu::IMMEDIATE, 0x87, 0xFFFF_FFFE);
        header[13] = 1;
        header[24..28].copy_from_slice(&self.cmd_sn.to_be_bytes());
        self.send(&wire::pdu(header, &[], &keys, Digests::default()));
        self.hear();
        self.digests = digests;
        self.connection.is_full_feature()
    }

    fn send(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        self.receive();
    }

    /// Lets the connection take input, and executes its events.
    fn receive(&mut self) {
        self.connection.handle_input(self.now, &mut self.buffer, &self.shelf);
        assert!(self.connection.output_bytes() <= OUTPUT_BYTES, "the answers pile up");
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::SessionOpening(identity) => {
                    let port = format!("{},i,0x00023d000001", identity.initiator_name);
                    let nexus = self.array.target.attach_nexus(&port, &identity.initiator_name, 1);
                    self.shelf.nexus.set(Some(nexus));
                    assert!(self.connection.accept_session(7));
                }
                Event::Command(command) => self.execute(command),
                Event::TaskManagement(function) => self.functions.push(function),
                Event::Logout => self.logging_out = true,
                Event::Closed(_) => {
                    self.running.clear();
                    self.functions.clear();
                    self.logging_out = false;
                }
            }
        }
        assert!(self.running.len() <= 40, "more tasks than allowed");
        assert!(self.functions.len() <= 32, "more task management functions than allowed");
    }

    fn execute(&mut self, command: Command) {
        let Some(nexus) = self.shelf.nexus.get() else { panic!("a command without a session") };
        assert!(command.data_out.len() <= DATA_BYTES);
        let expected_data_out = if command.write { command.expected_data_transfer_length } else { 0 };
        assert!(command.data_out.len() as u64 <= u64::from(expected_data_out));
        let request = Request {
            cdb: command.cdb,
            data_out: command.data_out,
            expected_data_in: command.expected_data_in,
            expected_data_out,
            abort: AbortFlag::default(),
            attribute: match command.attribute {
                iscsi::pdu::TaskAttribute::ORDERED => TaskAttribute::Ordered,
                iscsi::pdu::TaskAttribute::HEAD_OF_QUEUE => TaskAttribute::HeadOfQueue,
                iscsi::pdu::TaskAttribute::ACA => TaskAttribute::Invalid,
                _ => TaskAttribute::Simple,
            },
        };
        let target = Rc::clone(&self.array.target);
        let lun = command.lun;
        let future = async move { target.execute(nexus, lun, request).await };
        self.running.push((command.task, Box::pin(future)));
    }

    /// Finishes up to `most` commands that can finish; then the connection continues.
    fn finish(&mut self, most: usize) {
        self.settle(most);
        self.receive();
    }

    /// Aborted commands are answered too: the connection has to drop these responses.
    fn settle(&mut self, most: usize) {
        let mut index = 0;
        let mut finished = 0;
        while index < self.running.len() && finished < most {
            let (task, execution) = &mut self.running[index];
            match poll(execution) {
                Some(response) => {
                    let response = Response {
                        status: response.status,
                        sense: &response.sense,
                        data_in: response.data_in.clone(),
                        transfer_bytes: response.transfer_bytes,
                    };
                    self.connection.respond(*task, response);
                    drop(self.running.swap_remove(index));
                    finished += 1;
                }
                None => index += 1,
            }
        }
    }

    /// Answers the functions whose tasks are done.
    fn manage(&mut self) {
        for volume in &self.array.volumes {
            set_condition(volume, 0);
        }
        let functions = std::mem::take(&mut self.functions);
        // Commands may wait for each other.
        for _ in 0..=self.running.len() {
            self.settle(usize::MAX);
        }
        for function in functions {
            let Some(nexus) = self.shelf.nexus.get() else { continue };
            assert!(
                !self.running.iter().any(|(task, _)| function.tasks.contains(task)),
                "a command that was aborted does not end"
            );
            let target = &self.array.target;
            let done = match function.function {
                TaskManagementFunction::ABORT_TASK_SET => target.abort_task_set(nexus, function.lun).is_ok(),
                TaskManagementFunction::CLEAR_TASK_SET => target.clear_task_set(nexus, function.lun, &[nexus]).is_ok(),
                TaskManagementFunction::LOGICAL_UNIT_RESET => target.logical_unit_reset(nexus, function.lun).is_ok(),
                TaskManagementFunction::TARGET_WARM_RESET | TaskManagementFunction::TARGET_COLD_RESET => {
                    target.target_reset(nexus);
                    true
                }
                _ => true,
            };
            let response =
                if done { TaskManagementResponse::COMPLETE } else { TaskManagementResponse::LUN_DOES_NOT_EXIST };
            self.connection.respond_task_management(function.handle, response);
        }
        self.receive();
    }

    fn hear(&mut self) {
        while let Some(chunk) = self.connection.poll_output() {
            self.stream.push(&chunk);
        }
        while let Some(answer) = self.stream.next(self.digests) {
            let opcode = wire::opcode(&answer);
            assert!(wire::is_target_opcode(opcode), "{opcode:?} is not for a target to send");
            let header = &answer.header;
            let (task_tag, transfer_tag) = (wire::field(header, 16), wire::field(header, 20));
            self.exp_cmd_sn = wire::field(header, 28);
            self.max_cmd_sn = wire::field(header, 32);
            assert!(self.max_cmd_sn.wrapping_sub(self.exp_cmd_sn).wrapping_add(1) <= 16, "the command window");
            let data_in_without_status = opcode == Opcode::DATA_IN && header[1] & pdu::STATUS == 0;
            let ping = opcode == Opcode::NOP_IN && task_tag == RESERVED_TAG;
            if !(data_in_without_status || ping || opcode == Opcode::R2T) {
                let stat_sn = wire::field(header, 24);
                if let Some(last) = self.stat_sn {
                    assert_eq!(stat_sn, last.wrapping_add(1), "StatSN of {opcode:?}");
                }
                self.stat_sn = Some(stat_sn);
            }
            assert!(
                self.out_of_step || task_tag == RESERVED_TAG || self.asked.contains(&task_tag),
                "{opcode:?} for a tag that was never sent: {task_tag:08x}"
            );
            match opcode {
                Opcode::R2T => {
                    self.r2t = [transfer_tag, task_tag, wire::field(header, 40), wire::field(header, 44)];
                    assert!((1..=8192).contains(&self.r2t[3]), "R2T for {} bytes", self.r2t[3]);
                }
                Opcode::NOP_IN | Opcode::TEXT_RESPONSE => self.tag = transfer_tag,
                _ => {}
            }
        }
    }

    fn cmd_sn(&mut self, how: u8) -> u32 {
        match how {
            0..=199 => {
                let cmd_sn = self.cmd_sn;
                self.cmd_sn = cmd_sn.wrapping_add(1);
                cmd_sn
            }
            200..=215 => self.cmd_sn,
            216..=235 => self.exp_cmd_sn.wrapping_add(u32::from(how - 216)),
            236..=245 => self.max_cmd_sn.wrapping_add(u32::from(how - 236)),
            _ => self.exp_cmd_sn.wrapping_sub(u32::from(how - 245)),
        }
    }

    fn pdu(&mut self, header: [u8; 48], additional: &[u8], data: &[u8]) {
        self.asked.insert(wire::field(&header, 16));
        self.send(&wire::pdu(header, additional, data, self.digests));
    }

    fn command(&mut self, reader: &mut Reader<'_>) {
        let immediate = reader.u8();
        let flags = match reader.u8() {
            flags @ 0..=7 => [0x80, 0xC1, 0xA1, 0x21, 0xA0, 0xE1, 0xC3, 0xA2][usize::from(flags)],
            other => other,
        };
        let opcode = Opcode::SCSI_COMMAND.0 | if immediate & 0x80 != 0 { pdu::IMMEDIATE } else { 0 };
        let mut header = pdu::blank(opcode, flags, u32::from(reader.u8() % 48));
        header[9] = match reader.u8() {
            lun @ 0..=3 => lun,
            _ => reader.u8() % 3,
        };
        let expected = match reader.u8() {
            blocks @ 0..=127 => u32::from(blocks) * 512,
            128..=250 => u32::from(reader.u16()),
            _ => reader.u32(),
        };
        header[20..24].copy_from_slice(&expected.to_be_bytes());
        let cmd_sn = self.cmd_sn(reader.u8());
        header[24..28].copy_from_slice(&cmd_sn.to_be_bytes());
        let cdb = reader.short();
        let length = cdb.len().min(16);
        header[32..32 + length].copy_from_slice(&cdb[..length]);
        let additional = if immediate & 0x40 != 0 { reader.short() } else { &[] };
        let data = filled(reader);
        self.pdu(header, additional, &data);
    }

    fn data_out(&mut self, reader: &mut Reader<'_>) {
        let how = reader.u8();
        let [transfer_tag, task_tag, offset, length] = self.r2t;
        let solicited = how & 1 == 0;
        let task_tag = if solicited && how & 2 == 0 { task_tag } else { u32::from(reader.u8() % 48) };
        let transfer_tag = if solicited { transfer_tag.wrapping_add(u32::from(how >> 6)) } else { RESERVED_TAG };
        let mut data = filled(reader);
        let mut offset = if solicited { offset } else { u32::from(reader.u16()) * 4 };
        if how & 4 != 0 {
            data.resize(length.min(8192) as usize, 0x5A);
        } else if how & 8 != 0 {
            offset = offset.wrapping_add(u32::from(reader.u16()));
        }
        let data_sn = if how & 16 != 0 { u32::from(reader.u8()) } else { 0 };
        let flags = if how & 32 == 0 { pdu::FINAL } else { 0 };
        let mut header = pdu::blank(Opcode::DATA_OUT.0, flags, task_tag);
        header[20..24].copy_from_slice(&transfer_tag.to_be_bytes());
        header[36..40].copy_from_slice(&data_sn.to_be_bytes());
        header[40..44].copy_from_slice(&offset.to_be_bytes());
        self.pdu(header, &[], &data);
    }

    fn other(&mut self, reader: &mut Reader<'_>, opcode: Opcode) {
        let flags = reader.u8();
        let immediate = reader.u8();
        let tag = u32::from(reader.u8() % 48);
        let opcode = opcode.0 | if immediate & 1 == 0 { pdu::IMMEDIATE } else { 0 };
        let mut header = pdu::blank(opcode, flags, if immediate & 2 == 0 { tag } else { RESERVED_TAG });
        let cmd_sn = self.cmd_sn(if immediate & 1 == 0 { 200 } else { reader.u8() });
        header[24..28].copy_from_slice(&cmd_sn.to_be_bytes());
        let transfer_tag = if immediate & 4 == 0 { RESERVED_TAG } else { self.tag };
        let [_, referenced, _, _] = self.r2t;
        let word = match opcode & 0x3F {
            0x02 if immediate & 8 == 0 => u32::from(reader.u8() % 48),
            0x02 => referenced,
            0x06 => 0,
            _ => transfer_tag,
        };
        header[20..24].copy_from_slice(&word.to_be_bytes());
        if opcode & 0x3F == 0x02 {
            header[32..36].copy_from_slice(&self.cmd_sn.wrapping_add(u32::from(reader.u8())).to_be_bytes());
            header[9] = reader.u8() % 3;
        }
        let data = reader.short();
        self.pdu(header, &[], data);
    }

    fn step(&mut self, reader: &mut Reader<'_>) {
        match reader.u8() {
            0..=79 => self.command(reader),
            80..=119 => self.data_out(reader),
            120..=131 => self.other(reader, Opcode::TASK_MANAGEMENT_REQUEST),
            132..=141 => self.other(reader, Opcode::NOP_OUT),
            142..=151 => self.other(reader, Opcode::TEXT_REQUEST),
            152..=155 => self.other(reader, Opcode::LOGOUT_REQUEST),
            156..=165 => {
                let header: [u8; 48] = reader.bytes();
                let data = reader.short();
                self.pdu(header, &[], data);
            }
            166..=170 => {
                self.out_of_step = true;
                let bytes = reader.short();
                self.send(bytes);
            }
            171..=190 => {
                let most = usize::from(reader.u8() % 8);
                self.finish(most + 1);
            }
            191..=205 => self.manage(),
            206..=225 => self.hear(),
            226..=235 => {
                self.now += Duration::from_secs(u64::from(reader.u8() % 70));
                self.connection.handle_timeout(self.now);
                self.receive();
            }
            236..=245 => {
                let which = usize::from(reader.u8() % 2);
                set_condition(&self.array.volumes[which], reader.u8());
            }
            246..=248 => {
                let which = usize::from(reader.u8() % 2);
                self.array.volumes[which].resize(BLOCKS / 2 * u64::from(1 + reader.u8() % 4));
                self.array.target.resized(block::VolumeId(10 + which as u64));
            }
            249 => {
                self.connection.request_logout(self.now, u16::from(reader.u8()));
                self.receive();
            }
            250..=252 => {
                if let Some((task, _)) = self.running.pop() {
                    self.connection.discard(task);
                    self.receive();
                }
            }
            _ => {
                if self.logging_out {
                    self.logging_out = false;
                    self.connection.finish_logout();
                    self.receive();
                }
            }
        }
    }
}

/// Data of a chosen length with one byte value; or raw bytes.
fn filled(reader: &mut Reader<'_>) -> Vec<u8> {
    match reader.u8() {
        0 => Vec::new(),
        blocks @ 1..=20 => vec![reader.u8(); usize::from(blocks) * 512],
        21..=60 => vec![reader.u8(); usize::from(reader.u16()) % 9000],
        _ => reader.short().to_vec(),
    }
}

/// Input: a byte that selects the negotiation, then steps.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let Some(mut rig) = Rig::new(&mut reader) else { panic!("an ordinary login fails") };
    for _ in 0..STEPS {
        if reader.is_empty() || rig.connection.is_closed() {
            break;
        }
        rig.step(&mut reader);
        rig.array.assert_secret_untouched();
        assert!(rig.buffer.capacity() <= 2 << 20, "too much room was made");
    }
    // Finally all requests are answered, and no state is left over.
    rig.manage();
    for _ in 0..200 {
        rig.hear();
        rig.finish(usize::MAX);
        rig.manage();
    }
    rig.hear();
    assert!(rig.running.is_empty(), "commands that never end");
    assert_eq!(rig.connection.output_bytes(), 0);
}

/// Encodes a command as one step; `data` in blocks of 512 bytes.
fn command(flags: u8, tag: u8, blocks: u8, cdb: &[u8], data: u8) -> Writer {
    let head = Writer::default().u8(0).u8(0).u8(flags).u8(tag).u8(0).u8(blocks).u8(0).short(cdb);
    if data == 0 { head.u8(0) } else { head.u8(data).u8(0xA5) }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    const READ: u8 = 1;
    const WRITE: u8 = 2;
    const WRITE_MORE: u8 = 3;
    let read10 = |blocks: u8| [0x28, 0, 0, 0, 0, 8, 0, 0, blocks, 0];
    let write10 = |blocks: u8| [0x2A, 0, 0, 0, 0, 8, 0, 0, blocks, 0];
    let settle = |writer: Writer| {
        let mut writer = writer;
        for tag in 0..2 {
            writer = writer.raw(&command(0, tag, 0, &[0; 6], 0).0).u8(171).u8(7).u8(206);
        }
        writer
    };
    let begin = |flags: u8| settle(Writer::default().u8(flags));
    let finish = |writer: Writer| writer.u8(171).u8(7).u8(206);
    let all_data = |writer: Writer| writer.u8(80).u8(4).u8(0).u8(171).u8(7).u8(206);
    let mut seeds = vec![
        finish(begin(0).raw(&command(READ, 1, 16, &read10(16), 0).0)).0,
        finish(begin(0).raw(&command(WRITE, 1, 4, &write10(4), 4).0)).0,
        finish(begin(6).raw(&command(WRITE, 1, 4, &write10(4), 4).0)).0,
    ];
    // Solicited data; unsolicited data; both.
    let solicited = begin(8 + 32).raw(&command(WRITE, 1, 16, &write10(16), 0).0).u8(206);
    seeds.push(all_data(solicited).0);
    let unsolicited = begin(0).raw(&command(WRITE_MORE, 1, 8, &write10(8), 4).0);
    seeds.push(finish(unsolicited.u8(80).u8(1).u8(1).u8(4).u8(0xA5).u16(512)).0);
    let long = begin(6).raw(&command(WRITE_MORE, 1, 32, &write10(32), 4).0);
    let long = long.u8(80).u8(1).u8(1).u8(4).u8(0xA5).u16(512).u8(206);
    seeds.push(all_data(all_data(long)).0);
    // Task management with a command in flight, and with one whose data is incomplete.
    for function in [1, 2, 4, 5, 6, 8] {
        let held = begin(0).u8(236).u8(0).u8(4).raw(&command(WRITE, 3, 1, &write10(1), 1).0);
        let held = held.u8(120).u8(0x80 | function).u8(0).u8(9).u8(3).u8(0).u8(0).short(b"");
        seeds.push(finish(held.u8(191).u8(206)).0);
        let open = begin(8 + 32).raw(&command(WRITE, 3, 16, &write10(16), 0).0).u8(206);
        let open = open.u8(120).u8(0x80 | function).u8(0).u8(9).u8(3).u8(0).u8(0).short(b"");
        seeds.push(finish(open.u8(191).u8(206)).0);
    }
    // Commands out of order, ORDERED and HEAD OF QUEUE.
    let early = |how: u8, cdb: &[u8]| Writer::default().u8(0).u8(0).u8(0).u8(how).u8(0).u8(0).u8(how).short(cdb).u8(0);
    seeds.push(finish(begin(0).raw(&early(218, &[0; 6]).0).raw(&early(217, &[0; 6]).0).raw(&early(216, &[0; 6]).0)).0);
    seeds.push(finish(begin(0).raw(&command(7, 1, 1, &write10(1), 1).0).raw(&command(6, 2, 1, &read10(1), 0).0)).0);
    // Ping, SendTargets in pieces, logout.
    seeds.push(begin(0).u8(132).u8(0x80).u8(0).u8(5).short(b"ping").u8(206).0);
    let targets = begin(64).u8(142).u8(0x80).u8(1).u8(5).u8(0).short(b"SendTargets=\0").u8(206);
    seeds.push(targets.u8(142).u8(0x80).u8(5).u8(5).u8(0).short(b"").u8(206).0);
    let discovery = Writer::default().u8(0xC1).u8(142).u8(0x80).u8(1).u8(5).u8(0).short(b"SendTargets=All\0").u8(206);
    seeds.push(
        discovery.u8(142).u8(0x80).u8(5).u8(5).u8(0).short(b"").u8(206).u8(142).u8(0x80).u8(5).u8(5).u8(0).u8(0).0,
    );
    seeds.push(begin(0).u8(152).u8(0x80).u8(0).u8(5).short(b"").u8(253).u8(206).0);
    seeds
}
