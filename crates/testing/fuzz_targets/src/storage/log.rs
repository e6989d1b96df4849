//! Log: frames and records from steps, in a chain that recovery accepts, replayed onto a valid
//! pool.

use super::base::{self, BLOCK, Image, LOG_FIRST, SUPERBLOCKS, UUID, crc64};
use super::use_pool::{Plan, use_pool};
use crate::input::{Reader, Writer};

const HEADER: usize = 128;
const RING_BLOCKS: u64 = 64;

/// End of the log, from the root, where new frames are appended.
struct Chain {
    position: u64,
    sequence: u64,
    previous_crc: u64,
}

fn number(block: &[u8; BLOCK], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Input: a byte that selects operations, then frames: a byte with the defects of the header, then
/// records up to a step that ends the frame.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let flags = reader.u8();
    let mut image = base::clean();
    let root = image.block(SUPERBLOCKS[0]);
    let mut chain = Chain {
        position: number(root, 512 + 40),
        sequence: number(root, 512 + 48),
        previous_crc: number(root, 512 + 56),
    };
    let addresses: Vec<u64> = image.blocks.keys().copied().filter(|block| *block >= 2048).collect();
    let mut frames = 0;
    while !reader.is_empty() && frames < 12 {
        frames += 1;
        frame(&mut image, &mut chain, &mut reader, &addresses);
    }
    use_pool(&image.disk(), Plan::new(flags));
}

