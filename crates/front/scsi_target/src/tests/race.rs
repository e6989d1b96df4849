//! COMPARE AND WRITE against every other writer, in a seeded order: no command sees another one
//! half done.
//!
//! Every command writes one byte value over all blocks of the range, so a range with two values is
//! the result of a command that was seen, or left, half done. The device yields at each of its
//! calls, and the random generator chooses the command that continues.

use super::extended_copy::list_between;

use super::*;
use random::Random;
use std::pin::Pin;

/// Blocks that all commands write: COMPARE AND WRITE covers the first of them, longer commands all.
const WIDE: u32 = 4096;
const AT_ONCE: usize = 12;
const COMMANDS: usize = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    CompareAndWrite,
    Write,
    WriteAtomic,
    WriteAndVerify,
    WriteSamePattern,
    WriteSameZeros,
    OrWrite,
    Unmap,
    CopyIn,
    CopyOut,
    Verify,
}

const KINDS: [Kind; 12] = [
    Kind::Read,
    Kind::CompareAndWrite,
    Kind::Write,
    Kind::WriteAtomic,
    Kind::WriteAndVerify,
    Kind::WriteSamePattern,
    Kind::WriteSameZeros,
    Kind::OrWrite,
    Kind::Unmap,
    Kind::CopyIn,
    Kind::CopyOut,
    Kind::Verify,
];

type Running<'a> = (Kind, Pin<Box<dyn Future<Output = Response> + 'a>>);

fn start<'a>(array: &'a Array, random: &Random, blocks: u32) -> Running<'a> {
    let kind = KINDS[usize::try_from(random.next() % KINDS.len() as u64).unwrap()];
    let nexus = [array.a, array.a2, array.b][usize::try_from(random.next() % 3).unwrap()];
    let path = array.on(nexus, 0);
    let value = u8::try_from(random.next() % 256).unwrap();
    let expected = u8::try_from(random.next() % 256).unwrap();
    let count = usize::try_from(blocks).unwrap();
    let out = |cdb: [u8; 16], data: Vec<u8>| -> Pin<Box<dyn Future<Output = Response> + 'a>> {
        let length = u32::try_from(data.len()).unwrap();
        Box::pin(path.request(&cdb, Bytes::from(data), 0, length))
    };
    let copy = |list: Vec<u8>| out(cdb16(0x83, 0, 0, u32::try_from(list.len()).unwrap()), list);
    let narrow = u16::try_from(blocks).unwrap();
    let future = match kind {
        Kind::Read => Box::pin(path.request(&cdb16(0x88, 0, 0, blocks), Bytes::new(), blocks * 512, 0)),
        Kind::CompareAndWrite => {
            let mut cdb = cdb16(0x89, 0, 0, 0);
            cdb[13] = u8::try_from(blocks).unwrap();
            out(cdb, [pattern(expected, count), pattern(value, count)].concat())
        }
        Kind::Write => out(cdb16(0x8a, 0, 0, blocks), pattern(value, count)),
        Kind::WriteAtomic => {
            let mut cdb = cdb16(0x9c, 0, 0, 0);
            cdb[12..14].copy_from_slice(&narrow.to_be_bytes());
            out(cdb, pattern(value, count))
        }
        Kind::WriteAndVerify => out(cdb16(0x8e, 0x02, 0, blocks), pattern(value, count)),
        Kind::WriteSamePattern => out(cdb16(0x93, 0, 0, WIDE), pattern(value, 1)),
        Kind::WriteSameZeros => out(cdb16(0x93, 0x08, 0, WIDE), pattern(0, 1)),
        Kind::OrWrite => out(cdb16(0x8b, 0, 0, WIDE), pattern(value, usize::try_from(WIDE).unwrap())),
        Kind::Unmap => {
            // Range split into two descriptors.
            let first = blocks.div_ceil(2);
            let mut list = vec![0, 38, 0, 32, 0, 0, 0, 0];
            for (lba, count) in [(0, first), (first, blocks - first)] {
                list.extend_from_slice(&u64::from(lba).to_be_bytes());
                list.extend_from_slice(&count.to_be_bytes());
                list.extend_from_slice(&[0; 4]);
            }
            let mut cdb = cdb(&[0x42]);
            cdb[8] = 40;
            out(cdb, list)
        }
        Kind::CopyIn => copy(list_between([11, 10], narrow, 8192, 0)),
        Kind::CopyOut => copy(list_between([10, 11], narrow, 0, 8192)),
        Kind::Verify => out(cdb16(0x8f, 0, 0, WIDE), Vec::new()),
    };
    (kind, future)
}

