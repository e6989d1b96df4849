//! Pool with some bytes changed and every checksum correct: a state that a bug of an older version,
//! or a person with access to the disk, could have left.
//!
//! Pool metadata with a correct checksum is trusted. This target tests what must not happen even
//! then: a panic, an endless loop, unbounded memory.

use super::base::{self, BLOCK, DEVICE_BLOCKS, Image, SUPERBLOCKS};
use super::use_pool::{Plan, use_pool};
use crate::input::{Reader, Writer};
use std::collections::BTreeSet;

/// Numbers at the limits of arithmetic.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    16,
    255,
    256,
    4096,
    2047,
    2048,
    DEVICE_BLOCKS - 1,
    DEVICE_BLOCKS,
    (1 << 40) - 1,
    1 << 44,
    u32::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Input: a byte that selects the pool and the operations on it, a byte that says whether checksums
/// are corrected, then changes.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let flags = reader.u8();
    let mut image = if flags & 0x80 != 0 { base::clean() } else { base::dirty() };
    let sealed = reader.u8() & 0x0F != 0x0F;
    let numbers: Vec<u64> = image.blocks.keys().copied().collect();
    let mut changed = BTreeSet::new();
    let mut changes = 0;
    while !reader.is_empty() && changes < 24 {
        changes += 1;
        let number = match reader.u8() {
            0..=31 => Some(SUPERBLOCKS[0]),
            32..=191 => class(&image, &mut reader),
            _ => Some(numbers[usize::from(reader.u16()) % numbers.len()]),
        };
        let Some(number) = number else { continue };
        change(&mut image, number, &numbers, &mut reader);
        changed.insert(number);
    }
    if sealed {
        image.seal(changed);
    }
    use_pool(&image.disk(), Plan::new(flags));
}

/// Chooses a block of the class that a byte selects: pages, log, or others.
fn class(image: &Image, reader: &mut Reader<'_>) -> Option<u64> {
    let kind = reader.u8();
    let wanted = |block: &[u8; BLOCK]| match kind % 4 {
        0 | 1 => block.starts_with(b"WLpg"),
        2 => block.starts_with(b"WLframe1"),
        _ => !block.starts_with(b"WL"),
    };
    let found: Vec<u64> = image.blocks.iter().filter(|(_, block)| wanted(block)).map(|(number, _)| *number).collect();
    let at = usize::from(reader.u8());
    found.get(at % found.len().max(1)).copied()
}

fn change(image: &mut Image, number: u64, numbers: &[u64], reader: &mut Reader<'_>) {
    let how = reader.u8();
    // Headers more often than other bytes.
    let at = match reader.u8() {
        small @ 0..=199 => usize::from(small) * 2,
        _ => usize::from(reader.u16()) % BLOCK,
    };
    let other = numbers[usize::from(reader.u8()) * 3 % numbers.len()];
    let copies: &[u64] = if SUPERBLOCKS.contains(&number) { &SUPERBLOCKS } else { &[number] };
    let value = match how % 8 {
        0 => vec![reader.u8()],
        1 => reader.u64().to_le_bytes().to_vec(),
        2 => reader.choose(&NUMBERS).to_le_bytes().to_vec(),
        3 => {
            let [a, b, c, d, ..] = reader.choose(&NUMBERS).to_le_bytes();
            vec![a, b, c, d]
        }
        4 => other.to_le_bytes()[..5].to_vec(),
        5 => reader.short().to_vec(),
        6 => {
            let content = image.block(other).to_vec();
            content[at..].to_vec()
        }
        _ => vec![0; usize::from(reader.u16()) % BLOCK],
    };
    // The root is at byte 512 of a superblock.
    let at = if copies.len() > 1 && how & 0x80 != 0 { 512 + at % 3072 } else { at };
    for copy in copies {
        let block = image.block(*copy);
        let index = block[12];
        let end = (at + value.len()).min(BLOCK);
        block[at..end].copy_from_slice(&value[..end - at]);
        if copies.len() > 1 {
            block[12] = index;
        }
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for flags in [0x00, 0x02, 0x03, 0x80, 0x82] {
        seeds.push(vec![flags]);
    }
    // Fields of the root, of pages of every kind, of the log and of tables, each set to a value.
    for field in 0..24 {
        seeds.push(Writer::default().u8(2).u8(0).u8(0).u8(0x82).u8(field * 4).u8(0).u8(field).0);
    }
    for (kind, which) in
        [(0, 0), (0, 1), (0, 2), (0, 5), (0, 9), (2, 0), (2, 1), (2, 3), (3, 0), (3, 1), (3, 2), (3, 3)]
    {
        for at in [4, 16, 20, 32, 36, 40] {
            let seed = Writer::default().u8(if at % 3 == 0 { 2 } else { 3 }).u8(0).u8(40).u8(kind).u8(which);
            seeds.push(seed.u8(4).u8(at).u8(at * 5).0);
        }
    }
    seeds
}