fn frame(image: &mut Image, chain: &mut Chain, reader: &mut Reader<'_>, addresses: &[u64]) {
    let lie = reader.u8();
    let mut bytes = vec![0; HEADER];
    let mut records = 0u32;
    while records < 40 && bytes.len() < 100_000 && !reader.is_empty() {
        match reader.u8() {
            0..=15 => break,
            kind => {
                record(kind, &mut bytes, reader, addresses);
                records += 1;
            }
        }
    }
    let mut header = [0; HEADER];
    let mut put = |at: usize, value: u64| header[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(32, 77);
    put(40, chain.position);
    put(48, chain.sequence);
    put(56, chain.sequence.wrapping_add(u64::from(lie & 1) * 5));
    put(64, chain.previous_crc);
    put(80, 1);
    header[..8].copy_from_slice(b"WLframe1");
    header[16..32].copy_from_slice(&UUID);
    let said_bytes = match lie >> 1 & 7 {
        6 => bytes.len() / 2,
        7 => usize::from(reader.u16()),
        _ => bytes.len(),
    };
    let said_records = if lie & 0x10 != 0 { u32::from(reader.u8()) } else { records };
    header[72..76].copy_from_slice(&u32::try_from(said_bytes).unwrap_or(u32::MAX).to_le_bytes());
    header[76..80].copy_from_slice(&said_records.to_le_bytes());
    bytes[..HEADER].copy_from_slice(&header);
    bytes.resize(bytes.len().max(said_bytes), 0);
    let crc = crc64(&bytes[..said_bytes.max(HEADER).min(bytes.len())]);
    bytes[8..16].copy_from_slice(&crc.to_le_bytes());
    let blocks = bytes.len().div_ceil(BLOCK) as u64;
    bytes.resize(blocks as usize * BLOCK, 0);
    let mut offset = chain.position / BLOCK as u64 % RING_BLOCKS;
    if offset + blocks > RING_BLOCKS {
        chain.position += (RING_BLOCKS - offset) * BLOCK as u64;
        offset = 0;
    }
    for (at, content) in (LOG_FIRST + offset..LOG_FIRST + RING_BLOCKS).zip(bytes.as_chunks::<BLOCK>().0) {
        *image.block(at) = *content;
    }
    chain.position = chain.position.wrapping_add(blocks * BLOCK as u64);
    chain.sequence = chain.sequence.wrapping_add(u64::from(said_records));
    chain.previous_crc = crc;
}

/// Number that is small, near a limit, or arbitrary.
fn some(reader: &mut Reader<'_>) -> u64 {
    match reader.u8() {
        small @ 0..=199 => u64::from(small),
        200..=209 => u64::from(reader.u16()),
        210..=219 => 70_000 - u64::from(reader.u8()),
        220..=229 => (1 << 32) - u64::from(reader.u8()),
        230..=239 => u64::MAX - u64::from(reader.u8()),
        _ => reader.u64(),
    }
}

fn record(kind: u8, bytes: &mut Vec<u8>, reader: &mut Reader<'_>, addresses: &[u64]) {
    let at = bytes.len();
    let kinds = [1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4];
    let kind = if kind < 240 { kinds[usize::from(kind) % kinds.len()] } else { kind };
    let flags = if kind == 1 { reader.u8() & 1 } else { 0 };
    bytes.extend_from_slice(&[kind, flags, 0, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&some(reader).to_le_bytes());
    match kind {
        1 => write(flags, bytes, reader, addresses),
        2 => {
            for _ in 0..2 {
                bytes.extend_from_slice(&some(reader).to_le_bytes());
            }
        }
        3 => {
            for _ in 0..4 {
                bytes.extend_from_slice(&some(reader).to_le_bytes());
            }
        }
        4 => catalog(bytes, reader),
        _ => bytes.extend_from_slice(reader.short()),
    }
    let length = bytes.len() - at;
    let said = match reader.u8() {
        250 => reader.u32(),
        251 => 0,
        252 => 15,
        _ => u32::try_from(length).unwrap_or(u32::MAX),
    };
    bytes[at + 4..at + 8].copy_from_slice(&said.to_le_bytes());
}

fn write(flags: u8, bytes: &mut Vec<u8>, reader: &mut Reader<'_>, addresses: &[u64]) {
    bytes.extend_from_slice(&some(reader).to_le_bytes());
    let count = u32::from(reader.u8() % 5);
    let said = if reader.u8() == 255 { reader.u32() } else { count };
    bytes.extend_from_slice(&said.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    let mut mapped = 0;
    for _ in 0..count {
        let how = reader.u8();
        let address = match how & 7 {
            0 => 0,
            1..=3 => addresses[usize::from(reader.u8()) % addresses.len()],
            4 | 5 => 4096 + u64::from(reader.u16()),
            _ => some(reader),
        };
        mapped += usize::from(address != 0);
        bytes.extend_from_slice(&(address | u64::from(how & 8 != 0) << 63).to_le_bytes());
        bytes.extend_from_slice(&reader.u32().to_le_bytes());
    }
    if flags & 1 != 0 {
        bytes.resize(bytes.len() + mapped * BLOCK, 0xC3);
    }
}

fn catalog(bytes: &mut Vec<u8>, reader: &mut Reader<'_>) {
    let count = reader.u8() % 5;
    bytes.extend_from_slice(&u32::from(count).to_le_bytes());
    for _ in 0..count {
        let change = reader.u8() % 12;
        bytes.push(change);
        let text = |bytes: &mut Vec<u8>, text: &[u8]| {
            bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
            bytes.extend_from_slice(text);
        };
        if (6..=7).contains(&change) {
            text(bytes, reader.short());
            if change == 6 {
                text(bytes, reader.short());
            }
            continue;
        }
        bytes.extend_from_slice(&some(reader).to_le_bytes());
        match change {
            1 | 4 => {
                let size = match reader.u8() {
                    sectors @ 0..=99 => u64::from(sectors) * 512,
                    100..=199 => 1 << 40,
                    _ => some(reader),
                };
                bytes.extend_from_slice(&size.to_le_bytes());
            }
            2 => {
                bytes.extend_from_slice(&some(reader).to_le_bytes());
                bytes.push(reader.u8() & 1);
            }
            5 | 8 | 9 => bytes.push(reader.u8()),
            10 => bytes.extend_from_slice(&some(reader).to_le_bytes()),
            _ => {}
        }
    }
    let shared = reader.u8() % 4;
    bytes.extend_from_slice(&u32::from(shared).to_le_bytes());
    for _ in 0..shared {
        for _ in 0..3 {
            bytes.extend_from_slice(&some(reader).to_le_bytes());
        }
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let begin = || Writer::default().u8(2).u8(0);
    let end = |writer: Writer| writer.u8(0).u8(0).0;
    let mut seeds = vec![end(begin())];
    for object in 16..24 {
        // A write with data, a write in place, a zero, a clone between objects, and a mix in two
        // frames.
        seeds.push(end(begin().u8(22).u8(1).u8(object).u8(9).u8(1).u8(0).u8(12).u16(9).u32(5)));
        seeds.push(end(begin().u8(22).u8(0).u8(object).u8(9).u8(2).u8(0).u8(1).u8(3).u32(5).u8(0).u32(0)));
        seeds.push(end(begin().u8(25).u8(object).u8(0).u8(100)));
        seeds.push(end(begin().u8(27).u8(object).u8(0).u8(17).u8(5).u8(9)));
        seeds.push(end(begin().u8(29).u8(0).u8(1).u8(3).u8(object).u8(0)));
    }
    for change in 1..11 {
        let writer = begin().u8(29).u8(0).u8(1).u8(change);
        let writer = match change {
            6 => writer.short(b"key").short(b"value"),
            7 => writer.short(b"key"),
            2 => writer.u8(16).u8(60).u8(1),
            1 => writer.u8(60).u8(8),
            4 => writer.u8(16).u8(8),
            10 => writer.u8(16).u8(18),
            _ => writer.u8(16).u8(1),
        };
        let writer = writer.u8(1).u8(17).u8(1).u8(1).u8(0).u8(0).u8(0);
        seeds.push(end(writer.u8(22).u8(1).u8(16).u8(9).u8(1).u8(0).u8(12).u16(9).u32(5)));
    }
    seeds
}
