//! Kinds of scripts. Each is a function from random numbers to steps, named after its effect on a
//! valid conversation.

use iscsi::framing::Digests;
use iscsi::pdu::{self, Opcode, RESERVED_TAG};

use super::pdus::{LoginParameters, PduSequence, bytes, put};
use super::script::{Facts, Script, Step};
use random::Random;

type Scenario = fn(&Random, &Facts) -> Vec<Step>;

/// All kinds except the cuts, with their weights.
const SCENARIOS: &[(&str, u64, Scenario)] = &[
    ("garbage", 3, garbage),
    ("mutated login", 6, mutated_login),
    ("mutated conversation", 14, mutated_conversation),
    ("reordered", 5, reordered),
    ("wrong numbers", 5, wrong_numbers),
    ("immediate flood", 2, immediate_flood),
    ("R2T unanswered", 3, unanswered),
    ("wrong Data-Out", 5, wrong_data_out),
    ("wrong digest", 3, wrong_digest),
    ("half-open", 1, half_open),
    ("slow reader", 2, slow_reader),
    ("additional headers", 3, additional_headers),
    ("huge segment", 3, huge_segment),
    ("logout in the middle", 4, logout_in_the_middle),
    ("session storm", 4, session_storm),
    ("task management", 4, task_management),
    ("text", 3, text_requests),
    ("other logical units", 3, other_logical_units),
    ("trickle", 1, trickle),
];

/// Chooses a script. Every second one cuts the recorded conversation one byte later than the one
/// before; the rest are drawn at random.
pub(super) fn choose(random: &Random, number: u64, facts: &Facts) -> Script {
    if number.is_multiple_of(2) {
        return Script { kind: "cut", steps: cut(number / 2, facts) };
    }
    let total: u64 = SCENARIOS.iter().map(|(_, weight, _)| weight).sum();
    let mut drawn = random.below(total);
    for (kind, weight, scenario) in SCENARIOS {
        if drawn < *weight {
            return Script { kind, steps: scenario(random, facts) };
        }
        drawn -= weight;
    }
    Script { kind: "garbage", steps: garbage(random, facts) }
}

const READ: u8 = pdu::FINAL | pdu::READ | 1;
const WRITE: u8 = pdu::FINAL | pdu::WRITE | 1;
/// Unsolicited Data-Out follows.
const WRITE_MORE: u8 = pdu::WRITE | 1;
const BLOCK: u32 = 512;

fn read10(lba: u32, blocks: u16) -> [u8; 10] {
    let [a, b, c, d] = lba.to_be_bytes();
    let [e, f] = blocks.to_be_bytes();
    [0x28, 0, a, b, c, d, 0, e, f, 0]
}

fn write10(lba: u32, blocks: u16) -> [u8; 10] {
    let mut cdb = read10(lba, blocks);
    cdb[0] = 0x2A;
    cdb
}

fn pattern(random: &Random, blocks: u16) -> Vec<u8> {
    vec![u8::try_from(random.below(256)).unwrap_or(0); usize::from(blocks) * 512]
}

fn qualifier(random: &Random) -> u16 {
    u16::try_from(random.below(24)).unwrap_or(0)
}

fn small(random: &Random, below: u64) -> u16 {
    u16::try_from(random.below(below)).unwrap_or(0)
}

fn digests(random: &Random) -> Digests {
    let bits = random.below(4);
    Digests { header: bits & 1 != 0, data: bits & 2 != 0 }
}

fn opening(random: &Random) -> LoginParameters {
    let mut opening = LoginParameters::new("chaos", qualifier(random));
    opening.digests = digests(random);
    opening.initial_r2t = random.below(3) == 0;
    opening
}

