//! Superblock: each of its four copies changed separately, with or without a corrected checksum;
//! and the root alone.

use super::base::{self, BLOCK, SUPERBLOCKS, seal_superblock};
use super::use_pool::{Plan, use_pool};
use crate::input::{Reader, Writer};
use media::LocalMedia;

/// Input: a byte that selects operations, then changes: copies (bits 0–3) and whether they are
/// sealed (bit 7), offset, bytes.
pub(crate) fn run(input: &[u8]) {
    let _shown = pool::show_root(input);
    let mut reader = Reader::new(input);
    let flags = reader.u8();
    let mut image = if flags & 0x80 != 0 { base::dirty() } else { base::clean() };
    let mut changes = 0;
    while !reader.is_empty() && changes < 32 {
        changes += 1;
        let which = reader.u8();
        let at = match reader.u8() {
            field @ 0..=63 => usize::from(field) * 2,
            field @ 64..=191 => 512 + usize::from(field - 64) * 2,
            _ => usize::from(reader.u16()) % BLOCK,
        };
        let value = reader.short();
        for (copy, number) in SUPERBLOCKS.into_iter().enumerate() {
            if which >> copy & 1 == 0 {
                continue;
            }
            let block = image.block(number);
            let end = (at + value.len()).min(BLOCK);
            block[at..end].copy_from_slice(&value[..end - at]);
            if which & 0x80 == 0 {
                seal_superblock(block);
            }
        }
    }
    let mut disk = image.disk();
    let found = LocalMedia::find_copies(&mut disk);
    assert!(found.len() <= 16, "{} copies of four", found.len());
    if flags & 0x40 != 0 {
        disk.resize(u64::from(reader.u16()));
    }
    use_pool(&disk, Plan::new(flags));
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![vec![0], vec![0x80], vec![0x82], pool::initial_root(base::UUID)];
    for which in [1, 3, 7, 15, 0x8F] {
        for field in [0, 4, 8, 20, 28, 32, 36, 40, 44, 48] {
            seeds.push(Writer::default().u8(2).u8(which).u8(field).short(&[1, 0, 0, 0, 0, 0, 0, 0]).0);
        }
    }
    for field in [64, 68, 70, 80, 84, 88, 92, 96, 104, 108, 112, 116, 120, 124, 128, 152, 184] {
        seeds.push(Writer::default().u8(2).u8(15).u8(field).short(&[0xFF; 8]).0);
        seeds.push(Writer::default().u8(2).u8(15).u8(field).short(&[2, 0, 0, 0]).0);
    }
    seeds
}
