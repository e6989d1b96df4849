//! Memory for the tasks of a connection: grants, waiters, and traffic that continues meanwhile.

use std::cell::Cell;
use std::rc::Rc;

use super::pair::{INITIATOR, LUN, Pair, TARGET, pattern, read10, write10};
use crate::connection;
use crate::initiator::{Config, TransferRequest};
use crate::pdu::{self, DataOut, Opcode, R2t, ScsiCommand, TaskAttribute};

/// Shared memory with a limit, for tests.
#[derive(Debug)]
struct Shared {
    limit: usize,
    granted: Cell<usize>,
    unasked: Cell<usize>,
    waits: Cell<bool>,
    gives_to_the_oldest: Cell<bool>,
    /// Number of writes whose data may be in receive buffers, and of those whose data is.
    in_place: Cell<(usize, usize)>,
}

impl Shared {
    fn new(limit: usize) -> Rc<Self> {
        Rc::new(Self {
            limit,
            granted: 0.into(),
            unasked: 0.into(),
            waits: false.into(),
            gives_to_the_oldest: false.into(),
            in_place: (usize::MAX, 0).into(),
        })
    }

    fn fits(&self, bytes: usize) -> bool {
        self.granted.get() + self.unasked.get() + bytes <= self.limit
    }
}

impl connection::DataOutMemory for Shared {
    fn take(&self, bytes: usize, oldest: bool) -> bool {
        let fits = self.fits(bytes) || oldest && self.gives_to_the_oldest.get();
        self.granted.set(self.granted.get() + if fits { bytes } else { 0 });
        self.waits.set(!fits);
        fits
    }

    fn take_unsolicited(&self, bytes: usize) -> bool {
        let fits = self.fits(bytes);
        self.unasked.set(self.unasked.get() + if fits { bytes } else { 0 });
        fits
    }

    fn give_back(&self, granted_bytes: usize, unasked_bytes: usize) {
        self.granted.set(self.granted.get() - granted_bytes);
        self.unasked.set(self.unasked.get() - unasked_bytes);
    }

    fn stays_in_place(&self) -> bool {
        let (most, count) = self.in_place.get();
        self.in_place.set((most, count + usize::from(count < most)));
        count < most
    }

    fn left_place(&self, count: usize) {
        let (most, before) = self.in_place.get();
        self.in_place.set((most, before - count));
    }

    fn withdraw(&self) {
        self.waits.set(false);
    }
}

/// No R2T is sent until the shared memory has room; all of it is returned.
#[test]
fn r2ts_wait_for_shared_memory() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.initial_r2t = true;
    config.immediate_data = false;
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    let shared = Shared::new(512 * 1024);
    pair.target.share_data_out_memory(shared.clone());
    shared.granted.set(1);
    let data = pattern(512 * 1024);
    let tag = pair.command(&write10(0, 1024), TransferRequest::Out(data.clone()));
    pair.drive();
    assert!(pair.sent.is_empty() && shared.waits.get() && pair.target.waits_for_data_out_memory());
    assert!(!pair.target.awaits_data_out());
    shared.granted.set(0);
    pair.target.data_out_memory_available();
    assert!(pair.target.awaits_data_out() && !pair.target.waits_for_data_out_memory());
    pair.drive();
    assert_eq!(pair.completion(tag).map(|done| done.status), Some(0));
    assert_eq!(pair.medium[..data.len()], data);
    assert_eq!((shared.granted.get(), shared.unasked.get()), (0, 0));
}

/// A connection that ends returns the memory granted for data that has not arrived.
#[test]
fn a_closed_connection_returns_the_memory_of_unfinished_writes() {
    let mut config = Config::new(INITIATOR, TARGET);
    config.initial_r2t = true;
    config.immediate_data = false;
    let mut pair = Pair::logged_in_with(config, connection::Config::default());
    let shared = Shared::new(512 * 1024);
    pair.target.share_data_out_memory(shared.clone());
    let cmd_sn = pair.initiator.take_cmd_sn();
    let attribute = TaskAttribute::SIMPLE;
    RawWrite { tag: 5, blocks: 1024, immediate_bytes: 0, flags: pdu::FINAL, attribute }.send(&mut pair, cmd_sn);
    pair.drive();
    assert!(pair.target.awaits_data_out());
    assert_eq!(shared.granted.get(), 512 * 1024);
    pair.target.close();
    assert_eq!(shared.granted.get(), 0);
}