/// A valid conversation with every kind of PDU that an initiator sends.
fn recorded(facts: &Facts, opening: &LoginParameters) -> PduSequence {
    let mut sequence = PduSequence::opened(facts, opening);
    for _ in 0..2 {
        sequence.command(facts.lun, &[0; 6], pdu::FINAL | 1, 0, &[]);
    }
    sequence.command(facts.lun, &[0x12, 0, 0, 0, 96, 0], READ, 96, &[]);
    sequence.command(facts.lun, &write10(8, 1), WRITE, BLOCK, &[0xA5; 512]);
    // Data-Out follows the command unsolicited if that is allowed, else as if solicited; the first
    // R2T has the first tag.
    if opening.initial_r2t {
        let tag = sequence.command(facts.lun, &write10(16, 1), WRITE, BLOCK, &[]);
        sequence.data_out(tag, 1, 0, 0, true, &[0x5A; 512]);
    } else {
        let tag = sequence.command(facts.lun, &write10(16, 2), WRITE_MORE, 2 * BLOCK, &[0x3C; 512]);
        sequence.data_out(tag, RESERVED_TAG, 0, BLOCK, true, &[0x3C; 512]);
    }
    sequence.command(facts.lun, &read10(8, 1), READ, BLOCK, &[]);
    sequence.ping(b"ping");
    sequence.request(Opcode::TEXT_REQUEST, pdu::FINAL, RESERVED_TAG, false, b"SendTargets=\0");
    sequence.request(Opcode::TASK_MANAGEMENT_REQUEST, pdu::FINAL | 1, 77, true, &[]);
    sequence.logout();
    sequence
}

/// Sends the recorded conversation up to byte `index`, through all variants in turn. Every fourth
/// cut ends with a FIN, the rest by closing the socket.
fn cut(index: u64, facts: &Facts) -> Vec<Step> {
    let variants: Vec<Vec<u8>> = [(false, false), (true, false), (false, true), (true, true)]
        .into_iter()
        .map(|(digest, initial_r2t)| {
            let mut opening = LoginParameters::new("cut", 900);
            opening.digests = Digests { header: digest, data: digest };
            opening.initial_r2t = initial_r2t;
            recorded(facts, &opening).stream()
        })
        .collect();
    let total: usize = variants.iter().map(|variant| variant.len() + 1).sum();
    let mut at = usize::try_from(index % total as u64).unwrap_or(0);
    for variant in variants {
        if at <= variant.len() {
            let (front, _) = variant.split_at(at);
            let mut steps = vec![Step::Send(front.to_vec())];
            match index % 4 {
                0 => steps.extend([Step::Finish, Step::Read(20)]),
                1 => steps.push(Step::Read(1)),
                _ => {}
            }
            return steps;
        }
        at -= variant.len() + 1;
    }
    Vec::new()
}

/// Bytes that are not iSCSI.
fn garbage(random: &Random, _: &Facts) -> Vec<Step> {
    let bytes = match random.below(5) {
        0 => b"GET / HTTP/1.1\r\nHost: array\r\n\r\n".to_vec(),
        1 => [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3][..], &[7; 300]].concat(),
        2 => vec![0; usize::from(small(random, 5000))],
        3 => vec![0xFF; usize::from(small(random, 5000))],
        _ => {
            let length = random.below(3000);
            (0..length).map(|_| u8::try_from(random.below(256)).unwrap_or(0)).collect()
        }
    };
    vec![Step::Send(bytes), Step::Read(20)]
}

/// Applies a random change to a PDU.
fn mutate(bytes: &mut Vec<u8>, random: &Random) {
    let length = bytes.len() as u64;
    if length == 0 {
        return;
    }
    let byte = u8::try_from(random.below(256)).unwrap_or(0);
    let at = usize::try_from(random.below(length)).unwrap_or(0);
    let in_header = usize::try_from(random.below(length.min(48))).unwrap_or(0);
    match random.below(7) {
        0 => bytes.truncate(at),
        1 => {
            bytes.remove(at);
        }
        2 => bytes.insert(at, byte),
        3 => {
            let field = in_header & !3;
            let value = [0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX]
                .get(usize::try_from(random.below(5)).unwrap_or(0))
                .copied()
                .unwrap_or(0);
            for (to, from) in bytes.iter_mut().skip(field).zip(value.to_be_bytes()) {
                *to = from;
            }
        }
        4 => {
            if let Some(place) = bytes.get_mut(at) {
                *place ^= 1 << (byte & 7);
            }
        }
        _ => {
            if let Some(place) = bytes.get_mut(in_header) {
                *place = byte;
            }
        }
    }
}

fn mutated_login(random: &Random, facts: &Facts) -> Vec<Step> {
    let sequence = PduSequence::opened(facts, &opening(random));
    let mut login = sequence.stream();
    for _ in 0..1 + random.below(4) {
        mutate(&mut login, random);
    }
    let mut steps = vec![Step::Send(login), Step::Read(20)];
    if random.below(3) == 0 {
        steps.extend([Step::Send(sequence.stream()), Step::Read(20)]);
    }
    steps
}