fn is_uniform(data: &[u8]) -> bool {
    data.iter().all(|byte| Some(byte) == data.first())
}

/// Checks what a finished command has read or compared.
fn check(kind: Kind, response: &Response, what: &str) {
    match (kind, response.status) {
        (Kind::Read, GOOD) => assert!(is_uniform(&response.data_in), "{what}: READ saw two values"),
        (_, GOOD) => {}
        (Kind::CompareAndWrite, CHECK_CONDITION) => {
            assert_check(response, 0x0e, 0x1d, 0x00);
            let offset = u32::from_be_bytes(response.sense[3..7].try_into().unwrap());
            assert_eq!(offset, 0, "{what}: COMPARE AND WRITE saw two values");
        }
        _ => panic!("{what}: {kind:?} {:02x?}", response.sense),
    }
}

fn race(seed: u64, blocks: u32) {
    let limits = Limits { compare_and_write_blocks: 255, ..Limits::default() };
    let array = Array::with(Profile::default(), limits);
    for volume in &array.volumes {
        volume.stutter();
    }
    let random = Random::new(seed);
    let mut running: Vec<Running<'_>> = Vec::new();
    let (mut begun, mut polls, mut swapped) = (0, 0, 0);
    while begun < COMMANDS || !running.is_empty() {
        while running.len() < AT_ONCE && begun < COMMANDS {
            running.push(start(&array, &random, blocks));
            begun += 1;
            // First poll at once: commands arrive in this order.
            let newest = running.len() - 1;
            assert!(running[newest].1.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        let at = usize::try_from(random.next() % running.len() as u64).unwrap();
        let poll = running[at].1.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(response) = poll {
            let (kind, _) = running.swap_remove(at);
            swapped += u32::from(kind == Kind::CompareAndWrite && response.status == GOOD);
            check(kind, &response, &format!("seed {seed}, {blocks} blocks"));
        }
        polls += 1;
        assert!(polls < 3_000_000, "seed {seed}: nothing goes on");
    }
    assert!(is_uniform(&array.lun0().read(0, blocks)) && is_uniform(&array.on(array.a, 1).read(8192, blocks)));
    let _depends_on_chance = swapped;
}

#[test]
fn no_command_sees_another_half_done() {
    for seed in 1..=6 {
        race(seed, 1);
        race(seed, 255);
    }
}

/// Each of many COMPARE AND WRITE commands adds 1. None is lost, whatever other commands run beside
/// and over the range.
#[test]
fn no_swap_is_lost() {
    let limits = Limits { compare_and_write_blocks: 255, ..Limits::default() };
    for (seed, blocks) in [(1, 1usize), (2, 255)] {
        let array = Array::with(Profile::default(), limits);
        array.volumes[0].stutter();
        let random = Random::new(seed);
        let image = |value: u8| pattern(value, blocks);
        let attempt = |value: u8| {
            let mut cdb = cdb16(0x89, 0, 0, 0);
            cdb[13] = u8::try_from(blocks).unwrap();
            let data = Bytes::from([image(value), image(value + 1)].concat());
            let length = u32::try_from(data.len()).unwrap();
            (value, Box::pin(array.lun0().request(&cdb, data, 0, length)))
        };
        let (mut running, mut won, mut known) = (Vec::new(), 0u8, 0u8);
        while won < 100 {
            while running.len() < 8 {
                running.push(attempt(known));
            }
            let at = usize::try_from(random.next() % running.len() as u64).unwrap();
            let poll = running[at].1.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(response) = poll {
                let (value, _) = running.swap_remove(at);
                if response.status == GOOD {
                    assert_eq!(value, won, "a value was swapped twice");
                    won += 1;
                    known = won;
                }
            }
        }
        drop(running);
        assert_eq!(array.lun0().read(0, u32::try_from(blocks).unwrap()), image(100));
    }
}
