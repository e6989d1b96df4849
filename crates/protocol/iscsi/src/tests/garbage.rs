//! Random bytes in every state: no panic, no endless work, bounded output. Seeded, so that a
//! failure can be replayed.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use random::Random;

use super::pair::{INITIATOR, TARGET, TestDirectory, pattern, read10, write10};
use crate::chap::{Algorithm, Credentials};
use crate::connection::{self, Connection, Event, Response};
use crate::initiator::{Chap, Config, Initiator, Request, TransferRequest};
use crate::pdu::{self, LogoutReason, TaskAttribute, TaskManagementFunction, TaskManagementResponse};

/// One conversation with mutations: a changed header field, a flipped bit anywhere, or lost or
/// repeated bytes.
fn converse(seed: u64) {
    let random = Random::new(seed);
    let chap = random.index(3) == 0;
    let directory =
        if chap { TestDirectory::chap(&[("user", "a-secret-secret")], None) } else { TestDirectory::default() };
    let mut config = Config::new(INITIATOR, TARGET);
    config.initial_r2t = random.index(2) == 0;
    config.immediate_data = random.index(2) == 0;
    config.first_burst_length = 4096;
    config.max_burst_length = 8192;
    if random.index(4) == 0 {
        config.header_digest = "CRC32C".into();
        config.data_digest = "CRC32C".into();
    }
    if chap {
        let own = Credentials::new("user", "a-secret-secret");
        config.chap = Some(Chap { own, target: None, algorithms: vec![Algorithm::Md5] });
    }
    let mut now = Instant::now();
    let target_config = connection::Config {
        max_data_out_bytes: 256 << 10,
        max_data_in_bytes: 256 << 10,
        max_tasks: 32,
        command_window: 16,
        ..connection::Config::default()
    };
    let mut target = Connection::new(now, target_config, [5; 32]);
    let mut initiator = Initiator::new(config, [6; 32]);
    let (mut to_target, mut to_initiator) = (BytesMut::new(), BytesMut::new());
    let mut commands = Vec::new();
    let mut functions = Vec::new();
    let mutation = 2 + random.index(60);
    for _ in 0..150 {
        if initiator.is_full_feature() {
            act(&mut initiator, &random);
        }
        while let Some(chunk) = initiator.poll_output() {
            let mut bytes = chunk.to_vec();
            if random.index(mutation) == 0 {
                mutate(&mut bytes, &random);
            }
            to_target.extend_from_slice(&bytes);
        }
        target.handle_input(now, &mut to_target, &directory);
        while let Some(event) = target.poll_event() {
            match event {
                Event::SessionOpening(_) => assert!(target.accept_session(1)),
                Event::Command(command) => {
                    assert!(command.data_out.len() <= 256 << 10);
                    commands.push(command);
                }
                Event::TaskManagement(function) => functions.push(function.handle),
                Event::Logout => target.finish_logout(),
                Event::Closed(_) => {}
            }
        }
        while !commands.is_empty() && random.index(4) != 0 {
            let command = commands.swap_remove(random.index(commands.len()));
            let data_in = pattern(command.expected_data_in.min(16 << 10) as usize);
            let transfer_bytes = random.next() % 20_000;
            target.respond(command.task, Response { status: 0, sense: &[], data_in, transfer_bytes });
        }
        while !functions.is_empty() && random.index(3) != 0 {
            target.respond_task_management(functions.remove(0), TaskManagementResponse::COMPLETE);
        }
        assert!(target.output_bytes() < 4 << 20);
        while let Some(chunk) = target.poll_output() {
            let mut bytes = chunk.to_vec();
            if random.index(mutation * 4) == 0 {
                mutate(&mut bytes, &random);
            }
            to_initiator.extend_from_slice(&bytes);
        }
        initiator.handle_input(&mut to_initiator);
        while initiator.poll_event().is_some() {}
        if random.index(8) == 0 {
            now += Duration::from_secs(random.next() % 20);
            target.handle_timeout(now);
        }
        if target.is_closed() {
            break;
        }
    }
}

fn act(initiator: &mut Initiator, random: &Random) {
    for _ in 0..random.index(4) {
        let blocks = 1 + random.index(40) as u16;
        let transfer = TransferRequest::Out(pattern(usize::from(blocks) * 512));
        let (cdb, transfer) = match random.index(2) {
            0 => (write10(random.index(1000) as u32, blocks), transfer),
            _ => (read10(random.index(1000) as u32, blocks), TransferRequest::In(u32::from(blocks) * 512)),
        };
        let mut padded = [0; 16];
        padded[..10].copy_from_slice(&cdb);
        let tag = initiator.command(Request {
            lun: [0; 8],
            cdb: padded,
            attribute: TaskAttribute(random.index(5) as u8),
            immediate: random.index(20) == 0,
            transfer,
        });
        if random.index(10) == 0 {
            let function = TaskManagementFunction(1 + random.index(9) as u8);
            initiator.task_management(function, [0; 8], Some(tag));
        }
    }
    match random.index(40) {
        0 => drop(initiator.nop_out(pattern(random.index(5000)))),
        1 => initiator.send_targets("All"),
        2 => initiator.logout(LogoutReason(random.index(4) as u8)),
        3 => {
            let mut header = pdu::blank(random.next() as u8, random.next() as u8, random.next() as u32);
            header[24..28].copy_from_slice(&initiator.cmd_sn().to_be_bytes());
            initiator.send_pdu(header, pattern(random.index(600)));
        }
        4 => initiator.send_raw(Bytes::from((0..random.index(300)).map(|_| random.next() as u8).collect::<Vec<u8>>())),
        _ => {}
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &Random) {
    if bytes.is_empty() {
        return;
    }
    match random.index(6) {
        0 => {
            let at = random.index(bytes.len().min(48));
            bytes[at] = random.next() as u8;
        }
        1 => {
            let at = random.index(bytes.len());
            bytes[at] ^= 1 << random.index(8);
        }
        2 => bytes.truncate(random.index(bytes.len())),
        3 => {
            let copy = bytes.clone();
            bytes.extend_from_slice(&copy);
        }
        4 => {
            let at = random.index(bytes.len());
            bytes.remove(at);
        }
        _ => {
            let at = random.index(bytes.len().min(48)) / 4 * 4;
            let value = [0_u32, 1, 0xFFFF_FFFF, 0x7FFF_FFFF, 0x8000_0000][random.index(5)];
            if let Some(field) = bytes.get_mut(at..at + 4) {
                field.copy_from_slice(&value.to_be_bytes());
            }
        }
    }
}

#[test]
fn mutated_conversations() {
    for seed in 0..3000 {
        converse(seed);
    }
}

#[test]
fn random_bytes_from_the_start() {
    for seed in 1..300 {
        let random = Random::new(seed);
        let now = Instant::now();
        let mut target = Connection::new(now, connection::Config::default(), [0; 32]);
        let bytes: Vec<u8> = (0..4096).map(|_| random.next() as u8).collect();
        let mut input = BytesMut::from(&bytes[..]);
        if seed % 2 == 0 {
            input[0] = 0x43;
            input[4..8].copy_from_slice(&[0, 0, 0x10, 0]);
        }
        target.handle_input(now, &mut input, &TestDirectory::default());
        assert!(target.output_bytes() < 10_000);
        assert!(input.capacity() < 64 << 10);
    }
}