/// A conversation with `commands` commands that move data.
fn busy(random: &Random, facts: &Facts, opening: &LoginParameters, commands: u64) -> PduSequence {
    let mut sequence = PduSequence::opened(facts, opening);
    for _ in 0..commands {
        let lba = u32::from(small(random, 4096));
        let blocks = 1 + small(random, 16);
        let expected = u32::from(blocks) * BLOCK;
        match random.below(8) {
            0 | 1 => {
                sequence.command(facts.lun, &read10(lba, blocks), READ, expected, &[]);
            }
            2 | 3 => {
                let data = pattern(random, blocks);
                sequence.command(facts.lun, &write10(lba, blocks), WRITE, expected, &data);
            }
            4 => {
                let list = [&[0, 22, 0, 16, 0, 0, 0, 0][..], &u64::from(lba).to_be_bytes(), &[0, 0, 0, 8, 0, 0, 0, 0]];
                sequence.command(facts.lun, &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], WRITE, 24, &list.concat());
            }
            5 => {
                let mut cdb = [0; 16];
                (cdb[0], cdb[1], cdb[13]) = (0x93, 8, 64);
                sequence.command(facts.lun, &cdb, WRITE, BLOCK, &[0; 512]);
            }
            6 => {
                let mut cdb = [0; 16];
                (cdb[0], cdb[13]) = (0x89, 1);
                sequence.command(facts.lun, &cdb, WRITE, 2 * BLOCK, &pattern(random, 2));
            }
            _ => sequence.ping(&pattern(random, 1)),
        }
    }
    sequence
}