/// The data of a command that the shell executes stays booked when its task ends before it: with its
/// connection, or with a reset that another session asks for. A host could otherwise fill memory by
/// repeating both while the pool is slow.
#[test]
fn data_of_executing_commands_stays_booked() {
    for reset in [false, true] {
        let mut pair = Pair::logged_in();
        let shared = Shared::new(1 << 20);
        pair.target.share_data_out_memory(shared.clone());
        pair.serve = false;
        let bytes = 1024 * 512;
        pair.command(&write10(0, 1024), TransferRequest::Out(pattern(bytes)));
        pair.drive();
        let command = pair.commands.pop().unwrap();
        assert_eq!((command.data_out.len(), shared.granted.get() + shared.unasked.get()), (bytes, bytes));
        if reset {
            assert!(pair.target.discard(command.task));
        } else {
            pair.target.close();
        }
        assert_eq!(shared.granted.get() + shared.unasked.get(), bytes);
        let clone = command.clone();
        drop(command);
        assert_eq!(shared.granted.get() + shared.unasked.get(), bytes);
        drop(clone);
        assert_eq!((shared.granted.get(), shared.unasked.get()), (0, 0));
    }
}

/// Unsolicited data without memory is dropped, and its command ends with BUSY.
#[test]
fn unsolicited_data_without_memory_ends_with_busy() {
    let mut pair = Pair::logged_in();
    let shared = Shared::new(64 * 1024);
    pair.target.share_data_out_memory(shared.clone());
    shared.unasked.set(64 * 1024);
    let immediate = pair.command(&write10(0, 8), TransferRequest::Out(pattern(4096)));
    let unsolicited = pair.command(&write10(0, 500), TransferRequest::Out(pattern(500 * 512)));
    pair.drive();
    for tag in [immediate, unsolicited] {
        assert_eq!(pair.completion(tag).map(|done| done.status), Some(8));
    }
    assert!(pair.medium.iter().all(|byte| *byte == 0));
    shared.unasked.set(0);
    assert_eq!(pair.run(&write10(0, 8), TransferRequest::Out(pattern(4096))).status, 0);
    assert_eq!((shared.granted.get(), shared.unasked.get()), (0, 0));
}

/// Regression: the data of each waiting write kept the receive buffer of 128 KiB alive in which it had
/// arrived. 300 sessions that were mostly answered with BUSY held 250 MiB, 16 times what was booked.
/// Now the shell says how many writes may do so; the data of others is copied.
#[test]
fn few_short_writes_keep_their_receive_buffers_alive() {
    for ends in ["completion", "close", "before delivery"] {
        let mut pair = Pair::logged_in();
        let shared = Shared::new(1 << 20);
        shared.in_place.set((2, 0));
        pair.target.share_data_out_memory(shared.clone());
        pair.serve = false;
        if ends == "before delivery" {
            let _left_out = pair.initiator.take_cmd_sn();
        }
        for lba in 0..4 {
            pair.command(&write10(lba * 8, 8), TransferRequest::Out(pattern(4096)));
            pair.drive();
        }
        pair.command(&write10(64, 128), TransferRequest::Out(pattern(64 << 10)));
        pair.drive();
        assert_eq!(shared.in_place.get(), (2, 2), "{ends}: long data is not counted");
        let commands = std::mem::take(&mut pair.commands);
        assert!(commands.iter().all(|command| command.data_out[..] == pattern(command.data_out.len())));
        match ends {
            "completion" => assert!(commands.iter().all(|command| pair.answer(command))),
            _ => pair.target.close(),
        }
        assert_eq!(shared.in_place.get().1, commands.len().min(2), "the shell has the data of the others");
        drop(commands);
        assert_eq!((shared.in_place.get(), shared.unasked.get()), ((2, 0), 0), "{ends}");
    }
}