fn mutated_conversation(random: &Random, facts: &Facts) -> Vec<Step> {
    let opening = opening(random);
    let commands = 3 + random.below(20);
    let mut sequence = busy(random, facts, &opening, commands);
    let rate = 1 + random.below(8);
    for pdu in sequence.pdus.iter_mut().skip(1) {
        if random.below(rate) == 0 {
            mutate(pdu, random);
        }
    }
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// PDUs doubled, missing and in another order, except the first.
fn reordered(random: &Random, facts: &Facts) -> Vec<Step> {
    let opening = opening(random);
    let mut sequence = busy(random, facts, &opening, 24);
    for _ in 0..1 + random.below(12) {
        let count = sequence.pdus.len() as u64 - 1;
        let one = 1 + usize::try_from(random.below(count)).unwrap_or(0);
        let other = 1 + usize::try_from(random.below(count)).unwrap_or(0);
        match random.below(3) {
            0 => sequence.pdus.swap(one, other),
            1 if count > 2 => drop(sequence.pdus.remove(one)),
            _ => {
                if let Some(copy) = sequence.pdus.get(one).cloned() {
                    sequence.pdus.insert(other, copy);
                }
            }
        }
    }
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// CmdSN far away, going back or wrapping; ExpStatSN that was never sent; tags in use.
fn wrong_numbers(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut sequence = PduSequence::opened(facts, &LoginParameters::new("chaos", qualifier(random)));
    for _ in 0..40 {
        let blocks = 1 + small(random, 4);
        let before = sequence.cmd_sn;
        match random.below(6) {
            0 => sequence.cmd_sn = before.wrapping_add(u32::from(small(random, 300))),
            1 => sequence.cmd_sn = before.wrapping_sub(u32::from(small(random, 300))),
            2 => sequence.cmd_sn = u32::MAX - u32::from(small(random, 3)),
            3 => sequence.exp_stat_sn = u32::try_from(random.next() >> 32).unwrap_or(0),
            _ => {}
        }
        sequence.command(facts.lun, &read10(0, blocks), READ, u32::from(blocks) * BLOCK, &[]);
        if random.below(2) == 0 {
            sequence.cmd_sn = before.wrapping_add(1);
        }
        if random.below(4) == 0
            && let Some(last) = sequence.pdus.last().cloned()
        {
            sequence.pdus.push(last);
        }
    }
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// Immediate commands and pings by the thousand, with the answers not read until the end.
fn immediate_flood(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut sequence = PduSequence::opened(facts, &LoginParameters::new("chaos", qualifier(random)));
    let data = vec![0x11; usize::from(small(random, 8192))];
    for _ in 0..1500 {
        match random.below(3) {
            0 => {
                let tag = sequence.tag();
                let mut header = pdu::blank(Opcode::SCSI_COMMAND.0 | pdu::IMMEDIATE, READ, tag);
                header[8..16].copy_from_slice(&facts.lun);
                put(&mut header, 20, 96);
                put(&mut header, 24, sequence.cmd_sn);
                header[32..38].copy_from_slice(&[0x12, 0, 0, 0, 96, 0]);
                sequence.push(header, &[]);
            }
            1 => sequence.ping(&data),
            _ => {
                sequence.request(Opcode::TASK_MANAGEMENT_REQUEST, pdu::FINAL | 1, 5, true, &[]);
            }
        }
    }
    vec![Step::Send(sequence.stream()), Step::Pause(100), Step::Read(20)]
}

/// Writes whose data never comes.
fn unanswered(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut opening = LoginParameters::new("chaos", qualifier(random));
    opening.initial_r2t = random.below(2) == 0;
    let mut sequence = PduSequence::opened(facts, &opening);
    for _ in 0..160 {
        let blocks = 1024 + small(random, 30_000);
        let flags = if opening.initial_r2t || random.below(2) == 0 { WRITE } else { WRITE_MORE };
        sequence.command(facts.lun, &write10(0, blocks), flags, u32::from(blocks) * BLOCK, &[]);
    }
    let mut steps = vec![Step::Send(sequence.stream()), Step::Read(20)];
    if random.below(2) == 0 {
        sequence.pdus.clear();
        sequence.data_out(2, 1, 0, 0, false, &[1; 8192]);
        steps.extend([Step::Send(sequence.stream()), Step::Pause(200)]);
    }
    steps
}

/// Data-Out out of order, too long, for another tag, after the end, or twice.
fn wrong_data_out(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut opening = opening(random);
    opening.initial_r2t = random.below(2) == 0;
    let mut sequence = PduSequence::opened(facts, &opening);
    let flags = if opening.initial_r2t { WRITE } else { WRITE_MORE };
    let tag = sequence.command(facts.lun, &write10(64, 64), flags, 64 * BLOCK, &[]);
    for _ in 0..1 + random.below(8) {
        let transfer_tag = if opening.initial_r2t { 1 + u32::from(small(random, 2)) } else { RESERVED_TAG };
        let transfer_tag = if random.below(4) == 0 { u32::from(small(random, 9)) } else { transfer_tag };
        let offset = match random.below(3) {
            0 => 0,
            1 => u32::from(small(random, 64)) * BLOCK,
            _ => u32::try_from(random.next() >> 32).unwrap_or(0),
        };
        let tag = if random.below(5) == 0 { tag + u32::from(small(random, 3)) } else { tag };
        let data = vec![0x66; usize::from(small(random, 40_000))];
        let data_sn = u32::from(small(random, 3));
        sequence.data_out(tag, transfer_tag, data_sn, offset, random.below(2) == 0, &data);
    }
    sequence.command(facts.lun, &read10(64, 1), READ, BLOCK, &[]);
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

fn wrong_digest(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut opening = LoginParameters::new("chaos", qualifier(random));
    opening.digests = Digests { header: true, data: true };
    let mut sequence = busy(random, facts, &opening, 6);
    let count = sequence.pdus.len() as u64 - 1;
    let which = 1 + usize::try_from(random.below(count)).unwrap_or(0);
    let in_data = random.below(2) == 0;
    if let Some(pdu) = sequence.pdus.get_mut(which) {
        let at = if in_data { pdu.len() - 1 } else { 48 + usize::from(small(random, 4)) };
        if let Some(byte) = pdu.get_mut(at) {
            *byte ^= 0x10;
        }
    }
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// Connections that send nothing, or half of a header.
fn half_open(random: &Random, facts: &Facts) -> Vec<Step> {
    let login = PduSequence::opened(facts, &LoginParameters::new("chaos", 1)).stream();
    let length = usize::try_from(random.below(60)).unwrap_or(0).min(login.len());
    let (front, _) = login.split_at(length);
    vec![Step::Send(front.to_vec()), Step::Pause(300 + random.below(1500))]
}

/// Large READs whose data is hardly taken from the socket.
fn slow_reader(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut sequence = PduSequence::opened(facts, &LoginParameters::new("chaos", qualifier(random)));
    for _ in 0..64 {
        sequence.command(facts.lun, &read10(0, 8192), READ, 8192 * BLOCK, &[]);
    }
    let sips = 20 + u32::from(small(random, 60));
    vec![Step::Send(sequence.stream()), Step::Sip(sips, 10)]
}

fn additional_headers(random: &Random, facts: &Facts) -> Vec<Step> {
    let opening = opening(random);
    let mut sequence = busy(random, facts, &opening, 3);
    let mut header = pdu::blank(Opcode::SCSI_COMMAND.0, READ, 300);
    header[8..16].copy_from_slice(&facts.lun);
    put(&mut header, 20, BLOCK);
    put(&mut header, 24, sequence.cmd_sn);
    header[32..42].copy_from_slice(&read10(0, 1));
    let words = small(random, 256);
    header[4] = u8::try_from(words).unwrap_or(u8::MAX);
    let mut segments = Vec::new();
    while segments.len() < usize::from(words) * 4 {
        // Extended CDBs and bidirectional lengths with random own lengths.
        let longest = if random.below(4) == 0 { 65_535 } else { 40 };
        let length = small(random, longest);
        segments.extend_from_slice(&length.to_be_bytes());
        segments.push(u8::try_from(random.below(4)).unwrap_or(0));
        segments.resize(segments.len() + usize::from(length % 64), 0xAA);
    }
    segments.truncate(usize::from(words) * 4);
    let mut whole = header.to_vec();
    whole.extend_from_slice(&segments);
    if opening.digests.header {
        // `bytes` computes the digest of the header alone: a digest error, unless there are no
        // segments.
        whole = [whole, bytes(header, &[], opening.digests).split_off(48)].concat();
    }
    let cut = if random.below(2) == 0 { whole.len() } else { usize::try_from(random.below(1024)).unwrap_or(0) };
    whole.truncate(cut);
    sequence.pdus.push(whole);
    sequence.command(facts.lun, &[0; 6], pdu::FINAL | 1, 0, &[]);
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// Announces a data segment of up to 16 MiB, and sends a little of it.
fn huge_segment(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut sequence = PduSequence::opened(facts, &LoginParameters::new("chaos", qualifier(random)));
    let in_login = random.below(3) == 0;
    let opcode = if in_login { 0x43 } else { [0x01, 0x00, 0x05, 0x04][usize::from(small(random, 4))] };
    let mut header = pdu::blank(opcode, WRITE, 400);
    header[8..16].copy_from_slice(&facts.lun);
    let length = [0x00FF_FFFF, 0x0010_0000, 0x0004_0001, 0x2001][usize::from(small(random, 4))];
    put(&mut header, 4, length);
    put(&mut header, 20, length);
    put(&mut header, 24, sequence.cmd_sn);
    header[32..42].copy_from_slice(&write10(0, 1));
    if in_login {
        sequence.pdus.clear();
    }
    sequence.pdus.push(header.to_vec());
    let part = vec![0x77; usize::from(small(random, 60_000))];
    sequence.pdus.push(part);
    vec![Step::Send(sequence.stream()), Step::Pause(random.below(200)), Step::Read(10)]
}

/// Logout while commands wait for data, once or twice, and commands after it.
fn logout_in_the_middle(random: &Random, facts: &Facts) -> Vec<Step> {
    let opening = opening(random);
    let mut sequence = busy(random, facts, &opening, 12);
    for _ in 0..random.below(8) {
        sequence.command(facts.lun, &write10(0, 256), WRITE, 256 * BLOCK, &[]);
    }
    for _ in 0..1 + random.below(2) {
        let reason = u8::try_from(random.below(4)).unwrap_or(0);
        let immediate = random.below(2) == 0;
        sequence.request(Opcode::LOGOUT_REQUEST, pdu::FINAL | reason, 0, immediate, &[]);
    }
    sequence.command(facts.lun, &read10(0, 8), READ, 8 * BLOCK, &[]);
    let mut steps = vec![Step::Send(sequence.stream())];
    if random.below(2) == 0 {
        steps.push(Step::Read(30));
    }
    steps
}

/// The same initiator port again and again, with commands in flight: each login ends the session
/// before it.
fn session_storm(random: &Random, facts: &Facts) -> Vec<Step> {
    let opening = LoginParameters::new("storm", small(random, 2));
    let mut sequence = busy(random, facts, &opening, 8);
    sequence.command(facts.lun, &write10(0, 256), WRITE, 256 * BLOCK, &[]);
    match random.below(3) {
        0 => vec![Step::Send(sequence.stream())],
        1 => vec![Step::Send(sequence.stream()), Step::Read(5)],
        _ => vec![Step::Send(sequence.stream()), Step::Pause(random.below(50))],
    }
}

/// All task management functions, with and without commands in flight.
fn task_management(random: &Random, facts: &Facts) -> Vec<Step> {
    let opening = opening(random);
    let mut sequence = busy(random, facts, &opening, 6);
    for _ in 0..12 {
        sequence.command(facts.lun, &write10(0, 64), WRITE, 64 * BLOCK, &[]);
        let function = u8::try_from(1 + random.below(12)).unwrap_or(1);
        let tag = sequence.tag();
        let mut header = pdu::blank(Opcode::TASK_MANAGEMENT_REQUEST.0 | pdu::IMMEDIATE, pdu::FINAL | function, tag);
        header[8..16].copy_from_slice(&facts.lun);
        put(&mut header, 20, tag.wrapping_sub(u32::from(small(random, 4))));
        put(&mut header, 24, sequence.cmd_sn);
        put(&mut header, 32, sequence.cmd_sn.wrapping_add(u32::from(small(random, 4))));
        sequence.push(header, &[]);
    }
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// SendTargets in every form, misplaced keys, text without an end.
fn text_requests(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut opening = opening(random);
    opening.discovery = random.below(2) == 0;
    let mut sequence = PduSequence::opened(facts, &opening);
    for _ in 0..1 + random.below(12) {
        let keys = match random.below(6) {
            0 => b"SendTargets=All\0".to_vec(),
            1 => format!("SendTargets={}\0", facts.target).into_bytes(),
            2 => b"HeaderDigest=CRC32C\0MaxRecvDataSegmentLength=512\0X-key=1\0".to_vec(),
            3 => vec![b'a'; 8000],
            4 => b"SendTargets".to_vec(),
            _ => vec![0; usize::from(small(random, 600))],
        };
        let flags = [pdu::FINAL, pdu::CONTINUE, 0, pdu::FINAL | pdu::CONTINUE][usize::from(small(random, 4))];
        let transfer_tag = if random.below(2) == 0 { RESERVED_TAG } else { u32::from(small(random, 5)) };
        sequence.request(Opcode::TEXT_REQUEST, flags, transfer_tag, random.below(2) == 0, &keys);
    }
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// READs, INQUIRY and WRITE to LUNs that were not granted.
fn other_logical_units(random: &Random, facts: &Facts) -> Vec<Step> {
    let mut sequence = PduSequence::opened(facts, &opening(random));
    sequence.command([0; 8], &[0xA0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0], READ, 1024, &[]);
    for number in 0..24_u16 {
        let [high, low] = if random.below(8) == 0 { small(random, 16_384).to_be_bytes() } else { number.to_be_bytes() };
        let lun = [if high == 0 { 0 } else { 0x40 | high }, low, 0, 0, 0, 0, 0, 0];
        if lun == facts.lun {
            continue;
        }
        sequence.command(lun, &read10(0, 64), READ, 64 * BLOCK, &[]);
        sequence.command(lun, &[0x12, 1, 0x83, 1, 0, 0], READ, 256, &[]);
        sequence.command(lun, &write10(0, 1), WRITE, BLOCK, &[0xEE; 512]);
    }
    vec![Step::Send(sequence.stream()), Step::Read(30)]
}

/// A valid conversation, sent a few bytes at a time.
fn trickle(random: &Random, facts: &Facts) -> Vec<Step> {
    let opening = opening(random);
    let stream = recorded(facts, &opening).stream();
    let piece = 1 + usize::try_from(random.below(40)).unwrap_or(0);
    let mut steps: Vec<Step> = Vec::new();
    for part in stream.chunks(piece).take(200) {
        steps.push(Step::Send(part.to_vec()));
        steps.push(Step::Pause(random.below(3)));
    }
    steps
}