/// WRITE in a form that the initiator of this crate would not send.
struct RawWrite {
    tag: u32,
    blocks: u16,
    immediate_bytes: usize,
    flags: u8,
    attribute: TaskAttribute,
}

impl RawWrite {
    fn send(&self, pair: &mut Pair, cmd_sn: u32) {
        let flags = self.flags | pdu::WRITE | self.attribute.0;
        let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, flags, self.tag));
        header.cmd_sn = cmd_sn.into();
        header.lun = LUN;
        header.cdb[..10].copy_from_slice(&write10(0, self.blocks));
        header.expected_data_transfer_length = (u32::from(self.blocks) * 512).into();
        send(pair, &header.to_wire(), self.immediate_bytes);
    }
}

fn send(pair: &mut Pair, header: &[u8], bytes: usize) {
    let mut raw = header.to_vec();
    raw[5..8].copy_from_slice(&u32::try_from(bytes).unwrap().to_be_bytes()[1..]);
    raw.extend_from_slice(&pattern(bytes));
    pair.initiator.send_raw(raw.into());
}

/// R2Ts sent since the last call.
fn r2ts(pair: &mut Pair) -> Vec<R2t> {
    let sent = std::mem::take(&mut pair.sent);
    sent.iter().filter(|pdu| pdu.header[0] & 0x3f == Opcode::R2T.0).map(|pdu| R2t::from_wire(&pdu.header)).collect()
}

/// An announcement books no memory: only data that has arrived is booked.
#[test]
fn data_that_is_announced_and_not_sent_takes_no_memory() {
    let mut pair = Pair::logged_in();
    let shared = Shared::new(1 << 20);
    pair.target.share_data_out_memory(shared.clone());
    for tag in 0..70 {
        let cmd_sn = pair.initiator.take_cmd_sn();
        let write = RawWrite { tag, blocks: 2048, immediate_bytes: 512, flags: 0, attribute: TaskAttribute::SIMPLE };
        write.send(&mut pair, cmd_sn);
    }
    pair.drive();
    assert_eq!((shared.granted.get(), shared.unasked.get()), (0, 70 * 512));
    assert!(pair.target.awaits_data_out());
}

/// Memory for data that arrives in pieces is booked as it arrives, and is less than twice its size.
#[test]
fn memory_for_unsolicited_data_grows_with_it() {
    let mut pair = Pair::logged_in();
    let shared = Shared::new(1 << 20);
    pair.target.share_data_out_memory(shared.clone());
    let cmd_sn = pair.initiator.take_cmd_sn();
    let write = RawWrite { tag: 5, blocks: 128, immediate_bytes: 1024, flags: 0, attribute: TaskAttribute::SIMPLE };
    write.send(&mut pair, cmd_sn);
    let mut sent = 1024;
    let mut data_sn = 0;
    while sent < 60 * 1024 {
        let mut header = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, 0, 5));
        header.target_transfer_tag = pdu::RESERVED_TAG.into();
        header.data_sn = data_sn.into();
        header.buffer_offset = u32::try_from(sent).unwrap().into();
        send(&mut pair, &header.to_wire(), 1024);
        (data_sn, sent) = (data_sn + 1, sent + 1024);
        pair.drive();
        let booked = shared.unasked.get();
        assert!((sent..=2 * sent).contains(&booked), "{booked} for {sent}");
    }
    pair.target.close();
    assert_eq!(shared.unasked.get(), 0);
}

/// Complete ORDERED writes behind a waiting one hold the memory that it waits for, and cannot be
/// delivered before it. It gets its memory nevertheless.
#[test]
fn the_oldest_write_gets_through_past_what_waits_for_it() {
    for shares in [false, true] {
        let config = connection::Config { max_data_out_bytes: 1 << 20, ..connection::Config::default() };
        let mut pair = Pair::logged_in_with(Config::new(INITIATOR, TARGET), config);
        let shared = Shared::new(1 << 20);
        shared.gives_to_the_oldest.set(true);
        if shares {
            pair.target.share_data_out_memory(shared);
        }
        let write = |pair: &mut Pair, tag, blocks, immediate_bytes, attribute| {
            let cmd_sn = pair.initiator.take_cmd_sn();
            RawWrite { tag, blocks, immediate_bytes, flags: pdu::FINAL, attribute }.send(pair, cmd_sn);
            pair.drive();
        };
        write(&mut pair, 1, 512, 0, TaskAttribute::SIMPLE);
        let first = r2ts(&mut pair).remove(0);
        write(&mut pair, 2, 2048, 0, TaskAttribute::SIMPLE);
        assert!(r2ts(&mut pair).is_empty(), "there is no room beside the first");
        for tag in 3..11 {
            write(&mut pair, tag, 128, 64 << 10, TaskAttribute::ORDERED);
        }
        let mut header = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, pdu::FINAL, 1));
        header.target_transfer_tag = first.target_transfer_tag;
        send(&mut pair, &header.to_wire(), 1 << 18);
        pair.drive();
        let asked: Vec<u32> = r2ts(&mut pair).iter().map(|r2t| r2t.initiator_task_tag.get()).collect();
        assert_eq!(asked, [2], "shared: {shares}");
    }
}

/// Commands held because of a missing earlier one wait for the initiator, which may never send it.
#[test]
fn a_gap_in_the_numbers_is_the_initiators_to_fill() {
    let mut pair = Pair::logged_in();
    let missing = pair.initiator.take_cmd_sn();
    let cmd_sn = pair.initiator.take_cmd_sn();
    let write =
        |tag| RawWrite { tag, blocks: 8, immediate_bytes: 4096, flags: pdu::FINAL, attribute: TaskAttribute::SIMPLE };
    write(1).send(&mut pair, cmd_sn);
    pair.drive();
    assert!(pair.target.awaits_data_out());
    write(2).send(&mut pair, missing);
    pair.drive();
    assert!(!pair.target.awaits_data_out());
}

/// Waiting READs delay other READs only.
#[test]
fn pings_and_task_management_go_past_reads_that_wait() {
    let target = connection::Config { max_data_in_bytes: 1 << 20, ..connection::Config::default() };
    let mut pair = Pair::logged_in_with(Config::new(INITIATOR, TARGET), target);
    pair.serve = false;
    let tags: Vec<u32> = (0..8).map(|_| pair.command(&read10(0, 1024), TransferRequest::In(524_288))).collect();
    pair.drive();
    assert_eq!(pair.commands.len(), 2);
    pair.sent.clear();
    let mut ping = pdu::NopOut::from_wire(&pdu::blank(Opcode::NOP_OUT.0 | pdu::IMMEDIATE, pdu::FINAL, 900));
    ping.target_transfer_tag = pdu::RESERVED_TAG.into();
    send(&mut pair, &ping.to_wire(), 0);
    pair.drive();
    assert_eq!(pair.sent_opcodes(), [Opcode::NOP_IN]);
    // A task that the shell has not seen ends at once.
    let abort = pdu::FINAL | pdu::TaskManagementFunction::ABORT_TASK.0;
    let mut abort = pdu::TaskManagementRequest::from_wire(&pdu::blank(
        Opcode::TASK_MANAGEMENT_REQUEST.0 | pdu::IMMEDIATE,
        abort,
        901,
    ));
    abort.referenced_task_tag = tags[2].into();
    send(&mut pair, &abort.to_wire(), 0);
    pair.drive();
    assert!(pair.functions[0].tasks.is_empty());
    let mut order = Vec::new();
    while !pair.commands.is_empty() {
        let command = pair.commands.remove(0);
        assert!(pair.answer(&command));
        order.push(command.task);
        pair.drive();
        assert!(pair.commands.len() <= 2);
    }
    assert_eq!(order.len(), 7);
    for (index, tag) in tags.iter().enumerate() {
        assert_eq!(pair.completion(*tag).is_some(), index != 2);
    }
}
